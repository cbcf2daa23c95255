//! Real-world tables: files from spreadsheets, with mistakes in them.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::{fails, listed, printed, products, run_in, succeeds};
use crate::support::{ADMIN, Server, binary};

fn infer(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(binary()).args(["blueprint", "infer"]).args(arguments).current_dir(folder).output().unwrap()
}

fn report(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns a text as Excel writes it in Germany.
fn windows_1252(text: &str) -> Vec<u8> {
    text.chars()
        .map(|character| match character {
            '€' => 0x80,
            '–' => 0x96,
            other => u8::try_from(u32::from(other)).unwrap(),
        })
        .collect()
}

/// Fields of these slugs and types.
fn fields(fields: &[(&str, &str)]) -> Value {
    fields.iter().map(|(slug, kind)| json!({ "name": slug, "slug": slug, "type": kind })).collect()
}

#[test]
fn a_table_of_a_german_shop_becomes_a_searchable_catalogue() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("Artikel.csv");
    let csv = "Artikelnr;Bezeichnung;E-Mail;Preis;Gewicht (kg);Verfügbar ab;Auf Lager;Beschreibung\r\n\
        A-1;Füller;a@x.example;1.299,00 €;1.250;24.12.2025;ja;\"Zwei\r\nZeilen; \"\"schön\"\"\"\r\n\
        A-2;Tinte;b@x.example;12,50 €;0,5;03.04.2026;nein;\r\n\
        A-3;Löschpapier;c@x.example;auf Anfrage;2;05.01.2026;ja;–\r\n\
        ;;;;;;;\r\n\
        A-4;Mappe;d@x.example;5 €;1;06.01.2026;ja\r\n\
        A-5;Heft;e@x.example;1 €;0,25;06.01.2026;nein;kariert\r\n";
    std::fs::write(&path, windows_1252(csv)).unwrap();

    let inferred = infer(folder.path(), &["Artikel.csv"]);
    let proposal: Value = serde_json::from_str(&succeeds(&inferred)).unwrap();
    let kinds: Vec<(&str, &str)> = proposal["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| (field["slug"].as_str().unwrap(), field["type"].as_str().unwrap()))
        .collect();
    let expected = [
        ("artikelnr", "text"),
        ("bezeichnung", "text"),
        ("e_mail", "email"),
        ("preis", "money"),
        ("gewicht_kg", "number"),
        ("verfugbar_ab", "date"),
        ("auf_lager", "boolean"),
        ("beschreibung", "text"),
    ];
    assert_eq!(kinds, expected);
    assert_eq!((&proposal["fields"][2]["name"], &proposal["record_title"]), (&json!("E-Mail"), &json!("bezeichnung")));
    let text = report(&inferred);
    for line in [
        "the file is not UTF-8, and is read as Windows-1252",
        "Preis: 3 of 4 look like money; line 5 `auf Anfrage`",
        "Gewicht (kg): 4 of 4 look like numbers; `1.250` is read with a decimal comma",
        "line 7 has 7 cells, but the header row has 8",
        "1 of 5 rows are broken and left out",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    server.post("/v2/blueprints", &proposal).expect(201);

    let arguments = ["import", "artikel", "Artikel.csv", "--key", "Artikelnr", "--publish"];
    let imported = run_in(folder.path(), &server, &arguments, "");
    let text = fails(&imported);
    assert!(text.contains("3 created, 0 updated, 2 failed"), "{text}");
    assert!(report(&imported).contains("Preis: 3 of 4 look like money; line 5 `auf Anfrage`"), "{text}");
    assert!(text.contains("line 7 has 7 cells") && text.contains("line 5: `preis` is not valid"), "{text}");
    let found = server.get("/v2/resources/artikel?filter[artikelnr]=A-1&filter[published]=true").expect(200).data();
    let attributes = json!({
        "artikelnr": "A-1", "bezeichnung": "Füller", "e_mail": "a@x.example",
        "preis": { "amount": 1299, "currency": "EUR" }, "gewicht_kg": 1250, "verfugbar_ab": "2025-12-24",
        "auf_lager": true, "beschreibung": "Zwei\r\nZeilen; \"schön\"",
    });
    assert_eq!(found[0]["attributes"], attributes);

    // The rejects open in the same spreadsheet: they have the same delimiter and the same encoding.
    let rejected = std::fs::read(folder.path().join("Artikel.csv.rejected.csv")).unwrap();
    let header =
        windows_1252("Artikelnr;Bezeichnung;E-Mail;Preis;Gewicht (kg);Verfügbar ab;Auf Lager;Beschreibung;errors\r\n");
    assert!(rejected.starts_with(&header), "{}", String::from_utf8_lossy(&rejected));
    let row = windows_1252("\nA-3;Löschpapier;c@x.example;auf Anfrage;2;05.01.2026;ja;–;");
    assert!(rejected.windows(row.len()).any(|part| part == row), "{}", String::from_utf8_lossy(&rejected));
    let short = windows_1252("\nA-4;Mappe;d@x.example;5 €;1;06.01.2026;ja;;the row has 7 cells");
    assert!(rejected.windows(short.len()).any(|part| part == short), "{}", String::from_utf8_lossy(&rejected));
    let text: String =
        rejected.iter().map(|byte| char::from(*byte)).collect::<String>().replace("auf Anfrage", "3,90 EUR");
    let corrected: Vec<u8> = text.chars().map(|character| character as u8).collect();
    std::fs::write(folder.path().join("Artikel.csv.rejected.csv"), corrected).unwrap();
    let arguments = ["import", "artikel", "Artikel.csv.rejected.csv", "--key", "Artikelnr", "--dates", "dmy"];
    let again = run_in(folder.path(), &server, &arguments, "");
    assert!(succeeds(&again).contains("2 created, 0 updated, 0 failed"), "{}", printed(&again));
    let found = server.get("/v2/resources/artikel?search=schpapier").expect(200).data();
    assert_eq!(found[0]["attributes"]["preis"], json!({ "amount": 3.9, "currency": "EUR" }));
}

#[test]
fn dates_that_fit_two_orders_are_refused_before_anything_is_written() {
    let server = Server::start();
    server.blueprint("things", fields(&[("title", "text"), ("day", "date"), ("at", "datetime")]));
    let folder = tempfile::tempdir().unwrap();
    let write = |csv: &str| std::fs::write(folder.path().join("t.csv"), csv).unwrap();
    let import = |more: &[&str]| run_in(folder.path(), &server, &[&["import", "things", "t.csv"], more].concat(), "");
    write("title\tday\tat\na\t03/04/2025\t\nb\t12/04/2025\t2025-04-03 14:30\n");
    for refused in [fails(&import(&[])), fails(&infer(folder.path(), &["t.csv"]))] {
        assert!(refused.contains("`day` fit two orders, such as `03/04/2025` in line 2"), "{refused}");
        assert!(refused.contains("`--dates dmy` or `--dates mdy`"), "{refused}");
    }
    assert_eq!(server.get("/v2/resources/things").expect(200).json()["meta"]["total"], 0);
    let days = || {
        let list =
            server.get("/v2/resources/things?sort=created_at,title&fields=attributes.day,attributes.at").expect(200);
        let list = list.data();
        list.as_array().unwrap().iter().map(|item| item["attributes"].clone()).collect::<Vec<Value>>()
    };
    succeeds(&import(&["--dates", "mdy", "--delimiter", "\t"]));
    assert_eq!(
        days(),
        [json!({ "day": "2025-03-04", "at": null }), json!({ "day": "2025-12-04", "at": "2025-04-03T14:30:00" })]
    );
    // One cell shows the order of the whole column.
    write("title,day\nc,3.4.2025\nd,24.12.2025\n");
    succeeds(&import(&[]));
    assert_eq!(days()[2]["day"], "2025-04-03");
    assert!(printed(&import(&["--dates", "german"])).contains("dmy"));
    assert!(printed(&import(&["--delimiter", ";;"])).contains("it must be one character"));
}

#[test]
fn items_without_a_date_are_published_now_or_then() {
    let server = Server::start();
    products(&server);
    let folder = tempfile::tempdir().unwrap();
    let published = |sku: &str| {
        let list = server.get(&format!("/v2/resources/products?filter[sku]={sku}")).expect(200).data();
        list[0]["published_at"].clone()
    };
    let csv = "sku,published_at\na,\nb,2020-01-01\n";
    succeeds(&run_in(folder.path(), &server, &["import", "products", "-", "--publish=2021-02-03T04:05Z"], csv));
    assert_eq!(published("a"), "2021-02-03T04:05:00.000+00:00");
    assert_eq!(published("b"), "2020-01-01T00:00:00.000+00:00");
    let lines = "{\"attributes\":{\"sku\":\"c\"}}\n";
    succeeds(&run_in(folder.path(), &server, &["import", "products", "-", "--publish"], lines));
    assert!(published("c").is_string());
    let refused = run_in(folder.path(), &server, &["import", "products", "-", "--publish=soon"], lines);
    assert!(printed(&refused).contains("it must be a date"), "{}", printed(&refused));
}

#[test]
fn an_exported_table_has_lists_and_money_as_people_write_them_and_is_imported_unchanged() {
    let server = Server::start();
    products(&server);
    let money = |amount: f64, currency: &str| json!({ "amount": amount, "currency": currency });
    for (sku, tags, price) in [
        ("1", json!(["x", "y z"]), money(485.9, "EUR")),
        ("2", json!(["a|b", "c"]), money(1200.0, "JPY")),
        ("3", json!([]), money(0.125, "EUR")),
        ("4", json!(["x"]), money(1.234, "USD")),
    ] {
        server.create("products", json!({ "title": "=1+1", "sku": sku, "tags": tags, "stock": -0.5, "price": price }));
    }
    let before = listed(&server);
    let folder = tempfile::tempdir().unwrap();
    let export = |more: &[&str]| {
        let arguments = ["export", "products", "--format", "csv", "--query", "sort=sku&fields=id,attributes"];
        succeeds(&run_in(folder.path(), &server, &[&arguments[..], more].concat(), ""))
    };
    let text = export(&["--list-separator", "|"]);
    let rows: Vec<&str> = text.lines().map(|row| row.split_once(',').unwrap().1).collect();
    assert_eq!(rows[0], "title,sku,tags,stock,price");
    assert_eq!(rows[1], "=1+1,1,x|y z,-0.5,485.90 EUR");
    assert_eq!(rows[2], "=1+1,2,\"[\"\"a|b\"\",\"\"c\"\"]\",-0.5,1200 JPY");
    assert_eq!(rows[3], "=1+1,3,[],-0.5,0.125 EUR");
    std::fs::write(folder.path().join("p.csv"), &text).unwrap();
    let imported = run_in(folder.path(), &server, &["import", "products", "p.csv", "--list-separator", "|"], "");
    assert!(succeeds(&imported).contains("0 created, 4 updated, 0 failed"), "{}", printed(&imported));
    assert_eq!(listed(&server), before);

    // The table has the form that Excel needs in German, and is read again without a flag.
    let german = ["--delimiter", ";", "--decimal-comma"];
    let text = export(&german);
    let rows: Vec<&str> = text.lines().map(|row| row.split_once(';').unwrap().1).collect();
    assert_eq!(rows[0], "title;sku;tags;stock;price");
    assert_eq!(rows[1], "=1+1;1;x,y z;-0,5;485,90 EUR");
    assert_eq!(rows[4], "=1+1;4;x;-0,5;1,234 USD");
    let with_type = ["--query", "sort=sku", "whole.csv"];
    for arguments in [&["--delimiter", ";"][..], &german, &["--decimal-comma"], &["--delimiter", "|"]] {
        let export = [&["export", "products"], &with_type[..], arguments].concat();
        succeeds(&run_in(folder.path(), &server, &export, ""));
        let imported = run_in(folder.path(), &server, &["import", "products", "whole.csv"], "");
        assert!(succeeds(&imported).contains("0 created, 4 updated, 0 failed"), "{}", printed(&imported));
        assert_eq!(listed(&server), before, "{arguments:?}");
    }

    let excel = export(&["--spreadsheet", "--delimiter", ";", "--decimal-comma"]);
    assert!(excel.starts_with("\u{feff}id;title;"), "{excel}");
    assert!(excel.contains(";'=1+1;1;x,y z;-0,5;485,90 EUR"), "{excel}");
    let safe = export(&["--spreadsheet"]);
    assert!(safe.contains(",'=1+1,1,\"x,y z\",-0.5,485.90 EUR"), "{safe}");
    let refused = run_in(folder.path(), &server, &["export", "products", "--spreadsheet"], "");
    assert!(fails(&refused).contains("`--format csv`"));
    let refused = run_in(folder.path(), &server, &["export", "products", "p.json", "--delimiter", ";"], "");
    assert!(fails(&refused).contains("`--delimiter` is about tables"));
}

#[test]
fn values_of_enums_keep_white_space_at_their_ends_in_an_exported_table() {
    let server = Server::start();
    let mut fields = fields(&[("title", "text"), ("sku", "text"), ("listed", "enum"), ("free", "enum")]);
    fields[2]["settings"] = json!({ "values": ["red", " red", "red ", " "] });
    server.blueprint("products", fields);
    for (sku, listed, free) in
        [("1", "red", "blue"), ("2", " red", " blue"), ("3", "red ", "blue\u{a0}"), ("4", " ", " ")]
    {
        server.create("products", json!({ "title": " a ", "sku": sku, "listed": listed, "free": free }));
    }
    let before = listed(&server);
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| run_in(folder.path(), &server, arguments, "");
    succeeds(&run(&["export", "products", "p.csv"]));
    let imported = run(&["import", "products", "p.csv"]);
    assert!(succeeds(&imported).contains("0 created, 4 updated, 0 failed"), "{}", printed(&imported));
    assert_eq!(listed(&server), before);

    // The cells of other tables are trimmed, unless a listed value is meant.
    std::fs::write(folder.path().join("o.csv"), "sku,listed,free\n5, red , blue \n6,red , \n").unwrap();
    let imported = run(&["import", "products", "o.csv"]);
    assert!(succeeds(&imported).contains("2 created, 0 updated, 0 failed"), "{}", printed(&imported));
    let imported: Vec<(Value, Value)> =
        listed(&server)[4..].iter().map(|product| (product["listed"].clone(), product["free"].clone())).collect();
    assert_eq!(imported, [(json!("red"), json!("blue")), (json!("red "), Value::Null)]);
}

#[test]
fn the_name_of_the_file_says_in_which_format_an_export_is() {
    let server = Server::start();
    products(&server);
    server.create("products", json!({ "title": "a", "sku": "1" }));
    let folder = tempfile::tempdir().unwrap();
    let named: [(&[&str], &str); 6] = [
        (&["a.csv"], "id,type,"),
        (&["A.CSV"], "id,type,"),
        (&["a.json"], "{\"data\":["),
        (&["a.ndjson"], "{\"id\":"),
        (&["a"], "{\"id\":"),
        (&["b.csv", "--format", "ndjson"], "{\"id\":"),
    ];
    for (arguments, beginning) in named {
        succeeds(&run_in(folder.path(), &server, &[&["export", "products"], arguments].concat(), ""));
        let text = std::fs::read_to_string(folder.path().join(arguments[0])).unwrap();
        assert!(text.starts_with(beginning), "{arguments:?}: {text}");
    }
}

#[test]
fn an_import_says_that_lists_have_another_separator_and_that_keys_are_missing() {
    let server = Server::start();
    let fields = [("sku", "text"), ("tags", "multi-enum")];
    let blueprint = json!({ "name": "Products", "slug": "products", "fields": self::fields(&fields) });
    server.post("/v2/blueprints", &blueprint).expect(201);
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..12).map(|row| format!("{row},{}\n", ["tea|cups", "tea|pots", "cups"][row % 3])).collect();
    std::fs::write(folder.path().join("p.csv"), format!("sku,tags\n{rows},tea\n")).unwrap();
    let import = |more: &[&str]| {
        run_in(folder.path(), &server, &[&["import", "products", "p.csv", "--key", "sku"], more].concat(), "")
    };
    let hint = "tags: 13 of 13 are texts; 8 have `|` between short words, but lists are cut at `,`: `--list-separator '|'` cuts them there";
    let checked = import(&["--dry-run"]);
    assert!(report(&checked).lines().any(|line| line == hint), "{}", report(&checked));
    assert!(fails(&checked).contains("line 14 has no key: its cell of `sku` is empty"), "{}", fails(&checked));
    for _ in 0..2 {
        let imported = import(&["--list-separator", "|"]);
        assert!(!report(&imported).contains("between short words"), "{}", report(&imported));
        assert!(fails(&imported).contains("1 failed"), "{}", fails(&imported));
        assert_eq!(server.get("/v2/resources/products?per_page=1").json()["meta"]["total"], 12);
    }
}

#[test]
fn an_export_that_cannot_begin_replaces_no_file() {
    let server = Server::start();
    products(&server);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept.ndjson");
    std::fs::write(&file, "of yesterday\n").unwrap();
    fails(&run_in(folder.path(), &server, &["export", "prodcts", "kept.ndjson"], ""));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "of yesterday\n");
    // The export of a blueprint without resources is empty.
    succeeds(&run_in(folder.path(), &server, &["export", "products", "kept.ndjson"], ""));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "");
}

