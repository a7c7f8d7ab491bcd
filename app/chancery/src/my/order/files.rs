//! The files of an order: the key first and for its owner alone, the chain at the end, and no key is ever lost.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use chancery_domain::Entropy;
use chancery_machine::SystemEntropy;
use chancery_pki::PrivateKey;
use clap::ValueEnum;
use data_encoding::{BASE64, HEXLOWER};
use der::pem::LineEnding;
use serde::{Deserialize, Serialize};

use super::journal::Journal;
use crate::failure::Failure;
use crate::files::{beside, folder_of, remove, unwritable, write};

/// Longer than anybody takes who puts two files in place.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

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
    /// What tells it from other keys that come to be in these places: its public key, in base64. Earlier versions did not
    /// write it down; then any key is taken for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    public_key: Option<String>,
}

/// The place for the certificate of these names.
pub fn certificate_path(folder: &Path, first_name: &str) -> PathBuf {
    folder.join(format!("{}.pem", file_name(first_name)))
}

fn key_path(folder: &Path, first_name: &str) -> PathBuf {
    folder.join(format!("{}-key.pem", file_name(first_name)))
}

/// Keeps a new key before anything is ordered with it. Where keys may be replaced, several orders for a name may be under way,
/// each of which has its own. `profile` is the flag that names the service in other commands.
pub fn keep_key(
    folder: &Path,
    first_name: &str,
    key: &PrivateKey,
    replace: bool,
    profile: &str,
) -> Result<NewKey, Failure> {
    let place = key_path(folder, first_name);
    if place.exists() && !replace {
        return Err(taken(&place));
    }
    let waiting = match replace {
        false => beside(&place, ".new"),
        true => beside(&place, &format!(".new-{}", random_suffix())),
    };
    let der = key.to_pkcs8().map_err(Failure::failed)?;
    let pem = der::pem::encode_string("PRIVATE KEY", LineEnding::LF, &der).map_err(Failure::failed)?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&waiting);
    let written = file.and_then(|mut file| file.write_all(pem.as_bytes()).and_then(|()| file.sync_all()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => under_way(&waiting, profile),
        _ => unwritable("write", &waiting, &error),
    })?;
    Ok(NewKey { waiting, place, replace, public_key: Some(public_key(key)) })
}

fn public_key(key: &PrivateKey) -> String {
    BASE64.encode(key.public_key_info())
}

fn random_suffix() -> String {
    let mut random = [0; 4];
    SystemEntropy.fill(&mut random);
    HEXLOWER.encode(&random)
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
    /// Puts key and certificate in their places, with nobody else doing so in between: they belong together.
    pub fn finish(&self, chain: &str) -> Result<(), Failure> {
        let _turn = turn_in(folder_of(&self.certificate))?;
        if let Some(key) = &self.key {
            key.put_in_place()?;
        }
        write(&self.certificate, chain, 0o644)
    }

    /// The same in another folder. Key and certificate belong together.
    pub fn moved_to(self, folder: &Path, first_name: &str) -> Self {
        let moved = |key: NewKey| {
            let place = key_path(folder, first_name);
            // It was said of the place that it was ordered for alone that a key may be replaced there.
            NewKey { replace: key.replace && place == key.place, place, ..key }
        };
        Self { key: self.key.map(moved), certificate: certificate_path(folder, first_name) }
    }
}

/// Waits until nobody else puts files of an order into this folder.
fn turn_in(folder: &Path) -> Result<File, Failure> {
    let file = File::open(folder).map_err(|error| unwritable("lock", folder, &error))?;
    let end = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(unwritable("lock", folder, &error)),
            Err(TryLockError::WouldBlock) if Instant::now() < end => sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::failed(format!("another program holds {} locked", folder.display()))
                    .advise("resume the order when that is over: its certificate stays where it is"));
            }
        }
    }
}

