//! Random histories on disk. Threads write and merge runs in the background. Checkpoints are written at once, late or
//! never. The indexes are reopened, as after a crash, and brought up to date from a log.

use std::collections::VecDeque;

use super::*;
use crate::index::Index;
use crate::indexes::{Checkpoint, Indexes};

const NAME: u32 = 3;

/// A record of the log. Its number is its index plus one.
enum LogRecord {
    Apply(Vec<IndexOp>),
    Schema(Schema),
}

struct Server {
    folder: tempfile::TempDir,
    indexes: Option<Indexes>,
    first: Schema,
    log: Vec<LogRecord>,
    durable: u64,
    /// Checkpoints not written yet, oldest first.
    late: VecDeque<Checkpoint>,
}

impl Server {
    fn index(&self) -> Index {
        self.indexes.as_ref().and_then(|indexes| indexes.get(NAME)).unwrap()
    }

    fn log(&mut self, step: LogRecord) {
        apply(&self.index(), &step);
        self.log.push(step);
    }

    fn freeze(&self) -> Checkpoint {
        self.indexes.as_ref().unwrap().freeze(self.log.len() as u64)
    }

    fn write(&mut self, checkpoint: Checkpoint) {
        let number = checkpoint.number();
        checkpoint.write().unwrap();
        self.durable = self.durable.max(number);
        assert_eq!(self.indexes.as_ref().unwrap().number(), self.durable);
    }

    /// Reopens the indexes as after a crash: applies again the operations that no checkpoint made durable.
    fn reopen(&mut self) {
        self.late.clear();
        drop(self.indexes.take());
        let indexes = Indexes::open(self.folder.path(), options()).unwrap();
        assert_eq!(indexes.number(), self.durable);
        let index = match indexes.get(NAME) {
            Some(index) => index,
            None => {
                assert_eq!(self.durable, 0);
                indexes.create(NAME, self.first.clone())
            }
        };
        index.verify().unwrap();
        for step in &self.log[self.durable as usize..] {
            apply(&index, step);
        }
        self.indexes = Some(indexes);
    }
}

fn apply(index: &Index, step: &LogRecord) {
    match step {
        LogRecord::Apply(ops) => index.apply(ops.clone()),
        LogRecord::Schema(schema) => index.set_schema(schema.clone()),
    }
}

fn options() -> Options {
    Options { merge_fan_in: 2, frozen_runs: 2, ..super::options() }
}

fn run(Case { kinds, locale, history, queries, page }: Case) {
    let mut columns = COLUMNS;
    let first = schema(&kinds, columns, &locale, true);
    let mut oracle = Oracle::new(first.clone());
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server { folder, indexes: None, first, log: Vec::new(), durable: 0, late: VecDeque::new() };
    server.reopen();
    let mut held: Vec<(Snapshot, Oracle)> = Vec::new();
    for step in history {
        match step {
            Step::Apply(ops) => {
                oracle.apply(&ops);
                server.log(LogRecord::Apply(ops));
            }
            Step::Schema { columns: wanted, second, keeps_locale } => {
                columns = columns.min(wanted);
                let locale = locale.clone().filter(|_| keeps_locale);
                let next = schema(&kinds, columns, &locale, second);
                oracle.set_schema(next.clone());
                server.log(LogRecord::Schema(next));
            }
            Step::Merge(1) => match server.late.pop_front() {
                Some(checkpoint) => server.write(checkpoint),
                None => {
                    let checkpoint = server.freeze();
                    server.write(checkpoint);
                }
            },
            Step::Merge(_) => server.late.push_back(server.freeze()),
            Step::Hold => {
                // Holds a snapshot of the closed index, whose files may be removed.
                held.push((server.index().snapshot(), oracle.clone()));
                server.reopen();
            }
        }
        check(&server.index().snapshot(), &oracle, &queries, page);
    }
    let checkpoint = server.freeze();
    server.write(checkpoint);
    server.reopen();
    check(&server.index().snapshot(), &oracle, &queries, page);
    for (snapshot, oracle) in &held {
        check(snapshot, oracle, &queries, page);
    }
}

proptest! {
    #![proptest_config(config(50))]

    #[test]
    fn stored_indexes_return_the_same_results_as_the_oracle(case in cases()) {
        run(case);
    }
}
