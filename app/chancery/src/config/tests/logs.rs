use std::fs;

use chancery_pki::{KeyAlgorithm, LogKey, PrivateKey, SctNeeds, Signer};
use data_encoding::BASE64;
use serde_json::{Value, json};

use super::*;

/// 2026-11-18.
const NOW: i64 = 1_794_960_000;
const LOGGED: &str = "[[profiles.list]]\nname = 'TLS-90d'\nct = true\n";

fn key() -> String {
    BASE64.encode(PrivateKey::generate(KeyAlgorithm::EcP256).unwrap().spki())
}

/// A log, as it is written; the last setting of a name counts.
fn log(name: &str, more: &[(&str, &str)]) -> String {
    let (key, url) = (key(), format!("https://{name}.example/"));
    let mut settings = vec![("name", name), ("operator", name), ("url", &url), ("key", &key)];
    for (setting, value) in more {
        settings.retain(|(other, _)| other != setting);
        settings.push((setting, value));
    }
    let lines: String = settings.iter().map(|(setting, value)| format!("{setting} = '{value}'\n")).collect();
    format!("[[ct.logs]]\n{lines}")
}

fn two() -> String {
    log("north", &[]) + &log("south", &[])
}

fn listed(description: &str, key: &str) -> Value {
    let url = format!("https://{}.example/", description.replace(' ', "-"));
    json!({"description": description, "key": key, "url": url, "state": {"usable": {}}})
}

/// A list in a file, with the logs of two operators, and how it is named.
fn file(folder: &tempfile::TempDir, made_at: &str, first: Value, second: Value) -> String {
    let operator = |name: &str, logs: Value| json!({"name": name, "logs": logs});
    let list = json!({
        "log_list_timestamp": made_at, "operators": [operator("First", first), operator("Second", second)],
    });
    let path = folder.path().join("list.json");
    fs::write(&path, list.to_string()).unwrap();
    format!("[ct]\nlog_list_file = '{}'\n", path.display())
}

#[test]
fn profiles_are_shown_to_the_logs_there_are_where_they_say_so() {
    let installation = settled(&(two() + LOGGED + "[[profiles.list]]\nname = 'b'\n"));
    let looks: Vec<_> = installation.settings.issuing.certificates.values().map(|look| look.logs.is_some()).collect();
    assert_eq!(looks, [true, false]);
    let list = installation.logs.list.unwrap().now();
    assert_eq!(list.needs(), SctNeeds::BROWSERS);
    assert!(
        list.logs()
            .iter()
            .map(|log| (log.name.as_str(), log.operator.as_str()))
            .eq([("north", "north"), ("south", "south")])
    );
    assert_eq!(settled(&two()).warnings(NOW), Vec::<String>::new());
    let found = problems_of(LOGGED);
    assert_eq!(found, ["profiles.list.0.ct: needs logs: name them in ct.logs or ct.log_list_file"]);
    let own = settled(&format!("[ct]\nscts = 1\n{}{LOGGED}", log("own", &[])));
    assert_eq!(own.logs.list.unwrap().now().needs(), SctNeeds { scts: Some(1), operators: 1 });
}

#[test]
fn logs_that_cannot_be_are_refused() {
    let wrong = |more: &[(&str, &str)]| problems_of(&(log("north", more) + &log("south", &[]) + LOGGED));
    let p384 = BASE64.encode(PrivateKey::generate(KeyAlgorithm::EcP384).unwrap().spki());
    for (setting, value, said) in [
        ("name", "", "ct.logs.0.name: must be a short text"),
        ("operator", " ", "ct.logs.0.operator: must be a short text"),
        ("key", "", "ct.logs.0.key: must be the public key of the log"),
        ("key", "?", "ct.logs.0.key: the key is not base64"),
        ("key", &p384, "ct.logs.0.key: its key must be P-256 or RSA, the base64 of a SubjectPublicKeyInfo"),
        ("from", "yesterday", "ct.logs.0.from: must be a time such as 2027-01-01T00:00:00Z, not \"yesterday\""),
        ("name", "south", "ct.logs: \"south\" is the name of two"),
        ("operator", " South", "ct.logs: must have logs of 2 operators at least, not of 1"),
    ] {
        assert_eq!(wrong(&[(setting, value)]), [said], "{setting}");
    }
    assert!(wrong(&[("url", "http://north.example/")])[0].contains("ct.logs.0.url"), "plain HTTP, out there");
    assert!(wrong(&[("ca_file", "nowhere.pem")])[0].contains("ct.logs.0.ca_file: cannot read"));
    let backwards = wrong(&[("from", "2027-01-01T00:00:00Z"), ("until", "2027-01-01T00:00:00Z")]);
    assert_eq!(backwards, ["ct.logs.0.until: must be later than from"]);
    assert_eq!(problems_of(&log("alone", &[])).len(), 2, "neither enough logs nor enough operators");
    let found = problems_of(&format!("[ct]\nscts = 1\noperators = 2\n{}", two()));
    assert_eq!(found, ["ct.operators: must not be more than ct.scts, which is 1"]);
    assert_eq!(problems_of(&format!("[ct]\nscts = 9\n{}", two())), ["ct.scts: must be 1 to 8, not 9"]);
}

