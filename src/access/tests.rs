#![allow(clippy::unwrap_used)]

use bindery_model::ability::Ability;
use bindery_model::error::Code;
use bindery_model::time::Millis;

use super::*;

fn token(abilities: &[Ability], expires_at: Option<Millis>) -> (Token, String) {
    let (secret, hash) = new_secret(SecretOf::Token).unwrap();
    let token = Token {
        id: "t1".to_owned(),
        name: "test".to_owned(),
        abilities: abilities.to_vec(),
        blueprints: Some(vec!["a".to_owned()]),
        created_at: 1,
        expires_at,
        used_at: Some(7),
        hash,
    };
    (token, secret)
}

#[test]
fn the_stored_form_restores_a_token_and_does_not_contain_its_secret() {
    let (token, secret) = token(&Ability::ALL, Some(5));
    let stored = token.encode();
    assert_eq!(Token::decode(&stored).unwrap(), token);
    assert!(!String::from_utf8_lossy(&stored).contains(&secret[4..20]));
}

#[test]
fn messages_distinguish_damaged_unknown_and_expired_tokens() {
    let (token, secret) = token(&[Ability::Preview], Some(100));
    let mut tokens = Tokens::default();
    tokens.insert(token);
    let access = tokens.authenticate(&secret, 99).unwrap().access();
    assert!(access.may(Ability::View) && access.may(Ability::Preview) && !access.may(Ability::Update));
    assert!(access.sees("a") && !access.sees("b"));

    let damaged = format!("{}0", &secret[..secret.len() - 1]);
    let damaged = if damaged == secret { format!("{}1", &secret[..secret.len() - 1]) } else { damaged };
    for (secret, now, part) in [
        (secret.as_str(), 100, "expired"),
        (damaged.as_str(), 0, "checksum"),
        (&new_secret(SecretOf::Token).unwrap().0, 0, "unknown"),
        ("", 0, "unknown"),
        ("bnd_é", 0, "checksum"),
    ] {
        let error = tokens.authenticate(secret, now).unwrap_err();
        assert_eq!(error.code, Code::Unauthenticated);
        assert!(error.message.contains(part), "{}", error.message);
    }
}

#[test]
fn a_patch_keeps_clears_or_sets_a_value() {
    assert_eq!(Patch::Keep.apply(Some(1)), Some(1));
    assert_eq!(Patch::Clear.apply(Some(1)), None);
    assert_eq!(Patch::Set(2).apply(None), Some(2));
}
