//! Certificates: found, fetched in every form, revoked.

use std::fs;
use std::process::Command;

use super::shop::{Shop, mode};

#[test]
fn a_certificate_is_found_fetched_in_every_form_and_revoked() {
    let shop = Shop::open_with(&["--skip-validation"]);
    shop.account();
    let args = ["order", "create", "a.test", "b.test", "--published", "--account", "admin@customer.example"];
    let done = shop.json(&args);
    let (order, lookup) = (done["order"]["lookup"].as_str().unwrap(), done["certificate"]["lookup"].as_str().unwrap());

    for filter in [
        &["--account", "admin@customer.example"][..],
        &["--status", "issued,revoked"],
        &["--name", "b.test"],
        &["--cert-profile", "TLS-90d"],
        &["--serial", done["certificate"]["serialNumber"].as_str().unwrap()],
        &["--expires-after", "2026-01-01T00:00:00Z", "--expires-before", "2100-01-01T00:00:00Z"],
    ] {
        let listed = shop.json(&[&["certificate", "list"][..], filter].concat());
        assert_eq!(listed["items"][0]["lookup"], lookup, "{filter:?}");
    }
    let none = shop.my(&["certificate", "list", "--status", "revoked"]).ok();
    assert!(none.stdout.is_empty() && none.stderr.contains("none"), "{none:?}");
    assert!(shop.my(&["certificates", "list"]).ok().stdout.contains("a.test, b.test"));
    assert!(shop.my(&["cert", "show", order]).ok().stdout.contains("ec-p256"));
    assert_eq!(shop.json(&["certificate", "show", lookup])["names"][1], "b.test");

    let chain = fs::read_to_string(shop.at_home("a.test.pem")).unwrap();
    let fetch = |format: &str| {
        shop.my(&["certificate", "download", lookup, "--format", format, "--out", format]).ok();
        fs::read(shop.at_home(format)).unwrap()
    };
    assert_eq!(fetch("pem"), chain.as_bytes());
    assert_eq!([fetch("leaf"), fetch("chain")].concat(), chain.as_bytes());
    assert_eq!(mode(&shop.at_home("pem")), 0o644);
    let der = fetch("der");
    let openssl = |args: &[&str]| {
        let output = Command::new("openssl").args(args).current_dir(shop.home.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    assert_eq!(openssl(&["x509", "-in", "leaf", "-outform", "der"]), der);
    fetch("pkcs7");
    let printed = openssl(&["pkcs7", "-inform", "der", "-in", "pkcs7", "-print_certs", "-noout"]);
    assert!(String::from_utf8_lossy(&printed).matches("issuer").count() >= 2);
    assert!(serde_json::from_slice::<serde_json::Value>(&fetch("json")).unwrap()["chain"].is_string());
    assert_eq!(shop.my(&["certificate", "download", order]).ok().stdout, chain);
    let other = shop.my(&["certificate", "download", lookup, "--chain", "1"]).ok().stdout;
    assert!(other != chain && other.starts_with("-----BEGIN"));
    assert_eq!(shop.my(&["certificate", "download", lookup, "--chain", "99"]).code, 5);

    assert!(shop.my(&["revoke", lookup]).line(2).contains("a.test, b.test"));
    assert!(shop.my(&["revoke", lookup, "--yes", "--reason", "boredom"]).line(1).contains("keyCompromise"));
    let revoked = shop.json(&["revoke", lookup, "--yes", "--reason", "superseded", "--comment", "moved"]);
    assert_eq!((&revoked["status"], &revoked["revocationReason"]), (&"revoked".into(), &"superseded".into()));
    assert!(shop.my(&["revoke", order, "--yes"]).ok().stdout.contains("was revoked before"));
}

#[test]
fn how_much_was_issued_and_what_stands_in_the_way_can_be_asked() {
    let shop = Shop::open_with(&["--skip-validation"]);
    let account = shop.account();
    shop.json(&["order", "create", "a.test", "--published", "--account", &account]);
    let usage = shop.json(&["usage", "--by", "profile", "--account", "admin@customer.example"]);
    assert_eq!((&usage["items"][0]["profile"], &usage["items"][0]["issued"]), (&"TLS-90d".into(), &1.into()));
    let table = shop.my(&["usage", "--by", "day,account"]).ok().stdout;
    assert!(table.contains(&account) && !table.contains("profile"), "{table}");
    assert!(shop.json(&["limits"])["rates"].is_array());
    shop.my(&["limits"]).ok();

    assert_eq!(shop.json(&["pause", "list"])["items"].as_array().unwrap().len(), 0);
    let unknown = shop.refused(5, &["pause", "lift", "pau_01jcq3v9k2e7x8t5m4n6p0r1sw"]);
    assert!(unknown["advice"].as_str().unwrap().contains("my pause list"), "{unknown}");

    let found = shop.json(&["diagnose", "a.test", "--account", &account]);
    assert_eq!((&found["items"][0]["name"], &found["items"][0]["clear"]), (&"a.test".into(), &true.into()));
    shop.my(&["policy", "create", "None", "--deny-domain", "**"]).ok();
    shop.my(&["group", "create", "All"]).ok();
    shop.my(&["policy", "assign", "None", "--group", "All"]).ok();
    shop.my(&["group", "add", "All", &account]).ok();
    let found = shop.my(&["diagnose", "a.test", "--account", &account]);
    assert!(found.code == 1 && found.stdout.contains("a.test: would fail"), "{found:?}");
}