#[test]
fn rejects_never_replace_a_file_and_have_the_line_ends_of_the_table() {
    let server = Server::start();
    products(&server);
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).ok();
    let import = |more: &[&str]| run_in(folder.path(), &server, &[&["import", "products", "p.csv"], more].concat(), "");
    for (end, first) in [("\r\n", "p.csv.rejected.csv"), ("\n", "p.csv.rejected.2.csv")] {
        let rows: String = (1..=7).map(|row| format!("{row},on request{end}")).collect();
        std::fs::write(folder.path().join("p.csv"), format!("sku,price{end}{rows}")).unwrap();
        let before = read(first);
        let checked = fails(&import(&["--dry-run"]));
        assert!(checked.contains("7 items would fail") && checked.contains("\nline 8: "), "{checked}");
        assert_eq!(read(first), before, "a dry run writes nothing");
        let imported = fails(&import(&[]));
        // A cell is not an object.
        let line = "line 6: `price` is not valid: must be an amount with a currency, such as `485.90 EUR`, not";
        assert!(imported.contains(line) && !imported.contains("line 7: "), "{imported}");
        assert!(imported.contains(&format!("and 2 more; all are in {first}")), "{imported}");
        let rejected = read(first).unwrap();
        assert!(rejected.starts_with(&format!("sku,price,errors{end}1,on request,")), "{rejected}");
        assert_eq!(rejected.matches(end).count(), 8);
        assert_eq!(rejected.contains('\r'), end == "\r\n");
    }
    assert!(read("p.csv.rejected.3.csv").is_none());
    let lines = "\n{\"attributes\":{\"nothing\":1}}\n";
    std::fs::write(folder.path().join("p.ndjson"), lines).unwrap();
    let failed = fails(&run_in(folder.path(), &server, &["import", "products", "p.ndjson"], ""));
    assert!(failed.contains("line 2: ") && failed.contains("in p.ndjson.rejected.ndjson"), "{failed}");
}

