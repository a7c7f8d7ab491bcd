//! That every name of an order is backed by its own fresh evidence: without it nothing is drafted.

use std::time::Duration;

use crate::authorization::{Authorization, Validation};
use crate::id::AuthorizationId;
use crate::identifier::Identifier;
use crate::order::Order;
use crate::quorum::Quorum;
use crate::time::Timestamp;

/// The names that may stand in a certificate. Only [`IssuanceProof::build`] makes one.
///
/// ```compile_fail,E0451
/// use chancery_domain::{Identifier, IssuanceProof};
/// let forged = IssuanceProof { names: vec![Identifier::parse("example.com").unwrap()] };
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct IssuanceProof {
    names: Vec<Identifier>,
}

/// How old evidence may be, and who must have seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvidenceRules<'a> {
    /// A look at CAA holds for so long (Baseline Requirements section 4.2.2.1).
    pub caa: Duration,
    /// Control that was shown counts for less than this, however long its permission holds; no limit where there is none.
    pub validation: Option<Duration>,
    /// Which remote perspectives must have agreed, to control and to CAA. What a node has seen that asks none, or what was
    /// seen before there were any, does not do.
    pub quorum: &'a Quorum,
    /// Whether the certificate is public: only evidence that is fit for public certificates counts then.
    pub public: bool,
}

/// Clocks of nodes may differ by so much. What is dated further ahead proves nothing.
pub const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// Why there is no proof.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    #[error("control of {0} is not shown, or was shown too long ago")]
    NotShown(Identifier),
    #[error("control of {0} was seen by too few of the perspectives that are asked now")]
    NotCorroborated(Identifier),
    #[error("control of {0} was validated less strictly than public certificates require; order again")]
    NotForPublic(Identifier),
    #[error("an authorization is for {0}, which is not in the order")]
    NotOrdered(Identifier),
    /// Control is shown; what CAA says has to be asked again (RFC 8659 and Baseline Requirements section 4.2.2.1).
    #[error("what CAA says has to be asked again")]
    StaleCaa(Vec<AuthorizationId>),
}

impl IssuanceProof {
    /// Builds the proof from what is stored: for each name of the order exactly one authorization that is valid now and
    /// was earned as the rules want it, and for each of those a look at CAA that is fresh.
    pub fn build(
        order: &Order,
        authorizations: &[Authorization],
        rules: &EvidenceRules<'_>,
        now: Timestamp,
    ) -> Result<Self, ProofError> {
        let mut stale = Vec::new();
        for identifier in &order.identifiers {
            let own = authorizations.iter().find(|each| each.identifier == *identifier);
            let shown = own.and_then(|own| Some((own, valid(own, rules, now)?)));
            let (own, validation) = shown.ok_or_else(|| ProofError::NotShown(identifier.clone()))?;
            if !rules.quorum.is_met_by(&validation.agreed) {
                return Err(ProofError::NotCorroborated(identifier.clone()));
            }
            if rules.public && !validation.fit_for_public {
                return Err(ProofError::NotForPublic(identifier.clone()));
            }
            let checked_at = validation.caa.checked_at;
            // An address has no records that anybody could see.
            let too_few = matches!(identifier, Identifier::Dns(_)) && !rules.quorum.is_met_by(&validation.caa.agreed);
            if now.since(checked_at) > rules.caa || is_ahead(checked_at, now) || too_few {
                stale.push(own.id);
            }
        }
        let stranger = authorizations.iter().find(|each| !order.identifiers.contains(&each.identifier));
        if let Some(stranger) = stranger {
            return Err(ProofError::NotOrdered(stranger.identifier.clone()));
        }
        if stale.is_empty() { Ok(Self { names: order.identifiers.clone() }) } else { Err(ProofError::StaleCaa(stale)) }
    }

    pub fn names(&self) -> &[Identifier] {
        &self.names
    }
}

fn valid<'a>(authorization: &'a Authorization, rules: &EvidenceRules<'_>, now: Timestamp) -> Option<&'a Validation> {
    let validation = authorization.proven().filter(|_| now < authorization.expires_at)?;
    let too_old = rules.validation.is_some_and(|age| now.since(validation.at) >= age);
    (!too_old && !is_ahead(validation.at, now)).then_some(validation)
}

