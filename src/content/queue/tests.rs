#![allow(clippy::unwrap_used)]

use bindery_access::Access;
use bindery_model::blueprint::{Blueprint, Definition};
use serde_json::json;

use super::*;
use crate::command::{Item, MissingTargets, Write};

/// The pause of imports of a log that takes some time for a group.
const PAUSE: Duration = Duration::from_millis(60);
/// The room of such a log, and that of one which takes no time.
const SLOW: ImportRoom = ImportRoom { is_open: true, bytes: 4 << 20, bytes_beside_others: 512 << 10, pause: PAUSE };
const QUICK: ImportRoom = ImportRoom { is_open: true, bytes: 0, bytes_beside_others: 0, pause: Duration::ZERO };
const NOW: Duration = Duration::ZERO;
const KIB: usize = 1 << 10;

fn queue() -> (Queue, Jobs) {
    Queue::new(Arc::default(), Duration::from_secs(30))
}

/// Makes a write that is recognized by its name.
fn write(name: &str) -> Command {
    let body = json!({ "name": "Notes", "fields": [{ "name": "Title", "type": "text" }] });
    let blueprint = Blueprint::create(Definition::parse(body).unwrap(), 1, 0);
    let items = vec![Item::Refused(Error::new(Code::Conflict, name))];
    let access = Access::everything("test");
    Command::Write(Write {
        blueprint: Arc::new(blueprint),
        items: Arc::new(items),
        missing_targets: MissingTargets::Refuse,
        access,
    })
}

fn save(queue: &Queue, name: &str) -> PendingOutcome {
    queue.submit(None, write(name), None, None).unwrap()
}

/// Submits a command that shares no group with others.
fn ask(queue: &Queue) -> PendingOutcome {
    queue.submit(None, Command::Checkpoint, None, None).unwrap()
}

/// Submits a command that waits for the newest state.
fn wait(queue: &Queue) -> PendingOutcome {
    queue.submit(None, Command::Wait, None, None).unwrap()
}

async fn import(queue: &Queue, pieces: &ImportPieces, name: &str, bytes: usize) -> PendingOutcome {
    let piece = pieces.next(bytes).await.unwrap();
    queue.submit(None, write(name), None, Some(piece)).unwrap()
}

/// Returns the names of jobs, in order.
fn names(jobs: &[Job]) -> Vec<String> {
    let name = |job: &Job| match &job.command {
        Command::Write(write) => match &write.items[..] {
            [Item::Refused(error)] => error.message.clone(),
            _ => unreachable!(),
        },
        Command::Wait => "wait".to_owned(),
        _ => "no write".to_owned(),
    };
    jobs.iter().map(name).collect()
}

fn next(jobs: &mut Jobs) -> Vec<Job> {
    jobs.next_group(NOW, || SLOW).unwrap()
}

#[tokio::test]
async fn while_interactive_writes_come_imports_share_every_third_group_and_pause_before_one_of_their_own() {
    let (queue, mut jobs) = queue();
    let pieces = ImportPieces::default();
    let mut pending = vec![save(&queue, "s1")];
    for name in ["i1", "i2", "i3", "i4"] {
        pending.push(import(&queue, &pieces, name, 600 * KIB).await);
    }
    assert_eq!(names(&next(&mut jobs)), ["i1", "s1"]);
    assert_eq!(jobs.next_group(NOW, || SLOW).err(), Some(RecvTimeoutError::Timeout));
    pending.push(save(&queue, "s2"));
    assert_eq!(names(&next(&mut jobs)), ["s2"], "it does not wait");
    pending.push(save(&queue, "s3"));
    assert_eq!(names(&next(&mut jobs)), ["s3"]);
    pending.push(save(&queue, "s4"));
    assert_eq!(names(&next(&mut jobs)), ["i2", "s4"]);
    let paused = Instant::now();
    assert_eq!(names(&jobs.next_group(10 * PAUSE, || SLOW).unwrap()), ["i3"]);
    assert!(paused.elapsed() >= PAUSE, "{:?}", paused.elapsed());
    queue.close();
    assert_eq!(names(&next(&mut jobs)), ["i4"], "a server that stops does not pause");
}

#[tokio::test]
async fn imports_wait_until_their_room_is_open_and_interactive_writes_do_not() {
    let (queue, mut jobs) = queue();
    let pieces = ImportPieces::default();
    let mut pending = vec![import(&queue, &pieces, "i1", KIB).await, import(&queue, &pieces, "i2", KIB).await];
    let closed = || ImportRoom { is_open: false, ..QUICK };
    assert_eq!(jobs.next_group(NOW, closed).err(), Some(RecvTimeoutError::Timeout));
    pending.push(save(&queue, "s1"));
    assert_eq!(names(&jobs.next_group(NOW, closed).unwrap()), ["s1"]);
    let begun = Instant::now();
    let opening = || ImportRoom { is_open: begun.elapsed() > PAUSE, ..QUICK };
    assert_eq!(names(&jobs.next_group(100 * PAUSE, opening).unwrap()), ["i1"]);
    assert!(begun.elapsed() < 50 * PAUSE, "it looks again without being woken");
    queue.close();
    assert_eq!(names(&jobs.next_group(NOW, closed).unwrap()), ["i2"], "a server that stops leaves none behind");
}

