//! Orders that are left and taken up again, and those that end without a certificate.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::shop::Shop;
use crate::support::*;

const ACCOUNT: [&str; 2] = ["--account", "admin@customer.example"];

/// An order that waits for something to be published.
fn waiting(shop: &Shop, name: &str) -> Value {
    let outcome = shop.my(&[&["order", "create", name, "--json"][..], &ACCOUNT].concat());
    assert_eq!(outcome.code, 3, "{outcome:?}");
    assert!(outcome.stderr.contains("my order resume ord_"), "{outcome:?}");
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn lookup(told: &Value) -> &str {
    told["order"]["lookup"].as_str().unwrap()
}

#[test]
fn an_order_is_resumed_by_its_lookup_with_the_key_it_began_with() {
    let shop = Shop::open();
    shop.account();
    let told = waiting(&shop, "r.test");
    let instructions = &told["publish"][0]["challenge"]["instructions"];
    assert!(instructions["url"].as_str().unwrap().starts_with("http://r.test/"), "{told}");
    let new_key = fs::read(shop.at_home("r.test-key.pem.new")).unwrap();
    let again = shop.my(&[&["order", "create", "r.test"][..], &ACCOUNT].concat());
    assert!(again.line(2).contains(&format!("my order resume {}", lookup(&told))), "{again:?}");

    // Not published still: the same codes.
    let outcome = shop.my(&["order", "resume", lookup(&told), "--json"]);
    let resumed: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(
        (outcome.code, &resumed["publish"][0]["challenge"]["token"]),
        (3, &told["publish"][0]["challenge"]["token"])
    );

    let folder = format!("{}/.well-known/acme-challenge", shop.webroot());
    fs::create_dir_all(&folder).unwrap();
    let token = told["publish"][0]["challenge"]["token"].as_str().unwrap();
    fs::write(format!("{folder}/{token}"), instructions["body"].as_str().unwrap()).unwrap();
    let mut elsewhere = shop.command(&["order", "resume", lookup(&told), "--published", "--json"]);
    let done = outcome_in(&mut elsewhere, &shop.webroot());
    assert_eq!(done["order"]["status"], "valid");
    assert_eq!(fs::read(shop.at_home("r.test-key.pem")).unwrap(), new_key);
    assert!(shop.at_home("r.test.pem").exists() && !shop.at_home("r.test-key.pem.new").exists());
    assert_eq!(fs::read_dir(shop.at_home(".local/state/chancery/orders")).unwrap().count(), 0);
    // Once more, as from another machine: the chain alone, where that is wanted.
    fs::create_dir(shop.at_home("copy")).unwrap();
    let copied = shop.json(&["order", "resume", lookup(&told), "--out", "copy"]);
    assert_eq!(copied["files"].get("key"), None);
    assert_eq!(fs::read(shop.at_home("copy/r.test.pem")).unwrap(), fs::read(shop.at_home("r.test.pem")).unwrap());
}

fn outcome_in(command: &mut Command, folder: &str) -> Value {
    outcome(command.current_dir(folder)).json()
}

#[test]
fn ctrl_c_leaves_an_order_that_can_be_resumed() {
    let shop = Shop::open_with(&["--slow-validation", "3"]);
    shop.account();
    let logs = folder();
    let args = ["order", "create", "s.test", "--webroot", &shop.webroot()];
    let mut running = Running::start(&mut shop.command(&[&args[..], &ACCOUNT].concat()), logs.path());
    running.until("it waits", |running| running.log().contains("validation").then_some(()));
    running.signal("INT");
    assert_eq!(running.ended().code(), Some(130));
    let log = running.log();
    let order = log.split("my order resume ").nth(1).unwrap_or_else(|| panic!("{log}")).trim().to_owned();
    assert!(shop.at_home("s.test-key.pem.new").exists());
    // The page has stayed where it is looked for, and goes with the order.
    let folder = format!("{}/.well-known/acme-challenge", shop.webroot());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    assert_eq!(shop.json(&["order", "resume", &order])["order"]["status"], "valid");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert!(shop.at_home("s.test-key.pem").exists());
}

#[test]
fn waiting_ends_when_it_was_said_and_the_order_goes_on() {
    let shop = Shop::open_with(&["--skip-validation", "--force-processing"]);
    shop.account();
    let args = ["order", "create", "t.test", "--published", "--timeout", "0"];
    let outcome = shop.my(&[&args[..], &ACCOUNT].concat());
    if outcome.code != 0 {
        assert!(outcome.stderr.contains("still; go on with: chancery my order resume ord_"), "{outcome:?}");
        assert_eq!(outcome.code, 3);
    }
    let order = shop.json(&["order", "list"])["items"][0]["lookup"].as_str().unwrap().to_owned();
    assert_eq!(shop.json(&["order", "resume", &order])["order"]["status"], "valid");
}

#[test]
fn a_failed_order_says_why_and_leaves_no_key() {
    let shop = Shop::open();
    shop.account();
    let folder = format!("{}/.well-known/acme-challenge", shop.webroot());
    fs::create_dir_all(&folder).unwrap();
    let told = waiting(&shop, "f.test");
    let token = told["publish"][0]["challenge"]["token"].as_str().unwrap();
    fs::write(format!("{folder}/{token}"), "something else").unwrap();
    let failed = shop.my(&["order", "resume", lookup(&told), "--published"]);
    assert!(failed.code == 1 && failed.stderr.contains("f.test by http-01"), "{failed:?}");
    assert!(!shop.at_home("f.test-key.pem.new").exists() && !shop.at_home("f.test-key.pem").exists());
    let gone = shop.my(&["certificate", "show", lookup(&told)]);
    assert!(gone.line(5).contains("order again"), "{gone:?}");
}

#[test]
fn an_order_that_is_cancelled_leaves_no_key() {
    let shop = Shop::open();
    shop.account();
    let told = waiting(&shop, "c.test");
    let shown = shop.my(&["order", "show", lookup(&told)]).ok().stdout;
    assert!(shown.contains("pending") && shown.contains("validation"), "{shown}");
    let pending = shop.my(&["certificate", "show", lookup(&told)]);
    assert!(pending.line(3).contains("my order show"), "{pending:?}");
    assert_eq!(shop.json(&["order", "cancel", lookup(&told)])["status"], "cancelled");
    assert!(!shop.at_home("c.test-key.pem.new").exists());
    assert_eq!(shop.refused(5, &["order", "cancel", lookup(&told)])["answer"]["code"], "order_gone");
    assert_eq!(shop.refused(5, &["order", "resume", lookup(&told)])["exitCode"], 5);
}

#[test]
fn an_order_is_resumed_only_where_it_was_made() {
    let shop = Shop::open();
    shop.account();
    let told = waiting(&shop, "w.test");
    let mut text = fs::read_to_string(shop.credentials()).unwrap();
    text = text.replace("https://127.0.0.1", "https://localhost");
    fs::write(shop.credentials(), text).unwrap();
    let refused = shop.my(&["order", "resume", lookup(&told)]);
    assert!(refused.line(2).contains("--profile"), "{refused:?}");
}

#[test]
fn authorizations_step_by_step() {
    let shop = Shop::open();
    shop.account();
    let told = waiting(&shop, "z.test");
    let listed = shop.json(&["authorization", "list", lookup(&told)]);
    let authorization = listed["items"][0]["lookup"].as_str().unwrap();
    assert!(shop.my(&["authz", "list", lookup(&told)]).ok().stdout.contains("z.test"));
    let codes = shop.json(&["authorization", "challenges", authorization]);
    let http = codes["challenges"].as_array().unwrap().iter().find(|code| code["type"] == "http-01").unwrap();
    let text = shop.my(&["authorization", "challenges", authorization]).ok().stdout;
    assert!(text.contains("_acme-challenge.z.test") && text.contains(http["token"].as_str().unwrap()), "{text}");
    assert!(shop.my(&["authorization", "show", authorization]).ok().stdout.contains("dns-01"));

    let folder = format!("{}/.well-known/acme-challenge", shop.webroot());
    fs::create_dir_all(&folder).unwrap();
    fs::write(format!("{folder}/{}", http["token"].as_str().unwrap()), http["keyAuthorization"].as_str().unwrap())
        .unwrap();
    shop.my(&["authorization", "verify", http["lookup"].as_str().unwrap()]).ok();
    assert_eq!(shop.json(&["order", "resume", lookup(&told)])["order"]["status"], "valid");

    let other = waiting(&shop, "y.test");
    let authorization = other["order"]["authorizations"][0]["lookup"].as_str().unwrap();
    assert_eq!(shop.json(&["authorization", "deactivate", authorization])["status"], "deactivated");
    assert_eq!(shop.json(&["order", "show", lookup(&other)])["status"], "cancelled");
}
