#![allow(clippy::unwrap_used)]

use cssparser::{ParseError, Parser, Token};
use proptest::prelude::*;

use super::style_sheet;

#[track_caller]
fn check(css: &str, expected: &str) {
    let once = style_sheet(css);
    assert_eq!(once, expected, "{css}");
    assert_eq!(style_sheet(&once), once, "again: {css}");
}

#[test]
fn a_clean_sheet_is_kept_as_written() {
    for css in [
        "",
        "p{color:red}",
        "/* a comment */ p > a:hover, .x::before { content: \"a\"; margin: 0 -1px; z-index: 2147483647 !important }",
        "@media (min-width: 600px) and (hover) { .a { width: calc(100% - 2 * var(--gap)); --empty: ; } }",
        "@keyframes in { from { opacity: 0 } 50.5% { opacity: .5 } to { opacity: 1 } }",
        ".card { color: #fff; &:hover { color: rgb(0 0 0 / 50%) } @media print { display: none } }",
        "@layer base, page;\n@supports (display: grid) { div { display: grid; grid-template-areas: \"a b\" } }",
        "html { scroll-behavior: smooth }",
        "a[href^='x'] { color: red } h1:not(.a):nth-child(2n + 1) {}",
        "@page { margin: 1cm }",
    ] {
        check(css, css);
    }
}

#[test]
fn what_loads_or_runs_is_dropped_and_the_rest_is_kept() {
    check("@import 'x.css'; p { color: red }", "p {\n  color: red;\n}\n");
    check("@charset \"utf-8\"; p { color: red }", "p {\n  color: red;\n}\n");
    check("@namespace x url(y); p { color: red }", "p {\n  color: red;\n}\n");
    check("@font-face { font-family: x; src: url(y) } p { color: red }", "p {\n  color: red;\n}\n");
    check("p { background: url(x); color: red }", "p {\n  color: red;\n}\n");
    check("p { background: url(\"x\"); color: red }", "p {\n  color: red;\n}\n");
    check("p { background: URL( 'x' ); color: red }", "p {\n  color: red;\n}\n");
    check("p { background: u\\72l(x); color: red }", "p {\n  color: red;\n}\n");
    check("p { background: image-set('x' 1x); color: red }", "p {\n  color: red;\n}\n");
    check("p { width: expression(alert(1)); color: red }", "p {\n  color: red;\n}\n");
    check("p { width: e\\78pression(alert(1)); color: red }", "p {\n  color: red;\n}\n");
    check("p { width: ex/**/pression(alert(1)); color: <b> }", "p {\n  width: ex pression(alert(1));\n}\n");
    check("p { width: expression/**/(alert(1)); --x: behavior; color: red }", "p {\n  color: red;\n}\n");
    check("p { content: \"url(x)\"; color: red } [title='URL('] { margin: 0 }", "p {\n  color: red;\n}\n");
    check("/* url(x) */ p { color: red }", "p {\n  color: red;\n}\n");
    check("p { background: \\75\\72\\6c(x); \\62 ehavior: x; color: red }", "p {\n  color: red;\n}\n");
    check("p { behavior: x; -moz-binding: y; BEHAVIOR: z; color: red }", "p {\n  color: red;\n}\n");
    check(
        "@media print { p { background: url(x) } q { color: red } }",
        "@media print {\n  p {\n  }\n  q {\n    color: red;\n  }\n}\n",
    );
}

#[test]
fn invalid_rules_are_dropped() {
    check("p { color: red } } q { color: blue }", "p {\n  color: red;\n}\n");
    check("nonsense", "");
    check("{ color: red } p { color: red }", "p {\n  color: red;\n}\n");
    check("p { color }", "p {\n}\n");
    check("p { color: ; margin: 0 }", "p {\n  margin: 0;\n}\n");
    check("p { color: red", "p {\n  color: red;\n}\n");
    check("p { content: \"x", "p {\n  content: \"x\";\n}\n");
    check("a, { color: red }", "");
    check("@unknown x { p { color: red } }", "");
    check("@media (a", "");
}

