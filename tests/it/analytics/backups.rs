//! Backups hold the analytics as of one moment, except for the salts, and restore to the same figures.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::{AGENTS, SITES};
use crate::support::{ADMIN, Server, run, succeed};

const LINE: &str = "192.0.2.1 - - [02/Oct/2024:10:00:00 +0000] \"GET /a?utm_source=news HTTP/1.1\" 200 1 \"https://x.example/\" \"Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0\"\n";
const OLD: &str = "start=2024-10-01&end=2024-10-03";

fn send(server: &Server, path: &str) {
    let body = json!({ "name": "pageview", "url": format!("https://{}/{path}", SITES[0]) }).to_string();
    let headers = [("content-type", "text/plain"), ("user-agent", AGENTS[0].0)];
    server.as_token("").raw("POST", "/v2/analytics/events", &headers, body.as_bytes()).expect(202);
}

fn pageviews(server: &Server) -> u64 {
    server.get("/v2/analytics/pageviews").expect(200).json()["pageviews"].as_u64().unwrap()
}

fn old_reports(server: &Server) -> Vec<Value> {
    let reports = [
        "summary",
        "pages",
        "referrers",
        "timeseries/visitors",
        "demographics/browsers",
        "entry-pages",
        "exit-pages",
        "utm/source",
        "custom-events",
    ];
    let filters = ["", "&filter[utm_source]=news", "&filter[page]=/a", "&filter[browser][ne]=Firefox"];
    let paths = reports.iter().flat_map(|report| filters.map(|filter| format!("/v2/analytics/{report}?{OLD}{filter}")));
    paths.map(|path| server.get(&path).expect(200).json()).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_backup_under_traffic_restores_to_the_figures_of_one_moment() {
    let temp = tempfile::tempdir().unwrap();
    let (data, file) = (temp.path().join("data"), temp.path().join("all.backup"));
    let sites = format!("--analytics-sites={}", SITES.join(","));
    let server = Server::start_in(&data, &[&sites, "--analytics-events-per-minute=0"]);
    let import = format!("/v2/analytics/import?site={}", SITES[0]);
    server.raw("POST", &import, &[("content-type", "text/plain")], LINE.repeat(3).as_bytes()).expect(200);
    server.blueprint("notes", json!([{ "name": "Text", "slug": "text", "type": "text" }]));
    server.create("notes", json!({ "text": "kept" }));
    for number in 0..30 {
        send(&server, &format!("{number}"));
    }
    let event = json!({ "name": "Signup", "url": format!("https://{}/", SITES[0]), "properties": { "plan": "large" } });
    let headers = [("content-type", "text/plain"), ("user-agent", AGENTS[0].0)];
    server.as_token("").raw("POST", "/v2/analytics/events", &headers, event.to_string().as_bytes()).expect(202);
    let signups = server.get("/v2/analytics/custom-events/Signup").expect(200).json();
    assert_eq!(signups["properties"][0]["values"][0]["value"], "large");
    let (before, old, stop) = (pageviews(&server), old_reports(&server), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                send(&server, "more");
            }
        });
        let output = succeed(&["backup", text(&file), "--url", server.address(), "--token", ADMIN]);
        stop.store(true, Ordering::Relaxed);
        assert!(output.contains("and the analytics"), "{output}");
    });
    let after = pageviews(&server);
    drop(server);

    let restored = temp.path().join("restored");
    succeed(&["restore", text(&file), "--data", text(&restored)]);
    assert!(!restored.join("analytics/salts").exists(), "salts are not in a backup");
    succeed(&["verify", "--data", text(&restored)]);
    let mut server = Server::start_in(&restored, &[&sites]);
    assert_eq!(old_reports(&server), old);
    assert_eq!(server.get("/v2/analytics/custom-events/Signup").json(), signups);
    let filtered = server.get("/v2/analytics/custom-events/Signup?filter[page]=/0").json();
    assert_eq!(filtered["count"], 1, "visits are in the backup");
    let kept = pageviews(&server);
    assert!((before..=after).contains(&kept), "{before} <= {kept} <= {after}");
    let pages = server.get("/v2/analytics/pages?limit=1000").expect(200).json();
    let views: u64 = pages.as_array().unwrap().iter().map(|row| row["views"].as_u64().unwrap()).sum();
    assert_eq!(views, kept, "all figures are of the same moment");
    send(&server, "counted on");
    assert_eq!(pageviews(&server), kept + 1);
    let again = server.raw("POST", &import, &[("content-type", "text/plain")], LINE.repeat(3).as_bytes()).expect(200);
    assert_eq!(again.json()["added"], 0, "the list of imports is in the backup");
    // A kill may cost the pageviews of the last moment.
    assert!(server.terminate().success());

    // A backup of the stopped folder, and its content alone.
    let second = temp.path().join("second.backup");
    succeed(&["backup", text(&second), "--data", text(&restored)]);
    let bytes = fs::read(&second).unwrap();
    let length = u64::from_le_bytes(bytes[12..20].try_into().unwrap()) as usize;
    let content = temp.path().join("content.backup");
    fs::write(&content, &bytes[20..20 + length]).unwrap();
    for (file, pageviews_there) in [(&second, kept + 1), (&content, 0)] {
        let folder = file.with_extension("folder");
        let output = succeed(&["restore", text(file), "--data", text(&folder)]);
        assert_eq!(output.contains("no analytics"), pageviews_there == 0, "{output}");
        let server = Server::start_in(&folder, &[&sites]);
        assert_eq!(pageviews(&server), pageviews_there);
        assert_eq!(server.get("/v2/resources/notes").json()["meta"]["total"], 1);
    }
    // Damage anywhere in it is refused before anything is restored.
    let damaged = temp.path().join("damaged.backup");
    for at in [9, 13, 25, 20 + length + 3, 20 + length + 40, bytes.len() - 40, bytes.len() - 1] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        fs::write(&damaged, bytes).unwrap();
        let folder = temp.path().join("refused");
        assert_ne!(run(&["restore", text(&damaged), "--data", text(&folder)]).0, Some(0), "a flip at byte {at}");
        assert!(!folder.join("analytics").exists() && !folder.join("base").exists(), "a flip at byte {at}");
    }
}
