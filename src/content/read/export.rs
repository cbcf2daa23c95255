//! Exports: writes everything that a query matches in one snapshot, in chunks and in constant memory (`API.md` 4.5.6).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_index::Interrupt;
use bindery_model::error::{Error, Result};
use bindery_model::id::ResourceId;
use bindery_query::{Copies, ExportParams, Format, RawParams, ResourceKey};
use bindery_store::Store;
use serde_json::{Map, Value};

use crate::data::lookup::import_key_at;
use crate::read::aggregate::aggregate;
use crate::read::expand::IncludedResources;
use crate::read::explain::Explanation;
use crate::read::resolve::Result as SearchResult;
use crate::read::resource::{Presentation, shown_versions, write_hit};
use crate::read::view::{View, ViewSearch};

/// The number of hits that are read from the index at once.
const CHUNK_RESOURCES: usize = 256;

/// The minimum size of a chunk, except for the last one and those that take longer than [`CHUNK_TIME`].
const CHUNK_BYTES: usize = 64 << 10;

/// The time after which a chunk ends. Searching long texts for highlights may take a second for one resource.
const CHUNK_TIME: Duration = Duration::from_millis(200);

/// An export in progress. Dropping it ends the export.
pub struct Export {
    view: View,
    params: Arc<ExportParams>,
    stream: bindery_index::Stream,
    /// The JSON text after the resources: other keys, each after a comma.
    end: String,
    explained: Option<Explanation>,
    /// Hits that are not written yet, in reverse order.
    pending: Vec<bindery_index::Hit>,
    position: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Begin,
    First,
    Rest,
    End,
}

/// The resources that an export writes.
struct FoundExport {
    stream: bindery_index::Stream,
    /// The related resources that were asked for, as a JSON array.
    included: Option<String>,
    /// The keys `facets` and `stats` of `meta`, if they were asked for.
    meta: Map<String, Value>,
}

impl Export {
    /// Starts an export of the resources that a query matches. `accept` is the `Accept` header.
    ///
    /// # Errors
    /// The errors of the parameters, `OVERLOADED` while the index is being rebuilt.
    pub fn begin(view: View, raw_query: &str, accept: Option<&str>) -> Result<Export> {
        let params = parameters(&view, &RawParams::parse(raw_query), accept)?;
        let found = view.search_at_length(&params.query, |searching| find(searching, &params, &view.store))?;
        Ok(Export::of(view, params, found, None))
    }

    /// Like [`Export::begin`], but limited to the time that a request may take.
    ///
    /// # Errors
    /// The errors of [`Export::begin`], and `OVERLOADED` if it takes too long or too many searches wait.
    pub async fn begin_in_time(view: View, raw_query: &str, accept: Option<&str>) -> Result<Export> {
        let raw = RawParams::parse(raw_query);
        let is_explained = view.explains(&raw)?;
        let params = parameters(&view, &raw, accept)?;
        let store = view.store.clone();
        let search = move |searching: &ViewSearch<'_>, params: &ExportParams| find(searching, params, &store);
        let (found, explained) = view.search(&params, 0, &params.aggregation, is_explained, search).await?;
        Ok(Export::of(view, params, found, explained))
    }

    fn of(view: View, params: Arc<ExportParams>, found: FoundExport, explained: Option<Explanation>) -> Export {
        let FoundExport { stream, included, mut meta } = found;
        let mut end = included.map_or_else(String::new, |included| format!(",\"included\":{included}"));
        if let Some(Explanation { steps, .. }) = &explained {
            meta.insert("explain".to_owned(), Value::Array(steps.clone()));
        }
        if !meta.is_empty() {
            end.push_str(&format!(",\"meta\":{}", Value::Object(meta)));
        }
        Export { view, params, stream, end, explained, pending: Vec::new(), position: Position::Begin }
    }

    /// Returns the explanation of the search, if it was asked for.
    pub fn explained(&self) -> Option<&Explanation> {
        self.explained.as_ref()
    }

    /// Returns the format of the export.
    pub fn format(&self) -> Format {
        self.params.format
    }

