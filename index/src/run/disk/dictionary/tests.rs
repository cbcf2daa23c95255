#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::interrupt::Interrupt;
use crate::run::checked::CheckedFile;
use crate::run::postings::{Posting, PostingList};
use crate::run::sums::RunFolder;

/// The documents that have each string, each with its count.
type Contents = BTreeMap<String, BTreeMap<u32, u32>>;

fn contents() -> impl Strategy<Value = Contents> {
    let documents = prop_oneof![
        9 => prop::collection::btree_map(0..400u32, 1..4u32, 1..3),
        1 => prop::collection::btree_map(0..400u32, 1..4u32, 100..160),
    ];
    prop::collection::btree_map("[abc]{0,5}", documents, 0..60)
}

fn write(folder: &Path, contents: &Contents, of: StringsOf) -> Dictionary {
    std::fs::create_dir_all(folder).unwrap();
    let mut writer = DictionaryWriter::create(RunFolder::to_end(folder)).unwrap();
    let fill = |sink: &mut StringSink<'_>| {
        contents.iter().try_for_each(|(string, documents)| put(string, documents, of, sink))
    };
    writer.list(1, of, fill).unwrap();
    open(folder, writer)
}

fn put(string: &str, documents: &BTreeMap<u32, u32>, of: StringsOf, sink: &mut StringSink<'_>) -> std::io::Result<()> {
    let counts: Vec<u32> = if of.has_counts() { documents.values().copied().collect() } else { Vec::new() };
    sink(string.as_bytes(), Posting { documents: &documents.keys().copied().collect::<Vec<_>>(), counts: &counts })
}

fn open(folder: &Path, writer: DictionaryWriter) -> Dictionary {
    let sums = writer.finish(1_000).unwrap();
    Dictionary::open(&CheckedFile::open(folder, sums, &Arc::default()).unwrap()).unwrap()
}

fn read(dictionary: &Dictionary, list: PostingList) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let read = dictionary.lists.each(list, &mut Default::default(), |document, count| found.push((document, count)));
    read.unwrap();
    found
}

/// Returns the strings of the list with their documents and counts. The counts are 1 in a list without counts.
fn all(dictionary: &Dictionary, of: StringsOf) -> Vec<(String, Vec<(u32, u32)>)> {
    let Some(strings) = dictionary.strings(1, of) else { return Vec::new() };
    let text = |string: &[u8]| str::from_utf8(string).unwrap().to_owned();
    strings.cursor(&dictionary.lists).map(|(string, list)| (text(string), read(dictionary, list))).collect()
}

fn expected(contents: &Contents, of: StringsOf) -> Vec<(String, Vec<(u32, u32)>)> {
    let count = |count: u32| if of.has_counts() { count } else { 1 };
    let documents = |of: &BTreeMap<u32, u32>| of.iter().map(|(&document, &often)| (document, count(often))).collect();
    contents.iter().map(|(string, of)| (string.clone(), documents(of))).collect()
}

