//! TXT records of dns-persist-01.
//!
//! A record that lets an account have a name names us and that account, each as it stands; it lets no other account, and
//! no other CA. One that ends does so when it says. What is let for a wildcard is let for the name, and as long.

use chancery_dcv::parsers::{caa_value, persistent_record};
use chancery_domain::Timestamp;

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "persist", run, form: Form::Text, words: include_str!("../../words/persist.dict") };

const ACCOUNT: &str = "https://ca.test/acme/account/1";
const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

fn run(input: &[u8]) {
    let ours = ["ca.test".to_owned(), "pki.test".to_owned()];
    let judge = |account, wildcard, now| persistent_record(input, &ours, account, wildcard, now);
    let plain = judge(ACCOUNT, false, NOW);
    let wild = judge(ACCOUNT, true, NOW);
    if wild.is_ok() {
        assert_eq!(wild, plain, "a wildcard is let more than the name");
    }
    let Ok(until) = plain else {
        assert!(plain.is_err_and(|why| !why.is_empty()), "a refusal without a reason");
        return;
    };
    let (issuer, parameters) = caa_value(input).expect("what lets somebody is a value as in CAA");
    assert!(ours.iter().any(|name| name.eq_ignore_ascii_case(&issuer)), "{issuer:?} is not ours");
    let values = |tag: &str| {
        let all = parameters.iter().filter(|(name, _)| name.eq_ignore_ascii_case(tag));
        all.map(|(_, value)| value.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(values("accounturi"), [ACCOUNT]);
    assert!(values("policy").len() <= 1 && values("persistuntil").len() <= 1);
    if wild.is_ok() {
        assert!(values("policy")[0].eq_ignore_ascii_case("wildcard"));
    }
    for other in ["https://ca.test/acme/account/10", "https://CA.test/acme/account/1", ""] {
        assert!(judge(other, false, NOW).is_err(), "another account is let");
    }
    assert!(persistent_record(input, &["other.test".to_owned()], ACCOUNT, false, NOW).is_err());
    assert!(persistent_record(input, &[], ACCOUNT, false, NOW).is_err());
    match until {
        Some(end) => {
            assert!(end >= NOW && !values("persistuntil").is_empty());
            assert_eq!(judge(ACCOUNT, false, end), Ok(until), "it ends before its end");
            // The last second there is has none after it.
            let after = Timestamp::from_secs(end.as_secs().saturating_add(1));
            assert!(after == end || judge(ACCOUNT, false, after).is_err(), "it never ends");
        }
        None => assert!(values("persistuntil").is_empty()),
    }
}
