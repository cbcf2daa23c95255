//! `bindery blueprint pull | diff | apply | infer`: blueprints as files, one file for each. Must not know what a
//! blueprint means: the server plans and carries out every change.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use bindery_access::Access;
use bindery_config::{BlueprintCommand, ServerArgs};
use bindery_content::Content;
use bindery_model::blueprint::{Definition, render};
use serde_json::Value;

use super::blueprint_file::as_file;
use super::error::{CliError, failed};
use super::folder::{configure_existing, with_content};
use super::infer;
use super::output::{counted, note, print};
use super::remote::Remote;
use super::survey::TableOptions;

/// Blueprints by slug, as files hold them.
pub(super) type Files = BTreeMap<String, Value>;

pub(super) async fn blueprint(command: BlueprintCommand) -> Result<(), CliError> {
    match command {
        BlueprintCommand::Infer { file, format, name, list_separator, table } => {
            let table = TableOptions::of(&table, infer::MAX_BYTES);
            infer::infer(&file, format.as_deref(), name.as_deref(), list_separator.as_deref(), table)
        }
        BlueprintCommand::Pull { dir, server } => {
            on_site(&server, async |site| pull(&site.blueprints().await?, &dir)).await
        }
        BlueprintCommand::Diff { dir, server } => {
            let files = read_files(&dir)?;
            let plan = on_site(&server, async |site| Plan::of(&site, files).await).await?;
            plan.print();
            match plan.changes() {
                0 => Ok(()),
                count => Err(CliError::Incomplete(format!("{} differ", counted(count as u64, "blueprint")))),
            }
        }
        BlueprintCommand::Apply { dir, yes, server } => {
            let files = read_files(&dir)?;
            on_site(&server, async |site| apply(&site, files, yes).await).await
        }
    }
}

/// A running server or an open data folder.
pub(super) enum Site {
    Remote(Remote),
    Folder(Content),
}

/// Runs work on the server or the folder that the arguments name.
pub(super) async fn on_site<T>(
    server: &ServerArgs,
    work: impl AsyncFnOnce(Site) -> Result<T, CliError>,
) -> Result<T, CliError> {
    match Remote::of(server)? {
        Some(remote) => work(Site::Remote(remote)).await,
        None => {
            with_content(&configure_existing(&server.folder)?, async |content| work(Site::Folder(content)).await).await
        }
    }
}

impl Site {
    pub(super) async fn blueprints(&self) -> Result<Files, CliError> {
        let answered = match self {
            Site::Remote(remote) => remote.get("/v2/blueprints").await?,
            Site::Folder(content) => {
                content.list_blueprints(&access())?.iter().map(|blueprint| render::to_json(blueprint)).collect()
            }
        };
        let blueprints = answered.as_array().into_iter().flatten().cloned();
        Ok(blueprints.map(|blueprint| (slug_of(&blueprint), as_file(blueprint))).collect())
    }

    async fn create(&self, body: &Value) -> Result<(), CliError> {
        match self {
            Site::Remote(remote) => drop(remote.post("/v2/blueprints", body).await?),
            Site::Folder(content) => {
                let body = body.to_string();
                drop(content.create_blueprint(&access(), body.as_bytes(), None).await?);
            }
        }
        Ok(())
    }

    /// Replaces a blueprint, or with `dry_run` only plans the replacement. Returns the plan or the blueprint.
    async fn replace(&self, slug: &str, body: &Value, dry_run: bool) -> Result<Value, CliError> {
        let query = if dry_run { "dry_run=true" } else { "" };
        match self {
            Site::Remote(remote) => remote.put(&format!("/v2/blueprints/{slug}?{query}"), body).await,
            Site::Folder(content) => {
                let replacement = content.replace_blueprint(&access(), slug, query)?;
                Ok(bindery_http::replaced(&replacement.run(body.to_string().as_bytes()).await?))
            }
        }
    }
}

fn access() -> Access {
    Access::everything("cli")
}

fn pull(blueprints: &Files, dir: &Path) -> Result<(), CliError> {
    let writing = |path: &Path, error| failed(format!("writing {}", path.display()), &error);
    std::fs::create_dir_all(dir).map_err(|error| writing(dir, error))?;
    for (slug, blueprint) in blueprints {
        let path = dir.join(format!("{slug}.json"));
        let text = format!("{blueprint:#}\n");
        std::fs::write(&path, text).map_err(|error| writing(&path, error))?;
        note(&path.display().to_string());
    }
    Ok(())
}

