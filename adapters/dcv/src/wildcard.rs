//! Whether what comes from a wildcard may: nothing closer to the name than the wildcard must exist.

use hickory_proto::dnssec::Proof;
use hickory_proto::dnssec::rdata::{DNSSECRData, NSEC};
use hickory_proto::op::Message;
use hickory_proto::rr::{Name, RData, Record, RecordType};

use crate::pertinent::signature;

/// RFC 4035 section 5.3.4 for NSEC, which the DNSSEC library takes too strictly: it wants the wildcard denied as well,
/// and that is there. All records of the answer are proven already.
pub(crate) fn nothing_is_closer(message: &Message, name: &Name) -> bool {
    let secure = |record: &&Record| record.proof == Proof::Secure;
    let expanded = message.answers.iter().filter(secure).filter_map(signature).map(|rrsig| rrsig.input());
    let Some(expanded) = expanded.min_by_key(|input| input.num_labels) else { return false };
    if expanded.num_labels >= name.num_labels() {
        return false;
    }
    let next_closer = name.trim_to(usize::from(expanded.num_labels) + 1);
    let of_the_zone = |owner: &Name| {
        message.authorities.iter().filter(secure).filter(|record| record.name == *owner).filter_map(signature).any(
            |rrsig| {
                let input = rrsig.input();
                input.type_covered == RecordType::NSEC && input.signer_name == expanded.signer_name
            },
        )
    };
    let denial = |record: &Record| match &record.data {
        RData::DNSSEC(DNSSECRData::NSEC(nsec)) => {
            of_the_zone(&record.name) && passes_over(&record.name, nsec, name, &next_closer)
        }
        _ => false,
    };
    message.authorities.iter().filter(secure).any(denial)
}

/// Whether the name, and all that it is under up to the next closer one, would stand between two names that follow
/// each other.
fn passes_over(owner: &Name, nsec: &NSEC, name: &Name, next_closer: &Name) -> bool {
    let next = nsec.next_domain_name();
    let is_last = next <= owner && next.zone_of(name);
    // RFC 6840 section 4.1: the zone above a delegation says nothing of what is below.
    let says_nothing = nsec.is_ancestor_delegation() && owner.zone_of(name);
    owner < name
        && (name < next || is_last)
        && !says_nothing
        && !next_closer.zone_of(owner)
        && !next_closer.zone_of(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str) -> Name {
        Name::from_ascii(name).unwrap()
    }

    #[test]
    fn only_names_that_nothing_stands_at_or_above_are_passed_over() {
        let passes = |owner: &str, next: &str, types: &[RecordType]| {
            let nsec = NSEC::new(parsed(next), types.iter().copied());
            passes_over(&parsed(owner), &nsec, &parsed("x.b.zone.test."), &parsed("b.zone.test."))
        };
        let types = &[RecordType::TXT];
        assert!(passes("*.zone.test.", "c.zone.test.", types));
        assert!(passes("a.zone.test.", "c.zone.test.", types));
        assert!(passes("a.zone.test.", "zone.test.", types), "the last one leads back to the top");
        for (owner, next) in [
            ("a.zone.test.", "b.zone.test."),
            ("a.zone.test.", "a.b.zone.test."),
            ("b.zone.test.", "c.zone.test."),
            ("w.b.zone.test.", "c.zone.test."),
            ("a.zone.test.", "y.b.zone.test."),
            ("a.zone.test.", "y.x.b.zone.test."),
            ("c.zone.test.", "d.zone.test."),
            ("c.zone.test.", "zone.test."),
        ] {
            assert!(!passes(owner, next, types), "{owner} {next}");
        }
        assert!(!passes("zone.test.", "c.zone.test.", &[RecordType::NS]), "a delegation");
    }
}
