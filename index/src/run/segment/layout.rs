//! What every Tantivy segment of a run has in common: its schema, settings, id and files. It knows no folder.

use std::path::PathBuf;

use tantivy::index::{SegmentComponent, SegmentId};
use tantivy::schema::{BytesOptions, Field, Schema};
use tantivy::{Index, IndexSettings};

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

/// The files of the segment that are on disk, relative to its folder.
pub(super) fn paths(index: &Index) -> [PathBuf; 3] {
    let segment = index.segment(index.new_segment_meta(segment_id(), 0));
    [SegmentComponent::Terms, SegmentComponent::Postings, SegmentComponent::Positions]
        .map(|component| segment.relative_path(component))
}