    /// Returns the next chunk, or `None` at the end.
    ///
    /// # Errors
    /// `INTERNAL` if the store fails.
    pub fn next_chunk(&mut self) -> Result<Option<Vec<u8>>> {
        if self.position == Position::End {
            return Ok(None);
        }
        let mut out = String::new();
        if self.position == Position::Begin {
            self.write_head(&mut out)?;
            self.position = Position::First;
        }
        let started = Instant::now();
        while out.len() < CHUNK_BYTES {
            // The server ends an export whose client has left, but only between chunks.
            if !out.is_empty() && started.elapsed() > CHUNK_TIME {
                break;
            }
            let Some(hit) = self.next_hit() else {
                if self.params.format == Format::Json {
                    out.push(']');
                    out.push_str(&self.end);
                    out.push('}');
                }
                self.position = Position::End;
                break;
            };
            if self.params.format == Format::Json && self.position == Position::Rest {
                out.push(',');
            }
            self.position = Position::Rest;
            self.write_hit(&mut out, &hit)?;
        }
        Ok(Some(out.into_bytes()))
    }

    fn next_hit(&mut self) -> Option<bindery_index::Hit> {
        if self.pending.is_empty() {
            self.pending = self.stream.next(CHUNK_RESOURCES);
            self.pending.reverse();
        }
        self.pending.pop()
    }

    fn write_head(&self, out: &mut String) -> Result<()> {
        match self.params.format {
            Format::Json => out.push_str("{\"data\":["),
            Format::Ndjson => {}
            Format::Csv => out.push_str(&self.csv_header()?),
        }
        Ok(())
    }

    fn write_hit(&self, out: &mut String, hit: &bindery_index::Hit) -> Result<()> {
        if self.params.all_variants {
            self.write_all_variants(out, hit)?;
        } else {
            let presentation = self.presentation(self.params.query.copies.variant);
            let (collection, never) = (&self.view.collection, Interrupt::never());
            if self.params.format == Format::Csv {
                let mut json = String::new();
                write_hit(&mut json, &self.view.store, collection, hit, &presentation, &never)?;
                out.push_str(&self.csv_record(&json)?);
                return Ok(());
            }
            write_hit(out, &self.view.store, collection, hit, &presentation, &never)?;
        }
        if self.params.format == Format::Ndjson {
            out.push('\n');
        }
        Ok(())
    }

    fn presentation(&self, variant: u16) -> Presentation {
        let ExportParams { fallback, selection, highlights, .. } = &*self.params;
        let shown = self.view.presentation(Copies { variant, fallback: *fallback }, selection);
        // No author names: an export can be imported again, so it is the same for every reader.
        Presentation { highlights: highlights.clone(), names: None, ..shown }
    }

    /// Writes a resource with all of its copies, and with its import key.
    fn write_all_variants(&self, out: &mut String, hit: &bindery_index::Hit) -> Result<()> {
        let collection = &self.view.collection;
        let blueprint = &collection.blueprint;
        let id = ResourceId::from_u128(hit.id);
        let mut json = String::new();
        let (store, never) = (&self.view.store, Interrupt::never());
        let presentation = self.presentation(self.params.query.copies.variant);
        write_hit(&mut json, store, collection, hit, &presentation, &never)?;
        let mut object: Map<String, Value> = serde_json::from_str(&json).map_err(Error::internal)?;
        if let Some(key) = import_key_at(&self.view.store, blueprint.number, id, hit.stamps.version)? {
            object.insert("key".to_owned(), Value::String(key));
        }
        let is_shown = self.params.selection.has(ResourceKey::Attributes);
        if is_shown && !blueprint.variants.is_empty() {
            object.shift_remove("attributes");
            let mut variants = Map::new();
            for variant in &blueprint.variants {
                if shown_versions(collection, hit, variant.number).iter().next().is_none() {
                    continue;
                }
                let mut copy = String::new();
                // Values of a fallback would become values of the variant when the export is imported.
                let own = Presentation { fallback: None, ..self.presentation(variant.number) };
                write_hit(&mut copy, store, collection, hit, &own, &never)?;
                let mut copy: Map<String, Value> = serde_json::from_str(&copy).map_err(Error::internal)?;
                if let Some(attributes) = copy.shift_remove("attributes") {
                    variants.insert(variant.slug.clone(), attributes);
                }
            }
            object.insert("variants".to_owned(), Value::Object(variants));
        }
        write!(out, "{}", Value::Object(object)).map_err(Error::internal)
    }

