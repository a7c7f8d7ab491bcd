//! Who is asking.

use chancery_domain::{ResellerCode, ResellerId, Scope, ScopeSet};

use crate::error::ServiceError;

/// An authenticated caller, acting for one reseller.
#[derive(Clone, Debug)]
pub struct Caller {
    pub reseller: ResellerId,
    pub code: ResellerCode,
    pub actor: Actor,
    pub scopes: ScopeSet,
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
    Anonymous,
    /// The service itself, at work on a job.
    Service,
}

impl Actor {
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Client(_) => "client",
            Self::ApiKey(_) => "api_key",
            Self::External(_) => "external",
            Self::Operator(_) => "operator",
            Self::Anonymous => "anonymous",
            Self::Service => "service",
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Client(name) | Self::ApiKey(name) | Self::External(name) | Self::Operator(name) => name,
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
    /// Every operation needs `reseller`, and most need one more.
    pub fn require(&self, scope: Scope) -> Result<(), ServiceError> {
        for needed in [Scope::Reseller, scope] {
            if !self.scopes.contains(needed) {
                return Err(ServiceError::MissingScope(needed));
            }
        }
        Ok(())
    }
}
