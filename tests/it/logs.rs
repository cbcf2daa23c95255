//! The output of a server, and its streams (`API.md` 1.11).

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use crate::support::binary;

/// A server that prints a token at its first start, with the readers of its standard output and standard error.
struct Starting {
    child: Child,
    out: Receiver<String>,
    error: Receiver<String>,
}

impl Starting {
    fn new(arguments: &[&str]) -> (Starting, tempfile::TempDir) {
        let temp = tempfile::tempdir().unwrap();
        let mut command = Command::new(binary());
        command.args(["serve", "--listen=127.0.0.1:0", "--data"]).arg(temp.path().join("data")).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, error) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        (Starting { child, out, error }, temp)
    }

    /// Stops the server. Returns all lines of both streams.
    fn stop(mut self) -> (Vec<String>, Vec<String>) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
        (self.out.iter().collect(), self.error.iter().collect())
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(stream: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        BufReader::new(stream).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    lines
}

/// Returns the address in the first of these lines that has one.
fn address(lines: &Receiver<String>) -> String {
    loop {
        let line = lines.recv_timeout(Duration::from_secs(60)).unwrap();
        if let Some(rest) = line.split("listens on ").nth(1) {
            return rest.split(',').next().unwrap().to_owned();
        }
    }
}

#[test]
fn with_logs_as_json_standard_output_has_lines_of_json_only() {
    let (starting, _temp) = Starting::new(&["--log-format=json", "--demo"]);
    let address = address(&starting.error);
    assert_eq!(ureq::get(format!("{address}/healthz")).call().unwrap().status(), 200);
    let (out, error) = starting.stop();
    let object = |line: &String| serde_json::from_str::<Value>(line).ok().filter(Value::is_object);
    assert!(out.iter().all(|line| object(line).is_some()), "{out:#?}");
    assert!(out.iter().any(|line| line.contains("/healthz")), "{out:#?}");
    for printed in ["export TOKEN=bnd_", "/admin/", "Bindery has stopped"] {
        assert!(error.iter().any(|line| line.contains(printed)), "{printed}: {error:#?}");
    }
    let logged: Vec<Value> = error.iter().filter_map(object).collect();
    assert!(!logged.is_empty() && logged.iter().all(|line| line["level"].is_string() && line["time"].is_string()));
    // Lines that are not JSON are printed for people, and are not lines of the log.
    assert!(!error.iter().any(|line| line.contains(" INFO ") || line.contains(" WARN ")), "{error:#?}");
}

#[test]
fn without_logs_as_json_a_first_start_prints_its_token_to_standard_output() {
    let (starting, _temp) = Starting::new(&[]);
    address(&starting.out);
    let (out, error) = starting.stop();
    assert!(out.iter().any(|line| line.contains("export TOKEN=bnd_")), "{out:#?}");
    assert!(!error.iter().any(|line| line.contains("bnd_")), "{error:#?}");
}
