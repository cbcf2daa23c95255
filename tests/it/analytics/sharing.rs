//! A server continues what another one counted, from what that one shared: nothing of it is lost, and nothing counts
//! twice.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bindery_analytics::{
    Analytics, AnalyticsOptions, Assembly, Batch, Countable, Hit, Shared, SharedSalts, SharedUpTo,
};
use bindery_http::analytics::{Report, delete_figures, parse_event};
use serde_json::{Value, json};

use super::{AGENTS, Random, SITES};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const FIRST_DAY: i64 = 20_000;
const DAYS: i64 = 40;
const SENDERS: [&str; 2] = ["one", "two"];

/// A pageview: the visitor, the page, the site.
type View = (u64, u64, usize);

/// Something that was done, at a time.
#[derive(Debug, Clone)]
enum Action {
    Submit(View),
    Batch {
        sender: usize,
        number: u64,
        items: Vec<(i64, View)>,
    },
    Delete(usize),
    /// The server only notices the time.
    Wait,
}

fn hit((visitor, page, site): View) -> Hit {
    let body = json!({ "name": "pageview", "url": format!("https://{}/{page}", SITES[site]) });
    Hit {
        event: parse_event(body.to_string().as_bytes()).unwrap(),
        address: IpAddr::from([192, 0, 2, visitor as u8]),
        user_agent: AGENTS[0].0.to_owned(),
        country: None,
    }
}

/// Analytics in a folder, with the salts of a cluster and a clock that is set.
struct Counting {
    analytics: Analytics,
    clock: Arc<AtomicI64>,
}

impl Counting {
    fn open(folder: &Path, now: i64) -> Counting {
        let clock = Arc::new(AtomicI64::new(now));
        let read = Arc::clone(&clock);
        let salts = SharedSalts::default();
        (FIRST_DAY - 1..FIRST_DAY + DAYS).for_each(|day| salts.insert(day, [day as u8; 32]));
        let analytics = Analytics::open(&AnalyticsOptions {
            sites: SITES.map(String::from).to_vec(),
            clock: Arc::new(move || read.load(Ordering::SeqCst)),
            shared_salts: Some(salts),
            ..AnalyticsOptions::in_folder(folder)
        });
        Counting { analytics: analytics.unwrap(), clock }
    }

    /// Does something once everything before is counted.
    fn act(&self, now: i64, action: &Action) {
        self.analytics.settle().unwrap();
        self.clock.store(now, Ordering::SeqCst);
        // Between two reports, a new day begins.
        (0..2).for_each(|_| self.analytics.settle().unwrap());
        match action {
            Action::Wait => {}
            Action::Submit(view) => self.analytics.submit(hit(*view)),
            Action::Batch { sender, number, items } => {
                let items = items.iter().map(|(at, view)| (*at, Countable::from(hit(*view)))).collect();
                let batch = Batch { sender: SENDERS[*sender].to_owned(), number: *number, items };
                self.analytics.count_batch(batch).unwrap();
            }
            Action::Delete(site) => drop(delete_figures(&self.analytics, &format!("site={}", SITES[*site])).unwrap()),
        }
    }

    fn reports(&self, now: i64) -> Vec<Value> {
        self.analytics.settle().unwrap();
        self.clock.store(now, Ordering::SeqCst);
        let all = [
            "start=2024-09-01&end=2024-12-31".to_owned(),
            format!("site={}&start=2024-09-01&end=2024-12-31", SITES[0]),
        ];
        let reports = [Report::Summary, Report::Pages, Report::Visitors, Report::Sessions, Report::Live];
        let answer = |report: &Report, query: &str| {
            let query = if matches!(report, Report::Live) { "" } else { query };
            report.answer(&self.analytics, query).unwrap_or_else(|error| panic!("{report:?}: {error}"))
        };
        all.iter().flat_map(|query| reports.iter().map(|report| answer(report, query))).collect()
    }
}

/// Files and records that were shared, as a storage has them.
#[derive(Default)]
struct Storage {
    files: Vec<(String, Vec<u8>)>,
    records: Vec<(u64, Vec<u8>)>,
    up_to: Option<SharedUpTo>,
    /// The batches that are in it.
    batches: BTreeMap<String, u64>,
    wholes: usize,
    parts: usize,
}

