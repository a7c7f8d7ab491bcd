use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use chancery_dcv::{Dnssec, ValidatorConfig};
use chancery_domain::ChallengeType;

use super::perspectives::Shared;
use super::*;
use crate::installation::{Installation, Validation};

fn validator(installation: &Installation) -> &ValidatorConfig {
    match &installation.validation {
        Validation::Checked(config) => config,
        Validation::Skipped => panic!("only `dev` can skip validation"),
    }
}

#[test]
fn unless_told_otherwise_validation_is_fit_for_the_internet() {
    let installation = settled("");
    let validator = validator(&installation);
    assert_eq!(validator.dnssec, Dnssec::Validated { anchors: None });
    assert_eq!((validator.http01_port, validator.https_port, validator.tls_alpn01_port), (80, 443, 443));
    assert!(!validator.allow_special_addresses && validator.builtin_loopback_suffixes.is_empty());
    assert_eq!(validator.ca_domains, ["ca.example.com"]);
    assert_eq!((validator.retry_window, validator.max_in_flight), (Duration::from_secs(20), 500));
    assert_eq!(installation.settings.issuing.reuse, Duration::from_secs(10 * 86_400));
    assert_eq!(installation.settings.issuing.order_lifetime, Duration::from_secs(7 * 86_400));
}

#[test]
fn every_setting_of_validation_counts() {
    let installation = settled(
        "[dcv]\nresolvers = ['192.0.2.1', '192.0.2.2:5353', '2001:db8::1', '[2001:db8::2]', '[2001:db8::3]:54']\n\
         dnssec = 'off'\ncaa_identities = ['CA.Example.org', 'example.net']\nretry_window = '0s'\nreuse_days = 0\n\
         order_lifetime = '1h'\nmax_in_flight = 7\nallow_special_addresses = true\nhttp01_port = 8080\n\
         tls_alpn01_port = 8443",
    );
    let validator = validator(&installation);
    let resolvers: Vec<_> = validator.resolvers.iter().map(ToString::to_string).collect();
    assert_eq!(
        resolvers,
        ["192.0.2.1:53", "192.0.2.2:5353", "[2001:db8::1]:53", "[2001:db8::2]:53", "[2001:db8::3]:54"]
    );
    assert_eq!(validator.dnssec, Dnssec::Unchecked);
    assert_eq!(validator.ca_domains, ["ca.example.org", "example.net"]);
    assert_eq!((validator.retry_window, validator.max_in_flight), (Duration::ZERO, 7));
    assert!(validator.allow_special_addresses);
    assert_eq!((validator.http01_port, validator.https_port, validator.tls_alpn01_port), (8080, 8443, 8443));
    let issuing = &installation.settings.issuing;
    assert_eq!((issuing.reuse, issuing.order_lifetime), (Duration::ZERO, Duration::from_secs(3600)));
}

#[test]
fn validation_that_cannot_work_or_is_unsafe_is_refused() {
    for (line, said) in [
        ("resolvers = ['dns.example.com']", "must be addresses"),
        ("resolvers = ['192.0.2.1:0']", "must be addresses"),
        ("resolvers = ['0.0.0.0']", "must be addresses"),
        ("dnssec = 'on'", "must be \"validate\" or \"off\""),
        ("caa_identities = ['192.0.2.1']", "must be domain names"),
        ("caa_identities = ['*.example.com']", "must be domain names"),
        ("caa_identities = ['ca_1.example.com']", "is not a label"),
        ("retry_window = '6m'", "must be 0s to 5m"),
        ("reuse_days = 201", "must be 0 to 200"),
        ("reuse_days = -1", "must be 0 to 200"),
        ("order_lifetime = '31d'", "must be 10m to 30d"),
        ("max_in_flight = 0", "must be 1 to"),
        ("http01_port = 8080", "must be 80: elsewhere"),
        ("tls_alpn01_port = 8443", "must be 443: elsewhere"),
        ("http01_port = 0\nallow_special_addresses = true", "must be 1 to 65535"),
    ] {
        let found = problems_of(&format!("[dcv]\n{line}"));
        let setting = line.split(" = ").next().unwrap();
        let named = |problem: &String| problem.starts_with(&format!("dcv.{setting}: ")) && problem.contains(said);
        assert!(found.len() == 1 && found.iter().all(named), "{line}: {found:?}");
    }
}

