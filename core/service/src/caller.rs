//! Who is asking.

use chancery_domain::{AcmeAccountId, Reseller, ResellerCode, ResellerId, Scope, ScopeSet};

use crate::error::ServiceError;

/// An authenticated caller, acting for one reseller.
#[derive(Clone, Debug)]
pub struct Caller {
    pub reseller: ResellerId,
    pub code: ResellerCode,
    pub actor: Actor,
    pub scopes: ScopeSet,
    /// The ACME account that speaks, and that sees nothing but its own.
    pub acme_account: Option<AcmeAccountId>,
    /// The thumbprint of the key that it has signed with.
    pub acme_key: Option<String>,
    pub origin: Origin,
}

/// How the caller showed who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    Client(String),
    ApiKey(String),
    /// A token of an external OpenID provider: its subject.
    External(String),
    /// The operator, at the command line.
    Operator(String),
    /// An ACME account: its id. Or the key of a certificate, for its revocation: `key` and the thumbprint.
    Acme(String),
    Anonymous,
    /// The service itself, at work on a job.
    Service,
}

/// The kind of an actor that is an ACME account, or the key of a certificate.
pub(crate) const ACME: &str = "acme";

impl Actor {
    /// The actor of this kind and name; none if there is no such kind.
    pub(crate) fn of(kind: &str, name: String) -> Option<Self> {
        let kinds: [fn(String) -> Self; 5] = [Self::Client, Self::ApiKey, Self::External, Self::Operator, Self::Acme];
        let named = kinds.into_iter().map(|make| make(name.clone()));
        named.chain([Self::Anonymous, Self::Service]).find(|actor| actor.kind() == kind)
    }

    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Client(_) => "client",
            Self::ApiKey(_) => "api_key",
            Self::External(_) => "external",
            Self::Operator(_) => "operator",
            Self::Acme(_) => ACME,
            Self::Anonymous => "anonymous",
            Self::Service => "service",
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Client(name)
            | Self::ApiKey(name)
            | Self::External(name)
            | Self::Operator(name)
            | Self::Acme(name) => name,
            Self::Anonymous | Self::Service => "",
        }
    }
}

/// Where a request came from, and its name in the logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    pub address: String,
    pub request_id: String,
}

impl Caller {
    /// Somebody of a reseller who is no ACME account.
    pub(crate) fn of_reseller(reseller: &Reseller, actor: Actor, scopes: ScopeSet, origin: Origin) -> Self {
        let (id, code) = (reseller.id, reseller.code.clone());
        Self { reseller: id, code, actor, scopes, acme_account: None, acme_key: None, origin }
    }

    /// Every operation needs `reseller`, and most need one more.
    pub fn require(&self, scope: Scope) -> Result<(), ServiceError> {
        for needed in [Scope::Reseller, scope] {
            if !self.scopes.contains(needed) {
                return Err(ServiceError::MissingScope(needed));
            }
        }
        Ok(())
    }

    /// Who may change a thing may look at it.
    pub(crate) fn require_either(&self, read: Scope, write: Scope) -> Result<(), ServiceError> {
        // Told is the one that looking takes.
        self.require(read).or_else(|refused| self.require(write).map_err(|_| refused))
    }

    /// Whether something that was ordered by this ACME account, or by none, is the caller's to see: a reseller sees all
    /// that is its customers', an ACME account what is its own.
    pub(crate) fn sees(&self, acme_account: Option<AcmeAccountId>) -> bool {
        self.acme_account.is_none() || self.acme_account == acme_account
    }
}