#[test]
fn a_proposal_says_why_a_column_is_a_text_and_what_it_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    let numbers: String =
        (0..20).map(|row| format!("{row}.5,\"red, {}\",k{row},x\n", ["dry", "wet"][row % 2])).collect();
    std::fs::write(folder.path().join("t.csv"), format!("weight,tags,key,type\nunknown,red,,\n{numbers}")).unwrap();
    let text = report(&infer(folder.path(), &["t.csv"]));
    for line in [
        "weight: 20 of 21 look like numbers; line 2 `unknown`, so the proposed type is not `number`",
        "tags: 21 of 21 are texts; 20 have several short words with `,` between them: `--list-separator ','` proposes lists",
        "left out: `key`, `type`, which are names of an item's own keys; rename a column to get a field for it",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let proposed = infer(folder.path(), &["t.csv", "--list-separator", ","]);
    assert!(succeeds(&proposed).contains("multi-enum") && !report(&proposed).contains("proposes lists"));
}

/// Runs a command to its end. Returns its output and its greatest memory, in megabytes.
fn watched(mut command: Command) -> (Output, u64) {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let watch = std::thread::spawn(move || {
        let mut most = 0;
        while let Ok(text) = std::fs::read_to_string(&status) {
            let Some(line) = text.lines().find(|line| line.starts_with("VmHWM:")) else { break };
            let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
            most = most.max(kilobytes / 1024);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        most
    });
    let output = child.wait_with_output().unwrap();
    (output, watch.join().unwrap())
}

#[test]
fn a_small_file_that_unpacks_to_a_huge_cell_takes_little_memory() {
    let server = Server::start();
    products(&server);
    let folder = tempfile::tempdir().unwrap();
    for (name, begin, end) in [
        ("p.csv.zst", "title,sku\nfirst,1\n", "\nlast,2\n"),
        ("q.csv.zst", "title,sku\nfirst,1\n\"", "\nlast,2\n"),
        ("p.ndjson.zst", "{\"attributes\":{\"sku\":\"1\"}}\n\"", "\"\n{\"attributes\":{\"sku\":\"2\"}}\n"),
    ] {
        let mut file = zstd::Encoder::new(std::fs::File::create(folder.path().join(name)).unwrap(), 1).unwrap();
        file.write_all(begin.as_bytes()).unwrap();
        let piece = vec![b'z'; 1 << 20];
        (0..300).for_each(|_| file.write_all(&piece).unwrap());
        file.write_all(end.as_bytes()).unwrap();
        file.finish().unwrap();

        let mut command = Command::new(binary());
        command.args(["import", "products", name, "--url", server.address(), "--token", ADMIN]);
        command.current_dir(folder.path());
        let (output, megabytes) = watched(command);
        let text = fails(&output);
        assert!(
            text.contains("is longer than 10485760 bytes, which is the limit (`max_body_bytes`)"),
            "{name}: {text}"
        );
        assert!(text.contains("2 created, 0 updated, 1 failed"), "{name}: {text}");
        let mut command = Command::new(binary());
        command.args(["blueprint", "infer", name]).current_dir(folder.path());
        let (output, more) = watched(command);
        assert!(
            succeeds(&output).contains("sku") && report(&output).contains("is longer than"),
            "{}",
            printed(&output)
        );
        assert!(megabytes.max(more) < 200, "{name}: {megabytes} MB and {more} MB");
    }
}

#[test]
fn a_broken_line_does_not_end_a_guess() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.ndjson"), "{\"n\": 1}\n{\"n\": \n{\"n\": 2}\n").unwrap();
    let inferred = infer(folder.path(), &["t.ndjson"]);
    assert!(succeeds(&inferred).contains("\"number\""), "{}", printed(&inferred));
    assert!(report(&inferred).contains("line 2: EOF while parsing"), "{}", report(&inferred));
    assert!(report(&inferred).contains("1 of 3 rows are broken and left out"), "{}", report(&inferred));
    std::fs::write(folder.path().join("t.csv"), "Name,name,sku,sku\na,b,c,d\n").unwrap();
    assert!(fails(&infer(folder.path(), &["t.csv"])).contains("two columns have the name `sku`"));
}

