//! Meilisearch on the same articles, over HTTP: it loads them, searches, and writes until a search finds the document.
//! An answer other than 2xx and a task that fails are errors. Knows nothing of Bindery.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::articles::{cut, lines};
use crate::client::{Client, TOKEN, beginning, get, post, with_body};
use crate::load::{Measured, steps};
use crate::server::Server;
use crate::{Result, say};

/// The size of the documents that are added with one request, in bytes.
const PIECE: usize = 20_000_000;
const SEARCH: &str = "/indexes/articles/search";

/// A running Meilisearch with the articles.
pub(crate) struct Meilisearch {
    server: Server,
    /// The time that it took to load and index the articles, in seconds.
    pub(crate) load_seconds: f64,
    /// The size of its databases on disk after that, in bytes.
    pub(crate) disk: u64,
}

/// A request that Meilisearch has accepted, but may not have processed yet.
struct Task {
    uid: u64,
    /// The beginning of the request, for messages.
    request: String,
}

impl Meilisearch {
    /// Starts the program and loads the first `size` articles of the file.
    pub(crate) fn start(binary: &Path, folder: &Path, articles: &Path, size: usize) -> Result<Self> {
        let server = Server::launch(binary, folder, "MEILI_", "/health", |command, address| {
            command.args(["--no-analytics", "--env", "development", "--log-level", "WARN", "--http-addr", address]);
            command.arg("--db-path").arg(folder.join("data")).arg("--dump-dir").arg(folder.join("dumps"));
            // Bindery also checks the token of each request, and also logs only warnings.
            command.env("MEILI_MASTER_KEY", TOKEN);
        })?;
        say(&format!("loading {size} articles into Meilisearch"));
        let mut client = Client::open(server.address)?;
        let started = Instant::now();
        load(&mut client, articles, size)?;
        let load_seconds = started.elapsed().as_secs_f64();
        let stats = client.json(&get("/stats", None))?;
        let disk = stats["databaseSize"].as_u64().ok_or_else(|| format!("stats without a size: {stats}"))?;
        Ok(Meilisearch { server, load_seconds, disk })
    }

    /// Kills the process and removes its folder.
    pub(crate) fn discard(self) -> Result<()> {
        self.server.discard()
    }

    /// Sends these searches one after another, for at most as long as the budget allows.
    pub(crate) fn measure(&self, searches: &[&Value], budget: Duration) -> Result<Measured> {
        let requests: Vec<Bytes> = searches.iter().map(|search| post(SEARCH, &search.to_string())).collect();
        let mut client = Client::open(self.server.address)?;
        steps(requests.len(), budget, |number| {
            let sent = Instant::now();
            client.send(&requests[number])?;
            Ok(sent.elapsed())
        })
    }

    /// Adds articles one after another. Measures the time from each request until a search has found the document.
    pub(crate) fn until_found(&self, articles: &[Value], budget: Duration) -> Result<Measured> {
        let mut client = Client::open(self.server.address)?;
        steps(articles.len(), budget, |number| {
            let mut document = articles[number].clone();
            let (slug, now) = (document["slug"].clone(), chrono::Utc::now().timestamp_millis());
            let search = json!({"filter": format!("slug = {slug}"), "page": 1, "hitsPerPage": 25}).to_string();
            for (key, value) in [("id", slug), ("published_at", json!(now)), ("created_at", json!(now))] {
                document[key] = value;
            }
            let (add, search) = (add(&format!("{document}\n")), post(SEARCH, &search));
            let sent = Instant::now();
            let task = enqueue(&mut client, &add)?;
            wait(&mut client, &task)?;
            let page = client.send(&search)?;
            let took = sent.elapsed();
            let page: Value = serde_json::from_slice(page)?;
            if page["totalHits"] != 1 {
                return Err(format!("Meilisearch did not find what it has added: {page}").into());
            }
            Ok(took)
        })
    }
}

/// Creates the index, adds all documents, and waits until they are indexed.
fn load(client: &mut Client, articles: &Path, size: usize) -> Result<()> {
    let index = json!({"uid": "articles", "primaryKey": "id"}).to_string();
    // Facets are the ten most frequent values, as in Bindery.
    let settings = json!({
        "searchableAttributes": ["title", "summary", "body"],
        "filterableAttributes": ["slug", "status", "category", "price", "tags", "published_at"],
        "sortableAttributes": ["price", "created_at"],
        "pagination": {"maxTotalHits": size},
        "faceting": {"maxValuesPerFacet": 10, "sortFacetValuesBy": {"*": "count"}},
    });
    let settings = with_body("PATCH", "/indexes/articles/settings", "application/json", &settings.to_string());
    let mut tasks = vec![enqueue(client, &post("/indexes", &index))?, enqueue(client, &settings)?];
    let mut piece = String::new();
    for (number, line) in lines(articles)?.take(size).enumerate() {
        piece.push_str(&document(&line?, number)?);
        if piece.len() >= PIECE {
            tasks.push(enqueue(client, &add(&piece))?);
            piece.clear();
        }
    }
    if !piece.is_empty() {
        tasks.push(enqueue(client, &add(&piece))?);
    }
    tasks.iter().try_for_each(|task| wait(client, task))
}

/// Returns an article as a line of NDJSON, with its number as id. Its dates become numbers, because versions before
/// 1.15 cannot compare texts in a filter.
pub(crate) fn document(article: &str, number: usize) -> Result<String> {
    let (fields, dates) = cut(article)?;
    let dates: Value = serde_json::from_str(&format!("{{{dates}"))?;
    let millis = |key: &str| -> Result<Value> {
        let Some(date) = dates[key].as_str() else { return Ok(Value::Null) };
        Ok(json!(chrono::DateTime::parse_from_rfc3339(date)?.timestamp_millis()))
    };
    let (published, created) = (millis("published_at")?, millis("created_at")?);
    Ok(format!("{{\"id\":{number},{fields},\"published_at\":{published},\"created_at\":{created}}}\n"))
}

/// Returns the request that adds documents.
fn add(documents: &str) -> Bytes {
    with_body("POST", "/indexes/articles/documents", "application/x-ndjson", documents)
}

fn enqueue(client: &mut Client, request: &[u8]) -> Result<Task> {
    let (answer, request) = (client.json(request)?, beginning(request));
    match answer["taskUid"].as_u64() {
        Some(uid) => Ok(Task { uid, request }),
        None => Err(format!("{request} was answered without a task: {answer}").into()),
    }
}

/// Waits until the task has succeeded. Each pause is a twentieth of the time so far: asking more often would take time
/// from the work, and less often would add to it.
fn wait(client: &mut Client, task: &Task) -> Result<()> {
    let request = get(&format!("/tasks/{}", task.uid), None);
    let started = Instant::now();
    loop {
        let answer = client.json(&request)?;
        match answer["status"].as_str() {
            Some("succeeded") => return Ok(()),
            Some("enqueued" | "processing") => {}
            _ => return Err(format!("the task of {} did not succeed: {answer}", task.request).into()),
        }
        thread::sleep((started.elapsed() / 20).clamp(Duration::from_millis(1), Duration::from_millis(100)));
    }
}
