//! Which file imports which, read from the `use` lines and paths of the sources. Tests aside.
//!
//! A name that a file only hands on (`pub use inner::Inner`) counts as the name of the file that it comes from.

use std::collections::{BTreeMap, BTreeSet};

use super::sources;

/// Module path, from the crate: `["content", "data"]`.
type Path = Vec<String>;

/// The files of one crate by module path, and what they import.
struct Crate {
    files: BTreeMap<Path, String>,
    texts: BTreeMap<Path, String>,
    /// What a module hands on: by name, the path where it comes from. `*` has all that are handed on whole.
    exports: BTreeMap<Path, BTreeMap<String, Vec<Path>>>,
}

/// The imports of all crates of the project.
pub(super) struct Imports(BTreeMap<String, BTreeSet<String>>);

impl Imports {
    pub(super) fn of_the_project() -> Imports {
        let mut all = Imports::of(sources("src"));
        all.0.extend(Imports::of(sources("index/src")).0);
        all
    }

    /// The imports of one crate, of paths and texts.
    pub(super) fn of(files: Vec<(String, String)>) -> Imports {
        let crate_ = Crate::of(files);
        let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (module, file) in &crate_.files {
            let mut imported = BTreeSet::new();
            for path in paths_of(&crate_.texts[module], module) {
                imported.extend(crate_.files_of(&path, 0));
            }
            imported.remove(file);
            imports.insert(file.clone(), imported);
        }
        Imports(imports)
    }

    /// Each import: the file, and what it imports.
    pub(super) fn arrows(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|(file, imported)| imported.iter().map(|other| (file.as_str(), other.as_str())))
    }

    /// The files that import each other, directly or through others: each circle as its arrows.
    pub(super) fn circles(&self) -> Vec<Vec<String>> {
        let (mut circles, mut known) = (Vec::new(), BTreeSet::new());
        for file in self.0.keys() {
            let reached = self.reached_from(file);
            if !reached.contains(file) || known.contains(file) {
                continue;
            }
            let members: BTreeSet<String> =
                reached.into_iter().filter(|other| self.reached_from(other).contains(file)).collect();
            let arrows = self.arrows().filter(|(from, to)| members.contains(*from) && members.contains(*to));
            circles.push(arrows.map(|(from, to)| format!("{from} imports {to}")).collect());
            known.extend(members);
        }
        circles
    }

    fn reached_from(&self, file: &str) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut open = vec![file.to_owned()];
        while let Some(file) = open.pop() {
            for other in self.0.get(&file).into_iter().flatten() {
                if reached.insert(other.clone()) {
                    open.push(other.clone());
                }
            }
        }
        reached
    }
}

impl Crate {
    fn of(files: Vec<(String, String)>) -> Crate {
        let mut crate_ = Crate { files: BTreeMap::new(), texts: BTreeMap::new(), exports: BTreeMap::new() };
        for (path, text) in files {
            let is_test = path.ends_with("/tests.rs") || path.contains("/tests/") || path.ends_with("/fixture.rs");
            if is_test {
                continue;
            }
            let module = module_of(&path);
            crate_.texts.insert(module.clone(), without_comments_and_tests(&text));
            crate_.files.insert(module, path);
        }
        for (module, text) in &crate_.texts {
            let mut exports: BTreeMap<String, Vec<Path>> = BTreeMap::new();
            for tree in use_trees(text).into_iter().filter(|(is_public, _)| *is_public).map(|(_, tree)| tree) {
                for path in expand(&tree) {
                    let (path, name) = renamed(path);
                    let resolved = resolve(&path, module, |child| crate_.files.contains_key(child));
                    exports.entry(name).or_default().extend(resolved);
                }
            }
            crate_.exports.insert(module.clone(), exports);
        }
        crate_
    }

    /// The files that a path names: those that define the name, not those that hand it on.
    fn files_of(&self, path: &Path, depth: usize) -> Vec<String> {
        let Some(length) = (1..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length])) else {
            return Vec::new();
        };
        let module = path[..length].to_vec();
        let file = || vec![self.files[&module].clone()];
        let Some(name) = path.get(length) else {
            // A module as a whole: what it hands on is what is used of it.
            return file();
        };
        let exports = &self.exports[&module];
        match exports.get(name) {
            Some(origins) if depth < 8 => origins.iter().flat_map(|origin| self.files_of(origin, depth + 1)).collect(),
            _ if !defines(&self.texts[&module], name) && exports.contains_key("*") => {
                let origins = exports["*"].iter();
                let mut origins =
                    origins.filter(|origin| self.texts.get(*origin).is_some_and(|text| defines(text, name)));
                origins.next().and_then(|origin| self.files.get(origin)).map_or_else(file, |file| vec![file.clone()])
            }
            _ => file(),
        }
    }
}

