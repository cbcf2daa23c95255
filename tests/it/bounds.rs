//! The limits on the cost of one request. Very many errors, values or lines are answered soon, within limited memory,
//! and do not slow other requests down.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{ADMIN, Failures, Reply, Server, binary};

const NDJSON: &str = "application/x-ndjson";

/// Returns the processor time that a process has used, in seconds.
fn cpu_seconds(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let numbers: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = numbers[11].parse::<u64>().unwrap() + numbers[12].parse::<u64>().unwrap();
    ticks as f64 / 100.0
}

/// Returns the greatest memory that a process has had so far, in MiB; none if it has ended.
fn peak_mib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

fn pages(server: &Server) {
    server.blueprint(
        "pages",
        json!([
            { "name": "T", "slug": "t", "type": "text" },
            { "name": "P", "slug": "p", "type": "html-page" },
            { "name": "M", "slug": "m", "type": "multi-enum" },
            { "name": "R", "slug": "r", "type": "references", "settings": { "blueprint": "pages" } },
            { "name": "O", "slug": "o", "type": "reference", "settings": { "blueprint": "pages" } },
        ]),
    );
}

fn list(count: usize, element: impl Fn(usize) -> String) -> String {
    let mut out = String::from("[");
    for n in 0..count {
        let _ = write!(out, "{}{}", if n > 0 { "," } else { "" }, element(n));
    }
    out + "]"
}

/// Returns an object with this many keys.
fn keys(count: usize) -> String {
    let members = list(count, |n| format!("\"k{n}\":0"));
    format!("{{{}}}", &members[1..members.len() - 1])
}

fn texts(count: usize) -> String {
    list(count, |n| format!("\"{n:x}\""))
}

fn raw(server: &Server, method: &str, path: &str, body: &str) -> Reply {
    let content_type = if path.ends_with("/import") { NDJSON } else { "application/json" };
    server.raw(method, path, &[("content-type", content_type)], body.as_bytes())
}

#[test]
fn faults_without_number_cost_little_and_at_most_100_are_listed() {
    let server = Server::start();
    pages(&server);
    let id = server.create("pages", json!({}));
    let one = format!("/v2/resources/pages/{id}");
    let attributes = |attributes: String| format!("{{\"attributes\":{attributes}}}");
    let with_field = |rest: String| format!("{{\"name\":\"X\",\"fields\":[{{\"name\":\"f\",{rest}}}]}}");
    let many = 100_000;
    let resources = "/v2/resources/pages";
    let (bulk, import) = (format!("{resources}/bulk"), format!("{resources}/import"));
    let cases = [
        ("POST", resources, attributes(keys(many)), 422),
        ("POST", resources, keys(many), 422),
        ("PUT", &one, attributes(keys(many)), 422),
        ("PATCH", &one, attributes(keys(many)), 422),
        ("POST", resources, attributes(format!("{{\"p\":{}}}", keys(many))), 422),
        ("POST", resources, attributes(format!("{{\"m\":{}}}", texts(many))), 422),
        ("POST", resources, attributes(format!("{{\"r\":{}}}", texts(many))), 422),
        ("POST", &bulk, format!("{{\"resources\":{}}}", list(100, |_| attributes(keys(1_000)))), 207),
        ("POST", &bulk, keys(many), 422),
        ("POST", &import, attributes(keys(many)), 200),
        ("POST", &import, keys(many), 200),
        ("POST", &import, format!("{{\"variants\":{}}}", keys(many)), 200),
        ("POST", &import, attributes(format!("{{\"r\":{}}}", texts(many))), 200),
        ("POST", "/v2/blueprints", keys(many), 422),
        ("POST", "/v2/blueprints", with_field(format!("\"type\":\"text\",\"settings\":{}", keys(many))), 422),
        (
            "POST",
            "/v2/blueprints",
            with_field(format!("\"type\":\"enum\",\"settings\":{{\"values\":{}}}", texts(many))),
            422,
        ),
        ("POST", "/v2/blueprints", format!("{{\"name\":\"X\",\"fields\":{}}}", list(many, |_| "{}".to_owned())), 422),
        (
            "POST",
            "/v2/blueprints",
            format!("{{\"name\":\"X\",\"fields\":[],\"variants\":{}}}", list(many, |_| "{}".to_owned())),
            422,
        ),
        ("POST", "/v2/tokens", keys(many), 422),
        ("POST", "/v2/tokens", format!("{{\"name\":\"x\",\"abilities\":{}}}", texts(many)), 422),
        (
            "POST",
            "/v2/tokens",
            format!("{{\"name\":\"x\",\"abilities\":[\"view\"],\"blueprints\":{}}}", texts(many)),
            422,
        ),
        ("POST", "/v2/members", keys(many), 422),
        ("POST", resources, attributes(keys(1_000_000)), 413),
        ("POST", &import, attributes(keys(600_000)), 200),
        ("POST", "/v2/blueprints", keys(900_000), 413),
    ];
    let mut failures = Failures::default();
    for (method, path, body, status) in cases {
        let case = format!("{method} {path} {}…", &body[..60]);
        let before = cpu_seconds(server.process());
        let reply = raw(&server, method, path, &body);
        let used = cpu_seconds(server.process()) - before;
        failures.check_eq(&case, reply.status, status);
        failures.check(reply.text.len() < 3 << 20, || format!("{case}: a response of {} bytes", reply.text.len()));
        let per_mb = used / (body.len() as f64 / 1e6).max(1.0);
        failures.check(per_mb < 1.5, || format!("{case}: {used} s of processor time, {per_mb} s per MB"));
    }
    let fields = raw(&server, "POST", resources, &attributes(keys(many))).json()["errors"]["fields"].take();
    failures.check_eq("listed fields", fields.as_object().map(serde_json::Map::len), Some(101));
    failures.check_eq("the last entry", fields["…"][0].as_str(), Some("99900 more fields are not valid"));
    failures.assert_none();
}

