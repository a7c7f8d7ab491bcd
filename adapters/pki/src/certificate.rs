//! Certificates as bytes and as text, and what they say.

use std::fmt;
use std::sync::LazyLock;

use aws_lc_rs::digest;
use chancery_domain::Identifier;
use data_encoding::{BASE64, Encoding};
use der::{
    Decode, Encode, Tag, Tagged,
    asn1::{ObjectIdentifier, OctetString},
    oid::db::{rfc4519::COMMON_NAME, rfc5912::ID_KP_OCSP_SIGNING},
    pem,
    referenced::OwnedToRef,
};
use x509_cert::ext::{
    Extension,
    pkix::{
        AuthorityKeyIdentifier, BasicConstraints, CertificatePolicies, CrlDistributionPoints, ExtendedKeyUsage,
        KeyUsage, SubjectAltName, SubjectKeyIdentifier,
        name::{DistributionPointName, GeneralName},
    },
};

use crate::{
    error::PkiError,
    name_rules::{read_address, read_dns_name},
    profile::{PolicyId, Purpose},
    public_key::{describe, verify},
    serial::Serial,
};

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// Base64 in lines of 64 characters (RFC 7468 section 2). What the crate for PEM has takes the same time for all bytes, as
/// secrets want it, and more than twice as long.
static LINES: LazyLock<Encoding> = LazyLock::new(|| {
    let mut lines = BASE64.specification();
    lines.wrap.width = 64;
    lines.wrap.separator.push('\n');
    lines.encoding().expect("base64 in lines is an encoding")
});

/// A well-formed X.509 certificate; nothing is said about whether to trust it.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    der: Vec<u8>,
    parsed: x509_cert::Certificate,
}

/// What a certificate says, for showing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateInfo {
    /// The subject as RFC 4514 text; empty if it has none.
    pub subject: String,
    /// The issuer as RFC 4514 text.
    pub issuer: String,
    /// The serial number in lower-case hexadecimal, without a leading zero octet.
    pub serial: String,
    /// The first second it is valid, in Unix seconds.
    pub not_before: i64,
    /// The last second it is valid, in Unix seconds.
    pub not_after: i64,
    /// The kind of its key, as `KeyType` spells it: "ec-p256", "rsa-2048"; an object identifier if it has no name there.
    pub key_type: String,
    /// The SHA-256 of the whole certificate in lower-case hexadecimal.
    pub sha256: String,
    /// Whether it is a CA's.
    pub is_ca: bool,
}

/// Reads a DER certificate and says what it says.
pub fn inspect(der: &[u8]) -> Result<CertificateInfo, PkiError> {
    Certificate::from_der(der)?.info()
}

/// The certificates as PEM in the order given: for TLS and ACME the subject's first, each followed by its issuer's.
pub fn chain_to_pem<'a>(chain: impl IntoIterator<Item = &'a Certificate>) -> String {
    chain.into_iter().map(Certificate::to_pem).collect()
}

impl Certificate {
    /// Reads one certificate in DER, with nothing after it.
    pub fn from_der(der: &[u8]) -> Result<Self, PkiError> {
        let parsed = x509_cert::Certificate::from_der(der).map_err(PkiError::Der)?;
        Ok(Self { der: der.to_vec(), parsed })
    }

    /// Reads the first certificate of a PEM text.
    pub fn from_pem(text: &str) -> Result<Self, PkiError> {
        Ok(Self::chain_from_pem(text)?.swap_remove(0))
    }

    /// Reads every certificate of a PEM text, at least one; text between them is passed over.
    pub fn chain_from_pem(text: &str) -> Result<Vec<Self>, PkiError> {
        let mut chain = Vec::new();
        let mut rest = text;
        while let Some(begin) = rest.find(BEGIN) {
            let block = &rest[begin..];
            let end = block.find(END).ok_or(PkiError::Pem("it has a beginning but no end"))? + END.len();
            let (_, der) = pem::decode_vec(&block.as_bytes()[..end]).map_err(|_| PkiError::Pem("broken base64"))?;
            chain.push(Self::from_der(&der)?);
            rest = &block[end..];
        }
        if chain.is_empty() { Err(PkiError::Pem("there is none")) } else { Ok(chain) }
    }

    /// The bytes as they were read or signed.
    pub fn as_der(&self) -> &[u8] {
        &self.der
    }

    /// One PEM block, ending in a newline.
    pub fn to_pem(&self) -> String {
        format!("{BEGIN}\n{}{END}\n", LINES.encode(&self.der))
    }

    /// Its serial number; none where it is not one that we would draw.
    pub fn serial(&self) -> Option<Serial> {
        Serial::from_bytes(self.parsed.tbs_certificate().serial_number().as_bytes())
    }

