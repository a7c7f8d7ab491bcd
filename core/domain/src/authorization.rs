//! The permission to have one name in certificates: to be earned by one of its challenges.

use crate::challenge::{Challenge, ChallengeState};
use crate::evidence::{Attempt, CaaEvidence, ValidationProblem};
use crate::id::{AccountId, AcmeAccountId, AuthorizationId, ChallengeId, OrderId, ResellerId};
use crate::identifier::{DnsName, Identifier};
use crate::kinds::ChallengeType;
use crate::status::AuthorizationStatus;
use crate::time::Timestamp;

/// An authorization. It belongs to one order, or to none where it was asked for ahead of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    pub id: AuthorizationId,
    pub reseller: ResellerId,
    pub account: AccountId,
    /// Whose key the key authorizations are made with, where it was asked for through ACME.
    pub acme_account: Option<AcmeAccountId>,
    pub order: Option<OrderId>,
    /// The name as it stands in the order, wildcard and all.
    pub identifier: Identifier,
    /// The name at which control is shown of all that is below it: the identifier itself or a name above it
    /// (RFC 9444). None where control is shown of the identifier alone.
    pub namespace: Option<DnsName>,
    pub state: AuthorizationState,
    /// Empty until codes are asked for.
    pub challenges: Vec<Challenge>,
    pub expires_at: Timestamp,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: i64,
}

/// Where an authorization stands; whether it has expired is for the clock to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorizationState {
    Pending,
    Valid(Validation),
    Invalid { at: Timestamp },
    Deactivated { at: Timestamp },
    Revoked { at: Timestamp },
}

/// That control was shown: when, how, and what CAA said then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validation {
    pub at: Timestamp,
    pub method: ChallengeType,
    /// The authorization for which control was really looked for: another one where this is a reuse.
    pub source: AuthorizationId,
    /// The namespace that was looked at, where one was. It stands here besides in the authorization: a node that knows
    /// nothing of namespaces looks at the name alone, and does not write it.
    pub namespace: Option<DnsName>,
    /// The remote perspectives from which it was seen as well. A node that asks none does not write them.
    pub agreed: Vec<String>,
    /// Whether control and CAA were checked as strictly as public certificates require. A node that cannot tell does not
    /// write it.
    pub fit_for_public: bool,
    pub caa: CaaEvidence,
}

/// Why an authorization or one of its challenges cannot do this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizationError {
    #[error("there is no such challenge")]
    NoChallenge,
    #[error("verification was already attempted")]
    AlreadyTried,
    #[error("the authorization is deactivated")]
    Deactivated,
    #[error("the account was terminated, and its permissions ended with it")]
    AccountTerminated,
    #[error("the authorization is not pending any more")]
    NotPending,
    #[error("the authorization has failed; order again")]
    Failed,
    #[error("the authorization expired at {0}")]
    Expired(Timestamp),
    #[error("the order of the authorization expired at {0}")]
    OrderExpired(Timestamp),
}

/// How a verification ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verification {
    Shown {
        /// By the remote perspectives that saw it as well.
        agreed: Vec<String>,
        /// As in [`Validation`].
        fit_for_public: bool,
        caa: CaaEvidence,
    },
    Failed(ValidationProblem),
}

impl Authorization {
    /// The status as both doors show it.
    pub fn status(&self, now: Timestamp) -> AuthorizationStatus {
        match &self.state {
            AuthorizationState::Pending | AuthorizationState::Valid(_) if now >= self.expires_at => {
                AuthorizationStatus::Expired
            }
            AuthorizationState::Pending => AuthorizationStatus::Pending,
            AuthorizationState::Valid(_) => AuthorizationStatus::Valid,
            AuthorizationState::Invalid { .. } => AuthorizationStatus::Invalid,
            AuthorizationState::Deactivated { .. } => AuthorizationStatus::Deactivated,
            AuthorizationState::Revoked { .. } => AuthorizationStatus::Revoked,
        }
    }

    /// What control is looked for of.
    pub fn shown_at(&self) -> Identifier {
        self.namespace.clone().map_or_else(|| self.identifier.clone(), Identifier::Dns)
    }

    /// What was shown, if that is control of what this is a permission for: where it is for a namespace, control was
    /// shown there, and by a method that shows it.
    pub fn proven(&self) -> Option<&Validation> {
        let validation = self.validation().filter(|validation| validation.namespace == self.namespace)?;
        let of_namespace = self.namespace.is_none() || validation.method.shows_namespaces();
        (of_namespace && self.is_in_its_namespace()).then_some(validation)
    }

