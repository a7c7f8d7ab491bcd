//! The rules for names.

use crate::build::{Key, Parts, codes, common_name, dns, extension, name, oid, read, rules, sequence, tlv};
use chancery_pki::{CsrProblem, CsrRules, KeyAlgorithm, NameRules, NoKnownBadKeys};

fn found(change: impl FnOnce(&mut Parts), names: &[Vec<u8>]) -> Vec<&'static str> {
    let key = Key::new(KeyAlgorithm::EcP256);
    let mut parts = Parts::new(&key, names);
    change(&mut parts);
    codes(&parts.sign(&key))
}

fn found_in(names: &[Vec<u8>]) -> Vec<&'static str> {
    found(|_| {}, names)
}

#[test]
fn host_names_wildcards_and_addresses_pass() {
    let names = [
        dns("example.com"),
        dns("*.example.com"),
        dns("WWW.Example.COM"),
        dns("xn--bcher-kva.example.net"),
        name(7, &[1, 1, 1, 1]),
        name(7, &"2606:4700::1111".parse::<std::net::Ipv6Addr>().unwrap().octets()),
    ];
    assert_eq!(found_in(&names), [""; 0]);
    let key = Key::new(KeyAlgorithm::EcP256);
    let request = read(&Parts::new(&key, &names).sign(&key));
    let read: Vec<_> = request.identifiers().iter().map(ToString::to_string).collect();
    assert_eq!(
        read,
        ["example.com", "*.example.com", "www.example.com", "xn--bcher-kva.example.net", "1.1.1.1", "2606:4700::1111"]
    );
    assert_eq!(request.common_name(), None);
}

#[test]
fn each_kind_of_bad_name_has_its_code() {
    let long = format!("{}.example.com", vec!["a".repeat(60); 4].join("."));
    for (bad, code) in [
        (dns("com"), "public_suffix"),
        (dns("co.uk"), "public_suffix"),
        (dns("*.co.uk"), "public_suffix"),
        (dns("hello.test"), "internal_name"),
        (dns("localhost"), "internal_name"),
        (dns("hello.onion"), "special_name"),
        (dns("1.1.1.in-addr.arpa"), "special_name"),
        (dns("a_b.example.com"), "underscore"),
        (dns("w*.example.com"), "wildcard"),
        (dns("*.*.example.com"), "wildcard"),
        (dns(&long), "name_too_long"),
        (dns(""), "invalid_name"),
        (dns("a..example.com"), "invalid_name"),
        (dns(".example.com"), "invalid_name"),
        (dns("192.0.2.1"), "invalid_name"),
        (dns("xn--zzzzzzzz99999.example.com"), "invalid_name"),
        (dns("exam\0ple.com"), "invalid_name"),
        (name(7, &[1, 2, 3]), "invalid_name"),
        (name(7, &[]), "invalid_name"),
        (name(7, &[10, 0, 0, 1]), "special_ip"),
        (name(7, &[169, 254, 169, 254]), "special_ip"),
        (name(7, &std::net::Ipv6Addr::LOCALHOST.octets()), "special_ip"),
        (name(1, b"someone@example.com"), "email_san"),
        (name(6, b"https://example.com/"), "unsupported_san"),
        (name(8, &[42]), "unsupported_san"),
        (tlv(0xa0, &[b"\x06\x01\x2a", &tlv(0xa0, &[b"\x05\x00"])]), "unsupported_san"),
        (tlv(0xa4, &[b"\x30\x00"]), "unsupported_san"),
    ] {
        assert_eq!(found_in(&[dns("example.com"), bad.clone()]), [code], "{bad:02x?}");
    }
}

