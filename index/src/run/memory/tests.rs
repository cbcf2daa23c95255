use super::*;

#[test]
fn a_document_returns_its_values_by_column() {
    let document = Document::new(7, vec![(9, Value::Bool(true)), (2, Value::Text("Straße".into()))]);
    assert!(matches!(document.value(9), ValueRef::Bool(true)));
    assert!(
        matches!(document.value(2), ValueRef::Text(text) if text.folded.get() == "strasse" && text.head() == "Straße")
    );
    assert!(document.value(3).is_null());
    assert_eq!(document.values().map(|(column, _)| column).collect::<Vec<_>>(), [2, 9]);
}

#[test]
fn a_run_accepts_documents_up_to_whole_chunks() {
    let run = MemoryRun::new(300, 4);
    let mut appended = 0;
    while run.append(Arc::new(Document::new(appended, Vec::new()))).is_ok() {
        appended += 1;
    }
    assert_eq!(appended, 512, "whole chunks");
    assert_eq!(run.len(), 512);
    assert_eq!(run.document(511).slot, 511);
}
