//! Which crate may depend on which. The map of the project is only true while nothing crosses it, so this
//! reads what cargo says of the workspace and fails on any arrow that the tables below do not allow.
//!
//! Dev-dependencies are free: a test may use whatever it needs.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};

/// What a crate may use of the workspace.
enum Reach {
    /// Everything that is not for tests.
    Product,
    /// Everything, also what is for tests; nothing outside of tests may use such a crate.
    Test,
    /// These and no others.
    Only(&'static [&'static str]),
}

use Reach::{Only, Product, Test};

/// One row for each crate of the workspace: what it may use, and why no more.
const ARROWS: &[(&str, Reach, &str)] = &[
    ("chancery", Product, "it is the only crate that names concrete adapters and puts them together"),
    (
        "chancery-machine",
        Only(&["chancery-http", "chancery-service", "chancery-client", "chancery-domain"]),
        "the log and the clock know what they serve, and neither the adapters nor the doors",
    ),
    (
        "chancery-http",
        Only(&["chancery-wire", "chancery-service", "chancery-overload", "chancery-domain"]),
        "what doors share knows the use cases, not the adapters",
    ),
    ("chancery-wire", Only(&[]), "JSON shapes are shared with clients, who must not get the server with them"),
    (
        "chancery-reseller",
        Only(&["chancery-http", "chancery-wire", "chancery-service", "chancery-overload", "chancery-domain"]),
        "a door translates: it calls use cases, never an adapter and never another door",
    ),
    (
        "chancery-identity",
        Only(&["chancery-http", "chancery-wire", "chancery-service", "chancery-domain"]),
        "a door translates: it calls use cases, never an adapter and never another door",
    ),
    (
        "chancery-relying",
        Only(&["chancery-http", "chancery-service", "chancery-domain"]),
        "a door translates: it calls use cases, never an adapter and never another door",
    ),
    (
        "chancery-acme",
        Only(&[
            "chancery-http",
            "chancery-wire",
            "chancery-service",
            "chancery-overload",
            "chancery-domain",
            "chancery-jose",
        ]),
        "a door translates: it calls use cases, never an adapter and never another door",
    ),
    (
        "chancery-console",
        Only(&["chancery-http", "chancery-service", "chancery-overload", "chancery-domain"]),
        "a door translates: it calls use cases, never an adapter and never another door",
    ),
    ("chancery-domain", Only(&[]), "rules are pure and depend on nothing"),
    (
        "chancery-overload",
        Only(&["chancery-domain", "chancery-fair"]),
        "limits decide and count; they know neither HTTP nor the database",
    ),
    (
        "chancery-service",
        Only(&[
            "chancery-domain",
            "chancery-overload",
            "chancery-store",
            "chancery-pki",
            "chancery-jose",
            "chancery-seal",
        ]),
        "use cases know no door, and reach the outside world only through traits",
    ),
    (
        "chancery-workers",
        Only(&[
            "chancery-domain",
            "chancery-service",
            "chancery-overload",
            "chancery-dcv",
            "chancery-perspective",
            "chancery-pki",
            "chancery-publish",
            "chancery-fair",
        ]),
        "workers look at the world and report to the use cases, as doors do",
    ),
    (
        "chancery-store",
        Only(&["chancery-domain", "chancery-trust", "chancery-fair"]),
        "an adapter serves the domain and knows no other adapter",
    ),
    (
        "chancery-pki",
        Only(&["chancery-domain", "chancery-suffix"]),
        "an adapter serves the domain and knows no other adapter",
    ),
    (
        "chancery-dcv",
        Only(&["chancery-domain", "chancery-fair"]),
        "what speaks to strangers knows the domain and nothing else, least of all the store",
    ),
    (
        "chancery-perspective",
        Only(&["chancery-domain", "chancery-dcv", "chancery-client"]),
        "it asks a validator elsewhere what one here is asked, as a client of its own kind of service",
    ),
    (
        "chancery-idp",
        Only(&["chancery-service", "chancery-domain", "chancery-jose", "chancery-trust"]),
        "it fetches the keys of an external provider, and redeems its codes, behind traits of the service",
    ),
    (
        "chancery-publish",
        Only(&["chancery-domain", "chancery-client", "chancery-trust"]),
        "what speaks to strangers knows the domain and nothing else, least of all the store",
    ),
    ("chancery-jose", Only(&[]), "a library knows nothing of this project"),
    ("chancery-fair", Only(&[]), "a library knows nothing of this project"),
    ("chancery-suffix", Only(&[]), "a library knows nothing of this project"),
    ("chancery-trust", Only(&[]), "a library knows nothing of this project"),
    ("chancery-seal", Only(&[]), "a library knows nothing of this project"),
    (
        "chancery-client",
        Only(&["chancery-wire", "chancery-trust"]),
        "a client knows the shapes and nothing of the server",
    ),
    (
        "chancery-load",
        Only(&["chancery-client", "chancery-domain", "chancery-jose", "chancery-pki"]),
        "it plays the customers' machines, which know nothing of the server",
    ),
    ("chancery-testkit", Test, "it is for tests"),
    ("chancery-tests", Test, "it is for tests"),
    ("chancery-bench", Test, "it is for tests"),
    ("chancery-fuzz", Test, "it is for tests"),
];

