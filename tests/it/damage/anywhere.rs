//! Random damage in any file of a data folder. The folder is healed from its intact parts, or the server refuses to
//! start, or to answer. It never gives a wrong answer.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Site, site, titles};
use crate::folders::{listing, run};
use crate::oracle::random::Random;
use crate::support::Server;

/// The requests: pages, searches, counts, one resource.
const QUESTIONS: [&str; 7] = [
    "notes?per_page=100&fields=id,attributes.title",
    "notes?sort=-title&per_page=100&page=2&fields=attributes.title",
    "notes?search=note%205&sort=title&fields=attributes.title,attributes.body",
    "notes?filter[body][contains]=a1&sort=title&per_page=100&fields=id",
    "notes?filter[title]=note%2050&fields=attributes",
    "notes?q=note%2077&fields=attributes.title",
    "notes?filter[created_at][gt]=2000-01-01&sort=-created_at&per_page=3&fields=id",
];

/// Returns the answers, or the status of a request that is refused.
fn answers(server: &Server) -> Vec<Result<String, u16>> {
    let ask = |question: &&str| {
        let reply = server.get(&format!("/v2/resources/{question}"));
        let answer = || {
            let mut json = reply.json();
            // Links contain the address of the server.
            json["links"].take();
            json.to_string()
        };
        if reply.status == 200 { Ok(answer()) } else { Err(reply.status) }
    };
    QUESTIONS.iter().map(ask).collect()
}

/// Returns a random file of the folder that is not empty.
fn any_file(data: &Path, random: &mut Random) -> PathBuf {
    let files = listing(data).into_iter().filter(|(name, (bytes, ..))| *bytes > 0 && !name.ends_with("LOCK"));
    let files: Vec<PathBuf> = files.map(|(name, _)| data.join(name)).filter(|path| path.is_file()).collect();
    files[random.below(files.len())].clone()
}

/// Damages a file in one of the ways that occur on real disks. Returns a description.
fn damage(file: &Path, random: &mut Random) -> String {
    let mut bytes = fs::read(file).unwrap();
    // Some files end with a long part that is empty.
    let written = bytes.iter().rposition(|byte| *byte != 0).map_or(bytes.len(), |last| last + 1);
    let at = random.below(written);
    let what = match random.below(6) {
        0 => {
            fs::remove_file(file).unwrap();
            return format!("{} is removed", file.display());
        }
        1 => {
            bytes.truncate(at);
            "cut off"
        }
        2 => {
            let end = bytes.len().min(at + 512);
            bytes[at..end].fill(0);
            "zeros for a sector"
        }
        3 => {
            let end = bytes.len().min(at + 64);
            bytes[at..end].iter_mut().for_each(|byte| *byte = random.next() as u8);
            "garbage"
        }
        4 => {
            let other = random.below(written);
            bytes.swap(at, other);
            "two bytes swapped"
        }
        _ => {
            bytes[at] ^= 1 << random.below(8);
            "a flipped bit"
        }
    };
    fs::write(file, bytes).unwrap();
    format!("{}: {what} at {at} of {written}", file.display())
}

/// The outcomes of damaged folders.
#[derive(Debug, Default)]
struct Outcomes {
    healed: usize,
    refused_to_start: usize,
    refused_to_answer: usize,
}

fn try_damage(seeds: std::ops::Range<u64>) -> Outcomes {
    let whole: Site = site(false);
    let expected = {
        let copy = whole.damaged(|_| {});
        answers(&Server::start_in(&copy.path().join("data"), &[]))
    };
    assert!(expected.iter().all(Result::is_ok), "{expected:?}");
    let mut outcomes = Outcomes::default();
    for seed in seeds {
        let mut random = Random::new(seed);
        let folder = whole.damaged(|_| {});
        let data = folder.path().join("data");
        let what = damage(&any_file(&data, &mut random), &mut random);
        let mut server = match Server::try_start_in(&data) {
            Ok(server) => server,
            Err(message) => {
                assert!(message.starts_with("bindery: "), "try {seed}, {what}: {message}");
                let verified = run(&["verify"], &data);
                assert_eq!(verified.code, Some(1), "try {seed}, {what}: {message}, but {}", verified.text);
                outcomes.refused_to_start += 1;
                continue;
            }
        };
        let got = answers(&server);
        for (got, expected) in got.iter().zip(&expected) {
            let is_right = got == expected || got.as_ref().is_err_and(|status| *status >= 500);
            assert!(is_right, "try {seed}, {what}: {got:?} instead of {expected:?}");
        }
        let is_whole = got == expected;
        outcomes.healed += usize::from(is_whole);
        outcomes.refused_to_answer += usize::from(!is_whole);
        if is_whole {
            assert_eq!(titles(&server), whole.notes, "try {seed}, {what}");
            server.create("notes", serde_json::json!({ "title": "one more" }));
            server.terminate();
            server.restart();
            assert_eq!(titles(&server).len(), whole.notes.len() + 1, "try {seed}, {what}");
        }
    }
    eprintln!("{outcomes:?}");
    outcomes
}

#[test]
fn damage_anywhere_is_healed_or_refused() {
    try_damage(0..12);
}

#[test]
#[ignore = "long: 500 tries, about twenty minutes"]
fn damage_anywhere_is_healed_or_refused_in_500_tries() {
    let Outcomes { healed, refused_to_start, .. } = try_damage(100..600);
    assert!(healed > 0 && refused_to_start > 0);
}
