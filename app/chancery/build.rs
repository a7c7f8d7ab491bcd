//! Which build this is: the version, and the commit where the builder names it (`CHANCERY_COMMIT`). Nothing else, so that
//! the same sources give the same binary.

#[path = "build_version.rs"]
mod build_version;

fn main() {
    println!("cargo::rerun-if-env-changed=CHANCERY_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build_version.rs");
    let package = std::env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let commit = std::env::var("CHANCERY_COMMIT").unwrap_or_default();
    match build_version::build_version(&package, &commit) {
        Ok(version) => println!("cargo::rustc-env=CHANCERY_VERSION={version}"),
        Err(wrong) => println!("cargo::error={wrong}"),
    }
}
