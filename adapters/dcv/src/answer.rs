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

    /// The weaker of this and of what an attempt says already.
    pub(crate) fn or_weaker(self, said: Option<&str>) -> Self {
        let weaker = [Self::Unchecked, Self::Insecure].into_iter().find(|weaker| said == Some(weaker.as_str()));
        weaker.map_or(self, |weaker| weaker.min(self))
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
            self.follow(target)?;
        }
        self.exists = message.metadata.response_code != ResponseCode::NXDomain;
        // A resolver that stopped at an alias without saying that its target has nothing leaves the rest to us.
        let says_nothing = message.authorities.iter().any(|record| record.record_type() == RecordType::SOA);
        Ok(self.aliases.len() == before || !self.exists || says_nothing)
    }

    /// Goes on with the name that the owner is an alias of.
    pub(crate) fn follow(&mut self, target: Name) -> Result<(), Failure> {
        if self.aliases.len() == MAX_ALIASES || self.aliases.iter().any(|(from, _)| *from == target) {
            return Err(Failure::Aliases);
        }
        let from = std::mem::replace(&mut self.owner, target.clone());
        self.aliases.push((from, target));
        Ok(())
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

#[cfg(test)]
mod tests {
    use hickory_proto::op::OpCode;
    use hickory_proto::rr::Record;
    use hickory_proto::rr::rdata::{CAA, CNAME, TXT};
    use proptest::prelude::*;

    use super::*;

    /// A message with an alias, a TXT and a CAA record.
    fn message() -> Vec<u8> {
        let name = Name::from_ascii("_acme-challenge.example.test.").unwrap();
        let target = Name::from_ascii("target.test.").unwrap();
        let mut message = Message::response(7, OpCode::Query);
        message.add_answer(Record::from_rdata(name, 60, RData::CNAME(CNAME(target.clone()))));
        let text = RData::TXT(TXT::new(vec!["one".to_owned(), "two".to_owned()]));
        message.add_answer(Record::from_rdata(target.clone(), 60, text));
        message.add_answer(Record::from_rdata(target, 60, RData::CAA(CAA::new_issue(true, None, Vec::new()))));
        message.to_vec().unwrap()
    }

    fn taken(bytes: &[u8], kind: RecordType) -> Option<Answer> {
        let message = Message::from_vec(bytes).ok()?;
        let mut answer = Answer::nothing_yet(Name::from_ascii("_acme-challenge.example.test.").unwrap());
        answer.take(&message, kind, Security::Unchecked).ok()?;
        Some(answer)
    }

    #[test]
    fn records_at_the_end_of_aliases_are_found() {
        for kind in [RecordType::TXT, RecordType::CAA] {
            let answer = taken(&message(), kind).unwrap();
            assert_eq!((answer.data.len(), answer.aliases.len()), (1, 1));
        }
    }

    #[test]
    fn an_attempt_is_as_secure_as_its_weakest_lookup() {
        assert_eq!(Security::Secure.or_weaker(None), Security::Secure);
        assert_eq!(Security::Secure.or_weaker(Some("insecure")), Security::Insecure);
        assert_eq!(Security::Insecure.or_weaker(Some("secure")), Security::Insecure);
        assert_eq!(Security::Insecure.or_weaker(Some("unchecked")), Security::Unchecked);
    }

    proptest! {
        #[test]
        fn no_message_makes_it_panic(bytes: Vec<u8>, at: prop::sample::Index, with: Vec<u8>, over in 0..40_usize) {
            for kind in [RecordType::TXT, RecordType::CAA] {
                let _ = taken(&bytes, kind);
                let mut changed = message();
                let at = at.index(changed.len());
                let end = (at + over).min(changed.len());
                changed.splice(at..end, with.iter().copied());
                let _ = taken(&changed, kind);
            }
        }
    }
}
