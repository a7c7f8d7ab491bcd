//! A certificate on its way: drafted, linted, signed; in that order and no other.

use aws_lc_rs::digest;
use der::Decode;
use x509_cert::certificate::TbsCertificate;

use crate::{
    certificate::{Certificate, seconds},
    error::PkiError,
    lint::{self, Finding},
    serial::Serial,
    subscriber::Terms,
    transparency::{LogId, LogList, POISON, SCT_LIST, sct_list},
    validity::Validity,
};

/// The bytes of a subscriber's certificate that are to be signed. Store them, then lint them.
///
/// ```no_run
/// # use chancery_pki::*;
/// # fn example(issuer: &Issuer, terms: &Terms<'_>, validity: Validity, serial: Serial) -> Result<(), PkiError> {
/// let draft = Draft::subscriber(terms, validity, serial, None)?;
/// // … store draft.tbs_der() …
/// let linted = draft.lint(terms).expect("a draft of ours has no findings");
/// let signed = issuer.sign(linted)?;
/// # Ok(())
/// # }
/// ```
///
/// What was not linted cannot be signed:
///
/// ```compile_fail,E0308
/// # use chancery_pki::*;
/// # fn example(issuer: &Issuer, terms: &Terms<'_>, validity: Validity, serial: Serial) -> Result<(), PkiError> {
/// let draft = Draft::subscriber(terms, validity, serial, None)?;
/// let signed = issuer.sign(draft)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Draft {
    tbs: Vec<u8>,
    serial: Serial,
    validity: Validity,
    /// Whether it has the mark of a precertificate, or what logs have promised.
    is_precertificate: bool,
    is_promised: bool,
}

/// What a draft is linted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Of what logs are shown before there is a certificate.
    Precertificate,
    /// Of the certificate itself.
    Certificate,
}

/// A draft without findings. Only [`Draft::lint`] makes one, and signing uses it up.
///
/// It cannot be signed twice:
///
/// ```compile_fail,E0382
/// # use chancery_pki::*;
/// # fn example(issuer: &Issuer, linted: Linted) {
/// let first = issuer.sign(linted);
/// let second = issuer.sign(linted);
/// # }
/// ```
///
/// Nor copied first:
///
/// ```compile_fail,E0599
/// # use chancery_pki::*;
/// # fn example(linted: &Linted) -> Linted {
/// linted.clone()
/// # }
/// ```
///
/// Nor made by hand:
///
/// ```compile_fail,E0451
/// # use chancery_pki::*;
/// # fn example(tbs: Vec<u8>) -> Linted {
/// Linted { tbs, issuer: [0; 32] }
/// # }
/// ```
#[derive(Debug)]
pub struct Linted {
    tbs: Vec<u8>,
    /// The SHA-256 of the certificate of the issuer that it was linted for.
    issuer: [u8; 32],
}

/// The draft of a precertificate, without findings. Only [`Draft::lint_precertificate`] makes one.
///
/// No certificate comes of it:
///
/// ```compile_fail,E0308
/// # use chancery_pki::*;
/// # fn example(issuer: &Issuer, linted: LintedPrecertificate) {
/// let signed = issuer.sign(linted);
/// # }
/// ```
#[derive(Debug)]
pub struct LintedPrecertificate(Linted);

/// A signed precertificate, in DER: for logs, and for nobody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precertificate(Vec<u8>);

/// A signed certificate whose signature verifies and whose signed part is the linted draft, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed(Certificate);

impl Draft {
    pub(crate) fn new(tbs: Vec<u8>, serial: Serial, validity: Validity, is_precertificate: bool) -> Self {
        Self { tbs, serial, validity, is_precertificate, is_promised: false }
    }

