//! From names to a certificate in a file.

use std::fs;
use std::process::Command;

use super::shop::{Shop, mode};
use crate::support::csr;

const ACCOUNT: [&str; 2] = ["--account", "admin@customer.example"];

#[test]
fn an_order_ends_with_key_and_chain_in_files() {
    let shop = Shop::open();
    shop.account();
    let webroot = shop.webroot();
    let args = ["order", "create", "a.test", "www.a.test", "--webroot", &webroot, "--external-id", "o-1"];
    let done = shop.json(&[&args[..], &ACCOUNT].concat());
    assert_eq!((&done["order"]["status"], &done["order"]["externalId"]), (&"valid".into(), &"o-1".into()));
    let (key, chain) = (shop.at_home("a.test-key.pem"), shop.at_home("a.test.pem"));
    assert_eq!(done["files"]["key"], key.to_str().unwrap());
    assert_eq!((mode(&key), mode(&chain)), (0o600, 0o644));
    assert_eq!(public_key(&["pkey", "-in", key.to_str().unwrap(), "-pubout"]), of_certificate(&chain));
    let root = shop.dev.value("issuer_bundle");
    let verify = ["verify", "-CAfile", root, "-untrusted", chain.to_str().unwrap(), chain.to_str().unwrap()];
    assert!(Command::new("openssl").args(verify).output().unwrap().status.success());
    assert_eq!(fs::read_dir(format!("{webroot}/.well-known/acme-challenge")).unwrap().count(), 0, "pages are removed");
    assert!(!shop.at_home("a.test-key.pem.new").exists());

    // The names are shown now: nothing has to be published.
    let again = ["order", "create", "www.a.test", "--key-type", "rsa-2048"];
    let said = shop.my(&[&again[..], &ACCOUNT].concat()).ok();
    assert!(said.stdout.contains("www.a.test-key.pem") && said.stdout.contains("valid until"), "{said:?}");
    let orders = shop.json(&["order", "list", "--status", "valid", "--account", "admin@customer.example"]);
    assert_eq!(orders["items"].as_array().unwrap().len(), 2);
    assert_eq!(shop.json(&["orders", "list", "--external-id", "o-1"])["items"].as_array().unwrap().len(), 1);
}

#[test]
fn on_a_terminal_the_line_of_what_is_waited_for_moves_and_is_gone_at_the_end() {
    let shop = Shop::open_with(&["--skip-validation"]);
    shop.account();
    let order = |name| [&["order", "create", name, "--published"][..], &ACCOUNT].concat();
    let elsewhere = shop.my(&order("a.test")).ok();
    assert!(elsewhere.stderr.contains("asked for the certificate\n"), "{elsewhere:?}");
    assert!(!elsewhere.stderr.contains(['\r', '\u{1b}']), "{elsewhere:?}");

    let there = shop.on_a_terminal(&order("b.test")).ok().stdout;
    let line = "\r\u{1b}[K";
    assert!(there.split(line).any(|said| said.contains(" asked for the certificate (")), "{there:?}");
    let last = there.rsplit(line).next().unwrap();
    assert!(last.contains("b.test.pem") && !last.contains(" s)"), "the line is gone when the answer comes: {there:?}");
    assert!(!there.contains("asked for the certificate\n"), "it does not move: {there:?}");
}

