//! The fields beside the extensions.

use super::*;

#[test]
fn the_version_and_unique_identifiers_are_looked_at() {
    assert!(EC.after(|parts| parts.version = b"\xa0\x03\x02\x01\x01".to_vec()).contains(&"version"));
    assert_eq!(EC.after(|parts| parts.unique_ids = b"\x81\x02\x00\x01".to_vec()), ["unique_id"]);
    assert_eq!(EC.after(|parts| parts.unique_ids = b"\x82\x02\x00\x01".to_vec()), ["unique_id"]);
}

#[test]
fn serial_numbers_are_positive_long_and_not_too_long() {
    let no_crl = Case { urls: IssuerUrls { crl: None, ..EC.urls.clone() }, ..EC.clone() };
    let with = |octets: &[u8]| no_crl.after(|parts| parts.serial = tlv(0x02, &[octets]));
    assert_eq!(with(&[0x40; 20]), [""; 0]);
    assert_eq!(with(&[0x40; 17]), [""; 0]);
    assert_eq!(with(&[0x40; 16]), ["serial"]);
    assert!(with(&[0x40; 21]).contains(&"serial"));
    assert!(with(&[0x80; 20]).contains(&"serial"));
    assert_eq!(with(&[0x01]), ["serial"]);
}

#[test]
fn the_signature_algorithm_is_the_issuers() {
    let ecdsa_384 = b"\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x03";
    let ecdsa_null = b"\x30\x0c\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02\x05\x00";
    let rsa = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b\x05\x00";
    for other in [&ecdsa_384[..], ecdsa_null, rsa] {
        assert_eq!(EC.after(|parts| parts.signature = other.to_vec()), ["signature_algorithm"]);
    }
    let case = case(KeyAlgorithm::Rsa2048, KeyAlgorithm::EcP256);
    assert_eq!(case.after(|parts| parts.signature = rsa.to_vec()), [""; 0]);
    let without_null = b"\x30\x0b\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b";
    assert_eq!(case.after(|parts| parts.signature = without_null.to_vec()), ["signature_algorithm"]);
}

#[test]
fn the_issuers_name_is_its_own() {
    assert_eq!(EC.after(|parts| parts.issuer = b"\x30\x00".to_vec()), ["issuer_name"]);
    // The same text in another string type is another name.
    let other_type = |parts: &mut Parts| {
        let at = parts.issuer.windows(9).position(|window| window == b"\x0c\x07Issuing").unwrap();
        parts.issuer[at] = 0x13;
    };
    assert_eq!(EC.after(other_type), ["issuer_name"]);
}

#[test]
fn the_period_is_the_profiles_the_ceilings_and_the_issuers() {
    let with = |case: &Case, first: i64, last: i64| case.after(|parts| parts.validity = validity(first, last));
    let last = NOW + 90 * DAY - 1;
    assert_eq!(with(&EC, NOW, last), [""; 0]);
    assert_eq!(with(&EC, NOW, last + 1), ["validity_period"]);
    assert_eq!(with(&EC, NOW - 48 * 3600, NOW), [""; 0]);
    assert_eq!(with(&EC, NOW - 48 * 3600 - 1, NOW), ["not_before"]);
    assert_eq!(with(&EC, NOW + 48 * 3600 + 1, NOW + 49 * 3600), ["not_before"]);
    assert_eq!(with(&EC, NOW - 2, NOW - 1), ["validity_period"]);

    let long = Case { profile: SubscriberProfile::tls(365), ..EC.clone() };
    let with_long = |last| {
        long.lints(&{
            let mut parts = Parts::of(EC.draft().tbs_der());
            parts.validity = validity(NOW, last);
            parts.join()
        })
    };
    assert_eq!(with_long(NOW + 200 * DAY - 1), [""; 0]);
    assert_eq!(with_long(NOW + 200 * DAY), ["validity_ceiling"]);

    let private = SubscriberProfile { public: false, ..SubscriberProfile::tls(3000) };
    let private = Case { profile: private, ..EC.clone() };
    let ends = NOW + 1900 * DAY - 1;
    let with_private = |first, last| {
        private.lints(&{
            let mut parts = Parts::of(EC.draft().tbs_der());
            parts.validity = validity(first, last);
            parts.join()
        })
    };
    assert_eq!(with_private(NOW, ends), [""; 0]);
    assert_eq!(with_private(NOW, ends + 1), ["outlives_issuer"]);

    let generalized = |parts: &mut Parts| {
        let times = elements(value(&parts.validity));
        let first = tlv(0x18, &[b"20", value(&times[0])]);
        parts.validity = tlv(0x30, &[&first, &times[1]]);
    };
    assert!(EC.after(generalized).contains(&"validity_encoding"));
    let reversed = |parts: &mut Parts| {
        let mut times = elements(value(&parts.validity));
        times.reverse();
        parts.validity = tlv(0x30, &[&times.concat()]);
    };
    assert!(EC.after(reversed).contains(&"validity_period"));
}

