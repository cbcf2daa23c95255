//! The description of the API (`API.md` 4.12).

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{Server, TYPES};

fn blueprint(server: &Server, slug: &str) {
    let field = |kind: &&str| {
        let settings = if kind.starts_with("reference") { json!({ "blueprint": "all-types" }) } else { json!({}) };
        json!({ "name": kind, "slug": kind.replace('-', "_"), "type": kind, "settings": settings })
    };
    let mut fields: Vec<Value> = TYPES.iter().map(field).collect();
    fields[0]["required"] = json!(true);
    fields[0]["description"] = json!("What it is called.");
    let body = json!({ "name": "All types", "slug": slug, "fields": fields });
    server.post("/v2/blueprints", &body).expect(201);
}

#[test]
fn a_token_gets_the_schemas_of_the_blueprints_that_it_sees() {
    let server = Server::start();
    blueprint(&server, "all-types");
    server.blueprint("other", json!([{ "name": "T", "slug": "t", "type": "text" }]));
    let limited = json!({ "name": "l", "abilities": ["view"], "blueprints": ["other"] });
    let limited = server.post("/v2/tokens", &limited).expect(201).data()["secret"].as_str().unwrap().to_owned();
    let of_blueprints = |document: &Value| -> Vec<String> {
        let schemas = document["components"]["schemas"].as_object().unwrap();
        schemas.keys().filter(|name| name.ends_with(".attributes")).cloned().collect()
    };
    let url = format!("{}/v2/openapi.json", server.address());
    let general: Value =
        serde_json::from_str(&ureq::get(&url).call().unwrap().body_mut().read_to_string().unwrap()).unwrap();
    assert!(of_blueprints(&general).is_empty());
    let all = server.get("/v2/openapi.json").expect(200).json();
    assert_eq!(of_blueprints(&all), ["all-types.attributes", "other.attributes"]);
    let some = server.as_token(&limited).get("/v2/openapi.json").expect(200).json();
    assert_eq!(of_blueprints(&some), ["other.attributes"]);

    let schemas = &all["components"]["schemas"];
    let attributes = &schemas["all-types.attributes"];
    assert_eq!(attributes["required"].as_array().unwrap().len(), TYPES.len());
    let title = &attributes["properties"]["text"];
    assert_eq!((&title["type"], &title["description"]), (&json!(["string", "null"]), &json!("What it is called.")));
    assert_eq!(schemas["all-types.write"]["properties"]["text"]["type"], "string", "a required field is not null");
    assert_eq!(schemas["all-types.write"]["required"], json!(["text"]));
    assert_eq!(schemas["all-types.change"].get("required"), None);
}

#[test]
fn the_description_is_made_once_for_all_who_ask_and_again_after_a_change() {
    let server = Server::start();
    blueprint(&server, "all-types");
    (0..60).for_each(|nth| blueprint(&server, &format!("types-{nth}")));
    let ask = || {
        let started = Instant::now();
        let document = server.get("/v2/openapi.json").expect(200).json();
        (started.elapsed(), document["components"]["schemas"].as_object().unwrap().len())
    };
    let (alone, before) = ask();
    blueprint(&server, "types-new");
    let started = Instant::now();
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..24).map(|_| scope.spawn(|| server.get("/v2/openapi.json").expect(200).text)).collect();
        let texts: Vec<String> = asking.into_iter().map(|asking| asking.join().unwrap()).collect();
        assert!(texts.iter().all(|text| *text == texts[0] && text.contains("types-new")));
    });
    let together = started.elapsed();
    let (again, after) = ask();
    eprintln!("{alone:?} alone, {together:?} for 24 together, {again:?} again");
    assert!(after > before, "{before} schemas, {after} after a blueprint more");
    assert!(together < alone * 8, "{alone:?} alone, {together:?} for 24");
}

/// Returns the schema that the reference in an object names.
fn target(object: &Value) -> &str {
    object["$ref"].as_str().unwrap_or_default().rsplit('/').next().unwrap_or_default()
}