impl Storage {
    fn add(&mut self, Shared { up_to, records, files, batches }: Shared) {
        match files {
            Some(files) => {
                let read = |(name, path): (String, std::path::PathBuf)| (name, std::fs::read(path).unwrap());
                self.files = files.list().unwrap().into_iter().map(read).collect();
                self.records = records;
                self.wholes += 1;
            }
            None => {
                self.records.extend(records);
                self.parts += 1;
            }
        }
        (self.up_to, self.batches) = (Some(up_to), batches);
    }

    fn assemble(&self, folder: &Path) {
        let mut assembly = Assembly::begin(&AnalyticsOptions::in_folder(folder).folder).unwrap();
        for (name, bytes) in &self.files {
            std::fs::write(assembly.file(name).unwrap(), bytes).unwrap();
        }
        self.records.iter().for_each(|(number, payload)| assembly.record(*number, payload).unwrap());
        assembly.finish().unwrap();
    }
}

fn run(seed: u64) -> (usize, usize, usize) {
    let mut random = Random(seed);
    let mut now = FIRST_DAY * DAY + random.below(24) as i64 * HOUR + 3 * MINUTE + 5_000;
    let mut folder = tempfile::tempdir().unwrap();
    let mut counting = Counting::open(folder.path(), now);
    let (mut storage, mut done, mut durable, mut crashes) = (Storage::default(), Vec::new(), 0, 0);
    let mut numbers = [0; SENDERS.len()];
    storage.add(counting.analytics.share(None).unwrap());
    for _ in 0..120 {
        // Never close to the end of a session, which a batch that is sent again may miss by the time that passed.
        let passes = *random.pick(&[0, 0, 1, 1_000, 1_000, 7 * MINUTE, 50 * MINUTE, 5 * HOUR]);
        if passes >= MINUTE {
            // A server shares every few seconds.
            storage.add(counting.analytics.share(storage.up_to).unwrap());
            durable = done.len();
        }
        now += passes;
        counting.act(now, &Action::Wait);
        done.push((now, Action::Wait));
        let view = |random: &mut Random| (random.below(4), random.below(3), random.below(2) as usize);
        let action = match random.below(12) {
            0..=3 => Action::Submit(view(&mut random)),
            4..=8 => {
                let sender = random.below(2) as usize;
                numbers[sender] += 1;
                let items = (0..random.below(4)).map(|back| (now - back as i64 * 1_000, view(&mut random))).collect();
                Action::Batch { sender, number: numbers[sender], items }
            }
            9 if random.below(6) == 0 => Action::Delete(random.below(2) as usize),
            9 | 10 => {
                // A sender that got no answer sends a batch again, though not after a day.
                let is_recent =
                    |(at, action): &&(i64, Action)| now - at < DAY && matches!(action, Action::Batch { .. });
                if let Some((_, repeated)) = done.iter().rev().find(is_recent) {
                    counting.act(now, repeated);
                }
                let shared = counting.analytics.share(storage.up_to).unwrap();
                storage.add(shared);
                durable = done.len();
                continue;
            }
            _ => {
                // The server is lost. The senders still have what is not in the storage.
                crashes += 1;
                counting.analytics.close();
                let lost = done.split_off(durable);
                folder = tempfile::tempdir().unwrap();
                storage.assemble(folder.path());
                counting = Counting::open(folder.path(), now);
                storage.add(counting.analytics.share(None).unwrap());
                counting.act(now, &Action::Wait);
                done.push((now, Action::Wait));
                for (_, action) in lost {
                    if let Action::Batch { sender, number, .. } = &action {
                        assert!(storage.batches.get(SENDERS[*sender]).is_none_or(|last| last < number), "{seed}");
                        counting.act(now, &action);
                        done.push((now, action));
                    }
                }
                continue;
            }
        };
        counting.act(now, &action);
        done.push((now, action));
    }
    let other = tempfile::tempdir().unwrap();
    let naive = Counting::open(other.path(), done.first().map_or(now, |(at, _)| *at));
    done.iter().for_each(|(at, action)| naive.act(*at, action));
    assert_eq!(counting.reports(now), naive.reports(now), "seed {seed}");
    (crashes, storage.wholes, storage.parts)
}

#[test]
fn a_server_that_continues_from_what_another_one_shared_reports_what_one_alone_would() {
    let sums = (0..40).map(run).fold((0, 0, 0), |sum, run| (sum.0 + run.0, sum.1 + run.1, sum.2 + run.2));
    assert!(sums.0 > 150 && sums.1 > 300 && sums.2 > 300, "crashes, wholes, parts: {sums:?}");
}