#[tokio::test]
async fn other_commands_have_their_turn_while_an_import_goes_on() {
    let (queue, mut jobs) = queue();
    let pieces = ImportPieces::default();
    let mut pending = Vec::new();
    for name in ["i1", "i2", "i3"] {
        pending.push(import(&queue, &pieces, name, 4 << 20).await);
    }
    assert_eq!(names(&next(&mut jobs)), ["i1"]);
    pending.extend((0..3).map(|_| ask(&queue)));
    for expected in ["no write", "no write", "i2", "no write", "i3"] {
        assert_eq!(names(&next(&mut jobs)), [expected]);
    }
}

#[tokio::test]
async fn those_who_wait_for_the_newest_state_share_one_look_and_are_forgotten_once_they_have_left() {
    let (queue, mut jobs) = queue();
    let mut pending = vec![wait(&queue), save(&queue, "s1"), wait(&queue), ask(&queue), wait(&queue), wait(&queue)];
    assert_eq!(names(&next(&mut jobs)), ["wait", "s1", "wait"]);
    assert_eq!(names(&next(&mut jobs)), ["no write"]);
    pending.pop();
    let mut group = next(&mut jobs);
    assert_eq!(names(&group), ["wait", "wait"]);
    group.retain_mut(Job::is_wanted);
    assert_eq!(group.len(), 1, "the other caller has left");
    let left = save(&queue, "s2");
    drop(left);
    assert!(next(&mut jobs)[0].is_wanted(), "a write is carried out anyway");
}

#[tokio::test]
async fn in_a_full_lane_those_who_waited_for_the_newest_state_and_left_make_room() {
    let (queue, mut jobs) = queue();
    let mut waiting: Vec<PendingOutcome> = (0..LANE_COMMANDS).map(|_| wait(&queue)).collect();
    let refused = queue.submit(None, write("s1"), None, None).err().unwrap();
    assert_eq!(refused.code, Code::Overloaded);
    waiting.truncate(2);
    let _pending = [save(&queue, "s2"), save(&queue, "s3")];
    assert_eq!(names(&next(&mut jobs)), ["wait", "wait", "s2", "s3"]);
    // The caller of a write who has left is no reason to forget the write.
    for _ in 0..LANE_COMMANDS {
        drop(save(&queue, "s4"));
    }
    assert!(queue.submit(None, write("s5"), None, None).is_err());
}

#[tokio::test]
async fn a_large_piece_of_an_import_is_not_left_out() {
    let (queue, mut jobs) = queue();
    let pieces = ImportPieces::default();
    let mut pending = vec![save(&queue, "s1")];
    for name in ["i1", "i2"] {
        pending.push(import(&queue, &pieces, name, 10 << 20).await);
    }
    assert_eq!(names(&jobs.next_group(NOW, || QUICK).unwrap()), ["i1", "s1"]);
    assert_eq!(names(&jobs.next_group(NOW, || QUICK).unwrap()), ["i2"]);
}

#[tokio::test]
async fn without_interactive_writes_a_group_takes_imports_up_to_its_own_limit() {
    let (queue, mut jobs) = queue();
    let (one, other) = (ImportPieces::default(), ImportPieces::default());
    let mut pending = Vec::new();
    for name in ["i1", "i2", "i3", "i4", "i5"] {
        pending.push(import(&queue, &one, name, 1 << 20).await);
    }
    pending.push(import(&queue, &other, "other", KIB).await);
    assert_eq!(names(&next(&mut jobs)), ["i1", "i2", "i3", "i4"]);
    assert_eq!(names(&jobs.next_group(NOW, || QUICK).unwrap()), ["i5"], "at least one");
    assert_eq!(names(&next(&mut jobs)), ["other"]);
}

#[tokio::test]
async fn for_a_while_after_an_interactive_write_groups_of_imports_stay_small() {
    let (queue, mut jobs) = queue();
    let pieces = ImportPieces::default();
    let mut pending = vec![save(&queue, "s1")];
    assert_eq!(names(&next(&mut jobs)), ["s1"]);
    for name in ["i1", "i2", "i3"] {
        pending.push(import(&queue, &pieces, name, 600 * KIB).await);
    }
    assert_eq!(names(&jobs.next_group(10 * PAUSE, || SLOW).unwrap()), ["i1"]);
    tokio::time::sleep(INTERACTIVE_TIME).await;
    assert_eq!(names(&next(&mut jobs)), ["i2", "i3"]);
}

#[tokio::test]
async fn a_command_that_is_no_write_of_resources_is_a_group_of_its_own() {
    let (queue, mut jobs) = queue();
    let pieces = ImportPieces::default();
    let mut pending = vec![import(&queue, &pieces, "i1", KIB).await, save(&queue, "s1")];
    pending.push(ask(&queue));
    pending.push(save(&queue, "s2"));
    pending.push(import(&queue, &pieces, "i2", KIB).await);
    let mut taken = Vec::new();
    while let Ok(group) = jobs.next_group(NOW, || QUICK) {
        taken.push(group);
    }
    let taken: Vec<Vec<String>> = taken.iter().map(|group| names(group)).collect();
    assert_eq!(taken, [vec!["i1", "s1"], vec!["no write"], vec!["s2"], vec!["i2"]]);
}

