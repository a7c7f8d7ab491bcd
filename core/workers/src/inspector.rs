//! Who looks at the world for the workers: a port, so that a test environment can put something around it.

use std::pin::Pin;

use chancery_dcv::{CaaCheck, Check, Looks, Validator, Verified};
use chancery_domain::{Attempt, CaaEvidence, CaaReport, ChallengeType, Identifier, ValidationProblem};

/// What is seen, some time later.
pub type Seen<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What CAA records say of one name.
pub type CaaVerdict = Result<CaaEvidence, ValidationProblem>;

/// Looks whether names are controlled, and what their CAA records say. Whoever looks for `whose` sake waits in the
/// line of that party.
pub trait Inspector: Send + Sync {
    /// Tells of looks that are not the last, as they come.
    fn verify<'a>(&'a self, whose: &'a str, check: &'a Check, looks: &'a Looks) -> Seen<'a, Verified>;

    /// Whether we may issue after this validation.
    fn caa<'a>(&'a self, whose: &'a str, check: CaaCheck<'a>) -> Seen<'a, CaaVerdict>;

    /// Whether we might after one of these, looked up once: for those who only want to know.
    fn caa_for_any<'a>(
        &'a self,
        whose: &'a str,
        identifier: &'a Identifier,
        account_uri: &'a str,
        methods: &'a [ChallengeType],
    ) -> Seen<'a, CaaReport>;

    /// What is seen of the web server of a name, where http-01 would look.
    fn probe<'a>(&'a self, whose: &'a str, identifier: &'a Identifier) -> Seen<'a, Attempt>;
}

impl Inspector for Validator {
    fn verify<'a>(&'a self, whose: &'a str, check: &'a Check, looks: &'a Looks) -> Seen<'a, Verified> {
        Box::pin(self.verify_telling(whose, check, looks))
    }

    fn caa<'a>(&'a self, whose: &'a str, check: CaaCheck<'a>) -> Seen<'a, CaaVerdict> {
        let CaaCheck { identifier, account_uri, method } = check;
        Box::pin(Validator::caa(self, whose, identifier, Some(account_uri), method))
    }

    fn caa_for_any<'a>(
        &'a self,
        whose: &'a str,
        identifier: &'a Identifier,
        account_uri: &'a str,
        methods: &'a [ChallengeType],
    ) -> Seen<'a, CaaReport> {
        Box::pin(Validator::caa_for_any(self, whose, identifier, Some(account_uri), methods))
    }

    fn probe<'a>(&'a self, whose: &'a str, identifier: &'a Identifier) -> Seen<'a, Attempt> {
        Box::pin(Validator::probe(self, whose, identifier))
    }
}
