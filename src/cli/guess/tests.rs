#![allow(clippy::unwrap_used)]

use super::*;

fn column(cells: &[&str]) -> Column {
    let mut column = Column::default();
    (2..).zip(cells).for_each(|(line, cell)| column.add(line, cell));
    column
}

#[test]
fn an_order_of_dates_is_guessed_only_if_one_fits() {
    let order = |cells: &[&str]| column(cells).order("Datum");
    assert_eq!(order(&["03.04.2025", "24.12.2025"]), Ok(Order::Dmy));
    assert_eq!(order(&["03/04/2025", "12/24/2025"]), Ok(Order::Mdy));
    assert_eq!(order(&["2025-04-03", "2025/12/04"]), Ok(Order::Dmy));
    assert_eq!(order(&["05.05.2025"]), Ok(Order::Dmy));
    let refused = order(&["", "05.05.2025", "03.04.2025"]).unwrap_err();
    assert!(refused.contains("`Datum` fit two orders, such as `03.04.2025` in line 4"), "{refused}");
    assert!(refused.contains("`--dates dmy` or `--dates mdy`"), "{refused}");
    assert!(order(&["24/12/2025", "12/24/2025"]).unwrap_err().contains("no order fits"));
}

#[test]
fn a_report_counts_and_shows_the_first_other_cell() {
    let prices = column(&["1.299,00 €", "485,90 EUR", "on request", "5 €", ""]);
    assert_eq!((prices.kind(), prices.decimal()), (Kind::Money, Some(Decimal::Comma)));
    assert_eq!(prices.report("Preis", Kind::Money, Order::Dmy), "Preis: 3 of 4 look like money; line 4 `on request`");
    let sizes = column(&["38", "40", "XL"]);
    assert_eq!(sizes.kind(), Kind::Text);
    assert_eq!(sizes.report("Größe", sizes.nearest_kind(), Order::Dmy), "Größe: 2 of 3 look like numbers; line 4 `XL`");
    let times = column(&["24.12.2025 10:00", "25.12.2025 00:00"]);
    assert_eq!(times.kind(), Kind::DateTime);
    assert_eq!(column(&["ja", "NEIN"]).kind(), Kind::Boolean);
    assert_eq!(column(&["1234567890123456"]).kind(), Kind::Text);
    assert_eq!(grouped(1_234_567), "1,234,567");
}
