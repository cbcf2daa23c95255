//! Field types whose values are a single string (`API.md` 2.4).

use serde_json::{Value, json};

use super::{Case, becomes, check, everything, kept, rejected};
use crate::support::Server;

#[test]
fn text_slugs_and_emails_accept_only_valid_values() {
    let server = Server::start();
    everything(&server);
    let mut cases = vec![
        kept("text", "plain"),
        kept("text", ""),
        kept("text", " kept as it is \n\t\u{0}"),
        kept("text", "<b>no html</b> & \"quotes\" \\ é 漢 🦀"),
        kept("text", "x".repeat(65_536)),
        kept("text", "🦀".repeat(65_536)),
        rejected("text", "x".repeat(65_537)),
        rejected("text", 1),
        rejected("text", true),
        rejected("text", json!([])),
        rejected("text", json!({})),
        kept("text", Value::Null),
        kept("slug", "a"),
        kept("slug", "straße/über-uns_1.2~x"),
        kept("slug", "日本語"),
        kept("slug", "हिन्दी"),
        kept("slug", "UPPER"),
        kept("slug", "/leading/and/trailing/"),
        kept("slug", "x".repeat(255)),
        rejected("slug", "x".repeat(256)),
        rejected("slug", ""),
        rejected("slug", "two words"),
        rejected("slug", "a?b"),
        rejected("slug", "a%20b"),
        rejected("slug", "🦀"),
        rejected("slug", 5),
    ];
    for address in ["ada@example.org", "a.b+c@sub.example.co.uk", "a@localhost", "!#$%&'*+/=?^_`{|}~-@x.y", ".a.@b"] {
        cases.push(kept("email", address));
    }
    for address in [
        "",
        "ada",
        "@example.org",
        "ada@",
        "ada@-x.org",
        "ada@x-.org",
        "a b@x.org",
        "ada@x..org",
        "ada@exämple.org",
        "Ada <ada@example.org>",
        "a@b,c@d",
        "a@b@c",
        " a@b.c",
        "a@b.c\n",
    ] {
        cases.push(rejected("email", address));
    }
    cases.push(kept(
        "email",
        format!("{}@{}.{}.{}.org", "a".repeat(64), "b".repeat(63), "c".repeat(60), "d".repeat(59)),
    ));
    cases.push(rejected(
        "email",
        format!("{}@{}.{}.{}.org", "a".repeat(65), "b".repeat(63), "c".repeat(60), "d".repeat(60)),
    ));
    cases.push(rejected("email", 1));
    check(&server, cases);
}

#[test]
fn links_images_files_and_colors_accept_only_valid_values() {
    let server = Server::start();
    everything(&server);
    let mut cases = Vec::new();
    for field in ["link", "image", "file"] {
        for url in [
            "https://example.org",
            "http://example.org:8080/a?b=c#d",
            "HTTPS://EXAMPLE.org/ü",
            "/path",
            "/",
            "/a?b#c",
            "https://user:pw@example.org/",
            "http://[::1]/x",
            "http://127.0.0.1/",
            "https://xn--bcher-kva.example/",
        ] {
            cases.push(kept(field, url));
        }
        for url in [
            "",
            "example.org",
            "//example.org/x",
            "javascript:alert(1)",
            "data:text/html,x",
            "ftp://example.org",
            "https://",
            "https:///path",
            "https:example.org",
            "http:/example.org",
            " https://example.org",
            "https://example.org/a b",
            "https://example.org\\x",
            "/a\\b",
            "/a b",
            "/a\tb",
            "/\u{7f}",
            "#top",
            "./x",
            "../x",
            "?q",
            "https://exa mple.org",
            "vbscript:x",
            "https://example.org:99999/",
            "java\nscript:alert(1)",
        ] {
            cases.push(rejected(field, url));
        }
        cases.push(rejected(field, 1));
    }
    for url in ["mailto:ada@example.org", "tel:+49123", "MAILTO:a@b.c"] {
        cases.extend([kept("link", url), rejected("image", url), rejected("file", url)]);
    }
    cases.extend([rejected("link", "mailto:"), rejected("link", "tel:")]);
    cases.extend(["#fff", "#FFFA", "#a1b2c3", "#A1B2C3d4"].map(|color| kept("color", color)));
    cases.extend(
        ["", "fff", "#ff", "#fffff", "#fffffff", "#ggg", "red", "rgb(0,0,0)", "#fff ", "#ffffff00f", "##fff"]
            .map(|color| rejected("color", color)),
    );
    cases.push(rejected("color", 0xffffff));
    check(&server, cases);
}