/// Where crates from outside may be listed.
enum Place {
    OnlyIn(&'static [&'static str]),
    NotIn(&'static [&'static str]),
}

use Place::{NotIn, OnlyIn};

/// What crates from outside bring with them. A crate that does not list a driver cannot use it.
const OUTSIDE: &[(&[&str], Place, &str)] = &[
    (
        &[
            "deadpool-postgres",
            "diesel",
            "libsqlite3-sys",
            "postgres",
            "postgres-protocol",
            "postgres-types",
            "rusqlite",
            "sqlx",
            "tokio-postgres",
        ],
        OnlyIn(&["chancery-store"]),
        "SQL lives in the store alone",
    ),
    (
        &[
            "axum",
            "http",
            "http-body",
            "http-body-util",
            "hyper",
            "hyper-rustls",
            "hyper-util",
            "reqwest",
            "tower-http",
            "ureq",
        ],
        OnlyIn(&[
            "chancery",
            "chancery-machine",
            "chancery-http",
            "chancery-reseller",
            "chancery-identity",
            "chancery-relying",
            "chancery-acme",
            "chancery-console",
            "chancery-dcv",
            "chancery-idp",
            "chancery-publish",
            "chancery-client",
            "chancery-load",
        ]),
        "HTTP ends at the doors; only they and those who fetch speak it",
    ),
    (
        &["hickory-net", "hickory-proto", "hickory-resolver"],
        OnlyIn(&["chancery-dcv"]),
        "one crate speaks DNS; what else looks names up is given a resolver",
    ),
    (
        &["serde", "serde_json", "serde_core"],
        NotIn(&["chancery-domain"]),
        "the domain has no wire form and no row form",
    ),
    (
        &["libc", "mio", "rustix", "rustls", "socket2", "tempfile", "tokio", "tokio-rustls"],
        NotIn(&["chancery-domain"]),
        "the domain does no I/O and is not async",
    ),
    (
        &["mio", "rustls", "socket2", "tokio", "tokio-rustls"],
        NotIn(&["chancery-pki"]),
        "what holds signing keys has no network",
    ),
];