    /// Takes up a draft that was stored before a crash. Nothing is assumed of the bytes: linting says what they are worth.
    pub fn from_stored(tbs: &[u8]) -> Result<Self, PkiError> {
        let parsed = TbsCertificate::from_der(tbs).map_err(PkiError::Der)?;
        let serial = Serial::from_bytes(parsed.serial_number().as_bytes()).ok_or(PkiError::Serial)?;
        let (not_before, not_after) = (seconds(parsed.validity().not_before), seconds(parsed.validity().not_after));
        let validity = Validity::lasting(not_before, not_after.saturating_sub(not_before).saturating_add(1))?;
        let has = |id| parsed.extensions().into_iter().flatten().any(|extension| extension.extn_id == id);
        let (is_precertificate, is_promised) = (has(POISON), has(SCT_LIST));
        Ok(Self { tbs: tbs.to_vec(), serial, validity, is_precertificate, is_promised })
    }

    /// The TBSCertificate in DER: exactly what will be signed.
    pub fn tbs_der(&self) -> &[u8] {
        &self.tbs
    }

    /// Its serial number.
    pub fn serial(&self) -> Serial {
        self.serial
    }

    /// Its period.
    pub fn validity(&self) -> Validity {
        self.validity
    }

    /// Whether it is one to be shown to logs, and not yet one of a certificate.
    pub fn is_precertificate(&self) -> bool {
        self.is_precertificate
    }

    /// Whether it can become a certificate of a profile that is shown to these logs, or to none: one that logs were shown,
    /// or are to be, and have promised enough for.
    pub fn suits(&self, logs: Option<&LogList>) -> bool {
        match logs {
            None => !self.is_precertificate && !self.is_promised,
            Some(logs) if self.is_precertificate => logs.could_be_enough(self.validity),
            Some(logs) => logs.is_enough(self.validity, self.promised_by()),
        }
    }

    /// The logs that have promised to show it.
    fn promised_by(&self) -> Vec<LogId> {
        let Ok(parsed) = TbsCertificate::from_der(&self.tbs) else { return Vec::new() };
        let mut extensions = parsed.extensions().into_iter().flatten();
        let list = extensions.find(|extension| extension.extn_id == SCT_LIST);
        let scts = list.and_then(|list| sct_list(list.extn_value.as_bytes()));
        scts.into_iter().flatten().map(|sct| sct.log).collect()
    }

    /// Holds the bytes against the rules and against what was agreed; every finding is a reason not to sign.
    pub fn lint(&self, terms: &Terms<'_>) -> Result<Linted, Vec<Finding>> {
        self.lint_as(Stage::Certificate, terms)
    }

    /// Holds the bytes of a precertificate, which is the certificate but for one extension, against the rules and
    /// against what was agreed; every finding is a reason not to sign.
    pub fn lint_precertificate(&self, terms: &Terms<'_>) -> Result<LintedPrecertificate, Vec<Finding>> {
        self.lint_as(Stage::Precertificate, terms).map(LintedPrecertificate)
    }

    fn lint_as(&self, stage: Stage, terms: &Terms<'_>) -> Result<Linted, Vec<Finding>> {
        let findings = lint::findings(&self.tbs, stage, terms);
        if findings.is_empty() {
            Ok(Linted { tbs: self.tbs.clone(), issuer: *terms.issuer.fingerprint() })
        } else {
            Err(findings)
        }
    }
}

impl Linted {
    /// The TBSCertificate in DER: exactly what will be signed.
    pub fn tbs_der(&self) -> &[u8] {
        &self.tbs
    }

    pub(crate) fn issuer(&self) -> &[u8; 32] {
        &self.issuer
    }
}

impl LintedPrecertificate {
    pub(crate) fn into_inner(self) -> Linted {
        self.0
    }
}

impl Precertificate {
    pub(crate) fn new(der: Vec<u8>) -> Self {
        Self(der)
    }

    /// The SHA-256 of all of it.
    pub fn sha256(&self) -> [u8; 32] {
        digest::digest(&digest::SHA256, &self.0).as_ref().try_into().expect("SHA-256 has 32 bytes")
    }

    pub fn as_der(&self) -> &[u8] {
        &self.0
    }
}

impl Signed {
    pub(crate) fn new(certificate: Certificate) -> Self {
        Self(certificate)
    }

    /// The certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.0
    }
}