    /// What it says, for showing it.
    pub fn info(&self) -> Result<CertificateInfo, PkiError> {
        let tbs = self.parsed.tbs_certificate();
        let serial = tbs.serial_number().as_bytes();
        Ok(CertificateInfo {
            subject: self.subject_text(),
            issuer: self.issuer_text(),
            serial: hex(serial.strip_prefix(&[0]).filter(|rest| !rest.is_empty()).unwrap_or(serial)),
            not_before: self.not_before(),
            not_after: self.not_after(),
            key_type: describe(tbs.subject_public_key_info().owned_to_ref()),
            sha256: hex(&self.sha256()),
            is_ca: self.basic_constraints()?.is_some_and(|constraints| constraints.ca),
        })
    }

    /// Its public key, a SubjectPublicKeyInfo in DER.
    pub fn spki(&self) -> Result<Vec<u8>, PkiError> {
        self.parsed.tbs_certificate().subject_public_key_info().to_der().map_err(PkiError::Der)
    }

    pub(crate) fn subject(&self) -> &x509_cert::name::Name {
        self.parsed.tbs_certificate().subject()
    }

    pub(crate) fn issuer(&self) -> &x509_cert::name::Name {
        self.parsed.tbs_certificate().issuer()
    }

    /// The name of its subject as RFC 4514 text; empty if it has none.
    pub fn subject_text(&self) -> String {
        lone_common_name(self.subject()).unwrap_or_else(|| self.subject().to_string())
    }

    /// The name of its issuer as RFC 4514 text.
    pub fn issuer_text(&self) -> String {
        self.issuer().to_string()
    }

    /// The SHA-256 of the whole of it.
    pub fn sha256(&self) -> [u8; 32] {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest::digest(&digest::SHA256, &self.der).as_ref());
        hash
    }

    /// Whether it is by the same name that it is for, as a root's is.
    pub(crate) fn is_self_issued(&self) -> bool {
        self.issuer() == self.subject()
    }

    pub(crate) fn signature_oid(&self) -> ObjectIdentifier {
        self.parsed.signature_algorithm().oid
    }

    /// The first second it is valid, in Unix seconds.
    pub fn not_before(&self) -> i64 {
        seconds(self.parsed.tbs_certificate().validity().not_before)
    }

    /// The last second it is valid, in Unix seconds.
    pub fn not_after(&self) -> i64 {
        seconds(self.parsed.tbs_certificate().validity().not_after)
    }

    /// The bits of its public key without the algorithm, as OCSP hashes them.
    pub(crate) fn public_key_bits(&self) -> Vec<u8> {
        self.parsed.tbs_certificate().subject_public_key_info().subject_public_key.raw_bytes().to_vec()
    }

    /// Whether what it signs may be for all of these purposes: a CA's own extended key usage limits those below it.
    pub fn covers(&self, purposes: &[Purpose]) -> Result<bool, PkiError> {
        let found = self.parsed.tbs_certificate().get_extension().map_err(PkiError::Der)?;
        Ok(found.is_none_or(|(_, ExtendedKeyUsage(own))| purposes.iter().all(|purpose| own.contains(&purpose.oid()))))
    }

    /// Whether what it signs may be under all of these policies: below a CA only the policies count that its own
    /// certificate has, or `anyPolicy`; and `anyPolicy` below it stands for those (RFC 5280 section 6.1.3 (d)).
    ///
    /// A CA that names no policy at all is not held against any. That is right for roots; below another one no policy
    /// counts, whatever its certificates say, so to refuse some would gain nothing and only stop it.
    pub fn allows(&self, policies: &[PolicyId]) -> Result<bool, PkiError> {
        let found = self.parsed.tbs_certificate().get_extension().map_err(PkiError::Der)?;
        Ok(found.is_none_or(|(_, CertificatePolicies(own))| {
            let has = |wanted: PolicyId| own.iter().any(|policy| policy.policy_identifier == wanted.0);
            has(PolicyId::ANY) || policies.iter().all(|policy| *policy == PolicyId::ANY || has(*policy))
        }))
    }

    /// Whether it is that of an OCSP responder, which nobody looks up.
    pub fn is_ocsp_responder(&self) -> Result<bool, PkiError> {
        let found = self.parsed.tbs_certificate().get_extension().map_err(PkiError::Der)?;
        Ok(found.is_some_and(|(_, ExtendedKeyUsage(purposes))| purposes.contains(&ID_KP_OCSP_SIGNING)))
    }

    /// Whether it names this issuer, and its signature is that issuer's.
    pub fn was_signed_by(&self, issuer: &Self) -> Result<bool, PkiError> {
        let tbs = self.parsed.tbs_certificate().to_der().map_err(PkiError::Der)?;
        let signature = self.parsed.signature().raw_bytes();
        let named = self.parsed.tbs_certificate().issuer() == issuer.subject();
        Ok(named && verify(&issuer.spki()?, &tbs, signature).is_ok())
    }

    /// The host names and addresses that it is for; none where it has names of other kinds as well.
    pub fn identifiers(&self) -> Result<Option<Vec<Identifier>>, PkiError> {
        let found = self.parsed.tbs_certificate().get_extension().map_err(PkiError::Der)?;
        let names = found.map_or_else(Vec::new, |(_, SubjectAltName(names))| names);
        let read = |name: &GeneralName| match name {
            GeneralName::DnsName(text) => read_dns_name(text.as_str()).ok(),
            GeneralName::IpAddress(octets) => read_address(octets.as_bytes()).ok(),
            _ => None,
        };
        Ok(names.iter().map(read).collect())
    }

    /// Where it says that its revocation list is.
    pub fn crl_urls(&self) -> Result<Vec<String>, PkiError> {
        let found = self.parsed.tbs_certificate().get_extension().map_err(PkiError::Der)?;
        let points = found.map_or_else(Vec::new, |(_, CrlDistributionPoints(points))| points);
        Ok(points.into_iter().filter_map(|point| point.distribution_point).flat_map(urls).collect())
    }

    pub(crate) fn extensions(&self) -> &[Extension] {
        self.parsed.tbs_certificate().extensions().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn basic_constraints(&self) -> Result<Option<BasicConstraints>, PkiError> {
        let found = self.parsed.tbs_certificate().get_extension().map_err(PkiError::Der)?;
        Ok(found.map(|(_, constraints)| constraints))
    }

    pub(crate) fn key_usage(&self) -> Result<Option<KeyUsage>, PkiError> {
        let found = self.parsed.tbs_certificate().get_extension().map_err(PkiError::Der)?;
        Ok(found.map(|(_, usage)| usage))
    }

    pub(crate) fn subject_key_id(&self) -> Result<Option<OctetString>, PkiError> {
        let found = self.parsed.tbs_certificate().get_extension().map_err(PkiError::Der)?;
        Ok(found.map(|(_, SubjectKeyIdentifier(id))| id))
    }

    /// By which it names the key of its issuer.
    pub(crate) fn authority_key_id(&self) -> Result<Option<OctetString>, PkiError> {
        let found = self.parsed.tbs_certificate().get_extension().map_err(PkiError::Der)?;
        Ok(found.and_then(|(_, issuer): (bool, AuthorityKeyIdentifier)| issuer.key_identifier))
    }
}

