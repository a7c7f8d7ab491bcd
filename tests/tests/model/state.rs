//! What the service is taken to be: parties, rules, orders, and what the documents say of where each stands.

use std::collections::BTreeSet;

use crate::calls::{Name, Names, Rule};

pub(crate) const DAY: i64 = 86_400;
/// How long an order is open.
pub(crate) const ORDER_LIFE: i64 = 7 * DAY;
/// How long control that was shown holds.
pub(crate) const REUSE: i64 = 10 * DAY;

/// Everything there is. Things are never taken away, and named by their place.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) now: i64,
    pub(crate) accounts: Vec<Account>,
    pub(crate) credentials: Vec<Credential>,
    pub(crate) groups: Vec<Group>,
    pub(crate) policies: Vec<Policy>,
    pub(crate) clients: Vec<Client>,
    pub(crate) orders: Vec<Order>,
    pub(crate) authorizations: Vec<Authorization>,
    /// Keys that were revoked as compromised.
    pub(crate) blocked: BTreeSet<usize>,
    /// What must stand in the trail.
    pub(crate) trail: Vec<(&'static str, Thing)>,
}

/// Something that the trail can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    Account(usize),
    Credential(usize),
    Group(usize),
    Policy(usize),
    Client(usize),
    Order(usize),
    Authorization(usize),
    /// The one challenge of an authorization that is ever tried here.
    Challenge(usize),
    /// The certificate of an order.
    Certificate(usize),
}

pub(crate) struct Account {
    pub(crate) tenant: usize,
    pub(crate) email: usize,
    pub(crate) suspended: bool,
    pub(crate) terminated: bool,
    /// Its first credential.
    pub(crate) root: usize,
    pub(crate) groups: BTreeSet<usize>,
}

impl Account {
    pub(crate) fn status(&self) -> &'static str {
        match (self.terminated, self.suspended) {
            (true, _) => "terminated",
            (false, true) => "suspended",
            (false, false) => "active",
        }
    }

    pub(crate) fn is_active(&self) -> bool {
        self.status() == "active"
    }
}

pub(crate) struct Credential {
    pub(crate) account: usize,
    pub(crate) revoked: bool,
    pub(crate) bound: usize,
}

impl Credential {
    pub(crate) fn status(&self) -> &'static str {
        match (self.revoked, self.bound) {
            (true, _) => "revoked",
            (false, 0) => "unused",
            (false, _) => "bound",
        }
    }
}

pub(crate) struct Group {
    pub(crate) tenant: usize,
    pub(crate) name: usize,
    pub(crate) deleted: bool,
    pub(crate) policies: BTreeSet<usize>,
}

pub(crate) struct Policy {
    pub(crate) tenant: usize,
    pub(crate) name: usize,
    pub(crate) deleted: bool,
    pub(crate) rule: Rule,
}

/// An ACME account.
pub(crate) struct Client {
    pub(crate) credential: usize,
    pub(crate) account: usize,
    pub(crate) deactivated: bool,
}

pub(crate) struct Order {
    pub(crate) account: usize,
    pub(crate) credential: usize,
    /// It was not the credential that ordered, since that was revoked already.
    pub(crate) was_revoked: bool,
    pub(crate) client: Option<usize>,
    pub(crate) names: Names,
    /// Of the CSR, once there is one.
    pub(crate) key: Option<usize>,
    pub(crate) state: State,
    pub(crate) expires: i64,
    pub(crate) authorizations: Vec<usize>,
    /// When its certificate ends, once there is one.
    pub(crate) issued_until: Option<i64>,
    pub(crate) revoked: bool,
    /// Revoked since its key is compromised.
    pub(crate) compromised: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Pending,
    Ready,
    Processing,
    Valid,
    Invalid,
    Cancelled,
}

impl Order {
    pub(crate) fn is_open(&self, now: i64) -> bool {
        matches!(self.state, State::Pending | State::Ready) && now < self.expires
    }