#[test]
fn every_blueprint_has_paths_with_its_own_schemas() {
    let server = Server::start();
    blueprint(&server, "all-types");
    blueprint(&server, "all_types");
    let all = server.get("/v2/openapi.json").expect(200).json();
    let paths = all["paths"].as_object().unwrap();
    let rest_of = |path: &str| path.strip_prefix("/v2/resources/all-types").map(str::to_owned);
    let own: Vec<String> = paths.keys().filter_map(|path| rest_of(path)).collect();
    let url = format!("{}/v2/openapi.json", server.address());
    let general = ureq::get(&url).call().unwrap().body_mut().read_to_string().unwrap();
    let general: Value = serde_json::from_str(&general).unwrap();
    let general = general["paths"].as_object().unwrap();
    let expected: Vec<String> =
        general.keys().filter_map(|path| path.strip_prefix("/v2/resources/{blueprint}").map(str::to_owned)).collect();
    assert_eq!(own, expected, "the paths of a blueprint are those of all");
    let is_general = |path: &String| path.starts_with("/v2/resources/{blueprint}");
    assert!(expected.len() > 8 && !paths.keys().any(is_general), "{paths:?}");

    let schemas = &all["components"]["schemas"];
    let body = |method: &str, path: &str| &all["paths"][path][method]["requestBody"]["content"]["application/json"];
    let create = body("post", "/v2/resources/all-types");
    assert_eq!(target(&create["schema"]), "all-types.create");
    assert_eq!(target(&schemas["all-types.create"]["properties"]["attributes"]), "all-types.write");
    let change = target(&body("patch", "/v2/resources/all-types/{id}")["schema"]);
    assert_eq!(target(&schemas[change]["properties"]["attributes"]), "all-types.change");
    let listed = &all["paths"]["/v2/resources/all-types"]["get"]["responses"]["200"]["content"]["application/json"];
    let list = &schemas[target(&listed["schema"])]["properties"]["data"]["items"];
    assert_eq!(target(&schemas[target(list)]["properties"]["attributes"]), "all-types.attributes");
    server.post("/v2/resources/all-types", &create["example"]).expect(201);

    let mut ids: Vec<&str> =
        operations(&all).map(|(_, operation)| operation["operationId"].as_str().unwrap()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an identifier is there twice");
    assert!(ids.contains(&"createAllTypes") && ids.contains(&"createAllTypes_2"), "{ids:?}");
    for (path, operation) in operations(&all) {
        let responses = operation["responses"].as_object().unwrap();
        let errors =
            responses.iter().filter(|(status, _)| status.as_str() >= "400").map(|(_, response)| target(response));
        for error in errors {
            let schema = &all["components"]["responses"][error]["content"]["application/json"]["schema"];
            assert_eq!(target(schema), "ErrorBody", "{path}: {error}");
        }
    }
    assert_objects_say_what_they_hold(&all, "");
}

#[test]
fn the_body_of_a_put_of_a_working_copy_may_lack_required_attributes() {
    let server = Server::start();
    let fields = json!([{ "name": "T", "slug": "t", "type": "text", "required": true }]);
    for (slug, has_working_copies) in [("notes", true), ("plain", false)] {
        let body = json!({ "name": slug, "slug": slug, "working_copy": has_working_copies, "fields": fields });
        server.post("/v2/blueprints", &body).expect(201);
    }
    let all = server.get("/v2/openapi.json").expect(200).json();
    let replacement = |slug: &str| {
        let operation = &all["paths"][format!("/v2/resources/{slug}/{{id}}")]["put"];
        &operation["requestBody"]["content"]["application/json"]["schema"]
    };
    let schemas = &all["components"]["schemas"];
    let choices: Vec<&str> = replacement("notes")["anyOf"].as_array().unwrap().iter().map(target).collect();
    assert_eq!(choices, ["notes.create", "notes.working"]);
    assert_eq!(target(&schemas["notes.working"]["properties"]["attributes"]), "notes.change");
    assert_eq!(schemas["notes.working"]["required"], json!(["attributes"]));
    assert_eq!(target(replacement("plain")), "plain.create");
    assert!(schemas["plain.working"].is_null());

    let published = json!({ "published_at": "2026-01-01T00:00:00Z", "attributes": { "t": "x" } });
    let id = server.post("/v2/resources/notes", &published).expect(201).data()["id"].clone();
    let path = format!("/v2/resources/notes/{}?copy=working", id.as_str().unwrap());
    server.put(&path, &json!({ "attributes": {} })).expect(200);
}

fn operations(document: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, item)| item.as_object().unwrap().values().map(move |operation| (path.as_str(), operation)))
}

