//! Files that imported items name by their addresses: taken into the library before the items are imported
//! (`bindery import --fetch-media`). Must not know how a file is fetched.
//!
//! The server knows each fetched file by a key, which is its address. So a second import, also after a kill, finds the
//! file instead of fetching it again.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use bindery_content::{Content, parse_import_line};
use bindery_http::{Media, error_status, fetch_media};
use bindery_model::blueprint::{Blueprint, BlueprintKind, FieldType};
use bindery_model::time::{format_millis, now_millis};
use futures_util::StreamExt as _;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::error::CliError;
use super::input::{Batch, Batches};
use super::output::{counted, note, print};
use super::rejects::{Rejects, RejectsForm};
use super::remote::Remote;
use super::tally::lines;

/// The number of files that are fetched at once.
const PARALLEL: usize = 8;
/// The number of addresses that are remembered. The server knows more of them.
const REMEMBERED: usize = 100_000;
/// The number of batches whose files are fetched before they are imported.
const BATCHES_IN_FLIGHT: usize = 1;
/// The number of messages that are printed. All are in the file of addresses that could not be fetched.
const MAX_PRINTED: usize = 5;
/// The times that a busy server is asked again, and the pause between them.
const ATTEMPTS: usize = 10;
const PAUSE: Duration = Duration::from_secs(2);
/// The longest key.
const MAX_KEY: usize = 1024;

/// The library that fetched files belong to.
pub(super) struct Library {
    /// The slug of its blueprint.
    pub(super) blueprint: String,
    pub(super) place: LibraryPlace,
    /// The beginnings of addresses that are the server's own.
    pub(super) own: Vec<String>,
}

/// The server or the data folder of the library.
pub(super) enum LibraryPlace {
    Server(Remote),
    Folder { content: Content, media: Box<Media>, private_addresses: bool },
}

/// The files of an import.
pub(super) struct FetchReport {
    fetched: u64,
    failed: u64,
    messages: Vec<String>,
    unfetched: Rejects,
    /// The error that ended the import.
    fatal: Option<CliError>,
}

/// Fetches the files that the items of an import name.
struct Fetcher {
    library: Library,
    /// The slugs of the fields that hold the addresses of files.
    fields: HashSet<String>,
    /// The addresses that are known, with that in the library; `None` if the file could not be fetched.
    known: HashMap<String, Option<String>>,
    report: FetchReport,
}

/// The reason why a file was not fetched.
enum Failure {
    /// The file itself: the item keeps its address.
    File(String),
    /// Everything else: no other file would be fetched either.
    Fatal(CliError),
}

/// Returns the blueprint of the library: the named one, or the only one there is.
///
/// # Errors
/// [`CliError::Incomplete`] if there is none, or none is named and there are several.
pub(super) fn library_of<'a>(
    named: Option<&'a str>,
    blueprints: impl Iterator<Item = &'a Blueprint>,
) -> Result<&'a str, CliError> {
    let media = blueprints.filter(|blueprint| blueprint.kind == BlueprintKind::Media);
    let slugs: Vec<&str> = media.map(|blueprint| blueprint.slug.as_str()).collect();
    let listed = || slugs.iter().map(|slug| format!("`{slug}`")).collect::<Vec<_>>().join(", ");
    let text = match (named, &*slugs) {
        (_, []) => "`--fetch-media` needs a blueprint of the kind `media`; there is none".to_owned(),
        (Some(named), slugs) if slugs.contains(&named) => return Ok(named),
        (Some(named), _) => format!("`{named}` is not a blueprint of the kind `media`; those are {}", listed()),
        (None, [only]) => return Ok(only),
        (None, _) => format!("name the blueprint for the files with `--media`: {}", listed()),
    };
    Err(CliError::Incomplete(text))
}

