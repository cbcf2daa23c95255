//! Privacy: no address and no user agent is ever on disk or in the server's log, and salts are destroyed.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bindery_http::analytics::Report;

use super::{Counter, DAY};

const MINUTE: i64 = 60_000;

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// Returns whether the bytes contain a text, either plain or within zstd frames.
pub(crate) fn holds(bytes: &[u8], text: impl AsRef<[u8]>) -> bool {
    let text = text.as_ref();
    let here = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    let frames = bytes.windows(4).enumerate().filter(|(_, window)| *window == [0x28, 0xb5, 0x2f, 0xfd]);
    here(bytes)
        || frames
            .filter_map(|(at, _)| {
                let mut unpacked = Vec::new();
                let read = zstd::Decoder::new(&bytes[at..]).and_then(|mut decoder| decoder.read_to_end(&mut unpacked));
                read.is_ok().then(|| here(&unpacked))
            })
            .any(|held| held)
}

#[test]
fn addresses_and_user_agents_are_never_on_disk_or_in_the_log() {
    let (address, agent) =
        ("198.51.100.77", "Mozilla/5.0 (X11; Linux x86_64; rv:132.0; marked-agent) Gecko/20100101 Firefox/132.0");
    let folder = tempfile::tempdir().unwrap();
    let (data, log_file) = (folder.path().join("data"), folder.path().join("server.log"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_bindery"))
        .args(["serve", "--listen=127.0.0.1:0", "--log-filter=trace", "--analytics-sites=a.example"])
        .args(["--analytics-trusted-proxies=127.0.0.1", "--data"])
        .arg(&data)
        .env("BINDERY_ADMIN_TOKEN", crate::support::ADMIN)
        .stdout(Stdio::piped())
        .stderr(fs::File::create(&log_file).unwrap())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    let server = line.split("listens on ").nth(1).unwrap().split(',').next().unwrap().to_owned();
    for body in [r#"{"name":"pageview","url":"https://a.example/marked-path"}"#, "{", r#"{"name":1}"#] {
        let request = ureq::http::Request::post(format!("{server}/v2/analytics/events"))
            .header("content-type", "text/plain")
            .header("x-forwarded-for", address)
            .header("user-agent", agent);
        let config = ureq::Agent::config_builder().http_status_as_error(false).build();
        config.new_agent().run(request.body(body).unwrap()).unwrap();
    }
    let log = format!(
        "{address} - - [20/Nov/2026:10:00:00 +0000] \"GET /marked-path HTTP/1.1\" 200 1 \"-\" \"{agent}\"\n{address} bad\n"
    );
    let request = ureq::http::Request::post(format!("{server}/v2/analytics/import?site=a.example"))
        .header("authorization", format!("Bearer {}", crate::support::ADMIN));
    assert_eq!(ureq::Agent::new_with_defaults().run(request.body(log).unwrap()).unwrap().status(), 200);
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    child.wait().unwrap();
    let mut marked = 0;
    for path in files(&data).into_iter().chain([log_file]) {
        let bytes = fs::read(&path).unwrap();
        for text in [address, agent, "marked-agent"] {
            assert!(!holds(&bytes, text), "{text} is in {}", path.display());
        }
        let octets = address.parse::<std::net::Ipv4Addr>().unwrap().octets();
        assert!(!holds(&bytes, octets), "the bytes of {address} are in {}", path.display());
        marked += u32::from(holds(&bytes, "marked-path"));
    }
    assert!(marked >= 2, "the path of the pageviews is in the log and in a day file");
}

#[test]
fn a_salt_is_destroyed_half_an_hour_after_its_day() {
    let start = 20_000 * DAY;
    let folder = tempfile::tempdir().unwrap();
    let salts = || {
        let mut salts: Vec<(String, Vec<u8>)> = files(&folder.path().join("analytics/salts"))
            .into_iter()
            .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()))
            .collect();
        salts.sort();
        salts
    };
    let mut counter = Counter::open(folder.path(), start + DAY - 10 * MINUTE);
    counter.submit("https://a.example/", "", "192.0.2.1", 0, None);
    let first = salts();
    assert_eq!((first.len(), first[0].0.as_str(), first[0].1.len()), (1, "2024-10-04", 36));
    counter.restart();
    assert_eq!(salts(), first, "a restart keeps the salt");
    counter.set_clock(start + DAY + 10 * MINUTE);
    counter.submit("https://a.example/", "", "192.0.2.1", 0, None);
    counter.restart();
    let both = salts();
    assert_eq!((both.len(), &both[0], both[1].0.as_str()), (2, &first[0], "2024-10-05"));
    assert_ne!(both[1].1, first[0].1);
    let sessions = |day: &str| counter.report(&Report::Sessions, &format!("start={day}&end={day}"));
    assert_eq!((&sessions("2024-10-04")["sessions"], &sessions("2024-10-05")["sessions"]), (&1.into(), &0.into()));
    counter.set_clock(start + DAY + 30 * MINUTE);
    counter.submit("https://a.example/", "", "192.0.2.2", 0, None);
    counter.report(&Report::Live, "");
    assert_eq!(salts(), both[1..], "half an hour after midnight the old salt is destroyed");
    counter.set_clock(start + 5 * DAY);
    counter.restart();
    assert_eq!(salts().len(), 1, "a start destroys expired salts");
    assert_eq!(salts()[0].0, "2024-10-09");
}

#[test]
fn a_salt_that_could_not_be_written_or_destroyed_is_as_soon_as_the_disk_allows_it() {
    let start = 20_000 * DAY;
    let folder = tempfile::tempdir().unwrap();
    let salt = |day: &str| folder.path().join("analytics/salts").join(day);
    let (first, second) = (salt("2024-10-04"), salt("2024-10-05"));
    let mut counter = Counter::open(folder.path(), start + DAY - 10 * MINUTE);
    // Folders in the place of the files cannot be written.
    let kept = folder.path().join("kept");
    fs::rename(&first, &kept).unwrap();
    std::os::unix::fs::symlink(folder.path(), &first).unwrap();
    fs::create_dir(&second).unwrap();
    counter.set_clock(start + DAY + 30 * MINUTE);
    counter.submit("https://a.example/", "", "192.0.2.1", 0, None);
    assert_eq!(counter.report(&Report::Pageviews, "")["pageviews"], 1);
    fs::rename(&kept, &first).unwrap();
    fs::remove_dir(&second).unwrap();
    // It is tried again between two reports.
    (0..2).for_each(|_| drop(counter.report(&Report::Live, "")));
    assert!(!first.exists());
    assert_eq!(fs::read(&second).unwrap().len(), 36);
    counter.restart();
    counter.submit("https://a.example/", "", "192.0.2.1", 0, None);
    let today = counter.report(&Report::Visitors, "start=2024-10-05&end=2024-10-05");
    assert_eq!(today["visitors"], 1, "a restart keeps the salt");
}