    /// Whether what is shown at its namespace can be of its identifier.
    fn is_in_its_namespace(&self) -> bool {
        match (&self.identifier, &self.namespace) {
            (_, None) => true,
            (Identifier::Dns(name), Some(namespace)) => {
                !name.is_wildcard() && (name == namespace || name.is_below(namespace.as_str()))
            }
            (Identifier::Ip(_), Some(_)) => false,
        }
    }

    pub fn challenge(&self, id: ChallengeId) -> Option<&Challenge> {
        self.challenges.iter().find(|challenge| challenge.id == id)
    }

    /// The challenge that was tried, where one was.
    pub fn tried(&self) -> Option<&Challenge> {
        self.challenges.iter().find(|challenge| challenge.was_tried())
    }

    pub fn validation(&self) -> Option<&Validation> {
        match &self.state {
            AuthorizationState::Valid(validation) => Some(validation),
            AuthorizationState::Pending
            | AuthorizationState::Invalid { .. }
            | AuthorizationState::Deactivated { .. }
            | AuthorizationState::Revoked { .. } => None,
        }
    }

    /// Chooses a challenge for verification: once, and one only.
    pub fn choose(mut self, id: ChallengeId, now: Timestamp) -> Result<Self, AuthorizationError> {
        match &self.state {
            AuthorizationState::Pending if now >= self.expires_at => {
                return Err(AuthorizationError::Expired(self.expires_at));
            }
            AuthorizationState::Pending => {}
            AuthorizationState::Valid(_) | AuthorizationState::Invalid { .. } => {
                return Err(AuthorizationError::AlreadyTried);
            }
            AuthorizationState::Deactivated { .. } | AuthorizationState::Revoked { .. } => {
                return Err(AuthorizationError::Deactivated);
            }
        }
        if self.tried().is_some() {
            return Err(AuthorizationError::AlreadyTried);
        }
        let challenge = self.challenges.iter_mut().find(|challenge| challenge.id == id);
        let challenge = challenge.ok_or(AuthorizationError::NoChallenge)?;
        challenge.state = ChallengeState::Processing { since: now };
        challenge.updated_at = now;
        self.updated_at = now;
        Ok(self)
    }

