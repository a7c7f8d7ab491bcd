//! Questions and answers as they travel. The two ends may be of different releases: a question that is not understood in
//! full is refused, and of an answer that is passed over which is not known. So perspectives are upgraded first. Each message
//! travels in an [envelope](crate::envelope).

use chancery_dcv::{CaaCheck, Check, Verified};
use chancery_domain::{
    Attempt, CaaEvidence, ChallengeType, Identifier, IdentifierError, ProblemKind, Timestamp, ValidationProblem,
};
use serde::{Deserialize, Serialize};

/// Where is asked for what.
pub const VERIFY: &str = "/v1/verify";
pub const CAA: &str = "/v1/caa";
pub const DESCRIPTION: &str = "/v1/description";

/// Whether a challenge is met.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifyQuestion {
    /// In whose line it waits.
    pub whose: String,
    /// By which names applicants' records know the CA.
    pub ca_domains: Vec<String>,
    identifier: String,
    method: String,
    token: String,
    key_authorization: String,
    account_uri: String,
}

/// Whether CAA records let the CA issue.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaaQuestion {
    /// As in [`VerifyQuestion`].
    pub whose: String,
    pub ca_domains: Vec<String>,
    pub account_uri: String,
    identifier: String,
    method: String,
}

/// What was seen of a challenge.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyAnswer {
    met: bool,
    #[serde(default)]
    attempts: Vec<Look>,
    /// Why it is not met.
    problem: Option<Problem>,
    /// Milliseconds since 1970.
    until: Option<i64>,
}

