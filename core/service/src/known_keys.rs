//! Keys that others have: blocked for ever, and looked up before anything is signed for them.
//!
//! A key is known by the hash of what stands in a certificate. Of an RSA key the modulus is known besides: whoever has its primes
//! can make a key of it with every other exponent.

use chancery_domain::{IssuerId, RevocationReason};
use chancery_pki::{Certificate, SubscriberKey};
use chancery_store::{Bar, StoreError, Tx};

use crate::kernel::Kernel;

/// Blocks a key that was revoked as compromised, where that is the reason; `certificate` has it, in DER. Says whether it was
/// not blocked before.
pub(crate) fn block_if_compromised(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    key_hash: Option<&[u8]>,
    certificate: Option<&[u8]>,
    reason: RevocationReason,
) -> Result<bool, StoreError> {
    let (Some(hash), RevocationReason::KeyCompromise) = (key_hash, reason) else { return Ok(false) };
    let new = tx.block_key(hash, reason.as_str(), kernel.now())?;
    if let Some(modulus) = certificate.and_then(modulus_of) {
        tx.block_key(&modulus, reason.as_str(), kernel.now())?;
    }
    Ok(new)
}

fn modulus_of(certificate: &[u8]) -> Option<[u8; 32]> {
    let spki = Certificate::from_der(certificate).ok()?.spki().ok()?;
    SubscriberKey::from_spki(&spki).ok()?.modulus_sha256().copied()
}

/// Whether others have this key.
pub(crate) fn is_blocked(tx: &mut Tx<'_>, key: &SubscriberKey) -> Result<bool, StoreError> {
    for hash in key.hashes() {
        if tx.blocked_key(hash)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Nobody can block the key nor revoke the CA until this unit ends. Ask for the [`bar`] afterwards.
pub(crate) fn hold(tx: &mut Tx<'_>, key: &SubscriberKey, issuer: IssuerId) -> Result<(), StoreError> {
    key.hashes().try_for_each(|hash| tx.hold_bars(hash, issuer))
}

/// What stands against signing for this key by this CA, whatever else was found good.
pub(crate) fn bar(tx: &mut Tx<'_>, key: &SubscriberKey, issuer: IssuerId) -> Result<Option<Bar>, StoreError> {
    let hashes: Vec<_> = key.hashes().map(<[u8; 32]>::as_slice).collect();
    tx.bar_to_signing(&hashes, issuer)
}
