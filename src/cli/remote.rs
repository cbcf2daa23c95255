//! Requests to a running server. Must not know commands.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use bindery_config::ServerArgs;
use serde_json::Value;
use tokio_stream::wrappers::ReceiverStream;

use super::error::{CliError, failed};
use super::input::Pieces;

/// The time limit of a health check.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(3);

/// A running server and a token of that server.
#[derive(Clone)]
pub(super) struct Remote {
    client: reqwest::Client,
    url: String,
    token: String,
}

impl Remote {
    /// Returns the server that the arguments name; `None` without one, in which case the command opens the data folder.
    pub(super) fn of(server: &ServerArgs) -> Result<Option<Remote>, CliError> {
        let (Some(url), Some(token)) = (&server.url, &server.token) else { return Ok(None) };
        Ok(Some(Remote { client: client()?, url: base_url(url)?, token: token.clone() }))
    }

    /// `GET`; returns the `data` of the response.
    pub(super) async fn get(&self, path: &str) -> Result<Value, CliError> {
        self.data(self.client.get(self.address(path))).await
    }

    /// `POST` with a JSON body; returns the `data` of the response.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, CliError> {
        let request = self.client.post(self.address(path)).header("Content-Type", "application/json");
        self.data(request.body(body.to_string())).await
    }

    /// `PUT` with a JSON body; returns the `data` of the response.
    pub(super) async fn put(&self, path: &str, body: &Value) -> Result<Value, CliError> {
        let request = self.client.put(self.address(path)).header("Content-Type", "application/json");
        self.data(request.body(body.to_string())).await
    }

    /// `PATCH` with a JSON body; returns the `data` of the response.
    pub(super) async fn patch(&self, path: &str, body: &Value) -> Result<Value, CliError> {
        let request = self.client.patch(self.address(path)).header("Content-Type", "application/json");
        self.data(request.body(body.to_string())).await
    }

    /// `DELETE`, without a response body.
    pub(super) async fn delete(&self, path: &str) -> Result<(), CliError> {
        self.send(self.client.delete(self.address(path))).await.map(|_| ())
    }

    /// `DELETE`; returns the body of the response.
    pub(super) async fn delete_with_response(&self, path: &str) -> Result<Value, CliError> {
        json_body(self.send(self.client.delete(self.address(path))).await?).await
    }

    /// `GET`; the response is read piece by piece.
    pub(super) async fn get_stream(&self, path: &str) -> Result<reqwest::Response, CliError> {
        self.send(self.client.get(self.address(path))).await
    }

    /// `GET`; writes the response to a file, and syncs it.
    pub(super) async fn download(&self, path: &str, file: &Path) -> Result<(), CliError> {
        let writing = |error: io::Error| failed(format!("writing {}", file.display()), &error);
        let mut response = self.get_stream(path).await?;
        let mut out = File::create(file).map_err(writing)?;
        while let Some(piece) = response.chunk().await.map_err(|error| failed("reading the response", &error))? {
            out.write_all(&piece).map_err(writing)?;
        }
        out.sync_all().map_err(writing)
    }

    /// `POST` of streamed NDJSON. The response can be read while the body is still being sent.
    pub(super) async fn post_stream(&self, path: &str, body: Pieces) -> Result<reqwest::Response, CliError> {
        let request = self.client.post(self.address(path)).header("Content-Type", "application/x-ndjson");
        self.send(request.body(reqwest::Body::wrap_stream(ReceiverStream::new(body)))).await
    }

    /// `POST` of a streamed text; returns the body of the response.
    pub(super) async fn post_text(&self, path: &str, body: Pieces) -> Result<Value, CliError> {
        let request = self.client.post(self.address(path)).header("Content-Type", "text/plain");
        json_body(self.send(request.body(reqwest::Body::wrap_stream(ReceiverStream::new(body)))).await?).await
    }

    /// Returns the URL of a path.
    pub(super) fn address(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    async fn data(&self, request: reqwest::RequestBuilder) -> Result<Value, CliError> {
        Ok(json_body(self.send(request).await?).await?["data"].take())
    }

    /// Sends a request with the token. A status other than success becomes an error with the server's message.
    async fn send(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, CliError> {
        let request = request.bearer_auth(&self.token);
        let response = request.send().await.map_err(|error| unreachable(&self.url, &error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let text = response.text().await.unwrap_or_default();
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        let message = body["errors"]["message"].as_str().unwrap_or("the response does not come from a bindery server");
        Err(CliError::Refused { status, message: message.to_owned() })
    }
}

/// Succeeds if the server at this URL accepts writes.
pub(super) async fn health(url: &str) -> Result<(), CliError> {
    let url = base_url(url)?;
    let response = client()?.get(format!("{url}/readyz")).timeout(HEALTH_TIMEOUT).send().await;
    let response = response.map_err(|error| unreachable(&url, &error))?;
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let body: Value = serde_json::from_str(&response.text().await.unwrap_or_default()).unwrap_or_default();
    let reason = body["errors"]["message"].as_str().map_or_else(String::new, |message| format!(": {message}"));
    Err(CliError::Incomplete(format!("{url} is not ready: it answers {}{reason}", status.as_u16())))
}

fn client() -> Result<reqwest::Client, CliError> {
    // Fails if a provider is installed already, which is fine too.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().http1_only().build().map_err(|error| failed("preparing the connection", &error))
}

/// Returns the URL without a slash at its end.
fn base_url(url: &str) -> Result<String, CliError> {
    if url.starts_with("http://") || url.starts_with("https://") {
        return Ok(url.trim_end_matches('/').to_owned());
    }
    Err(CliError::Incomplete(format!(
        "`{url}` is no URL: begin it with `http://` or `https://`, such as `http://{url}`"
    )))
}

/// Returns the error for a server that cannot be reached, with advice.
fn unreachable(url: &str, error: &reqwest::Error) -> CliError {
    let cause = root_cause(error);
    let hint = if cause.contains("refused") {
        "; no server listens there: is it running, and is this its address?"
    } else if url.starts_with("https://") && (cause.contains("corrupt message") || cause.contains("InvalidContentType"))
    {
        "; the server does not speak TLS there: try `http://`"
    } else {
        ""
    };
    failed(format!("connecting to {url}"), &format!("{cause}{hint}"))
}

async fn json_body(response: reqwest::Response) -> Result<Value, CliError> {
    let bytes = response.bytes().await.map_err(|error| failed("reading the response", &error))?;
    serde_json::from_slice(&bytes).map_err(|error| failed("reading the response", &error))
}

/// Returns the text of the innermost cause: the outer ones only repeat the URL.
pub(super) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