/// Returns the blueprints of a folder: its files with the ending `.json`.
fn read_files(dir: &Path) -> Result<Files, CliError> {
    let reading = |path: &Path, error: &dyn std::fmt::Display| failed(format!("reading {}", path.display()), error);
    let mut files = Files::new();
    for entry in std::fs::read_dir(dir).map_err(|error| reading(dir, &error))? {
        let path = entry.map_err(|error| reading(dir, &error))?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(|error| reading(&path, &error))?;
        let body: Value = serde_json::from_str(&text).map_err(|error| reading(&path, &error))?;
        let body = as_file(body);
        let definition = Definition::parse(body.clone()).map_err(|error| reading(&path, &with_fields(&error)))?;
        if files.insert(definition.slug.clone(), body).is_some() {
            let text = format!("{} and another file have a blueprint `{}`", path.display(), definition.slug);
            return Err(CliError::Incomplete(text));
        }
    }
    if files.is_empty() {
        let text =
            format!("{} has no file with the ending `.json`; `bindery blueprint pull` writes some", dir.display());
        return Err(CliError::Incomplete(text));
    }
    Ok(files)
}

/// Returns the text of an error with the problem of each field.
fn with_fields(error: &bindery_model::error::Error) -> String {
    let fields = bindery_http::error_object(error);
    let fields = fields["fields"].as_object().into_iter().flatten();
    let texts = fields.map(|(path, texts)| {
        let texts: Vec<&str> = texts.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        format!("\n  {path}: {}", texts.join("; "))
    });
    format!("{error}{}", texts.collect::<String>())
}

/// The changes after which a site has the blueprints of the files.
struct Plan {
    files: Files,
    /// The slugs of blueprints to create, each after those that it relates to, as far as possible.
    created: Vec<String>,
    /// The server's plans for the blueprints to change, by slug.
    changed: BTreeMap<String, Value>,
    /// The blueprints without a file.
    without_file: Vec<String>,
}

impl Plan {
    async fn of(site: &Site, files: Files) -> Result<Plan, CliError> {
        let known = site.blueprints().await?;
        let missing = files.keys().filter(|slug| !known.contains_key(*slug)).cloned().collect();
        let created = in_order(&files, missing);
        let mut changed = BTreeMap::new();
        for (slug, body) in &files {
            // Relations to blueprints that are not created yet cannot be planned, but they count as changes.
            if known.contains_key(slug) && known[slug] != *body {
                let existing = without_relations_to(body, &created.iter().map(String::as_str).collect());
                let plan = site.replace(slug, &existing, true).await?;
                if existing != *body || plan["changes"].as_array().is_some_and(|changes| !changes.is_empty()) {
                    changed.insert(slug.clone(), plan);
                }
            }
        }
        let without_file = known.into_keys().filter(|slug| !files.contains_key(slug)).collect();
        Ok(Plan { files, created, changed, without_file })
    }

    /// Returns the number of blueprints that change.
    fn changes(&self) -> usize {
        self.created.len() + self.changed.len()
    }

    fn conflicts(&self) -> u64 {
        self.changed.values().filter_map(|plan| plan["conflicts"]["count"].as_u64()).sum()
    }