#[test]
fn the_result_never_contains_an_end_tag() {
    for css in [
        "p { content: \"</style><script>alert(1)</script>\" }",
        "p { content: '</STYLE>' }",
        "</style><script>alert(1)</script> p { color: red }",
        "<!-- p { color: red } -->",
        "p { color: red } /* </style> */",
        ".\\<\\/style { color: red }",
        "[title=\"</style\"] { color: red }",
        "@media (width </style) { p { color: red } }",
        "@media (400px < width) { p { margin: 0 } }",
        "p { --x: </style }",
        "p { margin: 1\\</style }",
    ] {
        let once = style_sheet(css);
        assert!(!once.to_lowercase().contains("</"), "{css} gave {once}");
        assert_eq!(style_sheet(&once), once, "again: {css}");
    }
    check("p { content: \"\\\\<b>\" }", "p {\n  content: \"\\\\\\3c b>\";\n}\n");
    check("@page { color: red \\ }", "@page {\n  color: red \\ ;\n}\n");
    check("\\00001.5e3 { margin: 0 }", "\\1  .5e3 {\n  margin: 0;\n}\n");
    check("\\-->a { margin: 0 }", "-- >a {\n  margin: 0;\n}\n");
    check("p { content: \"<b>\" }", "p {\n  content: \"\\3c b>\";\n}\n");
}

#[test]
fn hostile_nesting_is_dropped() {
    for css in ["p{".repeat(50_000), "@media x{".repeat(50_000), format!("p{{width:{}", "calc(".repeat(50_000))] {
        let once = style_sheet(&css);
        assert_eq!(style_sheet(&once), once);
    }
}

const LOADING_FUNCTIONS: [&str; 9] = [
    "url",
    "src",
    "image",
    "image-set",
    "-webkit-image-set",
    "cross-fade",
    "-webkit-cross-fade",
    "url-prefix",
    "expression",
];

const AT_RULES: [&str; 9] =
    ["container", "keyframes", "-webkit-keyframes", "layer", "media", "page", "scope", "starting-style", "supports"];

/// Reads the result token by token, as a browser does, and asserts that nothing in it loads or runs something.
fn assert_harmless(css: &str) {
    let lower = css.to_ascii_lowercase();
    for text in ["</", "<!--", "url(", "expression(", "@import"] {
        assert!(!lower.contains(text), "`{text}` in {css}");
    }
    let mut parser = Parser::new(css);
    assert_harmless_tokens(&mut parser, css);
}

fn assert_harmless_tokens(parser: &mut Parser<'_>, css: &str) {
    let mut name: Option<String> = None;
    let mut begins = true;
    while let Ok(token) = parser.next().cloned() {
        if let Some(declared) = name.take().filter(|_| matches!(token, Token::Colon)) {
            let is_forbidden = ["behavior", "-ms-behavior", "-moz-binding"].contains(&declared.as_str());
            assert!(!is_forbidden, "{declared} is declared in {css}");
        }
        let could_declare =
            std::mem::replace(&mut begins, matches!(token, Token::Semicolon | Token::CurlyBracketBlock));
        match &token {
            Token::UnquotedUrl(_) | Token::BadUrl(_) | Token::BadString(_) | Token::CDO | Token::CDC => {
                panic!("{token:?} in {css}")
            }
            Token::Function(name) => {
                assert!(!LOADING_FUNCTIONS.contains(&name.to_ascii_lowercase().as_str()), "{name}() in {css}");
            }
            Token::AtKeyword(name) => {
                assert!(AT_RULES.contains(&name.to_ascii_lowercase().as_str()), "@{name} in {css}");
            }
            Token::Ident(ident) if could_declare => name = Some(ident.to_ascii_lowercase()),
            _ => {}
        }
        let opens = matches!(
            token,
            Token::Function(_) | Token::ParenthesisBlock | Token::SquareBracketBlock | Token::CurlyBracketBlock
        );
        if opens {
            let inside = parser.parse_nested_block(|inner| -> Result<(), ParseError<()>> {
                assert_harmless_tokens(inner, css);
                Ok(())
            });
            inside.unwrap();
        }
    }
}

fn check_harmless(css: &str) {
    let once = style_sheet(css);
    assert_eq!(style_sheet(&once), once, "again: {css}");
    assert_harmless(&once);
}