    /// As the reseller sees it.
    pub(crate) fn status(&self, now: i64) -> &'static str {
        match self.state {
            State::Pending | State::Ready if now >= self.expires => "expired",
            State::Pending => "pending",
            State::Ready => "ready",
            State::Processing => "processing",
            State::Valid => "valid",
            State::Invalid => "invalid",
            State::Cancelled => "cancelled",
        }
    }

    /// As ACME shows it.
    pub(crate) fn acme_status(&self, now: i64) -> &'static str {
        match self.status(now) {
            "expired" | "cancelled" => "invalid",
            same => same,
        }
    }

    /// How its certificate is listed.
    pub(crate) fn certificate_status(&self, now: i64) -> &'static str {
        match (self.status(now), self.issued_until) {
            ("pending" | "ready" | "processing", _) => "pending",
            ("valid", Some(_)) if self.revoked => "revoked",
            ("valid", Some(end)) if now <= end => "issued",
            ("valid", Some(_)) => "expired",
            _ => "cancelled",
        }
    }
}

pub(crate) struct Authorization {
    pub(crate) account: usize,
    pub(crate) client: Option<usize>,
    pub(crate) order: Option<usize>,
    pub(crate) name: Name,
    pub(crate) state: Permission,
    pub(crate) expires: i64,
    pub(crate) has_codes: bool,
    /// Somebody looks, or has looked.
    pub(crate) tried: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    Pending,
    /// When control was shown, and for which authorization.
    Valid {
        at: i64,
        source: usize,
    },
    Invalid,
    Deactivated,
}

impl Authorization {
    pub(crate) fn status(&self, now: i64) -> &'static str {
        match self.state {
            Permission::Pending | Permission::Valid { .. } if now >= self.expires => "expired",
            Permission::Pending => "pending",
            Permission::Valid { .. } => "valid",
            Permission::Invalid => "invalid",
            Permission::Deactivated => "deactivated",
        }
    }

    pub(crate) fn is_valid(&self) -> bool {
        matches!(self.state, Permission::Valid { .. })
    }
}

impl Model {
    pub(crate) fn note(&mut self, action: &'static str, about: Thing) {
        self.trail.push((action, about));
    }

    pub(crate) fn tenant_of_order(&self, order: usize) -> usize {
        self.accounts[self.orders[order].account].tenant
    }

    pub(crate) fn tenant_of_authorization(&self, authorization: usize) -> usize {
        self.accounts[self.authorizations[authorization].account].tenant
    }

    /// Whether every policy of every group of the account permits these names.
    pub(crate) fn permits(&self, account: usize, names: &[Name]) -> bool {
        let groups = self.accounts[account].groups.iter().map(|group| &self.groups[*group]);
        let mut policies = groups.flat_map(|group| &group.policies).map(|policy| &self.policies[*policy]);
        policies.all(|policy| match policy.rule {
            Rule::NothingIsIssued => false,
            Rule::NotB => !names.contains(&Name::B),
            Rule::OneName => names.len() == 1,
        })
    }

    /// Whether everybody for whom an order stands has not ended; suspension is another matter.
    pub(crate) fn stands(&self, order: usize) -> bool {
        let order = &self.orders[order];
        let credential = &self.credentials[order.credential];
        !self.accounts[order.account].terminated
            && (!credential.revoked || order.was_revoked)
            && order.client.is_none_or(|client| !self.clients[client].deactivated)
    }

    /// Whether each name of an order is backed by a permission that holds now.
    pub(crate) fn is_authorized(&self, order: usize) -> bool {
        let mut all = self.orders[order].authorizations.iter().map(|place| &self.authorizations[*place]);
        all.all(|each| match each.state {
            Permission::Valid { source, .. } => self.now < each.expires && self.authorizations[source].is_valid(),
            Permission::Pending | Permission::Invalid | Permission::Deactivated => false,
        })
    }
}