#[test]
fn a_key_is_not_overwritten_unless_that_is_wanted() {
    let shop = Shop::open_with(&["--skip-validation"]);
    shop.account();
    let order = |more: &[&str]| shop.my(&[&["order", "create", "a.test", "--published"][..], &ACCOUNT, more].concat());
    order(&[]).ok();
    let key = || fs::read(shop.at_home("a.test-key.pem")).unwrap();
    let first = key();
    assert!(order(&[]).line(2).contains("not overwritten"));
    assert_eq!((key(), shop.json(&["order", "list"])["items"].as_array().unwrap().len()), (first.clone(), 1));
    // With the same key again, or with another one in its place.
    order(&["--key", "a.test-key.pem"]).ok();
    assert_eq!(key(), first);
    assert_eq!(public_key_of_key(&shop), of_certificate(&shop.at_home("a.test.pem")));
    order(&["--force", "--key-type", "p384"]).ok();
    assert_ne!(key(), first);
    assert_eq!(public_key_of_key(&shop), of_certificate(&shop.at_home("a.test.pem")));
    assert_eq!(mode(&shop.at_home("a.test-key.pem")), 0o600);
    // Each of several that are under way has its own.
    let left = || shop.json(&["order", "create", "a.test", "--no-wait", "--force", ACCOUNT[0], ACCOUNT[1]]);
    let lookups = [(); 3].map(|()| left()["order"]["lookup"].as_str().unwrap().to_owned());
    for lookup in [&lookups[1], &lookups[0]] {
        shop.my(&["order", "resume", lookup, "--published"]).ok();
        assert_eq!(public_key_of_key(&shop), of_certificate(&shop.at_home("a.test.pem")));
    }
    let kept = key();
    shop.my(&["order", "cancel", &lookups[2]]).ok();
    assert_eq!(key(), kept);
    let waits = |name: &str| name.contains(".pem.new");
    let files = fs::read_dir(shop.home.path()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(files.filter(|name| waits(name)).count(), 0);
    // What is refused leaves no key behind.
    assert_eq!(order(&["--out", "nowhere"]).code, 2);
    fs::create_dir(shop.at_home("empty")).unwrap();
    let refused = ["order", "create", "b.test", "--account", "nobody@b.example", "--out", "empty"];
    assert_eq!(shop.my(&refused).code, 5);
    assert_eq!(fs::read_dir(shop.at_home("empty")).unwrap().count(), 0);
}

#[test]
fn a_webroot_that_is_not_there_is_told_before_anything_is_ordered() {
    let shop = Shop::open();
    shop.account();
    let mistyped = format!("{}w", shop.webroot());
    let refused = shop.my(&[&["order", "create", "a.test", "--webroot", &mistyped][..], &ACCOUNT].concat());
    assert!(refused.line(2).contains(&format!("{mistyped} is not a folder")), "{refused:?}");
    assert!(!std::path::Path::new(&mistyped).exists() && !shop.at_home("a.test-key.pem.new").exists());
    assert_eq!(shop.json(&["order", "list"])["items"].as_array().unwrap().len(), 0);
}

#[test]
fn a_csr_of_the_customer_is_enough() {
    let shop = Shop::open_with(&["--skip-validation"]);
    shop.account();
    let made = Command::new("openssl")
        .args(["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "k.pem"])
        .args(["-subj", "/", "-addext", "subjectAltName=DNS:c.test", "-out", "c.csr"])
        .current_dir(shop.home.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert_eq!(shop.json(&["check-csr", "c.csr", "--account", "admin@customer.example"])["valid"], true);
    let done = shop.json(&[&["order", "create", "--csr", "c.csr", "--published"][..], &ACCOUNT].concat());
    assert_eq!((done["files"].get("key"), shop.at_home("c.test.pem").exists()), (None, true));
    fs::write(shop.at_home("bad.csr"), "nothing").unwrap();
    let bad = shop.my(&["check-csr", "bad.csr"]);
    assert!(bad.code == 1 && !bad.stdout.is_empty() && bad.stderr.contains("would be refused"), "{bad:?}");
    assert_eq!(shop.my(&[&["order", "create", "--csr", "bad.csr"][..], &ACCOUNT].concat()).code, 1);
    assert!(shop.my(&["check-csr", "none.csr"]).line(2).contains("none.csr"));
}

#[test]
fn what_has_to_be_published_can_be_pasted() {
    let shop = Shop::open();
    shop.account();
    let names = ["order", "create", "p.test", "*.p.test", "--no-wait"];
    let said = shop.my(&[&names[..], &ACCOUNT].concat()).ok().stdout;
    assert!(said.contains("_acme-challenge.p.test. 60 IN TXT \"") && said.contains("*.p.test  by dns-01"), "{said}");
    let command = said.lines().find(|line| line.contains("mkdir")).unwrap();
    let pasted = Command::new("sh").args(["-c", command]).current_dir(shop.webroot()).status().unwrap();
    assert!(pasted.success());
    let page = said.lines().find_map(|line| line.trim().strip_prefix("text")).unwrap().trim();
    let file = fs::read_dir(format!("{}/.well-known/acme-challenge", shop.webroot())).unwrap().next().unwrap().unwrap();
    assert_eq!(fs::read_to_string(file.path()).unwrap(), page);
    assert_eq!(*page.split('.').next().unwrap(), *file.file_name().to_str().unwrap());
    let alpn = [&["order", "create", "q.test", "--no-wait", "--challenge", "tls-alpn-01"][..], &ACCOUNT].concat();
    assert!(shop.my(&alpn).ok().stdout.contains("acme-tls/1"));
    let order = shop.json(&[&["order", "create", "*.r.test", "--no-wait"][..], &ACCOUNT].concat());
    let order = order["order"]["lookup"].as_str().unwrap();
    let wrong = shop.my(&["order", "resume", order, "--challenge", "http-01"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("leave --challenge out"), "{wrong:?}");
    let resumed = shop.my(&["order", "resume", order]);
    assert!(resumed.code == 3 && resumed.stdout.contains("IN TXT"), "{resumed:?}");
}

#[test]
fn nothing_is_ordered_for_a_name_that_cannot_be_shown_as_is_asked_for() {
    let shop = Shop::open();
    shop.account();
    let before = shop.json(&["order", "list"]);
    for (name, kind) in
        [("*.r.test", "http-01"), ("192.0.2.1", "dns-01"), ("r.test", "smoke-01"), ("r.test", "dns-account-01")]
    {
        let wrong = shop.my(&[&["order", "create", name, "--challenge", kind][..], &ACCOUNT].concat());
        assert!(wrong.code == 2 && wrong.stderr.contains(kind), "{wrong:?}");
    }
    fs::write(shop.at_home("own.csr"), csr("*.w.test")).unwrap();
    let own = ["order", "create", "--csr", "own.csr", "--challenge", "http-01"];
    assert!(shop.my(&[&own[..], &ACCOUNT].concat()).line(2).contains("*.w.test"));
    assert_eq!(shop.json(&["order", "list"]), before);
    let kept = fs::read_dir(shop.at_home("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(kept.filter(|name| name.contains(".pem")).collect::<Vec<_>>(), Vec::<String>::new());
}

fn public_key_of_key(shop: &Shop) -> String {
    public_key(&["pkey", "-in", shop.at_home("a.test-key.pem").to_str().unwrap(), "-pubout"])
}

fn of_certificate(path: &std::path::Path) -> String {
    public_key(&["x509", "-in", path.to_str().unwrap(), "-noout", "-pubkey"])
}

fn public_key(args: &[&str]) -> String {
    let output = Command::new("openssl").args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
