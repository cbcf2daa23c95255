#![allow(clippy::unwrap_used)]

use super::*;

fn nested(levels: usize) -> String {
    format!("{}{}{}", "[{\"a\":".repeat(levels / 2), "1", "}]".repeat(levels / 2))
}

#[track_caller]
fn refused(body: &[u8], part: &str) {
    let error = parse(body).unwrap_err();
    assert_eq!(error.code, Code::MalformedJson);
    assert!(error.message.contains(part), "{} lacks {part}", error.message);
    assert!(error.message.contains("(line "), "{}", error.message);
}

#[test]
fn every_kind_of_malformed_body_is_told_with_its_place() {
    refused(b"", "it is empty; send a JSON value (line 1, column 1)");
    refused(b" \n\t", "it is empty");
    refused(b"{\"a\": nope}", "(line 1, column 8)");
    refused(b"{\"a\": 1,}", "trailing comma");
    refused(b"{\"a\": 1} x", "something stands after the value (line 1, column 10)");
    refused(b"1 2", "something stands after the value");
    refused(b"{\"a\": ", "it ends in the middle of a value");
    refused(b"\"abc", "it ends in the middle of a value");
    refused(b"\"\xff\"", "it is not valid UTF-8");
    refused(b"\xef\xbb\xbf{}", "byte order mark");
    refused("{}\u{feff}".as_bytes(), "something stands after the value");
    refused(br#""\ud800""#, "half of a surrogate pair");
    refused(br#""\ud800x""#, "half of a surrogate pair");
    refused(br#""\udc00""#, "half of a surrogate pair");
    refused(br#"{"\ud800\ud800": 1}"#, "half of a surrogate pair");
    refused(b"01", "line 1");
    refused(b"+1", "line 1");
    refused(b"NaN", "line 1");
    refused(b"\"a\nb\"", "control character");
    refused(b"'a'", "line 1");
    refused(b"[1 /* two */]", "line 1");
}

#[test]
fn numbers_beyond_a_double_are_the_largest_that_there_is() {
    let parsed = parse(br#"{"a":1e400,"-1e400":[-12E+999,"1e400\"",1e-999,0e999,4]}"#).unwrap();
    assert_eq!(parsed.to_string(), r#"{"a":1e+308,"-1e400":[-1e+308,"1e400\"",0.0,0.0,4]}"#);
    refused(b"[1e400,01]", "line 1, column");
    refused(b"[1e400", "it ends in the middle of a value");
    refused(b"1e400e", "line 1");
}

#[test]
fn columns_count_characters() {
    refused("{\"ä\": 1,\n \"öö\": x}".as_bytes(), "(line 2, column 8)");
}

#[test]
fn a_key_given_twice_is_named_wherever_it_stands() {
    refused(b"{\"a\": 1, \"b\": {\"c\": 1, \"d\": 2, \"c\": 3}}", "the key `c` is given twice");
    refused(br#"{"a": 1, "\u0061": 2}"#, "the key `a` is given twice");
    assert!(parse(b"{\"a\": {\"a\": 1}, \"b\": {\"a\": 1}}").is_ok());
}

#[test]
fn sixty_four_levels_are_taken_and_no_more() {
    assert!(parse(nested(64).as_bytes()).is_ok());
    refused(format!("[{}]", nested(64)).as_bytes(), "nested deeper than 64 levels");
    refused("[".repeat(1_000_000).as_bytes(), "nested deeper than 64 levels");
    refused("{\"a\":".repeat(1_000_000).as_bytes(), "nested deeper than 64 levels");
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
