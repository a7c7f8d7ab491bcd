//! Certificate revocation lists (RFC 5280 section 5, Baseline Requirements section 7.2).

use chancery_domain::RevocationReason;
use der::{
    Encode, Sequence,
    asn1::{ObjectIdentifier, OctetString},
    oid::db::rfc5280::{ID_CE_CRL_REASONS, ID_CE_ISSUING_DISTRIBUTION_POINT},
};
use spki::AlgorithmIdentifierOwned;
use x509_cert::{
    certificate::Version,
    crl::RevokedCert,
    ext::{
        Extension,
        pkix::{CrlNumber, crl::dp::IssuingDistributionPoint, name::DistributionPointName},
    },
    name::RdnSequence,
    time::Time,
};

use crate::{
    error::{CrlError, PkiError},
    extensions::{extension, http_url},
    issuer::Issuer,
    serial::Serial,
    validity::time,
};

const DAY: i64 = 86_400;

/// How long a list of subscribers' certificates may stand (Baseline Requirements section 4.9.7).
const MAX_SHARD_DAYS: i64 = 10;
/// How long a list of CAs' certificates may stand: twelve months.
const MAX_FULL_DAYS: i64 = 365;

/// A certificate that is revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevokedCertificate {
    /// Its serial number.
    pub serial: Serial,
    /// Since when, in Unix seconds.
    pub revoked_at: i64,
    /// Why; `unspecified` is left out of the list (RFC 5280 section 5.3.1).
    pub reason: RevocationReason,
    /// Whether it is a CA's: a key that is known to others is then a compromised CA (RFC 5280 section 5.3.1).
    pub ca: bool,
}

/// Which certificates a list is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrlScope<'a> {
    /// All of the issuer's. For a root, whose list is short.
    Full,
    /// Those of the issuer's end-entity certificates whose distribution point is this `http://` URL.
    Shard(&'a str),
}

/// What a list is to say.
#[derive(Clone, Copy, Debug)]
pub struct CrlContents<'a> {
    /// Which certificates it is about.
    pub scope: CrlScope<'a>,
    /// Larger than that of every earlier list of the same scope (RFC 5280 section 5.2.3).
    pub number: u64,
    /// When it was made, in Unix seconds.
    pub this_update: i64,
    /// When the next one is there at the latest: within ten days for a shard, within a year for a full list.
    pub next_update: i64,
    /// The revoked certificates, in any order, each once.
    pub revoked: &'a [RevokedCertificate],
}

/// A signed revocation list.
#[derive(Clone, PartialEq, Eq)]
pub struct Crl {
    der: Vec<u8>,
}

impl Crl {
    /// Makes and signs a list. The order of the entries is that of their serial numbers.
    pub fn sign(issuer: &Issuer, contents: &CrlContents<'_>) -> Result<Self, PkiError> {
        let max_days = match contents.scope {
            CrlScope::Full => MAX_FULL_DAYS,
            CrlScope::Shard(_) => MAX_SHARD_DAYS,
        };
        let lasts = contents.next_update.saturating_sub(contents.this_update);
        if !(1..=max_days * DAY).contains(&lasts) {
            return Err(CrlError::NextUpdate { max_days }.into());
        }
        let tbs = TbsCertList {
            version: Version::V2,
            signature: issuer.algorithm().signature_algorithm(),
            issuer: issuer.name(),
            this_update: time(contents.this_update)?,
            next_update: time(contents.next_update)?,
            revoked: entries(contents.revoked)?,
            extensions: extensions(issuer, contents)?,
        };
        let tbs = tbs.to_der().map_err(PkiError::Encoding)?;
        Ok(Self { der: issuer.sign_bytes(&tbs)? })
    }

    /// The list in DER, as it is published.
    pub fn as_der(&self) -> &[u8] {
        &self.der
    }

    /// The list in DER, as it is published.
    pub fn into_der(self) -> Vec<u8> {
        self.der
    }
}

/// None where nothing is revoked: an empty list must be absent (RFC 5280 section 5.1.2.6).
fn entries(revoked: &[RevokedCertificate]) -> Result<Option<Vec<RevokedCert>>, PkiError> {
    if revoked.is_empty() {
        return Ok(None);
    }
    let mut revoked: Vec<_> = revoked.iter().collect();
    revoked.sort_unstable_by_key(|certificate| certificate.serial.as_bytes());
    if let Some(pair) = revoked.windows(2).find(|pair| pair[0].serial == pair[1].serial) {
        return Err(CrlError::Duplicate(pair[0].serial).into());
    }
    let entry = |certificate: &RevokedCertificate| {
        Ok(RevokedCert {
            serial_number: certificate.serial.encode()?,
            revocation_date: time(certificate.revoked_at)?,
            crl_entry_extensions: reason(certificate)?.map(|reason| vec![reason]),
        })
    };
    revoked.into_iter().map(entry).collect::<Result<_, PkiError>>().map(Some)
}

fn reason(certificate: &RevokedCertificate) -> Result<Option<Extension>, PkiError> {
    const ENUMERATED: u8 = 0x0a;
    const CA_COMPROMISE: u8 = 2;
    let code = match certificate.reason {
        RevocationReason::Unspecified => return Ok(None),
        RevocationReason::KeyCompromise if certificate.ca => CA_COMPROMISE,
        other => other.code(),
    };
    let extn_value = OctetString::new([ENUMERATED, 1, code]).map_err(PkiError::Encoding)?;
    Ok(Some(Extension { extn_id: ID_CE_CRL_REASONS, critical: false, extn_value }))
}

fn extensions(issuer: &Issuer, contents: &CrlContents<'_>) -> Result<Vec<Extension>, PkiError> {
    let number = CrlNumber::try_from(contents.number).map_err(PkiError::Encoding)?;
    let mut extensions = vec![issuer.authority_key_id()?, extension(false, &number)?];
    match contents.scope {
        CrlScope::Full => {}
        CrlScope::Shard(url) => extensions.push(distribution_point(url)?),
    }
    Ok(extensions)
}

/// Says which shard this is (RFC 5280 section 5.2.5), so that no shard can pass for another: the address is the one in
/// the certificates, byte for byte.
fn distribution_point(url: &str) -> Result<Extension, PkiError> {
    /// The library gives this type the identifier of another extension.
    const OID: ObjectIdentifier = ID_CE_ISSUING_DISTRIBUTION_POINT;
    let point = IssuingDistributionPoint {
        distribution_point: Some(DistributionPointName::FullName(vec![http_url(url)?])),
        only_contains_user_certs: true,
        only_contains_ca_certs: false,
        only_some_reasons: None,
        indirect_crl: false,
        only_contains_attribute_certs: false,
    };
    Ok(Extension { extn_id: OID, ..extension(true, &point)? })
}

/// RFC 5280 section 5.1.
#[derive(Sequence)]
struct TbsCertList {
    version: Version,
    signature: AlgorithmIdentifierOwned,
    issuer: RdnSequence,
    this_update: Time,
    next_update: Time,
    #[asn1(optional = "true")]
    revoked: Option<Vec<RevokedCert>>,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT")]
    extensions: Vec<Extension>,
}
