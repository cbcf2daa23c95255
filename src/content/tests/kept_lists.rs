//! Kept lists against a naive oracle: after every step of a random history, a list that is said to be the same must
//! have the entity tag, which is a hash of all that it shows, of the list as a new search finds it.
//!
//! `BINDERY_TEST_HISTORIES` is the number of histories, with one seed each.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bindery_access::Access;
use bindery_model::ability::Ability;
use bindery_model::error::{Code, Result};
use bindery_model::time::{format_date, format_millis, now_millis};
use bindery_query::RawParams;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::random::Random;
use crate::data::version::{AnswerVersion, EntityTag};
use crate::fixture::{access, open};
use crate::read::kept_list::KeptList;
use crate::read::view::View;
use crate::{Content, IfMatch, Operation};

/// The number of steps of a history.
const STEPS: u64 = 60;
/// The longest time until a publication becomes due, in milliseconds.
const SOON: u64 = 30;
/// A day, in milliseconds.
const DAY: i64 = 86_400_000;

/// A list as it was made, for some token.
struct Kept {
    version: AnswerVersion,
    list: Option<KeptList>,
    tag: EntityTag,
    depends_on: Vec<String>,
    is_ranked: bool,
}

/// The figures of all histories.
#[derive(Debug, Default)]
struct Figures {
    /// The lists that outlived a write.
    outlived: u64,
    /// Those of them that show working copies.
    working: u64,
    /// The lists that were the same after a write, and were made again.
    missed: u64,
    /// The lists that a write changed.
    changed: u64,
}

impl Figures {
    fn add(&mut self, other: &Figures) {
        self.outlived += other.outlived;
        self.working += other.working;
        self.missed += other.missed;
        self.changed += other.changed;
    }
}

/// A content under test, with its tokens.
struct World {
    content: Content,
    readers: Vec<Arc<Access>>,
    /// The days by which the clock of readers is ahead.
    days: i64,
}

/// Requests whose lists are kept. `N` stands for a small number, `T` for a title, `K` for a kind, `D` for a day.
const LISTS: &[&str] = &[
    "",
    "page=2&per_page=3",
    "page=N&per_page=2&sort=title",
    "sort=-title,kind&per_page=4",
    "sort=round&per_page=3&page=N",
    "sort=-updated_at&per_page=3",
    "sort=published_at&per_page=3",
    "filter[kind]=K&per_page=3",
    "filter[kind][ne]=K&sort=title&per_page=3",
    "filter[kind][null]=true",
    "filter[round][gt]=N&sort=-round&per_page=3",
    "filter[title][contains]=T&sort=title",
    "filter[$or][0][kind]=K&filter[$or][1][round][lt]=N&sort=title&per_page=3",
    "search=T&per_page=2",
    "filter[published]=true&sort=-published_at&per_page=3",
    "filter[published]=false&per_page=3",
    "filter[published_at][gte]=D&per_page=3",
    "filter[by.name][contains]=a&sort=title&per_page=3",
    "filter[to.kind]=K&per_page=3",
    "expand=by&per_page=3&sort=title",
    "facets=kind&per_page=2",
    "facets=kind&filter[kind]=K&per_page=2",
    "stats=round&filter[kind]=K&per_page=1",
    "cursor=&per_page=3&sort=title",
    "cursor=C&per_page=3&sort=title",
    "variant=de&sort=title&per_page=3",
    "variant=de&fallback=en&filter[title][contains]=T&per_page=3",
    "fields=id,attributes.title&per_page=5&filter[kind]=K",
    "q=T&per_page=3",
    "copy=working&per_page=3",
    "copy=working&sort=title&per_page=3&page=N",
    "copy=working&sort=-updated_at&per_page=3",
    "copy=working&filter[kind]=K&sort=-round&per_page=3",
    "copy=working&filter[working_copy]=true&per_page=2",
    "copy=working&filter[by.name][contains]=a&expand=to&per_page=3",
    "copy=working&facets=kind&stats=round&filter[round][gt]=N&per_page=2",
    "copy=working&variant=de&fallback=en&filter[title][contains]=T&per_page=3",
];

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn blueprint(random: &mut Random) -> Value {
    json!({
        "name": "Notes", "slug": "notes", "scheduled": random.one_in(2), "working_copy": true, "trash": { "days": 30 },
        "variants": [
            { "name": "English", "slug": "en", "default": true },
            { "name": "German", "slug": "de", "default": false },
        ],
        "fields": [
            { "name": "Title", "slug": "title", "type": "text" },
            { "name": "Round", "slug": "round", "type": "number" },
            { "name": "Kind", "slug": "kind", "type": "enum", "settings": { "values": ["a", "b", "c", "d"] } },
            { "name": "By", "slug": "by", "type": "reference", "settings": { "blueprint": "authors" } },
            { "name": "To", "slug": "to", "type": "reference", "settings": { "blueprint": "notes" } },
        ],
    })
}