proptest! {
    #[test]
    fn strings_are_found_as_by_a_test_of_each(
        contents in contents(),
        needle in "[abc]{0,3}",
        of in prop_oneof![Just(StringsOf::Joints), Just(StringsOf::Words)],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let dictionary = write(folder.path(), &contents, of);
        let all_expected = expected(&contents, of);
        prop_assert_eq!(&all(&dictionary, of), &all_expected);
        prop_assert_eq!(dictionary.postings(), all_expected.iter().map(|(_, list)| list.len() as u64).sum::<u64>());
        let found = |place| {
            let lists = dictionary.find(1, of, needle.as_bytes(), place, &Interrupt::never()).unwrap();
            lists.into_iter().map(|list| read(&dictionary, list)).collect::<Vec<_>>()
        };
        let expected = |test: &dyn Fn(&str) -> bool| {
            let matching = all_expected.iter().filter(|(string, _)| test(string));
            matching.map(|(_, list)| list.clone()).collect::<Vec<_>>()
        };
        prop_assert_eq!(found(Place::AtStart), expected(&|string| string.starts_with(&needle)));
        prop_assert_eq!(found(Place::Whole), expected(&|string| string == needle));
        if !needle.is_empty() {
            prop_assert_eq!(found(Place::AtEnd), expected(&|string| string.ends_with(&needle)));
            prop_assert_eq!(found(Place::Anywhere), expected(&|string| string.contains(&needle)));
            if let Some(strings) = dictionary.strings(1, of) {
                // So short that strings lie across the ends of pieces.
                let in_pieces = strings.containing_in_pieces(4, needle.as_bytes(), &Interrupt::never()).unwrap();
                let in_one = strings.containing_in_pieces(usize::MAX / 2, needle.as_bytes(), &Interrupt::never()).unwrap();
                prop_assert_eq!(in_pieces, in_one);
            }
        }
    }

    #[test]
    fn strings_are_picked_as_by_a_test_of_each(
        contents in contents(),
        hopeless in "[abc]{1,2}",
        beginning in "[abc]{0,1}",
        next in prop::sample::select(vec!['a', 'b', 'c']),
        from in "[abc]{0,2}",
        to in "[abc]{0,2}",
    ) {
        let folder = tempfile::tempdir().unwrap();
        let dictionary = write(folder.path(), &contents, StringsOf::Words);
        let bound = format!("{beginning}{next}");
        let is_before = |string: &str| string.starts_with(&beginning) && *string < *bound;
        let is_picked = |string: &str| {
            !string.starts_with(&hopeless) && !is_before(string) && string.len().is_multiple_of(2)
        };
        let pick = |string: &[u8]| {
            let string = str::from_utf8(string).unwrap();
            match string.starts_with(&hopeless) {
                true => PickResult::NoneBefore { shared: hopeless.len(), next: None },
                false if is_before(string) => PickResult::NoneBefore { shared: beginning.len(), next: Some(next) },
                false if is_picked(string) => PickResult::Yes(string.to_owned()),
                false => PickResult::No,
            }
        };
        let range = from.as_bytes()..to.as_bytes();
        let found = dictionary.pick(1, StringsOf::Words, range, &Interrupt::never(), pick).unwrap();
        let found: Vec<_> = found.into_iter().map(|(string, list)| (string, read(&dictionary, list))).collect();
        let is_wanted = |string: &String| (&from..&to).contains(&string) && is_picked(string);
        let all = expected(&contents, StringsOf::Words).into_iter().filter(|(string, _)| is_wanted(string));
        prop_assert_eq!(found, all.collect::<Vec<_>>());
    }

    #[test]
    fn merging_renumbers_documents_and_drops_those_not_kept(
        contents in prop::collection::vec(contents(), 1..4),
        kept in prop::collection::vec(any::<bool>(), 1_600),
        of in prop_oneof![Just(StringsOf::Joints), Just(StringsOf::Words)],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = |number: usize| folder.path().join(number.to_string());
        let numbered = contents.iter().enumerate();
        let inputs: Vec<Dictionary> = numbered.map(|(number, contents)| write(&path(number), contents, of)).collect();
        let mut next = 0;
        let new_numbers: Vec<Vec<u32>> = kept.chunks(400).take(inputs.len()).map(|kept| {
            let number = |kept: &bool| if *kept { next += 1; next - 1 } else { DROPPED };
            kept.iter().map(number).collect()
        }).collect();
        let merged_inputs: Vec<DictionaryInput<'_>> = inputs.iter().zip(&new_numbers)
            .map(|(dictionary, new_numbers)| DictionaryInput { dictionary, new_numbers }).collect();
        std::fs::create_dir(path(9)).unwrap();
        let mut writer = DictionaryWriter::create(RunFolder::to_end(&path(9))).unwrap();
        writer.list(1, of, |sink| merge(&merged_inputs, 1, of, sink)).unwrap();
        let merged = open(&path(9), writer);

        let mut left = Contents::new();
        for (contents, new_numbers) in contents.iter().zip(&new_numbers) {
            for (string, documents) in contents {
                let kept = documents.iter().map(|(&document, &count)| (new_numbers[document as usize], count));
                let kept: Vec<_> = kept.filter(|(new, _)| *new != DROPPED).collect();
                if !kept.is_empty() {
                    left.entry(string.clone()).or_default().extend(kept);
                }
            }
        }
        prop_assert_eq!(all(&merged, of), expected(&left, of));
    }
}