#[test]
fn lists_have_the_documented_limits() {
    let server = Server::start();
    pages(&server);
    let target = server.create("pages", json!({}));
    let fields = |count: usize| list(count, |n| format!("{{\"name\":\"f{n}\",\"type\":\"text\"}}"));
    let variants = |count: usize| list(count, |n| format!("{{\"slug\":\"v{n}\",\"default\":{}}}", n == 0));
    let values =
        |count: usize| format!("[{{\"name\":\"f\",\"type\":\"enum\",\"settings\":{{\"values\":{}}}}}]", texts(count));
    let blueprint = |fields: String, variants: String| {
        format!("{{\"name\":\"X\",\"slug\":\"x\",\"fields\":{fields},\"variants\":{variants}}}")
    };
    let described =
        |length: usize| format!("[{{\"name\":\"f\",\"type\":\"text\",\"description\":\"{}\"}}]", "é".repeat(length));
    let blocks = |count: usize, block: &str| {
        format!("{{\"attributes\":{{\"p\":{{\"blocks\":{}}}}}}}", list(count, |_| block.to_owned()))
    };
    let references =
        |count: usize| {
            let ids = list(count, |n| {
                if n == 0 { format!("\"{target}\"") } else { format!("\"019a0000-0000-7000-8000-{n:012x}\"") }
            });
            format!("{{\"attributes\":{{\"r\":{ids}}}}}")
        };
    let none = || "[]".to_owned();
    let (blueprints, resources) = ("/v2/blueprints", "/v2/resources/pages");
    let cases = [
        (
            blueprints,
            blueprint(fields(501), none()),
            422,
            "`fields` is not valid: must have at most 500 elements, not 501",
        ),
        (blueprints, blueprint(fields(500), none()), 201, ""),
        (blueprints, blueprint(none(), variants(101)), 422, "must have at most 100 elements, not 101"),
        (blueprints, blueprint(none(), variants(100)), 201, ""),
        (blueprints, blueprint(values(1_001), none()), 422, "`values` must have at most 1000 elements, not 1001"),
        (blueprints, blueprint(values(1_000), none()), 201, ""),
        (blueprints, blueprint(described(1_001), none()), 422, "must have at most 1000 characters"),
        (blueprints, blueprint(described(1_000), none()), 201, ""),
        (resources, blocks(10_001, "{}"), 422, "`blocks` must have at most 10000 elements, not 10001"),
        (resources, blocks(10_000, "{}"), 201, ""),
        (resources, blocks(10_000, "{\"a\":[0,0,0,0,0,0,0,0]}"), 422, "at most 100000 values in all, not 100001"),
        (resources, references(10_001), 422, "must have at most 10000 elements, not 10001"),
        (resources, references(10_000), 422, "not found"),
        (resources, blocks(500_000, "0"), 413, "the limit is 500000"),
    ];
    let mut failures = Failures::default();
    for (path, body, status, message) in cases {
        let reply = raw(&server, "POST", path, &body);
        let case = format!("{}… {message}", &body[..60]);
        failures.check_eq(&case, reply.status, status);
        if !message.is_empty() {
            failures.check(reply.message().contains(message), || format!("{case}: {}", reply.message()));
        }
        if path == blueprints && reply.status == 201 {
            server.delete("/v2/blueprints/x").expect(204);
        }
    }
    failures.assert_none();
}

