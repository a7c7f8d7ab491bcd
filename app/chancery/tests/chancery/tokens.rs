//! The keys of CAs in a token.

use std::fs;
use std::process::Command;

use chancery_testkit::tokens::{PIN, Tokens, VARIABLE};
use serde_json::Value;

use crate::support::*;

struct WithToken {
    configured: Configured,
    tokens: Tokens,
}

impl WithToken {
    /// A configuration that names a token; none without SoftHSM.
    fn new() -> Option<Self> {
        let configured = Configured::new(&Tokens::configuration("ours"));
        let tokens = Tokens::new(configured.folder.path())?;
        tokens.make("ours");
        Some(Self { configured, tokens })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.configured.command(args);
        command.env(VARIABLE, self.tokens.settings());
        command
    }

    fn run(&self, args: &[&str]) -> Outcome {
        outcome(&mut self.command(args))
    }

    /// Each CA's name, and where its key is.
    fn places(&self) -> Vec<(String, String)> {
        let cas = self.run(&["ca", "list", "--json"]).json();
        let text = |ca: &Value, name: &str| ca[name].as_str().unwrap().to_owned();
        cas.as_array().unwrap().iter().map(|ca| (text(ca, "name"), text(ca, "key_in"))).collect()
    }

    /// What `doctor` says of the CAs that is not well.
    fn complaints(&self) -> Vec<String> {
        let told: Value = serde_json::from_str(&self.run(&["doctor", "--json"]).stdout).unwrap();
        let findings = told["findings"].as_array().unwrap().iter();
        let bad = findings.filter(|finding| finding["check"] == "authorities" && finding["level"] != "ok");
        bad.map(|finding| format!("{} → {}", finding["what"], finding["advice"])).collect()
    }

    fn configure(&self, from: &str, to: &str) {
        let path = self.configured.path();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).unwrap();
    }
}

#[test]
fn keys_are_made_where_one_says_and_in_the_token_where_nobody_does() {
    let Some(with) = WithToken::new() else { return };
    assert_eq!(with.run(&["check-config", "--json"]).json()["new_ca_keys"], "in the token \"ours\"");
    assert_eq!(with.run(&["init"]).code, 0);
    assert!(with.places().iter().all(|(_, place)| place == "token"), "{:?}", with.places());
    assert_eq!(with.tokens.keys(), 8);
    assert_eq!(with.complaints(), Vec::<String>::new());
    // What is there stays as it is, and leaves nothing behind.
    assert_eq!(with.run(&["init", "--keys", "token"]).code, 0);
    assert!(with.run(&["init", "--keys", "database"]).line(1).contains("not all of their keys are in the database"));
    assert_eq!(with.tokens.keys(), 8);

    let create = |more: &[&str]| with.run(&[&["ca", "create", "--kind", "ec-p256", "--json"], more].concat());
    assert_eq!(create(&[]).json()["key_in"], "token");
    assert_eq!(create(&["--keys", "database"]).json()["key_in"], "database");
    assert_eq!(with.tokens.keys(), 10);
    // A name that is taken is refused before anything is made.
    assert!(create(&["--name", "Chancery Issuing CA E1"]).line(1).contains("exists already"));
    assert_eq!(with.tokens.keys(), 10);
    let rotated = with.run(&["ca", "rotate", "Chancery Issuing CA E4", "--json"]).json();
    assert_eq!([&rotated["old"]["key_in"], &rotated["new"]["key_in"]], ["database", "token"]);
    assert_eq!(rotated["old"]["key_id"], Value::Null);
    assert_eq!(rotated["new"]["key_id"].as_str().unwrap().len(), 32);
    assert_eq!(with.run(&["ca", "show", "Chancery Issuing CA E4", "--json"]).json()["key_in"], "database");
    assert_eq!(with.complaints(), Vec::<String>::new());
    // Another key-encryption key seals which key it is, as it does keys.
    assert_eq!(with.run(&["kek", "rotate"]).code, 0);
    assert_eq!(with.complaints(), Vec::<String>::new());
}

