//! PKCS #11 tokens to throw away: SoftHSM, which keeps them in a folder, and is told by its environment in which.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian has it.
pub const MODULE: &str = "/usr/lib/softhsm/libsofthsm2.so";
/// What names SoftHSM's settings in the environment of whoever loads it.
pub const VARIABLE: &str = "SOFTHSM2_CONF";
/// Of every token.
pub const PIN: &str = "4711";

/// With this set, missing programs are a failure: nobody reads what a build server skipped.
const REQUIRED: &str = "CHANCERY_REQUIRE_TOOLS";

/// The tokens in a folder.
pub struct Tokens(PathBuf);

impl Tokens {
    /// None yet, in a folder that is there. `None`, and it says so, where SoftHSM is missing and need not be there.
    pub fn new(folder: &Path) -> Option<Self> {
        if !Path::new(MODULE).exists() {
            assert!(std::env::var_os(REQUIRED).is_none(), "{REQUIRED} is set, and there is no {MODULE}");
            eprintln!("skipped: SoftHSM is not installed, so what this test says of tokens was not tested");
            return None;
        }
        let tokens = Self(folder.to_owned());
        fs::create_dir(tokens.folder()).expect("a folder for tokens");
        let settings = format!("directories.tokendir = {}\nlog.level = ERROR\n", tokens.folder().display());
        fs::write(tokens.settings(), settings).expect("SoftHSM's settings");
        fs::write(tokens.pin_file(), PIN).expect("a PIN");
        fs::set_permissions(tokens.pin_file(), fs::Permissions::from_mode(0o600)).expect("a PIN of ours alone");
        Some(tokens)
    }

    /// Those that another process has made there.
    pub fn of(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Makes a token.
    pub fn make(&self, label: &str) {
        let made = Command::new("softhsm2-util")
            .args(["--init-token", "--free", "--label", label, "--so-pin", "12345678", "--pin", PIN])
            .env(VARIABLE, self.settings())
            .output()
            .expect("softhsm2-util runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    /// What a configuration in the folder says of one of them.
    pub fn configuration(label: &str) -> String {
        format!("keys.pkcs11 = {{ module = '{MODULE}', token = '{label}', pin_file = 'pin' }}\n")
    }

    /// What [`VARIABLE`] is to name.
    pub fn settings(&self) -> PathBuf {
        self.0.join("softhsm2.conf")
    }

    pub fn pin_file(&self) -> PathBuf {
        self.0.join("pin")
    }

    /// Where they are. Without it they are away.
    pub fn folder(&self) -> PathBuf {
        self.0.join("tokens")
    }

    /// How many keys are in them, public and private ones.
    pub fn keys(&self) -> usize {
        self.key_files().len()
    }

    /// They have none any more.
    pub fn lose_keys(&self) {
        self.key_files().iter().for_each(|key| fs::remove_file(key).expect("the file of a key"));
    }

    fn key_files(&self) -> Vec<PathBuf> {
        let tokens = fs::read_dir(self.folder()).expect("the tokens").flatten();
        let files = tokens.flat_map(|token| fs::read_dir(token.path()).expect("a token")).flatten();
        let is_key =
            |file: &PathBuf| file.extension().is_some_and(|is| is == "object") && !file.ends_with("token.object");
        files.map(|file| file.path()).filter(is_key).collect()
    }
}