#[tokio::test]
async fn jobs_without_room_in_their_group_come_first_in_their_lane() {
    let (queue, mut jobs) = queue();
    let pieces = ImportPieces::default();
    let mut pending = Vec::new();
    for name in ["i1", "i2", "i3"] {
        pending.push(import(&queue, &pieces, name, KIB).await);
    }
    let mut group = next(&mut jobs);
    pending.push(import(&queue, &pieces, "i4", KIB).await);
    pending.push(save(&queue, "s1"));
    jobs.put_back(group.split_off(1));
    for expected in ["s1", "i2", "i3", "i4"] {
        assert_eq!(names(&jobs.next_group(NOW, || QUICK).unwrap()), [expected]);
    }
}

#[tokio::test]
async fn an_import_keeps_some_commands_queued() {
    let (queue, mut jobs) = queue();
    let pieces = ImportPieces::default();
    let mut pending = Vec::new();
    for _ in 0..48 {
        pending.push(import(&queue, &pieces, "i", KIB).await);
    }
    let next = async || tokio::time::timeout(Duration::from_millis(20), pieces.next(KIB)).await;
    assert!(next().await.is_err(), "the next command waits");
    let group = jobs.next_group(NOW, || ImportRoom { bytes: 3 * KIB, ..QUICK }).unwrap();
    let mut turns = Vec::new();
    for _ in 0..group.len() {
        turns.push(next().await.unwrap());
    }
    assert_eq!(turns.len(), 3);
    assert!(next().await.is_err(), "one command for each that was taken");
}

#[tokio::test]
async fn no_piece_of_an_import_is_carried_out_after_one_that_failed() {
    let (queue, mut jobs) = queue();
    let (one, other) = (ImportPieces::default(), ImportPieces::default());
    let first = import(&queue, &one, "i1", KIB).await;
    let second = import(&queue, &one, "i2", KIB).await;
    let _others = import(&queue, &other, "other", KIB).await;
    let mut group = next(&mut jobs);
    group[0].answer(Err(overloaded("the disk is full")));
    group.retain_mut(Job::is_wanted);
    assert_eq!(names(&group), ["other"]);
    assert!(first.wait().await.unwrap_err().message.starts_with("the disk is full"));
    assert_eq!(second.wait().await.unwrap_err().code, Code::Overloaded);
    let later = import(&queue, &one, "i3", KIB).await;
    assert!(!later.has_arrived());
    let mut group = next(&mut jobs);
    group.retain_mut(Job::is_wanted);
    assert!(group.is_empty() && later.has_arrived());
}

#[tokio::test]
async fn a_committer_that_is_woken_often_looks_once_and_refuses_nobody() {
    let (queue, mut jobs) = queue();
    (0..=LANE_COMMANDS).for_each(|_| queue.wake());
    assert_eq!(names(&next(&mut jobs)), [""; 0]);
    assert_eq!(jobs.next_group(NOW, || SLOW).err(), Some(RecvTimeoutError::Timeout));
    (0..=LANE_COMMANDS).for_each(|_| queue.wake());
    let pending = save(&queue, "s");
    assert_eq!(names(&next(&mut jobs)), ["s"]);
    assert_eq!(jobs.next_group(NOW, || SLOW).err(), Some(RecvTimeoutError::Timeout), "it has looked behind its group");
    queue.close();
    queue.wake();
    assert_eq!(
        jobs.next_group(NOW, || SLOW).err(),
        Some(RecvTimeoutError::Disconnected),
        "others may write all the time"
    );
    drop(pending);
}

#[tokio::test]
async fn each_lane_holds_a_bounded_number_of_commands_and_is_emptied_after_the_queue_is_closed() {
    let (queue, mut jobs) = queue();
    let mut pending: Vec<PendingOutcome> = (0..LANE_COMMANDS).map(|_| save(&queue, "s")).collect();
    let refused = queue.submit(None, write("one more"), None, None).err().unwrap();
    assert!(refused.message.starts_with("too many writes are waiting; nothing was applied"), "{refused}");
    pending.push(import(&queue, &ImportPieces::default(), "i", KIB).await);
    queue.close();
    assert!(queue.submit(None, write("late"), None, None).is_err() && !queue.is_open());
    assert_eq!(next(&mut jobs).len(), LANE_COMMANDS + 1);
    assert_eq!(jobs.next_group(NOW, || SLOW).err(), Some(RecvTimeoutError::Disconnected));
}

#[tokio::test]
async fn callers_get_an_error_if_the_committer_is_gone() {
    let (queue, jobs) = queue();
    let pending = save(&queue, "s");
    drop(jobs);
    assert_eq!(pending.wait().await.unwrap_err().code, Code::Internal);
    let refused = queue.submit(None, write("s"), None, None).err().unwrap();
    assert!(refused.message.contains("has stopped writing"), "{refused}");
}
