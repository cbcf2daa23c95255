//! The measured server, and a bare handler to compare it with.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract;
use axum::http::header;
use axum::routing::get;
use bytes::Bytes;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::Result;
use crate::client::TOKEN;

/// A running server. It is killed when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    process: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Starts a server and waits until it is ready.
    pub(crate) fn start(binary: &Path, folder: &Path) -> Result<Server> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new(binary);
        command.arg("serve").arg("--data").arg(folder).args(["--listen", &address.to_string(), "--log-filter", "warn"]);
        command.env("BINDERY_ADMIN_TOKEN", TOKEN).stdin(Stdio::null()).stdout(Stdio::null());
        let process = command.spawn().map_err(|error| format!("{}: {error}", binary.display()))?;
        let (server, began) = (Server { address, process }, Instant::now());
        while ureq::get(format!("http://{address}/readyz")).call().is_err() {
            if began.elapsed() > Duration::from_secs(60) {
                return Err("the server did not become ready".into());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    pub(crate) fn create_blueprint(&self, blueprint: &Value) -> Result<()> {
        self.post("/v2/blueprints", blueprint)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<()> {
        let request =
            ureq::post(format!("http://{}{path}", self.address)).header("Authorization", format!("Bearer {TOKEN}"));
        request.header("Content-Type", "application/json").send(body.to_string())?;
        Ok(())
    }

    /// Uploads a published file. Returns its address.
    pub(crate) fn upload(&self, name: &str, bytes: &[u8]) -> Result<String> {
        let head = format!(
            "--b\r\nContent-Disposition: form-data; name=\"published_at\"\r\n\r\n2026-01-01T00:00:00Z\r\n\
             --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
        );
        let body = [head.as_bytes(), bytes, b"\r\n--b--\r\n"].concat();
        let request = ureq::post(format!("http://{}/v2/media/media", self.address));
        let request = request.header("Authorization", format!("Bearer {TOKEN}"));
        let request = request.header("Content-Type", "multipart/form-data; boundary=b");
        let answer: Value = serde_json::from_str(&request.send(&body[..])?.body_mut().read_to_string()?)?;
        Ok(answer["data"]["attributes"]["url"].as_str().ok_or("an answer without an address")?.to_owned())
    }

    /// Returns a line of `/proc/PID/status`, in KiB.
    pub(crate) fn memory(&self, name: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next()).ok_or("the status lacks a line")?;
        Ok(number.parse()?)
    }

    /// Lets the highest memory be that of now.
    pub(crate) fn reset_peak(&self) -> Result<()> {
        Ok(fs::write(format!("/proc/{}/clear_refs", self.process.id()), "5")?)
    }
}

/// A handler that answers bodies from memory. It stops when it is dropped.
pub(crate) struct Bare {
    pub(crate) address: SocketAddr,
    _runtime: Runtime,
}

impl Bare {
    /// Answers the body with a number at `/{number}`.
    pub(crate) fn start(bodies: Vec<Vec<u8>>) -> Result<Bare> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let bodies: Vec<Bytes> = bodies.into_iter().map(Bytes::from).collect();
        let answer = move |extract::Path(number): extract::Path<usize>| {
            let body = bodies[number].clone();
            async move { ([(header::CONTENT_TYPE, "image/webp")], body) }
        };
        runtime.spawn(async move { axum::serve(listener, Router::new().route("/{number}", get(answer))).await });
        Ok(Bare { address, _runtime: runtime })
    }
}
