//! `explain=true`: the steps of a search as JSON (`API.md` 4.18), with field names instead of column numbers. Must not
//! know how resources are searched for.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use bindery_index::{StepKind, Trace, TraceStep};
use bindery_query::projection::column_name;
use serde_json::{Value, json};

use crate::data::state::Collection;

/// The most steps of an answer; further ones are left out.
const MAX_STEPS: usize = 500;

/// The steps of a search, and the times that they took.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The steps, as JSON objects.
    pub steps: Vec<Value>,
    /// The time that the search waited for a thread.
    pub queued: Duration,
    /// The time that it ran.
    pub searched: Duration,
    /// The time that reading the answered resources took; `None` if they are read while they are sent.
    pub documents: Option<Duration>,
}

/// Collects the explanation while the search runs.
pub(super) struct ExplanationBuilder {
    /// The slug of the requested blueprint.
    blueprint: String,
    trace: Trace,
    steps: RefCell<Vec<Value>>,
    queued: Duration,
    started: Instant,
}

impl Explanation {
    /// Joins the explanations of this search and the next one.
    pub fn and(mut self, next: Explanation) -> Explanation {
        self.steps.extend(next.steps);
        self.queued += next.queued;
        self.searched += next.searched;
        let documents = self.documents.into_iter().chain(next.documents).reduce(|sum, more| sum + more);
        Explanation { documents, ..self }
    }

    /// Adds the step of reading `count` resources and its duration.
    pub(super) fn with_documents(mut self, collection: &Collection, count: usize, took: Duration) -> Explanation {
        let blueprint = &collection.blueprint.slug;
        self.steps.push(json!({ "step": "documents", "blueprint": blueprint, "count": count, "ms": millis(took) }));
        Explanation { documents: Some(took), ..self }
    }
}

impl ExplanationBuilder {
    /// Begins the explanation of a search that waited for `queued`.
    pub(super) fn begin(collection: &Collection, queued: Duration) -> ExplanationBuilder {
        let blueprint = collection.blueprint.slug.clone();
        let waiting = json!({ "step": "queue", "blueprint": blueprint, "ms": millis(queued) });
        ExplanationBuilder {
            blueprint,
            trace: Trace::default(),
            steps: RefCell::new(vec![waiting]),
            queued,
            started: Instant::now(),
        }
    }

    /// Returns the trace in which the index records its steps.
    pub(super) fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Moves the steps that a search in the index of this collection recorded into the explanation.
    pub(super) fn searched(&self, collection: &Collection) {
        self.trace.take().into_iter().for_each(|step| self.add(step_json(collection, &step)));
    }

    /// Adds a step that is not a search in an index.
    pub(super) fn note(&self, step: &str, what: &str, count: u64, took: Duration) {
        let blueprint = &self.blueprint;
        self.add(json!({ "step": step, "blueprint": blueprint, "what": what, "count": count, "ms": millis(took) }));
    }

    /// Returns the complete explanation once the search is done.
    pub(super) fn end(self) -> Explanation {
        let searched = self.started.elapsed();
        Explanation { steps: self.steps.into_inner(), queued: self.queued, searched, documents: None }
    }

    fn add(&self, step: Value) {
        let mut steps = self.steps.borrow_mut();
        if steps.len() < MAX_STEPS {
            steps.push(step);
        }
    }
}

fn step_json(collection: &Collection, step: &TraceStep) -> Value {
    let TraceStep { done, from, count, took } = step;
    let blueprint = &*collection.blueprint;
    let mut object = json!({ "step": "filter", "blueprint": blueprint.slug });
    match done {
        StepKind::Column { column, compares } => {
            object["what"] = column_name(blueprint, *column).into();
            object["compares"] = (*compares).into();
        }
        StepKind::Date(date) => object["what"] = (*date).into(),
        StepKind::Words => object["what"] = "q".into(),
        StepKind::Tested { candidates } => {
            object["step"] = "test".into();
            object["candidates"] = (*candidates).into();
        }
        StepKind::Ordered => object["step"] = "order".into(),
    }
    object["from"] = (*from).into();
    object["count"] = (*count).into();
    object["ms"] = millis(*took);
    object
}

/// Milliseconds with three decimals.
fn millis(duration: Duration) -> Value {
    json!(duration.as_micros() as f64 / 1_000.0)
}
