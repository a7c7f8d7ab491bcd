//! The files of an order: the key first and for its owner alone, the chain at the end, and no key is ever lost.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use chancery_pki::PrivateKey;
use clap::ValueEnum;
use der::pem::LineEnding;
use serde::{Deserialize, Serialize};

use super::journal::Journal;
use crate::failure::Failure;
use crate::files::{unwritable, write};

/// The kinds of keys, as the API calls them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyType {
    #[value(name = "ec-p256", alias = "p256")]
    EcP256,
    #[value(name = "ec-p384", alias = "p384")]
    EcP384,
    #[value(name = "rsa-2048")]
    Rsa2048,
    #[value(name = "rsa-3072")]
    Rsa3072,
    #[value(name = "rsa-4096")]
    Rsa4096,
}

impl From<KeyType> for chancery_pki::KeyAlgorithm {
    fn from(kind: KeyType) -> Self {
        match kind {
            KeyType::EcP256 => Self::EcP256,
            KeyType::EcP384 => Self::EcP384,
            KeyType::Rsa2048 => Self::Rsa2048,
            KeyType::Rsa3072 => Self::Rsa3072,
            KeyType::Rsa4096 => Self::Rsa4096,
        }
    }
}

/// Where key and certificate of an order go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// A key that was made for the order; none where the customer keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<NewKey>,
    pub certificate: PathBuf,
}

/// A key that waits for its certificate beside the place where it will be: what serves now goes on serving.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewKey {
    pub waiting: PathBuf,
    pub place: PathBuf,
    /// Whether a key that is there may be replaced.
    pub replace: bool,
}

/// The place for the certificate of these names.
pub fn certificate_path(folder: &Path, first_name: &str) -> PathBuf {
    folder.join(format!("{}.pem", file_name(first_name)))
}

/// Keeps a new key before anything is ordered with it.
pub fn keep_key(folder: &Path, first_name: &str, key: &PrivateKey, replace: bool) -> Result<NewKey, Failure> {
    let place = folder.join(format!("{}-key.pem", file_name(first_name)));
    let waiting = folder.join(format!("{}-key.pem.new", file_name(first_name)));
    if place.exists() && !replace {
        return Err(taken(&place));
    }
    let der = key.to_pkcs8().map_err(Failure::failed)?;
    let pem = der::pem::encode_string("PRIVATE KEY", LineEnding::LF, &der).map_err(Failure::failed)?;
    if replace {
        write(&waiting, &pem, 0o600)?;
    } else {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&waiting);
        let written = file.and_then(|mut file| file.write_all(pem.as_bytes()).and_then(|()| file.sync_all()));
        written.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => under_way(&waiting),
            _ => unwritable("write", &waiting, &error),
        })?;
    }
    Ok(NewKey { waiting, place, replace })
}

/// A key that the customer has already.
pub fn read_key(path: &Path) -> Result<PrivateKey, Failure> {
    let shown = path.display();
    let text = fs::read(path).map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
    let bad = |reason: String| {
        Failure::usage(format!("{shown} is not a key that can be used: {reason}"))
            .advise("it has to be in PEM, PKCS #8, without a password: openssl pkcs8 -topk8 -nodes converts others")
    };
    let (label, der) = der::pem::decode_vec(&text).map_err(|error| bad(error.to_string()))?;
    if label != "PRIVATE KEY" {
        return Err(bad(format!("it is a {label}")));
    }
    PrivateKey::from_pkcs8(&der).map_err(|error| bad(error.to_string()))
}

impl Files {
    /// Puts key and certificate in their places.
    pub fn finish(&self, chain: &str) -> Result<(), Failure> {
        if let Some(key) = &self.key {
            key.put_in_place()?;
        }
        write(&self.certificate, chain, 0o644)
    }
}

impl NewKey {
    /// A key that somebody put there meanwhile is not overwritten either.
    fn put_in_place(&self) -> Result<(), Failure> {
        if !self.waiting.exists() && self.place.exists() {
            // An earlier attempt came as far as this.
            return Ok(());
        }
        if self.replace {
            return fs::rename(&self.waiting, &self.place).map_err(|error| unwritable("write", &self.place, &error));
        }
        // Unlike a rename, a link never replaces anything.
        fs::hard_link(&self.waiting, &self.place).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => taken(&self.place),
            _ => unwritable("write", &self.place, &error),
        })?;
        fs::remove_file(&self.waiting).map_err(|error| unwritable("remove", &self.waiting, &error))
    }
}

fn under_way(waiting: &Path) -> Failure {
    let order = Journal::of_key(waiting).unwrap_or_else(|| "ORDER".to_owned());
    Failure::usage(format!("{} is the key of an order under way", waiting.display())).advise(format!(
        "go on with that order: chancery my order resume {order}; or give it up: chancery my order cancel {order}; or \
         drop its key with --force"
    ))
}

fn taken(path: &Path) -> Failure {
    Failure::usage(format!("{} is there already, and a key is not overwritten", path.display()))
        .advise("use it with --key, choose another folder with --out, or add --force to replace it")
}

/// `*` and `:` are trouble in names of files.
fn file_name(name: &str) -> String {
    name.replace(['*', ':', '/'], "_")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn key() -> PrivateKey {
        PrivateKey::generate(chancery_pki::KeyAlgorithm::EcP256).unwrap()
    }

    #[test]
    fn a_key_is_for_its_owner_alone_and_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let kept = keep_key(folder.path(), "*.a.test", &key(), false).unwrap();
        assert!(!kept.place.exists());
        let again = keep_key(folder.path(), "*.a.test", &key(), false).unwrap_err().to_string();
        assert!(again.contains("under way"), "{again}");
        let files = Files { key: Some(kept.clone()), certificate: certificate_path(folder.path(), "*.a.test") };
        files.finish("chain").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&kept.place), mode(&files.certificate)), (0o600, 0o644));
        assert!(!kept.waiting.exists() && kept.place.ends_with("_.a.test-key.pem"));
        files.finish("chain").unwrap();
        let refused = keep_key(folder.path(), "*.a.test", &key(), false).unwrap_err().to_string();
        assert!(refused.contains("not overwritten"), "{refused}");
    }

    #[test]
    fn a_key_that_may_be_replaced_is_replaced_only_when_the_certificate_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a.test-key.pem");
        fs::write(&place, "old").unwrap();
        let kept = keep_key(folder.path(), "a.test", &key(), true).unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "old");
        Files { key: Some(kept), certificate: certificate_path(folder.path(), "a.test") }.finish("chain").unwrap();
        assert!(read_key(&place).is_ok());
    }

    #[test]
    fn a_key_that_came_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let kept = keep_key(folder.path(), "a.test", &key(), false).unwrap();
        fs::write(&kept.place, "of somebody else").unwrap();
        let files = Files { key: Some(kept.clone()), certificate: certificate_path(folder.path(), "a.test") };
        assert!(files.finish("chain").is_err());
        assert_eq!(fs::read_to_string(&kept.place).unwrap(), "of somebody else");
        assert!(kept.waiting.exists());
    }
}