    /// Takes note of how the verification of the chosen challenge ended. What was shown holds until a time.
    pub fn conclude(
        mut self,
        id: ChallengeId,
        attempts: Vec<Attempt>,
        verification: Verification,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Self, AuthorizationError> {
        match &self.state {
            AuthorizationState::Pending => {}
            AuthorizationState::Deactivated { .. } | AuthorizationState::Revoked { .. } => {
                return Err(AuthorizationError::Deactivated);
            }
            AuthorizationState::Valid(_) | AuthorizationState::Invalid { .. } => {
                return Err(AuthorizationError::NotPending);
            }
        }
        let challenge = self.challenges.iter_mut().find(|challenge| challenge.id == id);
        let challenge = challenge.ok_or(AuthorizationError::NoChallenge)?;
        let ChallengeState::Processing { .. } = challenge.state else { return Err(AuthorizationError::NotPending) };
        challenge.add_attempts(attempts);
        challenge.updated_at = now;
        self.updated_at = now;
        match verification {
            Verification::Shown { agreed, fit_for_public, caa } => {
                challenge.state = ChallengeState::Valid { at: now };
                self.state = AuthorizationState::Valid(Validation {
                    at: now,
                    method: challenge.kind,
                    source: self.id,
                    namespace: self.namespace.clone(),
                    agreed,
                    fit_for_public,
                    caa,
                });
                self.expires_at = until;
            }
            Verification::Failed(problem) => {
                challenge.state = ChallengeState::Invalid { at: now, problem };
                self.state = AuthorizationState::Invalid { at: now };
            }
        }
        Ok(self)
    }

    /// Takes note of the looks so far, while the chosen challenge is verified; nothing where it is not any more.
    pub fn note_attempts(mut self, id: ChallengeId, attempts: Vec<Attempt>) -> Option<Self> {
        let challenge = self.challenges.iter_mut().find(|challenge| challenge.id == id)?;
        let ChallengeState::Processing { .. } = challenge.state else { return None };
        challenge.add_attempts(attempts);
        (self.state == AuthorizationState::Pending).then_some(self)
    }

    /// Gives the permission up, pending or earned.
    pub fn deactivate(mut self, now: Timestamp) -> Result<Self, AuthorizationError> {
        match &self.state {
            AuthorizationState::Pending | AuthorizationState::Valid(_) => {
                self.state = AuthorizationState::Deactivated { at: now };
                self.updated_at = now;
                Ok(self)
            }
            AuthorizationState::Invalid { .. } => Err(AuthorizationError::Failed),
            AuthorizationState::Deactivated { .. } | AuthorizationState::Revoked { .. } => {
                Err(AuthorizationError::Deactivated)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::evidence::ProblemKind;

    fn id(number: u128) -> ChallengeId {
        ChallengeId::from_uuid(Uuid::from_u128(number))
    }

    fn authorization() -> Authorization {
        let at = Timestamp::from_secs(0);
        let challenge = |number, kind| Challenge {
            id: id(number),
            kind,
            token: "token".to_owned(),
            state: ChallengeState::Pending,
            attempts: Vec::new(),
            created_at: at,
            updated_at: at,
        };
        Authorization {
            id: AuthorizationId::from_uuid(Uuid::nil()),
            reseller: ResellerId::from_uuid(Uuid::nil()),
            account: AccountId::from_uuid(Uuid::nil()),
            acme_account: None,
            order: None,
            identifier: Identifier::parse("example.com").unwrap(),
            namespace: None,
            state: AuthorizationState::Pending,
            challenges: vec![challenge(1, ChallengeType::Http01), challenge(2, ChallengeType::Dns01)],
            expires_at: Timestamp::from_secs(100),
            created_at: at,
            updated_at: at,
            version: 1,
        }
    }

    fn shown() -> Verification {
        let caa = CaaEvidence::no_records(Timestamp::from_secs(2));
        Verification::Shown { agreed: Vec::new(), fit_for_public: false, caa }
    }

    const NOW: Timestamp = Timestamp::from_secs(2);
    const UNTIL: Timestamp = Timestamp::from_secs(864_000);

    #[test]
    fn one_challenge_is_tried_and_it_decides() {
        let chosen = authorization().choose(id(1), NOW).unwrap();
        assert_eq!(chosen.clone().choose(id(2), NOW), Err(AuthorizationError::AlreadyTried));
        assert_eq!(chosen.clone().choose(id(1), NOW), Err(AuthorizationError::AlreadyTried));
        let shown = chosen.clone().conclude(id(1), vec![], shown(), UNTIL, NOW).unwrap();
        assert_eq!((shown.status(NOW), shown.expires_at), (AuthorizationStatus::Valid, UNTIL));
        assert_eq!(shown.validation().map(|validation| validation.method), Some(ChallengeType::Http01));
        let problem = ValidationProblem { kind: ProblemKind::Connection, detail: "refused".to_owned() };
        let failed = chosen.conclude(id(1), vec![], Verification::Failed(problem), UNTIL, NOW).unwrap();
        assert_eq!(failed.status(NOW), AuthorizationStatus::Invalid);
        assert_eq!(failed.choose(id(2), NOW), Err(AuthorizationError::AlreadyTried));
    }

    #[test]
    fn a_challenge_that_was_not_chosen_shows_nothing() {
        let chosen = authorization().choose(id(1), NOW).unwrap();
        let other = chosen.conclude(id(2), vec![], shown(), UNTIL, NOW);
        assert_eq!(other, Err(AuthorizationError::NotPending));
    }

    #[test]
    fn a_verification_that_ends_after_deactivation_shows_nothing() {
        let given_up = authorization().choose(id(1), NOW).unwrap().deactivate(NOW).unwrap();
        let late = given_up.clone().conclude(id(1), vec![], shown(), UNTIL, NOW);
        assert_eq!(late, Err(AuthorizationError::Deactivated));
        assert_eq!(given_up.deactivate(NOW), Err(AuthorizationError::Deactivated));
    }

    #[test]
    fn expires_by_the_clock() {
        let late = Timestamp::from_secs(100);
        assert_eq!(authorization().status(late), AuthorizationStatus::Expired);
        assert_eq!(authorization().choose(id(1), late), Err(AuthorizationError::Expired(late)));
    }
}
