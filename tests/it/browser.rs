//! Pages in headless Chromium. `BINDERY_TEST_CHROMIUM` names the program; otherwise the tests look for it in `PATH`.
//! Without Chromium they say so and check nothing.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The time that the browser may take for a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// A web server for the pages under test. It answers every path with a page.
pub(crate) struct Pages {
    pub(crate) port: u16,
    reports: Receiver<String>,
}

impl Pages {
    /// `page` makes the page for a path. A page reports to the test by requesting `/done?…`.
    pub(crate) fn serve(page: impl Fn(&str) -> String + Send + Sync + 'static) -> Pages {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (report, reports) = channel();
        let page = std::sync::Arc::new(page);
        std::thread::spawn(move || {
            // A browser opens connections in advance and may never use them, so each has its own thread.
            for connection in listener.incoming().map_while(Result::ok) {
                let (page, report) = (std::sync::Arc::clone(&page), report.clone());
                std::thread::spawn(move || answer(&connection, &*page, &report));
            }
        });
        Pages { port, reports }
    }

    /// Waits for a page's report.
    pub(crate) fn wait(&self) -> Value {
        let report = self.reports.recv_timeout(PATIENCE).expect("the page must report in time");
        serde_json::from_str(&percent_encoding::percent_decode_str(&report).decode_utf8().unwrap()).unwrap()
    }
}

/// Answers one request. `None` if the connection closes without one.
fn answer(mut connection: &TcpStream, page: &dyn Fn(&str) -> String, reports: &Sender<String>) -> Option<()> {
    let mut lines = BufReader::new(connection).lines().map_while(Result::ok);
    let target = lines.next()?.split(' ').nth(1)?.to_owned();
    while !lines.next()?.is_empty() {}
    let body = match target.strip_prefix("/done?") {
        Some(report) => {
            // The test may have given up.
            let _ = reports.send(report.to_owned());
            String::new()
        }
        None => page(target.split('?').next().unwrap_or_default()),
    };
    let length = body.len();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close\r\n";
    connection.write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes()).ok()
}

/// A running browser; dropping it ends it.
pub(crate) struct Browser {
    child: Child,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn open(chromium: &Path, address: &str, user_agent: Option<&str>, preferences: &Value) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        std::fs::create_dir(profile.path().join("Default")).unwrap();
        std::fs::write(profile.path().join("Default/Preferences"), preferences.to_string()).unwrap();
        let mut command = Command::new(chromium);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.args(user_agent.map(|user_agent| format!("--user-agent={user_agent}")));
        let child = command.arg(address).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Browser { child, _profile: profile }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // On SIGTERM it ends its own processes too; otherwise they would write to the profile while it is removed.
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let ended = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && ended.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the path of Chromium, if it is installed.
pub(crate) fn chromium(test: &str) -> Option<PathBuf> {
    let named = std::env::var_os("BINDERY_TEST_CHROMIUM").filter(|named| !named.is_empty()).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = || {
        let names = ["chromium", "chromium-browser", "google-chrome"];
        std::env::split_paths(&path)
            .flat_map(|folder| names.map(|name| folder.join(name)))
            .find(|program| program.is_file())
    };
    let chromium = named.or_else(found);
    if chromium.is_none() {
        // Written directly, since the test harness captures the output of tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "{test} is skipped: Chromium was not found; set BINDERY_TEST_CHROMIUM to its path"
        );
    }
    chromium
}
