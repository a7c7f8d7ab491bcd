//! What is asked of a validator, and what it answers.

use chancery_domain::{Attempt, ChallengeType, Identifier, ProblemKind, Timestamp, ValidationProblem};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// A challenge to look at.
#[derive(Clone, Debug)]
pub struct Check {
    pub identifier: Identifier,
    pub kind: ChallengeType,
    pub token: String,
    /// RFC 8555 section 8.1: the token, a dot and the thumbprint of the account's key.
    pub key_authorization: String,
    /// The URL of the ACME account, which dns-account-01 and dns-persist-01 are about.
    pub account_uri: String,
}

/// A name whose CAA records are to be asked whether we may issue: for which account (as RFC 8657 names it), and after which
/// validation.
#[derive(Clone, Copy, Debug)]
pub struct CaaCheck<'a> {
    pub identifier: &'a Identifier,
    pub account_uri: &'a str,
    pub method: ChallengeType,
}

/// How it went.
#[derive(Clone, Debug)]
pub struct Verified {
    /// Every look, the first one first. Empty where the challenge does not fit the identifier.
    pub attempts: Vec<Attempt>,
    pub outcome: Result<(), ValidationProblem>,
    /// When what was found says that it ends, where it does.
    pub until: Option<Timestamp>,
    /// The remote perspectives that saw it as well.
    pub agreed: Vec<String>,
}

/// The looks so far, for those who want to see them while it goes on.
#[derive(Debug, Default)]
pub struct Looks {
    seen: Mutex<Vec<Attempt>>,
    more: Notify,
}

impl Looks {
    /// Waits for a look after which another is going to follow, and gives all so far.
    pub async fn next(&self) -> Vec<Attempt> {
        self.more.notified().await;
        self.seen.lock().clone()
    }

    pub(crate) fn tell(&self, so_far: &[Attempt]) {
        so_far.clone_into(&mut self.seen.lock());
        self.more.notify_one();
    }
}

impl Verified {
    /// As it was seen by one alone.
    pub fn new(attempts: Vec<Attempt>, outcome: Result<(), ValidationProblem>) -> Self {
        Self { attempts, outcome, until: None, agreed: Vec::new() }
    }
}

impl Check {
    /// That the method can show control of this, and that the token may be part of a path.
    pub(crate) fn is_possible(&self) -> Result<(), ValidationProblem> {
        let refused = |kind, detail: String| Err(ValidationProblem { kind, detail });
        if !self.kind.fits(&self.identifier) {
            let possible = if matches!(self.identifier, Identifier::Ip(_)) { "http-01 or tls-alpn-01" } else { "DNS" };
            let detail = format!("{} can be shown only by {possible}, not by {}", self.identifier, self.kind);
            return refused(ProblemKind::RejectedIdentifier, detail);
        }
        // RFC 8555 section 8.3: nothing but base64url may reach the path.
        let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if self.token.is_empty() || !self.token.bytes().all(is_base64url) {
            return refused(ProblemKind::ServerInternal, "the token is not base64url".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn possible(identifier: &str, kind: ChallengeType) -> Result<(), ProblemKind> {
        let identifier = Identifier::parse(identifier).unwrap();
        let (token, key_authorization) = ("t_-0".to_owned(), String::new());
        let check = Check { identifier, kind, token, key_authorization, account_uri: String::new() };
        check.is_possible().map_err(|problem| problem.kind)
    }

    #[test]
    fn wildcards_are_for_dns_and_addresses_are_not() {
        use ChallengeType::{Dns01, DnsAccount01, DnsPersist01, Http01, TlsAlpn01};
        let refused = Err(ProblemKind::RejectedIdentifier);
        for kind in ChallengeType::ALL.iter().copied() {
            assert_eq!(possible("example.test", kind), Ok(()), "{kind}");
        }
        for (kind, wildcard, address) in [
            (Http01, &refused, &Ok(())),
            (Dns01, &Ok(()), &refused),
            (TlsAlpn01, &refused, &Ok(())),
            (DnsAccount01, &Ok(()), &refused),
            (DnsPersist01, &Ok(()), &refused),
        ] {
            assert_eq!(possible("*.example.test", kind), *wildcard, "{kind}");
            assert_eq!(possible("192.0.2.1", kind), *address, "{kind}");
            assert_eq!(possible("2001:db8::1", kind), *address, "{kind}");
        }
    }

    #[test]
    fn a_token_cannot_leave_its_directory() {
        for token in ["", "../admin", "a/b", "a?b", "a#b", "a b", "a\r\nb", "é"] {
            let identifier = Identifier::parse("example.test").unwrap();
            let kind = ChallengeType::Http01;
            let (token, key_authorization) = (token.to_owned(), String::new());
            let check = Check { identifier, kind, token, key_authorization, account_uri: String::new() };
            assert_eq!(check.is_possible().unwrap_err().kind, ProblemKind::ServerInternal, "{:?}", check.token);
        }
    }
}