#[test]
fn operations_that_a_blueprint_always_refuses_are_left_out() {
    let server = Server::start();
    let fields = json!([{ "name": "T", "slug": "t", "type": "text" }]);
    for (slug, kind) in [("notes", "resource"), ("files", "media"), ("settings", "singular_resource")] {
        let body = json!({ "name": slug, "slug": slug, "kind": kind, "fields": fields });
        server.post("/v2/blueprints", &body).expect(201);
    }
    let all = server.get("/v2/openapi.json").expect(200).json();
    let operations_of = |slug: &str| -> BTreeSet<String> {
        let root = format!("/v2/resources/{slug}");
        let own = operations_by_method(&all).filter_map(|(method, path)| Some((method, path.strip_prefix(&root)?)));
        own.map(|(method, rest)| format!("{method} {rest}")).collect()
    };
    let of_notes = operations_of("notes");
    let (attributes, id) = (json!({ "attributes": { "t": "x" } }), server.find("settings")[0]["id"].clone());
    let bulk = json!({ "resources": [attributes] });
    let delete = format!("/{}", id.as_str().unwrap());
    let creates = [("post", "", "", &attributes), ("post", "/bulk", "/bulk", &bulk)];
    let ids = json!({ "ids": [id] });
    let deletes = [("delete", "/{id}", &*delete, &Value::Null), ("delete", "/bulk", "/bulk", &ids)];
    let both = [creates, deletes].concat();
    for (slug, refused) in [("files", &creates[..]), ("settings", &both)] {
        let left_out: BTreeSet<String> = refused.iter().map(|(method, rest, ..)| format!("{method} {rest}")).collect();
        let described = operations_of(slug);
        assert_eq!(of_notes.difference(&described).cloned().collect::<BTreeSet<String>>(), left_out, "{slug}");
        for (method, _, rest, body) in refused {
            let path = format!("/v2/resources/{slug}{rest}");
            let reply = server.as_token(server.secret()).send(&method.to_uppercase(), &path, Some(body));
            assert!(reply.status == 207 || reply.status >= 400, "{method} {path}: {}", reply.text);
        }
    }
    assert_eq!((server.ids("files").len(), server.ids("settings").len()), (0, 1));
    let schemas = &all["components"]["schemas"];
    assert!(schemas["notes.bulk-create"].is_object() && schemas["files.bulk-create"].is_null());
}

/// Returns the method and the path of each operation.
fn operations_by_method(document: &Value) -> impl Iterator<Item = (&str, &str)> {
    let paths = document["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| item.as_object().unwrap().keys().map(move |method| (method.as_str(), &**path)))
}

#[test]
fn the_document_names_the_parameters_of_each_operation_in_its_section() {
    let api = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("API.md")).unwrap();
    let document = Server::start().get("/v2/openapi.json").expect(200).json();
    let (mut compared, mut missing) = (0, Vec::new());
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let names = query_parameters(&document, operation);
            let sections = if names.is_empty() { String::new() } else { sections_about(&api, method, path) };
            compared += names.len();
            let is_named =
                |name: &str| ["`{}`", "{}=", "`{}["].iter().any(|form| sections.contains(&form.replace("{}", name)));
            missing.extend(
                names.into_iter().filter(|name| !is_named(name)).map(|name| format!("{method} {path}: {name}")),
            );
        }
    }
    assert!(compared > 100, "{compared}");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Returns the names of an operation's own parameters. API.md describes `strict` and `pretty` once for all operations.
fn query_parameters<'a>(document: &'a Value, operation: &'a Value) -> Vec<&'a str> {
    let parameters = operation["parameters"].as_array().unwrap().iter();
    let parameters = parameters.map(|parameter| &document["components"]["parameters"][target(parameter)]);
    let names = parameters.filter(|parameter| parameter["in"] == "query").filter_map(|one| one["name"].as_str());
    names
        .map(|name| name.split('[').next().unwrap_or(name))
        .filter(|name| !["strict", "pretty"].contains(name))
        .collect()
}

