//! Looks names up, with our own resolvers and no cache.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use chancery_domain::Entropy;
use hickory_proto::rr::{Name, RData, RecordType};

use crate::answer::{Answer, Security};
use crate::config::{ConfigError, Dnssec, ValidatorConfig};
use crate::dnssec::Validating;
use crate::exchange::Exchange;
use crate::lookup_error::{Failure, LookupError};
use crate::renamed::renamed;

pub(crate) struct Resolver {
    exchange: Exchange,
    validating: Option<Validating>,
    loopback_suffixes: Vec<String>,
}

/// Where a name leads.
pub(crate) struct Addresses {
    /// IPv6 first.
    pub found: Vec<IpAddr>,
    pub aliases: Vec<String>,
    pub exists: bool,
    pub security: Security,
}

impl Resolver {
    pub(crate) fn new(config: &ValidatorConfig, entropy: Arc<dyn Entropy>) -> Result<Self, ConfigError> {
        let exchange = Exchange::new(config, entropy);
        let validating = match &config.dnssec {
            Dnssec::Unchecked => None,
            Dnssec::Validated { anchors } => Some(Validating::new(exchange.clone(), anchors.as_deref())?),
        };
        let bare = |suffix: &String| suffix.trim_matches('.').to_ascii_lowercase();
        Ok(Self {
            exchange,
            validating,
            loopback_suffixes: config.builtin_loopback_suffixes.iter().map(bare).collect(),
        })
    }

    /// The records of a type that a name has, through aliases too. That there are none is an answer.
    pub(crate) async fn lookup(&self, name: &str, kind: RecordType) -> Result<Answer, LookupError> {
        let error = |failure| LookupError { name: name.to_owned(), kind, failure };
        let mut parsed = Name::from_ascii(name).map_err(|reason| error(Failure::Name(reason.to_string())))?;
        parsed.set_fqdn(true);
        let mut answer = Answer::nothing_yet(parsed);
        loop {
            if let Some(data) = self.builtin(&answer.owner, kind) {
                (answer.data, answer.security) = (data, Security::Unchecked);
                return Ok(answer);
            }
            let owner = answer.owner.clone();
            let asked = match &self.validating {
                Some(validating) if self.exchange.has_servers() => match validating.ask(&owner, kind).await {
                    Err(Failure::Bogus) => match renamed(validating, &owner).await {
                        Some(target) => {
                            answer.follow(target).map_err(error)?;
                            continue;
                        }
                        None => Err(Failure::Bogus),
                    },
                    asked => asked,
                },
                Some(_) | None => {
                    self.exchange.ask(&owner, kind, false).await.map(|message| (message, Security::Unchecked))
                }
            };
            let (message, security) = asked.map_err(error)?;
            if answer.take(&message, kind, security).map_err(error)? {
                return Ok(answer);
            }
        }
    }

    /// All addresses of a name. One of the two kinds may fail, if it is not for a bad signature, and the other does.
    pub(crate) async fn addresses(&self, name: &str) -> Result<Addresses, LookupError> {
        let (v6, v4) = futures_util::join!(self.lookup(name, RecordType::AAAA), self.lookup(name, RecordType::A));
        let mut addresses =
            Addresses { found: Vec::new(), aliases: Vec::new(), exists: false, security: Security::Secure };
        let mut failed = None;
        for answer in [v6, v4] {
            match answer {
                Ok(answer) => addresses.add(&answer),
                Err(error) if error.failure == Failure::Bogus => return Err(error),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if addresses.found.is_empty() => Err(error),
            Some(_) | None => Ok(addresses),
        }
    }

    /// What is known without asking: in `dev` some names lead here.
    fn builtin(&self, name: &Name, kind: RecordType) -> Option<Vec<RData>> {
        let spelled = name.to_lowercase().to_ascii();
        let spelled = spelled.trim_end_matches('.');
        let under = |suffix: &String| {
            spelled.strip_suffix(suffix.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if !self.loopback_suffixes.iter().any(under) {
            return None;
        }
        match kind {
            RecordType::A => Some(vec![RData::A(Ipv4Addr::LOCALHOST.into())]),
            RecordType::AAAA => Some(vec![RData::AAAA(Ipv6Addr::LOCALHOST.into())]),
            _ => (!self.exchange.has_servers()).then(Vec::new),
        }
    }
}

impl Addresses {
    fn add(&mut self, answer: &Answer) {
        for data in &answer.data {
            match data {
                RData::A(address) => self.found.push(address.0.into()),
                RData::AAAA(address) => self.found.push(address.0.into()),
                _ => {}
            }
        }
        for alias in answer.aliases_shown() {
            if !self.aliases.contains(&alias) {
                self.aliases.push(alias);
            }
        }
        self.exists |= answer.exists;
        self.security = self.security.min(answer.security);
    }
}
