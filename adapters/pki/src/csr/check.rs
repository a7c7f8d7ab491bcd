//! Whether a request can be granted: every problem, not the first.

use std::collections::HashSet;

use chancery_domain::{Identifier, KeyType};
use der::asn1::ObjectIdentifier;

use super::{
    CertificateRequest,
    contents::RequestedName,
    signature::{self, SignatureProblem},
};
use crate::{
    key::{KeyProblem, KnownBadKeys, SubscriberKey},
    name_rules::{NameProblem, NameRules, shown},
};

/// Nobody mends more than this at once, and an answer must not outgrow its question by much.
const MAX_PROBLEMS: usize = 200;

/// What a profile and an installation allow in a request.
#[derive(Clone, Copy, Debug)]
pub struct CsrRules<'a> {
    /// The kinds of keys.
    pub key_types: &'a [KeyType],
    /// The names.
    pub names: NameRules,
}

/// RSA, P-256 and P-384, and the names of the public DNS.
impl Default for CsrRules<'static> {
    fn default() -> Self {
        const KEY_TYPES: &[KeyType] =
            &[KeyType::Rsa2048, KeyType::Rsa3072, KeyType::Rsa4096, KeyType::EcP256, KeyType::EcP384];
        Self { key_types: KEY_TYPES, names: NameRules::default() }
    }
}

/// Why a request cannot be granted; the text says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CsrProblem {
    /// The signature does not belong to the key.
    #[error("the signature of the CSR does not verify with its public key; sign it with the key it is for")]
    BadSignature,
    /// The signature algorithm is broken, unknown or does not fit the key.
    #[error("the signature algorithm of the CSR is not supported; sign it with SHA-256, SHA-384 or SHA-512")]
    UnsupportedSignature,
    /// The key.
    #[error(transparent)]
    Key(#[from] KeyProblem),
    /// A name.
    #[error(transparent)]
    Name(#[from] NameProblem),
    /// No subject alternative name at all.
    #[error("the CSR has no subject alternative names; put every name into that extension, the common name too")]
    NoSan,
    /// A common name that is not among the names.
    #[error("the common name {0:?} is not among the subject alternative names; add it there, or leave it out")]
    CommonNameNotInSan(String),
    /// A common name that is no text.
    #[error("the common name is not text; leave it out")]
    CommonNameNotText,
    /// An e-mail address among the names.
    #[error("{0:?} is an e-mail address; ask for host names and IP addresses only")]
    Email(String),
    /// Another kind of name among the names.
    #[error("subject alternative names of kind {0} are not supported; ask for host names and IP addresses only")]
    UnsupportedSan(&'static str),
    /// It asks for the certificate of a CA.
    #[error(
        "the CSR asks for a CA certificate (basic constraints CA:TRUE, or the key usage keyCertSign or cRLSign); leave that out"
    )]
    CaRequested,
    /// It asks for a certificate that holds only with a stapled OCSP response.
    #[error(
        "the CSR asks for must-staple (the TLS Feature extension), which is not supported; make the CSR without it"
    )]
    MustStaple,
    /// A purpose that no certificate of ours has.
    #[error("the extended key usage {0} is not supported; make the CSR with no others than serverAuth and clientAuth")]
    UnsupportedUsage(ObjectIdentifier),
    /// An extension that is not for a request to choose.
    #[error("the CSR asks for the extension {0}, which is not for a CSR to choose; make the CSR without it")]
    UnsupportedExtension(ObjectIdentifier),
    /// An extension that must be understood and is not.
    #[error("the critical extension {0} is not supported; leave it out, or make it not critical")]
    UnknownCritical(ObjectIdentifier),
}

impl CsrProblem {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadSignature => "bad_signature",
            Self::UnsupportedSignature => "unsupported_signature",
            Self::Key(problem) => problem.code(),
            Self::Name(problem) => problem.code(),
            Self::NoSan => "no_san",
            Self::CommonNameNotInSan(_) | Self::CommonNameNotText => "cn_not_in_san",
            Self::Email(_) => "email_san",
            Self::UnsupportedSan(_) => "unsupported_san",
            Self::CaRequested => "ca_requested",
            Self::MustStaple => "must_staple",
            Self::UnsupportedUsage(_) => "unsupported_usage",
            Self::UnsupportedExtension(_) => "unsupported_extension",
            Self::UnknownCritical(_) => "unknown_critical",
        }
    }
}

impl CertificateRequest {
    /// Every problem of the request, up to 200; empty if it can be granted.
    pub fn check(&self, rules: &CsrRules<'_>, known_bad: &dyn KnownBadKeys) -> Vec<CsrProblem> {
        let mut problems = self.key_problems(rules, known_bad);
        problems.extend(self.name_problems(rules));
        problems.extend(self.extension_problems());
        problems.truncate(MAX_PROBLEMS);
        problems
    }

