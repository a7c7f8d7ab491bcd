//! One way to show control of a name, and how far it has come.

use crate::evidence::{Attempt, ValidationProblem};
use crate::id::ChallengeId;
use crate::kinds::ChallengeType;
use crate::time::Timestamp;

/// A challenge of an authorization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    pub id: ChallengeId,
    pub kind: ChallengeType,
    /// 128 random bits and more, in base64url (RFC 8555 section 8.1).
    pub token: String,
    pub state: ChallengeState,
    pub attempts: Vec<Attempt>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// How far a challenge has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChallengeState {
    Pending,
    Processing { since: Timestamp },
    Valid { at: Timestamp },
    Invalid { at: Timestamp, problem: ValidationProblem },
}

impl ChallengeState {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing { .. } => "processing",
            Self::Valid { .. } => "valid",
            Self::Invalid { .. } => "invalid",
        }
    }
}

impl Challenge {
    /// Adds the looks of one verification so far, [as they are kept](Attempt::kept), which take the place of those that were noted of it before. What a verification
    /// before it has seen, on a node that is gone, stays as far as there is room.
    pub(crate) fn add_attempts(&mut self, attempts: Vec<Attempt>) {
        let Some(began) = attempts.first().map(|first| first.at) else { return };
        self.attempts.retain(|known| known.at < began);
        let is_first = self.attempts.is_empty();
        self.attempts.extend(attempts);
        if !is_first {
            self.attempts = Attempt::kept(std::mem::take(&mut self.attempts));
        }
    }

    /// Whether verification was begun at any time.
    pub fn was_tried(&self) -> bool {
        match self.state {
            ChallengeState::Pending => false,
            ChallengeState::Processing { .. } | ChallengeState::Valid { .. } | ChallengeState::Invalid { .. } => true,
        }
    }
}
