//! Names below a DNAME record (RFC 6672). The alias that a server makes of it has no signature; the record itself has.

use data_encoding::BASE32_DNSSEC;
use hickory_proto::dnssec::Proof;
use hickory_proto::dnssec::rdata::{DNSSECRData, NSEC3};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{Name, RData, Record, RecordType, RecordTypeSet};
use hickory_proto::serialize::binary::{BinDecodable, BinDecoder};

use crate::answer::Security;
use crate::dnssec::Validating;

/// More rounds of hashing than these are not worth it (RFC 9276 section 3.2).
const MAX_ITERATIONS: u16 = 100;

/// Where a name leads by a DNAME record above it that is rightly signed. What cannot be had does not count: a name
/// between may be below the record as well, and then is no better off.
pub(crate) async fn renamed(validating: &Validating, name: &Name) -> Option<Name> {
    let mut above = name.base_name();
    while !above.is_root() {
        if let Ok((message, Security::Secure)) = validating.ask(&above, RecordType::DNAME).await
            && let Some(target) = target(&message, &above)
        {
            return moved(name, &above, &target);
        }
        above = above.base_name();
    }
    None
}

/// Whether it is proven that a name with a DNAME record has none of this type. The library takes such a denial for one
/// of a delegation; but RFC 6840 section 4.1 forbids it only for what is below the name.
pub(crate) fn has_no_other(message: &Message, name: &Name, kind: RecordType) -> bool {
    let denies = |types: &RecordTypeSet| {
        let is_delegation = types.contains(RecordType::NS) && !types.contains(RecordType::SOA);
        types.contains(RecordType::DNAME)
            && ![kind, RecordType::CNAME].iter().any(|kind| types.contains(*kind))
            && !is_delegation
    };
    let denial = |record: &Record| match &record.data {
        RData::DNSSEC(DNSSECRData::NSEC(nsec)) => record.name == *name && denies(nsec.type_set()),
        RData::DNSSEC(DNSSECRData::NSEC3(nsec3)) => is_hash_of(&record.name, nsec3, name) && denies(nsec3.type_set()),
        _ => false,
    };
    message.answers.is_empty()
        && message.metadata.response_code == ResponseCode::NoError
        && message.authorities.iter().filter(|record| record.proof == Proof::Secure).any(denial)
}

fn is_hash_of(owner: &Name, nsec3: &NSEC3, name: &Name) -> bool {
    if nsec3.iterations() > MAX_ITERATIONS || !owner.base_name().zone_of(name) {
        return false;
    }
    let hash = nsec3.hash_algorithm().hash(nsec3.salt(), name, nsec3.iterations());
    let label = hash.map(|hash| BASE32_DNSSEC.encode(hash.as_ref()));
    label.is_ok_and(|label| owner.iter().next().is_some_and(|first| first.eq_ignore_ascii_case(label.as_bytes())))
}

/// The library does not know what is in such a record.
fn target(message: &Message, owner: &Name) -> Option<Name> {
    let record = message.answers.iter().find(|record| record.name == *owner && is_dname(&record.data))?;
    let RData::Unknown { rdata, .. } = &record.data else { return None };
    let mut name = Name::read(&mut BinDecoder::new(&rdata.anything)).ok()?;
    name.set_fqdn(true);
    Some(name)
}

fn is_dname(data: &RData) -> bool {
    data.record_type() == RecordType::DNAME
}

/// The name with its end replaced; none if that is too long.
fn moved(name: &Name, from: &Name, to: &Name) -> Option<Name> {
    let own = name.iter().count() - from.iter().count();
    let mut moved = Name::from_labels(name.iter().take(own).chain(to.iter())).ok()?;
    moved.set_fqdn(true);
    Some(moved)
}

#[cfg(test)]
mod tests {
    use hickory_proto::dnssec::rdata::NSEC;

    use super::*;

    #[test]
    fn a_denial_at_a_dname_counts_for_the_name_itself_and_for_what_it_says() {
        use RecordType::{CAA, CNAME, DNAME, NS, SOA, TXT};
        let name = Name::from_ascii("old.test.").unwrap();
        let denied = |owner: &str, types: &[RecordType], proof: Proof| {
            let nsec = NSEC::new(name.clone(), types.iter().copied());
            let owner = Name::from_ascii(owner).unwrap();
            let mut record = Record::from_rdata(owner, 60, RData::DNSSEC(DNSSECRData::NSEC(nsec)));
            record.proof = proof;
            let mut message = Message::query();
            message.add_authority(record);
            has_no_other(&message, &name, CAA)
        };
        assert!(denied("old.test.", &[DNAME], Proof::Secure));
        assert!(denied("old.test.", &[DNAME, NS, SOA], Proof::Secure));
        assert!(!denied("old.test.", &[DNAME, NS], Proof::Secure), "a delegation");
        assert!(!denied("old.test.", &[DNAME, CAA], Proof::Secure));
        assert!(!denied("old.test.", &[DNAME, CNAME], Proof::Secure));
        assert!(!denied("old.test.", &[TXT], Proof::Secure), "the library decides");
        assert!(!denied("test.", &[DNAME], Proof::Secure));
        for proof in [Proof::Insecure, Proof::Bogus, Proof::Indeterminate] {
            assert!(!denied("old.test.", &[DNAME], proof));
        }
    }

    #[test]
    fn only_the_end_of_a_name_is_replaced() {
        let parsed = |name: &str| Name::from_ascii(name).unwrap();
        let moved = |name: &str, from: &str, to: &str| super::moved(&parsed(name), &parsed(from), &parsed(to));
        assert_eq!(moved("a.b.old.test.", "old.test.", "new.example."), Some(parsed("a.b.new.example.")));
        assert_eq!(moved("a.old.test.", "old.test.", "."), Some(parsed("a.")));
        let long = vec!["a".repeat(60); 4].join(".") + ".";
        assert_eq!(moved("abcdefghijkl.old.test.", "old.test.", &long), None);
    }
}
