#![allow(clippy::unwrap_used)]

use super::*;

fn nested(levels: usize) -> String {
    format!("{}{}{}", "[{\"a\":".repeat(levels / 2), "1", "}]".repeat(levels / 2))
}

#[track_caller]
fn rejects(body: &[u8], part: &str) {
    let error = parse(body).unwrap_err();
    assert_eq!(error.code, Code::MalformedJson);
    assert!(error.message.contains(part), "{} lacks {part}", error.message);
    assert!(error.message.contains("(line "), "{}", error.message);
}

#[test]
fn every_kind_of_malformed_body_is_reported_with_line_and_column() {
    rejects(b"", "it is empty; send a JSON value (line 1, column 1)");
    rejects(b" \n\t", "it is empty");
    rejects(b"{\"a\": nope}", "(line 1, column 8)");
    rejects(b"{\"a\": 1,}", "trailing comma");
    rejects(b"{\"a\": 1} x", "there is more text after the value (line 1, column 10)");
    rejects(b"1 2", "there is more text after the value");
    rejects(b"{\"a\": ", "it ends in the middle of a value");
    rejects(b"\"abc", "it ends in the middle of a value");
    rejects(b"\"\xff\"", "it is not valid UTF-8");
    rejects(b"\xef\xbb\xbf{}", "byte order mark");
    rejects("{}\u{feff}".as_bytes(), "there is more text after the value");
    rejects(br#""\ud800""#, "only half of a surrogate pair");
    rejects(br#""\ud800x""#, "only half of a surrogate pair");
    rejects(br#""\udc00""#, "only half of a surrogate pair");
    rejects(br#"{"\ud800\ud800": 1}"#, "only half of a surrogate pair");
    rejects(b"01", "line 1");
    rejects(b"+1", "line 1");
    rejects(b"NaN", "line 1");
    rejects(b"\"a\nb\"", "control character");
    rejects(b"'a'", "line 1");
    rejects(b"[1 /* two */]", "line 1");
}

#[test]
fn numbers_beyond_the_range_of_a_double_are_clamped() {
    let parsed = parse(br#"{"a":1e400,"-1e400":[-12E+999,"1e400\"",1e-999,0e999,4]}"#).unwrap();
    assert_eq!(parsed.to_string(), r#"{"a":1e+308,"-1e400":[-1e+308,"1e400\"",0.0,0.0,4]}"#);
    rejects(b"[1e400,01]", "line 1, column");
    rejects(b"[1e400", "it ends in the middle of a value");
    rejects(b"1e400e", "line 1");
}

#[test]
fn columns_are_counted_in_characters() {
    rejects("{\"ä\": 1,\n \"öö\": x}".as_bytes(), "(line 2, column 8)");
}

#[test]
fn a_duplicate_key_is_named_at_any_depth() {
    rejects(b"{\"a\": 1, \"b\": {\"c\": 1, \"d\": 2, \"c\": 3}}", "the key `c` appears twice");
    rejects(br#"{"a": 1, "\u0061": 2}"#, "the key `a` appears twice");
    assert!(parse(b"{\"a\": {\"a\": 1}, \"b\": {\"a\": 1}}").is_ok());
}

#[test]
fn at_most_64_levels_are_accepted() {
    assert!(parse(nested(64).as_bytes()).is_ok());
    rejects(format!("[{}]", nested(64)).as_bytes(), "nested deeper than 64 levels");
    rejects("[".repeat(1_000_000).as_bytes(), "nested deeper than 64 levels");
    rejects("{\"a\":".repeat(1_000_000).as_bytes(), "nested deeper than 64 levels");
}

#[test]
fn the_value_under_a_deep_key_may_have_64_levels_of_its_own() {
    let under = |key: &str, levels: usize| format!("{{\"a\":1,\"{key}\":{}}}", nested(levels));
    let parse_deep = |text: String| parse_with_deep_key(text.as_bytes(), "deep");
    assert!(parse_deep(under("deep", 64)).is_ok() && parse_deep(under("other", 62)).is_ok());
    for text in [under("deep", 66), under("other", 64), format!("[{}]", under("deep", 64))] {
        let error = parse_deep(text).unwrap_err();
        assert!(error.message.contains("nested deeper than 64 levels"), "{}", error.message);
    }
    assert_eq!(parse(under("deep", 64).as_bytes()).unwrap_err().code, Code::MalformedJson);
    // The values at the deepest level count, and so do those behind them.
    let (open, close, many) = ("[".repeat(63), "]".repeat(63), "0,".repeat(MAX_VALUES));
    let text = format!("{{\"deep\":{open}[0,0]{close},\"a\":[{many}0]}}");
    assert_eq!(parse_deep(text).unwrap_err().code, Code::PayloadTooLarge);
}

#[test]
fn keys_keep_their_order_and_values_are_exact() {
    let body = r#"{"z":1,"a":[true,null,-2,0.1,1e-7,12345678901234567890],"$serde_json::private::RawValue":"x","ü":"\ud83d\ude00"}"#;
    let value = parse(body.as_bytes()).unwrap();
    let expected = body.replace("\\ud83d\\ude00", "😀");
    assert_eq!(value.to_string(), expected);
    for text in ["0.1", "123456789.12345678", "5e-324", "1.7976931348623157e308", "2.2250738585072011e-308"] {
        let value = parse(text.as_bytes()).unwrap();
        assert_eq!(value.as_f64().unwrap().to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
    }
}

#[test]
fn values_are_counted_without_parsing() {
    for (text, count) in [
        ("1", 1),
        ("[]", 1),
        ("[ ]", 1),
        ("{\n}", 1),
        ("[1, 2]", 3),
        ("[[],{},[{}]]", 5),
        (r#"{"a":[{},{}],"b":"x,y[{"}"#, 5),
        (r#"["\\",",[\"{",3]"#, 4),
        (r#""unended, ["#, 1),
    ] {
        assert_eq!(count_values(text.as_bytes()), count, "{text}");
    }
}

#[test]
fn more_values_than_the_limit_are_too_many_before_anything_is_parsed() {
    let elements = |count: usize| format!("[{}0]", "{},".repeat(count - 1));
    assert!(parse(elements(MAX_VALUES - 1).as_bytes()).is_ok());
    let error = parse(elements(MAX_VALUES).as_bytes()).unwrap_err();
    assert_eq!(error.code, Code::PayloadTooLarge);
    assert_eq!(error.message, "the body has 500001 values; the limit is 500000; send it in parts");
}