#[test]
fn dates_and_timestamps_accept_only_valid_values() {
    let server = Server::start();
    everything(&server);
    let mut cases = Vec::new();
    for date in ["2026-01-31", "0001-01-01", "9999-12-31", "2024-02-29", "2000-02-29"] {
        cases.push(kept("date", date));
    }
    for date in [
        "",
        "2026-02-29",
        "1900-02-29",
        "2026-13-01",
        "2026-00-10",
        "2026-01-00",
        "2026-1-1",
        "0000-01-01",
        "10000-01-01",
        "2026-01-31T00:00:00Z",
        "20260131",
        "31.01.2026",
        "2026/01/31",
        " 2026-01-31",
        "2026-01-3１",
    ] {
        cases.push(rejected("date", date));
    }
    cases.push(rejected("date", 20260131));
    for time in [
        "2026-11-20T20:42:31Z",
        "2026-11-20T20:42:31.1+02:00",
        "2026-11-20T20:42:31.123456-05:30",
        "2026-11-20t20:42:31z",
        "2026-11-20T20:42Z",
        "2026-11-20T20:42:31",
        "2026-11-20T20:42",
        "2026-11-20",
        "2026-11-20T20:42:31+02",
        "2026-11-20T20:42:31+0200",
        "2026-11-20T00:00:00.000000Z",
        "2026-11-20T20:42:31-00:00",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999Z",
    ] {
        cases.push(kept("datetime", time));
    }
    for time in [
        "",
        "2026-11-20 20:42:31Z",
        "2026-11-20T20:42:60Z",
        "2026-11-20T24:00:00Z",
        "2026-11-20T20:60:00Z",
        "2026-11-20T20:42:31.Z",
        "2026-11-20T20:42:31.1234567Z",
        "2026-11-20T20:42:31+24:00",
        "2026-11-20T20:42:31+2:00",
        "2026-02-30T00:00:00Z",
        "2026-11-20T",
        "2026-11-20T20",
        "2026-11-20T20Z",
        "2026-11-20T20:42:31 Z",
        "now",
        "2026-W47-5",
        "2026-11-20T20:42:31Zjunk",
        "2026-11-20T20:42:31,5Z",
        "2026-11-20Z",
        "2026-11",
        "1795207351",
    ] {
        cases.push(rejected("datetime", time));
    }
    cases.push(rejected("datetime", 1_795_207_351));
    check(&server, cases);
}

#[test]
fn rich_text_is_sanitized() {
    let server = Server::start();
    everything(&server);
    let mut cases: Vec<Case> = [
        "<p>one <strong>two</strong> <em>three</em></p>",
        "<h1>a</h1><ul><li>b</li></ul><blockquote>c</blockquote><pre><code>d</code></pre>",
        "<img src=\"https://example.org/a.png\" alt=\"a\">",
        "<table><tbody><tr><td colspan=\"2\">x</td></tr></tbody></table>",
        "<figure><img src=\"/a.png\"><figcaption>x</figcaption></figure>",
        "<iframe src=\"https://www.youtube.com/embed/x\"></iframe>",
        "<iframe src=\"https://player.vimeo.com/video/1\"></iframe>",
        "",
        "plain &amp; simple",
    ]
    .into_iter()
    .map(|html| kept("rich-text", html))
    .collect();
    for (sent, answered) in [
        ("<p onclick=\"x()\">a</p>", "<p>a</p>"),
        ("a<script>alert(1)</script>b", "ab"),
        ("<style>p{}</style>x", "x"),
        ("<a href=\"javascript:alert(1)\">x</a>", "<a rel=\"noopener noreferrer\">x</a>"),
        ("<a href=\"https://example.org\">x</a>", "<a href=\"https://example.org\" rel=\"noopener noreferrer\">x</a>"),
        ("<img src=\"data:image/png;base64,x\">", "<img>"),
        ("<form><input><b>x</b></form>", "<b>x</b>"),
        ("<p style=\"color:red\">x</p>", "<p>x</p>"),
        ("<iframe src=\"https://evil.example/x\">in</iframe>x", "x"),
        ("<iframe src=\"http://www.youtube.com/embed/x\"></iframe>x", "x"),
        ("<video src=\"https://e.org/v.mp4\" autoplay></video>", "<video src=\"https://e.org/v.mp4\"></video>"),
        ("<custom>x</custom>", "x"),
        ("<p>unclosed", "<p>unclosed</p>"),
        ("a < b", "a &lt; b"),
        ("<svg><script>x</script></svg>y", "y"),
    ] {
        cases.push(becomes("rich-text", sent, answered));
    }
    cases.extend([
        rejected("rich-text", 1),
        rejected("rich-text", json!({})),
        rejected("rich-text", "x".repeat((1 << 20) + 1)),
        // Sanitizing escapes `&`, so the result would be too large to be sent back.
        rejected("rich-text", "a & b ".repeat(160_000)),
    ]);
    cases.push(kept("rich-text", "x".repeat(1 << 20)));
    check(&server, cases);
}
