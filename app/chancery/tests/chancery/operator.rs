//! The operator's commands, beside a running service: what they print for scripts, and what they change.

use std::fs::File;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::*;

/// A token for a client, or why there is none.
fn token(dev: &Dev, id: &str, secret: &str) -> Result<String, Value> {
    let request = json!({
        "grant_type": "client_credentials", "client_id": id, "client_secret": secret, "audience": dev.value("audience"),
    });
    let url = format!("{}/oauth/token", dev.value("auth_url"));
    let json = "Content-Type: application/json";
    let answer = curl(&["--cacert", dev.value("ca_bundle"), "-H", json, "-d", &request.to_string(), &url]);
    let body = answer.json();
    body["access_token"].as_str().map(str::to_owned).ok_or(body)
}

/// The status of a list of accounts, asked for with this `Authorization`.
fn status(dev: &Dev, authorization: &str) -> u16 {
    let url = format!("{}/v1/account", dev.value("base_url"));
    curl(&["--cacert", dev.value("ca_bundle"), "-H", &format!("Authorization: {authorization}"), &url]).status
}

/// Waits until the service has noticed what was changed behind its back.
#[track_caller]
fn until_status(dev: &mut Dev, authorization: &str, expected: u16) {
    let url = format!("{}/v1/account", dev.value("base_url"));
    let ca = dev.value("ca_bundle").to_owned();
    let header = format!("Authorization: {authorization}");
    dev.process.until(&format!("{expected}"), |_| {
        (curl(&["--cacert", &ca, "-H", &header, &url]).status == expected).then_some(())
    });
}

#[test]
fn a_reseller_lives_through_its_commands() {
    let place = folder();
    let mut dev = Dev::start(place.path());
    let made = json_in(place.path(), &["reseller", "create", "--code", "ACME2", "--name", "Second"]);
    assert_eq!((&made["code"], &made["name"], &made["status"]), (&json!("ACME2"), &json!("Second"), &json!("active")));
    let listed = json_in(place.path(), &["reseller", "list"]);
    let codes: Vec<_> = listed.as_array().unwrap().iter().map(|reseller| &reseller["code"]).collect();
    assert_eq!(codes, ["ACME2", "DEMO"]);
    let demo = json_in(place.path(), &["reseller", "show", "DEMO"]);
    assert_eq!(demo["clients"], json!([dev.value("client_id")]));
    assert_eq!(demo["api_keys"].as_array().unwrap().len(), 1);

    let key = dev.value("api_key").to_owned();
    assert_eq!(status(&dev, &key), 200);
    assert_eq!(json_in(place.path(), &["reseller", "suspend", "DEMO"])["status"], "suspended");
    until_status(&mut dev, &key, 403);
    assert_eq!(json_in(place.path(), &["reseller", "resume", "DEMO"])["status"], "active");
    until_status(&mut dev, &key, 200);

    let twice = outcome(
        chancery().args(["reseller", "create", "--code", "ACME2", "--name", "x", "--data-dir"]).arg(place.path()),
    );
    assert!(twice.line(1).contains("exists already"), "{twice:?}");
    let unknown = outcome(chancery().args(["reseller", "show", "NOBODY", "--data-dir"]).arg(place.path()));
    assert!(unknown.line(1).ends_with("there is no reseller NOBODY; see `chancery reseller list`"), "{unknown:?}");
}

