//! What every Tantivy segment of a run has in common: its schema, settings and id. It knows no files.

use tantivy::IndexSettings;
use tantivy::index::SegmentId;
use tantivy::schema::{BytesOptions, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};

/// One of the two lists of terms of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TermList {
    /// Their posting lists hold documents.
    Plain = 0,
    /// Their posting lists also hold how often each document has the term.
    Counted = 1,
}

impl TermList {
    /// Both, in the order of their numbers.
    pub(crate) const ALL: [TermList; 2] = [TermList::Plain, TermList::Counted];

    pub(super) fn field(self) -> Field {
        Field::from_field_id(self as u32)
    }

    /// What its posting lists hold.
    pub(super) fn record(self) -> IndexRecordOption {
        match self {
            TermList::Plain => IndexRecordOption::Basic,
            TermList::Counted => IndexRecordOption::WithFreqs,
        }
    }
}

pub(super) fn schema() -> Schema {
    let mut schema = Schema::builder();
    schema.add_bytes_field("plain", BytesOptions::default().set_indexed());
    let counted = TextFieldIndexing::default().set_index_option(IndexRecordOption::WithFreqs).set_fieldnorms(false);
    schema.add_text_field("counted", TextOptions::default().set_indexing_options(counted));
    schema.build()
}

pub(super) fn settings() -> IndexSettings {
    IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() }
}

/// Every run has its own folder, so all segments can have the same id.
pub(super) fn segment_id() -> SegmentId {
    SegmentId::from_uuid_string("00000000000000000000000000000000").expect("invariant: 32 hexadecimal digits")
}
