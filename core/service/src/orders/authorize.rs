//! The authorizations of a new order: made with their challenges, or born of what was shown earlier.

use std::collections::BTreeMap;

use chancery_domain::{
    Authorization, AuthorizationId, AuthorizationState, CaaEvidence, Challenge, ChallengeId, ChallengeState,
    ChallengeType, DnsName, Identifier, Order, OrderId, Timestamp,
};
use chancery_store::{ASKED_AT_A_TIME, Tx};
use data_encoding::BASE64URL_NOPAD;

use super::create::Draft;
use super::reuse::Reuse;
use crate::acme::{AcmeError, RejectedName, Rejection, ToldName};
use crate::error::ServiceError;
use crate::policies::{has_room, too_long};

impl Draft<'_> {
    /// A new authorization, born valid where the account has shown control of the name lately, or of a namespace it is in.
    /// Through ACME it is born with its challenges, at the name that is wished for where that can be (RFC 9444).
    pub(crate) fn authorization(
        &self,
        tx: &mut Tx<'_>,
        order: Option<OrderId>,
        identifier: &Identifier,
        wish: Option<&DnsName>,
        order_end: Timestamp,
    ) -> Result<Authorization, ServiceError> {
        let settings = &self.kernel.settings;
        let (reuse, acme) = (self.reuse(), self.acme.map(|account| account.id));
        let allowed = reuse.allowed(self.policies, identifier, order.is_some());
        let of_namespaces: Vec<_> = allowed.iter().copied().filter(|kind| kind.shows_namespaces()).collect();
        let can_be_shown = |wish: &&DnsName| {
            let place = Identifier::Dns((*wish).clone());
            of_namespaces.iter().any(|kind| has_room(*kind, &place))
        };
        let namespace = wish.filter(can_be_shown).cloned();
        let id = AuthorizationId::with_challenges(self.now, self.kernel.entropy.as_ref());
        let fresh = Authorization {
            id,
            reseller: self.caller.reseller,
            account: self.account.id,
            acme_account: acme,
            order,
            identifier: identifier.clone(),
            namespace,
            state: AuthorizationState::Pending,
            challenges: Vec::new(),
            expires_at: order_end,
            created_at: self.now,
            updated_at: self.now,
            version: 1,
        };
        let Some((earlier, mut validation)) = reuse.earned(tx, &fresh, &allowed)? else {
            let mut kinds = match (acme, &fresh.namespace) {
                (None, _) => Vec::new(),
                (Some(_), None) => allowed,
                (Some(_), Some(_)) => of_namespaces,
            };
            let is_offered = !kinds.is_empty();
            kinds.retain(|kind| has_room(*kind, &fresh.shown_at()));
            if acme.is_some() && kinds.is_empty() {
                let why = if is_offered { too_long(identifier) } else { no_way(identifier, order) };
                return Err(rejected(identifier, why).into());
            }
            let challenges = kinds.into_iter().map(|kind| self.challenge(id, kind, ChallengeState::Pending));
            return Ok(Authorization { challenges: challenges.collect(), ..fresh });
        };
        // For public certificates control counts no longer than its date allows, however long the permission holds.
        let shown_until = match settings.issuing.longest_reuse(&self.profile.name, self.now) {
            Some(longest) => validation.at.plus(longest),
            None => earlier.expires_at,
        };
        if earlier.identifier != *identifier {
            // CAA is asked for each name, whoever controls it.
            validation.caa = CaaEvidence::unasked();
        }
        // The list of challenges of a reused authorization must not be empty: clients look for the one that is valid.
        let shown = self.challenge(id, validation.method, ChallengeState::Valid { at: validation.at });
        let state = AuthorizationState::Valid(validation);
        let expires_at = earlier.expires_at.min(shown_until);
        Ok(Authorization { state, challenges: vec![shown], expires_at, namespace: earlier.namespace, ..fresh })
    }

    fn reuse(&self) -> Reuse<'_> {
        let (settings, profile, now) = (&*self.kernel.settings, self.profile, self.now);
        Reuse { settings, account: self.account.id, acme: self.acme.map(|account| account.id), profile, now }
    }

    /// The authorizations of a new order, for each of its names.
    pub(super) fn authorizations(
        &self,
        tx: &mut Tx<'_>,
        order: &Order,
        ancestors: &BTreeMap<Identifier, DnsName>,
    ) -> Result<Vec<Authorization>, ServiceError> {
        let mut authorizations = Vec::with_capacity(order.identifiers.len());
        let reuse = self.reuse();
        for some in order.identifiers.chunks(ASKED_AT_A_TIME) {
            if some.len() > 1 {
                tx.foresee(|tx| some.iter().for_each(|identifier| drop(reuse.valid_for(tx, identifier))));
            }
            for identifier in some {
                let ancestor = ancestors.get(identifier);
                authorizations.push(self.authorization(tx, Some(order.id), identifier, ancestor, order.expires_at)?);
            }
        }
        Ok(authorizations)
    }

    fn challenge(&self, authorization: AuthorizationId, kind: ChallengeType, state: ChallengeState) -> Challenge {
        Challenge {
            id: ChallengeId::of(authorization, kind),
            kind,
            token: BASE64URL_NOPAD.encode(&self.kernel.entropy.bytes::<32>()),
            state,
            attempts: Vec::new(),
            created_at: self.now,
            updated_at: self.now,
        }
    }
}

/// An authorization without challenges could only expire.
fn no_way(identifier: &Identifier, order: Option<OrderId>) -> String {
    match order {
        None => format!("no way to show control of {identifier} ahead of an order is offered; order it with newOrder"),
        Some(_) => format!("no way to show control of {identifier} is offered; choose another profile"),
    }
}

fn rejected(identifier: &Identifier, detail: String) -> AcmeError {
    let name = Some(ToldName::Read(identifier.clone()));
    AcmeError::Rejected(vec![RejectedName { name, kind: Rejection::Forbidden, detail }], 0)
}
