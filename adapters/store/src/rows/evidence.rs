//! What was seen, as it is kept: JSON, since nobody searches in it.

use chancery_domain::{
    Attempt, AuthorizationId, CaaEvidence, Challenge, ChallengeState, ChallengeType, DnsName, Identifier, ProblemKind,
    Timestamp, Validation, ValidationProblem,
};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;

pub(super) fn write_identifiers(identifiers: &[Identifier]) -> String {
    let texts: Vec<_> = identifiers.iter().map(ToString::to_string).collect();
    to_json(&texts)
}

pub(super) fn read_identifiers(text: &str) -> Result<Vec<Identifier>, StoreError> {
    let texts: Vec<String> = from_json(text)?;
    texts.iter().map(|text| Identifier::from_stored(text).map_err(StoreError::corrupt)).collect()
}

#[derive(Serialize, Deserialize)]
struct StoredProblem {
    kind: String,
    detail: String,
}

pub(super) fn write_problem(problem: &ValidationProblem) -> String {
    to_json(&StoredProblem::from(problem))
}

pub(super) fn read_problem(text: &str) -> Result<ValidationProblem, StoreError> {
    from_json::<StoredProblem>(text)?.try_into()
}

impl From<&ValidationProblem> for StoredProblem {
    fn from(problem: &ValidationProblem) -> Self {
        Self { kind: problem.kind.as_str().to_owned(), detail: problem.detail.clone() }
    }
}

impl TryFrom<StoredProblem> for ValidationProblem {
    type Error = StoreError;

    fn try_from(stored: StoredProblem) -> Result<Self, StoreError> {
        let kind = ProblemKind::from_name(&stored.kind).ok_or_else(|| StoreError::corrupt("a problem's kind"))?;
        Ok(Self { kind, detail: stored.detail })
    }
}

#[derive(Serialize, Deserialize)]
struct StoredValidation {
    at: i64,
    method: String,
    source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shown_at: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    agreed: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    fit_for_public: bool,
    caa_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    caa_found_at: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    caa_records: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    caa_agreed: Vec<String>,
}

pub(super) fn write_validation(validation: &Validation) -> String {
    to_json(&StoredValidation {
        at: validation.at.as_millis(),
        method: validation.method.as_str().to_owned(),
        source: validation.source.to_string(),
        shown_at: validation.namespace.as_ref().map(ToString::to_string),
        agreed: validation.agreed.clone(),
        fit_for_public: validation.fit_for_public,
        caa_at: validation.caa.checked_at.as_millis(),
        caa_found_at: validation.caa.found_at.clone(),
        caa_records: validation.caa.records.clone(),
        caa_agreed: validation.caa.agreed.clone(),
    })
}

pub(super) fn read_validation(text: &str) -> Result<Validation, StoreError> {
    let stored: StoredValidation = from_json(text)?;
    Ok(Validation {
        at: Timestamp::from_millis(stored.at),
        method: stored.method.parse::<ChallengeType>().map_err(StoreError::corrupt)?,
        source: stored.source.parse::<AuthorizationId>().map_err(StoreError::corrupt)?,
        namespace: stored.shown_at.as_deref().map(DnsName::from_stored).transpose().map_err(StoreError::corrupt)?,
        agreed: stored.agreed,
        fit_for_public: stored.fit_for_public,
        caa: CaaEvidence {
            checked_at: Timestamp::from_millis(stored.caa_at),
            found_at: stored.caa_found_at,
            records: stored.caa_records,
            agreed: stored.caa_agreed,
        },
    })
}

