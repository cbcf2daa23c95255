//! Requests that are sent on to Ceph as they came. Their signatures hold there, because the header `Host` is sent on,
//! too.

use std::io::Read;
use std::sync::Arc;

use super::super::ceph::Ceph;
use super::http::{Request, Response};

/// The headers that belong to a connection. Those of the next one are written anew.
const OF_CONNECTIONS: [&str; 5] = ["connection", "content-length", "date", "keep-alive", "transfer-encoding"];

/// Sends requests on.
pub(super) struct Forward {
    ceph: Arc<Ceph>,
    agent: ureq::Agent,
}

impl Forward {
    pub(super) fn to(ceph: Arc<Ceph>) -> Forward {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            // A request on a connection that the server closes meanwhile would fail without a fault.
            .max_idle_connections(0)
            .max_redirects(0)
            .build()
            .new_agent();
        Forward { ceph, agent }
    }

    /// Sends a request on and returns the answer. Without one it is unknown whether the request was carried out, and
    /// the answer is 500.
    pub(super) fn handle(&self, request: &Request) -> Response {
        self.send(request).unwrap_or_else(|error| {
            eprintln!("Ceph has not answered {} {}: {error}", request.method, request.target);
            Response::error(500, "InternalError")
        })
    }

    fn send(&self, request: &Request) -> Result<Response, ureq::Error> {
        let mut sent = ureq::http::Request::builder().method(request.method.as_str()).uri(format!(
            "http://127.0.0.1:{}{}",
            self.ceph.port(),
            request.target
        ));
        for (name, value) in of_messages(request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))) {
            sent = sent.header(name, value);
        }
        let mut answer = match request.method.as_str() {
            "PUT" | "POST" => self.agent.run(sent.body(request.body.as_slice())?)?,
            _ => self.agent.run(sent.body(())?)?,
        };
        let mut body = Vec::new();
        answer.body_mut().as_reader().read_to_end(&mut body)?;
        let headers = answer.headers().iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()));
        let response = Response::new(answer.status().as_u16(), body);
        Ok(of_messages(headers).fold(response, |response, (name, value)| response.with(name, value)))
    }
}

/// Returns the headers that belong to a message.
fn of_messages<'a>(headers: impl Iterator<Item = (&'a str, &'a str)>) -> impl Iterator<Item = (&'a str, &'a str)> {
    headers.filter(|(name, _)| !OF_CONNECTIONS.contains(name))
}
