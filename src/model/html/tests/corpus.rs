//! Attack payloads, and real content where the environment names a folder of it.

use std::io::{BufRead, BufReader};

use serde_json::Value;

use super::fixpoint::{clean, tokenized_text};
use super::*;

const PAYLOADS: [&str; 22] = [
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<img src=x onerror=alert(1)//",
    "<svg/onload=alert(1)>",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<svg></p><style><a id=\"</style><img src=1 onerror=alert(1)>\">",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
    "<iframe src=\"https://vimeo.com/1\"><img src=x onerror=alert(1)></iframe>",
    "<svg><iframe><a title=\"</iframe><img src onerror=alert(1)>\">test",
    "<a href=\"jav&#x09;ascript:alert(1)\">x</a>",
    "<a href=\"\u{1}javascript:alert(1)\">x</a>",
    "<a href=\"vbscript:msgbox(1)\">x</a>",
    "<isindex type=image src=1 onerror=alert(1)>",
    "<table><tr><td><a href=x><table><a href=y>z</table></a></td></tr>text</table>",
    "<b><p><b><p><b><p>x</b></p></b>",
    "<xmp><img src=x onerror=alert(1)></xmp><plaintext><b onclick=x>",
    "<textarea></textarea><img src=x onerror=alert(1)></textarea>",
    "<title><img src=x onerror=alert(1)></title>",
    "<select><option><style></select><img src=x onerror=alert(1)></style>",
    "<base href=\"javascript:/a/-alert(1)///////\"><a href=../x>y</a>",
    "<meta http-equiv=refresh content=\"0;url=javascript:alert(1)\"><link rel=stylesheet href=x>",
    "\u{feff}\u{feff}<p>\0&#0;&#13;\r\nx</p>",
];

#[track_caller]
fn check_harmless(sanitizer: &Sanitizer, html: &str) {
    let Ok(once) = sanitizer.rich_text(html) else { return };
    assert_eq!(clean(&once), once, "{html}");
    assert_eq!(text_content(&once), tokenized_text(&once), "{html}");
    for tag in tags(&once) {
        let lower = tag.to_ascii_lowercase();
        let name: String = lower[1..].trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        assert!(allowed::RICH_TEXT.tag(&name).is_some(), "{tag} in {once}");
        for bad in [" on", " style=", "javascript:", "vbscript:", "\"data:", " srcdoc", " formaction", " id="] {
            let outside_values: String = lower.split('"').step_by(2).collect();
            let is_scheme = bad.ends_with(':') && !lower.contains("src=") && !lower.contains("href=");
            let place = if bad.ends_with(':') { &lower } else { &outside_values };
            assert!(is_scheme || !place.contains(bad), "{tag} in {once}");
        }
    }
    let page = sanitizer.page(html).unwrap();
    assert_eq!(sanitizer.page(&page).unwrap(), page);
}

/// Sanitised HTML has `<` and `>` at the ends of tags alone.
fn tags(html: &str) -> impl Iterator<Item = &str> {
    html.split('<')
        .skip(1)
        .map(|piece| &html[piece.as_ptr() as usize - html.as_ptr() as usize - 1..][..piece.find('>').unwrap() + 2])
}

#[test]
fn attacks_leave_nothing_that_runs() {
    let sanitizer = Sanitizer::default();
    for payload in PAYLOADS {
        check_harmless(&sanitizer, payload);
    }
}

/// Bodies of `file` in the folder `BINDERY_TEST_DATA`, up to `limit` records; none without it.
fn bodies(file: &str, limit: usize) -> Vec<String> {
    let Ok(folder) = std::env::var("BINDERY_TEST_DATA") else {
        eprintln!("BINDERY_TEST_DATA names no folder: {file} is not looked at");
        return Vec::new();
    };
    let path = std::path::Path::new(&folder).join(file);
    let reader = zstd::stream::read::Decoder::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut bodies = Vec::new();
    for line in BufReader::new(reader).lines().take(limit) {
        collect_bodies(&serde_json::from_str(&line.unwrap()).unwrap(), &mut bodies);
    }
    bodies
}

fn collect_bodies(value: &Value, bodies: &mut Vec<String>) {
    let Value::Object(object) = value else { return };
    for (key, value) in object {
        match value {
            Value::String(body) if key == "body" => bodies.push(body.clone()),
            value => collect_bodies(value, bodies),
        }
    }
}

#[test]
fn published_attacks_leave_nothing_that_runs() {
    let sanitizer = Sanitizer::default();
    for body in bodies("html-hostile.ndjson.zst", usize::MAX) {
        check_harmless(&sanitizer, &body);
    }
}

#[test]
fn real_articles_settle_at_once() {
    let sanitizer = Sanitizer::default();
    for file in ["articles-cpp.ndjson.zst", "articles-mdn.ndjson.zst"] {
        for body in bodies(file, 60) {
            check_harmless(&sanitizer, &body);
        }
    }
}
