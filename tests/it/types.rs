//! `bindery types typescript`: what it prints compiles under `tsc --strict`, and works with a running server.

use std::process::Command;

use serde_json::json;

use crate::support::{ADMIN, Server, TYPES, binary};

/// What uses the client, with one error that the compiler must find.
const PROGRAM: &str = r#"
import { Client, BinderyError } from "./bindery";
const [url, token] = [process.argv[2]!, process.argv[3]!];
declare const process: { argv: string[]; exit(code: number): never };
function check(holds: boolean, what: string): void {
  if (!holds) { console.error(`not so: ${what}`); process.exit(1); }
}
async function main(): Promise<void> {
  const client = new Client(url, token);
  // @ts-expect-error the blueprint does not exist
  const unknown = () => client.list("nothing");
  // @ts-expect-error the required field is missing
  const incomplete = () => client.create("notes", { attributes: {} });
  // @ts-expect-error the value is none of the field's
  const other = () => client.create("notes", { attributes: { title: "t", kind: "blue" } });
  const created = await client.create("notes", { attributes: { title: "ä & b", kind: "red" }, published_at: null });
  const kind: "red" | "gr\"een" | null = created.attributes.kind;
  check(kind === "red", "the answer to a write");
  for (let n = 0; n < 3; n += 1) await client.create("notes", { attributes: { title: `t${n}` } });
  const found = await client.list("notes", { filter: { title: "ä & b" } });
  check(found.meta.total === 1 && found.data[0]!.id === created.id, "a filter");
  await client.update("notes", created.id, { attributes: { price: { amount: 1.5, currency: "EUR" } } });
  const read = await client.get("notes", created.id, { variant: "en" });
  check(read.attributes.price?.amount === 1.5, "an update");
  let count = 0;
  for await (const note of client.all("notes", { per_page: 2 })) count += note.id.length > 0 ? 1 : 0;
  check(count === 4, "all pages");
  await client.delete("notes", created.id);
  try {
    await client.get("notes", created.id);
    check(false, "an error");
  } catch (error) {
    check(error instanceof BinderyError && error.status === 404 && error.code === "NOT_FOUND", String(error));
  }
}
main().catch((error) => { console.error(error); process.exit(1); });
"#;

fn types(server: &Server) -> String {
    let arguments = ["types", "typescript", "--url", server.address(), "--token", ADMIN];
    let output = Command::new(binary()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_client_compiles_and_works() {
    let server = Server::start();
    let body = json!({
        "name": "Notes", "slug": "notes",
        "variants": [{ "name": "English", "slug": "en", "default": true }, { "name": "German", "slug": "de" }],
        "fields": [
            { "name": "Title", "slug": "title", "type": "text", "required": true },
            { "name": "Kind", "slug": "kind", "type": "enum", "settings": { "values": ["red", "gr\"een"] } },
            { "name": "Price", "slug": "price", "type": "money", "settings": { "currencies": ["EUR", "CHF"] } },
        ],
    });
    server.post("/v2/blueprints", &body).expect(201);
    let field = |kind: &str| {
        let settings = if kind.starts_with("reference") { json!({ "blueprint": "notes" }) } else { json!({}) };
        json!({ "name": kind, "slug": format!("x-{kind}"), "type": kind, "settings": settings })
    };
    server.blueprint("all-types", TYPES.iter().map(|kind| field(kind)).collect());
    let text = types(&server);
    assert!(text.contains("\"x-multi-enum\": (string)[] | null;"), "{text}");
    assert!(text.contains("currency: \"EUR\" | \"CHF\""), "{text}");
    let compiler = std::env::var("BINDERY_TEST_TSC").unwrap_or_else(|_| "tsc".to_owned());
    if !Command::new(&compiler).arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("not compiled: there is no TypeScript compiler ({compiler}); BINDERY_TEST_TSC names one");
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("bindery.ts"), text).unwrap();
    std::fs::write(temp.path().join("program.ts"), PROGRAM).unwrap();
    let options = ["--strict", "--target", "es2022", "--module", "commonjs", "--lib", "es2022,dom", "program.ts"];
    let compiled = Command::new(&compiler).args(options).current_dir(temp.path()).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stdout));
    let run =
        Command::new("node").args(["program.js", server.address(), ADMIN]).current_dir(temp.path()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
