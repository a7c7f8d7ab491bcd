//! Certificate revocation lists (RFC 5280 section 5, Baseline Requirements section 7.2).

use std::iter;

use chancery_domain::RevocationReason;
use der::{
    AnyRef, Decode, Encode, Sequence,
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
    certificate::urls,
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
/// The most addresses of a shard. Beyond it goes the one that was left longest ago: nobody moves eight times while a
/// certificate lives, but lists must not grow for ever.
const MAX_ADDRESSES: usize = 8;

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
        Self::sign_moved(issuer, contents, &[])
    }

    /// Makes and signs the list of a shard that certificates from before find elsewhere: they name these addresses,
    /// newest first, and are in its scope by that name only (RFC 5280 section 6.3.3). A full list has no addresses.
    pub fn sign_moved(issuer: &Issuer, contents: &CrlContents<'_>, earlier: &[String]) -> Result<Self, PkiError> {
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
            extensions: extensions(issuer, contents, earlier)?,
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

    /// The addresses that a list in DER gives for itself, newest first, and none for a full list; nothing at all where it
    /// cannot be read. Its entries, which may be many, are passed over.
    pub fn addresses(der: &[u8]) -> Option<Vec<String>> {
        let list = Vec::<AnyRef<'_>>::from_der(der).ok()?;
        let tbs = list.first()?.decode_as::<Vec<AnyRef<'_>>>().ok()?;
        // They come last, in a wrapping of their own.
        let extensions = Vec::<Extension>::from_der(tbs.last()?.value()).ok()?;
        addresses(&extensions)
    }
}

