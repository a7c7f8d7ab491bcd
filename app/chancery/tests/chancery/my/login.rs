//! Getting in, staying in, and getting out.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use super::shop::{Shop, mode};
use crate::support::*;

#[test]
fn a_login_is_remembered_for_its_owner_alone() {
    let shop = Shop::closed();
    let data = shop.data().display().to_string();
    let said = shop.my(&["login", "--dev", &data]).ok();
    assert!(said.stdout.contains("You are logged in") && said.stdout.contains("DEMO"), "{said:?}");
    let secret = shop.dev.value("client_secret");
    assert!(!said.stdout.contains(secret) && !said.stderr.contains(secret));
    assert!(fs::read_to_string(shop.credentials()).unwrap().contains(secret));
    let token = shop.at_home(".cache/chancery/token-default.json");
    assert_eq!((mode(&shop.credentials()), mode(&token)), (0o600, 0o600));
    assert_eq!((mode(shop.credentials().parent().unwrap()), mode(token.parent().unwrap())), (0o700, 0o700));

    let who = shop.json(&["whoami"]);
    assert_eq!((&who["profile"], &who["resellerCode"]), (&"default".into(), &"DEMO".into()));
    assert!(who["scopes"].as_array().unwrap().contains(&"write:order".into()));
    assert!(who.get("clientSecret").is_none());
}