#[test]
fn a_token_that_cannot_be_used_is_told_and_nothing_is_made() {
    let Some(with) = WithToken::new() else { return };
    let create = || with.run(&["ca", "create", "--kind", "ec-p256"]);
    assert_eq!(with.run(&["init"]).code, 0);
    let cas = with.places();

    fs::write(with.tokens.pin_file(), "1234").unwrap();
    assert!(create().line(1).contains("the PIN is wrong"));
    let complaints = with.complaints();
    assert_eq!(complaints.len(), 4, "{complaints:#?}");
    assert!(complaints[0].contains("the PIN is wrong") && complaints[0].contains("keys.pkcs11"), "{complaints:#?}");
    assert!(complaints[1..].iter().all(|said| said.contains("not tried again")), "{complaints:#?}");
    fs::write(with.tokens.pin_file(), PIN).unwrap();
    assert_eq!(with.complaints(), Vec::<String>::new());

    with.configure("token = 'ours'", "token = 'theirs'");
    assert!(create().line(1).contains("no token with the label \"theirs\""));
    with.configure("token = 'theirs'", "token = 'ours'");

    let away = with.configured.folder.path().join("away");
    fs::rename(with.tokens.folder(), &away).unwrap();
    let said = create();
    assert!(said.line(1).contains("C_Initialize answered GeneralError"), "{said:?}");
    fs::rename(&away, with.tokens.folder()).unwrap();

    with.configure(&Tokens::configuration("ours"), "");
    assert!(create().line(1).contains("the key is in a token, and none is configured"));
    let said = with.run(&["ca", "create", "--kind", "ec-p256", "--keys", "token"]);
    assert!(said.line(1).contains("no token is configured"), "{said:?}");
    assert!(with.complaints().iter().all(|said| said.contains("none is configured")));
    assert_eq!(with.places(), cas);
    assert_eq!(with.tokens.keys(), 8);
}

#[test]
fn a_root_that_has_lost_its_key_certifies_nobody_and_leaves_nothing_behind() {
    let Some(with) = WithToken::new() else { return };
    assert_eq!(with.run(&["init"]).code, 0);
    with.tokens.lose_keys();
    let said = with.run(&["ca", "create", "--kind", "rsa-2048"]);
    assert!(said.line(1).contains("has no private key with the id"), "{said:?}");
    assert_eq!(with.tokens.keys(), 0);
    assert!(with.complaints().iter().all(|said| said.contains("HSM's backup")), "{:#?}", with.complaints());
    // That nobody is to trust it any more is not kept waiting.
    let revoke = ["ca", "revoke-issuer", "Chancery Issuing CA E1", "--reason", "keyCompromise", "--yes"];
    let said = with.run(&revoke);
    assert!(said.stdout.contains("The list cannot be made at the moment"), "{said:?}");
    let shown = with.run(&["ca", "show", "Chancery Issuing CA E1", "--json"]).json();
    assert_eq!(shown["state"], "revoked");
}

#[test]
fn a_backup_says_what_is_not_in_it() {
    let Some(with) = WithToken::new() else { return };
    assert_eq!(with.run(&["init"]).code, 0);
    let to = with.configured.folder.path().join("copy.db");
    let said = with.run(&["backup", "--to", to.to_str().unwrap()]);
    assert!(said.stdout.contains("in the token \"ours\" are not in it"), "{said:?}");
}

#[test]
fn half_a_token_is_a_wrong_configuration() {
    let wrong = |settings: &str| {
        let outcome = Configured::new(settings).run(&["check-config", "--json"]);
        let told: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let problems = told["problems"].as_array().unwrap().iter();
        problems.map(|problem| problem["setting"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(wrong("keys.pkcs11.token = 'ours'"), ["keys.pkcs11.module", "keys.pkcs11.pin_file"]);
    let all = "keys.pkcs11 = { module = 'missing.so', token = ' ', pin_file = 'missing' }";
    assert_eq!(wrong(all), ["keys.pkcs11.module", "keys.pkcs11.token", "keys.pkcs11.pin_file"]);
    assert_eq!(wrong("keys.pkcs11.pin = '4711'"), ["keys.pkcs11.pin"]);
}
