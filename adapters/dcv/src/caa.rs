//! Finds the CAA records that decide about a name, and asks them (RFC 8659 section 3).

use chancery_domain::{CaaEvidence, ProblemKind, Timestamp, ValidationProblem};
use hickory_proto::rr::{RData, RecordType};

use crate::answer::{Answer, spelled};
use crate::caa_rules::{Applicant, Property, permits};
use crate::resolver::Resolver;

/// So many objections are told; more would help nobody.
const MAX_TOLD: usize = 10;

/// What the records of the name say, or else of the first name above it that has any. A question without an answer is
/// a refusal: the record that we cannot see may be the one that forbids it.
pub(crate) async fn check(
    resolver: &Resolver,
    name: &str,
    applicant: &Applicant<'_>,
    now: Timestamp,
) -> Result<CaaEvidence, ValidationProblem> {
    let mut place = Some(name);
    while let Some(here) = place {
        let answer = resolver.lookup(here, RecordType::CAA).await.map_err(|error| ValidationProblem {
            kind: ProblemKind::Caa,
            detail: format!("CAA could not be checked for {name}: {error}"),
        })?;
        let properties: Vec<_> = answer.data.iter().filter_map(property).collect();
        if !properties.is_empty() {
            return judge(name, here, &answer, &properties, applicant, now);
        }
        place = here.split_once('.').map(|(_, above)| above);
    }
    Ok(CaaEvidence { checked_at: now, found_at: None, records: Vec::new() })
}

fn judge(
    name: &str,
    here: &str,
    answer: &Answer,
    properties: &[Property],
    applicant: &Applicant<'_>,
    now: Timestamp,
) -> Result<CaaEvidence, ValidationProblem> {
    let owner = spelled(&answer.owner);
    if let Err(objections) = permits(properties, applicant) {
        let alias = if answer.aliases.is_empty() { String::new() } else { format!(", an alias of {owner}") };
        let told: Vec<_> = objections
            .iter()
            .take(MAX_TOLD)
            .map(|objection| format!("`{owner} {}`: {}", objection.property, objection.why))
            .collect();
        let subject = if applicant.wildcard { format!("*.{name}") } else { name.to_owned() };
        let detail = format!("CAA forbids a certificate for {subject}; found at {here}{alias}: {}", told.join("; "));
        return Err(ValidationProblem { kind: ProblemKind::Caa, detail });
    }
    let records =
        answer.aliases_shown().chain(properties.iter().map(|property| format!("{owner} {property}"))).collect();
    Ok(CaaEvidence { checked_at: now, found_at: Some(here.to_owned()), records })
}

fn property(data: &RData) -> Option<Property> {
    if let RData::CAA(record) = data { Some(record.into()) } else { None }
}
