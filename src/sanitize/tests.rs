#![allow(clippy::unwrap_used)]

mod corpus;
mod fixpoint;
mod hostile;
mod tree;

use super::finish::finish;
use super::html::builder;
use super::*;

#[track_caller]
fn rich(html: &str, expected: &str) {
    let sanitizer = Sanitizer::default();
    let once = sanitizer.rich_text(html).unwrap();
    assert_eq!(once, expected, "{html}");
    assert_eq!(sanitizer.rich_text(&once).unwrap(), once, "again: {html}");
}

#[test]
fn the_usual_formatting_is_kept() {
    for html in [
        "",
        "plain text, no markup: 1 + 1 = 2",
        "<h1 class=\"a\">A &amp; B</h1>\n<p>x <strong>y</strong> <em>z</em><br>&nbsp;</p>",
        "<a href=\"/docs?a=1&amp;b=2#x\" rel=\"noopener noreferrer\">in</a>",
        "<a href=\"mailto:a@b.c\" target=\"_blank\" rel=\"noopener noreferrer\">mail</a>",
        "<figure><img src=\"https://x.y/z.png\" alt=\"&lt;z&gt;\"><figcaption>c</figcaption></figure>",
        "<table><thead><tr><th scope=\"col\">a</th></tr></thead>\n<tbody><tr><td colspan=\"2\">b<p>c</p></td></tr></tbody></table>",
        "<ul><li><p>a</p><ul><li>b</li></ul></li></ul>",
        "<pre><code class=\"language-rust\">a &lt; b\n\n</code></pre>",
        "<pre>\n\nx</pre>",
        "<iframe src=\"https://www.youtube.com/embed/x\" width=\"560\" allowfullscreen=\"\"></iframe>",
        "<video controls=\"\"><source src=\"https://x.y/z.mp4\" type=\"video/mp4\"></video>",
        "<details open=\"\"><summary>s</summary>t</details>",
    ] {
        rich(html, html);
    }
}

#[test]
fn what_can_run_is_removed() {
    rich("a<script>alert(1)</script>b", "ab");
    rich("a<style>p{}</style>b", "ab");
    rich("<p onclick=\"x()\" style=\"color:red\">t</p>", "<p>t</p>");
    rich("<a href=\"javascript:alert(1)\">t</a>", "<a rel=\"noopener noreferrer\">t</a>");
    rich("<a href=\" java\nscript:alert(1)\">t</a>", "<a rel=\"noopener noreferrer\">t</a>");
    rich("<a href=\"javascript&colon;alert(1)\">t</a>", "<a rel=\"noopener noreferrer\">t</a>");
    rich("<a href=\"data:text/html,x\">t</a>", "<a rel=\"noopener noreferrer\">t</a>");
    rich("<img src=\"data:image/png;base64,AA\" onerror=x>", "<img>");
    rich("<blockquote cite=\"javascript:x\">t</blockquote>", "<blockquote>t</blockquote>");
    rich("<video poster=\"javascript:x\" src=\"data:x\">t</video>", "<video>t</video>");
    rich("<form action=x><input value=y>t<button>u</button></form>", "tu");
    rich("<svg><text>x</text><script>y</script></svg>z", "z");
    rich("<math><mi>x</mi></math>z", "z");
    rich("<object data=x>y</object><embed src=x>z", "z");
    rich("<template><b>x</b></template>z", "z");
    rich("<!-- c -->t<![CDATA[x]]>", "t");
    rich("<noscript><img src=x onerror=y></noscript>t", "&lt;img src=x onerror=y&gt;t");
}

#[test]
fn the_text_of_dropped_elements_is_kept() {
    rich("<article><section>a</section></article><custom-tag>b</custom-tag>", "ab");
    rich("<font color=red>a</font><center>b</center><textarea>c<b></textarea>", "abc&lt;b&gt;");
}

