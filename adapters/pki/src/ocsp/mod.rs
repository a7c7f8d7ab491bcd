//! The Online Certificate Status Protocol: RFC 6960 with the nonce of RFC 9654, answered by a delegated responder.

mod certificate;
mod request;
mod responder;
mod response;

pub use certificate::{ResponderCertificate, responder_certificate};
pub use request::{CertId, HashAlgorithm, MAX_OCSP_REQUEST_BYTES, OcspRequest};
pub use responder::{CertificateStatus, OcspTimes, Responder};
pub use response::OcspFailure;