    fn print(&self) {
        for slug in &self.created {
            print(&format!("{slug}: is created"));
        }
        for (slug, plan) in &self.changed {
            print(&format!("{slug}:"));
            for change in plan["changes"].as_array().into_iter().flatten() {
                let (op, field) =
                    (change["op"].as_str().unwrap_or_default(), change["field"].as_str().unwrap_or_default());
                let lost = match plan["loses"][field].as_u64() {
                    Some(count) => format!(", which takes its value from {}", counted(count, "resource")),
                    None => String::new(),
                };
                print(&format!("  {op} `{field}`{lost}"));
            }
            if let Some(count) = plan["conflicts"]["count"].as_u64().filter(|count| *count > 0) {
                let ids = plan["conflicts"]["ids"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let ids: Vec<&str> = ids.take(3).collect();
                print(&format!(
                    "  conflicts with the values of {}, such as {}",
                    counted(count, "resource"),
                    ids.join(", ")
                ));
            }
        }
        for slug in &self.without_file {
            print(&format!("{slug}: has no file, and stays"));
        }
        if self.changes() == 0 {
            print("nothing to change");
        }
    }
}

async fn apply(site: &Site, files: Files, yes: bool) -> Result<(), CliError> {
    let plan = Plan::of(site, files).await?;
    plan.print();
    if plan.changes() == 0 {
        return Ok(());
    }
    if plan.conflicts() > 0 {
        let text = "nothing was changed: resources conflict with the change; change those first";
        return Err(CliError::Incomplete(text.to_owned()));
    }
    if !yes && !is_confirmed()? {
        return Err(CliError::Incomplete("nothing was changed".to_owned()));
    }
    // Two blueprints may relate to each other. So relations to a blueprint that does not exist yet are added at the
    // end.
    let mut to_come: BTreeSet<&str> = plan.created.iter().map(String::as_str).collect();
    let mut incomplete = Vec::new();
    for slug in &plan.created {
        let body = &plan.files[slug];
        let others: BTreeSet<&str> = to_come.iter().copied().filter(|other| other != slug).collect();
        let first = without_relations_to(body, &others);
        site.create(&first).await?;
        if first != *body {
            incomplete.push(slug);
        }
        to_come.remove(slug.as_str());
    }
    for slug in incomplete.into_iter().chain(plan.changed.keys()) {
        site.replace(slug, &plan.files[slug], false).await?;
    }
    note(&format!("{} created, {} changed", plan.created.len(), plan.changed.len()));
    Ok(())
}

fn is_confirmed() -> Result<bool, CliError> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        let text = "nothing was changed: nobody can be asked; add `--yes` to apply without asking";
        return Err(CliError::Incomplete(text.to_owned()));
    }
    let _ = write!(std::io::stdout(), "Apply? [y/N] ").and_then(|()| std::io::stdout().flush());
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer).map_err(|error| failed("reading the answer", &error))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Returns blueprints in an order in which each comes after those that it relates to. In a cycle they are ordered by
/// slug.
fn in_order(files: &Files, mut left: BTreeSet<String>) -> Vec<String> {
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let is_ready = |slug: &&String| relations(&files[*slug]).all(|other| other == **slug || !left.contains(other));
        let next = left.iter().find(is_ready).or(left.first()).cloned().unwrap_or_default();
        left.remove(&next);
        ordered.push(next);
    }
    ordered
}

/// Returns the slugs of the blueprints to which the fields of a blueprint relate.
fn relations(blueprint: &Value) -> impl Iterator<Item = &str> {
    let fields = blueprint["fields"].as_array().into_iter().flatten();
    fields.filter_map(|field| field["settings"]["blueprint"].as_str())
}

/// Returns a blueprint without the fields that relate to some others, and without settings that name those fields.
fn without_relations_to(blueprint: &Value, others: &BTreeSet<&str>) -> Value {
    let relates = |field: &Value| field["settings"]["blueprint"].as_str().is_some_and(|slug| others.contains(slug));
    let fields = blueprint["fields"].as_array().map(Vec::as_slice).unwrap_or_default();
    let removed: Vec<&str> =
        fields.iter().filter(|field| relates(field)).filter_map(|field| field["slug"].as_str()).collect();
    let mut blueprint = blueprint.clone();
    if removed.is_empty() {
        return blueprint;
    }
    blueprint["fields"] = fields.iter().filter(|field| !relates(field)).cloned().collect();
    if blueprint["record_title"].as_str().is_some_and(|slug| removed.contains(&slug)) {
        blueprint["record_title"] = Value::Null;
    }
    blueprint
}

fn slug_of(blueprint: &Value) -> String {
    blueprint["slug"].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    /// Returns a blueprint with this slug whose fields relate to others.
    fn named(slug: &str, related: &[&str]) -> Value {
        let field = |other: &&str| json!({ "slug": other, "settings": { "blueprint": other } });
        json!({ "slug": slug, "fields": related.iter().map(field).collect::<Vec<_>>() })
    }

    #[test]
    fn blueprints_come_after_those_that_they_relate_to() {
        let files: Files =
            [("a", vec!["c", "a"]), ("b", vec![]), ("c", vec!["b", "known"]), ("x", vec!["y"]), ("y", vec!["x"])]
                .into_iter()
                .map(|(slug, related)| (slug.to_owned(), named(slug, &related)))
                .collect();
        let order = in_order(&files, files.keys().cloned().collect());
        assert_eq!(order, ["b", "c", "a", "x", "y"]);
        let first = without_relations_to(&files["x"], &["y"].into());
        assert_eq!(first["fields"], json!([]));
        assert_eq!(without_relations_to(&files["a"], &["y"].into()), files["a"]);
    }
}