    /// Returns the selected keys that are CSV columns: `id`, `type` and the three dates, if selected.
    fn csv_keys(&self) -> impl Iterator<Item = &str> {
        self.params.selection.column_keys().map(|key| key.as_str())
    }

    /// Returns the slugs of the selected attributes, which are CSV columns.
    fn csv_slugs(&self) -> impl Iterator<Item = &str> {
        let fields = self.view.collection.blueprint.fields.iter();
        fields.filter(|field| self.params.selection.has_attribute(field.number)).map(|field| field.slug.as_str())
    }

    fn csv_header(&self) -> Result<String> {
        csv_row(self.csv_keys().chain(self.csv_slugs()))
    }

    fn csv_record(&self, json: &str) -> Result<String> {
        let object: Value = serde_json::from_str(json).map_err(Error::internal)?;
        let keys = self.csv_keys().map(|key| &object[key]);
        let values = keys.chain(self.csv_slugs().map(|slug| &object["attributes"][slug]));
        csv_row(values.map(csv_cell).map(|cell| if self.params.spreadsheet { spreadsheet_cell(cell) } else { cell }))
    }
}

fn parameters(view: &View, raw: &RawParams, accept: Option<&str>) -> Result<Arc<ExportParams>> {
    let related = |slug: &str| view.related(slug);
    ExportParams::parse(raw, accept, &view.collection.blueprint, &related, view.now, &view.steering()).map(Arc::new)
}

/// Finds the resources of an export, and the data answered beside them.
fn find(searching: &ViewSearch<'_>, params: &ExportParams, store: &Store) -> SearchResult<FoundExport> {
    let ExportParams { query, fallback, aggregation, expansion, .. } = params;
    let (collection, resolver) = (searching.collection, searching.resolver);
    let found = searching.find()?;
    let stream = searching.run(|snapshot, interrupt| snapshot.stream_of(&found, searching.query, interrupt))?;
    let mut written = None;
    if !expansion.is_empty() {
        let mut included = IncludedResources::new(resolver, store, expansion);
        let copies = query.copies.answered_with(*fallback);
        let mut rest = stream.clone();
        loop {
            let hits = rest.next(CHUNK_RESOURCES);
            if hits.is_empty() {
                break;
            }
            hits.into_iter().try_for_each(|hit| included.add(collection, copies, hit))?;
        }
        written = Some(included.finish());
    }
    let meta = match aggregation.is_empty() {
        true => Map::new(),
        false => aggregate(resolver, collection, query, aggregation, &found)?,
    };
    Ok(FoundExport { stream, included: written, meta })
}

/// Formats a value as a CSV cell: text unchanged, numbers as in filters, objects and arrays as JSON, and null as the
/// empty string.
fn csv_cell(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        Value::Number(number) => match number.as_f64() {
            Some(double) => Cow::Owned(ryu_js::Buffer::new().format(double).to_owned()),
            None => Cow::Owned(number.to_string()),
        },
        other => Cow::Owned(other.to_string()),
    }
}

/// Protects a cell from being run as a formula by a spreadsheet: prefixes `'` if it begins like a formula. Numbers and
/// amounts of money are left unchanged, because `-5` and `-5.00 EUR` run nothing.
pub fn spreadsheet_cell(cell: Cow<'_, str>) -> Cow<'_, str> {
    let begins_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    if begins_formula && !is_amount(&cell) { Cow::Owned(format!("'{cell}")) } else { cell }
}

/// Is true if a text is a number, with or without a currency behind it.
fn is_amount(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (number, currency) = text.split_once(' ').unwrap_or((text, ""));
    number.starts_with(|first: char| first.is_ascii_digit())
        && (number.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',')) || is_double(number))
        && (currency.is_empty() || currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase()))
}

/// Is true if a text that begins with a digit is a number such as `1e-7`.
fn is_double(text: &str) -> bool {
    text.parse::<f64>().is_ok()
}

fn csv_row(cells: impl Iterator<Item = impl AsRef<str>>) -> Result<String> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    for cell in cells {
        writer.write_field(cell.as_ref()).map_err(Error::internal)?;
    }
    writer.write_record(None::<&[u8]>).map_err(Error::internal)?;
    let bytes = writer.into_inner().map_err(Error::internal)?;
    String::from_utf8(bytes).map_err(Error::internal)
}