/// Returns the sections that the overview (4.1) refers to for an operation.
fn sections_about(api: &str, method: &str, path: &str) -> String {
    let overview = part(api, "### 4.1 ", &["\n### "]);
    let rows = overview.lines().filter_map(|line| line.strip_prefix("| "));
    let rows = rows.map(|row| row.split('|').collect::<Vec<&str>>());
    let mut rows = rows.filter(|row| row[0].to_lowercase().split([',', ' ']).any(|one| one == method));
    let is_about = |row: &Vec<&str>| {
        let mut paths = row[1].split('`').skip(1).step_by(2);
        paths.any(|known| known == path || known.strip_suffix('…').is_some_and(|start| path.starts_with(start)))
    };
    let row = rows.clone().find(|row| row[1].contains(&format!("`{path}`"))).or_else(|| rows.find(is_about));
    let row = row.unwrap_or_else(|| panic!("the overview lacks {method} {path}"));
    let numbers = row[2].split('(').skip(1).filter_map(|rest| rest.split(')').next());
    let about = |number: &str| match number.split('.').count() {
        2 => part(api, &format!("### {number} "), &["\n### ", "\n## "]),
        _ => part(api, &format!("- **{number}** "), &["\n- **", "\n### "]),
    };
    numbers.map(about).collect()
}

/// Returns the part of a text from `start` to the first of `ends`.
fn part<'a>(text: &'a str, start: &str, ends: &[&str]) -> &'a str {
    let from = text.find(start).unwrap_or_else(|| panic!("API.md lacks {start}"));
    let rest = &text[from..];
    &rest[..ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len())]
}

/// Generators read an object schema without properties as an object that has none.
fn assert_objects_say_what_they_hold(part: &Value, path: &str) {
    let is_object = part["type"] == "object" || part["type"][0] == "object";
    assert!(!is_object || part.get("properties").or(part.get("additionalProperties")).is_some(), "{path}: {part}");
    let parts = part.as_object().into_iter().flatten().map(|(key, part)| (key.clone(), part));
    let elements = part.as_array().into_iter().flatten().enumerate().map(|(index, part)| (index.to_string(), part));
    parts.chain(elements).for_each(|(key, part)| assert_objects_say_what_they_hold(part, &format!("{path}/{key}")));
}

#[test]
fn a_description_can_be_limited_to_some_blueprints() {
    let server = Server::start();
    let field = json!([{ "name": "T", "slug": "t", "type": "text" }]);
    for n in 0..201 {
        server.blueprint(&format!("b{n}"), field.clone());
    }
    let all = server.get("/v2/openapi.json").expect(200);
    assert!(all.json()["components"]["schemas"]["b200.write"].is_object());
    assert!(all.json()["paths"]["/v2/resources/{blueprint}"].is_object(), "of many blueprints there are schemas only");
    assert!(all.text.len() < 700_000, "{}", all.text.len());
    let some = server.get("/v2/openapi.json?blueprints=b200,b7").expect(200).json();
    let paths = some["paths"].as_object().unwrap();
    let lists: Vec<&String> = paths.keys().filter(|path| path.ends_with("/bulk")).collect();
    assert_eq!(lists, ["/v2/resources/b200/bulk", "/v2/resources/b7/bulk"]);
    for asked in ["b7,nothing", "", "b7,"] {
        let refused = server.get(&format!("/v2/openapi.json?blueprints={asked}"));
        assert_eq!(refused.outcome(), "422 INVALID_PARAMETER", "{asked}");
    }
}