#[test]
fn a_list_of_others_is_used_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (same, odd) = (key(), BASE64.encode(PrivateKey::generate(KeyAlgorithm::EcP384).unwrap().spki()));
    let mut other = listed("other", &key());
    other["log_id"] = LogKey::from_spki(&BASE64.decode(same.as_bytes()).unwrap()).unwrap().id().to_string().into();
    let mut retired = listed("retired", &key());
    retired["state"] = json!({"retired": {}});
    let first = json!([
        listed("one", &same),
        listed("two", &key()),
        listed("two", &key()),
        listed("odd", &odd),
        other,
        retired,
    ]);
    let text = file(&folder, "2026-08-01T00:00:00Z", first, json!([listed("three", &key())]));
    let named = log("named", &[("key", &same)]);
    let installation = settled(&(text + &named + LOGGED));
    let names: Vec<_> = installation.logs.logs.iter().map(|log| log.log.name.as_str()).collect();
    assert_eq!(names, ["named", "two", "https://two.example/", "three"]);
    let warnings = installation.warnings(NOW);
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].contains("is left out: other: its id is not that of its key"), "{warnings:?}");
    assert!(warnings[1].contains("is left out: odd: its key must be"), "{warnings:?}");
    assert!(warnings[2].contains("ct.log_list_file is of 2026-08-01T00:00:00Z"), "{warnings:?}");
    let text = file(&folder, "2026-11-01T00:00:00Z", json!([]), json!([retired]));
    let found = problems_of(&(text + LOGGED));
    let said = "ct.log_list_file: must have 2 usable logs at least, not 0; of the list 1 are not";
    assert_eq!(found[0], said, "{found:?}");
    let found = problems_of("[ct]\nlog_list_file = 'nowhere.json'\n");
    assert!(found.len() == 1 && found[0].starts_with("ct.log_list_file: cannot read"), "{found:?}");
}

#[test]
fn it_is_told_where_logs_are_not_enough() {
    let until = |time| log("north", &[]) + &log("south", &[("until", time)]) + LOGGED;
    assert_eq!(settled(&until("2027-06-01T00:00:00Z")).warnings(NOW), Vec::<String>::new());
    let warnings = settled(&until("2027-01-01T00:00:00Z")).warnings(NOW);
    assert!(
        warnings.len() == 1 && warnings[0].contains("nothing can be issued with the profile TLS-90d"),
        "{warnings:?}"
    );
    let long =
        two() + "profiles.default_profile = 'a'\n[[profiles.list]]\nname = 'a'\nct = true\nvalidity_days = 199\n";
    let warnings =
        settled(&long.replace("profiles.default_profile = 'a'\n", "[profiles]\ndefault_profile = 'a'\n")).warnings(NOW);
    assert!(warnings[0].contains("its certificates need 3 timestamps"), "{warnings:?}");
    let shared = Shared::new();
    let public = |ct: &str, more: &str| {
        let profile = format!("[[profiles.list]]\nname = 'TLS-90d'\npublic = true\n{ct}");
        let perspectives = shared.perspectives(&["ripe", "arin"]);
        let mut warnings = settled(&(more.to_owned() + &two() + &profile + &perspectives)).warnings(NOW);
        warnings.retain(|warning| !warning.contains("perspectives"));
        warnings
    };
    assert_eq!(public("ct = true\n", ""), Vec::<String>::new());
    assert!(public("", "")[0].contains("browsers take no public certificates that are in no logs"));
    assert!(public("ct = true\n", "[ct]\nscts = 2\n")[0].contains("leave ct.scts and ct.operators out"));
}
