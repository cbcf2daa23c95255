//! The command line in use: the import of tables, and blueprints as files.

mod configuration;
mod tables;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::media;
use crate::support::{ADMIN, Server, binary};

/// Runs a command against a server, in a folder.
fn run_in(folder: &Path, server: &Server, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(binary());
    command.args(arguments).args(["--url", server.address(), "--token", ADMIN]).current_dir(folder);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that refuses its arguments ends without reading.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Returns the printed text: standard output, then standard error.
fn printed(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

#[track_caller]
fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", printed(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn fails(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}", printed(output));
    printed(output)
}

fn products(server: &Server) {
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    let mut price = field("price", "money");
    price["settings"] = json!({ "default_currency": "EUR" });
    server.blueprint(
        "products",
        json!([
            field("title", "text"),
            field("sku", "text"),
            field("tags", "multi-enum"),
            field("stock", "number"),
            price
        ]),
    );
}

fn listed(server: &Server) -> Vec<Value> {
    let list = server.get("/v2/resources/products?sort=sku&fields=attributes").expect(200).data();
    list.as_array().unwrap().iter().map(|item| item["attributes"].clone()).collect()
}

#[test]
fn a_table_becomes_resources_and_a_second_import_updates_them() {
    let server = Server::start();
    products(&server);
    let folder = tempfile::tempdir().unwrap();
    let csv = "Title,sku,tags,Count,price,Remark\nPen,a1,\"blue,red\",3,1.20,x\nInk,a2,,many,,y\n\"Two\nlines\",a3,,,2 USD,\n";
    std::fs::write(folder.path().join("p.csv"), csv).unwrap();
    let import = |more: &[&str]| {
        let arguments = [&["import", "products", "p.csv", "--key", "sku", "--map", "Count=stock"], more].concat();
        run_in(folder.path(), &server, &arguments, "")
    };
    let refused = fails(&import(&[]));
    assert!(refused.contains("the column `Remark` is no field of `products`"), "{refused}");
    assert!(refused.contains("--map 'Remark='"), "{refused}");

    let checked = fails(&import(&["--map", "Remark=", "--dry-run"]));
    assert!(
        checked.contains("3 items checked") && checked.contains("2 valid, 1 not; nothing was written"),
        "{checked}"
    );
    assert!(listed(&server).is_empty());

    let imported = fails(&import(&["--map", "Remark="]));
    assert!(imported.contains("2 created, 0 updated, 1 failed"), "{imported}");
    assert!(imported.contains("line 3: `stock` is not valid: must be a number"), "{imported}");
    let rejected = std::fs::read_to_string(folder.path().join("p.csv.rejected.csv")).unwrap();
    let (header, row) = rejected.split_once('\n').unwrap();
    assert_eq!(header, "Title,sku,tags,Count,price,Remark,errors");
    assert!(row.starts_with("Ink,a2,,many,,y,") && row.contains("`stock` is not valid"), "{row}");

    // The rejects file is corrected, but the column with the errors is still in it.
    let arguments =
        ["import", "products", "-", "--format", "csv", "--key", "sku", "--map", "Count=stock", "--map", "Remark="];
    let output = run_in(folder.path(), &server, &arguments, &rejected.replace("many", "7"));
    assert!(succeeds(&output).contains("1 item in"), "{}", printed(&output));
    std::fs::write(folder.path().join("p.csv"), csv.replace("many", "8")).unwrap();
    assert!(succeeds(&import(&["--map", "Remark="])).contains("0 created, 3 updated, 0 failed"));
    let eur = json!({ "amount": 1.2, "currency": "EUR" });
    let expected = [
        json!({ "title": "Pen", "sku": "a1", "tags": ["blue", "red"], "stock": 3, "price": eur }),
        json!({ "title": "Ink", "sku": "a2", "tags": null, "stock": 8, "price": null }),
        json!({ "title": "Two\nlines", "sku": "a3", "tags": null, "stock": null, "price": { "amount": 2, "currency": "USD" } }),
    ];
    assert_eq!(listed(&server), expected);
}