impl NewKey {
    /// A key that somebody put there meanwhile is not overwritten either.
    fn put_in_place(&self) -> Result<(), Failure> {
        if self.public_key.is_some() && self.is_at(&self.place) {
            // An earlier attempt came as far as this.
            return self.give_up();
        }
        if !self.is_at(&self.waiting) {
            return if self.is_at(&self.place) { Ok(()) } else { Err(self.lost()) };
        }
        if folder_of(&self.waiting) == folder_of(&self.place) {
            return self.put_from(&self.waiting);
        }
        // Perhaps on another disk.
        let copy = beside(&self.place, &format!(".new-{}", random_suffix()));
        let pem = fs::read_to_string(&self.waiting).map_err(|error| unwritable("read", &self.waiting, &error))?;
        write(&copy, &pem, 0o600)?;
        if let Err(failure) = self.put_from(&copy) {
            remove(&copy)?;
            return Err(failure);
        }
        remove(&self.waiting)
    }

    /// From a file beside it.
    fn put_from(&self, ready: &Path) -> Result<(), Failure> {
        if self.replace {
            return fs::rename(ready, &self.place).map_err(|error| unwritable("write", &self.place, &error));
        }
        // Unlike a rename, a link never replaces anything.
        fs::hard_link(ready, &self.place).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => taken(&self.place),
            _ => unwritable("write", &self.place, &error),
        })?;
        remove(ready)
    }

    /// Removes it where no certificate came of it. What others have put there meanwhile stays.
    pub fn give_up(&self) -> Result<(), Failure> {
        if self.is_at(&self.waiting) { remove(&self.waiting) } else { Ok(()) }
    }

    fn is_at(&self, path: &Path) -> bool {
        match &self.public_key {
            Some(known) => read_key(path).is_ok_and(|found| public_key(&found) == *known),
            None => path.exists(),
        }
    }

    fn lost(&self) -> Failure {
        let waiting = self.waiting.display();
        Failure::failed(format!(
            "the key of this order is not in {waiting} any more, and its certificate is of no use without it"
        ))
        .advise(
            "put the key back and resume the order; or revoke the certificate (chancery my revoke), and order again",
        )
    }
}

