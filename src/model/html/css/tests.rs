use super::*;

#[track_caller]
fn check(css: &str, expected: &str) {
    let once = sanitize(css);
    assert_eq!(once, expected, "{css}");
    assert_eq!(sanitize(&once), once, "again: {css}");
}

#[test]
fn a_clean_sheet_stays_as_it_was_written() {
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
fn what_loads_or_runs_goes_and_the_rest_stays() {
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
    check("p { behavior: x; -moz-binding: y; BEHAVIOR: z; color: red }", "p {\n  color: red;\n}\n");
    check(
        "@media print { p { background: url(x) } q { color: red } }",
        "@media print {\n  p {\n  }\n  q {\n    color: red;\n  }\n}\n",
    );
}

#[test]
fn what_is_no_rule_goes() {
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
fn no_end_tag_ever_stands_in_what_comes_out() {
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
        let once = sanitize(css);
        assert!(!once.to_lowercase().contains("</"), "{css} gave {once}");
        assert_eq!(sanitize(&once), once, "again: {css}");
    }
    check("p { content: \"<b>\" }", "p {\n  content: \"\\3c b>\";\n}\n");
}

#[test]
fn hostile_nesting_is_cut() {
    for css in ["p{".repeat(50_000), "@media x{".repeat(50_000), format!("p{{width:{}", "calc(".repeat(50_000))] {
        let once = sanitize(&css);
        assert_eq!(sanitize(&once), once);
    }
}

proptest::proptest! {
    #[test]
    fn sanitising_again_changes_nothing(css in proptest::collection::vec(proptest::sample::select(vec![
        "p", ".a", "#b", "{", "}", "color", ":", ";", "red", "url(", "\"", "'", "</style>", "<", "\\", "/*", "*/", "@media",
        "@import", "@layer", "(", ")", "[", "]", "1", "1.5e3", "-", "+", "px", ",", " ", "\n", "expression(", "behavior",
        "--x", "!", "important", "é", "<!--", "-->", "&", ">", "=", "#", "%", "u+0-7f", ".", "\0",
    ]), 0..24)) {
        let once = sanitize(&css.concat());
        proptest::prop_assert_eq!(&sanitize(&once), &once);
        proptest::prop_assert!(!once.to_lowercase().contains("</"), "{}", once);
    }
}