/// The text of a name that is nothing but a host name, as subscribers have it: there is nothing to escape in it, and the
/// crate would look for what its attribute is called among all that there are.
fn lone_common_name(name: &x509_cert::name::Name) -> Option<String> {
    let mut attributes = name.iter();
    let attribute = attributes.next().filter(|attribute| attribute.oid == COMMON_NAME)?;
    let text = std::str::from_utf8(attribute.value.value()).ok()?;
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.*".contains(&byte));
    let texts = [Tag::Utf8String, Tag::PrintableString].contains(&attribute.value.tag());
    (plain && texts && !text.is_empty() && attributes.next().is_none()).then(|| format!("CN={text}"))
}

/// The addresses among the names of a distribution point, as certificates and lists have them.
pub(crate) fn urls(point: DistributionPointName) -> Vec<String> {
    let DistributionPointName::FullName(names) = point else { return Vec::new() };
    let url = |name| match name {
        GeneralName::UniformResourceIdentifier(url) => Some(url.as_str().to_owned()),
        _ => None,
    };
    names.into_iter().filter_map(url).collect()
}

/// The subject and the serial number; the rest is in [`info`](Certificate::info).
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({:?}, {})", self.subject().to_string(), self.parsed.tbs_certificate().serial_number())
    }
}

pub(crate) fn seconds(time: x509_cert::time::Time) -> i64 {
    i64::try_from(time.to_unix_duration().as_secs()).unwrap_or(i64::MAX)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    #[test]
    fn a_lone_common_name_is_spelled_as_the_crate_would() {
        for (text, lone) in [
            ("CN=example.com", true),
            ("CN=*.xn--bcher-kva.example", true),
            ("CN=192.0.2.1", true),
            ("CN=2001:db8::1", false),
            ("CN=Example Root X1", false),
            ("CN=a\\,b", false),
            ("O=Example,CN=example.com", false),
            ("O=example.com", false),
            ("CN=a.example+CN=b.example", false),
        ] {
            let name = x509_cert::name::Name::from_str(text).unwrap();
            let spelled = lone_common_name(&name);
            assert_eq!(spelled, lone.then(|| name.to_string()), "{text}");
        }
        assert_eq!(lone_common_name(&x509_cert::name::Name::default()), None);
    }
}
