//! A line of the access log, as text or as JSON (`API.md` 1.11). It contains no secrets, wherever the client put them,
//! and its length is bounded. Must not know how lines are written.

use std::net::IpAddr;
use std::time::Duration;

use bindery_access::Actor;
use bindery_model::time::{Millis, format_millis};
use percent_encoding::percent_decode_str;
use serde_json::json;

/// The longest method, path and query string that a line shows, in characters.
const MAX_METHOD_CHARS: usize = 16;
const MAX_PATH_CHARS: usize = 1_024;
const MAX_QUERY_CHARS: usize = 2_048;

/// The prefixes of the secrets of tokens, sessions and invitations.
const SECRETS: [&str; 3] = ["bnd_", "bns_", "bni_"];

/// Names of parameters that often hold secrets. The server has no such parameters, but clients send them.
const SECRET_NAMES: [&str; 6] = ["token", "access_token", "api_key", "authorization", "password", "secret"];

/// The replacement of a secret.
const REDACTED: &str = "[redacted]";

/// A request that was answered.
#[derive(Debug, Clone)]
pub(crate) struct AccessLine {
    /// The time at which the request arrived.
    pub(crate) at: Millis,
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) status: u16,
    /// The number of bytes of the body, as it was sent.
    pub(crate) bytes: u64,
    pub(crate) took: Duration,
    /// The sender, if its token or session is valid.
    pub(crate) sender: Option<Actor>,
    /// The address of the client; `None` for visitors of sites.
    pub(crate) client: Option<IpAddr>,
    /// True if the whole answer was sent.
    pub(crate) is_complete: bool,
}

/// Returns a path with secrets replaced, cut to the length that lines show.
pub(crate) fn redacted_path(path: &str, admin: Option<&str>) -> String {
    let parts: Vec<String> = path.split('/').map(|part| redacted_part(part, admin)).collect();
    shortened(&parts.join("/"), MAX_PATH_CHARS)
}

fn redacted_part(part: &str, admin: Option<&str>) -> String {
    if has_secret(part, admin) { REDACTED.to_owned() } else { part.to_owned() }
}

fn has_secret(text: &str, admin: Option<&str>) -> bool {
    // `+` stands for a space, as in query strings.
    let text = percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    SECRETS.iter().any(|secret| text.contains(secret)) || admin.is_some_and(|admin| text.contains(admin))
}

impl AccessLine {
    /// Replaces the secrets that the request had in wrong places. `admin` is the admin token, which may be any text.
    pub(crate) fn redacted(self, admin: Option<&str>) -> AccessLine {
        let is_secret = |text: &str| has_secret(text, admin);
        let names_secret = |name: &str| {
            let name = percent_decode_str(name).decode_utf8_lossy();
            SECRET_NAMES.iter().any(|secret| name.eq_ignore_ascii_case(secret))
        };
        let part = |part: &str| redacted_part(part, admin);
        let parameter = |parameter: &str| match parameter.split_once('=') {
            Some((name, value)) if !is_secret(name) && (names_secret(name) || is_secret(value)) => {
                format!("{name}={REDACTED}")
            }
            _ => part(parameter),
        };
        AccessLine {
            id: part(&self.id),
            path: redacted_path(&self.path, admin),
            query: self.query.map(|query| {
                shortened(&query.split('&').map(parameter).collect::<Vec<_>>().join("&"), MAX_QUERY_CHARS)
            }),
            method: shortened(&self.method, MAX_METHOD_CHARS),
            ..self
        }
    }

    /// Formats the line as text: time, client, sender, method, path with query string, status, bytes, milliseconds, id.
    pub(crate) fn to_text(&self) -> String {
        let client = self.client.map_or_else(|| "-".to_owned(), |client| client.to_string());
        let sender = match &self.sender {
            None => "-".to_owned(),
            Some(Actor::Token(id)) => format!("token={}", escaped(id)),
            Some(Actor::Member(id)) => format!("member={id}"),
        };
        let query = self.query.as_ref().map_or_else(String::new, |query| format!("?{}", escaped(query)));
        let AccessLine { at, status, bytes, id, .. } = self;
        let (at, ms) = (format_millis(*at), self.millis());
        let (method, path) = (escaped(&self.method), escaped(&self.path));
        let aborted = if self.is_complete { "" } else { " aborted" };
        format!("{at} {client} {sender} {method} {path}{query} {status} {bytes} {ms:.3}ms {id}{aborted}\n")
    }

