//! What was shown of names before, and which new orders take it over.

use chancery_domain::{
    AccountId, AcmeAccount, AcmeAccountId, Authorization, ChallengeType, DnsName, Identifier, Profile, Timestamp,
    Validation,
};
use chancery_pki::is_owned_with;
use chancery_store::{StoreError, Tx};

use crate::error::ServiceError;
use crate::policies::EffectivePolicies;
use crate::settings::Settings;

/// What an account has shown, as it counts for a profile.
pub(crate) struct Reuse<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) account: AccountId,
    /// What was shown through ACME holds for the account there alone.
    pub(crate) acme: Option<AcmeAccountId>,
    pub(crate) profile: &'a Profile,
    pub(crate) now: Timestamp,
}

impl Reuse<'_> {
    /// Whether a new order would have nothing to show for a name.
    pub(crate) fn has_shown(
        &self,
        tx: &mut Tx<'_>,
        policies: &EffectivePolicies,
        identifier: &Identifier,
    ) -> Result<bool, ServiceError> {
        let allowed = self.allowed(policies, identifier, true);
        let earlier = self.valid_for(tx, identifier)?;
        Ok(self.first_that_holds(tx, earlier, identifier, &allowed)?.is_some())
    }

    /// The ways to show control of a name that lead to anything, for an order or ahead of one.
    pub(super) fn allowed(
        &self,
        policies: &EffectivePolicies,
        identifier: &Identifier,
        for_order: bool,
    ) -> Vec<ChallengeType> {
        let mut allowed = policies.methods(identifier, self.profile);
        allowed.retain(|kind| self.has_use_for(*kind, for_order));
        allowed
    }

    /// A permission that was earned earlier and covers what a new one is for.
    pub(super) fn earned(
        &self,
        tx: &mut Tx<'_>,
        fresh: &Authorization,
        allowed: &[ChallengeType],
    ) -> Result<Option<(Authorization, Validation)>, ServiceError> {
        let name = &fresh.identifier;
        let earlier = match (&fresh.order, &fresh.namespace) {
            (Some(_), _) => self.valid_for(tx, name)?,
            (None, None) => self.valid(tx, Some(name), &[])?,
            // Ahead of an order a namespace is shown as such.
            (None, Some(namespace)) => self.valid(tx, None, std::slice::from_ref(namespace))?,
        };
        self.first_that_holds(tx, earlier, name, allowed)
    }

    fn first_that_holds(
        &self,
        tx: &mut Tx<'_>,
        earlier: Vec<Authorization>,
        identifier: &Identifier,
        allowed: &[ChallengeType],
    ) -> Result<Option<(Authorization, Validation)>, ServiceError> {
        let settings = self.settings;
        for earlier in earlier {
            let Some(validation) = earlier.proven().cloned() else { continue };
            // It may hold longer for its own order, policies may have come since, and whoever earned it may have given
            // it up.
            let source = tx.any_authorization(validation.source)?;
            let reuse = settings.issuing.reuse_of(&self.profile.name, self.now);
            let holds = self.now < validation.at.plus(reuse)
                && validation.method.counts_later()
                && settings.issuing.accepts(&self.profile.name, &validation)
                && allowed.contains(&validation.method)
                && source.is_some_and(|source| source.validation().is_some());
            if holds && covers(settings, &earlier, identifier) {
                return Ok(Some((earlier, validation)));
            }
        }
        Ok(None)
    }

    /// Those for the very name, and then those for what it is in.
    pub(super) fn valid_for(&self, tx: &mut Tx<'_>, identifier: &Identifier) -> Result<Vec<Authorization>, StoreError> {
        self.valid(tx, Some(identifier), &namespaces_of(self.settings, self.acme, identifier))
    }

    fn valid(
        &self,
        tx: &mut Tx<'_>,
        name: Option<&Identifier>,
        namespaces: &[DnsName],
    ) -> Result<Vec<Authorization>, StoreError> {
        if self.settings.issuing.reuse.is_zero() {
            return Ok(Vec::new());
        }
        tx.valid_authorizations(self.account, self.acme, name, namespaces, self.now)
    }

    /// Whether a way to show control can lead to anything here.
    fn has_use_for(&self, kind: ChallengeType, for_order: bool) -> bool {
        let has_account = self.acme.is_some() || !kind.needs_acme_account();
        // Ahead of an order all is for later ones.
        let counts = for_order || kind.counts_later();
        let has_names = kind != ChallengeType::DnsPersist01 || !self.settings.acme.caa_identities.is_empty();
        has_account && counts && has_names
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
    let shows = |found: &Authorization| found.proven().is_some() && covers(settings, found, identifier);
    Ok(shown.iter().any(shows))
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

/// Whether what was shown is of this name, by the settings and the public suffixes of today.
pub(crate) fn covers(settings: &Settings, found: &Authorization, identifier: &Identifier) -> bool {
    counts(settings, found) && has_one_owner(found, identifier)
}

/// What was shown of a namespace holds for other names only while that is allowed.
fn counts(settings: &Settings, found: &Authorization) -> bool {
    settings.acme.subdomains || found.namespace.is_none() || found.shown_at() == found.identifier
}

/// Whether what was shown of a namespace, where it was of one, can be of this name.
fn has_one_owner(earlier: &Authorization, identifier: &Identifier) -> bool {
    match (&earlier.namespace, identifier) {
        (None, _) => true,
        (Some(namespace), Identifier::Dns(name)) => is_owned_with(name.as_str(), namespace.as_str()),
        (Some(_), Identifier::Ip(_)) => false,
    }
}