impl World {
    async fn new(folder: &std::path::Path, random: &mut Random) -> World {
        let content = open(folder);
        let everything = access();
        let authors = json!({ "name": "Authors", "slug": "authors", "fields": [
            { "name": "Name", "slug": "name", "type": "text" }] });
        content.create_blueprint(&everything, authors.to_string().as_bytes(), None).await.unwrap();
        content.create_blueprint(&everything, blueprint(random).to_string().as_bytes(), None).await.unwrap();
        let mut readers = vec![Arc::clone(&everything)];
        for body in [
            json!({ "name": "view", "abilities": ["view"] }),
            json!({ "name": "notes", "abilities": ["view"], "blueprints": ["notes"] }),
            json!({ "name": "preview", "abilities": ["view", "preview"], "blueprints": ["notes"] }),
        ] {
            let issued = content.create_token(&everything, body.to_string().as_bytes()).await.unwrap();
            readers.push(content.authenticate(Some(&issued.secret)).unwrap());
        }
        World { content, readers, days: 0 }
    }

    fn ids(&self, slug: &str) -> Vec<String> {
        let resources = self.content.view(&access(), slug).unwrap().list("per_page=100&fields=id").unwrap().resources;
        let resources: Vec<Value> = serde_json::from_str(&resources).unwrap();
        resources.iter().map(|resource| resource["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Makes one random write. Refusals are expected.
    async fn step(&mut self, random: &mut Random) {
        if let Err(error) = self.try_step(random).await {
            let refusals = [Code::NotFound, Code::ValidationFailed, Code::Conflict, Code::BulkLimitExceeded];
            assert!(refusals.contains(&error.code), "{error:?}");
        }
    }

    async fn try_step(&mut self, random: &mut Random) -> Result<()> {
        let (access, content) = (access(), &self.content);
        let variant = if random.one_in(4) { "variant=de" } else { "" };
        let (known, authors) = (self.ids("notes"), self.ids("authors"));
        let any = |random: &mut Random, ids: &[String]| match ids {
            [] => Value::Null,
            ids => json!(random.pick(ids)),
        };
        let attributes = |random: &mut Random| {
            let mut attributes = json!({});
            for slug in ["title", "round", "kind", "by", "to"] {
                attributes[slug] = match slug {
                    _ if random.one_in(2) => continue,
                    _ if random.one_in(8) => Value::Null,
                    "title" => json!(title(random)),
                    "round" => json!(random.below(8)),
                    "kind" => json!(kind(random)),
                    "by" => any(random, &authors),
                    _ => any(random, &known),
                };
            }
            attributes
        };
        let body = |random: &mut Random| {
            let mut body = json!({ "attributes": attributes(random) });
            if random.one_in(2) {
                body["published_at"] = published_at(random);
            }
            body.to_string().into_bytes()
        };
        match random.below(16) {
            0..=3 => {
                let body = body(random);
                content.write(&access, Ability::Create, "notes", variant)?.create(&body, None).await?;
            }
            4..=8 if !known.is_empty() => {
                let writing = content.write(&access, Ability::Update, "notes", variant)?;
                let id = writing.target(random.pick::<String>(&known))?;
                writing.change(id, IfMatch::Any, &body(random)).await?;
            }
            9 if !known.is_empty() => {
                let writing = content.write(&access, Ability::Delete, "notes", "")?;
                let id = writing.target(random.pick::<String>(&known))?;
                writing.delete(id, IfMatch::Any).await?;
            }
            10 if !known.is_empty() => {
                let updates: Vec<Value> =
                    known.iter().take(3).map(|id| json!({ "id": id, "attributes": attributes(random) })).collect();
                let writing = content.write(&access, Ability::Update, "notes", variant)?;
                writing.bulk(Operation::Update, json!({ "updates": updates }).to_string().as_bytes(), None).await?;
            }
            11 if !known.is_empty() => {
                let writing = content.write(&access, Ability::Update, "notes", "copy=working")?;
                let id = writing.target(random.pick::<String>(&known))?;
                let body = json!({ "attributes": attributes(random) }).to_string();
                writing.change(id, IfMatch::Any, body.as_bytes()).await?;
                if random.one_in(2) {
                    let writing = content.write(&access, Ability::Publish, "notes", "")?;
                    writing.publish(id, IfMatch::Any, b"{}", None).await?;
                }
            }
            12 => {
                let waiting = content.trash(&access, "per_page=100").await?.entries;
                if let Some(entry) = waiting.first() {
                    let (writing, id) = content.trashed(&access, &entry.id.to_string(), "")?;
                    writing.restore(id, b"", None).await?;
                }
            }
            13 => {
                let writing = content.write(&access, Ability::Create, "authors", "")?;
                let body = json!({ "attributes": { "name": title(random) }, "published_at": "2026-01-01" });
                writing.create(body.to_string().as_bytes(), None).await?;
            }
            14 => match random.below(6) {
                0 => self.content.checkpoint().await?,
                1 => self.days += 1,
                2 => {
                    let body = blueprint(random).to_string();
                    content.replace_blueprint(&access, "notes", "force=true")?.run(body.as_bytes()).await?;
                }
                _ => {}
            },
            // Publications become due.
            _ => tokio::time::sleep(Duration::from_millis(SOON / 2)).await,
        }
        Ok(())
    }

    fn view(&self, reader: &Arc<Access>, query: &str) -> Result<View> {
        let view = self.content.view_at(reader, "notes", now_millis() + self.days * DAY)?;
        match query.starts_with("copy=working") {
            true => view.with_working_copies(&RawParams::parse(query)),
            false => Ok(view),
        }
    }

    /// Makes a list for a reader.
    fn list(&self, reader: &Arc<Access>, query: &str) -> Result<Kept> {
        let view = self.view(reader, query)?;
        let request = view.list_request(query)?;
        let (depends_on, is_ranked) = (request.params.depends_on(), request.params.is_ranked());
        let mut page = view.list(query)?;
        let list = page.kept.take();
        let version = view.list_version(&depends_on, is_ranked);
        Ok(Kept { version, list, tag: view.page_tag(&page, ""), depends_on, is_ranked })
    }

    /// Compares a kept list with a new one, which takes its place. Returns false if the request is no longer valid.
    fn compare(&self, reader: &Arc<Access>, query: &str, kept: &mut Kept, figures: &mut Figures) -> bool {
        let view = self.view(reader, query).unwrap();
        let version = view.list_version(&kept.depends_on, kept.is_ranked);
        if version == kept.version {
            return true;
        }
        let outlived = kept.list.as_ref().and_then(|list| view.has_list(list, kept.version, version));
        let Ok(page) = view.list(query) else {
            // The blueprint has changed, and with it the cursors.
            assert!(outlived.is_none(), "`{query}`");
            return false;
        };
        let tag = view.page_tag(&page, "");
        match outlived {
            Some(list) => {
                assert!(tag == kept.tag, "`{query}` is another list:\n{}\n{:?}", page.resources, page.meta);
                figures.outlived += 1;
                figures.working += u64::from(view.is_working());
                (kept.version, kept.list) = (version, Some(list));
            }
            None => {
                if tag == kept.tag {
                    figures.missed += 1
                } else {
                    figures.changed += 1
                }
                (kept.version, kept.list, kept.tag) = (version, page.kept, tag);
            }
        }
        true
    }
}

fn title(random: &mut Random) -> String {
    format!("{}{}", random.pick(&["t", "ta", "ä", "Z"]), random.below(9))
}

fn kind(random: &mut Random) -> &'static str {
    random.pick::<&str>(&["a", "b", "c", "d"])
}

fn published_at(random: &mut Random) -> Value {
    match random.below(4) {
        0 => Value::Null,
        1 | 2 => json!(format_date(20_000 + random.below(9).cast_signed())),
        _ => json!(format_millis(now_millis() + random.below(SOON).cast_signed())),
    }
}

/// Returns a request with random values.
fn query(random: &mut Random, cursor: &str) -> String {
    let day = format_date(20_000 + random.below(9).cast_signed());
    let template = random.pick(LISTS).replace("=C", &format!("={cursor}")).replace("=D", &format!("={day}"));
    let (number, title) = (random.below(4) + 1, title(random));
    template
        .replace("=N", &format!("={number}"))
        .replace("=T", &format!("={title}"))
        .replace("=K", &format!("={}", kind(random)))
}

fn run_history(seed: u64, figures: &mut Figures) {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(seed);
    let runtime = runtime();
    let mut world = runtime.block_on(World::new(folder.path(), &mut random));
    let mut kept: HashMap<(usize, String), Kept> = HashMap::new();
    for _ in 0..STEPS {
        runtime.block_on(world.step(&mut random));
        kept.retain(|(reader, query), kept| world.compare(&world.readers[*reader], query, kept, figures));
        let reader = random.below(world.readers.len() as u64) as usize;
        let cursor = {
            let view = world.content.view(&world.readers[reader], "notes").unwrap();
            match view.list("cursor=&per_page=3&sort=title").unwrap().position {
                crate::PagePosition::Walk { next: Some(next), .. } => next,
                _ => String::new(),
            }
        };
        for _ in 0..6 {
            let query = query(&mut random, &cursor);
            match world.list(&world.readers[reader], &query) {
                Ok(list) => drop(kept.insert((reader, query), list)),
                // A token of one blueprint does not know the other one, and not every token may read working copies.
                Err(error) => {
                    let needs = ["cursor", "copy=working"].iter().any(|needed| query.contains(needed));
                    assert!(reader > 1 || (reader == 1 && needs) || query.contains("cursor"), "`{query}`: {error}");
                }
            }
        }
    }
    world.content.close();
}

#[test]
fn a_list_that_outlives_a_write_is_the_list_that_a_search_finds() {
    let histories = std::env::var("BINDERY_TEST_HISTORIES").ok().and_then(|count| count.parse().ok()).unwrap_or(40);
    let (next, figures) = (AtomicU64::new(0), Mutex::new(Figures::default()));
    let run_some = || {
        let mut own = Figures::default();
        while let seed = next.fetch_add(1, Ordering::Relaxed)
            && seed < histories
        {
            run_history(seed, &mut own);
        }
        figures.lock().add(&own);
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(run_some);
        }
    });
    let figures = figures.into_inner();
    let _ = writeln!(std::io::stderr(), "{histories} histories: {figures:?}");
    // Otherwise the test would show little.
    let Figures { outlived, working, changed, .. } = figures;
    assert!(outlived > 20 * histories && working > 5 * histories && changed > 20 * histories, "{figures:?}");
}
