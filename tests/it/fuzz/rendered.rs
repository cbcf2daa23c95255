//! The output of the sanitizer in a browser: no script runs, and none would run after a click.

use std::io::Read as _;
use std::sync::Arc;

use bindery_sanitize::{Sanitizer, style_sheet};
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value, json};

use super::bounded::{TARGETS, changed};
use crate::browser::{Browser, Pages, chromium};

/// The number of inputs that are sanitized, and the number of them on one page.
const INPUTS: usize = 1_500;
const PER_PAGE: usize = 25;

/// The number of elements that a page has besides its inputs.
const OWN_ELEMENTS: u64 = 6;

/// Inputs with scripts, which are mixed into the others.
const PAYLOADS: &[&[u8]] = &[
    b"<img src=x onerror=alert(1)>",
    b"<a href=\"javascript:alert(1)\">x</a>",
    b"<svg onload=alert(1)><script>alert(1)</script></svg>",
    b"<iframe srcdoc=\"<script>alert(1)</script>\"></iframe>",
    b"<math><mtext></p><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
    b"<form action=javascript:alert(1)><button formaction=javascript:alert(1)>x",
    b"<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
    b"<template><script>alert(1)</script></template><object data=javascript:alert(1)>",
];

/// The script that reports the parts of a page that ran or could run. A content security policy reports each script
/// that it blocks, and the script looks at every element. The policy blocks all scripts but this one, and everything
/// that would be loaded.
const WATCH: &str = r##"
const found = [];
document.addEventListener("securitypolicyviolation", event => {
  if (event.violatedDirective.startsWith("script-src")) found.push(event.violatedDirective + " " + event.sample);
});
addEventListener("load", () => setTimeout(() => {
  for (const element of document.querySelectorAll("*")) {
    if (element.dataset.own) continue;
    if (["SCRIPT", "OBJECT", "EMBED", "BASE", "META", "FORM"].includes(element.tagName.toUpperCase())) found.push(element.outerHTML);
    for (const {name, value} of element.attributes) {
      if (name.startsWith("on") || name === "srcdoc") found.push(element.outerHTML);
      if (["href", "src", "action", "formaction", "data", "xlink:href", "poster"].includes(name)) {
        let scheme = "";
        try { scheme = new URL(value, document.baseURI).protocol } catch {}
        if (["javascript:", "data:", "vbscript:", "blob:"].includes(scheme)) found.push(element.outerHTML);
      }
    }
  }
  const number = Number(location.pathname.slice(1));
  const next = () => { if (number < LAST) location.href = "/" + (number + 1) };
  const report = {number, found: found.slice(0, 5).map(text => text.slice(0, 300)), elements: document.querySelectorAll("*").length};
  fetch("/done?" + encodeURIComponent(JSON.stringify(report))).then(next);
}, 30));"##;

fn page(contents: &str, css: &str, last: usize) -> String {
    let policy = "script-src 'nonce-own'; img-src 'none'; frame-src 'none'; media-src 'none'; font-src 'none'; object-src 'none'";
    let script = WATCH.replace("LAST", &last.to_string());
    format!(
        "<!doctype html><html data-own=1><head data-own=1><meta data-own=1 http-equiv=content-security-policy \
         content=\"{policy}\"><script data-own=1 nonce=own>{script}</script><style data-own=1>{css}</style></head>\
         <body data-own=1>{contents}</body></html>"
    )
}

/// Shows pages in the browser, one after the other. Returns the findings of each.
fn look_at(chromium: &std::path::Path, pages: Vec<String>) -> Vec<Value> {
    let count = pages.len();
    let pages = Arc::new(pages);
    let served = Pages::serve(move |path| {
        let number = path.trim_start_matches('/').parse::<usize>();
        number.ok().and_then(|number| pages.get(number)).cloned().unwrap_or_default()
    });
    let address = format!("http://127.0.0.1:{}/0", served.port);
    let _browser = Browser::open(chromium, &address, None, &json!({}));
    (0..count).map(|_| served.wait()).collect()
}

/// Returns the seeds of the fuzz target, payloads, and the hostile documents of the shared data if they are there.
fn seeds() -> Vec<Vec<u8>> {
    let html = TARGETS.iter().find(|target| target.name == "html").unwrap().seeds;
    let mut seeds: Vec<Vec<u8>> = html.iter().chain(PAYLOADS).map(|seed| seed.to_vec()).collect();
    if let Some(data) = std::env::var_os("BINDERY_TEST_DATA") {
        let file = std::fs::File::open(std::path::Path::new(&data).join("html-hostile.ndjson.zst")).unwrap();
        let mut text = String::new();
        zstd::stream::Decoder::new(file).unwrap().read_to_string(&mut text).unwrap();
        let bodies = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        seeds
            .extend(bodies.filter_map(|line| line["attributes"]["body"].as_str().map(|body| body.as_bytes().to_vec())));
    }
    seeds
}

#[test]
fn no_script_of_sanitized_html_runs_in_a_browser() {
    let Some(chromium) = chromium("sanitized HTML in a browser") else { return };
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[11; 32]);
    let (sanitizer, seeds) = (Sanitizer::default(), seeds());
    let (mut outputs, mut sheets) = (Vec::new(), Vec::new());
    for number in 0..INPUTS {
        let input = if number < seeds.len() { seeds[number].clone() } else { changed(&seeds, &mut random) };
        let input = String::from_utf8_lossy(&input).into_owned();
        sheets.push(style_sheet(&input));
        outputs.extend([sanitizer.rich_text(&input), sanitizer.page(&input)].into_iter().flatten());
    }
    assert!(outputs.len() > INPUTS, "{} of {INPUTS} inputs twice", outputs.len());
    let n_pages = outputs.len().div_ceil(PER_PAGE);
    let sheets: Vec<String> = sheets.chunks(sheets.len().div_ceil(n_pages)).map(<[String]>::concat).collect();
    let pages: Vec<String> = outputs
        .chunks(PER_PAGE)
        .enumerate()
        .map(|(number, outputs)| page(&outputs.concat(), sheets.get(number).map_or("", String::as_str), n_pages - 1))
        .collect();
    let reports = look_at(&chromium, pages.clone());
    let found: Vec<&Value> = reports.iter().filter(|report| report["found"] != json!([])).collect();
    assert!(found.is_empty(), "{found:?}");
    let elements = |report: &Value| report["elements"].as_u64().unwrap_or(0);
    for (report, page) in reports.iter().zip(&pages) {
        assert!(elements(report) >= OWN_ELEMENTS, "{report}: {page}");
    }
    // Without this check, the pages might be nearly empty.
    let shown: u64 = reports.iter().map(|report| elements(report) - OWN_ELEMENTS).sum();
    assert!(shown > 10 * n_pages as u64, "{shown} elements on {n_pages} pages");
}

/// Checks that each payload is found without the sanitizer. Otherwise the test above proves nothing.
#[test]
fn script_that_is_not_sanitized_is_found_in_a_browser() {
    let Some(chromium) = chromium("HTML that is not sanitized in a browser") else { return };
    let pages = PAYLOADS[..3].iter().map(|payload| page(&String::from_utf8_lossy(payload), "", 2));
    for report in look_at(&chromium, pages.collect()) {
        assert_ne!(report["found"], json!([]), "{report}");
    }
}