/// What was seen of CAA records.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CaaAnswer {
    permitted: bool,
    /// Milliseconds since 1970.
    checked_at: i64,
    found_at: Option<String>,
    #[serde(default)]
    records: Vec<String>,
    /// Why they do not let it issue.
    problem: Option<Problem>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Look {
    at: i64,
    addresses_resolved: Vec<String>,
    address_used: Option<String>,
    url: Option<String>,
    redirects: Vec<String>,
    http_status: Option<u16>,
    dns_answers: Vec<String>,
    dnssec: Option<String>,
    expected: Option<String>,
    actual: Option<String>,
    problem: Option<Problem>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Problem {
    kind: String,
    detail: String,
}

impl VerifyQuestion {
    pub fn new(whose: &str, check: &Check, ca_domains: &[String]) -> Self {
        Self {
            whose: whose.to_owned(),
            ca_domains: ca_domains.to_vec(),
            identifier: check.identifier.to_string(),
            method: check.kind.to_string(),
            token: check.token.clone(),
            key_authorization: check.key_authorization.clone(),
            account_uri: check.account_uri.clone(),
        }
    }

    /// What is to be looked at, or why it cannot be.
    pub fn check(&self) -> Result<Check, String> {
        Ok(Check {
            identifier: identifier(&self.identifier)?,
            kind: method(&self.method)?,
            token: self.token.clone(),
            key_authorization: self.key_authorization.clone(),
            account_uri: self.account_uri.clone(),
        })
    }
}

impl CaaQuestion {
    pub fn new(whose: &str, check: CaaCheck<'_>, ca_domains: &[String]) -> Self {
        Self {
            whose: whose.to_owned(),
            ca_domains: ca_domains.to_vec(),
            account_uri: check.account_uri.to_owned(),
            identifier: check.identifier.to_string(),
            method: check.method.to_string(),
        }
    }

    /// Which name it is about, and by what control of it was shown.
    pub fn about(&self) -> Result<(Identifier, ChallengeType), String> {
        Ok((identifier(&self.identifier)?, method(&self.method)?))
    }
}

impl From<Verified> for VerifyAnswer {
    fn from(verified: Verified) -> Self {
        Self {
            met: verified.outcome.is_ok(),
            // No more than would be kept of them.
            attempts: Attempt::kept(verified.attempts).into_iter().map(Look::from).collect(),
            problem: verified.outcome.err().map(Problem::from),
            until: verified.until.map(Timestamp::as_millis),
        }
    }
}

impl VerifyAnswer {
    /// As it was seen from this perspective, and no more than would be kept of it: whoever it is may say too much.
    pub(crate) fn seen_from(self, perspective: &str) -> Verified {
        let attempts = self.attempts.into_iter().map(|look| look.seen_from(perspective)).collect();
        let until = self.until.map(Timestamp::from_millis);
        Verified { until, ..Verified::new(Attempt::kept(attempts), said(self.met, self.problem)) }
    }
}

impl CaaAnswer {
    pub fn new(now: Timestamp, verdict: Result<CaaEvidence, ValidationProblem>) -> Self {
        let (evidence, problem) = match verdict {
            Ok(evidence) => (evidence, None),
            Err(problem) => (CaaEvidence::no_records(now), Some(problem.into())),
        };
        let CaaEvidence { checked_at, found_at, records, .. } = evidence;
        Self { permitted: problem.is_none(), checked_at: checked_at.as_millis(), found_at, records, problem }
    }
}

impl From<CaaAnswer> for Result<CaaEvidence, ValidationProblem> {
    fn from(answer: CaaAnswer) -> Self {
        let CaaAnswer { permitted, checked_at, found_at, records, problem } = answer;
        said(permitted, problem)?;
        let checked_at = Timestamp::from_millis(checked_at);
        Ok(CaaEvidence { checked_at, found_at, records, agreed: Vec::new() })
    }
}

impl From<Attempt> for Look {
    fn from(attempt: Attempt) -> Self {
        Self {
            at: attempt.at,
            addresses_resolved: attempt.addresses_resolved,
            address_used: attempt.address_used,
            url: attempt.url,
            redirects: attempt.redirects,
            http_status: attempt.http_status,
            dns_answers: attempt.dns_answers,
            dnssec: attempt.dnssec,
            expected: attempt.expected,
            actual: attempt.actual,
            problem: attempt.problem.map(Problem::from),
        }
    }
}

impl Look {
    fn seen_from(self, perspective: &str) -> Attempt {
        Attempt {
            at: self.at,
            perspective: perspective.to_owned(),
            addresses_resolved: self.addresses_resolved,
            address_used: self.address_used,
            url: self.url,
            redirects: self.redirects,
            http_status: self.http_status,
            dns_answers: self.dns_answers,
            dnssec: self.dnssec,
            expected: self.expected,
            actual: self.actual,
            problem: self.problem.map(ValidationProblem::from),
        }
    }
}

impl From<ValidationProblem> for Problem {
    fn from(problem: ValidationProblem) -> Self {
        let problem = problem.bounded();
        Self { kind: problem.kind.as_str().to_owned(), detail: problem.detail }
    }
}

impl From<Problem> for ValidationProblem {
    fn from(problem: Problem) -> Self {
        // A kind that is not known yet is a refusal all the same.
        let kind = ProblemKind::from_name(&problem.kind).unwrap_or(ProblemKind::Unauthorized);
        Self { kind, detail: problem.detail }.bounded()
    }
}

/// A yes that comes with a problem counts as a no.
fn said(yes: bool, problem: Option<Problem>) -> Result<(), ValidationProblem> {
    match problem {
        Some(problem) => Err(problem.into()),
        None if yes => Ok(()),
        None => {
            let detail = "it was refused without a reason".to_owned();
            Err(ValidationProblem { kind: ProblemKind::Unauthorized, detail })
        }
    }
}

fn identifier(text: &str) -> Result<Identifier, String> {
    // It is one that was ordered: what new orders may have is not asked here.
    Identifier::from_stored(text).map_err(|error: IdentifierError| format!("{text:?}: {error}"))
}

fn method(text: &str) -> Result<ChallengeType, String> {
    text.parse().map_err(|_| format!("{text:?} is no way to show control that is known here"))
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;

    fn travelled<T: Serialize + DeserializeOwned>(message: &T) -> T {
        serde_json::from_str(&serde_json::to_string(message).unwrap()).unwrap()
    }

    fn problem() -> ValidationProblem {
        ValidationProblem { kind: ProblemKind::Connection, detail: "nobody there".to_owned() }
    }

    #[test]
    fn what_is_to_be_looked_at_arrives_as_it_was_asked() {
        for (name, kind) in [("*.example.test", ChallengeType::Dns01), ("2001:db8::1", ChallengeType::TlsAlpn01)] {
            let check = Check {
                identifier: Identifier::parse(name).unwrap(),
                kind,
                token: "t".to_owned(),
                key_authorization: "t.k".to_owned(),
                account_uri: "https://ca.test/a".to_owned(),
            };
            let question = travelled(&VerifyQuestion::new("r", &check, &["ca.test".to_owned()]));
            assert_eq!(format!("{:?}", question.check().unwrap()), format!("{check:?}"));
            assert_eq!((question.whose.as_str(), question.ca_domains.as_slice()), ("r", &["ca.test".to_owned()][..]));
            let caa = CaaCheck { identifier: &check.identifier, account_uri: "uri", method: kind };
            let question = travelled(&CaaQuestion::new("r", caa, &[]));
            assert_eq!(question.about().unwrap(), (check.identifier, kind));
            assert_eq!(question.account_uri, "uri");
        }
    }

    #[test]
    fn what_was_seen_arrives_with_the_name_that_we_know_the_perspective_by() {
        let attempt = Attempt {
            at: 1,
            perspective: "primary".to_owned(),
            addresses_resolved: vec!["192.0.2.1".to_owned()],
            address_used: Some("192.0.2.1".to_owned()),
            url: Some("http://a.test/".to_owned()),
            redirects: vec!["http://b.test/".to_owned()],
            http_status: Some(404),
            dns_answers: vec!["a.test. A 192.0.2.1".to_owned()],
            dnssec: Some("secure".to_owned()),
            expected: Some("x".to_owned()),
            actual: Some("y".to_owned()),
            problem: Some(problem()),
        };
        let until = Some(Timestamp::from_secs(9));
        let seen = |outcome| Verified { until, ..Verified::new(vec![attempt.clone()], outcome) };
        let met = travelled(&VerifyAnswer::from(seen(Ok(())))).seen_from("north");
        assert_eq!(met.attempts, [Attempt { perspective: "north".to_owned(), ..attempt.clone() }]);
        assert_eq!((met.outcome, met.until), (Ok(()), Some(Timestamp::from_secs(9))));
        let missed = travelled(&VerifyAnswer::from(seen(Err(problem())))).seen_from("north");
        assert_eq!(missed.outcome, Err(problem()));
    }

    #[test]
    fn what_caa_says_arrives() {
        let now = Timestamp::from_secs(5);
        let evidence = CaaEvidence {
            checked_at: now,
            found_at: Some("test".to_owned()),
            records: vec!["test. CAA 0 issue \"ca.test\"".to_owned()],
            agreed: Vec::new(),
        };
        for verdict in [Ok(evidence), Err(problem())] {
            let answer = travelled(&CaaAnswer::new(now, verdict.clone()));
            assert_eq!(Result::from(answer), verdict);
        }
    }

    #[test]
    fn an_answer_that_is_not_understood_in_full_is_not_taken_for_consent() {
        for (answer, problem) in [
            (r#"{"met": true, "problem": {"kind": "brandNew", "detail": "x"}, "more": 1}"#, "unauthorized: x"),
            (r#"{"met": false}"#, "unauthorized: it was refused without a reason"),
        ] {
            let answer: VerifyAnswer = serde_json::from_str(answer).unwrap();
            assert_eq!(answer.seen_from("north").outcome.unwrap_err().to_string(), problem);
        }
        for incomplete in ["{}", "null", r#"{"checkedAt": 1}"#] {
            assert!(serde_json::from_str::<VerifyAnswer>(incomplete).is_err(), "{incomplete}");
            assert!(serde_json::from_str::<CaaAnswer>(incomplete).is_err(), "{incomplete}");
        }
    }
}
