//! Encoding of keys and of lists of writes.

use super::*;

fn key() -> impl Strategy<Value = Key> {
    let id = || any::<u128>().prop_map(ResourceId::from_u128);
    let text = || {
        let any_length = prop_oneof![".{0,20}", "[a-z]{60,70}", ".{100,200}"];
        any_length.prop_map(|text: String| KeyText::from(text))
    };
    prop_oneof![
        prop::sample::select(vec![
            Counter::Blueprint,
            Counter::Member,
            Counter::Resource,
            Counter::Time,
            Counter::FirstChange,
            Counter::Actor,
            Counter::Leader,
            Counter::Format
        ])
        .prop_map(Key::Counter),
        any::<u64>().prop_map(Key::Superseded),
        any::<u64>().prop_map(Key::Changes),
        any::<u32>().prop_map(Key::Blueprint),
        any::<u32>().prop_map(Key::BlueprintChange),
        (any::<u32>(), any::<bool>()).prop_map(|(blueprint, is_public)| Key::ListVersion { blueprint, is_public }),
        (any::<u32>(), id()).prop_map(|(blueprint, id)| Key::Resource { blueprint, id }),
        (any::<u32>(), id(), any::<u16>(), any::<u64>()).prop_map(|(blueprint, id, variant, number)| Key::Copy {
            blueprint,
            id,
            variant,
            number
        }),
        (any::<u32>(), id()).prop_map(|(blueprint, id)| Key::Trashed { blueprint, id }),
        (any::<u32>(), any::<u64>(), id()).prop_map(|(blueprint, at, id)| Key::TrashOrder { blueprint, at, id }),
        any::<u32>().prop_map(Key::TrashTotal),
        any::<u32>().prop_map(Key::WorkingVersion),
        (any::<u64>(), any::<u32>(), id()).prop_map(|(at, blueprint, id)| Key::WorkingDue { at, blueprint, id }),
        (any::<u32>(), id(), any::<u16>()).prop_map(|(blueprint, id, variant)| Key::History { blueprint, id, variant }),
        (any::<u32>(), id(), any::<u16>(), any::<u32>()).prop_map(|(blueprint, id, variant, number)| Key::Revision {
            blueprint,
            id,
            variant,
            number
        }),
        (any::<u32>(), id(), any::<u16>(), any::<u64>())
            .prop_map(|(blueprint, id, variant, number)| { Key::FormerCopy { blueprint, id, variant, number } }),
        (any::<u32>(), text()).prop_map(|(blueprint, key)| Key::ImportKey { blueprint, key }),
        (any::<u32>(), id(), any::<u64>()).prop_map(|(blueprint, id, number)| Key::FormerImportKey {
            blueprint,
            id,
            number
        }),
        text().prop_map(Key::Token),
        text().prop_map(Key::Webhook),
        text().prop_map(Key::WebhookProgress),
        (id(), any::<u32>(), id(), any::<u16>()).prop_map(|(media, blueprint, id, variant)| Key::MediaUser {
            media,
            blueprint,
            id,
            variant
        }),
        (any::<[u8; 32]>(), any::<u32>(), id()).prop_map(|(hash, blueprint, id)| Key::FileOwner {
            hash,
            blueprint,
            id
        }),
        any::<[u8; 32]>().prop_map(Key::FileRemoval),
        any::<u64>().prop_map(Key::Member),
        any::<u64>().prop_map(Key::Password),
        any::<u64>().prop_map(Key::Invitation),
        text().prop_map(Key::Session),
        text().prop_map(Key::View),
        text().prop_map(Key::Synonym),
        text().prop_map(Key::SearchRule),
        (any::<u32>(), any::<u32>(), any::<u16>(), text())
            .prop_map(|(blueprint, claims, variant, value)| Key::Unique { blueprint, claims, variant, value }),
        (text(), text()).prop_map(|(token, key)| Key::Idempotency { token, key }),
    ]
}

fn writes() -> impl Strategy<Value = Vec<StoreWrite>> {
    let op = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..100).prop_map(WriteOp::Put),
        Just(WriteOp::Delete),
        Just(WriteOp::Reindex),
    ];
    prop::collection::vec((key(), op).prop_map(|(key, op)| StoreWrite { key, op }), 0..20)
}

proptest! {
    #[test]
    fn keys_survive_a_round_trip_and_none_is_a_prefix_of_another(a in key(), b in key()) {
        let bytes = a.encode();
        prop_assert_eq!(Key::decode(&bytes), Some(a.clone()));
        prop_assert!(bytes.len() <= 131, "{} bytes", bytes.len());
        if a != b {
            prop_assert!(!b.encode().starts_with(&bytes));
        }
        prop_assert_eq!(Key::decode(&bytes[..bytes.len() - 1]), None);
        prop_assert_eq!(Key::decode(&[&bytes[..], &[0]].concat()), None);
    }

    #[test]
    fn encoded_copies_are_ordered_by_blueprint_id_variant_and_number(
        a in (0..3u32, 0..3u128, 0..3u16, any::<u64>()),
        b in (0..3u32, 0..3u128, 0..3u16, any::<u64>()),
    ) {
        let copy = |(blueprint, id, variant, number)| {
            Key::Copy { blueprint, id: ResourceId::from_u128(id), variant, number }
        };
        prop_assert_eq!(copy(a).encode().cmp(&copy(b).encode()), a.cmp(&b));
    }

    #[test]
    fn writes_survive_a_round_trip_and_truncated_ones_are_rejected(
        writes in writes(),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = encode_writes(&writes);
        prop_assert_eq!(decode_writes(&bytes), Ok(writes));
        prop_assert!(decode_writes(&bytes[..cut.index(bytes.len())]).is_err());
    }

    #[test]
    fn decoding_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Key::decode(&bytes);
        let _ = decode_writes(&bytes);
        let _ = decode_writes(&[&[1, 9, 0, 0, 0], &bytes[..]].concat());
    }
}

#[test]
fn long_texts_are_distinguished_by_their_hash() {
    let long = |end: &str| KeyText::from("x".repeat(80) + end);
    assert_eq!(long("a"), long("a"));
    assert_ne!(long("a"), long("b"));
    assert_eq!(long("a").plain(), None);
    let longest = "y".repeat(64);
    assert_eq!(KeyText::from(longest.as_str()).plain(), Some(longest.as_str()));
}

#[test]
fn a_list_of_writes_in_a_newer_format_is_rejected() {
    let mut bytes = encode_writes(&[StoreWrite::delete(Key::Member(1))]);
    bytes[0] = 2;
    assert_eq!(decode_writes(&bytes), Err(WritesError::Version(2)));
}
