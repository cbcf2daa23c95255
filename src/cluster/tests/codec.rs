//! The encoding of groups, positions and the objects in JSON.

use proptest::collection::vec;
use proptest::prelude::*;
use uuid::Uuid;

use super::{create, memory_store};
use crate::group::GroupError;
use crate::{ChainHash, ClusterError, Group, NodeRecord, Position};

fn groups() -> impl Strategy<Value = Group> {
    let numbers = (any::<[u8; 16]>(), 1..u64::MAX, 1..u64::MAX / 2, any::<[u8; 32]>(), any::<[u8; 16]>(), any::<u64>());
    (numbers, vec(vec(any::<u8>(), 0..40), 0..8), "[a-z0-9.-]{1,20}").prop_map(|(numbers, records, writer)| {
        let (history, seq, first, previous, nonce, term) = numbers;
        let history = Uuid::from_bytes(history);
        Group { history, seq, first, records, previous: ChainHash(previous), nonce, writer, term }
    })
}

/// Replaces the hash at the end, so that what is before it is looked at.
fn rehash(bytes: &mut [u8]) {
    let end = bytes.len() - 32;
    let hash = *blake3::hash(&bytes[..end]).as_bytes();
    bytes[end..].copy_from_slice(&hash);
}

proptest! {
    #[test]
    fn a_group_decodes_to_what_was_encoded(group in groups()) {
        let (bytes, chain) = group.encode();
        prop_assert_eq!(bytes.len(), group.encoded_bytes());
        prop_assert_eq!(Group::decode(&bytes), Ok((group, chain)));
    }

    #[test]
    fn a_changed_or_cut_group_is_an_error(group in groups(), at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let (mut bytes, _) = group.encode();
        prop_assert!(Group::decode(&bytes[..at.index(bytes.len())]).is_err());
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(Group::decode(&bytes).is_err());
    }

    #[test]
    fn hostile_bytes_with_a_valid_hash_never_panic(
        group in groups(), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in 0_usize..60
    ) {
        let (mut bytes, _) = group.encode();
        bytes.truncate((bytes.len() - cut).max(40));
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        rehash(&mut bytes);
        if let Ok((group, _)) = Group::decode(&bytes) {
            prop_assert_eq!(group.encode().0, bytes);
        }
    }

    #[test]
    fn random_bytes_are_no_group(bytes in vec(any::<u8>(), 0..300)) {
        prop_assert!(Group::decode(&bytes).is_err());
    }
}

#[test]
fn a_count_that_the_bytes_do_not_justify_allocates_nothing() {
    let group = Group {
        history: Uuid::nil(),
        seq: 1,
        first: 1,
        records: vec![vec![1]],
        previous: ChainHash::start(Uuid::nil()),
        nonce: [0; 16],
        writer: "a".to_owned(),
        term: 0,
    };
    let (mut bytes, _) = group.encode();
    // The count is behind the magic, the version, the history and two numbers.
    let count = 7 + 1 + 16 + 8 + 8;
    assert_eq!(bytes[count], 1);
    bytes[count..count + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    rehash(&mut bytes);
    assert!(matches!(Group::decode(&bytes), Err(GroupError::Damaged(_))));
}

#[test]
fn a_newer_format_has_an_error_of_its_own() {
    let mut bytes = b"BNDYGRP\x02".to_vec();
    bytes.extend_from_slice(b"whatever a newer version writes");
    assert_eq!(Group::decode(&bytes), Err(GroupError::NewerVersion(2)));

    let store = memory_store();
    create(&store);
    let newer = bytes::Bytes::from_static(br#"{"format": 2, "name": "x"}"#);
    crate::objects::block(store.objects.overwrite("cluster.json", newer)).unwrap();
    let error = store.cluster().unwrap_err();
    assert!(matches!(error, ClusterError::NewerVersion { version: 2, .. }), "{error}");
    assert!(error.to_string().contains("newer version"), "{error}");
}

#[test]
fn a_position_is_the_same_after_json() {
    let position = Position::start(Uuid::from_u128(5), 12);
    let text = serde_json::to_string(&position).unwrap();
    assert!(text.starts_with(r#"{"seq":0,"number":12,"chain":""#), "{text}");
    assert_eq!(serde_json::from_str::<Position>(&text).unwrap(), position);
    assert!(serde_json::from_str::<Position>(&text.replace("\"}", "0\"}")).is_err());
}

#[test]
fn nodes_say_something_about_themselves() {
    let store = memory_store();
    create(&store);
    let mut record = NodeRecord {
        node: "b".to_owned(),
        address: "10.0.0.2:7700".to_owned(),
        version: "0.1.0".to_owned(),
        reads_format: 2,
        settings_hash: "abc".to_owned(),
        position: Position::start(Uuid::nil(), 1),
        at: 1,
        clock_error: -3,
    };
    store.put_node(&record).unwrap();
    record.at = 2;
    store.put_node(&record).unwrap();
    let other = NodeRecord { node: "a".to_owned(), ..record.clone() };
    store.put_node(&other).unwrap();
    crate::objects::block(store.objects.overwrite("nodes/broken.json", bytes::Bytes::from_static(b"{"))).unwrap();
    assert_eq!(store.nodes().unwrap(), [other, record.clone()]);
    store.remove_node("a").unwrap();
    assert_eq!(store.nodes().unwrap(), std::slice::from_ref(&record));
    let error = store.put_node(&NodeRecord { node: "../a".to_owned(), ..record }).unwrap_err();
    assert!(matches!(error, ClusterError::NodeName { .. }), "{error}");
}