fn under_way(waiting: &Path, profile: &str) -> Failure {
    let shown = waiting.display();
    match Journal::of_key(waiting) {
        Some(order) => Failure::usage(format!("{shown} is the key of an order under way")).advise(format!(
            "go on with that order: chancery my order resume {order}{profile}; or give it up: chancery my order cancel \
             {order}{profile}; or order beside it with --force"
        )),
        None => {
            Failure::usage(format!("{shown} is a key that was made for an order, which is not known here")).advise(
                "wait if somebody is just ordering; remove it if nothing came of that order; or order beside it with --force",
            )
        }
    }
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
        let kept = keep_key(folder.path(), "*.a.test", &key(), false, "").unwrap();
        assert!(!kept.place.exists());
        let again = keep_key(folder.path(), "*.a.test", &key(), false, "").unwrap_err().to_string();
        assert!(again.contains("made for an order"), "{again}");
        let files = Files { key: Some(kept.clone()), certificate: certificate_path(folder.path(), "*.a.test") };
        files.finish("chain").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&kept.place), mode(&files.certificate)), (0o600, 0o644));
        assert!(!kept.waiting.exists() && kept.place.ends_with("_.a.test-key.pem"));
        files.finish("chain").unwrap();
        let refused = keep_key(folder.path(), "*.a.test", &key(), false, "").unwrap_err().to_string();
        assert!(refused.contains("not overwritten"), "{refused}");
    }

    #[test]
    fn a_key_that_may_be_replaced_is_replaced_only_when_the_certificate_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a.test-key.pem");
        fs::write(&place, "old").unwrap();
        let kept = keep_key(folder.path(), "a.test", &key(), true, "").unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "old");
        Files { key: Some(kept), certificate: certificate_path(folder.path(), "a.test") }.finish("chain").unwrap();
        assert!(read_key(&place).is_ok());
    }

    #[test]
    fn of_several_orders_for_a_name_each_has_its_key_until_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let certificate = certificate_path(folder.path(), "a.test");
        let [one, two, three] = [1, 2, 3].map(|_| keep_key(folder.path(), "a.test", &key(), true, "").unwrap());
        for kept in [&two, &one] {
            Files { key: Some(kept.clone()), certificate: certificate.clone() }.finish("chain").unwrap();
            assert!(kept.is_at(&kept.place) && !kept.waiting.exists());
        }
        three.give_up().unwrap();
        assert!(one.is_at(&one.place) && !three.waiting.exists());
        // Of the others nothing is left to be put in place.
        for gone in [two, three] {
            let lost = Files { key: Some(gone), certificate: certificate.clone() }
                .finish("of no key")
                .unwrap_err()
                .to_string();
            assert!(lost.contains("not in"), "{lost}");
        }
        assert_eq!(fs::read_to_string(certificate).unwrap(), "chain");
    }

    #[test]
    fn a_key_that_another_order_has_put_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let mine = keep_key(folder.path(), "a.test", &key(), false, "").unwrap();
        fs::remove_file(&mine.waiting).unwrap();
        let theirs = keep_key(folder.path(), "a.test", &key(), false, "").unwrap();
        let files = Files { key: Some(mine.clone()), certificate: certificate_path(folder.path(), "a.test") };
        assert!(files.finish("chain").is_err() && !files.certificate.exists());
        mine.give_up().unwrap();
        assert!(theirs.is_at(&theirs.waiting));
    }

    #[test]
    fn what_was_begun_is_finished_elsewhere_and_after_a_crash() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut kept = keep_key(folder.path(), "a.test", &key(), false, "").unwrap();
        let files = Files { key: Some(kept.clone()), certificate: certificate_path(folder.path(), "a.test") };
        let moved = files.clone().moved_to(other.path(), "a.test");
        moved.finish("chain").unwrap();
        let names = |folder: &tempfile::TempDir| {
            let mut names: Vec<_> = fs::read_dir(folder.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        assert_eq!(
            (names(&folder), names(&other)),
            (vec![], vec!["a.test-key.pem".to_owned(), "a.test.pem".to_owned()])
        );
        assert!(kept.is_at(&moved.key.as_ref().unwrap().place));
        // Nor is one replaced there, though it might have been where it was ordered for.
        let forced = keep_key(folder.path(), "a.test", &key(), true, "").unwrap();
        let elsewhere = Files { key: Some(forced.clone()), certificate: certificate_path(folder.path(), "a.test") };
        assert!(elsewhere.moved_to(other.path(), "a.test").finish("chain").is_err());
        forced.give_up().unwrap();
        // Linked, and not yet removed from where it waited.
        fs::hard_link(other.path().join("a.test-key.pem"), &kept.waiting).unwrap();
        fs::hard_link(&kept.waiting, &kept.place).unwrap();
        files.finish("chain").unwrap();
        assert_eq!(names(&folder), names(&other));
        // As earlier versions left it.
        fs::rename(&kept.place, &kept.waiting).unwrap();
        kept.public_key = None;
        let before = Files { key: Some(kept), certificate: files.certificate };
        let before: Files = serde_json::from_value(serde_json::to_value(&before).unwrap()).unwrap();
        before.finish("chain").unwrap();
        before.finish("chain").unwrap();
        assert_eq!(names(&folder), names(&other));
    }

    #[test]
    fn nobody_waits_for_ever_for_a_folder_that_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        let held = File::open(folder.path()).unwrap();
        held.lock().unwrap();
        let files = Files { key: None, certificate: certificate_path(folder.path(), "a.test") };
        assert!(files.finish("chain").unwrap_err().to_string().contains("resume"));
        drop(held);
        files.finish("chain").unwrap();
    }

    #[test]
    fn a_key_that_came_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let kept = keep_key(folder.path(), "a.test", &key(), false, "").unwrap();
        fs::write(&kept.place, "of somebody else").unwrap();
        let files = Files { key: Some(kept.clone()), certificate: certificate_path(folder.path(), "a.test") };
        assert!(files.finish("chain").is_err());
        assert_eq!(fs::read_to_string(&kept.place).unwrap(), "of somebody else");
        assert!(kept.waiting.exists());
    }
}
