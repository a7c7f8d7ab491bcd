//! A further way up from a CA: its certificate, or that of a CA above it, signed by somebody else (cross-signed).

use aws_lc_rs::digest;
use der::{
    asn1::ObjectIdentifier,
    oid::db::rfc5280::{
        ID_CE_AUTHORITY_KEY_IDENTIFIER, ID_CE_BASIC_CONSTRAINTS, ID_CE_CERTIFICATE_POLICIES,
        ID_CE_CRL_DISTRIBUTION_POINTS, ID_CE_EXT_KEY_USAGE, ID_CE_KEY_USAGE, ID_CE_NAME_CONSTRAINTS,
        ID_CE_SUBJECT_ALT_NAME, ID_CE_SUBJECT_KEY_IDENTIFIER, ID_PE_AUTHORITY_INFO_ACCESS,
    },
};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::{
    certificate::{Certificate, chain_to_pem, hex},
    error::PkiError,
    profile::Purpose,
    public_key::verify_any,
};

/// More certificates than any chain in use has.
const LONGEST: usize = 8;

/// Extensions that may be critical: they are checked here, or forbid nothing of what a CA of ours issues.
const UNDERSTOOD: &[ObjectIdentifier] = &[
    ID_CE_BASIC_CONSTRAINTS,
    ID_CE_KEY_USAGE,
    ID_CE_EXT_KEY_USAGE,
    ID_CE_CERTIFICATE_POLICIES,
    ID_CE_SUBJECT_KEY_IDENTIFIER,
    ID_CE_AUTHORITY_KEY_IDENTIFIER,
    ID_CE_SUBJECT_ALT_NAME,
    ID_CE_CRL_DISTRIBUTION_POINTS,
    ID_PE_AUTHORITY_INFO_ACCESS,
];

/// A chain from a CA up to a root, each certificate signed by the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerChain {
    /// The last one is the root's.
    certificates: Vec<Certificate>,
}

/// Why a chain is not one for a CA, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ChainProblem {
    #[error("a chain has at most {LONGEST} certificates, and this one has {0}; give one chain a time")]
    TooLong(usize),
    #[error(
        "the first certificate, {found}, is not one for {ca} and its key; begin with the certificate by which \
         another CA vouches for it, then the one of that CA, up to its root"
    )]
    OtherCa { found: String, ca: String },
    #[error(
        "{subject} names its key otherwise than our certificate does (subject key identifier); ask for one that has {expected}"
    )]
    KeyId { subject: String, expected: String },
    #[error("{0} is not the certificate of a CA (basic constraints)")]
    NotACa(String),
    #[error(
        "the basic constraints of {0} are not critical, as those of a CA must be (RFC 5280 section 4.2.1.9); ask for a \
         certificate where they are"
    )]
    NotCritical(String),
    #[error(
        "{0} has no subject key identifier, as every CA must have (RFC 5280 section 4.2.1.2); ask for a certificate that has one"
    )]
    NoKeyId(String),
    #[error("{0} may not sign certificates (key usage keyCertSign)")]
    MayNotSign(String),
    #[error("{0} may not sign revocation lists (key usage cRLSign), as this CA does; ask for one that may")]
    MayNotSignLists(String),
    #[error("{0} allows fewer CAs below it than this chain has (path length)")]
    PathLength(String),
    #[error("{subject} does not cover {purpose:?}, for which this CA issues (extended key usage)")]
    Purpose { subject: String, purpose: Purpose },
    #[error("{0} is in the chain twice; give each certificate once")]
    Twice(String),
    #[error("{0} has name constraints, which are not supported; ask for one without")]
    NameConstraints(String),
    #[error("{subject} has the critical extension {oid}, which is not known here; ask for one without")]
    Critical { subject: String, oid: ObjectIdentifier },
    #[error("{0} is not valid yet; add the chain when it is")]
    NotYet(String),
    #[error("{0} has expired; ask for a new one")]
    Expired(String),
    #[error(
        "{subject} was not signed by {next}, which follows it; put each certificate's issuer right after it, and nothing else"
    )]
    NotSigned { subject: String, next: String },
    #[error(
        "{subject} names the key of its issuer (authority key identifier) otherwise than {next}, which follows it, names its \
         own (subject key identifier), and so verifiers do not find its issuer; ask for certificates that agree"
    )]
    IssuerKeyId { subject: String, next: String },
    #[error("{0} is signed in a way that is not supported; RSA (PKCS #1), ECDSA and Ed25519 with SHA-2 are")]
    Signature(String),
    #[error(
        "the chain ends at {last}, whose issuer, {issuer}, is not in it; add the certificates up to the root, \
         which is needed to check the chain and is not sent to clients"
    )]
    NoRoot { last: String, issuer: String },
    #[error("this is the chain that is offered anyway")]
    Default,
    #[error(transparent)]
    Unreadable(#[from] PkiError),
}

