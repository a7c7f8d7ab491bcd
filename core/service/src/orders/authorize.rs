//! The authorizations of a new order: made with their challenges, or born of what was shown earlier.

use std::collections::BTreeMap;

use chancery_domain::{
    AcmeAccount, AcmeAccountId, Authorization, AuthorizationId, AuthorizationState, CaaEvidence, Challenge,
    ChallengeId, ChallengeState, ChallengeType, DnsName, Identifier, Order, OrderId, Timestamp, Validation,
};
use chancery_pki::is_owned_with;
use chancery_store::{ASKED_AT_A_TIME, StoreError, Tx};
use data_encoding::BASE64URL_NOPAD;

use super::create::Draft;
use super::rules::{has_room, offered, too_long};
use crate::acme::{AcmeError, RejectedName, Rejection, ToldName};
use crate::error::ServiceError;
use crate::settings::Settings;

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
        let acme = self.acme.map(|account| account.id);
        let mut allowed = offered(identifier, self.profile, &self.standing.applied(settings));
        allowed.retain(|kind| self.has_use_for(*kind, order));
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
        let Some((earlier, mut validation)) = self.earned(tx, &fresh, &allowed)? else {
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

    /// A permission that was earned earlier and covers what a new one is for.
    fn earned(
        &self,
        tx: &mut Tx<'_>,
        fresh: &Authorization,
        allowed: &[ChallengeType],
    ) -> Result<Option<(Authorization, Validation)>, ServiceError> {
        let settings = &self.kernel.settings;
        if settings.issuing.reuse.is_zero() {
            return Ok(None);
        }
        for earlier in self.candidates(tx, fresh)? {
            let Some(validation) = earlier.proven().cloned() else { continue };
            // It may hold longer for its own order, policies may have come since, and whoever earned it may have given
            // it up.
            let source = tx.any_authorization(validation.source)?;
            let reuse = settings.issuing.reuse_of(&self.profile.name, self.now);
            let holds = self.now < validation.at.plus(reuse)
                && validation.method.counts_later()
                && settings.issuing.quorum.is_met_by(&validation.agreed)
                && allowed.contains(&validation.method)
                && source.is_some_and(|source| source.validation().is_some());
            if holds && has_one_owner(&earlier, &fresh.identifier) {
                return Ok(Some((earlier, validation)));
            }
        }
        Ok(None)
    }

    /// Those for the very name, and then those for what it is in. Ahead of an order a namespace is shown as such.
    fn candidates(&self, tx: &mut Tx<'_>, fresh: &Authorization) -> Result<Vec<Authorization>, ServiceError> {
        let (account, acme) = (fresh.account, fresh.acme_account);
        let mut candidates = match (&fresh.order, &fresh.namespace) {
            (None, Some(namespace)) => {
                tx.valid_authorizations(account, acme, None, std::slice::from_ref(namespace), self.now)?
            }
            (None, None) => tx.valid_authorizations(account, acme, Some(&fresh.identifier), &[], self.now)?,
            (Some(_), _) => self.valid_for(tx, &fresh.identifier)?,
        };
        candidates.retain(|found| counts(&self.kernel.settings, found));
        Ok(candidates)
    }

    fn valid_for(&self, tx: &mut Tx<'_>, identifier: &Identifier) -> Result<Vec<Authorization>, StoreError> {
        let acme = self.acme.map(|account| account.id);
        let namespaces = namespaces_of(&self.kernel.settings, acme, identifier);
        tx.valid_authorizations(self.account.id, acme, Some(identifier), &namespaces, self.now)
    }

    /// The authorizations of a new order, for each of its names.
    pub(super) fn authorizations(
        &self,
        tx: &mut Tx<'_>,
        order: &Order,
        ancestors: &BTreeMap<Identifier, DnsName>,
    ) -> Result<Vec<Authorization>, ServiceError> {
        let mut authorizations = Vec::with_capacity(order.identifiers.len());
        let reuses = !self.kernel.settings.issuing.reuse.is_zero();
        for some in order.identifiers.chunks(ASKED_AT_A_TIME) {
            if reuses && some.len() > 1 {
                tx.foresee(|tx| some.iter().for_each(|identifier| drop(self.valid_for(tx, identifier))));
            }
            for identifier in some {
                let ancestor = ancestors.get(identifier);
                authorizations.push(self.authorization(tx, Some(order.id), identifier, ancestor, order.expires_at)?);
            }
        }
        Ok(authorizations)
    }

    /// Whether a way to show control can lead to anything here.
    fn has_use_for(&self, kind: ChallengeType, order: Option<OrderId>) -> bool {
        let has_account = self.acme.is_some() || !kind.needs_acme_account();
        // Ahead of an order all is for later ones.
        let counts = order.is_some() || kind.counts_later();
        let has_names = kind != ChallengeType::DnsPersist01 || !self.kernel.settings.acme.caa_identities.is_empty();
        has_account && counts && has_names
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

/// Whether an ACME account has shown control of a name, or of a namespace it is in.
pub(crate) fn has_shown(
    settings: &Settings,
    tx: &mut Tx<'_>,
    account: &AcmeAccount,
    identifier: &Identifier,
    now: Timestamp,
) -> Result<bool, ServiceError> {
    let acme = Some(account.id);
    let namespaces = namespaces_of(settings, acme, identifier);
    let shown = tx.valid_authorizations(account.account, acme, Some(identifier), &namespaces, now)?;
    let covers =
        |found: &Authorization| counts(settings, found) && found.proven().is_some() && has_one_owner(found, identifier);
    Ok(shown.iter().any(covers))
}

/// The names above one that can have been shown for it as well, the nearest first. From the public suffix on, they have
/// other owners.
fn namespaces_of(settings: &Settings, acme: Option<AcmeAccountId>, identifier: &Identifier) -> Vec<DnsName> {
    match identifier {
        Identifier::Dns(name) if settings.acme.subdomains && acme.is_some() && !name.is_wildcard() => {
            name.above().into_iter().take_while(|above| is_owned_with(name.as_str(), above.as_str())).collect()
        }
        Identifier::Dns(_) | Identifier::Ip(_) => Vec::new(),
    }
}

/// What was shown of a namespace holds for other names only while that is allowed.
fn counts(settings: &Settings, found: &Authorization) -> bool {
    settings.acme.subdomains || found.shown_at() == found.identifier
}

/// Whether what was shown of a namespace, where it was of one, can be of this name.
fn has_one_owner(earlier: &Authorization, identifier: &Identifier) -> bool {
    match (&earlier.namespace, identifier) {
        (None, _) => true,
        (Some(namespace), Identifier::Dns(name)) => is_owned_with(name.as_str(), namespace.as_str()),
        (Some(_), Identifier::Ip(_)) => false,
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
