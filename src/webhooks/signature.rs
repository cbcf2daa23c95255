//! Signatures by the Standard Webhooks specification. Must not know the signed contents.

use base64::prelude::{BASE64_STANDARD, Engine};
use ring::hmac;

/// Returns the value of `webhook-signature` for a message. A secret is `whsec_` and Base64.
pub(super) fn sign(secret: &str, id: &str, seconds: i64, body: &[u8]) -> String {
    let bytes = BASE64_STANDARD.decode(secret.trim_start_matches("whsec_")).unwrap_or_default();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &bytes);
    let mut context = hmac::Context::with_key(&key);
    context.update(format!("{id}.{seconds}.").as_bytes());
    context.update(body);
    format!("v1,{}", BASE64_STANDARD.encode(context.sign()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This is the example of the specification's own libraries.
    #[test]
    fn the_published_example_has_the_published_signature() {
        let body = br#"{"test": 2432232314}"#;
        let signature =
            sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
