//! Certificate signing requests (PKCS #10, RFC 2986): reading them, and everything that can be wrong with one.

mod check;
mod contents;
mod envelope;
mod make;
mod signature;

use std::collections::HashSet;

use chancery_domain::Identifier;

pub use check::{CsrProblem, CsrRules};
use contents::{Contents, RequestedName};
pub use envelope::CsrError;
pub(crate) use make::make_ca_request;
pub use make::{make_request, request_to_pem};

use crate::{
    key::{KeyProblem, SubscriberKey},
    name_rules::{NameProblem, read_address, read_dns_name},
};

/// The most bytes of a request, in whatever form it comes.
pub const MAX_CSR_BYTES: usize = 64 * 1024;

/// A well-formed request. Whether it can be granted is what [`check`](Self::check) tells.
///
/// The received bytes are kept: its signature is checked over them, not over an encoding of ours.
#[derive(Clone)]
pub struct CertificateRequest {
    der: Vec<u8>,
    contents: Contents,
    key: Result<SubscriberKey, KeyProblem>,
}

impl CertificateRequest {
    /// Reads PEM, the base64 or base64url text of DER, or DER itself; at most [`MAX_CSR_BYTES`].
    pub fn parse(input: impl AsRef<[u8]>) -> Result<Self, CsrError> {
        let der = envelope::open(input.as_ref())?;
        let contents = Contents::read(&der).map_err(CsrError::Der)?;
        let key = SubscriberKey::from_spki(&contents.spki);
        Ok(Self { der, contents, key })
    }

    /// Counts host names that are common names among the names: RFC 8555 section 7.4 has them in either place.
    pub fn with_common_names(mut self) -> Self {
        // Looked up by hash: neither names nor common names are few in a request that nobody has judged yet.
        let known: HashSet<_> = self.identifiers().into_iter().collect();
        let common = self.contents.common_names.iter().flatten().filter(|text| match Identifier::parse(text) {
            Ok(name @ Identifier::Dns(_)) => !known.contains(&name),
            Ok(Identifier::Ip(_)) | Err(_) => false,
        });
        let further: Vec<_> = common.cloned().map(RequestedName::Dns).collect();
        if !further.is_empty() {
            self.contents.names.get_or_insert_default().extend(further);
        }
        self
    }

    /// The request as it was received, in DER.
    pub fn as_der(&self) -> &[u8] {
        &self.der
    }

    /// Its public key, if it is of a kind that can be certified.
    pub fn key(&self) -> Result<&SubscriberKey, &KeyProblem> {
        self.key.as_ref()
    }

    /// The names it asks for, each once, in their order. Those that are not names at all are left out; `check` reports
    /// them.
    pub fn identifiers(&self) -> Vec<Identifier> {
        let mut seen = HashSet::new();
        let names = self.names().filter_map(Result::ok).filter_map(Result::ok);
        names.filter(|name| seen.insert(name.clone())).collect()
    }

    /// Its first common name, if that is a name or an address. It is no name by itself, unless
    /// [`with_common_names`](Self::with_common_names) says so: it must be among [`identifiers`](Self::identifiers).
    pub fn common_name(&self) -> Option<Identifier> {
        let text = self.contents.common_names.first()?.as_ref()?;
        Identifier::parse(text).ok()
    }

    /// The names in the order of the request: what kind it was where it is neither a host name nor an address.
    fn names(&self) -> impl Iterator<Item = Result<Result<Identifier, NameProblem>, &RequestedName>> {
        self.contents.names.iter().flatten().map(|name| match name {
            RequestedName::Dns(text) => Ok(read_dns_name(text)),
            RequestedName::Ip(octets) => Ok(read_address(octets)),
            RequestedName::Email(_) | RequestedName::Other(_) => Err(name),
        })
    }
}