#[test]
fn public_profiles_are_refused_while_validation_is_laxer_than_they_require() {
    let shared = Shared::new();
    let perspectives = shared.perspectives(&["ripe", "arin"]);
    let with = |lines: &str, public: bool| {
        let profile = format!("[[profiles.list]]\nname = 'a'\npublic = {public}\n");
        format!("profiles.default_profile = 'a'\n[dcv]\n{lines}\n{perspectives}{profile}")
    };
    for (lines, settings) in [
        ("", &[][..]),
        ("dnssec = 'off'", &["dnssec"]),
        ("allow_special_addresses = true", &["allow_special_addresses"]),
        ("allow_special_addresses = true\nhttp01_port = 8080", &["allow_special_addresses", "http01_port"]),
        ("allow_special_addresses = true\ntls_alpn01_port = 8443", &["allow_special_addresses", "tls_alpn01_port"]),
        ("http01_port = 8080", &["http01_port"]),
    ] {
        let found = problems_of(&with(lines, true));
        let named = |(problem, setting): (&String, &&str)| problem.starts_with(&format!("dcv.{setting}: must be "));
        assert!(found.len() == settings.len() && found.iter().zip(settings).all(named), "{lines}: {found:?}");
        if lines.contains("allow") || lines.contains("dnssec") {
            assert!(found.iter().all(|problem| problem.contains("set public = false for the profile")), "{found:?}");
            let private = settled(&with(lines, false));
            assert!(!private.settings.issuing.fit_for_public, "{lines}");
        }
    }
    assert!(settled(&with("", true)).settings.issuing.fit_for_public);
    assert!(settled("").settings.issuing.fit_for_public);
}

#[test]
fn a_service_at_an_address_has_no_name_for_caa_records() {
    let text = "server.base_url = 'https://192.0.2.1'";
    let folder = tempfile::tempdir().unwrap();
    let installation =
        settle::settle(&config(text), &folder.path().join("c.toml")).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(validator(&installation).ca_domains, Vec::<String>::new());
}

#[test]
fn a_service_without_a_name_cannot_be_named_in_records() {
    let profile = "[[profiles.list]]\nname = 'TLS-90d'\nchallenge_types = ['dns-account-01', 'dns-persist-01']";
    let found = problems(&format!("server.base_url = 'https://192.0.2.1'\n{profile}"));
    let named = |problem: &String| problem.starts_with("dcv.caa_identities: must have the name");
    assert!(found.len() == 1 && found.iter().all(named), "{found:?}");
    let kinds = &settled(profile).settings.profiles[0].challenge_types;
    assert_eq!(*kinds, [ChallengeType::DnsAccount01, ChallengeType::DnsPersist01]);
    for profile in &settled("").settings.profiles {
        assert_eq!(profile.challenge_types, ChallengeType::USUAL);
    }
}

#[test]
fn without_resolvers_those_of_the_system_are_taken_or_it_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let system = folder.path().join("resolv.conf");
    let refused = settled("").find_resolvers(&system).unwrap_err();
    assert!(refused.to_string().contains("dcv.resolvers"), "{refused}");
    fs::write(&system, "nameserver 192.0.2.1\n").unwrap();
    let mut from_the_system = settled("");
    from_the_system.find_resolvers(&system).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(validator(&from_the_system).resolvers, [SocketAddr::from(([192, 0, 2, 1], 53))]);
    let mut chosen = settled("dcv.resolvers = ['192.0.2.7']");
    chosen.find_resolvers(&system).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(validator(&chosen).resolvers, [SocketAddr::from(([192, 0, 2, 7], 53))]);
}
