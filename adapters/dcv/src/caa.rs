//! Finds the CAA records that decide about a name, and asks them (RFC 8659 section 3).

use chancery_domain::{ProblemKind, ValidationProblem};
use hickory_proto::rr::{RData, RecordType};

use crate::answer::{Answer, Security, spelled};
use crate::caa_rules::{Applicant, Property, permits};
use crate::lookup_error::LookupError;
use crate::refusal::Refusal;
use crate::resolver::Resolver;

/// So many objections are told; more would help nobody.
const MAX_TOLD: usize = 10;

/// What was found on the way up from a name.
pub(crate) struct Found {
    /// The records that decide about the name, where any name up to the root has some.
    deciding: Option<Deciding>,
    /// The weakest of all answers.
    pub(crate) security: Security,
}

struct Deciding {
    at: String,
    answer: Answer,
    properties: Vec<Property>,
}

impl Found {
    /// The name whose records decide.
    pub(crate) fn at(&self) -> Option<String> {
        self.deciding.as_ref().map(|deciding| deciding.at.clone())
    }

    /// The records, as they would stand in a zone file.
    pub(crate) fn records(&self) -> Vec<String> {
        let Some(Deciding { answer, properties, .. }) = &self.deciding else { return Vec::new() };
        let owner = spelled(&answer.owner);
        answer.aliases_shown().chain(properties.iter().map(|property| format!("{owner} {property}"))).collect()
    }
}

/// A question without an answer. That is a refusal: the record that we cannot see may be the one that forbids it. But
/// it may be answered in a moment.
pub(crate) fn unasked(name: &str, error: LookupError) -> Refusal {
    let detail = format!("CAA could not be checked for {name}: {error}");
    let look_again = Refusal::from(error).look_again;
    Refusal { problem: ValidationProblem { kind: ProblemKind::Caa, detail }, look_again }
}

/// The records of the name, or else of the first name above it that has any.
pub(crate) async fn find(resolver: &Resolver, name: &str) -> Result<Found, LookupError> {
    let (mut place, mut security) = (Some(name), Security::Secure);
    while let Some(here) = place {
        let answer = resolver.lookup(here, RecordType::CAA).await?;
        security = security.min(answer.security);
        let properties: Vec<_> = answer.data.iter().filter_map(property).collect();
        if !properties.is_empty() {
            return Ok(Found { deciding: Some(Deciding { at: here.to_owned(), answer, properties }), security });
        }
        place = here.split_once('.').map(|(_, above)| above);
    }
    Ok(Found { deciding: None, security })
}

/// What the records have against one who wants to issue.
pub(crate) fn judge(found: &Found, name: &str, applicant: &Applicant<'_>) -> Result<(), ValidationProblem> {
    let Some(Deciding { at, answer, properties }) = &found.deciding else { return Ok(()) };
    let Err(objections) = permits(properties, applicant) else { return Ok(()) };
    let owner = spelled(&answer.owner);
    let alias = if answer.aliases.is_empty() { String::new() } else { format!(", an alias of {owner}") };
    let told: Vec<_> = objections
        .iter()
        .take(MAX_TOLD)
        .map(|objection| format!("`{owner} {}`: {}", objection.property, objection.why))
        .collect();
    let subject = if applicant.wildcard { format!("*.{name}") } else { name.to_owned() };
    let detail = format!("CAA forbids a certificate for {subject}; found at {at}{alias}: {}", told.join("; "));
    Err(ValidationProblem { kind: ProblemKind::Caa, detail })
}

fn property(data: &RData) -> Option<Property> {
    if let RData::CAA(record) = data { Some(record.into()) } else { None }
}
