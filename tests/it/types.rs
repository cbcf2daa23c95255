//! `bindery types typescript`: its output compiles under `tsc --strict`, runs in Node without a build, and works as
//! `API.md` describes. `BINDERY_TEST_TSC` and `BINDERY_TEST_NODE` name the compiler and a Node that runs TypeScript.
//! Without them, the tests print the parts that they skip.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{ADMIN, Server, TYPES, binary};

/// The options of the compiler: strict, and only syntax that a program that strips types can run.
const STRICT: [&str; 17] = [
    "--strict",
    "--target",
    "es2022",
    "--module",
    "nodenext",
    "--lib",
    "es2022,dom",
    "--erasableSyntaxOnly",
    "--isolatedModules",
    "--verbatimModuleSyntax",
    "--rewriteRelativeImportExtensions",
    "--noUncheckedIndexedAccess",
    "--exactOptionalPropertyTypes",
    "--noPropertyAccessFromIndexSignature",
    "--noImplicitOverride",
    "--noUnusedLocals",
    "--noUnusedParameters",
];

fn types(server: &Server) -> String {
    let arguments = ["types", "typescript", "--url", server.address(), "--token", ADMIN];
    let output = Command::new(binary()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the program that a variable names, or else this one, if it can be run.
fn program(variable: &str, name: &str) -> Option<String> {
    let program = std::env::var(variable).unwrap_or_else(|_| name.to_owned());
    let runs = Command::new(&program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !runs {
        eprintln!("skipped: `{program}` cannot be run; {variable} names it");
    }
    runs.then_some(program)
}

/// Compiles a module that uses the client of this server. Returns `false` without a compiler.
fn compile(folder: &Path, server: &Server, name: &str, text: &str, options: &[&str]) -> bool {
    std::fs::write(folder.join("bindery.ts"), types(server)).unwrap();
    std::fs::write(folder.join("package.json"), r#"{"type": "module"}"#).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
    let Some(compiler) = program("BINDERY_TEST_TSC", "tsc") else { return false };
    let compiled = Command::new(compiler).args(STRICT).args(options).arg(name).current_dir(folder).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stdout));
    true
}

/// Runs a module as it is written. If this Node does not strip types itself, it runs the output of the compiler.
/// Returns the printed text.
fn run(name: &str, text: &str, server: &Server) -> Option<String> {
    let temp = tempfile::tempdir().unwrap();
    let is_compiled = compile(temp.path(), server, name, text, &[]);
    let node = program("BINDERY_TEST_NODE", "node")?;
    let strips = Command::new(&node).args(["-p", "process.features.typescript"]).output().unwrap();
    let file = match strips.stdout.starts_with(b"strip") {
        true => name.to_owned(),
        false if is_compiled => name.replace(".ts", ".js"),
        false => return None,
    };
    let run = Command::new(node).args([&file, server.address(), ADMIN]).current_dir(temp.path()).output().unwrap();
    assert!(run.status.success(), "{file}: {}", String::from_utf8_lossy(&run.stderr));
    Some(String::from_utf8(run.stdout).unwrap())
}

#[test]
fn the_client_does_what_the_api_describes() {
    let server = Server::start();
    server.blueprint("authors", json!([{ "name": "Name", "slug": "name", "type": "text", "required": true }]));
    let body = json!({
        "name": "Notes", "slug": "notes",
        "variants": [{ "name": "English", "slug": "en", "default": true }, { "name": "German", "slug": "de" }],
        "fields": [
            { "name": "Title", "slug": "title", "type": "text", "required": true },
            { "name": "Kind", "slug": "kind", "type": "enum", "settings": { "values": ["red", "gr\"een"] } },
            { "name": "Price", "slug": "price", "type": "money", "settings": { "currencies": ["EUR", "CHF"] } },
            { "name": "Body", "slug": "body", "type": "rich-text" },
            { "name": "Author", "slug": "author", "type": "reference", "settings": { "blueprint": "authors" } },
            { "name": "Day", "slug": "day", "type": "date" },
            { "name": "Sent at", "slug": "sent_at", "type": "datetime" },
            { "name": "Answers", "slug": "answers", "type": "reference", "settings": { "blueprint": "notes" } },
        ],
    });
    server.post("/v2/blueprints", &body).expect(201);
    run("program.ts", include_str!("types/program.ts"), &server);
}

#[test]
fn a_magazine_of_four_pages_is_written_with_the_client() {
    let server = Server::start_with(&["--demo"]);
    let Some(printed) = run("magazine.ts", include_str!("types/magazine.ts"), &server) else { return };
    let pages: Value = serde_json::from_str(&printed).unwrap();
    let expected = [
        ("home", "<h1>Bindery demonstration</h1>"),
        ("home", "&#60;any&#62;</a> by Standard library documentation, 2019-04-15"),
        ("home", "<li>how-to (8)</li>"),
        ("home", "288 articles, 160 minutes"),
        ("section", "<a href=\"/last-character-in-a-string\">Last Character in a String</a>"),
        ("article", "<h1>Zuweisung</h1><address>C++ language documentation</address>"),
        ("article", "(3 of 288)"),
        ("missing", "404"),
        ("search", "<mark>compiler</mark> <mark>warnings</mark>"),
    ];
    for (page, part) in expected {
        assert!(pages[page].as_str().unwrap().contains(part), "{page} lacks {part}: {}", pages[page]);
    }
}

#[test]
fn the_client_reads_what_it_has_written_whichever_node_answers() {
    run("own_writes.ts", include_str!("types/own_writes.ts"), &Server::start());
}

#[test]
fn every_type_of_field_has_a_type_and_a_server_without_blueprints_has_a_client() {
    let server = Server::start();
    let temp = tempfile::tempdir().unwrap();
    compile(temp.path(), &server, "empty.ts", "export * from \"./bindery.ts\";", &["--noEmit"]);
    let field = |kind: &str| {
        let settings = if kind.starts_with("reference") { json!({ "blueprint": "all-types" }) } else { json!({}) };
        json!({ "name": kind, "slug": format!("x-{kind}"), "type": kind, "settings": settings })
    };
    server.blueprint("all-types", TYPES.iter().map(|kind| field(kind)).collect());
    let text = types(&server);
    assert!(text.contains("\"x-multi-enum\": (string)[] | null;"), "{text}");
    assert!(text.contains("\"x-references\": \"all-types\";"), "{text}");
    assert!(text.contains("instants: \"x-datetime\";"), "{text}");
    compile(temp.path(), &server, "full.ts", "export * from \"./bindery.ts\";", &["--noEmit"]);
}
