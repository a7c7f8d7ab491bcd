//! Secrets at rest, sealed with a key-encryption key that is not in the database.
//!
//! A [`Keyring`] seals a small secret (an HMAC key, a signing key) for one place, its *context*: the
//! same bytes do not open anywhere else, so a sealed value cannot be moved to another row. Keys are
//! rotated by adding a new primary to the keyring file; what older keys sealed still opens until
//! they are pruned, and running processes notice a changed file by themselves.
//!
//! Limits: AES-256-GCM with random 96-bit nonces, so one key should seal fewer than 2³² values
//! (NIST SP 800-38D section 8.3); rotate long before.

mod change;
mod envelope;
mod error;
mod key;
mod keyfile;
mod keyring;

pub use envelope::key_id;
pub use error::{KeyringError, SealError};
pub use keyring::{KeyInfo, Keyring};