/// Fetches the files that items name, and replaces their addresses by those in the library. Items without such
/// addresses stay as they are.
pub(super) fn with_fetched_files(
    mut batches: Batches,
    blueprint: &Blueprint,
    library: Library,
    file: &Path,
) -> (Batches, JoinHandle<FetchReport>) {
    let (sender, changed) = mpsc::channel(BATCHES_IN_FLIGHT);
    let holds_a_file = |field_type: &FieldType| matches!(field_type, FieldType::Image | FieldType::File);
    let fields = blueprint.fields.iter().filter(|field| holds_a_file(&field.field_type));
    let unfetched = Rejects::of(file, "unfetched", RejectsForm::Ndjson);
    let report = FetchReport { fetched: 0, failed: 0, messages: Vec::new(), unfetched, fatal: None };
    let fields = fields.map(|field| field.slug.clone()).collect();
    let mut fetcher = Fetcher { library, fields, known: HashMap::new(), report };
    let fetching = tokio::spawn(async move {
        while let Some(batch) = batches.recv().await {
            let changed = match batch {
                Ok(batch) => fetcher.change(batch).await.map(Ok),
                Err(error) => Ok(Err(error)),
            };
            match changed {
                Ok(batch) => {
                    if sender.send(batch).await.is_err() {
                        break;
                    }
                }
                Err(error) => {
                    fetcher.report.fatal = Some(error);
                    break;
                }
            }
        }
        fetcher.report
    });
    (changed, fetching)
}

impl Fetcher {
    /// Returns a batch with the addresses of fetched files.
    async fn change(&mut self, batch: Batch) -> Result<Batch, CliError> {
        // A line that cannot be parsed stays as it is, and the import reports it.
        let mut items: Vec<Option<Value>> = lines(&batch.lines).map(|line| parse_import_line(line).ok()).collect();
        let mut wanted = Vec::new();
        for item in items.iter().flatten() {
            self.each_address(item, |address| wanted.push(address.to_owned()));
        }
        if wanted.is_empty() {
            return Ok(batch);
        }
        self.fetch(wanted).await?;
        let mut changed = Vec::with_capacity(batch.lines.len());
        for (line, item) in lines(&batch.lines).zip(&mut items) {
            let is_changed = item.as_mut().is_some_and(|item| self.replace_addresses(item));
            match item {
                Some(item) if is_changed => changed.extend(item.to_string().into_bytes()),
                _ => changed.extend(line),
            }
            changed.push(b'\n');
        }
        Ok(Batch { lines: changed.into(), ..batch })
    }

    /// Calls a function with each address of a file that is not in the library.
    fn each_address(&self, item: &Value, mut then: impl FnMut(&str)) {
        for attributes in copies_of(item) {
            let values = attributes.iter().filter(|(slug, _)| self.fields.contains(*slug));
            values.filter_map(|(_, value)| self.address_in(value)).for_each(&mut then);
        }
    }

    /// Replaces the addresses of fetched files. Returns true if there were any.
    fn replace_addresses(&self, item: &mut Value) -> bool {
        let mut is_changed = false;
        let mut replace = |attributes: &mut Map<String, Value>| {
            for (_, value) in attributes.iter_mut().filter(|(slug, _)| self.fields.contains(*slug)) {
                let fetched = self.address_in(value).and_then(|address| self.known.get(address)?.clone());
                if let Some(fetched) = fetched {
                    (*value, is_changed) = (Value::String(fetched), true);
                }
            }
        };
        if let Some(attributes) = item.get_mut("attributes").and_then(Value::as_object_mut) {
            replace(attributes);
        }
        let variants = item.get_mut("variants").and_then(Value::as_object_mut);
        variants.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut).for_each(replace);
        is_changed
    }

    /// Returns the address in a value, if it is one on the web.
    fn address_in<'v>(&self, value: &'v Value) -> Option<&'v str> {
        let address = value.as_str()?;
        let is_of_the_web = ["http://", "https://"].iter().any(|scheme| address.starts_with(scheme));
        let is_own = || self.library.own.iter().any(|own| address.starts_with(own.as_str()));
        (is_of_the_web && !is_own()).then_some(address)
    }

    /// Fetches the files of those addresses that are not known yet, each once.
    async fn fetch(&mut self, mut addresses: Vec<String>) -> Result<(), CliError> {
        if self.known.len() > REMEMBERED {
            self.known.clear();
        }
        let mut seen = HashSet::new();
        addresses.retain(|address| !self.known.contains_key(address) && seen.insert(address.clone()));
        let library = &self.library;
        let results = futures_util::stream::iter(addresses)
            .map(async |address| (library.fetch_patiently(&address).await, address))
            .buffer_unordered(PARALLEL);
        let mut results = std::pin::pin!(results);
        while let Some((result, address)) = results.next().await {
            let fetched = match result {
                Ok(fetched) => Some(fetched),
                Err(Failure::Fatal(error)) => return Err(error),
                Err(Failure::File(message)) => {
                    self.report.note_failure(&address, &message);
                    None
                }
            };
            self.report.fetched += u64::from(fetched.is_some());
            self.known.insert(address, fetched);
        }
        Ok(())
    }
}

