//! What the DNS says of a name, once its aliases are followed.

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RData, RecordType};

use crate::lookup_error::Failure;

/// Longer chains are mistakes, or malice.
const MAX_ALIASES: usize = 10;

/// How far DNSSEC vouches for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Security {
    /// Nobody looked.
    Unchecked,
    /// The zone is provably not signed.
    Insecure,
    Secure,
}

impl Security {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Unchecked => "unchecked",
            Self::Insecure => "insecure",
            Self::Secure => "secure",
        }
    }
}

/// The records of one type that a name has, itself or through aliases.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Where the records are: the name that was asked for, or the last one that its aliases lead to.
    pub owner: Name,
    pub data: Vec<RData>,
    /// Each alias with what it leads to, in order.
    pub aliases: Vec<(Name, Name)>,
    /// Whether the owner has any records at all.
    pub exists: bool,
    /// The weakest of all that were needed.
    pub security: Security,
}

impl Answer {
    /// What is known before anything was asked.
    pub(crate) fn nothing_yet(name: Name) -> Self {
        Self { owner: name, data: Vec::new(), aliases: Vec::new(), exists: true, security: Security::Secure }
    }

    /// Takes what a message says of the owner; true once there is nothing more to ask.
    pub(crate) fn take(&mut self, message: &Message, kind: RecordType, security: Security) -> Result<bool, Failure> {
        self.security = self.security.min(security);
        let before = self.aliases.len();
        loop {
            let here = || {
                let ours =
                    |record: &&hickory_proto::rr::Record| record.dns_class == DNSClass::IN && record.name == self.owner;
                message.answers.iter().filter(ours).map(|record| &record.data)
            };
            self.data = here().filter(|data| data.record_type() == kind).cloned().collect();
            if !self.data.is_empty() {
                return Ok(true);
            }
            let alias =
                here().find_map(|data| if let RData::CNAME(alias) = data { Some(alias.0.clone()) } else { None });
            let Some(target) = alias else { break };
            if self.aliases.len() == MAX_ALIASES || self.aliases.iter().any(|(from, _)| *from == target) {
                return Err(Failure::Aliases);
            }
            let from = std::mem::replace(&mut self.owner, target.clone());
            self.aliases.push((from, target));
        }
        self.exists = message.metadata.response_code != ResponseCode::NXDomain;
        // A resolver that stopped at an alias without saying that its target has nothing leaves the rest to us.
        let says_nothing = message.authorities.iter().any(|record| record.record_type() == RecordType::SOA);
        Ok(self.aliases.len() == before || !self.exists || says_nothing)
    }

    /// The aliases as they would stand in a zone file.
    pub(crate) fn aliases_shown(&self) -> impl Iterator<Item = String> {
        self.aliases.iter().map(|(from, to)| format!("{} CNAME {}", spelled(from), spelled(to)))
    }
}

/// A name as we write it: lower case (answers come back in the random case of the question), with its dot at the end.
pub(crate) fn spelled(name: &Name) -> String {
    name.to_lowercase().to_ascii()
}
