//! Which build this is: the version, and the commit where the builder names it (`CHANCERY_COMMIT`). Nothing else, so that
//! the same sources give the same binary.

fn main() {
    println!("cargo::rerun-if-env-changed=CHANCERY_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let commit = std::env::var("CHANCERY_COMMIT").unwrap_or_default();
    let is_commit = (7..=64).contains(&commit.len()) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !commit.is_empty() && !is_commit {
        println!("cargo::error=CHANCERY_COMMIT has to be the hash of a commit, such as 1a2b3c4d5e6f");
    }
    let version = if is_commit { format!("{version} ({commit})") } else { version };
    println!("cargo::rustc-env=CHANCERY_VERSION={version}");
}