const PIECES: [&str; 60] = [
    "p",
    ".a",
    "#b",
    "{",
    "}",
    "color",
    ":",
    ";",
    "red",
    "url(",
    "\"",
    "'",
    "</style>",
    "<",
    "\\",
    "/*",
    "*/",
    "@media",
    "@import",
    "@layer",
    "(",
    ")",
    "[",
    "]",
    "1",
    "1.5e3",
    "-",
    "+",
    "px",
    ",",
    " ",
    "\n",
    "expression(",
    "--x",
    "!",
    "important",
    "é",
    "<!--",
    "-->",
    "&",
    ">",
    "=",
    "#",
    "%",
    "u+0-7f",
    ".",
    "\0",
    "</STYLE",
    "\\3c/style",
    "u\\72l(",
    "@font-face",
    "@charset \"x\";",
    "@\\69mport 'x';",
    "\\0000",
    "\r\n",
    "\u{c}",
    "\u{feff}",
    "url/**/(",
    "@supports",
    "}}",
];

const DECLARATIONS: [&str; 30] = [
    "color: red",
    "background: url(x)",
    "background: URL( \"x\" )",
    "background: u\\72l(x)",
    "background: \\75 rl(x)",
    "background: url\\28 x)",
    "background: image-set('x' 1x)",
    "background: -webkit-image-set(url(x) 1x)",
    "background: image(\"x\")",
    "background: src('x')",
    "cursor: url(x), auto",
    "width: expression(alert(1))",
    "width: e\\78 pression(1)",
    "width: expr/**/ession(1)",
    "width: expression /**/ (1)",
    "behavior: url(x.htc)",
    "behavior: x",
    "be\\68 avior: x",
    "BEHAVIOR : x",
    "-ms-behavior: x",
    "-moz-binding: x",
    "-moz-bindin\\67: x",
    "--x: url(x)",
    "--x: { behavior: x }",
    "content: \"</style><script>\"",
    "content: '\\3c/style>'",
    "content: \"\\\n\"",
    "background: url(x",
    "grid: [a] url(x) [b]",
    "width: calc(1px + expression(1))",
];

/// Generates complete and cut-off rules and declarations that load or run something, among pieces in any order.
fn hostile() -> impl Strategy<Value = String> {
    let declaration = prop::sample::select(&DECLARATIONS[..]);
    let block = prop::collection::vec(declaration, 0..4).prop_map(|all| all.join(";"));
    let leaf = prop_oneof![2 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned), 1 => block.clone()];
    let heads = vec![
        "p",
        "a:hover",
        "[title=\"</style\"]",
        "@media print",
        "@media (width < </style)",
        "@import url(x)",
        "@font-face",
        "@supports (background: url(x))",
        "@document url(x)",
        "@namespace x",
        "@keyframes k",
        "@page",
        "@-moz-document url()",
        "@layer a",
        "@property --x",
        "&",
        ".\\</style",
        "@container x (min-width: 1px)",
        "@scope (.a)",
        "@charset 'x'",
        "behavior",
        "@counter-style x",
        "@view-transition",
    ];
    let tree = leaf.prop_recursive(4, 24, 4, move |inner| {
        let content = prop::collection::vec(inner, 0..4).prop_map(|pieces| pieces.join(" "));
        (prop::sample::select(heads.clone()), content).prop_map(|(head, content)| format!("{head} {{ {content} }}"))
    });
    prop::collection::vec(tree, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn nothing_in_the_result_loads_or_runs(css in hostile()) {
        check_harmless(&css);
    }

    #[test]
    fn pieces_in_any_order_leave_nothing_that_loads_or_runs_something(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..24),
    ) {
        check_harmless(&pieces.concat());
    }
}

#[test]
fn the_test_itself_finds_forbidden_css() {
    for css in
        ["p{a:url(x)}", "p{a:u\\72l(x)}", "p{behavior:x}", "@import 'x';", "p{a:'</style'}", "p{a:e\\78 pression(1)}"]
    {
        assert!(std::panic::catch_unwind(|| assert_harmless(css)).is_err(), "{css}");
    }
}
