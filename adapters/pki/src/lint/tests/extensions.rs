//! The extensions, and the names among them.

use super::*;

#[test]
fn extensions_are_the_expected_ones_in_their_order() {
    assert_eq!(EC.after(|parts| parts.extensions.swap(PURPOSES, NAMES)), ["extension_order"]);
    for missing in [KEY_USAGE, PURPOSES, AUTHORITY_KEY_ID, AUTHORITY_INFO, POLICIES, CRL] {
        let found = EC.after(|parts| drop(parts.extensions.remove(missing)));
        assert_eq!(found, ["missing_extension"]);
    }
    assert_eq!(EC.after(|parts| drop(parts.extensions.remove(NAMES))), ["missing_extension", "names"]);
    let twice = EC.after(|parts| parts.extensions.push(parts.extensions[POLICIES].clone()));
    assert_eq!(twice, ["duplicate_extension"]);
    // Basic constraints, a subject key identifier that was not asked for, something private.
    for unknown in [
        &b"\x30\x0c\x06\x03\x55\x1d\x13\x01\x01\xff\x04\x02\x30\x00"[..],
        b"\x30\x0b\x06\x03\x55\x1d\x0e\x04\x04\x04\x02\x01\x02",
        b"\x30\x09\x06\x03\x2a\x03\x04\x04\x02\x05\x00",
    ] {
        let found = EC.after(|parts| parts.extensions.push(unknown.to_vec()));
        assert!(found.contains(&"unknown_extension"), "{found:?}");
    }
    for index in [KEY_USAGE, PURPOSES, AUTHORITY_KEY_ID, AUTHORITY_INFO, NAMES, POLICIES, CRL] {
        let flip = |parts: &mut Parts| {
            let mut fields = elements(value(&parts.extensions[index]));
            match fields.len() {
                2 => fields.insert(1, vec![1, 1, 0xff]),
                _ => drop(fields.remove(1)),
            }
            parts.extensions[index] = tlv(0x30, &[&fields.concat()]);
        };
        assert_eq!(EC.after(flip), ["criticality"]);
    }
    let broken = EC.after(|parts| parts.set(POLICIES, b"\x05\x00"));
    assert!(broken.contains(&"malformed"), "{broken:?}");
}

#[test]
fn usages_and_purposes_are_the_profiles() {
    let rsa = Case { key: case(KeyAlgorithm::EcP256, KeyAlgorithm::Rsa2048).key, ..EC.clone() };
    let enciphering = SubscriberProfile { key_encipherment: true, ..EC.profile.clone() };
    let enciphering = Case { profile: enciphering, ..rsa.clone() };
    let (sign, sign_and_encipher) = (b"\x03\x02\x07\x80", b"\x03\x02\x05\xa0");
    assert_eq!(rsa.after(|parts| parts.set(KEY_USAGE, sign_and_encipher)), ["key_usage"]);
    assert_eq!(enciphering.after(|parts| parts.set(KEY_USAGE, sign)), ["key_usage"]);
    assert_eq!(EC.after(|parts| parts.set(KEY_USAGE, sign_and_encipher)), ["key_usage"]);
    assert_eq!(EC.after(|parts| parts.set(KEY_USAGE, b"\x03\x02\x01\x06")), ["key_usage"]);

    let purpose = |last: u8| tlv(0x06, &[b"\x2b\x06\x01\x05\x05\x07\x03", &[last]]);
    let any = tlv(0x06, &[b"\x55\x1d\x25\x00"]);
    let with = |list: &[Vec<u8>]| EC.after(|parts| parts.set(PURPOSES, &tlv(0x30, &[&list.concat()])));
    assert_eq!(with(&[purpose(1)]), [""; 0]);
    for list in [vec![purpose(2)], vec![purpose(1), purpose(2)], vec![purpose(1), purpose(1)], vec![any]] {
        assert_eq!(with(&list), ["extended_key_usage"]);
    }
    for other in [3, 4, 8, 9, 17] {
        assert_eq!(with(&[purpose(1), purpose(other)]), ["extended_key_usage"]);
    }
}

#[test]
fn key_identifiers_name_their_keys() {
    let other = tlv(0x30, &[&tlv(0x80, &[&[1; 20]])]);
    assert_eq!(EC.after(|parts| parts.set(AUTHORITY_KEY_ID, &other)), ["authority_key_id"]);
    let more = |parts: &mut Parts| {
        let id = value(&parts.get(AUTHORITY_KEY_ID)).to_vec();
        let directory = tlv(0xa1, &[&tlv(0xa4, &[b"\x30\x00"])]);
        parts.set(AUTHORITY_KEY_ID, &tlv(0x30, &[&id, &directory, b"\x82\x01\x01"]));
    };
    assert_eq!(EC.after(more), ["authority_key_id"]);
    let profile = SubscriberProfile { subject_key_id: true, ..EC.profile.clone() };
    let case = Case { profile, ..EC.clone() };
    assert_eq!(case.after(|parts| parts.set(2, &tlv(0x04, &[&[1; 20]]))), ["subject_key_id"]);
}

