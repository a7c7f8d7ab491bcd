//! Finds the CAA records that decide about a name, and asks them (RFC 8659 section 3).

use chancery_domain::{CaaEvidence, ProblemKind, Timestamp, ValidationProblem};
use hickory_proto::rr::{RData, RecordType};

use crate::answer::{Answer, spelled};
use crate::caa_rules::{Applicant, Property, permits};
use crate::lookup_error::LookupError;
use crate::refusal::Refusal;
use crate::resolver::Resolver;

/// So many objections are told; more would help nobody.
const MAX_TOLD: usize = 10;

/// The records that decide about a name.
pub(crate) struct Found {
    at: String,
    answer: Answer,
    properties: Vec<Property>,
}

/// A question without an answer. That is a refusal: the record that we cannot see may be the one that forbids it. But
/// it may be answered in a moment.
pub(crate) fn unasked(name: &str, error: LookupError) -> Refusal {
    let detail = format!("CAA could not be checked for {name}: {error}");
    let look_again = Refusal::from(error).look_again;
    Refusal { problem: ValidationProblem { kind: ProblemKind::Caa, detail }, look_again }
}

/// The records of the name, or else of the first name above it that has any.
pub(crate) async fn find(resolver: &Resolver, name: &str) -> Result<Option<Found>, LookupError> {
    let mut place = Some(name);
    while let Some(here) = place {
        let answer = resolver.lookup(here, RecordType::CAA).await?;
        let properties: Vec<_> = answer.data.iter().filter_map(property).collect();
        if !properties.is_empty() {
            return Ok(Some(Found { at: here.to_owned(), answer, properties }));
        }
        place = here.split_once('.').map(|(_, above)| above);
    }
    Ok(None)
}

/// What the records say to one who wants to issue.
pub(crate) fn judge(
    found: Option<&Found>,
    name: &str,
    applicant: &Applicant<'_>,
    now: Timestamp,
) -> Result<CaaEvidence, ValidationProblem> {
    let Some(Found { at, answer, properties }) = found else {
        return Ok(CaaEvidence { checked_at: now, found_at: None, records: Vec::new() });
    };
    let owner = spelled(&answer.owner);
    if let Err(objections) = permits(properties, applicant) {
        let alias = if answer.aliases.is_empty() { String::new() } else { format!(", an alias of {owner}") };
        let told: Vec<_> = objections
            .iter()
            .take(MAX_TOLD)
            .map(|objection| format!("`{owner} {}`: {}", objection.property, objection.why))
            .collect();
        let subject = if applicant.wildcard { format!("*.{name}") } else { name.to_owned() };
        let detail = format!("CAA forbids a certificate for {subject}; found at {at}{alias}: {}", told.join("; "));
        return Err(ValidationProblem { kind: ProblemKind::Caa, detail });
    }
    let records =
        answer.aliases_shown().chain(properties.iter().map(|property| format!("{owner} {property}"))).collect();
    Ok(CaaEvidence { checked_at: now, found_at: Some(at.clone()), records })
}

fn property(data: &RData) -> Option<Property> {
    if let RData::CAA(record) = data { Some(record.into()) } else { None }
}
