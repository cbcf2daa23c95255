//! The server under test (the real binary on its own data folder), and short helpers to drive it.

mod late_clock;
mod log_watch;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) use late_clock::LateClock;
pub(crate) use log_watch::leaks;
use log_watch::{LogWatch, address_in};

/// A token with every ability.
pub(crate) const ADMIN: &str = "an-admin-token-for-tests-of-32-characters";

/// The 21 field types.
pub(crate) const TYPES: [&str; 21] = [
    "text",
    "rich-text",
    "html-page",
    "slug",
    "email",
    "link",
    "image",
    "file",
    "enum",
    "multi-enum",
    "boolean",
    "color",
    "number",
    "money",
    "date",
    "datetime",
    "duration",
    "reference",
    "references",
    "user",
    "address",
];

/// Returns the number that the environment sets for a test, such as that of the steps of a long run.
///
/// Panics if it is no number.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Returns the binary under test: the one that was built with the tests, unless `BINDERY_TEST_BINARY` names another.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("BINDERY_TEST_BINARY").map_or_else(|| env!("CARGO_BIN_EXE_bindery").into(), PathBuf::from)
}

/// Runs a command of the binary, which finds no server in the environment. Returns its exit code and what it printed.
pub(crate) fn run(arguments: &[&str]) -> (Option<i32>, String) {
    run_in(&[], arguments)
}