#[test]
fn a_client_lives_through_its_commands() {
    let place = folder();
    let mut dev = Dev::start(place.path());
    let scope = "reseller read:account";
    let made = json_in(
        place.path(),
        &["client", "create", "--reseller", "DEMO", "--scope", scope, "--name", "Robot", "--expires-in-days", "30"],
    );
    assert_eq!(
        (&made["scope"], &made["audience"], &made["reseller"]),
        (&json!(scope), &json!(dev.value("audience")), &json!("DEMO"))
    );
    let (id, first) = (made["client_id"].as_str().unwrap(), made["client_secret"].as_str().unwrap());
    assert!(made["expires_at"].is_string());
    let bearer = format!("Bearer {}", token(&dev, id, first).unwrap());
    assert_eq!(status(&dev, &bearer), 200);

    let rotated = json_in(place.path(), &["client", "rotate", id]);
    let second = rotated["client_secret"].as_str().unwrap();
    assert_eq!(rotated["secrets"], 2);
    let again = outcome(chancery().args(["client", "rotate", id, "--data-dir"]).arg(place.path()));
    assert!(again.line(1).contains("finish the rotation first"), "{again:?}");
    // The service may still hold the client as it was; it looks every second.
    dev_until_token(&mut dev, id, second, true);
    dev_until_token(&mut dev, id, first, true);
    let finished = json_in(place.path(), &["client", "rotate", id, "--finish"]);
    assert_eq!((&finished["secrets"], &finished["client_secret"]), (&json!(1), &Value::Null));
    dev_until_token(&mut dev, id, first, false);
    dev_until_token(&mut dev, id, second, true);

    assert_eq!(json_in(place.path(), &["client", "disable", id])["status"], "disabled");
    // Nobody reads it: the disk is full, or the reader is gone.
    let full = File::options().write(true).open("/dev/full").unwrap();
    let (reader, pipe) = std::io::pipe().unwrap();
    drop(reader);
    for nobody in [Stdio::from(full), Stdio::from(pipe)] {
        let mut rotate = chancery();
        let unseen =
            rotate.args(["client", "rotate", id, "--data-dir"]).arg(place.path()).stdout(nobody).output().unwrap();
        let told = String::from_utf8(unseen.stderr).unwrap();
        let what = format!("nobody has the second secret of {id}");
        assert!(unseen.status.code() == Some(1) && told.contains(&what), "{told}");
        json_in(place.path(), &["client", "rotate", id, "--finish"]);
    }
    let neither = outcome(chancery().args(["client", "rotate", id, "--data-dir"]).arg(place.path())).stdout;
    assert!(neither.contains("Neither secret works now, for the client is disabled"), "{neither}");
    json_in(place.path(), &["client", "rotate", id, "--finish"]);
    until_status(&mut dev, &bearer, 401);
    assert_eq!(json_in(place.path(), &["client", "enable", id])["status"], "active");
    until_status(&mut dev, &bearer, 200);

    let listed = json_in(place.path(), &["client", "list", "--reseller", "DEMO"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!((&listed[0]["client_id"], &listed[0]["secrets"]), (&json!(id), &json!(1)));
    assert!(!listed.to_string().contains("chs_"), "secrets are shown only where they are made");
    assert_eq!(json_in(place.path(), &["client", "list"]), listed);
}

fn dev_until_token(dev: &mut Dev, id: &str, secret: &str, good: bool) {
    let (json, ca) = (dev.json.clone(), dev.value("ca_bundle").to_owned());
    let request = json!({
        "grant_type": "client_credentials", "client_id": id, "client_secret": secret, "audience": json["audience"],
    });
    let url = format!("{}/oauth/token", json["auth_url"].as_str().unwrap());
    let (request, expected) = (request.to_string(), if good { 200 } else { 401 });
    dev.process.until("the token endpoint to follow", |_| {
        let answer = curl(&["--cacert", &ca, "-H", "Content-Type: application/json", "-d", &request, &url]);
        (answer.status == expected).then_some(())
    });
}

#[test]
fn an_api_key_lives_through_its_commands() {
    let place = folder();
    let mut dev = Dev::start(place.path());
    let made = json_in(place.path(), &["api-key", "create", "--reseller", "DEMO", "--scope", "reseller read:account"]);
    let (id, key) = (made["key_id"].as_str().unwrap(), made["api_key"].as_str().unwrap());
    assert_eq!(status(&dev, key), 200);
    assert_eq!(json_in(place.path(), &["api-key", "revoke", id])["status"], "revoked");
    until_status(&mut dev, key, 401);
    let listed = json_in(place.path(), &["api-key", "list", "--reseller", "DEMO"]);
    assert_eq!((&listed[0]["key_id"], &listed[0]["status"]), (&json!(id), &json!("revoked")));
    assert!(!listed.to_string().contains("chk_"), "keys are shown only where they are made");
    let again = outcome(chancery().args(["api-key", "revoke", id, "--data-dir"]).arg(place.path()));
    assert_eq!((again.code, again.stdout), (0, format!("{id} was revoked already.\n")));
    let again = json_in(place.path(), &["api-key", "revoke", id]);
    assert_eq!((&again["status"], &again["already"]), (&json!("revoked"), &json!(true)));
    let revocations = json_in(place.path(), &["audit", "--action", "api_key.revoke"]);
    assert_eq!(revocations.as_array().unwrap().len(), 1, "{revocations}");
    let nobodys = dev.value("client_id").replace("cli_", "key_");
    let unknown = outcome(chancery().args(["api-key", "revoke", nobodys.as_str(), "--data-dir"]).arg(place.path()));
    let line = unknown.line(1);
    assert!(line.contains("there is no API key") && line.contains("chancery api-key list"), "{line}");
}

#[test]
fn an_api_key_that_is_not_taken_is_told() {
    let configured = Configured::initialised("");
    assert_eq!(configured.run(&["reseller", "create", "--code", "ACME2", "--name", "x"]).code, 0);
    let made = configured.run(&["api-key", "create", "--reseller", "ACME2"]);
    assert!(made.code == 0 && made.stdout.contains("identity.api_keys is false"), "{made:?}");
}

#[test]
fn profiles_and_cas_are_shown() {
    let place = folder();
    let dev = Dev::start(place.path());
    let profiles = json_in(place.path(), &["profile", "list"]);
    let names: Vec<_> = profiles.as_array().unwrap().iter().map(|profile| &profile["name"]).collect();
    assert_eq!(names, ["TLS-90d", "TLS-199d"]);
    let shown = json_in(place.path(), &["profile", "show", "TLS-90d"]);
    assert_eq!((&shown["validity_days"], &shown["default"]), (&json!(90), &json!(true)));
    let look =
        ["issuers", "usages", "policies", "common_name", "backdate", "ocsp", "crl", "public"].map(|name| &shown[name]);
    let expected = json!([[], ["server-auth"], ["2.23.140.1.2.1"], false, "1h", true, true, false]);
    assert_eq!(json!(look), expected);
    let unknown = outcome(chancery().args(["profile", "show", "TLS-1d", "--data-dir"]).arg(place.path()));
    assert!(unknown.line(1).contains("there are TLS-90d, TLS-199d"), "{unknown:?}");

    let cas = json_in(place.path(), &["ca", "list"]);
    assert_eq!(
        (&cas[0]["kind"], &cas[1]["kind"], &cas[1]["state"]),
        (&json!("root"), &json!("issuing"), &json!("active"))
    );
    let root = cas[0]["name"].as_str().unwrap();
    let pem = outcome(chancery().args(["ca", "show", root, "--pem", "--data-dir"]).arg(place.path()));
    assert_eq!(pem.stdout, std::fs::read_to_string(dev.value("issuer_bundle")).unwrap());
    let by_id = json_in(place.path(), &["ca", "show", cas[1]["id"].as_str().unwrap()]);
    assert_eq!(by_id["parent"], cas[0]["id"]);
    assert_eq!(by_id["profiles"], json!(["TLS-199d", "TLS-90d"]));
    assert!(by_id["certificate"].as_str().unwrap().starts_with("-----BEGIN CERTIFICATE-----"));
    let unknown = outcome(chancery().args(["ca", "show", "nobody", "--data-dir"]).arg(place.path()));
    assert!(unknown.line(1).contains("chancery ca list"), "{unknown:?}");
}

#[test]
fn the_audit_trail_is_read_by_what_one_looks_for() {
    let place = folder();
    let mut dev = Dev::start(place.path());
    let made = dev.curl(
        "/v1/account",
        &[
            "-H",
            "Content-Type: application/json",
            "-H",
            "X-Request-Id: r-1",
            "-d",
            r#"{"customer_email":"a@example.com"}"#,
        ],
    );
    let lookup = made.json()["lookup"].as_str().unwrap().to_owned();
    assert_eq!(status(&dev, "chk_nonsense"), 401);
    dev.process.stop();
    let operator = outcome(
        chancery()
            .args(["reseller", "create", "--code", "ACME2", "--name", "x", "--data-dir"])
            .arg(place.path())
            .env_remove("SUDO_USER")
            .env("USER", "alice"),
    );
    assert_eq!(operator.code, 0, "{operator:?}");

    let audit = |args: &[&str]| json_in(place.path(), &[&["audit"], args].concat());
    let by_subject = audit(&["--subject", &lookup]);
    assert_eq!(by_subject.as_array().unwrap().len(), 1, "{by_subject}");
    let line = &by_subject[0];
    assert_eq!(
        (&line["action"], &line["reseller"], &line["outcome"]),
        (&json!("account.create"), &json!("DEMO"), &json!("done"))
    );
    assert_eq!((&line["actor_kind"], &line["request_id"]), (&json!("api_key"), &json!("r-1")));
    assert_eq!(audit(&["--request-id", "r-1"]), by_subject);
    assert_eq!(audit(&["--action", "account.create", "--reseller", "DEMO"]), by_subject);
    assert_eq!(audit(&["--actor", "alice"])[0]["action"], "reseller.create");
    let refused = audit(&["--refused"]);
    assert_eq!((refused.as_array().unwrap().len(), &refused[0]["detail"]["status"]), (1, &json!(401)));
    assert_eq!(audit(&["--since", "2100-01-01T00:00:00Z"]), json!([]));
    assert_eq!(audit(&["--until", "24h"]), json!([]));
    let all = audit(&["--since", "1h"]);
    assert!(all.as_array().unwrap().len() >= 6, "{all}");
    assert_eq!(audit(&["--limit", "1"]), json!([all[0]]));
    for secret in ["client_secret", "api_key"] {
        assert!(!all.to_string().contains(dev.value(secret)), "{secret}");
    }
    let table = outcome(chancery().args(["audit", "--data-dir"]).arg(place.path()));
    assert!(table.stdout.starts_with("at ") && table.stdout.contains("account.create"), "{table:?}");
}

#[test]
fn an_operator_key_lives_through_its_commands() {
    let place = folder();
    let dev = Dev::start(place.path());
    let made = json_in(place.path(), &["operator-key", "create", "--name", "Olivia"]);
    assert_eq!((&made["name"], &made["status"]), (&json!("Olivia"), &json!("active")));
    let sign_in = |key: &str| {
        let url = format!("{}/sign-in", dev.value("console_url"));
        let origin = format!("Origin: {}", dev.value("base_url"));
        curl(&[
            "--cacert",
            dev.value("ca_bundle"),
            "-H",
            &origin,
            "--data-urlencode",
            &format!("operator_key={key}"),
            &url,
        ])
        .status
    };
    let key = made["operator_key"].as_str().unwrap();
    assert_eq!((sign_in(key), sign_in(dev.value("operator_key")), sign_in("cho_wrong")), (303, 303, 401));
    let id = made["key_id"].as_str().unwrap();
    assert_eq!(json_in(place.path(), &["operator-key", "revoke", id])["status"], "revoked");
    assert_eq!(sign_in(key), 401);
    let again = outcome(chancery().args(["operator-key", "revoke", id, "--data-dir"]).arg(place.path()));
    assert_eq!((again.code, again.stdout), (0, format!("{id} was revoked already.\n")));
    let listed = json_in(place.path(), &["operator-key", "list"]);
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|key| (&key["name"], &key["status"])).collect();
    assert_eq!(names, [(&json!("Olivia"), &json!("revoked")), (&json!("Demo operator"), &json!("active"))]);
    assert!(!listed.to_string().contains("cho_"), "a key is shown again");
}
