//! Holding a draft against the rules before it is signed, byte by byte, with a parser that had no part in writing it.
//!
//! Nothing here trusts the code that made the draft: what the certificate must say is told from what was agreed
//! ([`Terms`]), RFC 5280 and the Baseline Requirements.

mod encoding;
mod extensions;
mod fields;
mod names;
#[cfg(test)]
mod tests;
mod transparency;

use std::fmt;

use x509_parser::{certificate::TbsCertificate, prelude::FromDer};

use crate::{draft::Stage, subscriber::Terms};

/// One reason not to sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that was broken; a stable name.
    pub lint: &'static str,
    /// What was found, for the operator.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.lint, self.message)
    }
}

/// Findings as they are collected.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, lint: &'static str, message: impl fmt::Display) {
        self.0.push(Finding { lint, message: message.to_string() });
    }

    /// Adds a finding unless the rule holds.
    fn require(&mut self, holds: bool, lint: &'static str, message: impl fmt::Display) {
        if !holds {
            self.add(lint, message);
        }
    }
}

/// Every reason not to sign these bytes; empty if they may be signed.
pub(crate) fn findings(tbs: &[u8], stage: Stage, terms: &Terms<'_>) -> Vec<Finding> {
    let mut findings = Findings::default();
    match TbsCertificate::from_der(tbs) {
        Ok(([], parsed)) => {
            encoding::lint(tbs, &parsed, &mut findings);
            fields::lint(&parsed, terms, &mut findings);
            extensions::lint(&parsed, stage, terms, &mut findings);
            transparency::lint(tbs, &parsed, terms, &mut findings);
            names::lint(&parsed, terms, &mut findings);
        }
        Ok((rest, _)) => findings.add("malformed", format!("{} bytes follow the certificate", rest.len())),
        Err(error) => findings.add("malformed", error),
    }
    findings.0
}