#[test]
fn policies_are_the_profiles() {
    let policy = |oid: &[u8], rest: &[u8]| tlv(0x30, &[&tlv(0x06, &[oid]), rest]);
    let validated = &[0x67, 0x81, 0x0c, 1, 2, 1][..];
    let with = |list: &[Vec<u8>]| EC.after(|parts| parts.set(POLICIES, &tlv(0x30, &[&list.concat()])));
    assert_eq!(with(&[policy(validated, b"")]), [""; 0]);
    assert_eq!(with(&[policy(&[0x67, 0x81, 0x0c, 1, 2, 2], b"")]), ["policies"]);
    assert_eq!(with(&[policy(validated, b""), policy(&[0x2a, 3], b"")]), ["policies"]);
    let qualifier = tlv(0x30, &[b"\x06\x08\x2b\x06\x01\x05\x05\x07\x02\x01", &tlv(0x16, &[b"http://cps.example"])]);
    assert_eq!(with(&[policy(validated, &tlv(0x30, &[&qualifier]))]), ["policies"]);
    let policies = vec![PolicyId::DOMAIN_VALIDATED, "1.2.3".parse().unwrap()];
    let two = Case { profile: SubscriberProfile { policies, ..EC.profile.clone() }, ..EC.clone() };
    assert_eq!(two.after(|_| {}), [""; 0]);
    assert_eq!(two.lints(EC.draft().tbs_der()), ["policies"]);
}

#[test]
fn addresses_are_the_issuers() {
    let access = |last: u8, url: &str| tlv(0x30, &[&tlv(0x06, &[b"\x2b\x06\x01\x05\x05\x07\x30", &[last]]), &uri(url)]);
    let (ocsp, issuer) = (access(1, "http://ocsp.example/1"), access(2, "http://ca.example/1.cer"));
    let with = |list: &[&[u8]]| EC.after(|parts| parts.set(AUTHORITY_INFO, &tlv(0x30, list)));
    assert_eq!(with(&[&ocsp, &issuer]), [""; 0]);
    assert_eq!(with(&[&issuer, &ocsp]), ["authority_info_access"]);
    assert_eq!(with(&[&issuer]), ["authority_info_access"]);
    assert_eq!(with(&[&access(1, "http://evil.example/1"), &issuer]), ["authority_info_access"]);
    assert_eq!(with(&[&ocsp, &issuer, &issuer]), ["authority_info_access"]);

    let shards = EC.urls.crl.clone().unwrap();
    let right = shards.shard_of(&EC.draft().serial());
    let point = |names: &[&[u8]], rest: &[u8]| tlv(0x30, &[&tlv(0xa0, &[&tlv(0xa0, names)]), rest]);
    let with = |points: &[&[u8]]| EC.after(|parts| parts.set(CRL, &tlv(0x30, points)));
    let good = uri(&shards.url(right));
    assert_eq!(with(&[&point(&[&good], b"")]), [""; 0]);
    assert_eq!(with(&[&point(&[&uri(&shards.url((right + 1) % 8))], b"")]), ["crl_distribution_point"]);
    assert_eq!(with(&[&point(&[&good, &good], b"")]), ["crl_distribution_point"]);
    assert_eq!(with(&[&point(&[&good], b""), &point(&[&good], b"")]), ["crl_distribution_point"]);
    assert_eq!(with(&[&point(&[&good], b"\x81\x02\x06\x40")]), ["crl_distribution_point"]);
    assert_eq!(with(&[&point(&[&good], &tlv(0xa2, &[&good]))]), ["crl_distribution_point"]);

    let lost = IssuerUrls { crl: None, ocsp: None, ..EC.urls.clone() };
    assert_eq!(Case { urls: lost, ..EC.clone() }.after(|_| {}), ["revocation"]);
    let lost = IssuerUrls { ca_issuers: None, ..EC.urls.clone() };
    assert_eq!(Case { urls: lost, ..EC.clone() }.after(|_| {}), ["authority_info_access"]);
}

#[test]
fn the_names_are_exactly_those_agreed_on() {
    let dns = |text: &str| tlv(0x82, &[text.as_bytes()]);
    let address = tlv(0x87, &[&[1, 1, 1, 1]]);
    let with = |names: &[&[u8]]| EC.after(|parts| parts.set(NAMES, &tlv(0x30, names)));
    let (one, two) = (dns("example.com"), dns("*.example.com"));
    assert_eq!(with(&[&one, &two, &address]), [""; 0]);
    assert_eq!(with(&[&address, &two, &one]), [""; 0], "their order does not matter");
    assert_eq!(with(&[&one, &two]), ["names"]);
    assert_eq!(with(&[&one, &two, &address, &dns("www.example.com")]), ["names"]);
    assert_eq!(with(&[&one, &two, &address, &address]), ["names"]);
    assert_eq!(with(&[&dns("EXAMPLE.com"), &two, &address]), ["names"]);
    assert_eq!(with(&[&dns("example.com."), &two, &address]), ["names"]);
    assert_eq!(with(&[&one, &two, &address, &tlv(0x81, &[b"a@example.com"])]), ["names"]);
    assert_eq!(with(&[&one, &two, &address, &uri("http://example.com")]), ["names"]);
    assert_eq!(with(&[&one, &two, &dns("1.1.1.1")]), ["names"]);

    // Agreed on, and yet not to be certified.
    for bad in ["com", "*.co.uk", "hello.test", "10.0.0.1"] {
        let names = vec![Identifier::parse(bad).unwrap()];
        assert_eq!(Case { names, ..EC.clone() }.after(|_| {}), ["names"], "{bad}");
    }
    let strict = NameRules { wildcards: false, ..EC.profile.names };
    let strict = SubscriberProfile { names: strict, ..EC.profile.clone() };
    assert_eq!(Case { profile: strict, ..EC.clone() }.after(|_| {}), ["names"]);
    let few = SubscriberProfile { names: NameRules { max_names: 2, ..EC.profile.names }, ..EC.profile.clone() };
    assert_eq!(Case { profile: few, ..EC.clone() }.after(|_| {}), ["names"]);
}