/// `src/model/value/text.rs` is `model`, `value`, `text`; `lib.rs` and `main.rs` are called so.
fn module_of(path: &str) -> Path {
    let inner = path.split_once("src/").map_or(path, |(_, inner)| inner);
    inner.trim_end_matches(".rs").split('/').map(str::to_owned).collect()
}

fn without_comments_and_tests(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests {").or_else(|| text.find("#[cfg(test)]\npub(crate) mod tests {"));
    let text = &text[..end.unwrap_or(text.len())];
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn defines(text: &str, name: &str) -> bool {
    ["struct", "enum", "trait", "fn", "const", "static", "type", "mod"].iter().any(|kind| {
        let definition = format!("{kind} {name}");
        text.match_indices(&definition).any(|(at, _)| !text[at + definition.len()..].starts_with(is_word))
    })
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// All paths that a module names, from the crate.
fn paths_of(text: &str, module: &Path) -> Vec<Path> {
    let children: BTreeSet<String> = declared_modules(text);
    let is_child =
        |path: &[String]| path.len() == module_path(module).len() + 1 && children.contains(&path[path.len() - 1]);
    let mut paths = Vec::new();
    for (_, tree) in use_trees(text) {
        for path in expand(&tree) {
            paths.extend(resolve(&renamed(path).0, module, |path: &Path| is_child(path)));
        }
    }
    // Paths outside `use`: only those that begin with a word that says where.
    for start in ["crate::", "super::"] {
        for (at, _) in text.match_indices(start) {
            // The path of a visibility imports nothing.
            let is_visibility = text[..at].ends_with("pub(in ");
            if text[..at].ends_with(is_word) || text[..at].ends_with("::") || is_visibility {
                continue;
            }
            let path: String = text[at..].chars().take_while(|c| is_word(*c) || *c == ':').collect();
            let path: Path = path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
            // `super::{…}` is part of a `use`.
            if path.last().is_some_and(|part| part != "super" && part != "crate") {
                paths.extend(resolve(&path, module, |_| false));
            }
        }
    }
    paths
}

fn declared_modules(text: &str) -> BTreeSet<String> {
    let declarations = text.lines().filter_map(|line| {
        let line = line.trim().trim_end_matches(';');
        line.rsplit_once("mod ").filter(|_| !line.contains('{')).map(|(_, name)| name.trim().to_owned())
    });
    declarations.collect()
}

/// `use` items: whether each is handed on, and its tree as text.
fn use_trees(text: &str) -> Vec<(bool, String)> {
    let mut trees = Vec::new();
    for (at, _) in text.match_indices("use ") {
        let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let before = text[line_start..at].trim();
        if !(before.is_empty() || before.starts_with("pub")) {
            continue;
        }
        if let Some(end) = text[at..].find(';') {
            trees.push((
                before.starts_with("pub"),
                text[at + 4..at + end].split_whitespace().collect::<Vec<_>>().join(" "),
            ));
        }
    }
    trees
}

/// The paths of a tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<Path> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        return vec![tree.split("::").map(|part| part.trim().to_owned()).collect()];
    };
    let prefix: Path =
        tree[..open].split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect();
    let inner = tree[open + 1..].trim_end().trim_end_matches('}');
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, character) in inner.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(expand).map(|rest| [prefix.clone(), rest].concat()).collect()
}

/// The path less `as name`, and the name under which it is known.
fn renamed(mut path: Path) -> (Path, String) {
    let last = path.pop().unwrap_or_default();
    let (last, name) = match last.split_once(" as ") {
        Some((last, name)) => (last.trim().to_owned(), name.trim().to_owned()),
        None => (last.clone(), last),
    };
    let name = if last == "self" { path.last().cloned().unwrap_or_default() } else { name };
    if last != "self" && last != "*" {
        path.push(last);
    }
    (path, name)
}

/// The module path of a file: `lib` and `main` are the crate itself.
fn module_path(module: &Path) -> &[String] {
    match module.as_slice() {
        [root] if root == "lib" || root == "main" => &[],
        path => path,
    }
}

/// A path of a `use` in a module, from the crate; none for other crates.
fn resolve(path: &Path, module: &Path, is_module: impl Fn(&Path) -> bool) -> Option<Path> {
    let own = module_path(module);
    let (mut base, rest): (Path, &[String]) = match path.first()?.as_str() {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (own.to_vec(), &path[1..]),
        "super" => {
            let n_up = path.iter().take_while(|part| *part == "super").count();
            (own[..own.len().checked_sub(n_up)?].to_vec(), &path[n_up..])
        }
        child => {
            let mut base = own.to_vec();
            base.push(child.to_owned());
            if !is_module(&base) {
                return None;
            }
            (base, &path[1..])
        }
    };
    base.extend_from_slice(rest);
    (!base.is_empty()).then_some(base)
}