/// Whether evidence comes from a clock that was wrong: nobody knows how old it is.
fn is_ahead(at: Timestamp, now: Timestamp) -> bool {
    at > now.plus(CLOCK_SKEW)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::authorization::AuthorizationState;
    use crate::credential::Kid;
    use crate::evidence::CaaEvidence;
    use crate::id::{AccountId, CertificateId, OrderId, ResellerId};
    use crate::kinds::ChallengeType;
    use crate::metadata::Metadata;
    use crate::order::{OrderState, Via};
    use crate::profile::ProfileName;

    const NOW: i64 = 1_000_000;

    fn rules(quorum: &Quorum) -> EvidenceRules<'_> {
        let validation = Some(Duration::from_secs(1000));
        EvidenceRules { caa: Duration::from_secs(100), validation, quorum, public: false }
    }

    /// What comes of a validation and a look at CAA of these ages, in seconds.
    fn proof(validated: i64, caa_checked: i64) -> Result<IssuanceProof, ProofError> {
        proof_in([None, None], ChallengeType::Http01, validated, caa_checked)
    }

    /// What comes of fresh evidence to which these have agreed, where two of three must.
    fn agreed(name: &str, to_control: &[&str], to_caa: &[&str]) -> Result<IssuanceProof, ProofError> {
        let (mut order, mut authorization) = evidence([None, None], ChallengeType::Http01, 0, 0);
        let name = Identifier::parse(name).unwrap();
        order.identifiers = vec![name.clone()];
        authorization.identifier = name;
        let AuthorizationState::Valid(validation) = &mut authorization.state else { panic!("it is valid") };
        validation.agreed = to_control.iter().map(ToString::to_string).collect();
        validation.caa.agreed = to_caa.iter().map(ToString::to_string).collect();
        let quorum = Quorum::new(["a", "b", "c"].map(|name| (name.to_owned(), None)).into(), 1);
        IssuanceProof::build(&order, &[authorization], &rules(&quorum), Timestamp::from_secs(NOW))
    }

    #[test]
    fn what_too_few_perspectives_have_seen_does_not_do() {
        assert!(agreed("example.com", &["a", "b"], &["b", "c"]).is_ok());
        assert!(matches!(agreed("example.com", &["a"], &["b", "c"]), Err(ProofError::NotCorroborated(_))));
        assert!(matches!(agreed("example.com", &["a", "x"], &["b", "c"]), Err(ProofError::NotCorroborated(_))));
        assert!(matches!(agreed("example.com", &["a", "b"], &["b", "x"]), Err(ProofError::StaleCaa(_))));
        assert!(matches!(agreed("example.com", &[], &[]), Err(ProofError::NotCorroborated(_))));
        assert!(agreed("192.0.2.1", &["a", "b"], &[]).is_ok());
    }

    #[test]
    fn public_certificates_need_evidence_that_is_fit_for_them() {
        for (public, fit_for_public, counts) in
            [(true, true, true), (true, false, false), (false, true, true), (false, false, true)]
        {
            let (order, mut authorization) = evidence([None, None], ChallengeType::Http01, 0, 0);
            let AuthorizationState::Valid(validation) = &mut authorization.state else { panic!("it is valid") };
            validation.fit_for_public = fit_for_public;
            let quorum = Quorum::default();
            let rules = EvidenceRules { public, ..rules(&quorum) };
            let proof = IssuanceProof::build(&order, &[authorization], &rules, Timestamp::from_secs(NOW));
            assert_eq!(proof.is_ok(), counts, "{public} {fit_for_public}");
            assert_eq!(matches!(proof, Err(ProofError::NotForPublic(_))), !counts);
        }
    }

    /// What comes of evidence by this method and of these ages, where a namespace is asked for, and one was looked at.
    fn proof_in(
        [asked, looked_at]: [Option<&str>; 2],
        method: ChallengeType,
        validated: i64,
        caa_checked: i64,
    ) -> Result<IssuanceProof, ProofError> {
        let (order, authorization) = evidence([asked, looked_at], method, validated, caa_checked);
        IssuanceProof::build(&order, &[authorization], &rules(&Quorum::default()), Timestamp::from_secs(NOW))
    }

    fn evidence(
        [asked, looked_at]: [Option<&str>; 2],
        method: ChallengeType,
        validated: i64,
        caa_checked: i64,
    ) -> (Order, Authorization) {
        let nil = Uuid::nil();
        let dns_name = |name| crate::identifier::DnsName::parse(name).unwrap();
        let now = Timestamp::from_secs(NOW);
        let name = Identifier::parse("example.com").unwrap();
        let id = AuthorizationId::from_uuid(nil);
        let order = Order {
            id: OrderId::from_uuid(nil),
            reseller: ResellerId::from_uuid(nil),
            account: AccountId::from_uuid(nil),
            kid: Kid::from_uuid(nil),
            kid_was_revoked: false,
            via: Via::Reseller,
            acme_account: None,
            replaces: None,
            profile: ProfileName::parse("TLS-90d").unwrap(),
            identifiers: vec![name.clone()],
            authorizations: vec![id],
            certificate: CertificateId::from_uuid(nil),
            csr: None,
            not_before: None,
            not_after: None,
            external_id: None,
            metadata: Metadata::default(),
            state: OrderState::Processing { since: now },
            finalized_at: Some(now),
            expires_at: now,
            created_at: now,
            updated_at: now,
            version: 1,
        };
        let checked_at = Timestamp::from_secs(NOW - caa_checked);
        let authorization = Authorization {
            id,
            reseller: order.reseller,
            account: order.account,
            acme_account: None,
            order: Some(order.id),
            identifier: name,
            namespace: asked.map(dns_name),
            state: AuthorizationState::Valid(Validation {
                at: Timestamp::from_secs(NOW - validated),
                method,
                source: id,
                namespace: looked_at.map(dns_name),
                agreed: Vec::new(),
                fit_for_public: false,
                caa: CaaEvidence::no_records(checked_at),
            }),
            challenges: Vec::new(),
            expires_at: Timestamp::from_secs(NOW + 1),
            created_at: now,
            updated_at: now,
            version: 1,
        };
        (order, authorization)
    }

    #[test]
    fn control_of_a_namespace_is_shown_by_dns_at_or_above_the_name() {
        use ChallengeType::{Dns01, DnsAccount01, DnsPersist01, Http01, TlsAlpn01};
        for (namespace, method, counts) in [
            ("example.com", Dns01, true),
            ("com", Dns01, true),
            ("example.com", DnsAccount01, true),
            ("example.com", DnsPersist01, false),
            ("example.com", Http01, false),
            ("example.com", TlsAlpn01, false),
            ("www.example.com", Dns01, false),
            ("ample.com", Dns01, false),
            ("example.org", Dns01, false),
        ] {
            assert_eq!(proof_in([Some(namespace); 2], method, 0, 0).is_ok(), counts, "{namespace} {method}");
        }
    }

    #[test]
    fn what_was_shown_elsewhere_than_at_the_namespace_does_not_count_for_it() {
        for (asked, looked_at, counts) in [
            (Some("example.com"), Some("example.com"), true),
            (Some("example.com"), None, false),
            (Some("com"), Some("example.com"), false),
            (None, Some("example.com"), false),
        ] {
            let proof = proof_in([asked, looked_at], ChallengeType::Dns01, 0, 0);
            assert_eq!(proof.is_ok(), counts, "{asked:?} {looked_at:?}");
        }
    }

    #[test]
    fn evidence_is_neither_too_old_nor_from_the_future() {
        for fresh in [0, 999, -60] {
            assert!(proof(fresh, 0).is_ok(), "{fresh}");
        }
        for stale in [1000, 5000, -61, -100_000] {
            assert!(matches!(proof(stale, 0), Err(ProofError::NotShown(_))), "{stale}");
        }
        for fresh in [0, 100, -60] {
            assert!(proof(0, fresh).is_ok(), "{fresh}");
        }
        for stale in [101, -61, -100_000] {
            assert!(matches!(proof(0, stale), Err(ProofError::StaleCaa(_))), "{stale}");
        }
    }
}
