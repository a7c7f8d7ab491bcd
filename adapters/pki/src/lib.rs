//! Keys, names and certificates: everything X.509 that needs no network, no store and no clock.
//!
//! Times are parameters (Unix seconds), serial numbers are drawn beforehand. What is made here is
//! signed and then checked against the signer's public key before anyone sees it.
//!
//! | what | begins at |
//! |---|---|
//! | the CA's own certificates | [`root`], [`issuing`], [`responder_certificate`] |
//! | further chains above a CA | [`IssuerChain::check`] |
//! | certificate requests, and everything wrong with one | [`CertificateRequest`] |
//! | keys that must not be certified | [`SubscriberKey::weaknesses`], [`KeyBlocklist`] |
//! | subscribers' certificates: planned, drafted, linted, signed | [`Period::plan`], [`Draft::subscriber`], [`Draft::lint`], [`Issuer::sign`] |
//! | shown to public logs first | [`Draft::lint_precertificate`], [`Issuer::sign_precertificate`], [`Draft::with_scts`] |
//! | revocation lists | [`CrlShards`], [`Crl::sign`] |
//! | OCSP | [`OcspRequest`], [`Responder`] |
//! | keys in an HSM | [`Token`] |
//! | what servers show for tls-alpn-01 | [`check_acme_identifier`] |

mod acme_identifier;
mod certificate;
mod chain;
mod crl;
mod csr;
mod draft;
mod error;
mod extensions;
mod hierarchy;
mod issuer;
mod kept;
mod key;
mod keys;
mod lint;
mod name_rules;
mod names;
mod ocsp;
mod period;
mod pkcs7;
mod profile;
mod public_key;
mod serial;
mod server;
mod subscriber;
mod tbs;
mod tlv;
mod token;
mod transparency;
mod urls;
mod validity;

pub use acme_identifier::{AcmeIdentifierProblem, check_acme_identifier};
pub use certificate::{Certificate, CertificateInfo, chain_to_pem, inspect};
pub use chain::{ChainProblem, IssuerChain};
pub use chancery_suffix::registrable_domain;
pub use crl::{Crl, CrlContents, CrlScope, RevokedCertificate};
pub use csr::{CertificateRequest, CsrError, CsrProblem, CsrRules, MAX_CSR_BYTES, make_request, request_to_pem};
pub use draft::{Draft, Linted, LintedPrecertificate, Precertificate, Signed};
pub use error::{CrlError, IssuerError, KeyError, NameError, OcspError, PkiError, ValidityError};
pub use extensions::CaPolicy;
pub use hierarchy::{IssuingCa, issuing, root};
pub use issuer::Issuer;
pub use kept::{Kept, KeptCrl};
pub use key::{BadKey, BlocklistError, KeyBlocklist, KeyProblem, KnownBadKeys, NoKnownBadKeys, SubscriberKey};
pub use keys::{PrivateKey, Signer};
pub use lint::Finding;
pub use name_rules::{NameProblem, NameRules, is_owned_with, is_public_suffix, read_dns_name};
pub use names::CaName;
pub use ocsp::{
    CertId, CertificateStatus, HashAlgorithm, MAX_OCSP_REQUEST_BYTES, OcspFailure, OcspRequest, OcspTimes, Responder,
    ResponderCertificate, responder_certificate,
};
pub use period::{Period, PeriodError, PeriodWish, Shortened, ceiling_days, reuse_ceiling_days};
pub use pkcs7::chain_to_pkcs7;
pub use profile::{PolicyId, PolicyIdError, Purpose, SubscriberProfile};
pub use public_key::{KeyAlgorithm, verify};
pub use serial::Serial;
pub use server::{ServerCertificate, server_certificate};
pub use subscriber::Terms;
pub use token::{KeyReference, ReadPin, Token, TokenChoice, TokenKey};
pub use transparency::{
    CurrentLogs, Lacks, Log, LogEntry, LogId, LogKey, LogList, LogListError, Sct, SctNeeds, is_precertificate_of,
};
pub use urls::{CrlShards, IssuerUrls};
pub use validity::Validity;