    /// Formats the line as a JSON object.
    pub(crate) fn to_json(&self) -> String {
        let (token, member) = match &self.sender {
            None => (None, None),
            Some(Actor::Token(id)) => (Some(id), None),
            Some(Actor::Member(id)) => (None, Some(id)),
        };
        let object = json!({
            "time": format_millis(self.at),
            "id": self.id,
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "status": self.status,
            "bytes": self.bytes,
            "ms": self.millis(),
            "token": token,
            "member": member,
            "client": self.client,
            "complete": self.is_complete,
        });
        format!("{object}\n")
    }

    fn millis(&self) -> f64 {
        self.took.as_micros() as f64 / 1_000.0
    }
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Escapes characters that could be mistaken for the end of a line or of one of its parts, or that control a terminal.
fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '…' => c.to_string(),
        c if c.is_ascii_graphic() => c.to_string(),
        c => c.escape_default().to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::Value;

    use super::*;

    const ADMIN: &str = "a long admin token of 32 letters";

    fn line(path: &str, query: Option<&str>) -> AccessLine {
        let line = AccessLine {
            at: 1_700_000_000_123,
            id: "abc".to_owned(),
            method: "GET".to_owned(),
            path: path.to_owned(),
            query: query.map(str::to_owned),
            status: 200,
            bytes: 12,
            took: Duration::from_micros(1_234),
            sender: Some(Actor::Member(7)),
            client: Some([203, 0, 113, 7].into()),
            is_complete: true,
        };
        line.redacted(Some(ADMIN))
    }

    #[test]
    fn a_line_says_everything_in_both_forms() {
        let line = line("/v2/resources/notes", Some("page=2"));
        let expected =
            "2023-11-14T22:13:20.123+00:00 203.0.113.7 member=7 GET /v2/resources/notes?page=2 200 12 1.234ms abc\n";
        assert_eq!(line.to_text(), expected);
        let object: Value = serde_json::from_str(&line.to_json()).unwrap();
        assert_eq!((&object["ms"], &object["member"], &object["token"]), (&json!(1.234), &json!(7), &Value::Null));
        assert_eq!((&object["client"], &object["query"]), (&json!("203.0.113.7"), &json!("page=2")));
        let visitor = AccessLine { client: None, sender: None, query: None, is_complete: false, ..line };
        assert!(visitor.to_text().ends_with(" - - GET /v2/resources/notes 200 12 1.234ms abc aborted\n"));
    }

    #[test]
    fn no_secret_is_in_a_line() {
        for (path, query, shown_path, shown_query) in [
            ("/v2/tokens/bnd_abc", "", "/v2/tokens/[redacted]", ""),
            ("/v2/tokens/%62nd_abc/x", "a=1", "/v2/tokens/[redacted]/x", "a=1"),
            ("/", "x=bnd_abc&filter[title]=y", "/", "x=[redacted]&filter[title]=y"),
            ("/", "x=b%6Ed_abc&bns_x&y=zbni_", "/", "x=[redacted]&[redacted]&y=[redacted]"),
            ("/", "bnd_a=bnd_b", "/", "[redacted]"),
            ("/", "Token=anything&search=token&%74oken=x", "/", "Token=[redacted]&search=token&%74oken=[redacted]"),
            ("/", "q=a%20long%20admin%20token%20of%2032%20letters", "/", "q=[redacted]"),
        ] {
            let line = line(path, Some(query));
            assert_eq!((line.path.as_str(), line.query.as_deref()), (shown_path, Some(shown_query)), "{path}?{query}");
        }
    }

    #[test]
    fn a_line_is_one_line_of_bounded_length() {
        let long = "x\u{1b}[2J\n\u{2028} ".repeat(20_000);
        let line = AccessLine { method: long.clone(), ..line(&long, Some(&long)) }.redacted(None);
        for text in [line.to_text(), line.to_json()] {
            assert!(text.len() < 40_000, "{}", text.len());
            assert!(text.ends_with('\n') && text.lines().count() == 1, "{text}");
        }
        assert!(line.to_text().chars().all(|c| !c.is_control() || c == '\n'));
    }
}
