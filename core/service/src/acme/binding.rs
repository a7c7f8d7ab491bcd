//! External account binding (RFC 8555 section 7.3.4): which customer a new ACME account belongs to.

use chancery_domain::{EabCredential, Kid, cut};
use chancery_jose::{HmacKey, Jwk, Jws, JwsError};
use chancery_store::Tx;

use super::AcmeError;
use crate::error::ServiceError;
use crate::kernel::{Kernel, sealed_column};

/// Verifies a binding for a key, and gives the credential it was made with.
pub(super) fn verify(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    binding: &Jws,
    key: &Jwk,
    url: &str,
) -> Result<EabCredential, ServiceError> {
    let kid = named(binding, url)?;
    let (credential, sealed) = find(tx, kid)?;
    let context = sealed_column("eab_credentials").context(credential.id);
    let secret = kernel.keyring.open(&context, &sealed).map_err(ServiceError::internal)?;
    require_bound(binding, &secret, key)?;
    if credential.revoked_at.is_some() {
        return Err(unauthorized(&format!("the credential {kid} is revoked; ask your provider for a new one")).into());
    }
    if credential.terms.expires_at.is_some_and(|end| kernel.now() >= end) {
        return Err(unauthorized(&format!("the credential {kid} has expired; ask your provider for a new one")).into());
    }
    let most = match kernel.settings.acme.single_use {
        true => Some(1),
        false => credential.terms.max_bindings.map(i64::from),
    };
    if most.is_some_and(|most| credential.bindings >= most) {
        let why = format!("the credential {kid} has bound all the accounts it may; ask your provider for a new one");
        return Err(unauthorized(&why).into());
    }
    Ok(credential)
}

/// The key id that a binding for this URL names (RFC 8555 section 7.3.4).
pub(crate) fn named<'a>(binding: &'a Jws, url: &str) -> Result<&'a str, AcmeError> {
    let header = binding.header();
    if !header.alg.is_hmac() {
        let why = format!("the algorithm is {}; it must be HS256, HS384 or HS512", header.alg.name());
        return Err(malformed(&why));
    }
    if header.members.contains_key("nonce") {
        return Err(malformed("it must not have a `nonce`"));
    }
    match header.members.get("url").and_then(|url| url.as_str()) {
        Some(own) if own == url => {}
        Some(own) => {
            let own = cut(own, 200);
            return Err(malformed(&format!("its `url` is {own}; it must be that of this request, {url}")));
        }
        None => return Err(malformed("it has no `url`; it must be that of this request")),
    }
    header.kid.as_deref().ok_or_else(|| malformed("it has no `kid`"))
}

/// That the holder of this secret has bound this key.
pub(crate) fn require_bound(binding: &Jws, secret: &[u8], key: &Jwk) -> Result<(), ServiceError> {
    let mac = HmacKey::of_one_secret(binding.header().alg, secret).map_err(ServiceError::internal)?;
    let payload = binding.verify(&mac).map_err(|error| match error {
        JwsError::BadSignature => unauthorized(
            "the MAC does not match; check that the HMAC key is that of this kid, complete, and decoded from base64url",
        ),
        other => malformed(&other.to_string()),
    })?;
    // Compared as a key: the JSON may be written in another order, or say more than the key.
    let bound = Jwk::parse(payload).map_err(|error| malformed(&format!("its payload is not a public key: {error}")))?;
    if bound == *key {
        Ok(())
    } else {
        Err(malformed("its payload is another key than the one of this request").into())
    }
}

fn find(tx: &mut Tx<'_>, kid: &str) -> Result<(EabCredential, Vec<u8>), ServiceError> {
    let found = match kid.parse::<Kid>() {
        Ok(kid) => tx.any_credential(kid)?,
        Err(_) => None,
    };
    found.ok_or_else(|| {
        let shown = cut(kid, 100);
        unauthorized(&format!("there is no credential with the key id {shown:?}")).into()
    })
}

fn malformed(why: &str) -> AcmeError {
    AcmeError::Malformed(format!("external account binding: {why}"))
}

fn unauthorized(why: &str) -> AcmeError {
    AcmeError::Unauthorized(format!("external account binding: {why}"))
}