#[test]
fn what_a_profile_does_not_allow_is_refused_and_what_dev_allows_passes() {
    let key = Key::new(KeyAlgorithm::EcP256);
    let check = |names: &[Vec<u8>], rules: NameRules| {
        let request = read(&Parts::new(&key, names).sign(&key));
        let found = request.check(&CsrRules { names: rules, ..self::rules() }, &NoKnownBadKeys);
        found.iter().map(CsrProblem::code).collect::<Vec<_>>()
    };
    let dev = NameRules { special_addresses: true, internal_names: true, ..NameRules::default() };
    assert_eq!(check(&[dns("hello.test"), dns("localhost"), name(7, &[127, 0, 0, 1])], dev), [""; 0]);
    let strict = NameRules { wildcards: false, ip_addresses: false, ..NameRules::default() };
    let names = [dns("*.example.com"), name(7, &[1, 1, 1, 1])];
    assert_eq!(check(&names, strict), ["wildcard_not_allowed", "ip_not_allowed"]);
}

#[test]
fn duplicates_are_refused_however_they_are_spelt() {
    assert_eq!(found_in(&[dns("example.com"), dns("EXAMPLE.com"), dns("example.com.")]), ["duplicate_name"]);
    assert_eq!(found_in(&[name(7, &[1, 1, 1, 1]), name(7, &[1, 1, 1, 1])]), ["duplicate_name"]);
}

#[test]
fn a_hundred_names_pass_and_one_more_does_not() {
    let names: Vec<_> = (0..101).map(|number| dns(&format!("host{number}.example.com"))).collect();
    assert_eq!(found_in(&names[..100]), [""; 0]);
    assert_eq!(found_in(&names), ["too_many_names"]);
}

#[test]
fn a_common_name_is_one_of_the_names() {
    let with = |common_name: Vec<u8>, names: &[Vec<u8>]| found(|parts| parts.subject = common_name, names);
    let names = [dns("example.com"), name(7, &[1, 1, 1, 1])];
    for good in ["example.com", "EXAMPLE.com", "1.1.1.1"] {
        for tag in [0x0c, 0x13, 0x16, 0x14] {
            assert_eq!(with(common_name(tag, good.as_bytes()), &names), [""; 0], "{good}");
        }
    }
    let bmp: Vec<_> = "example.com".encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(with(common_name(0x1e, &bmp), &names), [""; 0]);
    for bad in ["www.example.com", "", "Example Ltd", "2.2.2.2"] {
        assert_eq!(with(common_name(0x0c, bad.as_bytes()), &names), ["cn_not_in_san"], "{bad}");
    }
    assert_eq!(with(common_name(0x0c, b"\xff"), &names), ["cn_not_in_san"]);
    assert_eq!(with(common_name(0x02, b"\x01"), &names), ["cn_not_in_san"]);
    let two = [common_name(0x0c, b"example.com"), common_name(0x0c, b"other.example")].concat();
    assert_eq!(with(two, &names), ["cn_not_in_san"]);
}

#[test]
fn names_are_in_the_extension_and_nowhere_else() {
    let subject = common_name(0x0c, b"example.com");
    let without = |extensions: Vec<Vec<u8>>| {
        found(
            |parts| {
                parts.extensions = extensions;
                parts.subject = subject.clone();
            },
            &[],
        )
    };
    assert_eq!(without(vec![]), ["no_san"]);
    assert_eq!(without(vec![extension("2.5.29.17", false, &sequence(&[]))]), ["no_san"]);
    let key = Key::new(KeyAlgorithm::EcP256);
    assert_eq!(codes(&Parts::new(&key, &[]).sign_with_attributes(&key, &[])), ["no_san"]);
}

#[test]
fn extensions_are_ignored_unless_they_must_not_be() {
    let with = |extra: Vec<u8>| found(|parts| parts.extensions.push(extra), &[dns("example.com")]);
    // Key usage, key identifier and something private.
    for (id, critical) in [("2.5.29.15", true), ("2.5.29.14", false), ("1.3.6.1.4.1.99999.1", false)] {
        assert_eq!(with(extension(id, critical, b"\x03\x02\x05\xa0")), [""; 0], "{id}");
    }
    // Some write down the bits that nobody asks for.
    assert_eq!(with(extension("2.5.29.15", true, b"\x03\x02\x00\xa0")), [""; 0]);
    assert_eq!(with(extension("2.5.29.15", true, b"\x03\x02\x02\x84")), ["ca_requested"]);
    assert_eq!(with(extension("1.3.6.1.4.1.99999.1", true, b"\x05\x00")), ["unknown_critical"]);
    assert_eq!(with(extension("2.5.29.19", true, b"\x30\x00")), [""; 0]);
    assert_eq!(with(extension("2.5.29.19", false, b"\x30\x03\x01\x01\xff")), ["ca_requested"]);
}