/// Like [`run`], with these variables.
pub(crate) fn run_in(variables: &[(String, String)], arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(binary());
    command.args(arguments).env_remove("BINDERY_URL").env_remove("BINDERY_TOKEN");
    let output = command.envs(variables.iter().map(|(name, value)| (name, value))).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

/// Runs a command that must succeed. Returns what it printed.
#[track_caller]
pub(crate) fn succeed(arguments: &[&str]) -> String {
    let (code, text) = run(arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {text}");
    text
}

/// A running server. Killed when dropped.
pub(crate) struct Server {
    child: Child,
    log: LogWatch,
    /// The lines on standard output after the line with its address.
    printed: Arc<Mutex<Vec<String>>>,
    folder: PathBuf,
    _temp: Option<TempDir>,
    address: String,
    token: String,
    agent: ureq::Agent,
}

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
}

impl Reply {
    /// Returns the body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// `data` of the body.
    pub(crate) fn data(&self) -> Value {
        self.json()["data"].take()
    }

    /// Returns the error code.
    pub(crate) fn code(&self) -> String {
        self.json()["errors"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the error message.
    pub(crate) fn message(&self) -> String {
        self.json()["errors"]["message"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the lines of an NDJSON body.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Returns the keys of `errors.fields`, in order.
    pub(crate) fn error_keys(&self) -> Vec<String> {
        let body = self.json();
        let fields = body["errors"]["fields"].as_object();
        fields.map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
    }

    /// Returns the status and, for an error, its code (`200`, `404 NOT_FOUND`): what tables compare.
    pub(crate) fn outcome(&self) -> String {
        match self.status {
            status if status < 400 => status.to_string(),
            status => format!("{status} {}", self.code()),
        }
    }

    /// Returns the reply. Panics if it has another status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Reply {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }
}

/// The cases of a table that failed. The test reports all of them at the end.
#[derive(Default)]
pub(crate) struct Failures(Vec<String>);

impl Failures {
    /// Records a failure unless `holds`.
    pub(crate) fn check(&mut self, holds: bool, describe: impl FnOnce() -> String) {
        if !holds {
            self.0.push(describe());
        }
    }

    /// Records a failure unless both values are equal.
    pub(crate) fn check_eq<T: PartialEq + std::fmt::Debug>(&mut self, case: &str, got: T, expected: T) {
        self.check(got == expected, || format!("{case}: got {got:?}, expected {expected:?}"));
    }

    /// Panics with all recorded failures, if there are any.
    #[track_caller]
    pub(crate) fn assert_none(self) {
        assert!(self.0.is_empty(), "{} cases fail:\n{}", self.0.len(), self.0.join("\n"));
    }
}

impl Server {
    /// Starts a server on an empty folder.
    pub(crate) fn start() -> Server {
        Server::start_with(&[])
    }

    /// Starts a server on an empty folder, with extra arguments.
    pub(crate) fn start_with(arguments: &[&str]) -> Server {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("data");
        let mut server = Server::start_in(&folder, arguments);
        server._temp = Some(temp);
        server
    }

    /// Starts a server on this folder.
    pub(crate) fn start_in(folder: &Path, arguments: &[&str]) -> Server {
        Server::start_failing(folder, arguments, "")
    }

    /// Starts a server on this folder that fails at the named points (the form is in `bindery_disk::failure`).
    pub(crate) fn start_failing(folder: &Path, arguments: &[&str], points: &str) -> Server {
        Server::start_in_environment(folder, arguments, &[("FAILPOINTS", points)])
    }

    /// Starts a server on this folder with these variables.
    pub(crate) fn start_in_environment(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Server {
        Server::start_command(Command::new(binary()), folder, arguments, variables)
    }

    /// Starts a server on this folder with the program at this path.
    pub(crate) fn start_program(program: &Path, folder: &Path, arguments: &[&str]) -> Server {
        Server::start_command(Command::new(program), folder, arguments, &[("FAILPOINTS", "")])
    }

    /// Starts a server on an empty folder whose process may open this many files.
    pub(crate) fn start_with_open_files(files: u32, arguments: &[&str]) -> Server {
        let temp = tempfile::tempdir().unwrap();
        let mut server = Server::start_after(&format!("ulimit -n {files}"), &temp.path().join("data"), arguments);
        server._temp = Some(temp);
        server
    }

    /// Starts a server on this folder that a shell starts after a command.
    pub(crate) fn start_after(first: &str, folder: &Path, arguments: &[&str]) -> Server {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{first}; exec \"$0\" \"$@\"")).arg(binary());
        Server::start_command(command, folder, arguments, &[])
    }

    /// Starts a server on this folder. Fails with the last line that it logged if it ended without listening.
    pub(crate) fn try_start_in(folder: &Path) -> Result<Server, String> {
        Server::try_start(Command::new(binary()), folder, &[], &[])
    }

    fn start_command(command: Command, folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Server {
        Server::try_start(command, folder, arguments, variables)
            .unwrap_or_else(|line| panic!("the server ended without listening: {line}"))
    }

    fn try_start(
        mut command: Command,
        folder: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Server, String> {
        let listen: &[&str] = if arguments.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        let mut child = command
            .arg("serve")
            .args(listen)
            .arg("--data")
            .arg(folder)
            .args(arguments)
            .env("BINDERY_ADMIN_TOKEN", ADMIN)
            .envs(variables.iter().copied())
            .env("BINDERY_LOG_FILTER", "info")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // With a log of JSON, standard output has nothing else.
        let logs_json = arguments.contains(&"--log-format=json");
        let (mut log, address_in_log) = LogWatch::start(child.stderr.take().unwrap(), logs_json);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = match logs_json {
            true => address_in_log.recv().ok(),
            false => lines.by_ref().map_while(Result::ok).find_map(|line| address_in(&line)),
        };
        let Some(address) = address else {
            child.wait().unwrap();
            return Err(log.finish());
        };
        // Read the rest of its output, so that the server never blocks on a full pipe.
        let printed: Arc<Mutex<Vec<String>>> = Arc::default();
        let all = Arc::clone(&printed);
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| all.lock().unwrap().push(line)));
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .timeout_global(Some(Duration::from_secs(60)))
            .build()
            .new_agent();
        let folder = folder.to_owned();
        Ok(Server { child, log, printed, folder, _temp: None, address, token: ADMIN.to_owned(), agent })
    }

    /// Returns a client of the same server with another token.
    pub(crate) fn as_token(&self, token: &str) -> Client<'_> {
        Client { server: self, token: token.to_owned() }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the token of the admin.
    pub(crate) fn secret(&self) -> &str {
        &self.token
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Kills the process (`kill -9`) and starts it on the same folder with these arguments.
    pub(crate) fn kill_and_restart_with(&mut self, arguments: &[&str]) {
        self.kill();
        self.restart_with(arguments);
    }

    /// Kills the process (`kill -9`) and starts it on the same folder.
    pub(crate) fn kill_and_restart(&mut self) {
        self.kill_and_restart_with(&[]);
    }

    /// Stops the process the way a service manager does, with SIGTERM.
    pub(crate) fn terminate(&mut self) -> std::process::ExitStatus {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.child.wait().unwrap()
    }

    /// Kills the process (`kill -9`).
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts the server on the same folder. The process must have ended before.
    pub(crate) fn restart(&mut self) {
        self.restart_with(&[]);
    }

    fn restart_with(&mut self, arguments: &[&str]) {
        let temp = self._temp.take();
        let mut server = Server::start_in(&self.folder.clone(), arguments);
        server._temp = temp;
        *self = server;
    }

    /// Stops the server, and starts it again without its index, which it rebuilds.
    #[track_caller]
    pub(crate) fn restart_without_index(&mut self) {
        assert!(self.terminate().success());
        std::fs::remove_dir_all(self.folder.join("index")).unwrap();
        self.restart();
    }

    /// Returns the number of lines that the server has logged so far.
    pub(crate) fn logged_lines(&self) -> usize {
        self.log.lines().len()
    }

    /// Returns the lines of the server's log so far that have a level and contain a text.
    pub(crate) fn logged(&self, level: &str, part: &str) -> Vec<String> {
        let mut lines = self.log.lines();
        lines.retain(|line| line.contains(level) && line.contains(part));
        lines
    }

    /// Returns the lines that were written to standard output since the one with the address.
    pub(crate) fn printed_lines(&self) -> Vec<String> {
        self.printed.lock().unwrap().clone()
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, Some(body))
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Reply {
        self.send("PUT", path, Some(body))
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> Reply {
        self.send("PATCH", path, Some(body))
    }

    pub(crate) fn delete(&self, path: &str) -> Reply {
        self.send("DELETE", path, None)
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        self.as_token(&self.token).send(method, path, body)
    }

    /// Creates a blueprint with these fields.
    #[track_caller]
    pub(crate) fn blueprint(&self, slug: &str, fields: Value) -> Value {
        self.post("/v2/blueprints", &json!({ "name": slug, "slug": slug, "fields": fields })).expect(201).data()
    }

    /// Creates a published resource and returns its id.
    #[track_caller]
    pub(crate) fn create(&self, blueprint: &str, attributes: Value) -> String {
        let body = json!({ "attributes": attributes, "published_at": "2026-01-01T00:00:00Z" });
        let reply = self.post(&format!("/v2/resources/{blueprint}"), &body).expect(201);
        reply.data()["id"].as_str().unwrap().to_owned()
    }

    /// Returns the ids of a list, in order.
    #[track_caller]
    pub(crate) fn ids(&self, path_and_query: &str) -> Vec<String> {
        let reply = self.get(&format!("/v2/resources/{path_and_query}")).expect(200);
        let data = reply.data();
        data.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Sends a request as the admin with exactly these headers and this body.
    pub(crate) fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        self.as_token(&self.token).raw(method, path, headers, body)
    }

    /// Reads the resource as the admin.
    #[track_caller]
    pub(crate) fn find(&self, path: &str) -> Value {
        self.get(&format!("/v2/resources/{path}")).expect(200).data()
    }

    /// Creates a member and returns its id.
    #[track_caller]
    pub(crate) fn member(&self, name: &str, role: Option<&str>) -> u64 {
        let body = json!({ "name": name, "email": format!("{name}@example.org"), "role": role });
        self.post("/v2/members", &body).expect(201).data()["id"].as_u64().unwrap()
    }

    /// Creates a token with these abilities and returns its secret.
    #[track_caller]
    pub(crate) fn token(&self, abilities: &[&str]) -> String {
        let reply = self.post("/v2/tokens", &json!({ "name": "test", "abilities": abilities })).expect(201);
        reply.data()["secret"].as_str().unwrap().to_owned()
    }
}

/// Sends SIGKILL (`kill -9`) from another thread than the one that owns the server.
#[track_caller]
pub(crate) fn kill_process(id: u32) {
    assert!(Command::new("kill").args(["-9", &id.to_string()]).status().unwrap().success());
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.log.finish();
    }
}

/// A client of the server, with one token.
pub(crate) struct Client<'a> {
    server: &'a Server,
    token: String,
}

impl Client<'_> {
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, None)
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let json = [("content-type", "application/json")];
        match body {
            Some(body) => self.raw(method, path, &json, body.to_string().as_bytes()),
            None => self.raw(method, path, &[], b""),
        }
    }

    /// Sends a request with exactly these headers (and the token's) and this body.
    pub(crate) fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.server.address))
            .header("host", self.server.address.trim_start_matches("http://"));
        if !self.token.is_empty() {
            request = request.header("authorization", format!("Bearer {}", self.token));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let has_body = !body.is_empty() || !headers.is_empty() && method == "POST";
        let sent = if has_body {
            let agent = &self.server.agent;
            agent.run(request.body(body).unwrap())
        } else {
            self.server.agent.run(request.body(()).unwrap())
        };
        let mut response = sent.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let headers = response.headers().iter();
        let headers =
            headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap_or("").to_owned())).collect();
        let mut bytes = Vec::new();
        response.body_mut().as_reader().read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        Reply { status: response.status().as_u16(), headers, text }
    }
}
