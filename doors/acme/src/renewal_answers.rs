//! Answers of renewalInfo that somebody has set, for test environments: so a suite need not wait for a window to come.

use std::collections::HashMap;
use std::sync::Arc;

use chancery_jose::base64url;
use parking_lot::Mutex;

/// None, by default: certificates are to be renewed when the use cases say. Its copies are the same.
#[derive(Clone, Default)]
pub struct RenewalAnswers(Arc<Mutex<HashMap<Vec<u8>, String>>>);

impl RenewalAnswers {
    /// From now on this text is the answer about the certificate with this serial number, word for word.
    pub fn set(&self, serial: &[u8], text: String) {
        self.0.lock().insert(serial.to_vec(), text);
    }

    /// What was set for a certificate that is named as RFC 9773 section 4.1 names it.
    pub(crate) fn of(&self, name: &str) -> Option<String> {
        let (_, serial) = name.split_once('.')?;
        let serial = base64url::decode(serial)?;
        self.0.lock().get(&serial).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_by_the_name_of_its_certificate() {
        let answers = RenewalAnswers::default();
        answers.clone().set(&[0x40, 1], "{}".to_owned());
        assert_eq!(answers.of("AAAA.QAE").as_deref(), Some("{}"));
        for other in ["", "AAAA", "AAAA.", "AAAA.QAI", "AAAA.QAE=", "QAE"] {
            assert_eq!(answers.of(other), None, "{other}");
        }
    }
}