/// RFC 8555 section 7.4.
#[test]
fn what_is_asked_for_and_would_be_left_out_is_refused() {
    let with = |extra: Vec<u8>| found(|parts| parts.extensions.push(extra), &[dns("example.com")]);
    // Must-staple, certificate policies, name constraints, policy constraints.
    for (id, code) in [
        ("1.3.6.1.5.5.7.1.24", "must_staple"),
        ("2.5.29.32", "unsupported_extension"),
        ("2.5.29.30", "unsupported_extension"),
        ("2.5.29.36", "unsupported_extension"),
    ] {
        for critical in [false, true] {
            assert_eq!(with(extension(id, critical, b"\x30\x03\x02\x01\x05")), [code], "{id}");
        }
    }
}

#[test]
fn a_certificate_is_for_servers_and_clients_only() {
    let with = |usages: &[&str]| {
        let usages: Vec<_> = usages.iter().map(|usage| oid(usage)).collect();
        let usages = extension("2.5.29.37", true, &sequence(&[&usages.concat()]));
        found(|parts| parts.extensions.push(usages), &[dns("example.com")])
    };
    let (server, client) = ("1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2");
    for good in [&[server][..], &[client], &[server, client], &[]] {
        assert_eq!(with(good), [""; 0], "{good:?}");
    }
    // Code signing, OCSP signing, anything.
    for bad in ["1.3.6.1.5.5.7.3.3", "1.3.6.1.5.5.7.3.9", "2.5.29.37.0"] {
        assert_eq!(with(&[server, bad]), ["unsupported_usage"], "{bad}");
    }
    assert_eq!(with(&["1.3.6.1.5.5.7.3.3", "2.5.29.37.0"]), ["unsupported_usage"; 2]);
}

#[test]
fn every_problem_is_listed_and_each_says_what_to_do() {
    let key = Key::new(KeyAlgorithm::EcP256);
    let names = [dns("com"), dns("a_b.example.com"), name(1, b"a@example.com"), name(7, &[10, 0, 0, 1])];
    let mut parts = Parts::new(&key, &names);
    parts.subject = common_name(0x0c, b"www.example.com");
    parts.extensions.push(extension("1.2.3.4", true, b"\x05\x00"));
    parts.extensions.push(extension("1.3.6.1.5.5.7.1.24", false, b"\x30\x03\x02\x01\x05"));
    parts.extensions.push(extension("2.5.29.37", false, &sequence(&[&oid("2.5.29.37.0")])));
    parts.extensions.push(extension("2.5.29.32", false, b"\x30\x00"));
    let found = read(&parts.sign(&Key::new(KeyAlgorithm::EcP256))).check(&rules(), &NoKnownBadKeys);
    let mut listed: Vec<_> = found.iter().map(CsrProblem::code).collect();
    listed.sort_unstable();
    let expected = [
        "bad_signature",
        "cn_not_in_san",
        "email_san",
        "must_staple",
        "public_suffix",
        "special_ip",
        "underscore",
        "unknown_critical",
        "unsupported_extension",
        "unsupported_usage",
    ];
    assert_eq!(listed, expected);
    for problem in found {
        let text = problem.to_string();
        assert!(text.contains("; ") && !text.contains('\n'), "{text}");
    }
}

#[test]
fn an_answer_does_not_outgrow_its_question() {
    let names: Vec<_> = (0..3000).map(|number| dns(&format!("_{number}.com"))).collect();
    assert_eq!(found_in(&names).len(), 200);
    let names = vec![dns("a.com"); 5000];
    assert_eq!(found_in(&names), ["duplicate_name", "too_many_names"]);
}