/// Returns the attributes of all copies that an item holds.
fn copies_of(item: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    let variants = item.get("variants").and_then(Value::as_object).into_iter().flat_map(Map::values);
    item.get("attributes").into_iter().chain(variants).filter_map(Value::as_object)
}

impl Library {
    /// Fetches a file. Waits while the server is busy.
    async fn fetch_patiently(&self, address: &str) -> Result<String, Failure> {
        for attempt in 1..ATTEMPTS {
            match self.fetch(address).await.map_err(|error| (status_of(&error), error)) {
                Ok(fetched) => return Ok(fetched),
                // Another client has just fetched the same file.
                Err((Some(409), _)) if attempt == 1 => {}
                Err((Some(429 | 503), _)) => tokio::time::sleep(PAUSE).await,
                Err((_, error)) => return Err(failure_of(error)),
            }
        }
        self.fetch(address).await.map_err(failure_of)
    }

    /// Returns the address in the library of a file on the web.
    async fn fetch(&self, address: &str) -> Result<String, CliError> {
        let key = match address.chars().count() {
            ..=MAX_KEY => address.to_owned(),
            _ => format!("blake3:{}", blake3::hash(address.as_bytes()).to_hex()),
        };
        // Drafts would be missing on the pages that show them.
        let body = json!({ "url": address, "key": key, "published_at": format_millis(now_millis()) });
        let slug = &self.blueprint;
        let mut resource = match &self.place {
            LibraryPlace::Server(remote) => remote.post(&format!("/v2/media/{slug}/fetch"), &body).await?,
            LibraryPlace::Folder { content, media, private_addresses } => {
                fetch_media(content, media, *private_addresses, slug, body.to_string().as_bytes()).await?
            }
        };
        match resource["attributes"]["url"].take() {
            Value::String(url) => Ok(url),
            _ => Err(CliError::Incomplete("the server answered a file without an address".to_owned())),
        }
    }
}

/// Returns the HTTP status of an error, also of one in a data folder; `None` if it concerns the connection.
fn status_of(error: &CliError) -> Option<u16> {
    match error {
        CliError::Refused { status, .. } => Some(*status),
        CliError::Content(error) => Some(error_status(error)),
        _ => None,
    }
}

fn failure_of(error: CliError) -> Failure {
    match (status_of(&error), error) {
        (Some(409 | 413 | 415 | 422), CliError::Refused { message, .. }) => Failure::File(message),
        (Some(409 | 413 | 415 | 422), CliError::Content(error)) => Failure::File(error.message),
        (_, error) => Failure::Fatal(error),
    }
}

impl FetchReport {
    fn note_failure(&mut self, address: &str, message: &str) {
        self.failed += 1;
        if self.messages.len() < MAX_PRINTED {
            self.messages.push(format!("{address}: {message}"));
        }
        let line = json!({ "url": address }).to_string();
        self.unfetched.add(line.as_bytes(), None, &json!({ "message": message }));
    }

    /// Prints how many files were fetched, and which were not.
    ///
    /// # Errors
    /// The error that ended the import, and [`CliError::Incomplete`] if a file was not fetched.
    pub(super) fn finish(self, imported: Result<(), CliError>) -> Result<(), CliError> {
        let FetchReport { fetched, failed, messages, unfetched, fatal } = self;
        messages.iter().for_each(|message| print(message));
        note(&format!("{} in the library, {failed} could not be fetched", counted(fetched, "file")));
        if let Some(fatal) = fatal {
            let text = format!("{fatal}; the items before are imported; import the file again to continue");
            return Err(CliError::Incomplete(text));
        }
        if failed == 0 {
            return imported;
        }
        let place = match unfetched.finish() {
            (path, true) => format!("{} has them", path.display()),
            (path, false) => format!("{} could not be written", path.display()),
        };
        let text =
            format!("{} could not be fetched, and the fields keep their addresses; {place}", counted(failed, "file"));
        Err(CliError::Incomplete(match imported {
            Ok(()) => text,
            Err(error) => format!("{error}; {text}"),
        }))
    }
}
