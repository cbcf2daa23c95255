#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn timestamps_are_read_in_every_accepted_form() {
    let cases = [
        ("2026-11-20T20:42:31.123456+00:00", "2026-11-20T20:42:31.123+00:00"),
        ("2026-11-20T20:42:31.1Z", "2026-11-20T20:42:31.100+00:00"),
        ("2026-11-20t20:42:31z", "2026-11-20T20:42:31.000+00:00"),
        ("2026-11-20T20:42", "2026-11-20T20:42:00.000+00:00"),
        ("2026-11-20T20:42Z", "2026-11-20T20:42:00.000+00:00"),
        ("2026-11-20T20:42+02", "2026-11-20T18:42:00.000+00:00"),
        ("2026-11-20T20:42:31+0230", "2026-11-20T18:12:31.000+00:00"),
        ("2026-11-20T20:42:31-02:00", "2026-11-20T22:42:31.000+00:00"),
        ("2026-11-20T20:42:31-00:00", "2026-11-20T20:42:31.000+00:00"),
        ("2026-11-20T23:59:59.999999-23:59", "2026-11-21T23:58:59.999+00:00"),
        ("2026-11-20", "2026-11-20T00:00:00.000+00:00"),
        ("2024-02-29", "2024-02-29T00:00:00.000+00:00"),
        ("2000-02-29", "2000-02-29T00:00:00.000+00:00"),
        ("0001-01-01", "0001-01-01T00:00:00.000+00:00"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999+00:00"),
        ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999+00:00"),
    ];
    for (text, written) in cases {
        let millis = parse_system_date(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(format_millis(millis), written, "{text}");
        assert_eq!(parse_instant(text).unwrap().micros.div_euclid(1000), millis, "{text}");
        assert_eq!(parse_system_date(written), Some(millis));
    }
}

#[test]
fn other_texts_are_rejected() {
    let cases = [
        "",
        " ",
        "2026",
        "2026-11",
        "2026-11-20 20:42:31",
        "2026-11-20T",
        "2026-11-20T20",
        "2026-11-20T20:42:60Z",
        "2026-11-20T24:00:00Z",
        "2026-11-20T20:60",
        "2026-11-20T20:42:31.Z",
        "2026-11-20T20:42:31,5Z",
        "2026-11-20T20:42.5Z",
        "2026-11-20T20:42:31+2",
        "2026-11-20T20:42:31+02:",
        "2026-11-20T20:42:31+02:0",
        "2026-11-20T20:42:31+24:00",
        "2026-11-20T20:42:31+02:60",
        "2026-11-20T20:42:31 +02:00",
        "2026-11-20T20:42:31ZZ",
        "2026-11-20Z",
        "2026-02-29",
        "1900-02-29",
        "2026-04-31",
        "2026-13-01",
        "2026-00-10",
        "2026-01-00",
        "0000-01-01",
        "10000-01-01",
        "+2026-11-20",
        "-2026-11-20",
        "2026-1-2",
        "20261120",
        "２０２６-11-20",
        " 2026-11-20",
        "2026-11-20 ",
        "2026-11-20T20:42:31Z\n",
    ];
    for text in cases {
        assert_eq!(parse_instant(text), None, "{text}");
        assert_eq!(parse_system_date(text), None, "{text}");
    }
}

#[test]
fn attributes_reject_more_than_six_fractional_digits_and_system_dates_cut_them() {
    let text = "2026-11-20T20:42:31.1239999999999999999999Z";
    assert_eq!(parse_instant(text), None);
    assert_eq!(format_millis(parse_system_date(text).unwrap()), "2026-11-20T20:42:31.123+00:00");
    let six = parse_instant("1970-01-01T00:00:00.000001Z").unwrap();
    assert_eq!(six.micros, 1);
}

#[test]
fn an_offset_may_move_an_attribute_but_not_a_system_date_out_of_the_calendar() {
    for text in ["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"] {
        assert!(parse_instant(text).is_some(), "{text}");
        assert_eq!(parse_system_date(text), None, "{text}");
    }
    assert!(parse_system_date("0001-01-01T00:01:00+00:01").is_some());
}

#[test]
fn parsing_a_formatted_date_returns_its_day_in_the_whole_calendar() {
    for days in (FIRST_DAY..=LAST_DAY).step_by(13).chain([FIRST_DAY, -1, 0, 1, LAST_DAY]) {
        assert_eq!(parse_date(&format_date(days)), Some(days));
    }
    assert_eq!(format_date(0), "1970-01-01");
    assert_eq!(format_date(FIRST_DAY), "0001-01-01");
    assert_eq!(format_date(LAST_DAY), "9999-12-31");
}

#[test]
fn days_begin_at_midnight_utc_also_before_1970() {
    let noon = parse_system_date("1969-12-30T12:00").unwrap();
    assert_eq!(format_millis(day_start(noon)), "1969-12-30T00:00:00.000+00:00");
    assert_eq!(format_millis(next_day_start(noon)), "1969-12-31T00:00:00.000+00:00");
    assert_eq!(day_start(day_start(noon)), day_start(noon));
    assert_eq!(format_date(day_number(noon)), "1969-12-30");
}
