#![allow(clippy::unwrap_used)]

use bindery_model::ability::Ability;
use bindery_store::Store;
use serde_json::{Value, json};

use super::*;
use crate::fixture::{access, open};
use crate::start::repair::repair;
use crate::{Content, IfMatch};

/// The number of writes of the live copy, which is more than there are versions between two without a dictionary.
const LIVE_WRITES: usize = 20;

/// A resource with a history, of which every record can be damaged.
struct Site {
    _folder: tempfile::TempDir,
    content: Content,
    id: String,
    /// The titles of the revisions, oldest first.
    titles: Vec<String>,
}

impl Site {
    async fn new() -> Site {
        let folder = tempfile::tempdir().unwrap();
        let content = open(folder.path());
        let body = json!({ "name": "notes", "slug": "notes", "working_copy": true, "history": { "keep": 100, "days": 9 },
            "fields": [{ "name": "Title", "slug": "title", "type": "text" }] });
        content.create_blueprint(&access(), body.to_string().as_bytes(), None).await.unwrap();
        let titles = vec!["a long title, number 0".to_owned()];
        let body = json!({ "attributes": { "title": titles[0] }, "published_at": "2026-01-01T00:00:00Z" });
        let writing = content.write(&access(), Ability::Create, "notes", "").unwrap();
        writing.create(body.to_string().as_bytes(), None).await.unwrap();
        let page = content.view(&access(), "notes").unwrap().list("fields=id").unwrap().resources;
        let page: Vec<Value> = serde_json::from_str(&page).unwrap();
        let id = page[0]["id"].as_str().unwrap().to_owned();
        let mut site = Site { _folder: folder, content, id, titles };
        for n in 1..=LIVE_WRITES {
            if n == 5 || n == 15 {
                site.write("copy=working", &format!("a working title, number {n}")).await;
            }
            site.write("", &format!("a long title, number {n}")).await;
        }
        site
    }

    async fn write(&mut self, query: &str, title: &str) {
        let writing = self.content.write(&access(), Ability::Update, "notes", query).unwrap();
        let id = writing.target(&self.id).unwrap();
        let body = json!({ "attributes": { "title": title } }).to_string();
        writing.change(id, IfMatch::Any, body.as_bytes()).await.unwrap();
        self.titles.push(title.to_owned());
    }

    fn store(&self) -> &Store {
        &self.content.shared.store
    }

    /// Returns the records of the history.
    fn records(&self) -> Vec<(Key, Vec<u8>)> {
        let prefixes = [Prefix::Histories(1), Prefix::Revisions(1), Prefix::FormerCopies(1)];
        prefixes.into_iter().flat_map(|prefix| self.store().scan(prefix)).map(Result::unwrap).collect()
    }

    /// Returns whether a record is a superseded version that the sweeper has not removed from its old place yet: then
    /// it can be read from there.
    fn has_version_itself(&self, key: &Key) -> bool {
        let Key::FormerCopy { blueprint, id, variant, number } = *key else { return false };
        let version = CopyVersion { variant, number };
        self.store().get(&version.key(blueprint, id)).unwrap().is_some()
    }

    fn put(&self, key: &Key, value: Option<Vec<u8>>) {
        let write = match value {
            Some(value) => StoreWrite::put(key.clone(), value),
            None => StoreWrite::delete(key.clone()),
        };
        self.store().apply(self.store().applied(), &[write]).unwrap();
    }

    /// Returns the numbers of the revisions that are listed, oldest first; an error if the list cannot be read.
    async fn listed(&self) -> Result<Vec<u32>, String> {
        let page = self.content.history(&access(), "notes", &self.id, "limit=100").await;
        let page = page.map_err(|error| error.message)?;
        Ok(page.revisions.iter().rev().map(|revision| revision.number).collect())
    }

    async fn title(&self, number: u32) -> Result<String, String> {
        let answer = self.content.revision(&access(), "notes", &self.id, &number.to_string(), "").await;
        let json = answer.map_err(|error| error.message)?.json;
        // Values are stored as JSON, which changed bytes may have damaged.
        let resource: Value = serde_json::from_str(&json).map_err(|error| error.to_string())?;
        Ok(resource["attributes"]["title"].as_str().unwrap_or_default().to_owned())
    }

    async fn titles_listed(&self) -> Vec<String> {
        let mut titles = Vec::new();
        for number in self.listed().await.unwrap() {
            titles.push(self.title(number).await.unwrap());
        }
        titles
    }
}

/// Returns whether `some` are elements of `all` in the same order.
fn is_subsequence(some: &[String], all: &[String]) -> bool {
    let mut all = all.iter();
    some.iter().all(|one| all.any(|other| other == one))
}

#[tokio::test]
async fn a_history_with_a_damaged_or_missing_record_keeps_every_revision_that_can_be_read() {
    let n_records = Site::new().await.records().len();
    for at in 0..n_records {
        for is_missing in [true, false] {
            // Every record once is too slow with a new folder each.
            if at % 7 > 1 && at + 1 < n_records {
                continue;
            }
            let site = Site::new().await;
            assert!(site.content.verify().issues.is_empty(), "{:?}", site.content.verify().issues);
            let (key, value) = site.records().swap_remove(at);
            if site.has_version_itself(&key) {
                continue;
            }
            let damaged = value[..value.len() / 2].to_vec();
            site.put(&key, (!is_missing).then_some(damaged));
            let is_range = matches!(key, Key::History { .. });
            let what = format!("{key:?}, {}", if is_missing { "missing" } else { "cut short" });
            if !(is_range && is_missing) {
                assert!(!site.content.verify().issues.is_empty(), "{what}: verify finds nothing");
            }
            let repaired = repair(site.store(), site.store().applied()).unwrap();
            let losses = &repaired.losses;
            assert!(losses.len() == 1 && losses[0].contains("history"), "{what}: {losses:?}");
            assert!(site.content.verify().issues.is_empty(), "{what}: {:?}", site.content.verify().issues);
            let left = site.titles_listed().await;
            assert!(is_subsequence(&left, &site.titles), "{what}: {left:?}");
            assert_eq!(left.last(), site.titles.last(), "{what}");
            let n_lost = site.titles.len() - left.len();
            match key {
                Key::History { .. } => assert_eq!(n_lost, 0, "{what}"),
                // The newest revision follows from the resource.
                Key::Revision { .. } => assert!(n_lost <= 1, "{what}: {left:?}"),
                // A version, and those before it up to one that was stored without a dictionary.
                _ => assert!((1..=18).contains(&n_lost), "{what}: {left:?}"),
            }
            let numbers = site.listed().await.unwrap();
            assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{what}: {numbers:?}");
        }
    }
}

#[tokio::test]
async fn nothing_is_repaired_in_a_history_that_is_whole() {
    let site = Site::new().await;
    let before = site.records();
    assert!(repair(site.store(), site.store().applied()).unwrap().losses.is_empty());
    assert!(site.records() == before);
}

#[tokio::test]
async fn changed_bytes_in_any_record_of_a_history_cause_no_panic() {
    let site = Site::new().await;
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for (key, value) in site.records() {
        for _ in 0..6 {
            let mut damaged = value.clone();
            for _ in 0..=random(3) {
                let at = random(damaged.len());
                damaged[at] = random(256) as u8;
            }
            site.put(&key, Some(damaged));
            site.content.verify();
            for number in site.listed().await.unwrap_or_default() {
                site.title(number).await.ok();
            }
            site.put(&key, Some(value.clone()));
        }
    }
    assert_eq!(site.titles_listed().await, site.titles);
}
