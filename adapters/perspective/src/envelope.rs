//! What surrounds questions and answers: the question that an answer is for, and the settings that it was obtained with.

use std::sync::Arc;

use chancery_dcv::Strictness;
use chancery_domain::Entropy;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use crate::remote::Unreachable;

/// Identifies one question. It has 128 random bits, so an answer that repeats it is for this question and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QuestionId([u8; 16]);

impl QuestionId {
    pub fn random(entropy: &Arc<dyn Entropy>) -> Self {
        Self(entropy.bytes())
    }
}

impl From<QuestionId> for String {
    fn from(id: QuestionId) -> Self {
        HEXLOWER.encode(&id.0)
    }
}

impl TryFrom<String> for QuestionId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = HEXLOWER.decode(text.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or("the id of a question must have 32 lower-case hexadecimal digits")
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question<Q> {
    pub id: QuestionId,
    pub question: Q,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Answer<A> {
    /// That of the question.
    pub id: QuestionId,
    /// How the perspective was started.
    pub settings: Settings,
    pub answer: A,
}

impl<A> Answer<A> {
    /// The answer, if it is for this question and was obtained at least as strictly as required.
    pub(crate) fn open(self, id: QuestionId, required: &Strictness) -> Result<A, Unreachable> {
        if self.id != id {
            return Err(Unreachable("it answered another question".to_owned()));
        }
        self.settings.require(required)?;
        Ok(self.answer)
    }
}

/// The settings of a perspective that decide what its answers are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    dnssec: bool,
    allow_special_addresses: bool,
    http01_port: u16,
    tls_alpn01_port: u16,
}

impl From<Strictness> for Settings {
    fn from(strictness: Strictness) -> Self {
        let Strictness { dnssec, special_addresses, http01_port, tls_alpn01_port } = strictness;
        Self { dnssec, allow_special_addresses: special_addresses, http01_port, tls_alpn01_port }
    }
}

impl Settings {
    /// Refuses a perspective that is laxer than the service: its agreement would be worth less than what the service saw
    /// itself.
    pub(crate) fn require(&self, required: &Strictness) -> Result<(), Unreachable> {
        let &Self { dnssec, allow_special_addresses, http01_port, tls_alpn01_port } = self;
        let own = Strictness { dnssec, special_addresses: allow_special_addresses, http01_port, tls_alpn01_port };
        let laxer = own.laxer_than(required);
        if laxer.is_empty() {
            return Ok(());
        }
        let why = laxer.join(", ");
        Err(Unreachable(format!(
            "it is less strict than this service: {why}; start it with the settings of this service"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: Strictness = Strictness::PUBLIC;

    fn opened(id: [u8; 16], strictness: Strictness) -> Result<u8, Unreachable> {
        Answer { id: QuestionId(id), settings: strictness.into(), answer: 7 }.open(QuestionId([1; 16]), &STRICT)
    }

    #[test]
    fn an_answer_counts_for_its_own_question_and_if_it_is_strict_enough() {
        assert_eq!(opened([1; 16], STRICT), Ok(7));
        assert_eq!(opened([2; 16], STRICT), Err(Unreachable("it answered another question".to_owned())));
        for (lax, said) in [
            (Strictness { dnssec: false, ..STRICT }, "DNSSEC is not checked"),
            (Strictness { special_addresses: true, ..STRICT }, "special addresses are allowed"),
            (Strictness { http01_port: 8080, ..STRICT }, "http-01 uses port 8080"),
            (Strictness { tls_alpn01_port: 8443, ..STRICT }, "tls-alpn-01 uses port 8443"),
        ] {
            let refused = opened([1; 16], lax).unwrap_err().0;
            assert!(refused.contains(said) && refused.contains("less strict than this service"), "{refused}");
        }
    }

    #[test]
    fn the_id_of_a_question_is_long_enough_and_written_in_one_way() {
        let id = QuestionId([0xab; 16]);
        let text = serde_json::to_string(&id).unwrap();
        assert_eq!((text.len(), serde_json::from_str::<QuestionId>(&text).unwrap()), (34, id));
        for wrong in [text.to_uppercase(), text.replacen("ab", "", 1), text.replacen("ab", "xy", 1), "7".to_owned()] {
            assert!(serde_json::from_str::<QuestionId>(&wrong).is_err(), "{wrong}");
        }
    }
}
