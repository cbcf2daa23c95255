//! What every Tantivy segment of a run has in common: its schema, settings and id. It knows no files.

use tantivy::IndexSettings;
use tantivy::index::SegmentId;
use tantivy::schema::{BytesOptions, Field, Schema};

/// The one field.
pub(super) const FIELD: Field = Field::from_field_id(0);

pub(super) fn schema() -> Schema {
    let mut schema = Schema::builder();
    schema.add_bytes_field("term", BytesOptions::default().set_indexed());
    schema.build()
}

pub(super) fn settings() -> IndexSettings {
    IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() }
}

/// Every run has its own folder, so all segments can have the same id.
pub(super) fn segment_id() -> SegmentId {
    SegmentId::from_uuid_string("00000000000000000000000000000000").expect("invariant: 32 hexadecimal digits")
}