#[test]
fn frames_show_only_known_hosts_and_only_over_https() {
    let kept = "<iframe src=\"https://player.vimeo.com/video/1\"></iframe>";
    rich("<iframe src=https://player.vimeo.com/video/1>fallback</iframe>", kept);
    rich("<iframe srcdoc=\"<b>\" src=\"HTTPS://player.vimeo.com/video/1\"></iframe>", &kept.replace("https", "HTTPS"));
    for src in [
        "http://www.youtube.com/embed/x",
        "//www.youtube.com/embed/x",
        "https://www.youtube.com.evil.example/",
        "https://evil.example/www.youtube.com",
        "https://www.youtube.com@evil.example/",
        "https://user@www.youtube.com/",
        "https://www.youtube.com:444/",
        "https:www.youtube.com/../../media/evil.html",
        "https:/www.youtube.com/embed/x",
        "https:\\\\www.youtube.com/embed/x",
        "javascript:alert(1)",
        "/local",
        "",
    ] {
        rich(&format!("a<iframe src=\"{src}\" class=\"x\">inner <b>text</b></iframe>b"), "ab");
    }
    rich("a<iframe title=' src='>inner</iframe>b", "ab");
    rich("a<iframe>inner</iframe>b<iframe title=' src=\"https://vimeo.com/\"'>c", "ab");
    let own = Sanitizer::new(vec!["Video.Example".to_owned()]);
    assert_eq!(
        own.rich_text("<iframe src=https://video.example/1></iframe>").unwrap(),
        "<iframe src=\"https://video.example/1\"></iframe>"
    );
    assert_eq!(own.rich_text("<iframe src=https://vimeo.com/1></iframe>").unwrap(), "");
}

#[test]
fn pages_keep_layout_elements() {
    let sanitizer = Sanitizer::default();
    let page = "<header id=\"top\"><nav aria-label=\"Main\" role=\"navigation\">x</nav></header><main><section class=\"a\">y</section></main>";
    assert_eq!(sanitizer.page(page).unwrap(), page);
    assert_eq!(sanitizer.page("<div style=\"x\" onclick=\"y\"><style>z</style>t</div>").unwrap(), "<div>t</div>");
}

#[test]
fn empty_lines_at_the_beginning_of_pre_are_kept() {
    rich("<pre>\nx</pre>", "<pre>x</pre>");
    rich("<pre>\n\n\n\n\n\n\n\n\n\n\n\nx</pre>", "<pre>\n\n\n\n\n\n\n\n\n\n\n\nx</pre>");
    rich("<pre class=a>&#10;x</pre>", "<pre class=\"a\">\n\nx</pre>".replace("\n\nx", "x").as_str());
}

#[test]
fn markup_that_is_too_expensive_to_parse_is_rejected() {
    let sanitizer = Sanitizer::default();
    let rejects = |html: String, why: &str| {
        let error = sanitizer.rich_text(&html).unwrap_err();
        assert!(error.contains(why), "{error}");
    };
    rejects("<div>".repeat(100_000), "512 deep");
    rejects("<div></b>".repeat(100_000), "512 deep");
    rejects("<rt>".repeat(100_000), "512 deep");
    rejects("<RB></ruby>".repeat(100_000), "512 deep");
    rejects((0..300_000).map(|n| format!("<b a={n}>")).collect(), "512 deep");
    let attributes: String = (0..100_000).map(|n| format!(" a{n}")).collect();
    rejects(format!("<p{attributes}>"), "attributes");
    rejects(format!("<p x='>'{attributes}>"), "attributes");
    let formatting: String = (0..500).map(|n| format!("<b title={n}>")).collect();
    rejects(format!("<p>{formatting}{}", "<p>x".repeat(100_000)), "left open");
    assert!(sanitizer.rich_text(&"<ruby>x<rt>y</ruby><p>".repeat(2_000)).is_ok());
    let nested = format!("{}x{}", "<div>".repeat(300), "</div>".repeat(300));
    assert_eq!(sanitizer.rich_text(&nested).unwrap(), nested);
}

#[test]
fn text_content_separates_blocks_and_collapses_white_space() {
    for (html, text) in [
        ("", ""),
        ("  a\n\tb  ", "a b"),
        ("<p>a</p><p>b</p>", "a b"),
        ("a<b>b</b>c", "abc"),
        ("a<br>b<hr>c", "a b c"),
        ("a<span> </span>b", "a b"),
        ("<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>", "a b c"),
        ("<table><tbody><tr><td>a</td><td>b</td></tr></tbody></table>", "a b"),
        ("a &amp; b &lt;c&gt; &amp;lt; d&nbsp;&nbsp;e", "a & b <c> &lt; d e"),
        ("&nbsp;a\u{2003}b\u{3000}", "a b"),
        ("<img alt=\"x\" src=\"y\">a<a href=\"z\" rel=\"noopener noreferrer\">b</a>", "ab"),
        ("<dl><dt>a</dt><dd>b</dd></dl><figure>c<figcaption>d</figcaption></figure>", "a b c d"),
        ("a<nav>b</nav>c<section>d</section>", "abc d"),
        ("<pre>a\n  b</pre>", "a b"),
        ("a\u{200b}b", "a\u{200b}b"),
    ] {
        assert_eq!(text_content(html), text, "{html}");
    }
}

#[test]
fn one_sanitizer_is_shared_by_threads() {
    let sanitizer = Sanitizer::default();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(sanitizer.rich_text("<b>x").unwrap(), "<b>x</b>"));
        }
    });
}
