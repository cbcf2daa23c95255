use super::*;

fn key(predicate: Predicate) -> Vec<u8> {
    let mut key = Vec::new();
    write_predicate(&mut key, &predicate);
    key
}

fn range<T>(from: Option<Bound<T>>, to: Option<Bound<T>>) -> Range<T> {
    Range { from, to }
}

#[test]
fn only_equal_questions_share_a_key() {
    let text = |text: &str| Some(Bound::Included(text.to_owned()));
    let predicates = [
        Predicate::Null,
        Predicate::Equals("a".into()),
        Predicate::Equals("A".into()),
        Predicate::Has("a".into()),
        Predicate::Substring(Anchor::Anywhere, "a".into()),
        Predicate::Substring(Anchor::Anywhere, "ab".into()),
        Predicate::Substring(Anchor::Start, "a".into()),
        Predicate::Substring(Anchor::End, "a".into()),
        Predicate::Text(range(text("a"), None)),
        Predicate::Text(range(None, text("a"))),
        Predicate::Text(range(Some(Bound::Excluded("a".into())), None)),
        Predicate::Text(range(text("a"), text("b"))),
        Predicate::Text(range(text("ab"), text(""))),
        Predicate::Number(range(Some(Bound::Included(1.0)), None)),
        Predicate::Number(range(Some(Bound::Included(-1.0)), None)),
        Predicate::Instant(range(Some(Bound::Included(1)), None)),
        Predicate::Instant(range(Some(Bound::Included(2)), None)),
    ];
    let keys: std::collections::HashSet<_> = predicates.iter().cloned().map(key).collect();
    assert_eq!(keys.len(), predicates.len());
    assert_eq!(
        key(Predicate::Substring(Anchor::Start, "STRASSE".into())),
        key(Predicate::Substring(Anchor::Start, "straße".into()))
    );
}
