//! What can go wrong. No message holds key material, plaintext or the text of a keyring file.

use std::{io, path::PathBuf};

/// Why a sealed value did not open.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The bytes are not a sealed value: too short, or the key id is not text.
    #[error("not a sealed value")]
    Malformed,
    /// Sealed by a newer version of this program.
    #[error("sealed value has version {0}, which this program does not know")]
    Version(u8),
    /// The key was pruned, or belongs to another keyring.
    #[error("sealed with key {0:?}, which is not in the keyring")]
    UnknownKey(String),
    /// The value was changed, or it was sealed for another context.
    #[error("sealed value was altered or belongs elsewhere")]
    Refused,
    /// The keyring had to be read again to look for the key, and could not be.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
}

/// Why a keyring could not be made, read or changed.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The file system said no.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was attempted, e.g. "read".
        action: &'static str,
        /// The file it was attempted on.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// Others than the owner may read or write the file.
    #[error("keyring {p} has mode {mode:04o}, others can reach it; run: chmod 600 {p}", p = path.display())]
    Exposed {
        /// The keyring file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// [`Keyring::create`](crate::Keyring::create) found one already.
    #[error("keyring {} exists and is never overwritten", path.display())]
    Exists {
        /// The keyring file.
        path: PathBuf,
    },
    /// A new file cannot be given to whom the keyring belongs, who could not read it then.
    #[error("keyring {p} belongs to user {owner}, to whom user {user} cannot give a new file ({source}); run this as user {owner} or as root, or first: chown {user} {p}", p = path.display())]
    Owner {
        /// The keyring file.
        path: PathBuf,
        /// To whom it belongs.
        owner: u32,
        /// Who tried.
        user: u32,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A symbolic link in the place of the keyring ends in a folder that is not there.
    #[error("{} is a link to nothing: there is no folder for {}; make it, mount its disk, or remove the link", path.display(), target.display())]
    Dangling {
        /// The link.
        path: PathBuf,
        /// Where it ends.
        target: PathBuf,
    },
    /// The file is not a keyring.
    #[error("keyring {}: {reason}", path.display())]
    Malformed {
        /// The keyring file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A key given as text is not 32 bytes in base64.
    #[error("the key must be 32 bytes in base64")]
    BadKey,
    /// A key to keep is not in the keyring: what it sealed is lost already, or the id is mistyped.
    #[error("key {0:?} is to be kept but is not in the keyring; nothing was pruned")]
    KeepUnknown(String),
}