#[derive(Serialize, Deserialize)]
struct StoredChallenge {
    kind: String,
    id: String,
    token: String,
    state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    problem: Option<StoredProblem>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attempts: Vec<StoredAttempt>,
    created_at: i64,
    updated_at: i64,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredAttempt {
    at: i64,
    perspective: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addresses_resolved: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address_used: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    redirects: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_status: Option<u16>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dns_answers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dnssec: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<StoredProblem>,
}

pub(super) fn write_challenges(challenges: &[Challenge]) -> String {
    to_json(&challenges.iter().map(StoredChallenge::from).collect::<Vec<_>>())
}

pub(super) fn read_challenges(text: &str) -> Result<Vec<Challenge>, StoreError> {
    from_json::<Vec<StoredChallenge>>(text)?.into_iter().map(Challenge::try_from).collect()
}

impl From<&Challenge> for StoredChallenge {
    fn from(challenge: &Challenge) -> Self {
        let (state_at, problem) = match &challenge.state {
            ChallengeState::Pending => (None, None),
            ChallengeState::Processing { since } => (Some(*since), None),
            ChallengeState::Valid { at } => (Some(*at), None),
            ChallengeState::Invalid { at, problem } => (Some(*at), Some(problem)),
        };
        Self {
            kind: challenge.kind.as_str().to_owned(),
            id: challenge.id.to_string(),
            token: challenge.token.clone(),
            state: challenge.state.as_str().to_owned(),
            state_at: state_at.map(Timestamp::as_millis),
            problem: problem.map(StoredProblem::from),
            attempts: challenge.attempts.iter().map(StoredAttempt::from).collect(),
            created_at: challenge.created_at.as_millis(),
            updated_at: challenge.updated_at.as_millis(),
        }
    }
}

impl TryFrom<StoredChallenge> for Challenge {
    type Error = StoreError;

    fn try_from(stored: StoredChallenge) -> Result<Self, StoreError> {
        let at = stored.state_at.map(Timestamp::from_millis).ok_or_else(|| StoreError::corrupt("a challenge's time"));
        let problem = stored.problem.map(ValidationProblem::try_from).transpose()?;
        let state = match (stored.state.as_str(), problem) {
            ("pending", None) => ChallengeState::Pending,
            ("processing", None) => ChallengeState::Processing { since: at? },
            ("valid", None) => ChallengeState::Valid { at: at? },
            ("invalid", Some(problem)) => ChallengeState::Invalid { at: at?, problem },
            _ => return Err(StoreError::corrupt("a challenge's state")),
        };
        Ok(Self {
            id: stored.id.parse().map_err(StoreError::corrupt)?,
            kind: stored.kind.parse().map_err(StoreError::corrupt)?,
            token: stored.token,
            state,
            attempts: stored.attempts.into_iter().map(Attempt::try_from).collect::<Result<_, _>>()?,
            created_at: Timestamp::from_millis(stored.created_at),
            updated_at: Timestamp::from_millis(stored.updated_at),
        })
    }
}

impl From<&Attempt> for StoredAttempt {
    fn from(attempt: &Attempt) -> Self {
        let attempt = attempt.clone();
        Self {
            at: attempt.at,
            perspective: attempt.perspective,
            addresses_resolved: attempt.addresses_resolved,
            address_used: attempt.address_used,
            url: attempt.url,
            redirects: attempt.redirects,
            http_status: attempt.http_status,
            dns_answers: attempt.dns_answers,
            dnssec: attempt.dnssec,
            expected: attempt.expected,
            actual: attempt.actual,
            problem: attempt.problem.as_ref().map(StoredProblem::from),
        }
    }
}

impl TryFrom<StoredAttempt> for Attempt {
    type Error = StoreError;

    fn try_from(stored: StoredAttempt) -> Result<Self, StoreError> {
        Ok(Self {
            at: stored.at,
            perspective: stored.perspective,
            addresses_resolved: stored.addresses_resolved,
            address_used: stored.address_used,
            url: stored.url,
            redirects: stored.redirects,
            http_status: stored.http_status,
            dns_answers: stored.dns_answers,
            dnssec: stored.dnssec,
            expected: stored.expected,
            actual: stored.actual,
            problem: stored.problem.map(ValidationProblem::try_from).transpose()?,
        })
    }
}

fn to_json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("texts and numbers are JSON")
}

fn from_json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(StoreError::corrupt)
}
