//! Verification of signatures: by the account that a request names, or by the key that it brings.

use std::sync::Arc;
use std::time::Instant;

use chancery_domain::AcmeAccountId;
use chancery_http::Exchange;
use chancery_jose::{Jwk, Jws, JwsError};
use chancery_service::Origin;
use chancery_service::acme::{AcmeCaller, Nonce};
use http::{Extensions, StatusCode};

use crate::mount::Door;
use crate::problem::{Problem, ProblemType};

/// Verifying a signature of 8192 bits takes four times as long, and anybody may bring a key.
const MAX_RSA_BITS: usize = 4096;

/// Finds the account's key, verifies the signature with it and admits the account; with the payload.
pub(crate) async fn authenticate(
    door: &Door,
    id: AcmeAccountId,
    jws: &Jws,
    nonce: Nonce,
    origin: &Origin,
    extensions: &Extensions,
) -> Result<(AcmeCaller, Vec<u8>), Problem> {
    let acme = &door.services.acme;
    let mut speaker = acme.key_of(id).await?;
    if let Some(exchange) = extensions.get::<Arc<Exchange>>() {
        exchange.check_new_work(extensions, speaker.reseller)?;
    }
    let mut verified = verify(jws, &speaker.key);
    if verified.is_err() && speaker.remembered {
        speaker = acme.read_key_of(id).await?;
        verified = verify(jws, &speaker.key);
    }
    let payload = verified.map_err(unverified)?.to_vec();
    let caller = acme.admit(id, nonce, &speaker, origin).await?;
    Ok((caller, payload))
}

/// Verifies a signature and measures how long that takes.
pub(crate) fn verify<'a>(jws: &'a Jws, key: &Jwk) -> Result<&'a [u8], JwsError> {
    let start = Instant::now();
    let verified = jws.verify(key);
    metrics::histogram!("chancery_crypto_seconds", "what" => "jws").record(start.elapsed());
    verified
}

/// Refuses an RSA key whose signatures take too long to verify. Only keys that come with a request are limited: an account
/// that was registered with a larger key keeps it.
pub(crate) fn require_size(key: &Jwk) -> Result<(), Problem> {
    match key.rsa_bits() {
        Some(bits) if bits > MAX_RSA_BITS => {
            let detail = format!(
                "the key in `jwk` is an RSA key of {bits} bits; use one of 2048 to {MAX_RSA_BITS} bits, or ECDSA, or Ed25519"
            );
            Err(Problem::new(ProblemType::BadPublicKey, StatusCode::BAD_REQUEST, detail))
        }
        Some(_) | None => Ok(()),
    }
}

/// Why a JWS does not verify.
fn unverified(error: JwsError) -> Problem {
    match error {
        JwsError::AlgorithmDoesNotFit(name) => {
            Problem::malformed(format!("`alg` is {name}, which does not go with this key"))
        }
        other => Problem::malformed(format!("{other}; sign with the key of the account, over the bytes you send")),
    }
}

/// Why a JWS that brings its key does not verify: a key that does not go with the algorithm, which we take, is the
/// wrong one (RFC 8555 section 6.2).
pub(crate) fn unverified_by_its_key(error: JwsError) -> Problem {
    match error {
        JwsError::AlgorithmDoesNotFit(name) => {
            let detail = format!("`alg` is {name}, which does not go with the key in `jwk`");
            Problem::new(ProblemType::BadPublicKey, StatusCode::BAD_REQUEST, detail)
        }
        other => Problem::malformed(format!("{other}; sign with the key in `jwk`, over the bytes you send")),
    }
}
