mod dcv;
mod logs;
mod perspectives;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use chancery_domain::KeyType;
use chancery_pki::{Purpose, SubscriberProfile};
use chancery_service::Issuing;
use tempfile::TempDir;

use self::perspectives::Shared;
use super::types::Config;
use super::*;

const EXAMPLE: &str = include_str!("../../../../chancery.example.toml");

/// The example with every setting switched on.
fn uncommented() -> String {
    let is_setting = |line: &str| {
        let name = line.strip_prefix('#').unwrap_or_default();
        name.starts_with('[')
            || name.split_once(" = ").is_some_and(|(name, _)| {
                !name.is_empty()
                    && name
                        .chars()
                        .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
            })
    };
    let lines = EXAMPLE.lines().map(|line| if is_setting(line) { &line[1..] } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

fn config(text: &str) -> Config {
    match read(text, std::iter::empty(), None) {
        Ok(read) if read.misfits.is_empty() => read.config,
        Ok(read) => panic!("{}", read.misfits),
        Err(problems) => panic!("{problems}"),
    }
}

fn written(config: &Config) -> Table {
    Table::try_from(config).unwrap()
}

/// What is wrong with a configuration in a folder, as `setting: message`.
fn problems_in(folder: &TempDir, text: &str) -> Vec<String> {
    let settled =
        read(text, std::iter::empty(), None).and_then(|read| read.settle(&folder.path().join("chancery.toml")));
    let problems = settled.err().map(|problems| problems.0).unwrap_or_default();
    problems.into_iter().map(|problem| format!("{}: {}", problem.setting, problem.message)).collect()
}

fn problems(text: &str) -> Vec<String> {
    problems_in(&tempfile::tempdir().unwrap(), text)
}

/// A configuration with nothing wrong but what is added.
fn problems_of(more: &str) -> Vec<String> {
    problems(&format!("server.base_url = 'https://ca.example.com'\n{more}"))
}

#[test]
fn the_example_as_it_is_changes_nothing() {
    assert_eq!(written(&config(EXAMPLE)), written(&Config::default()));
}

#[test]
fn the_example_has_every_setting_and_no_other() {
    let shown = shape::names(&uncommented().parse().unwrap());
    // The one setting that must not stand in a file.
    let settings = shape::names(&shape()).into_iter().filter(|name| name != "keys.kek");
    let mut missing: Vec<_> = settings.filter(|name| !shown.contains(name)).collect();
    missing.sort();
    assert_eq!(missing, Vec::<String>::new());
    config(&uncommented());
}

#[test]
fn the_example_shows_the_defaults() {
    fn differences(shown: &Table, default: &Table, path: &str, found: &mut Vec<String>) {
        for (name, value) in default {
            match (&shown[name], value) {
                (Value::Table(shown), Value::Table(default)) => {
                    differences(shown, default, &format!("{path}{name}."), found);
                }
                (_, Value::Array(empty)) if empty.is_empty() => {}
                (shown, default) if shown == default => {}
                (shown, default) => found.push(format!("{path}{name}: {shown} is not {default}")),
            }
        }
    }
    let shown = config(&uncommented());
    let mut found = Vec::new();
    differences(&written(&shown), &written(&Config::default()), "", &mut found);
    let mut entry = |path: &str, shown: Table, default: Table, by_choice: &[&str]| {
        let default = default.into_iter().filter(|(name, _)| !by_choice.contains(&name.as_str())).collect();
        differences(&shown, &default, path, &mut found);
    };
    let external = Table::try_from(&shown.identity.external[0]).unwrap();
    let default = Table::try_from(types::External::default()).unwrap();
    entry("identity.external.", external, default, &["issuer", "jwks_url", "audience"]);
    let profile = Table::try_from(&shown.profiles.list[0]).unwrap();
    let default = Table::try_from(types::Profile::default()).unwrap();
    entry("profiles.list.", profile, default, &["name", "description"]);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn the_example_with_an_address_is_a_good_configuration() {
    assert_eq!(problems(&EXAMPLE.replace("#base_url", "base_url")), Vec::<String>::new());
}

#[test]
fn every_problem_is_told_at_once() {
    let found = problems_of(
        "server.listen = '0.0.0.0:8443'\nserver.admin_listen = '0.0.0.0:9090'\nserver.http_listen = 'nowhere'\n\
         server.http_url = 'https://x.example'\nidentity.token_lifetime = '30s'\nlimits.burst = 0\nlog.format = 'xml'\n\
         profiles.default_profile = 'TLS-1d'\npolicy.allowed_key_types = ['dsa']\n",
    );
    let settings: Vec<_> = found.iter().filter_map(|problem| problem.split_once(": ")).map(|(name, _)| name).collect();
    assert_eq!(
        settings,
        [
            "server.http_listen",
            "server.listen",
            "server.admin_listen",
            "server.http_url",
            "identity.token_lifetime",
            "limits.burst",
            "profiles.default_profile",
            "policy.allowed_key_types",
            "log.format",
        ]
    );
}

#[test]
fn the_policy_takes_what_the_api_takes() {
    let refused = problems_of("policy.max_names = 101\npolicy.max_validity_days = 0\n");
    assert_eq!(
        refused,
        ["policy.max_names: must be 1 to 100, not 101", "policy.max_validity_days: must be 1 to 825, not 0"]
    );
    assert_eq!(problems_of("policy.max_names = 0\npolicy.max_validity_days = 826\n").len(), 2);
    let least = "policy.max_names = 1\npolicy.max_validity_days = 1\npolicy.max_certificates_per_day = 0\n";
    assert_eq!(problems_of(least), Vec::<String>::new());
}

#[test]
fn an_open_listener_needs_a_certificate() {
    let found = problems_of("server.listen = '0.0.0.0:8443'");
    assert!(found.len() == 1 && found[0].starts_with("server.listen: is reachable"), "{found:?}");
    assert_eq!(problems_of("server.listen = '[::1]:8443'"), Vec::<String>::new());
}

#[test]
fn an_open_admin_listener_needs_to_be_asked_for() {
    let found = problems_of("server.admin_listen = '10.0.0.1:9090'");
    assert!(found.len() == 1 && found[0].starts_with("server.admin_listen: is reachable"), "{found:?}");
    let asked = "server.admin_listen = '10.0.0.1:9090'\nserver.allow_public_admin = true";
    assert_eq!(problems_of(asked), Vec::<String>::new());
}

#[test]
fn api_keys_on_a_public_service_need_to_be_asked_for() {
    let found = problems_of("identity.api_keys = true");
    assert!(found.len() == 1 && found[0].starts_with("identity.api_keys: "), "{found:?}");
    let asked = "identity.api_keys = true\nidentity.allow_public_api_keys = true";
    assert_eq!(problems_of(asked), Vec::<String>::new());
    assert_eq!(problems("server.base_url = 'http://localhost:8443'\nidentity.api_keys = true"), Vec::<String>::new());
}

#[test]
fn addresses_are_https_but_for_relying_parties() {
    for (name, url) in [
        ("base_url", "http://ca.example.com"),
        ("acme_url", "http://ca.example.com"),
        ("auth_url", "http://ca.example.com"),
        ("http_url", "https://ca.example.com"),
    ] {
        let text = match name {
            "base_url" => format!("server.base_url = '{url}'"),
            _ => format!("server.base_url = 'https://ca.example.com'\nserver.{name} = '{url}'"),
        };
        let found = problems(&text);
        assert!(found.len() == 1 && found[0].starts_with(&format!("server.{name}: ")), "{found:?}");
    }
    let found = problems("");
    assert!(found.len() == 1 && found[0].starts_with("server.base_url: is missing"), "{found:?}");
}

#[test]
fn a_database_on_another_machine_needs_tls() {
    let url = |url: &str| problems_of(&format!("database.url = '{url}'"));
    for good in [
        "postgres://u:p@db.example.com/ca?sslmode=require",
        "postgres://u@localhost/ca",
        "postgres://u@127.0.0.1:5432/ca",
        "postgres:///ca?host=/run/postgresql",
    ] {
        assert_eq!(url(good), Vec::<String>::new(), "{good}");
    }
    for bad in [
        "postgres://u:p@db.example.com/ca",
        "postgres://u@localhost,db.example.com/ca",
        "postgres://u:p@localhost/ca?hostaddr=10.0.0.5",
        "postgres:///ca?hostaddr=10.0.0.5",
        "mysql://x",
    ] {
        let found = url(bad);
        assert!(found.len() == 1 && found[0].starts_with("database.url: "), "{bad}: {found:?}");
    }
    let asked = "database.url = 'postgres://u@db.example.com/ca'\ndatabase.allow_unencrypted = true";
    assert_eq!(problems_of(asked), Vec::<String>::new());
}

#[test]
fn a_database_file_needs_its_folder() {
    let found = problems_of("database.url = 'sqlite://missing/chancery.db'");
    assert!(found.len() == 1 && found[0].contains("which is not a folder"), "{found:?}");
}

#[test]
fn what_has_no_form_does_not_hide_what_else_is_wrong() {
    let found = problems("[server]\nbase_url = 'nope'\nfoo = 1\n[limits]\nbody_bytes = 5");
    let settings: Vec<_> = found.iter().map(|problem| problem.split(':').next().unwrap()).collect();
    assert_eq!(settings, ["server.foo", "server.base_url", "limits.body_bytes"], "{found:?}");
    // Where a value is none, its section is not judged as if it had not been written.
    let found = problems("[server]\nbase_url = 5\n[limits]\nbody_bytes = 5\nburst = 'x'\n[log]\nlevel = 'loud'");
    let settings: Vec<_> = found.iter().map(|problem| problem.split(':').next().unwrap()).collect();
    assert_eq!(settings, ["limits.burst", "server.base_url", "log.level"], "{found:?}");
    // Nor one that rests on it, nor one whose name is mistyped.
    let found = problems_of("[ct]\nlog_list_file = 5\n[[profiles.list]]\nname = 'TLS-90d'\nct = true");
    assert!(found.iter().all(|problem| !problem.starts_with("profiles")), "{found:?}");
    let found = problems("[server]\nbase_ulr = 'https://ca.example.com'\n[limits]\nbody_bytes = 5");
    let settings: Vec<_> = found.iter().map(|problem| problem.split(':').next().unwrap()).collect();
    assert_eq!(settings, ["server.base_ulr", "limits.body_bytes"], "{found:?}");
    let sever = ("CHANCERY__SEVER__BASE_URL".to_owned(), "https://ca.example.com".to_owned());
    let settled =
        read("", [sever].into_iter(), None).and_then(|read| read.settle(Path::new("chancery.toml")).map(drop));
    let found = settled.unwrap_err();
    let settings: Vec<_> = found.0.iter().map(|problem| problem.setting.as_str()).collect();
    assert_eq!(settings, ["CHANCERY__SEVER__BASE_URL"], "{found:?}");
}

#[test]
fn a_key_in_the_file_is_refused_and_one_from_the_environment_taken() {
    let key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let found = problems_of(&format!("keys.kek = '{key}'"));
    assert!(found.len() == 1 && found[0].contains("CHANCERY__KEYS__KEK"), "{found:?}");
    assert!(!found[0].contains("AAAA"), "{found:?}");
    let variable = |text: &str| [("CHANCERY__KEYS__KEK".to_owned(), text.to_owned())].into_iter();
    let folder = tempfile::tempdir().unwrap();
    let settle = |text: &str| {
        let read = read("server.base_url = 'https://ca.example.com'", variable(text), None)?;
        read.settle(&folder.path().join("chancery.toml")).map(drop)
    };
    assert_eq!(settle(key), Ok(()));
    assert_eq!(settle("short").unwrap_err().0[0].setting, "keys.kek");
}

#[test]
fn a_keyring_that_others_can_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kek.json");
    chancery_seal::Keyring::create(&path, 0).unwrap();
    let text = "server.base_url = 'https://ca.example.com'";
    assert_eq!(problems_in(&folder, text), Vec::<String>::new());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let found = problems_in(&folder, text);
    assert!(found.len() == 1 && found[0].contains("chmod 600"), "{found:?}");
}

#[test]
fn an_external_provider_is_https_or_on_this_machine() {
    let provider = |issuer: &str, jwks: &str| {
        problems_of(&format!(
            "[[identity.external]]\nissuer = '{issuer}'\njwks_url = '{jwks}'\naudience = 'x'\nresellers = ['*']"
        ))
    };
    assert_eq!(provider("http://127.0.0.1:1", "http://127.0.0.1:1/jwks"), Vec::<String>::new());
    let found = provider("http://idp.example.com", "http://idp.example.com/jwks");
    let settings: Vec<_> = found.iter().filter_map(|problem| problem.split_once(": ")).map(|(name, _)| name).collect();
    assert_eq!(settings, ["identity.external.0.issuer", "identity.external.0.jwks_url"], "{found:?}");
    let own = provider("https://ca.example.com", "https://ca.example.com/jwks");
    assert!(own.len() == 1 && own[0].contains("our own"), "{own:?}");
    let empty = problems_of("[[identity.external]]\n");
    assert!(empty.len() >= 4 && empty.iter().any(|problem| problem.contains("may speak for")), "{empty:?}");
}

#[test]
fn signing_in_through_a_provider_needs_all_of_its_settings() {
    let provider = "[[identity.external]]\nissuer = 'https://id.test'\njwks_url = 'https://id.test/jwks'\n\
                    audience = 'api'\nresellers = ['NORTH']\n[identity.external.sign_in]\n";
    let good = "name = 'partners'\nauthorize_url = 'https://id.test/authorize?tenant=1'\n\
                token_url = 'https://id.test/token'\nclient_id = 'console'\n";
    let found = |changed: &str| problems_of(&format!("{provider}{changed}"));
    assert_eq!(found(good), Vec::<String>::new());
    for (part, other, setting) in [
        ("name = 'partners'", "", "name"),
        ("'partners'", "'Part/ners'", "name"),
        ("client_id = 'console'", "", "client_id"),
        ("'console'", "'api'", "client_id"),
        ("https://id.test/authorize", "http://id.test/authorize", "authorize_url"),
        ("https://id.test/token", "http://id.test/token", "token_url"),
        ("name =", "scopes = 'read:account'\nname =", "scopes"),
        ("name =", "scopes = 'reseller everything'\nname =", "scopes"),
        ("name =", "request_scope = 'profile'\nname =", "request_scope"),
        ("name =", "client_secret_file = 'missing'\nname =", "client_secret_file"),
    ] {
        let found = found(&good.replace(part, other));
        let setting = format!("identity.external.0.sign_in.{setting}: ");
        assert!(found.len() == 1 && found[0].starts_with(&setting), "{part}: {found:?}");
    }
}

#[test]
fn profiles_of_the_operator_replace_the_usual_ones() {
    let text = "server.base_url = 'https://ca.example.com'\nprofiles.default_profile = 'short'\n\
                [[profiles.list]]\nname = 'short'\nvalidity_days = 7\nkey_types = ['ec-p256']";
    let folder = tempfile::tempdir().unwrap();
    let installation =
        settle::settle(&config(text), &folder.path().join("c.toml")).unwrap_or_else(|problems| panic!("{problems}"));
    let names: Vec<_> = installation.settings.profiles.iter().map(|profile| profile.name.as_str()).collect();
    assert_eq!((names, installation.settings.default_profile.as_str()), (vec!["short"], "short"));
    let twice = problems_of(
        "profiles.default_profile = 'a'\n[[profiles.list]]\nname = 'a'\n[[profiles.list]]\nname = 'a'\nvalidity_days = 0",
    );
    let settings: Vec<_> = twice.iter().filter_map(|problem| problem.split_once(": ")).map(|(name, _)| name).collect();
    assert_eq!(settings, ["profiles.list.1.validity_days", "profiles.list.1.name"], "{twice:?}");
}

fn settled(more: &str) -> Installation {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("server.base_url = 'https://ca.example.com'\n{more}");
    settle::settle(&config(&text), &folder.path().join("c.toml")).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn a_profile_says_how_its_certificates_look_and_who_signs_them() {
    let installation = settled(
        "profiles.default_profile = 'a'\nca.crl_shards = 16\n[[profiles.list]]\nname = 'a'\nvalidity_days = 30\n\
         key_types = ['ec-p256']\nissuers = ['rsa', 'Example Issuing CA E1']\nusages = ['server-auth', 'client-auth']\n\
         policies = ['1.2.3.4']\ncommon_name = true\nsubject_key_id = true\nkey_encipherment = true\n\
         backdate = '10m'\nocsp = false",
    );
    let issuing = &installation.settings.issuing;
    let name = &installation.settings.default_profile;
    let rules = issuing.issuer_rules(name);
    let named: Vec<_> = rules.allowed.iter().map(ToString::to_string).collect();
    assert_eq!(
        (named, rules.ocsp, rules.crl),
        (["rsa", "Example Issuing CA E1"].map(str::to_owned).into(), false, true)
    );
    let look = &issuing.certificates[name];
    let expected = SubscriberProfile {
        backdate_seconds: 600,
        key_types: vec![KeyType::EcP256],
        key_encipherment: true,
        purposes: Purpose::ALL.to_vec(),
        policies: vec!["1.2.3.4".parse().unwrap()],
        common_name: true,
        subject_key_id: true,
        names: look.names,
        public: false,
        ..SubscriberProfile::tls(30)
    };
    assert_eq!(*look, expected);
    assert!(!look.names.internal_names && !look.names.special_addresses);
    assert_eq!((issuing.crl_shards, issuing.certificates.len()), (16, 1));
}

#[test]
fn the_usual_profiles_are_those_of_a_test_environment_but_for_what_is_internal() {
    let installation = settled("dcv.allow_special_addresses = true");
    let profiles = &installation.settings.profiles;
    let usual = Issuing::of(profiles, "https://ca.example.com", "http://ca.example.com:8080");
    assert_eq!(installation.settings.issuing.certificates, usual.certificates);
    for profile in profiles {
        assert_eq!(installation.settings.issuing.issuer_rules(&profile.name), usual.issuer_rules(&profile.name));
    }
}

#[test]
fn a_profile_that_contradicts_itself_or_the_baseline_requirements_is_refused() {
    let shared = Shared::new();
    let profile = |more: &str| {
        let profile = format!("profiles.default_profile = 'a'\n[[profiles.list]]\nname = 'a'\npublic = true\n{more}\n");
        problems_of(&(profile + &shared.perspectives(&["ripe", "arin"])))
    };
    assert_eq!(profile(""), Vec::<String>::new());
    for (more, expected) in [
        ("usages = ['server-auth', 'client-auth']", "profiles.list.0: public certificates are for TLS servers only"),
        ("key_types = ['ed25519']", "profiles.list.0: public certificates are not for Ed25519 keys"),
        ("policies = ['1.2.3']", "profiles.list.0: public needs policy 2.23.140.1.2.1"),
        (
            "policies = ['2.23.140.1.2.1', '2.23.140.1.1']",
            "profiles.list.0: public has no other policy that the CA/Browser Forum reserved",
        ),
        (
            "policies = ['2.23.140.1.2.1', '2.5.29.32.0']",
            "profiles.list.0: public certificates are never under 2.5.29.32.0",
        ),
        ("backdate = '3d'", "profiles.list.0: public certificates begin at most 48 hours early"),
        (
            "ocsp = false\ncrl = false",
            "profiles.list.0: public certificates name a revocation list or an OCSP responder",
        ),
        ("usages = []", "profiles.list.0: at least one purpose is needed"),
        ("usages = ['code-signing']", "profiles.list.0.usages: \"code-signing\" is not a usage"),
        ("policies = ['domain']", "profiles.list.0.policies: a policy is an object identifier"),
        ("policies = ['2.23.140.1.2.1', '2.23.140.1.2.1']", "profiles.list.0.policies: has an entry twice"),
        ("issuers = ['']", "profiles.list.0.issuers: an issuer is named by its key"),
        ("backdate = '31d'", "profiles.list.0.backdate: must be 0s to 30d, not 31d"),
    ] {
        let found = profile(more);
        assert!(found.first().is_some_and(|found| found.starts_with(expected)), "{more}: {found:?}");
    }
}

#[test]
fn public_profiles_that_are_too_long_are_told_and_named_by_their_date() {
    let shared = Shared::new();
    let profile = "profiles.default_profile = 'a'\n[[profiles.list]]\nname = 'a'\nvalidity_days = 199\npublic = true\n";
    let public = &(profile.to_owned() + &shared.perspectives(&["ripe", "arin"]));
    let (today, year_2027) = (1_780_272_000, 1_805_068_800);
    let installation = settled(public);
    let lengths = |at| installation.warnings(at).into_iter().filter(|said| said.contains(" days ")).collect::<Vec<_>>();
    assert_eq!(lengths(today), Vec::<String>::new());
    let warnings = lengths(year_2027);
    assert!(
        warnings.len() == 1 && warnings[0].contains("100 days") && warnings[0].contains("profile a"),
        "{warnings:?}"
    );
    assert_eq!(settled(&public.replace("true", "false")).warnings(year_2027), Vec::<String>::new());
    assert!(!installation.settings.issuing.certificates.values().next().unwrap().names.internal_names);
}

#[test]
fn internal_names_and_special_addresses_are_for_a_ca_inside_of_a_network() {
    let rules = |text: &str| {
        let installation = settled(text);
        installation.settings.issuing.certificates.values().map(|look| look.names).collect::<Vec<_>>()
    };
    let usual = rules("");
    assert!(!usual.is_empty() && usual.iter().all(|names| !names.internal_names && !names.special_addresses));
    let inside = rules("dcv.allow_special_addresses = true");
    assert!(inside.iter().all(|names| names.internal_names && names.special_addresses));
    let public = "profiles.default_profile = 'a'\n[[profiles.list]]\nname = 'a'\nvalidity_days = 90\npublic = true\n";
    let shared = Shared::new();
    let public = public.to_owned() + &shared.perspectives(&["ripe", "arin"]);
    assert!(rules(&public).iter().all(|names| !names.internal_names && !names.special_addresses));
}

#[test]
fn a_list_of_blocked_keys_must_be_one() {
    let folder = tempfile::tempdir().unwrap();
    let text = "server.base_url = 'https://ca.example.com'\nca.key_blocklist = 'keys.txt'";
    let missing = problems_in(&folder, text);
    assert!(missing.len() == 1 && missing[0].starts_with("ca.key_blocklist: "), "{missing:?}");
    fs::write(folder.path().join("keys.txt"), "not a hash\n").unwrap();
    let broken = problems_in(&folder, text);
    assert!(broken.len() == 1 && broken[0].starts_with("ca.key_blocklist: "), "{broken:?}");
    fs::write(folder.path().join("keys.txt"), format!("{}\n", "0a".repeat(32))).unwrap();
    assert_eq!(problems_in(&folder, text), Vec::<String>::new());
    assert_eq!(problems_of("ca.crl_shards = 257"), ["ca.crl_shards: must be 1 to 256, not 257"]);
}

#[test]
fn paths_start_at_the_folder_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = "server.base_url = 'https://ca.example.com'";
    let installation =
        settle::settle(&config(text), &folder.path().join("c.toml")).unwrap_or_else(|problems| panic!("{problems}"));
    let database = format!("sqlite://{}", folder.path().join("chancery.db").display());
    assert_eq!(installation.database.to_string(), database);
    assert_eq!(installation.urls.http_url, "http://ca.example.com:8080");
    assert_eq!(installation.settings.issuer, "https://ca.example.com");
}

#[test]
fn a_broken_file_is_told_by_its_line() {
    let found = problems("[server]\nlisten = \n");
    assert!(found.len() == 1 && found[0].starts_with("line 2: "), "{found:?}");
}
