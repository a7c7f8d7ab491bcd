//! What of a message has to do with the question: only that is handed to the DNSSEC library.
//!
//! The library judges each record by its own name, and lets its verdict on the message rest on all of them. So a
//! message could win by records that nobody asked for: the top of any unsigned zone would pass for proof that a signed
//! one has nothing; keys of an unsigned zone, in the place of a signed one's, would make its signatures not count; and
//! whoever has a signed zone could deny the names of others with it.

use hickory_proto::dnssec::rdata::{DNSSECRData, RRSIG};
use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, Record, RecordType};

/// The message with what the name itself has, or else with what the zones at and above it say to that.
pub(crate) fn pertinent(mut message: Message, query: &Query) -> Message {
    let (name, kind) = (&query.name, query.query_type);
    message.additionals.clear();
    message.answers.retain(|record| record.name == *name && [kind, RecordType::CNAME].contains(&covered(record)));
    if message.answers.iter().all(|record| signature(record).is_some()) {
        message.answers.clear();
    } else {
        // The code is that of the end of the aliases, which is asked for by itself.
        message.metadata.response_code = ResponseCode::NoError;
    }
    let answered = !message.answers.is_empty();
    let from_wildcard = message.answers.iter().filter_map(signature).any(|rrsig| labels(rrsig) < name.num_labels());
    if answered && !from_wildcard {
        message.authorities.clear();
        return message;
    }
    // RFC 4035 section 5.2: of a delegation, the zone above it speaks.
    let subject = if kind == RecordType::DS { name.base_name() } else { name.clone() };
    let speaks = |zone: &Name| zone.zone_of(&subject);
    let denials: Vec<_> = message
        .authorities
        .iter()
        .filter(|record| signature(record).is_some_and(|rrsig| speaks(&rrsig.input().signer_name)))
        .map(|record| (record.name.clone(), covered(record)))
        .collect();
    message.authorities.retain(|record| match (signature(record), covered(record)) {
        (Some(rrsig), RecordType::NSEC | RecordType::NSEC3) => speaks(&rrsig.input().signer_name),
        (None, kind @ (RecordType::NSEC | RecordType::NSEC3)) => {
            denials.iter().any(|(owner, covered)| *owner == record.name && *covered == kind)
        }
        (_, RecordType::SOA) => !answered && speaks(&record.name),
        _ => false,
    });
    message
}

/// The type of a record, or of what it is the signature of.
fn covered(record: &Record) -> RecordType {
    signature(record).map_or(record.record_type(), |rrsig| rrsig.input().type_covered)
}

/// The signature that a record is.
pub(crate) fn signature(record: &Record) -> Option<&RRSIG> {
    if let RData::DNSSEC(DNSSECRData::RRSIG(rrsig)) = &record.data { Some(rrsig) } else { None }
}

fn labels(rrsig: &RRSIG) -> u8 {
    rrsig.input().num_labels
}