pub(crate) fn addresses(extensions: &[Extension]) -> Option<Vec<String>> {
    let point = extensions.iter().find(|extension| extension.extn_id == ID_CE_ISSUING_DISTRIBUTION_POINT);
    let Some(point) = point else { return Some(Vec::new()) };
    let point = IssuingDistributionPoint::from_der(point.extn_value.as_bytes()).ok()?;
    Some(point.distribution_point.map_or_else(Vec::new, urls))
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

const ENUMERATED: u8 = 0x0a;
const CA_COMPROMISE: u8 = 2;

fn reason(certificate: &RevokedCertificate) -> Result<Option<Extension>, PkiError> {
    let code = match certificate.reason {
        RevocationReason::Unspecified => return Ok(None),
        RevocationReason::KeyCompromise if certificate.ca => CA_COMPROMISE,
        other => other.code(),
    };
    let extn_value = OctetString::new([ENUMERATED, 1, code]).map_err(PkiError::Encoding)?;
    Ok(Some(Extension { extn_id: ID_CE_CRL_REASONS, critical: false, extn_value }))
}

/// What [`reason`] has written of an entry.
pub(crate) fn reason_of(entry: &RevokedCert) -> RevocationReason {
    let extensions = entry.crl_entry_extensions.iter().flatten();
    let said = extensions.filter(|extension| extension.extn_id == ID_CE_CRL_REASONS);
    let code = said.map(|extension| extension.extn_value.as_bytes()).find_map(|value| match value {
        [ENUMERATED, 1, code] => Some(*code),
        _ => None,
    });
    match code {
        Some(CA_COMPROMISE) => RevocationReason::KeyCompromise,
        Some(code) => RevocationReason::from_code(code.into()).unwrap_or(RevocationReason::Unspecified),
        None => RevocationReason::Unspecified,
    }
}

fn extensions(issuer: &Issuer, contents: &CrlContents<'_>, earlier: &[String]) -> Result<Vec<Extension>, PkiError> {
    let number = CrlNumber::try_from(contents.number).map_err(PkiError::Encoding)?;
    let mut extensions = vec![issuer.authority_key_id()?, extension(false, &number)?];
    match contents.scope {
        CrlScope::Full => {}
        CrlScope::Shard(url) => extensions.push(distribution_point(url, earlier)?),
    }
    Ok(extensions)
}

/// Says which shard this is (RFC 5280 section 5.2.5), so that no shard can pass for another: the address is the one in
/// the certificates, byte for byte. Where they do not all have the same one, all are there.
fn distribution_point(url: &str, earlier: &[String]) -> Result<Extension, PkiError> {
    /// The library gives this type the identifier of another extension.
    const OID: ObjectIdentifier = ID_CE_ISSUING_DISTRIBUTION_POINT;
    let earlier = earlier.iter().map(String::as_str).filter(|name| *name != url);
    let names = iter::once(url).chain(earlier).take(MAX_ADDRESSES).map(http_url).collect::<Result<Vec<_>, _>>()?;
    let point = IssuingDistributionPoint {
        distribution_point: Some(DistributionPointName::FullName(names)),
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
pub(crate) struct TbsCertList {
    version: Version,
    signature: AlgorithmIdentifierOwned,
    pub(crate) issuer: RdnSequence,
    this_update: Time,
    next_update: Time,
    #[asn1(optional = "true")]
    pub(crate) revoked: Option<Vec<RevokedCert>>,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT")]
    pub(crate) extensions: Vec<Extension>,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chancery_domain::Entropy;

    use super::*;
    use crate::{CaName, KeyAlgorithm, PrivateKey, Validity, root};

    const NOW: i64 = 1_800_000_000;

    struct Counting;

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.iter_mut().zip(1..).for_each(|(byte, number)| *byte = number);
        }
    }

    fn ca() -> Issuer {
        let key = PrivateKey::generate(KeyAlgorithm::EcP256).unwrap();
        let name = CaName::new("DE", "Test", "Test Root").unwrap();
        let certificate = root(&key, &name, Validity::days(NOW, 10).unwrap(), Serial::draw(&Counting)).unwrap();
        Issuer::new(certificate, Arc::new(key)).unwrap()
    }

    fn list(issuer: &Issuer, scope: CrlScope<'_>, earlier: &[String], revoked: &[RevokedCertificate]) -> Vec<u8> {
        let contents = CrlContents { scope, number: 7, this_update: NOW, next_update: NOW + DAY, revoked };
        Crl::sign_moved(issuer, &contents, earlier).unwrap().into_der()
    }

    #[test]
    fn the_addresses_of_a_list_are_read_back_whatever_is_on_it() {
        let issuer = ca();
        let serial = Serial::draw(&Counting);
        let entry = RevokedCertificate { serial, revoked_at: NOW, reason: RevocationReason::KeyCompromise, ca: false };
        for revoked in [&[entry][..], &[]] {
            let shard = list(&issuer, CrlScope::Shard("http://new.test/1.crl"), &[], revoked);
            assert_eq!(Crl::addresses(&shard), Some(vec!["http://new.test/1.crl".to_owned()]));
            let full = list(&issuer, CrlScope::Full, &["http://old.test/1.crl".to_owned()], revoked);
            assert_eq!(Crl::addresses(&full), Some(Vec::new()));
        }
        assert_eq!(Crl::addresses(b"list 1 with 2"), None);
        assert_eq!(Crl::addresses(b""), None);
    }

    #[test]
    fn the_addresses_from_before_stay_up_to_a_number() {
        let issuer = ca();
        let mut earlier = Vec::new();
        for place in 0..12 {
            let url = format!("http://n{place}.test/1.crl");
            earlier = Crl::addresses(&list(&issuer, CrlScope::Shard(&url), &earlier, &[])).unwrap();
        }
        let expected: Vec<_> = (4..12).rev().map(|place| format!("http://n{place}.test/1.crl")).collect();
        assert_eq!(earlier, expected, "the newest first, and the oldest dropped");
        let again = list(&issuer, CrlScope::Shard("http://n6.test/1.crl"), &earlier, &[]);
        let again = Crl::addresses(&again).unwrap();
        assert_eq!((again.len(), again[0].as_str()), (8, "http://n6.test/1.crl"), "no address is there twice");
    }
}
