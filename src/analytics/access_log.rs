//! Lines of access logs in the combined format: parses them, and selects the pageviews.

use bindery_model::time::{Millis, parse_system_date};

/// One request of an access log.
#[derive(Debug, PartialEq)]
pub(super) struct LoggedRequest<'a> {
    pub(super) address: &'a str,
    pub(super) at: Millis,
    request: String,
    status: u16,
    pub(super) referrer: String,
    pub(super) user_agent: String,
}

impl<'a> LoggedRequest<'a> {
    /// Parses `address ident user [time] "request" status bytes "referrer" "user agent"`, and ignores the rest of the
    /// line.
    pub(super) fn parse(text: &'a str) -> Option<LoggedRequest<'a>> {
        let (address, rest) = text.split_once(' ')?;
        let (_, rest) = rest.split_once('[')?;
        let (time, rest) = rest.split_once("] ")?;
        let (request, rest) = quoted(rest)?;
        let (status, rest) = rest.strip_prefix(' ')?.split_once(' ')?;
        let (_bytes, rest) = rest.split_once(' ')?;
        let (referrer, rest) = quoted(rest)?;
        let (user_agent, _) = quoted(rest.strip_prefix(' ')?)?;
        let status = status.parse().ok().filter(|status| (100..=999).contains(status))?;
        if address.is_empty() {
            return None;
        }
        Some(LoggedRequest { address, at: parse_time(time)?, request, status, referrer, user_agent })
    }

    /// Returns the target of the request if it is a pageview: a `GET` answered with 2xx or 304, of a path without a
    /// file extension or with that of a page.
    pub(super) fn page_target(&self) -> Option<&str> {
        let mut words = self.request.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let was_answered = (200..300).contains(&self.status) || self.status == 304;
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let extension = std::path::Path::new(name).extension().and_then(|extension| extension.to_str());
        let is_page = match extension {
            None | Some("") => true,
            Some(extension) => ["html", "htm", "php"].iter().any(|page| extension.eq_ignore_ascii_case(page)),
        };
        (method == "GET" && was_answered && is_page).then_some(target)
    }
}

/// Splits a text into its quoted beginning, unescaped, and the rest. A backslash makes the next character literal, and
/// `\xhh` is a byte.
fn quoted(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix('"')?;
    let bytes = text.as_bytes();
    let (mut unquoted, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        match bytes[at] {
            // In UTF-8, the byte of a quote is never part of another character.
            b'"' => return Some((String::from_utf8_lossy(&unquoted).into_owned(), &text[at + 1..])),
            b'\\' => {
                let byte = text.get(at + 2..at + 4).and_then(|digits| u8::from_str_radix(digits, 16).ok());
                match (bytes.get(at + 1)?, byte) {
                    (b'x', Some(byte)) => {
                        unquoted.push(byte);
                        at += 4;
                    }
                    (literal, _) => {
                        unquoted.push(*literal);
                        at += 2;
                    }
                }
            }
            byte => {
                unquoted.push(byte);
                at += 1;
            }
        }
    }
    None
}

/// Parses a time such as `17/May/2015:10:05:03 +0000`. `None` also if it is outside the years 0001 to 9999 in UTC.
fn parse_time(text: &str) -> Option<Millis> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (date, time) = text.split_once(':')?;
    let mut date = date.split('/');
    let (day, month, year) = (date.next()?, date.next()?, date.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let (time, offset) = time.split_once(' ')?;
    parse_system_date(&format!("{year}-{month:02}-{day}T{time}{offset}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_fields_are_unescaped() {
        let table = [
            (r#""a b" c"#, Some(("a b", " c"))),
            (r#""a\"b\\c\td" "#, Some(("a\"b\\ctd", " "))),
            (r#""caf\xc3\xa9 \xff\xg" "#, Some(("café \u{fffd}xg", " "))),
            (r#""\x""#, Some(("x", ""))),
            (r#""open"#, None),
            (r#""open\"#, None),
            ("bare", None),
        ];
        for (text, expected) in table {
            let expected = expected.map(|(unquoted, rest)| (unquoted.to_owned(), rest));
            assert_eq!(quoted(text), expected, "{text}");
        }
    }
}
