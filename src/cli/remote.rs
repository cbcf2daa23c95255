//! A running server as the command line talks to it.

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::{CliError, failed};
use crate::config::ServerArgs;

/// A server and a token of it.
#[derive(Clone)]
pub(super) struct Remote {
    client: reqwest::Client,
    url: String,
    token: String,
}

impl Remote {
    /// The server that the arguments name; `None` if they mean the data folder.
    pub(super) fn of(server: &ServerArgs) -> Result<Option<Remote>, CliError> {
        let (Some(url), Some(token)) = (&server.url, &server.token) else { return Ok(None) };
        // Only the first call in a process installs the provider; a later one finds it there.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().build().map_err(|error| failed("preparing the connection", &error))?;
        Ok(Some(Remote { client, url: url.trim_end_matches('/').to_owned(), token: token.clone() }))
    }

    /// The `data` of a `GET`.
    pub(super) async fn get(&self, path: &str) -> Result<Value, CliError> {
        self.data(self.client.get(self.address(path))).await
    }

    /// The `data` of a `POST` with a JSON body.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, CliError> {
        let request = self.client.post(self.address(path)).header("Content-Type", "application/json");
        self.data(request.body(body.to_string())).await
    }

    /// A `DELETE`.
    pub(super) async fn delete(&self, path: &str) -> Result<(), CliError> {
        self.send(self.client.delete(self.address(path))).await.map(|_| ())
    }

    /// The answer to a `DELETE` that has one.
    pub(super) async fn delete_answered(&self, path: &str) -> Result<Value, CliError> {
        answer(self.send(self.client.delete(self.address(path))).await?).await
    }

    /// A `GET` whose answer is read piece by piece.
    pub(super) async fn get_stream(&self, path: &str) -> Result<reqwest::Response, CliError> {
        self.send(self.client.get(self.address(path))).await
    }

    /// A `POST` of NDJSON that is streamed both ways: the answer may be read while the body is still being sent.
    pub(super) async fn post_stream(
        &self,
        path: &str,
        body: mpsc::Receiver<Result<Bytes, std::io::Error>>,
    ) -> Result<reqwest::Response, CliError> {
        let request = self.client.post(self.address(path)).header("Content-Type", "application/x-ndjson");
        self.send(request.body(reqwest::Body::wrap_stream(ReceiverStream::new(body)))).await
    }

    /// The answer to a `POST` of a text that is streamed.
    pub(super) async fn post_text(
        &self,
        path: &str,
        body: mpsc::Receiver<Result<Bytes, std::io::Error>>,
    ) -> Result<Value, CliError> {
        let request = self.client.post(self.address(path)).header("Content-Type", "text/plain");
        answer(self.send(request.body(reqwest::Body::wrap_stream(ReceiverStream::new(body)))).await?).await
    }

    fn address(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    async fn data(&self, request: reqwest::RequestBuilder) -> Result<Value, CliError> {
        Ok(answer(self.send(request).await?).await?["data"].take())
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, CliError> {
        let request = request.bearer_auth(&self.token);
        let sent = request.send().await;
        let response = sent.map_err(|error| failed(format!("talking to {}", self.url), &root_cause(&error)))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let text = response.text().await.unwrap_or_default();
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        let message = body["errors"]["message"].as_str().unwrap_or("the answer is not one of a bindery server");
        Err(CliError::Refused { status, message: message.to_owned() })
    }
}

async fn answer(response: reqwest::Response) -> Result<Value, CliError> {
    let bytes = response.bytes().await.map_err(|error| failed("reading the answer", &error))?;
    serde_json::from_slice(&bytes).map_err(|error| failed("reading the answer", &error))
}

/// The innermost cause: the outer ones only repeat the address.
pub(super) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
