//! The check of a store, before a cluster trusts it: creators race for the same names.
//!
//! It finds stores that ignore the condition of a put, and most of those that check it and write in two steps. It is no
//! proof that a store is atomic.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::join_all;

use crate::error::ClusterError;
use crate::id::random_id;
use crate::objects::{CLUSTER_FILE, Objects, PutError};

const NAMES: usize = 50;
const CREATORS: usize = 16;
/// Names that are raced for at a time.
const CONCURRENT_NAMES: usize = 4;
/// Races without any answer, of which more mean that nothing was tested.
const MAX_UNANSWERED: usize = NAMES / 2;
const MAX_BYTES: u64 = 1024;

const ADVICE: &str = "Use a store whose conditional puts are atomic, such as Amazon S3, Azure Blob Storage, Google Cloud \
                      Storage, Cloudflare R2 or Ceph";

/// How a race ended.
#[derive(Default)]
struct Race {
    winners: usize,
    /// Creators that were answered neither success nor that the name exists.
    unanswered: usize,
    error: Option<ClusterError>,
}

pub(crate) async fn probe(objects: &Objects) -> Result<(), ClusterError> {
    // A store that cannot be reached would otherwise be reported once for each creator of a race.
    objects.size(CLUSTER_FILE).await?;
    let folder = &format!("probe/{}", random_id()?);
    let result = probe_names(objects, folder).await;
    let removed = futures_util::stream::iter(0..NAMES)
        .map(|index| async move { objects.remove(&name(folder, index)).await })
        .buffer_unordered(CREATORS)
        .collect::<Vec<_>>()
        .await;
    remove_folders(objects, folder);
    // An error of the races says more. Small objects that an unreliable store kept are no reason to distrust it.
    result.and(removed.into_iter().filter(|removed| !is_unreachable(removed)).collect())
}

fn is_unreachable<T>(result: &Result<T, ClusterError>) -> bool {
    matches!(result, Err(ClusterError::Unreachable { .. }))
}

/// Over `file://`, removes the folders that became empty.
fn remove_folders(objects: &Objects, folder: &str) {
    for name in [folder, "probe"] {
        if let Some(root) = &objects.folder {
            let _ = std::fs::remove_dir(root.join(name));
        }
    }
}

fn name(folder: &str, index: usize) -> String {
    format!("{folder}/{index:02}")
}

async fn probe_names(objects: &Objects, folder: &str) -> Result<(), ClusterError> {
    let mut races = futures_util::stream::iter(0..NAMES)
        .map(|index| async move { race(objects, &name(folder, index)).await })
        .buffer_unordered(CONCURRENT_NAMES);
    let mut unanswered = 0;
    while let Some(race) = races.next().await {
        let (is_tested, error) = match race {
            Ok(race) => (race.unanswered <= CREATORS / 2, race.error),
            // One lost answer of some hundreds must not keep a server from starting.
            Err(error @ ClusterError::Unreachable { .. }) => (false, Some(error)),
            Err(error) => return Err(error),
        };
        unanswered += usize::from(!is_tested);
        match error {
            Some(error) if unanswered > MAX_UNANSWERED => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn unsuitable(objects: &Objects, what: &str) -> ClusterError {
    ClusterError::Unsuitable { address: objects.address().to_owned(), what: format!("{what}. {ADVICE}") }
}

fn exists_already(objects: &Objects) -> ClusterError {
    unsuitable(objects, "it says that a new name exists already")
}

/// Races for one name, then creates it again, then overwrites it.
async fn race(objects: &Objects, name: &str) -> Result<Race, ClusterError> {
    let contents: Vec<Bytes> = (0..CREATORS).map(|creator| format!("creator {creator} of {name}").into()).collect();
    let answers = join_all(contents.iter().map(|content| objects.create(name, content.clone()))).await;
    let mut race = Race::default();
    let mut winner = None;
    for (answer, content) in answers.into_iter().zip(&contents) {
        match answer {
            Ok(()) => {
                race.winners += 1;
                winner = Some(content);
            }
            Err(PutError::Exists(_)) => {}
            Err(PutError::Refused(error)) => return Err(error),
            Err(error) => {
                race.unanswered += 1;
                race.error = Some(error.into_inner());
            }
        }
    }
    if race.winners > 1 {
        let what = format!(
            "{} of {CREATORS} servers that created the same object at the same time were told that it is theirs, so \
             servers would overwrite each other's writes",
            race.winners
        );
        return Err(unsuitable(objects, &what));
    }
    let found = objects.get(name, MAX_BYTES).await?;
    match (winner, found) {
        (Some(winner), Some(found)) if found == winner => {}
        (Some(_), _) => {
            return Err(unsuitable(objects, "an object that it said was created does not have the bytes that it got"));
        }
        // The winner was not told, which the log can live with.
        (None, Some(found)) if contents.contains(&found) => {}
        (None, None) if race.unanswered > 0 => {
            return match race.error.take() {
                Some(error) if is_not_implemented(&error) => {
                    let what = format!("it does not know the condition that an object must not exist ({error})");
                    Err(unsuitable(objects, &what))
                }
                error => Ok(Race { error, ..race }),
            };
        }
        // Conflicts may have stopped all of them. One alone must succeed.
        (None, None) => match objects.create(name, contents[0].clone()).await {
            Ok(()) => {}
            Err(PutError::Exists(_)) => return Err(exists_already(objects)),
            Err(error) => return Err(error.into_inner()),
        },
        (None, Some(_)) => return Err(exists_already(objects)),
    }
    check_second_create(objects, name).await?;
    check_overwrite(objects, name).await?;
    Ok(race)
}

fn is_not_implemented(error: &ClusterError) -> bool {
    let text = error.to_string();
    text.contains("NotImplemented") || text.contains("501") || text.contains("not yet implemented")
}

async fn check_second_create(objects: &Objects, name: &str) -> Result<(), ClusterError> {
    let late = Bytes::from_static(b"late");
    let was_created = objects.create(name, late.clone()).await.is_ok();
    if was_created || objects.get(name, MAX_BYTES).await? == Some(late) {
        let what =
            "it created an object although one of this name existed: it ignores the condition `If-None-Match: *`";
        return Err(unsuitable(objects, what));
    }
    Ok(())
}

async fn check_overwrite(objects: &Objects, name: &str) -> Result<(), ClusterError> {
    for content in ["overwritten", ""] {
        objects.overwrite(name, Bytes::from_static(content.as_bytes())).await?;
        if objects.get(name, MAX_BYTES).await?.as_deref() != Some(content.as_bytes()) {
            return Err(unsuitable(objects, "an object that was overwritten does not read back as it was written"));
        }
    }
    Ok(())
}