#[test]
fn the_ceiling_is_that_of_the_day_even_when_backdated() {
    // 2027-03-15T00:00:00Z: from then on 100 days.
    let day = 1_805_068_800;
    let at = |now| Case { profile: SubscriberProfile::tls(365), now, ..EC.clone() };
    let draft = |first: i64, days: i64| {
        let mut parts = Parts::of(EC.draft().tbs_der());
        parts.validity = validity(first, first + days * DAY - 1);
        parts.join()
    };
    assert_eq!(at(day - 60).lints(&draft(day - 3600, 200)), [""; 0]);
    assert_eq!(at(day).lints(&draft(day - 3600, 200)), ["validity_ceiling"]);
    assert_eq!(at(day).lints(&draft(day - 3600, 100)), [""; 0]);
    // Drawn up before, to begin after.
    assert_eq!(at(day - 60).lints(&draft(day, 200)), ["validity_ceiling"]);
}

#[test]
fn the_subject_is_empty_or_one_of_the_names() {
    let subject = |oid: &[u8], tag: u8, text: &[u8]| {
        let attribute = tlv(0x30, &[&tlv(0x06, &[oid]), &tlv(tag, &[text])]);
        tlv(0x31, &[&attribute])
    };
    let (common_name, organization) = (&[0x55, 4, 3][..], &[0x55, 4, 10][..]);
    let profile = SubscriberProfile { common_name: true, ..EC.profile.clone() };
    let case = Case { profile, ..EC.clone() };
    let with = |rdns: &[Vec<u8>]| case.after(|parts| parts.subject = tlv(0x30, &[&rdns.concat()]));
    assert_eq!(with(&[subject(common_name, 0x0c, b"1.1.1.1")]), [""; 0]);
    assert_eq!(with(&[subject(common_name, 0x0c, b"*.example.com")]), [""; 0]);
    assert_eq!(with(&[subject(common_name, 0x0c, b"www.example.com")]), ["subject"]);
    assert_eq!(with(&[subject(common_name, 0x16, b"example.com")]), ["subject"]);
    assert_eq!(with(&[subject(organization, 0x0c, b"example.com")]), ["subject"]);
    assert_eq!(with(&vec![subject(common_name, 0x0c, b"example.com"); 2]), ["subject"]);
    // Without a subject the names must be critical, and with one must not.
    assert_eq!(with(&[]), ["criticality"]);
    let with_subject = tlv(0x30, &[&subject(common_name, 0x0c, b"example.com")]);
    assert_eq!(EC.after(|parts| parts.subject = with_subject), ["subject", "criticality"]);

    let long = Identifier::parse(&format!("{}.example.com", "a".repeat(60))).unwrap();
    let case = Case { names: vec![long.clone()], ..case };
    let draft = Parts::of(case.draft().tbs_der());
    assert_eq!(draft.subject, b"\x30\x00", "no name is short enough");
    let long = tlv(0x30, &[&subject(common_name, 0x0c, long.to_string().as_bytes())]);
    assert_eq!(case.after(|parts| parts.subject = long), ["subject", "criticality"]);
}

#[test]
fn the_key_is_the_one_agreed_on_and_of_the_profile() {
    let other = case(KeyAlgorithm::EcP256, KeyAlgorithm::EcP256).key;
    assert_eq!(EC.after(|parts| parts.spki = other.spki().to_vec()), ["key"]);
    let profile = SubscriberProfile { key_types: vec![KeyType::EcP384], ..EC.profile.clone() };
    assert_eq!(Case { profile, ..EC.clone() }.after(|_| {}), ["key"]);
    // 2^2203 - 1: the right kind, and a size that is not allowed.
    let modulus = [&[0, 0x07][..], &[0xff; 275]].concat();
    let key = tlv(0x30, &[&tlv(0x02, &[&modulus[1..]]), b"\x02\x03\x01\x00\x01"]);
    let algorithm = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
    let odd = SubscriberKey::from_spki(&tlv(0x30, &[algorithm, &tlv(0x03, &[&[0], &key])])).unwrap();
    assert_eq!(Case { key: odd, ..EC.clone() }.after(|_| {}), ["key"]);
}
