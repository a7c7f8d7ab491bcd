//! The configuration as `serve` and `check-config` meet it. What each setting allows is tested beside the code.

use std::fs;

use serde_json::{Value, json};

use crate::support::*;

#[test]
fn the_environment_goes_over_the_file() {
    let configured = Configured::new("limits.burst = 5");
    let checked = outcome(
        configured
            .command(&["check-config", "--json"])
            .env("CHANCERY__SERVER__LISTEN", "127.0.0.1:1234")
            .env("CHANCERY__SERVER__BASE_URL", "https://from.the.environment")
            .env("CHANCERY__PROFILES__DEFAULT_PROFILE", "short")
            .env("CHANCERY__PROFILES__LIST__0__NAME", "short")
            .env("CHANCERY__PROFILES__LIST__0__KEY_TYPES", "ec-p256,ec-p384")
            .env("CHANCERY__IDENTITY__AUDIENCE", "12345"),
    );
    let checked = checked.json();
    assert_eq!(checked["listen"], "127.0.0.1:1234");
    assert_eq!(checked["base_url"], "https://from.the.environment");
    assert_eq!(checked["profiles"], json!(["short"]));
    assert_eq!(checked["audience"], "12345");
    assert_eq!(checked["resolvers"], json!(["127.0.0.1:53"]));
}

#[test]
fn the_database_can_be_given_on_the_command_line() {
    let configured = Configured::new("");
    let checked = configured.run(&["check-config", "--json", "--database-url", "sqlite://other.db"]).json();
    let expected = format!("sqlite://{}", configured.folder.path().join("other.db").display());
    assert_eq!(checked["database"], expected.as_str());
}

#[test]
fn an_unknown_setting_keeps_it_from_starting() {
    let configured = Configured::initialised("");
    let path = configured.path();
    let good = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{good}\n[limits]\nbrust = 5\n")).unwrap();
    let outcome = configured.run(&["serve"]);
    assert!(outcome.line(2).contains("limits.brust: is not a setting; did you mean burst?"), "{outcome:?}");
    fs::write(&path, &good).unwrap();
    let outcome = crate::support::outcome(configured.command(&["serve"]).env("CHANCERY__LIMITS__BRUST", "5"));
    assert!(outcome.line(2).contains("CHANCERY__LIMITS__BRUST: is not a setting"), "{outcome:?}");
}

#[test]
fn an_unsafe_setting_keeps_it_from_starting_and_is_named() {
    for (setting, name) in [
        ("server.listen = '0.0.0.0:0'", "server.listen"),
        ("server.admin_listen = '0.0.0.0:0'", "server.admin_listen"),
        ("server.base_url = 'http://ca.example.com'", "server.base_url"),
        ("server.base_url = 'https://ca.example.com'\nidentity.api_keys = true", "identity.api_keys"),
        ("database.url = 'postgres://u:hunter2@db.example.com/ca'", "database.url"),
        ("identity.token_lifetime = '365d'", "identity.token_lifetime"),
        (
            "[[identity.external]]\nissuer = 'http://idp.example.com'\njwks_url = 'https://idp.example.com/jwks'\naudience = 'x'\nresellers = ['*']",
            "identity.external.0.issuer",
        ),
    ] {
        let configured = Configured::new("");
        let text = fs::read_to_string(configured.path()).unwrap();
        let replaced = setting.split(" = ").next().unwrap();
        let text: String =
            text.lines().filter(|line| !line.starts_with(replaced)).map(|line| format!("{line}\n")).collect();
        fs::write(configured.path(), format!("{text}{setting}\n")).unwrap();
        let outcome = configured.run(&["serve"]);
        let line = outcome.line(2);
        assert!(line.contains(&format!("{name}: ")), "{name}: {line}");
        assert!(!line.contains("hunter2"), "{line}");
    }
}

#[test]
fn a_public_profile_keeps_a_lax_installation_from_starting() {
    let public = "dcv.dnssec = 'off'\ndcv.allow_special_addresses = true\ndcv.http01_port = 8080\n\
                  profiles.default_profile = 'a'\n[[profiles.list]]\nname = 'a'\npublic = true\n";
    let configured = Configured::new(public);
    let checked = configured.run(&["check-config", "--json"]);
    assert_eq!(checked.code, 2, "{checked:?}");
    let served = configured.run(&["serve"]);
    for setting in ["dnssec", "allow_special_addresses", "http01_port", "perspectives"] {
        let named = format!("dcv.{setting}: must ");
        assert!(served.line(2).contains(&named), "{served:?}");
    }
    let private = Configured::new(&public.replace("public = true", "public = false"));
    assert_eq!(private.run(&["check-config"]).code, 0);
}

#[test]
fn check_config_lists_everything_that_is_wrong() {
    let configured = Configured::new("limits.burst = 0\nlog.format = 'xml'\nlog.levle = 'x'");
    let outcome = configured.run(&["check-config", "--json"]);
    assert_eq!(outcome.code, 2);
    let checked: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(checked["ok"], false);
    assert_eq!(checked["problems"][0]["setting"], "log.levle");
    fs::write(configured.path(), fs::read_to_string(configured.path()).unwrap().replace("log.levle = 'x'", ""))
        .unwrap();
    let outcome = configured.run(&["check-config"]);
    assert!(outcome.stdout.contains("limits.burst") && outcome.stdout.contains("log.format"), "{outcome:?}");
    assert!(outcome.line(2).contains("2 settings are wrong"), "{outcome:?}");
}

#[test]
fn check_config_tells_advice_to_its_end() {
    let folder = "certificates/of/this/service";
    let configured = Configured::new(&format!(
        "server.tls.certificate = '{folder}/fullchain.pem'\nserver.tls.key = '{folder}/key.pem'"
    ));
    let asked = |args: &[&str]| outcome(configured.command(args).env("CHANCERY__SERVER__ADMIN_LISTEN", "0.0.0.0:0"));
    let listed: Value = serde_json::from_str(&asked(&["check-config", "--json"]).stdout).unwrap();
    let problems = listed["problems"].as_array().unwrap();
    let settings: Vec<_> = problems.iter().map(|problem| &problem["setting"]).collect();
    assert_eq!(settings, ["server.admin_listen", "server.tls"], "{listed}");
    let (table, line) = (asked(&["check-config"]), asked(&["serve"]));
    for problem in problems.iter().map(|problem| problem["problem"].as_str().unwrap()) {
        assert!(problem.chars().count() > 80, "nobody would cut it: {problem}");
        assert!(table.stdout.contains(problem), "{problem}: {table:?}");
        assert!(line.line(2).contains(problem), "{problem}: {line:?}");
    }
}

#[test]
fn a_broken_file_and_a_missing_one_are_told_in_one_line() {
    let configured = Configured::new("");
    fs::write(configured.path(), "[server\nlisten = 1").unwrap();
    for command in ["serve", "check-config", "init"] {
        let outcome = configured.run(&[command]);
        assert_eq!(outcome.code, 2, "{outcome:?}");
    }
    assert!(configured.run(&["serve"]).line(2).contains("line 1: "));
    fs::remove_file(configured.path()).unwrap();
    assert!(configured.run(&["serve"]).line(2).contains("cannot read the configuration"));
}

#[test]
fn the_configuration_can_be_named_by_the_environment() {
    let configured = Configured::initialised("");
    let listed = outcome(chancery().args(["ca", "list", "--json"]).env("CHANCERY_CONFIG", configured.path())).json();
    assert_eq!(listed.as_array().unwrap().len(), 4);
}