#[test]
fn an_import_prints_what_is_wrong_with_each_of_several_fields() {
    let server = Server::start();
    products(&server);
    let folder = tempfile::tempdir().unwrap();
    let items = [
        ("p.csv", "sku,stock,price\na1,many,much\n", "must be an amount with a currency"),
        (
            "p.ndjson",
            "{\"attributes\":{\"sku\":\"a1\",\"stock\":\"many\",\"price\":5}}\n",
            "must be an object with the keys",
        ),
    ];
    for (file, text, price) in items {
        std::fs::write(folder.path().join(file), text).unwrap();
        let imported = fails(&run_in(folder.path(), &server, &["import", "products", file], ""));
        let (_, reasons) = imported.split_once("2 fields are not valid: `stock` must be a number").unwrap();
        assert!(reasons.contains(&format!("; `price` {price}")), "{imported}");
    }
    let rejected = std::fs::read_to_string(folder.path().join("p.csv.rejected.csv")).unwrap();
    assert!(rejected.contains("`stock` must be a number"), "{rejected}");
}

#[test]
fn the_help_names_the_files_of_rejected_lines_as_they_are() {
    let server = Server::start();
    products(&server);
    let folder = tempfile::tempdir().unwrap();
    let help = succeeds(&Command::new(binary()).args(["import", "--help"]).output().unwrap());
    let (csv, json) = ("sku,stock\na1,many\n", "[{\"sku\":\"a1\",\"stock\":\"many\"}]");
    for (file, text, rejected) in [
        ("products.csv", csv, "products.csv.rejected.csv"),
        ("products.csv", csv, "products.csv.rejected.2.csv"),
        ("posts.json", json, "posts.json.rejected.ndjson"),
        ("-", csv, "stdin.rejected.csv"),
        ("-", json, "stdin.rejected.ndjson"),
    ] {
        if file != "-" {
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        let printed = fails(&run_in(folder.path(), &server, &["import", "products", file], text));
        assert!(printed.contains(&format!("what is in {rejected} ")), "{rejected}: {printed}");
        assert!(folder.path().join(rejected).is_file() && help.contains(rejected), "{rejected}: {help}");
    }
}

#[test]
fn what_export_writes_as_csv_or_json_can_be_imported() {
    let server = Server::start();
    products(&server);
    server.create(
        "products",
        json!({ "title": "a, \"b\"", "sku": "1", "tags": ["x", "y"], "price": { "amount": 2, "currency": "USD" } }),
    );
    server.create("products", json!({ "sku": "2", "stock": -0.5 }));
    let before = listed(&server);
    let folder = tempfile::tempdir().unwrap();
    // The name of the file says how it is compressed.
    for (file, beginning) in
        [("c.csv.gz", &b"\x1f\x8b"[..]), ("c.ndjson.gz", b"\x1f\x8b"), ("c.csv.zst", b"\x28\xb5\x2f\xfd")]
    {
        succeeds(&run_in(folder.path(), &server, &["export", "products", file], ""));
        let written = std::fs::read(folder.path().join(file)).unwrap();
        assert!(written.starts_with(beginning), "{file}: {:?}", &written[..8]);
        let imported = succeeds(&run_in(folder.path(), &server, &["import", "products", file], ""));
        assert!(imported.contains("0 created, 2 updated, 0 failed"), "{file}: {imported}");
    }
    for (file, format) in [("p.csv", "csv"), ("p.json", "json")] {
        let exported = succeeds(&run_in(folder.path(), &server, &["export", "products", "--format", format], ""));
        // An export as JSON has an envelope. Its array can be imported.
        let text = match serde_json::from_str::<Value>(&exported) {
            Ok(mut envelope) => envelope["data"].take().to_string(),
            Err(_) => exported,
        };
        std::fs::write(folder.path().join(file), text).unwrap();
        let imported = succeeds(&run_in(folder.path(), &server, &["import", "products", file], ""));
        assert!(imported.contains("0 created, 2 updated, 0 failed"), "{imported}");
        assert_eq!(listed(&server), before, "{file}");
    }
}

#[test]
fn an_export_of_media_can_be_imported_although_a_field_has_the_name_of_the_column_type() {
    let server = Server::start();
    server.post("/v2/blueprints", &media::definition()).expect(201);
    media::upload(&server, "a.png", &media::png(10, 10));
    let folder = tempfile::tempdir().unwrap();
    let exported = succeeds(&run_in(folder.path(), &server, &["export", "media", "--format", "csv"], ""));
    std::fs::write(folder.path().join("m.csv"), exported).unwrap();
    let imported = succeeds(&run_in(folder.path(), &server, &["import", "media", "m.csv"], ""));
    assert!(imported.contains("0 created, 1 updated, 0 failed"), "{imported}");
}

#[test]
fn files_that_are_something_else_are_named() {
    let server = Server::start();
    products(&server);
    let folder = tempfile::tempdir().unwrap();
    let run = |file: &str| fails(&run_in(folder.path(), &server, &["import", "products", file], ""));
    assert!(run("missing.csv").contains("opening missing.csv"));
    std::fs::create_dir(folder.path().join("dir")).unwrap();
    assert!(run("dir").contains("dir is a folder; name a file"));
    std::fs::write(folder.path().join("object.json"), "{}").unwrap();
    assert!(run("object.json").contains("no JSON array of objects"));
}

#[test]
fn blueprints_are_pulled_compared_and_applied() {
    let (from, to) = (Server::start(), Server::start());
    let field = |slug: &str, kind: &str| json!({ "name": slug, "slug": slug, "type": kind });
    let relation = |slug: &str, other: &str| json!({ "name": slug, "slug": slug, "type": "reference", "settings": { "blueprint": other } });
    from.blueprint("zebra", json!([field("title", "text")]));
    from.blueprint("articles", json!([field("title", "text"), relation("about", "zebra")]));
    // Two blueprints that relate to each other.
    from.put(
        "/v2/blueprints/zebra",
        &json!({ "name": "Zebra", "fields": [field("title", "text"), relation("best", "articles")] }),
    )
    .expect(200);
    let folder = tempfile::tempdir().unwrap();
    let run = |server: &Server, command: &str, more: &[&str]| {
        run_in(folder.path(), server, &[&["blueprint", command, "files"], more].concat(), "")
    };
    assert_eq!(succeeds(&run(&from, "pull", &[])).lines().count(), 2);
    assert_eq!(succeeds(&run(&from, "diff", &[])), "nothing to change\n");

    let compared = fails(&run(&to, "diff", &[]));
    assert!(compared.contains("articles: is created") && compared.contains("2 blueprints differ"), "{compared}");
    assert!(fails(&run(&to, "apply", &[])).contains("add `--yes`"));
    assert!(to.get("/v2/blueprints").expect(200).data().as_array().unwrap().is_empty());
    assert!(succeeds(&run(&to, "apply", &["--yes"])).contains("2 created, 0 changed"));
    assert_eq!(succeeds(&run(&to, "diff", &[])), "nothing to change\n");

    // The cases: a change, a loss of data, a conflict, and a blueprint without a file.
    to.blueprint("extra", json!([field("title", "text")]));
    let id = to.create("zebra", json!({ "title": "seven" }));
    let path = folder.path().join("files/zebra.json");
    let mut zebra: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let before = zebra.clone();
    zebra["fields"][0]["type"] = json!("number");
    std::fs::write(&path, zebra.to_string()).unwrap();
    let compared = fails(&run(&to, "diff", &[]));
    for expected in
        ["zebra:", "retype `title`", "conflicts with the values of 1 resource", &id, "extra: has no file, and stays"]
    {
        assert!(compared.contains(expected), "{expected}: {compared}");
    }
    assert!(fails(&run(&to, "apply", &["--yes"])).contains("nothing was changed: resources conflict"));
    zebra = before;
    zebra["fields"].as_array_mut().unwrap().remove(0);
    std::fs::write(&path, zebra.to_string()).unwrap();
    assert!(fails(&run(&to, "diff", &[])).contains("remove `title`, which takes its value from 1 resource"));
    assert!(succeeds(&run(&to, "apply", &["--yes"])).contains("0 created, 1 changed"));

    zebra["fields"][0]["type"] = json!("txt");
    std::fs::write(&path, zebra.to_string()).unwrap();
    let refused = fails(&run(&to, "diff", &[]));
    assert!(refused.contains("zebra.json") && refused.contains("fields.0.type: must be one of"), "{refused}");
}

#[test]
fn a_proposed_blueprint_takes_the_data_that_it_was_proposed_for() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let mut csv = "SKU,Name,Price (EUR),Kind,Added\n".to_owned();
    (0..40)
        .for_each(|number| csv.push_str(&format!("k{number},Thing {number},{number}.5,k{},2026-01-01\n", number % 3)));
    std::fs::write(folder.path().join("my_products.csv"), &csv).unwrap();
    let infer = Command::new(binary())
        .args(["blueprint", "infer", "my_products.csv"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let proposal: Value = serde_json::from_str(&succeeds(&infer)).unwrap();
    assert_eq!((&proposal["slug"], &proposal["fields"][2]["type"]), (&json!("my_products"), &json!("number")));
    server.post("/v2/blueprints", &proposal).expect(201);
    let imported = run_in(folder.path(), &server, &["import", "my_products", "my_products.csv", "--key", "SKU"], "");
    assert!(succeeds(&imported).contains("40 created"), "{}", printed(&imported));
    // The key is the name of the column or of its field.
    let again = run_in(folder.path(), &server, &["import", "my_products", "my_products.csv", "--key", "sku"], "");
    assert!(succeeds(&again).contains("40 updated"), "{}", printed(&again));
    let wrong = run_in(folder.path(), &server, &["import", "my_products", "my_products.csv", "--key", "nr"], "");
    assert!(printed(&wrong).contains("its columns are `SKU`, `Name`"), "{}", printed(&wrong));
    assert_eq!(proposal["record_title"], "name");
    let found = server.get("/v2/resources/my_products?filter[kind]=k1&filter[price_eur][gt]=30").expect(200);
    assert_eq!(found.json()["meta"]["total"], 3, "{}", found.text);
}

#[test]
fn messages_name_errors_of_the_system_without_their_numbers() {
    let temp = tempfile::tempdir().unwrap();
    let missing = temp.path().join("missing.json");
    let path = missing.to_str().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("--listen={}", taken.local_addr().unwrap());
    for (arguments, expected) in [
        (vec!["export", "notes", "--url", "http://127.0.0.1:1", "--token", "t"], "refused"),
        (vec!["import", "notes", path, "--url", "http://127.0.0.1:1", "--token", "t"], "No such file"),
        (vec!["serve", "--config", path], "No such file"),
        (vec!["serve", "--data", path, &listen], "in use"),
    ] {
        let output = Command::new(binary()).args(&arguments).output().unwrap();
        let text = printed(&output);
        assert!(text.contains(expected) && !text.contains("os error"), "{arguments:?}: {text}");
    }
}

#[test]
fn lines_are_counted_from_one_and_one_is_no_plural() {
    let server = Server::start();
    products(&server);
    let temp = tempfile::tempdir().unwrap();
    let run = |lines: &str| run_in(temp.path(), &server, &["import", "products", "-"], lines);
    let one = printed(&run("{\"attributes\":{\"title\":\"a\"}}\n"));
    assert!(one.contains("1 item in"), "{one}");
    let failed = printed(&run("{\"attributes\":{\"nothing\":\"a\"}}\n"));
    assert!(failed.contains("line 1: ") && failed.contains("1 item failed"), "{failed}");
}

#[test]
fn a_quiet_backup_prints_nothing_when_it_succeeds() {
    let server = Server::start();
    let temp = tempfile::tempdir().unwrap();
    let quiet = run_in(temp.path(), &server, &["backup", "--quiet", "all.backup"], "");
    assert_eq!((succeeds(&quiet), printed(&quiet)), (String::new(), String::new()));
    let guide = include_str!("../../docs/operations.md");
    let cron = guide.lines().find(|line| line.starts_with("0 3 * * *")).unwrap();
    assert!(cron.contains("bindery backup --quiet "), "cron sends mail about every backup: {cron}");
}