/// A program for each generator, which compiles only if bodies, answers and errors have types.
const PROGRAMS: [(&str, &[&str], &str, &str); 3] = [
    (
        "openapi-typescript",
        &["description.json", "-o", "generated.ts"],
        "openapi-typescript.ts",
        r#"import type { components, operations, paths } from "./generated.ts";
type Create = paths["/v2/resources/articles"]["post"]["requestBody"]["content"]["application/json"];
export const article: Create = { attributes: { title: "t", slug: "s", tags: ["a"] }, published_at: null };
// @ts-expect-error the required slug is missing
export const incomplete: Create = { attributes: { title: "t" } };
// @ts-expect-error there is no such field
export const unknown: Create = { attributes: { title: "t", slug: "s", titel: "t" } };
type Created = operations["createArticles"]["responses"][201]["content"]["application/json"];
export const title = (created: Created): string | null => created.data.attributes.title;
export const code = (error: components["schemas"]["ErrorBody"]): string => error.errors.code;
"#,
    ),
    (
        "openapi-ts",
        &["-i", "description.json", "-o", "generated"],
        "openapi-ts.ts",
        r#"import { createArticles } from "./generated/index.js";
export async function create(): Promise<string | null> {
  const { data, error } = await createArticles({ baseUrl: process.argv[2], auth: process.argv[3], body: { attributes: { title: "t", slug: "hey" } } });
  if (error !== undefined) throw new Error(error.errors.message);
  // @ts-expect-error the required slug is missing
  const incomplete = () => createArticles({ body: { attributes: { title: "t" } } });
  return data.data.attributes.title;
}
declare const process: { argv: string[] };
console.log(await create());
"#,
    ),
    (
        "orval",
        &["-i", "description.json", "-o", "generated/client.ts", "--client", "fetch"],
        "orval.ts",
        r#"import { createArticles } from "./generated/client.js";
declare const process: { argv: string[] };
const send = fetch;
globalThis.fetch = (path, init) => send(`${process.argv[2]}${path}`, init);
// @ts-expect-error the required slug is missing
export const incomplete = () => createArticles({ attributes: { title: "t" } });
const answer = await createArticles({ attributes: { title: "t", slug: "orval" } }, undefined, {
  headers: { Authorization: `Bearer ${process.argv[3]}`, "Content-Type": "application/json" },
});
if (answer.status !== 201) throw new Error(answer.data.errors.message);
console.log(answer.data.data.attributes.title);
"#,
    ),
];

/// `BINDERY_TEST_GENERATORS` names the folder of the programs of redocly, openapi-typescript, orval,
/// @hey-api/openapi-ts and typescript.
#[test]
fn generators_and_linters_accept_the_description() {
    let Some(tools) = std::env::var_os("BINDERY_TEST_GENERATORS") else {
        eprintln!("skipped: BINDERY_TEST_GENERATORS names no folder with generators");
        return;
    };
    let server = Server::start_with(&["--demo"]);
    let run = |folder: &Path, program: &str, arguments: &[&str]| -> String {
        let path = std::env::join_paths(
            [tools.clone()]
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap()).map(Into::into)),
        );
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).env("PATH", path.unwrap()).env("REDOCLY_TELEMETRY", "off");
        let output = command.output().unwrap();
        let printed = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{program}: {printed}");
        printed
    };
    for (program, arguments, name, text) in PROGRAMS {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("description.json"), server.get("/v2/openapi.json").expect(200).text).unwrap();
        let linted = run(temp.path(), "redocly", &["lint", "description.json"]);
        // "You have 2 warnings." The linter may warn of the version of Node.js, too.
        assert!(linted.contains("is valid") && !linted.contains("You have"), "{linted}");
        run(temp.path(), program, arguments);
        std::fs::write(temp.path().join("package.json"), r#"{"type": "module"}"#).unwrap();
        std::fs::write(temp.path().join(name), text).unwrap();
        let options = ["--strict", "--target", "es2022", "--lib", "es2022,dom,dom.iterable", "--skipLibCheck"];
        let mut options = Vec::from(options);
        options.extend([
            "--module",
            "esnext",
            "--moduleResolution",
            "bundler",
            "--rewriteRelativeImportExtensions",
            name,
        ]);
        run(temp.path(), "tsc", &options);
        if program == "openapi-typescript" {
            continue;
        }
        let bundled =
            run(temp.path(), "esbuild", &[&name.replace(".ts", ".js"), "--bundle", "--format=esm", "--outfile=all.js"]);
        let created = run(temp.path(), "node", &["all.js", server.address(), server.secret()]);
        assert_eq!(created.trim(), "t", "{bundled}");
    }
}