impl IssuerChain {
    /// Checks a chain for a CA whose certificate is `ca`: everything that a relying party would check on its way up,
    /// and that it is another way than the CA's own certificate. Where it lacks the root, one of `known` will do.
    pub fn check(
        mut certificates: Vec<Certificate>,
        ca: &Certificate,
        known: &[Certificate],
        now: i64,
    ) -> Result<Self, ChainProblem> {
        if certificates.len() > LONGEST {
            return Err(ChainProblem::TooLong(certificates.len()));
        }
        let (Some(first), Some(last)) = (certificates.first(), certificates.last()) else {
            return Err(PkiError::Pem("there is none").into());
        };
        same_ca(first, ca)?;
        if !last.is_self_issued() {
            let parent = known.iter().find(|root| matches!(signed_by(last, root), Ok(true)));
            let no_root = || ChainProblem::NoRoot { last: subject(last), issuer: last.issuer_text() };
            let parent = parent.ok_or_else(no_root)?.clone();
            certificates.push(parent);
        }
        let chain = Self { certificates };
        chain.check_each(ca, now)?;
        chain.check_links()?;
        match chain.served() {
            [] => Err(ChainProblem::OtherCa { found: subject(ca), ca: "a CA below a root".to_owned() }),
            [only] if only == ca => Err(ChainProblem::Default),
            _ => Ok(chain),
        }
    }

    /// One that was checked when it was stored.
    pub fn from_pem(text: &str) -> Result<Self, PkiError> {
        Certificate::chain_from_pem(text).map(|certificates| Self { certificates })
    }

    pub fn to_pem(&self) -> String {
        chain_to_pem(&self.certificates)
    }

    /// What clients are sent: all but the root, which they must have from elsewhere (RFC 8555 section 7.4.2).
    pub fn served(&self) -> &[Certificate] {
        self.certificates.split_last().map_or(&[], |(_, below)| below)
    }

    /// The root it leads to.
    pub fn root(&self) -> Option<&Certificate> {
        self.certificates.last()
    }

    /// What it is called.
    pub fn root_name(&self) -> String {
        self.root().map(Certificate::subject_text).unwrap_or_default()
    }

    /// Tells what clients are sent from any other such chain, in lower-case hexadecimal.
    pub fn fingerprint(&self) -> String {
        let mut context = digest::Context::new(&digest::SHA256);
        self.served().iter().for_each(|certificate| context.update(certificate.as_der()));
        hex(context.finish().as_ref())
    }

    /// The last second in which all of it is valid, in Unix seconds.
    pub fn not_after(&self) -> i64 {
        self.certificates.iter().map(Certificate::not_after).min().unwrap_or(i64::MIN)
    }

    /// That each is of a CA which is valid now and may stand where it stands.
    fn check_each(&self, ca: &Certificate, now: i64) -> Result<(), ChainProblem> {
        let mut each = self.certificates.iter().enumerate();
        if let Some((_, twice)) = each.find(|(place, certificate)| self.certificates[..*place].contains(certificate)) {
            return Err(ChainProblem::Twice(subject(twice)));
        }
        let mut cas_below = 0_u8;
        for (place, certificate) in self.certificates.iter().enumerate() {
            let is_root = place + 1 == self.certificates.len();
            check_extensions(certificate)?;
            if !is_root {
                check_purposes(certificate, ca)?;
            }
            let constraints = certificate.basic_constraints()?.filter(|constraints| constraints.ca);
            let constraints = constraints.ok_or_else(|| ChainProblem::NotACa(subject(certificate)))?;
            // Old roots lack what is asked for since, and are believed whatever they say (RFC 5280 section 6.1).
            if !is_root {
                check_form(certificate)?;
            }
            // Old roots have no key usage at all, which allows every use (RFC 5280 section 6.1.4 (n)).
            let may_sign = certificate.key_usage()?.map_or(is_root, |usage| usage.key_cert_sign());
            if !may_sign {
                return Err(ChainProblem::MayNotSign(subject(certificate)));
            }
            // The lists of the CA are signed with the key that this one is for (RFC 5280 section 6.3.3 (f)).
            if place == 0 && !certificate.key_usage()?.is_some_and(|usage| usage.crl_sign()) {
                return Err(ChainProblem::MayNotSignLists(subject(certificate)));
            }
            if constraints.path_len_constraint.is_some_and(|most| most < cas_below) {
                return Err(ChainProblem::PathLength(subject(certificate)));
            }
            if now < certificate.not_before() {
                return Err(ChainProblem::NotYet(subject(certificate)));
            }
            if now > certificate.not_after() {
                return Err(ChainProblem::Expired(subject(certificate)));
            }
            // RFC 5280 section 6.1.4 (l): what a CA issues to itself does not count.
            cas_below += u8::from(!certificate.is_self_issued());
        }
        Ok(())
    }