/// Returns a server that describes a blueprint, reads an import to its end, and answers with these lines.
fn answering(blueprint: &Value, answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let blueprint = blueprint.to_string();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection: TcpStream = connection.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            let is_post = loop {
                let read = connection.read(&mut buffer).unwrap_or_default();
                request.extend_from_slice(&buffer[..read]);
                let is_post = request.starts_with(b"POST");
                let end: &[u8] = if is_post { b"0\r\n\r\n" } else { b"\r\n\r\n" };
                if read == 0 || request.ends_with(end) {
                    break is_post;
                }
            };
            // If the connection must be lost, the answer of the import ends before its announced length.
            let (length, body) = match is_post {
                true => (answer.len() + usize::from(!answer.contains("errors")), answer),
                false => (blueprint.len(), blueprint.as_str()),
            };
            let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
            let _ = connection.write_all(format!("{head}{body}").as_bytes());
        }
    });
    address
}

#[test]
fn an_import_that_ends_early_says_what_is_imported_and_whether_to_repeat_it() {
    let server = Server::start();
    products(&server);
    let blueprint = json!({ "data": server.get("/v2/blueprints/products").expect(200).data() });
    let folder = tempfile::tempdir().unwrap();
    let csv = "sku,title\n1,a\n2,b\n3,c\n";
    let import = |answer: &'static str, more: &[&str]| {
        let address = answering(&blueprint, answer);
        let arguments = ["import", "products", "-", "--format", "csv", "--url", &address, "--token", ADMIN];
        let mut command = Command::new(binary());
        command.args(arguments).args(more).current_dir(folder.path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(csv.as_bytes()).unwrap();
        fails(&child.wait_with_output().unwrap())
    };
    let full = "{\"index\":0,\"id\":\"x\",\"op\":\"created\"}\n{\"errors\":{\"code\":\"OVERLOADED\",\"message\":\"the disk is full\"}}\n";
    let cut = "{\"index\":0,\"id\":\"x\",\"op\":\"created\"}\n";
    for answer in [full, cut] {
        let text = import(answer, &[]);
        assert!(text.contains("1 item in") && text.contains("1 created, 0 updated, 0 failed"), "{text}");
        assert!(text.contains("1 item is imported"), "{text}");
        assert_eq!(text.contains("and 2 that were sent may be, too"), answer == cut, "{text}");
        assert!(text.contains("the first without a result is line 3"), "{text}");
        assert!(!text.contains("no duplicates") && text.contains("would create them a second time"), "{text}");
        let text = import(answer, &["--key", "sku"]);
        assert!(text.contains("import the file again, which creates no duplicates"), "{text}");
    }
}
