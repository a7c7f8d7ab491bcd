//! Writes the seeds that take more than an editor to make: `cargo run -p chancery-fuzz --example seeds`.
//!
//! Those are kept: it needs to run again only after a target has come to want others. Keys are new each time.

mod dns;
mod jose;
mod x509;

use std::fs;
use std::path::Path;

fn main() {
    jose::write();
    x509::write();
    dns::write();
}

/// Keeps a seed, under a name that says what it is.
fn keep(target: &str, name: &str, seed: impl AsRef<[u8]>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&folder).expect("the corpus can be written");
    fs::write(folder.join(name), seed).expect("the corpus can be written");
}