#[test]
fn bodies_of_small_objects_at_the_same_time_take_bounded_memory() {
    let server = Server::start();
    pages(&server);
    let blocks = list(2_400, |_| "{\"a\":0}".to_owned());
    let page = format!("{{\"attributes\":{{\"p\":{{\"blocks\":{blocks}}}}}}}");
    let body = format!("{{\"resources\":{}}}", list(100, |_| page.clone()));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| raw(&server, "POST", "/v2/resources/pages/bulk", &body).expect(201));
        }
    });
    let peak = peak_mib(server.process()).unwrap();
    assert!(peak < 600, "{peak} MiB for six bodies of {} bytes", body.len());
}

/// To run it: `cargo test --test it -- --ignored circle`
#[test]
#[ignore = "long: 100,000 lines in one transaction"]
fn a_circle_of_100_000_lines_is_imported_within_700_mib() {
    let server = Server::start();
    pages(&server);
    let n = 100_000;
    let mut body = String::new();
    for line in 0..n {
        let next = (line + 1) % n;
        let _ = writeln!(
            body,
            "{{\"key\":\"k{line}\",\"attributes\":{{\"t\":\"the title of line {line} and some words\",\"o\":\"k{next}\"}}}}"
        );
    }
    let reply = raw(&server, "POST", "/v2/resources/pages/import", &body).expect(200);
    assert_eq!(reply.lines().iter().filter(|line| line["op"] == "created").count(), n);
    let peak = peak_mib(server.process()).unwrap();
    assert!(peak < 700, "{peak} MiB");
}

#[test]
fn a_compressed_file_that_grows_without_end_is_refused_within_100_mib() {
    let server = Server::start();
    pages(&server);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines.ndjson.zst");
    let zeros = vec![b'0'; 1 << 20];
    for (window_log, message) in [(20, "line 2 is longer than 10485760 bytes"), (28, "more than 64 MiB of memory")] {
        let mut encoder = zstd::Encoder::new(std::fs::File::create(&file).unwrap(), 1).unwrap();
        encoder.window_log(window_log).unwrap();
        encoder.write_all(b"{\"attributes\":{\"t\":\"first\"}}\n").unwrap();
        for _ in 0..400 {
            encoder.write_all(&zeros).unwrap();
        }
        encoder.finish().unwrap();
        for remote in [true, false] {
            let elsewhere = tempfile::tempdir().unwrap();
            let mut command = Command::new(binary());
            command.args(["import", "pages"]).arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped());
            match remote {
                true => command.args(["--url", server.address(), "--token", ADMIN]),
                false => {
                    let data = prepared_folder(elsewhere.path());
                    command.arg("--data").arg(data)
                }
            };
            let child = command.spawn().unwrap();
            let mut peak = 0;
            while let Some(now) = peak_mib(child.id()) {
                peak = peak.max(now);
                std::thread::sleep(Duration::from_millis(2));
            }
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
            assert!(!output.status.success() && said.contains(message), "remote: {remote}: {said}");
            assert!(peak > 0 && peak < 100, "remote: {remote}, window 2^{window_log}: {peak} MiB");
        }
    }
    let imported: Vec<Value> = server.get("/v2/resources/pages?filter[t]=first").data().as_array().unwrap().clone();
    assert_eq!(imported.len(), 1, "what comes before the endless line is imported");
}

/// Makes a data folder with the blueprint. The server of the folder has stopped.
fn prepared_folder(folder: &std::path::Path) -> std::path::PathBuf {
    let data = folder.join("data");
    let mut server = Server::start_in(&data, &[]);
    pages(&server);
    server.terminate();
    data
}