    /// What may have come to stand against a request that [`check`](Self::check) found good: rules change, and keys
    /// become known as bad. Its own faults are not looked for again.
    pub fn check_again(&self, rules: &CsrRules<'_>, known_bad: &dyn KnownBadKeys) -> Vec<CsrProblem> {
        let mut problems = match &self.key {
            Ok(key) => {
                let bad = known_bad.verdict(key).map(|bad| CsrProblem::Key(bad.into()));
                kind_refused(key, rules).into_iter().chain(bad).collect()
            }
            Err(problem) => vec![CsrProblem::Key(problem.clone())],
        };
        problems.extend(self.name_problems(rules));
        problems.truncate(MAX_PROBLEMS);
        problems
    }

    fn key_problems(&self, rules: &CsrRules<'_>, known_bad: &dyn KnownBadKeys) -> Vec<CsrProblem> {
        let key = match &self.key {
            Ok(key) => key,
            // Nothing can be said about a signature without a key.
            Err(problem) => return vec![CsrProblem::Key(problem.clone())],
        };
        let weaknesses = key.weaknesses();
        let wrong_size =
            weaknesses.iter().any(|problem| matches!(problem, KeyProblem::Weak(_) | KeyProblem::OddSize(_)));
        let mut problems: Vec<_> = weaknesses.iter().cloned().map(CsrProblem::Key).collect();
        // Keys of a refused size are not worth the work, and the crypto library does not do it.
        if !wrong_size {
            let (algorithm, info) = (&self.contents.signature_algorithm, &self.contents.info);
            match signature::verify(key, algorithm, info, &self.contents.signature) {
                Ok(()) => {}
                Err(SignatureProblem::Wrong) => problems.push(CsrProblem::BadSignature),
                Err(SignatureProblem::Unsupported) => problems.push(CsrProblem::UnsupportedSignature),
            }
            problems.extend(kind_refused(key, rules));
        }
        problems.extend(known_bad.verdict(key).map(|bad| CsrProblem::Key(bad.into())));
        problems
    }

    fn name_problems(&self, rules: &CsrRules<'_>) -> Vec<CsrProblem> {
        let (mut problems, mut names) = (Vec::new(), Vec::new());
        for name in self.names() {
            match name {
                Ok(Ok(name)) => names.push(name),
                Ok(Err(problem)) => problems.push(CsrProblem::Name(problem)),
                Err(RequestedName::Email(address)) => problems.push(CsrProblem::Email(shown(address))),
                Err(RequestedName::Other(kind)) => problems.push(CsrProblem::UnsupportedSan(kind)),
                Err(RequestedName::Dns(_) | RequestedName::Ip(_)) => {}
            }
        }
        problems.extend(rules.names.problems(&names).into_iter().map(CsrProblem::Name));
        if self.contents.names.as_ref().is_none_or(Vec::is_empty) {
            problems.push(CsrProblem::NoSan);
        } else {
            problems.extend(self.common_name_problems(&names));
        }
        problems
    }

    /// What it asks for and would not get: better refused than left out silently (RFC 8555 section 7.4).
    fn extension_problems(&self) -> impl Iterator<Item = CsrProblem> {
        let contents = &self.contents;
        let ca = contents.asks_for_ca.then_some(CsrProblem::CaRequested);
        let staple = contents.asks_for_tls_features.then_some(CsrProblem::MustStaple);
        let usages = contents.foreign_usages.iter().copied().map(CsrProblem::UnsupportedUsage);
        let refused = contents.refused_extensions.iter().copied().map(CsrProblem::UnsupportedExtension);
        let unknown = contents.unknown_critical.iter().copied().map(CsrProblem::UnknownCritical);
        ca.into_iter().chain(staple).chain(usages).chain(refused).chain(unknown)
    }

    fn common_name_problems(&self, names: &[Identifier]) -> impl Iterator<Item = CsrProblem> {
        let names: HashSet<_> = names.iter().collect();
        self.contents.common_names.iter().filter_map(move |name| match name {
            None => Some(CsrProblem::CommonNameNotText),
            Some(text) if Identifier::parse(text).is_ok_and(|name| names.contains(&name)) => None,
            Some(text) => Some(CsrProblem::CommonNameNotInSan(shown(text))),
        })
    }
}

fn kind_refused(key: &SubscriberKey, rules: &CsrRules<'_>) -> Option<CsrProblem> {
    let key_type = key.key_type();
    let refused = || KeyProblem::NotAllowed { key_type, allowed: rules.key_types.to_vec() }.into();
    (!rules.key_types.contains(&key_type)).then(refused)
}