    fn check_links(&self) -> Result<(), ChainProblem> {
        let next = self.certificates.iter().skip(1).chain(self.certificates.last());
        for (certificate, issuer) in self.certificates.iter().zip(next) {
            if !signed_by(certificate, issuer)? {
                return Err(ChainProblem::NotSigned { subject: subject(certificate), next: subject(issuer) });
            }
            // RFC 5280 section 4.2.1.1. OpenSSL takes no other for the issuer, whoever has signed.
            if let (Some(named), Some(own)) = (certificate.authority_key_id()?, issuer.subject_key_id()?)
                && named != own
            {
                return Err(ChainProblem::IssuerKeyId { subject: subject(certificate), next: subject(issuer) });
            }
        }
        Ok(())
    }
}

/// That what the CA signs with its key verifies with this certificate as well.
fn same_ca(first: &Certificate, ca: &Certificate) -> Result<(), ChainProblem> {
    if first.subject() != ca.subject() || first.spki()? != ca.spki()? {
        return Err(ChainProblem::OtherCa { found: subject(first), ca: subject(ca) });
    }
    // What it issues names its key by this identifier; verifiers look for the issuer by it.
    let (theirs, ours) = (first.subject_key_id()?, ca.subject_key_id()?);
    if let (Some(theirs), Some(ours)) = (theirs, ours)
        && theirs != ours
    {
        let expected = ours.as_bytes().iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":");
        return Err(ChainProblem::KeyId { subject: subject(first), expected });
    }
    Ok(())
}

/// That it allows all that the CA issues for. Verifiers ask that of every CA between, though RFC 5280 does not.
fn check_purposes(certificate: &Certificate, ca: &Certificate) -> Result<(), ChainProblem> {
    for purpose in Purpose::ALL {
        if ca.covers(&[purpose])? && !certificate.covers(&[purpose])? {
            return Err(ChainProblem::Purpose { subject: subject(certificate), purpose });
        }
    }
    Ok(())
}

/// That the certificate of a CA has the form that verifiers may insist on.
fn check_form(certificate: &Certificate) -> Result<(), ChainProblem> {
    let is_critical = |oid| certificate.extensions().iter().any(|found| found.extn_id == oid && found.critical);
    if !is_critical(ID_CE_BASIC_CONSTRAINTS) {
        return Err(ChainProblem::NotCritical(subject(certificate)));
    }
    match certificate.subject_key_id()? {
        Some(_) => Ok(()),
        None => Err(ChainProblem::NoKeyId(subject(certificate))),
    }
}

/// What is critical and not understood makes a certificate unusable (RFC 5280 section 4.2); name constraints would have to
/// be compared with every name that the CA certifies.
fn check_extensions(certificate: &Certificate) -> Result<(), ChainProblem> {
    for extension in certificate.extensions() {
        if extension.extn_id == ID_CE_NAME_CONSTRAINTS {
            return Err(ChainProblem::NameConstraints(subject(certificate)));
        }
        if extension.critical && !UNDERSTOOD.contains(&extension.extn_id) {
            return Err(ChainProblem::Critical { subject: subject(certificate), oid: extension.extn_id });
        }
    }
    Ok(())
}

/// Whether the one names the other as its issuer, and the signature is that issuer's, over the bytes as they came.
fn signed_by(certificate: &Certificate, issuer: &Certificate) -> Result<bool, ChainProblem> {
    if certificate.issuer() != issuer.subject() {
        return Ok(false);
    }
    let unsupported = || ChainProblem::Signature(subject(certificate));
    let (_, read) = X509Certificate::from_der(certificate.as_der()).map_err(|_| unsupported())?;
    let signature = &read.signature_value.data;
    let verified = verify_any(&issuer.spki()?, certificate.signature_oid(), read.tbs_certificate.as_ref(), signature);
    verified.ok_or_else(unsupported)
}

fn subject(certificate: &Certificate) -> String {
    certificate.subject().to_string()
}
