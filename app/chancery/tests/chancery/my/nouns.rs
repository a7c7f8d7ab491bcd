//! Accounts, EAB credentials, groups and policies: every command, for people and for scripts.

use std::fs;

use serde_json::Value;

use super::shop::Shop;

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

#[test]
fn accounts_from_creation_to_termination() {
    let shop = Shop::open();
    let made = shop.json(&[
        "account",
        "create",
        "a@b.example",
        "--external-id",
        "shop-1",
        "--metadata",
        "plan=gold",
        "--metadata",
        "x=",
    ]);
    assert!(made["hmacKey"].is_string() && made["metadata"]["plan"] == "gold", "{made}");
    let said = shop.my(&["account", "create", "c@d.example"]).ok();
    assert!(said.stdout.contains("EAB HMAC key") && said.stderr.contains("shown only now"), "{said:?}");

    let listed = shop.json(&["account", "list"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    assert_eq!(shop.json(&["accounts", "list", "--email", "a@b.example"])["items"][0]["externalId"], "shop-1");
    let first = shop.json(&["account", "list", "--limit", "1"]);
    assert_eq!(first["items"].as_array().unwrap().len(), 1);
    let next = shop.json(&["account", "list", "--cursor", text(&first["nextCursor"])]);
    assert_eq!((&next["items"][0]["email"], next.get("nextCursor")), (&"a@b.example".into(), None));
    let table = shop.my(&["account", "list", "--limit", "1"]).ok();
    assert!(table.stdout.starts_with("lookup  ") && table.stderr.contains("--all"), "{table:?}");
    assert_eq!(shop.my(&["account", "list", "--all"]).ok().stdout.lines().count(), 3);

    shop.my(&["account", "update", "a@b.example", "--email", "e@f.example", "--external-id", "shop-2"]).ok();
    assert_eq!(shop.my(&["account", "update", "e@f.example"]).code, 2);
    shop.my(&["account", "suspend", "e@f.example"]).ok();
    assert_eq!(shop.json(&["account", "list", "--suspended"])["items"][0]["externalId"], "shop-2");
    assert_eq!(shop.json(&["account", "list", "--active"])["items"][0]["email"], "c@d.example");
    shop.my(&["account", "resume", "e@f.example"]).ok();
    let shown = shop.my(&["account", "show", "e@f.example"]).ok().stdout;
    assert!(shown.contains("active") && shown.contains("plan=gold") && shown.contains("EAB key id"), "{shown}");
    assert_eq!(shop.json(&["account", "terminate", "e@f.example", "--yes"])["success"], true);
    assert_eq!(shop.json(&["account", "list"])["items"].as_array().unwrap().len(), 1);
    assert_eq!(shop.json(&["account", "list", "--include-terminated"])["items"].as_array().unwrap().len(), 2);
}

#[test]
fn an_address_with_what_shells_understand_is_quoted_where_it_can_be_pasted() {
    let shop = Shop::open();
    let told = shop.my(&["account", "create", "--", "-o'c&`id`@d.example"]).ok().stderr;
    assert!(told.trim_end().ends_with(r"paste: chancery my eab create -- '-o'\''c&`id`@d.example'"), "{told}");
    let told = shop.my(&["policy", "create", "--", "-$x"]).ok().stderr;
    assert!(told.trim_end().ends_with("assigned: chancery my policy assign --group GROUP -- '-$x'"), "{told}");
}

#[test]
fn an_eab_credential_comes_with_commands_to_paste() {
    let shop = Shop::open();
    let account = shop.account();
    let made = shop.my(&[
        "eab",
        "create",
        &account,
        "--label",
        "web 1",
        "--max-bindings",
        "2",
        "--expires-in-days",
        "30",
        "--cert-profile",
        "TLS-90d",
        "--domain",
        "*.b.example",
    ]);
    let made = made.ok().stdout;
    let kid = made.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
    let directory = format!("{}/acme/TLS-90d/directory", shop.dev.value("acme_url"));
    let ca = shop.dev.value("ca_bundle");
    for part in [
        format!(
            "REQUESTS_CA_BUNDLE={ca} \\\ncertbot certonly --manual --preferred-challenges dns -d '*.b.example' --server {directory} \\\n"
        ),
        format!("    --eab-kid {kid} --eab-hmac-key "),
        format!("LEGO_CA_CERTIFICATES={ca} \\\nlego --dns manual -d '*.b.example' --server {directory} \\\n"),
        "-m admin@customer.example".to_owned(),
    ] {
        assert!(made.contains(&part), "{part}\nis not in\n{made}");
    }
    let listed = shop.json(&["eab", "list", "--account", "admin@customer.example"]);
    assert_eq!((listed["items"].as_array().unwrap().len(), &listed["items"][0]["label"]), (2, &"web 1".into()));
    assert_eq!(shop.json(&["eab", "list"])["items"].as_array().unwrap().len(), 2);
    assert!(shop.my(&["eab", "show", &kid]).ok().stdout.contains("may bind"));
    assert_eq!(shop.my(&["eab", "revoke", &kid]).code, 2);
    shop.my(&["eab", "revoke", &kid, "--yes"]).ok();
    assert_eq!(shop.json(&["eab", "show", &kid])["status"], "revoked");
    assert!(shop.json(&["eab", "create", &account])["acmeDirectories"]["TLS-90d"].is_string());
    // The service's own profile where none is named, and not the first by name.
    let usual = shop.my(&["eab", "create", &account]).ok().stdout;
    assert!(
        usual.contains("lego --http -d www.customer.example --server") && usual.contains("profile TLS-90d."),
        "{usual}"
    );
}

#[test]
fn no_eab_credential_stays_that_was_asked_for_wrongly() {
    let shop = Shop::open();
    let account = shop.account();
    for json in [&["--json"][..], &[]] {
        let unknown = shop.my(&[&["eab", "create", &account, "--cert-profile", "TLS-1d"][..], json].concat());
        assert!(unknown.code == 2 && unknown.stderr.contains("it may use: TLS-199d, TLS-90d"), "{unknown:?}");
        assert_eq!(unknown.stdout, "");
    }
    assert_eq!(shop.my(&["eab", "create", &account, "--domain", "a b"]).code, 2);
    let kept = shop.json(&["eab", "list", "--account", &account]);
    let kept: Vec<_> = kept["items"].as_array().unwrap().iter().filter(|one| one["parent"] != Value::Null).collect();
    assert!(kept.len() == 2 && kept.iter().all(|one| one["status"] == "revoked"), "{kept:?}");
}

#[test]
fn groups_and_who_is_in_them() {
    let shop = Shop::open();
    let account = shop.account();
    let made = shop.json(&["group", "create", "Web hosting", "--description", "ours"]);
    shop.my(&["group", "create", "Others"]).ok();
    assert!(shop.my(&["group", "add", "Web hosting", "admin@customer.example"]).ok().stdout.ends_with(".\n"));
    shop.my(&["account", "create", "b@c.example", "--group", "Web hosting"]).ok();
    assert_eq!(shop.json(&["group", "members", "Web hosting"])["items"].as_array().unwrap().len(), 2);
    shop.my(&["group", "move", "Web hosting", "Others", &account]).ok();
    assert_eq!(shop.json(&["group", "members", "Others"])["items"][0]["lookup"], account.as_str());
    shop.my(&["group", "remove", "Others", &account]).ok();
    let changed = shop.json(&["group", "update", "Web hosting", "--name", "Hosting"]);
    assert_eq!((&changed["lookup"], &changed["description"]), (&made["lookup"], &"ours".into()));
    assert!(shop.my(&["group", "show", "Hosting"]).ok().stdout.contains("members      1"));
    let missing = shop.my(&["group", "add", "Hosting", "admin@customer.example", "nobody@customer.example"]);
    assert!(missing.code == 5 && missing.stderr.contains("nobody@customer.example"), "{missing:?}");
    let twice = shop.my(&["account", "update", "admin@customer.example", "--metadata", "a=b", "--metadata", "a=c"]);
    assert!(twice.code == 2 && twice.stderr.contains("twice"), "{twice:?}");
    assert!(shop.my(&["groups", "list"]).ok().stdout.contains("Hosting"));
    assert_eq!(shop.my(&["group", "delete", "Others"]).code, 2);
    shop.my(&["group", "delete", "Others", "--yes"]).ok();
    assert_eq!(shop.json(&["group", "list"])["items"].as_array().unwrap().len(), 1);
}

#[test]
fn policies_from_flags_and_from_files() {
    let shop = Shop::open();
    shop.account();
    shop.my(&["group", "create", "All"]).ok();
    shop.my(&["group", "add", "All", "admin@customer.example"]).ok();
    let made = shop.json(&[
        "policy",
        "create",
        "Ours",
        "--allow-domain",
        "a.test,*.a.test",
        "--wildcards",
        "no",
        "--max-names",
        "2",
        "--key-type",
        "ec-p256",
        "--max-validity-days",
        "30",
    ]);
    assert_eq!((&made["allowWildcards"], &made["allowedDomains"][1]), (&false.into(), &"*.a.test".into()));
    shop.my(&["policy", "assign", "Ours", "--group", "All"]).ok();

    let tried = ["policy", "try", "b.test", "*.a.test", "--account", "admin@customer.example"];
    let refused = shop.my(&tried);
    assert_eq!(refused.code, 1);
    assert!(refused.stdout.contains("it would be refused") && refused.stdout.contains("b.test"), "{refused:?}");
    assert_eq!(shop.json(&["policy", "try", "x.a.test", "--account", "admin@customer.example"])["validityDays"], 30);

    // What was shown can be edited and given back.
    let file = shop.at_home("policy.json");
    let shown = shop.my(&["policy", "show", "Ours", "--json"]).ok().stdout;
    fs::write(&file, shown.replace("\"maxNames\": 2", "\"maxNames\": 7")).unwrap();
    let changed = shop.json(&["policy", "update", "Ours", "--file", "policy.json"]);
    assert_eq!((&changed["maxNames"], &changed["maxValidityDays"]), (&7.into(), &30.into()));
    for twice in [r#"{"max_names": 1, "max_names": 50}"#, r#"{"maxNames": 1, "max_names": 50}"#] {
        fs::write(shop.at_home("twice.json"), twice).unwrap();
        let refused = shop.my(&["policy", "update", "Ours", "--file", "twice.json"]);
        assert!(refused.line(2).contains("max_names is there twice"), "{}", refused.stderr);
    }
    let changed = shop.json(&["policy", "update", "Ours", "--max-names", "8", "--name", "Still ours"]);
    assert_eq!((&changed["maxNames"], &changed["maxValidityDays"]), (&8.into(), &30.into()));

    fs::write(shop.at_home("other.toml"), "name = 'Other'\nissuance_enabled = false\n").unwrap();
    assert_eq!(shop.json(&["policy", "create", "--file", "other.toml"])["issuanceEnabled"], false);
    fs::write(shop.at_home("bad.toml"), "name = 'Bad'\nissuance = false\n").unwrap();
    assert!(shop.my(&["policy", "create", "--file", "bad.toml"]).line(2).contains("unknown field `issuance`"));
    let table = shop.my(&["policy", "list"]).ok().stdout;
    assert!(table.contains("Still ours") && table.contains("All"), "{table}");
    shop.my(&["policy", "unassign", "Still ours", "--group", "All"]).ok();
    shop.my(&["policy", "delete", "Still ours", "--yes"]).ok();
    assert_eq!(shop.json(&["policy", "list"])["items"].as_array().unwrap().len(), 1);
}