#[test]
fn every_arrow_between_crates_is_allowed() {
    let found = violations(&metadata());
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn every_row_names_a_crate_of_the_workspace() {
    let metadata = metadata();
    let members: BTreeSet<_> = packages(&metadata).map(name).collect();
    for (row, ..) in ARROWS {
        assert!(members.contains(row), "{row} has a row and is not in the workspace");
    }
}

#[test]
fn a_door_that_reaches_for_the_store_is_caught() {
    let found = violations(&workspace(&[("chancery-reseller", &[("chancery-store", None)]), ("chancery-store", &[])]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("chancery-reseller → chancery-store: not allowed"), "{found:?}");
    assert!(found[0].contains("a door translates"), "the reason is missing: {found:?}");
}

#[test]
fn an_allowed_arrow_is_let_pass() {
    let metadata =
        workspace(&[("chancery-service", &[("chancery-store", None), ("serde", None)]), ("chancery-store", &[])]);
    assert_eq!(violations(&metadata), Vec::<String>::new());
}

#[test]
fn a_test_crate_in_the_product_is_caught_unless_it_is_a_dev_dependency() {
    let product = |kind| workspace(&[("chancery", &[("chancery-testkit", kind)]), ("chancery-testkit", &[])]);
    assert_eq!(violations(&product(None)).len(), 1);
    assert_eq!(violations(&product(Some("build"))).len(), 1);
    assert_eq!(violations(&product(Some("dev"))), Vec::<String>::new());
}

#[test]
fn a_driver_in_the_wrong_crate_is_caught() {
    for (crate_name, driver) in [
        ("chancery-service", "rusqlite"),
        ("chancery-reseller", "tokio-postgres"),
        ("chancery-service", "http"),
        ("chancery-store", "hyper"),
        ("chancery-wire", "axum"),
        ("chancery-domain", "serde"),
        ("chancery-domain", "tokio"),
        ("chancery-pki", "tokio"),
        ("chancery-pki", "hyper"),
        ("chancery-pki", "hickory-net"),
        ("chancery-service", "hickory-proto"),
        ("chancery-dcv", "rusqlite"),
    ] {
        let found = violations(&workspace(&[(crate_name, &[(driver, None)])]));
        assert_eq!(found.len(), 1, "{crate_name} → {driver}: {found:?}");
        assert!(found[0].starts_with(&format!("{crate_name} → {driver}: not allowed")), "{found:?}");
    }
    assert_eq!(violations(&workspace(&[("chancery-store", &[("rusqlite", None)])])), Vec::<String>::new());
    assert_eq!(violations(&workspace(&[("chancery-testkit", &[("postgres", None)])])), Vec::<String>::new());
}

#[test]
fn a_crate_without_a_row_is_caught() {
    let found = violations(&workspace(&[("chancery-surprise", &[])]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("no row"), "{found:?}");
}

/// Every arrow of the workspace that no row allows, as a sentence with the reason.
fn violations(metadata: &Value) -> Vec<String> {
    let members: BTreeSet<_> = packages(metadata).map(name).collect();
    let mut found = Vec::new();
    for package in packages(metadata) {
        let from = name(package);
        let Some((_, reach, why)) = ARROWS.iter().find(|(row, ..)| *row == from) else {
            found.push(format!("{from}: no row in ARROWS says what it may use; add one, with the reason"));
            continue;
        };
        for to in built_with(package) {
            if members.contains(to) {
                if !reach.allows(to) {
                    found.push(format!("{from} → {to}: not allowed, because {why}"));
                }
            } else if !matches!(reach, Test) {
                found.extend(outside_violation(from, to));
            }
        }
    }
    found
}

impl Reach {
    fn allows(&self, to: &str) -> bool {
        match self {
            Test => true,
            Product => !ARROWS.iter().any(|(row, reach, _)| *row == to && matches!(reach, Test)),
            Only(allowed) => allowed.contains(&to),
        }
    }
}

fn outside_violation(from: &str, to: &str) -> Option<String> {
    OUTSIDE.iter().filter(|(crates, ..)| crates.contains(&to)).find_map(|(_, place, why)| match place {
        OnlyIn(places) if !places.contains(&from) => {
            Some(format!("{from} → {to}: not allowed, because {why} (only in {})", places.join(", ")))
        }
        NotIn(places) if places.contains(&from) => Some(format!("{from} → {to}: not allowed, because {why}")),
        OnlyIn(_) | NotIn(_) => None,
    })
}

/// What a crate lists for building itself: everything but dev-dependencies, each once.
fn built_with(package: &Value) -> BTreeSet<&str> {
    let dependencies = package["dependencies"].as_array().expect("cargo lists dependencies as an array");
    dependencies.iter().filter(|dependency| dependency["kind"] != "dev").map(name).collect()
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().expect("cargo lists packages as an array").iter()
}

fn name(value: &Value) -> &str {
    value["name"].as_str().expect("cargo names everything")
}

fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

/// A crate that was made up: its name, and its dependencies with their kinds.
type Sketch<'a> = (&'a str, &'a [(&'a str, Option<&'a str>)]);

/// What cargo would say of a workspace of these crates.
fn workspace(crates: &[Sketch<'_>]) -> Value {
    let package = |(name, dependencies): &Sketch<'_>| {
        let dependencies: Vec<_> =
            dependencies.iter().map(|(name, kind)| json!({ "name": name, "kind": kind })).collect();
        json!({ "name": name, "dependencies": dependencies })
    };
    json!({ "packages": crates.iter().map(package).collect::<Vec<_>>() })
}