#[test]
fn the_secret_comes_from_a_pipe_or_a_variable_and_the_rest_from_the_service() {
    let shop = Shop::closed();
    let (url, ca) = (shop.dev.value("base_url"), shop.dev.value("ca_bundle"));
    let args = ["login", "--url", url, "--client-id", shop.dev.value("client_id"), "--ca-file", ca];
    let mut command = shop.command(&args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{}", shop.dev.value("client_secret")).unwrap();
    assert!(child.wait().unwrap().success());
    let who = shop.json(&["whoami"]);
    assert_eq!(who["audience"], shop.dev.value("audience"));

    let mut command = shop.command(&[&args[..], &["--profile", "other"]].concat());
    outcome(command.env("CHANCERY_CLIENT_SECRET", shop.dev.value("client_secret"))).ok();
    assert_eq!(shop.json(&["profiles"])["items"].as_array().unwrap().len(), 2);
}

#[test]
fn wrong_credentials_are_told_and_not_kept() {
    let shop = Shop::closed();
    let args = ["login", "--url", shop.dev.value("base_url"), "--ca-file", shop.dev.value("ca_bundle")];
    let id = shop.dev.value("client_id");
    let try_with = |more: &[&str]| {
        let mut command = shop.command(&[&args[..], &["--client-id", id], more].concat());
        outcome(command.env("CHANCERY_CLIENT_SECRET", "wrong"))
    };
    let line = try_with(&[]);
    assert!(line.line(4).contains("log in: chancery my login"), "{line:?}");
    let told: Value = serde_json::from_str(&try_with(&["--json"]).stderr).unwrap();
    assert_eq!(told["error"]["answer"]["error"], "invalid_client");
    assert!(!shop.credentials().exists());
}

#[test]
fn a_profile_for_each_environment() {
    let shop = Shop::open();
    let data = shop.data().display().to_string();
    let made = json_in(&shop.data(), &["client", "create", "--reseller", "DEMO", "--scope", "reseller read:account"]);
    let args = ["login", "--profile", "poor", "--url", shop.dev.value("base_url")];
    let mut command = shop.command(&args);
    command.args(["--client-id", made["client_id"].as_str().unwrap(), "--ca-file", shop.dev.value("ca_bundle")]);
    let said = outcome(command.env("CHANCERY_CLIENT_SECRET", made["client_secret"].as_str().unwrap())).ok();
    assert!(said.stderr.contains("--profile poor"), "{said:?}");

    assert_eq!(shop.json(&["whoami"])["profile"], "default");
    assert_eq!(shop.json(&["whoami", "--profile", "poor"])["scopes"].as_array().unwrap().len(), 2);
    let by_variable = outcome(shop.command(&["whoami", "--json"]).env("CHANCERY_PROFILE", "poor")).json();
    assert_eq!(by_variable["profile"], "poor");
    // What it may not do is told as such.
    let denied = shop.refused(4, &["account", "create", "a@b.example", "--profile", "poor"]);
    assert!(denied["message"].as_str().unwrap().contains("write:account"), "{denied}");
    assert!(denied["advice"].as_str().unwrap().contains("whoami"));

    let unknown = shop.my(&["account", "list", "--profile", "prod"]);
    assert!(unknown.line(2).contains("there is no profile prod; there are: default, poor"), "{unknown:?}");
    assert!(shop.my(&["account", "list", "--profile", "../x"]).line(2).contains("a profile is a name"));

    assert_eq!(shop.json(&["profiles", "--set-default", "poor"])["items"][1]["default"], true);
    assert_eq!(shop.json(&["whoami"])["profile"], "poor");
    shop.my(&["login", "--dev", &data, "--profile", "default", "--make-default"]).ok();
    assert_eq!(shop.json(&["whoami"])["profile"], "default");
}

#[test]
fn logging_out_forgets_secret_and_token() {
    let shop = Shop::open();
    shop.my(&["account", "list"]).ok();
    shop.my(&["logout"]).ok();
    assert!(!fs::read_to_string(shop.credentials()).unwrap().contains("client_secret"));
    assert!(!shop.at_home(".cache/chancery/token-default.json").exists());
    let said = shop.my(&["account", "list"]);
    assert!(said.line(2).ends_with("you are not logged in anywhere; log in: chancery my login"), "{said:?}");
    assert_eq!(shop.my(&["logout"]).code, 2);
}

#[test]
fn a_secret_that_others_can_read_is_not_used() {
    let shop = Shop::open();
    fs::set_permissions(shop.credentials(), fs::Permissions::from_mode(0o640)).unwrap();
    let said = shop.my(&["whoami"]);
    assert!(said.line(2).contains("chmod 600"), "{said:?}");
}

#[test]
fn a_broken_file_is_told_without_its_secrets() {
    let shop = Shop::open();
    let text = fs::read_to_string(shop.credentials()).unwrap();
    fs::write(shop.credentials(), text.replace("client_secret = ", "client_secret = x")).unwrap();
    let said = shop.my(&["whoami"]);
    assert!(said.line(2).contains("cannot be understood") && !said.stderr.contains(shop.dev.value("client_secret")));
}

#[test]
fn a_token_is_kept_and_replaced_when_it_is_refused() {
    let shop = Shop::open();
    let path = shop.at_home(".cache/chancery/token-default.json");
    let kept = || serde_json::from_str::<Value>(&fs::read_to_string(&path).unwrap()).unwrap();
    let first = kept();
    shop.my(&["account", "list"]).ok();
    assert_eq!(kept(), first, "it is used again");
    let mut spoiled = first.clone();
    spoiled["token"] = "a.b.c".into();
    fs::write(&path, spoiled.to_string()).unwrap();
    shop.my(&["account", "list"]).ok();
    assert_ne!(kept()["token"], "a.b.c");
    fs::write(&path, "{").unwrap();
    shop.my(&["account", "list"]).ok();
    assert!(kept()["token"].is_string());
}

#[test]
fn a_pipeline_needs_no_files() {
    let shop = Shop::closed();
    let mut command = shop.command(&["whoami", "--json"]);
    command.env("CHANCERY_URL", shop.dev.value("base_url")).env("CHANCERY_CLIENT_ID", shop.dev.value("client_id"));
    command.env("CHANCERY_CA_FILE", shop.dev.value("ca_bundle")).env("CHANCERY_AUDIENCE", shop.dev.value("audience"));
    command.env("CHANCERY_CLIENT_SECRET", shop.dev.value("client_secret"));
    let who = outcome(&mut command).json();
    assert_eq!((who.get("profile"), &who["resellerCode"]), (None, &"DEMO".into()));
    assert_eq!(fs::read_dir(shop.home.path()).unwrap().count(), 0);
    command.env_remove("CHANCERY_CLIENT_ID");
    let said: Value = serde_json::from_str(&outcome(&mut command).stderr).unwrap();
    assert!(said["error"]["message"].as_str().unwrap().contains("CHANCERY_CLIENT_ID is not"), "{said}");
}

#[test]
fn a_pipeline_without_its_secret_does_not_speak_to_whoever_was_signed_in_to() {
    let shop = Shop::open();
    let whoami = |variables: &[(&str, &str)], more: &[&str]| {
        let mut command = shop.command(&[&["whoami"], more].concat());
        outcome(command.envs(variables.iter().copied()))
    };
    let (url, other) = (shop.dev.value("base_url"), "https://127.0.0.1:1");
    let said = whoami(&[("CHANCERY_URL", other), ("CHANCERY_CLIENT_ID", "x"), ("CHANCERY_CLIENT_SECRET", "")], &[]);
    assert!(said.line(2).contains("CHANCERY_CLIENT_SECRET is not set"), "{}", said.stderr);
    assert!(whoami(&[("CHANCERY_CLIENT_ID", "x")], &[]).line(2).contains("CHANCERY_CLIENT_ID is x"));
    // Those of the login itself, as they are set for `login`, mean nothing else; and a profile that is named is meant.
    whoami(&[("CHANCERY_URL", &format!("{url}/"))], &[]).ok();
    whoami(&[("CHANCERY_URL", other)], &["--profile", "default"]).ok();
}
