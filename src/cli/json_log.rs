//! The server's own log as JSON, one object a line. Keys that the access log has too have the same names (`API.md`
//! 1.11). Must not know the meaning of the lines.

use std::fmt::{self, Debug};

use bindery_model::time::{format_millis, now_millis};
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Formats each event as a JSON object: `time`, `level`, `target`, `message`, its fields, and the spans around it.
pub(super) struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        let mut object = Map::new();
        object.insert("time".to_owned(), format_millis(now_millis()).into());
        object.insert("level".to_owned(), event.metadata().level().as_str().into());
        object.insert("target".to_owned(), event.metadata().target().into());
        object.insert("message".to_owned(), fields.0.remove("message").unwrap_or_default());
        object.append(&mut fields.0);
        for span in context.event_scope().into_iter().flatten() {
            let extensions = span.extensions();
            let text = extensions.get::<FormattedFields<N>>().map(|fields| fields.fields.as_str());
            object.insert(span.name().to_owned(), text.into());
        }
        writeln!(writer, "{}", Value::Object(object))
    }
}

/// The fields of an event.
struct Fields(Map<String, Value>);

impl Fields {
    fn insert(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.insert(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, json!(value));
    }
}
