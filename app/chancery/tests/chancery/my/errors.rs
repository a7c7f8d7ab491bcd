//! What goes wrong, and what to do about it.

use std::fs;

use super::shop::Shop;
use crate::support::*;

#[test]
fn a_service_that_does_not_answer_is_told_as_such() {
    let shop = Shop::open();
    let ca = shop.dev.value("issuer_bundle");
    let unknown = shop.my(&["account", "list", "--ca-file", ca]);
    assert!(unknown.line(6).contains("--ca-file"), "{unknown:?}");
    assert!(shop.my(&["account", "list", "--ca-file", "nowhere.pem"]).line(2).contains("nowhere.pem"));
    let nobody = format!("https://127.0.0.1:{}", free_port());
    let login = ["login", "--url", &nobody, "--client-id", "x", "--ca-file", ca];
    let error = shop.refused(6, &login);
    assert!(error["message"].as_str().unwrap().starts_with(&nobody), "{error}");
    assert!(shop.my(&["login", "--url", "ftp://x", "--client-id", "x"]).line(2).contains("ftp://x"));
}

#[test]
fn the_exit_code_is_the_same_where_nobody_can_read_the_error() {
    let shop = Shop::open();
    for json in [&["--json"][..], &[]] {
        let mut command = shop.command(&[&["policy", "show", "none"][..], json].concat());
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(command.stderr(full).status().unwrap().code(), Some(5));
    }
}

#[test]
fn what_is_not_there_has_a_code_of_its_own_and_says_where_to_look() {
    let shop = Shop::open();
    for (args, advice) in [
        (&["account", "show", "nobody@b.example"][..], "my account list"),
        (&["order", "show", "ord_01jcq3v9k2e7x8t5m4n6p0r1sw"], "my order list"),
        (&["order", "resume", "ord_01jcq3v9k2e7x8t5m4n6p0r1sw"], "my order list"),
        (&["certificate", "show", "cert_01jcq3v9k2e7x8t5m4n6p0r1sw"], "my certificate list"),
        (&["eab", "show", "0d8f1c4e-6a1b-4c3d-9e2f-7a5b3c1d9e8f"], "my eab list"),
        (&["group", "show", "nobodies"], "my group list"),
        (&["policy", "show", "none"], "my policy list"),
        (&["policy", "show", "pol_01jcq3v9k2e7x8t5m4n6p0r1sw"], "my policy list"),
        (&["authorization", "show", "authz_01jcq3v9k2e7x8t5m4n6p0r1sw"], "my order show"),
    ] {
        let error = shop.refused(5, args);
        assert!(error["advice"].as_str().unwrap().contains(advice), "{args:?}: {error}");
        assert!(shop.my(args).line(5).contains(advice));
    }
}

#[test]
fn a_mistake_at_the_keyboard_is_told_to_scripts_as_well() {
    let shop = Shop::closed();
    for (args, said) in [
        (&["order", "create", "--account", "x"][..], "NAMES"),
        (&["order", "create", "a.test"], "--account"),
        (&["order", "create", "a.test", "--account", "x", "--key-type", "dsa"], "ec-p256"),
        (&["certificate", "download", "x", "--format", "p12"], "pkcs7"),
        (&["account", "create"], "EMAIL"),
        (&["policy", "create", "p", "--wildcards", "perhaps"], "perhaps"),
        (&["acount", "list"], "acount"),
    ] {
        let error = shop.refused(2, args);
        assert!(error["message"].as_str().unwrap().contains(said), "{args:?}: {error}");
    }
    assert!(shop.my(&[]).line(2).contains("a command is missing"));
}

#[test]
fn a_refusal_has_every_problem_once() {
    let shop = Shop::open();
    shop.account();
    let again = shop.my(&["account", "create", "admin@customer.example"]);
    assert!(again.line(1).contains("my account show"), "{again:?}");
    let error = shop.refused(1, &["account", "create", "no address"]);
    let message = error["message"].as_str().unwrap();
    assert_eq!(message.matches("customer_email").count(), 1, "{message}");
    assert_eq!(error["answer"]["status"], 400);
    assert!(error["answer"]["requestId"].is_string());
}

#[test]
fn what_cannot_be_undone_is_not_done_unasked() {
    let shop = Shop::open();
    let account = shop.account();
    assert!(shop.my(&["account", "terminate", &account]).line(2).contains("--yes"));
    assert_eq!(shop.json(&["account", "show", &account])["status"], "active");
    shop.my(&["account", "terminate", &account, "--yes"]).ok();
    assert_eq!(shop.json(&["account", "show", &account])["status"], "terminated");
}
