//! Attack payloads, and real content if `BINDERY_TEST_DATA` names a folder of it.

use std::io::{BufRead, BufReader};

use serde_json::Value;

use super::fixpoint::tokenized_text;
use super::tree::{Context, parse};
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
    hostile::check(sanitizer, html);
    if let Ok(once) = sanitizer.rich_text(html) {
        assert_eq!(text_content(&once), tokenized_text(&once), "{html}");
    }
}

#[test]
fn attacks_leave_nothing_that_runs() {
    let sanitizer = Sanitizer::default();
    for payload in PAYLOADS {
        check_harmless(&sanitizer, payload);
    }
}

/// Returns the bodies of every `step`th record of `file` in the folder `BINDERY_TEST_DATA`; none if it is not set.
fn bodies(file: &str, step: usize) -> Vec<String> {
    let Ok(folder) = std::env::var("BINDERY_TEST_DATA") else {
        eprintln!("BINDERY_TEST_DATA is not set: {file} is skipped");
        return Vec::new();
    };
    let path = std::path::Path::new(&folder).join(file);
    let reader = zstd::stream::read::Decoder::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut bodies = Vec::new();
    for line in BufReader::new(reader).lines().step_by(step) {
        collect_bodies(&serde_json::from_str(&line.unwrap()).unwrap(), &mut bodies);
    }
    assert!(!bodies.is_empty(), "{file} has no bodies");
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
    for body in bodies("html-hostile.ndjson.zst", 1) {
        check_harmless(&sanitizer, &body);
    }
}

#[test]
fn real_articles_are_harmless_and_lose_no_text() {
    let sanitizer = Sanitizer::default();
    let dropped_whole = [&allowed::REMOVED_WHOLE[..], &["iframe"]].concat();
    for (file, step) in [("articles-cpp.ndjson.zst", 40), ("articles-mdn.ndjson.zst", 70)] {
        for body in bodies(file, step) {
            check_harmless(&sanitizer, &body);
            let once = sanitizer.rich_text(&body).unwrap();
            let sent = parse(&body, Context::Inside("div"), true).text(&dropped_whole);
            assert_eq!(parse(&once, Context::Inside("div"), true).text(&[]), sent, "{body}");
        }
    }
}
