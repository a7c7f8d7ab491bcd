//! Why a message did not arrive. Told to the owner of the webhook, so no text repeats its URL.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use rustls::CertificateError;

#[derive(Debug, thiserror::Error)]
pub enum PostError {
    #[error("the URL is not usable")]
    Url,
    #[error("the URL must begin with https://")]
    PlainHttp,
    #[error("no complete answer within {0:?}")]
    Timeout(Duration),
    #[error("the name could not be looked up: {0}")]
    Lookup(String),
    #[error("the name has no address")]
    NoAddress,
    /// Of all its addresses.
    #[error("{0} may not be spoken to: it is {1}")]
    Special(IpAddr, &'static str),
    /// One of the three above, where special addresses are not spoken to. All have this text: whoever tries one name after
    /// the other would learn from theirs which names there are inside, and where they lead. Which it was is for the operator.
    #[error("the host has no address that may be spoken to")]
    Withheld(Box<Self>),
    #[error("cannot connect: {0}")]
    Connect(String),
    #[error("the TLS handshake failed: {0}")]
    Handshake(String),
    #[error("there are no certificates on this system to check the server's with")]
    NoRoots,
    #[error("the HTTP exchange failed: {0}")]
    Exchange(String),
}

impl PostError {
    /// As it may be told where special addresses are not spoken to.
    pub(crate) fn withheld(self) -> Self {
        match self {
            Self::Lookup(_) | Self::NoAddress | Self::Special(..) => Self::Withheld(Box::new(self)),
            Self::Url
            | Self::PlainHttp
            | Self::Timeout(_)
            | Self::Withheld(_)
            | Self::Connect(_)
            | Self::Handshake(_)
            | Self::NoRoots
            | Self::Exchange(_) => self,
        }
    }
}

/// Why a handshake failed. Of some causes the library tells no more than the name they have in its code: that is told in
/// words.
pub(crate) fn handshake_failure(error: &io::Error) -> String {
    let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let text = match of_tls {
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(why))) => {
            format!("invalid peer certificate: {why}")
        }
        Some(_) | None => causes(error),
    };
    match text.rsplit_once(": ") {
        Some((what, name)) if is_code_name(name) => format!("{what}: {}", in_words(name)),
        Some(_) | None => text,
    }
}

/// Whether a text is a name such as `UnknownIssuer`.
fn is_code_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// `UnknownIssuer` as `unknown issuer`; what is short for something, such as `CA`, stays as it is.
fn in_words(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let is_small = |place: usize| letters.get(place).is_some_and(|letter| !letter.is_ascii_uppercase());
    // A capital letter begins a word behind a small one, and before one.
    let begins = |place: &usize| *place > 0 && !is_small(*place) && (is_small(place - 1) || is_small(place + 1));
    let mut starts = vec![0];
    starts.extend((0..letters.len()).filter(begins));
    let ends = starts.iter().skip(1).copied().chain([letters.len()]);
    let words = starts.iter().zip(ends).map(|(start, end)| letters[*start..end].iter().collect::<String>());
    let is_short = |word: &str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    words.map(|word| if is_short(&word) { word } else { word.to_ascii_lowercase() }).collect::<Vec<_>>().join(" ")
}

/// An error with everything that caused it: libraries often name only the outermost layer.
pub(crate) fn causes(error: &dyn Error) -> String {
    let chain = std::iter::successors(Some(error), |error| (*error).source());
    let mut texts: Vec<_> = chain.map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::{AlertDescription, OtherError};

    use super::*;

    /// As the library names what it has no words for.
    #[derive(Debug, thiserror::Error)]
    #[error("CaUsedAsEndEntity")]
    struct Unnamed;

    #[test]
    fn why_a_handshake_failed_is_told_in_words() {
        let certificate = |error| io::Error::new(io::ErrorKind::InvalidData, rustls::Error::InvalidCertificate(error));
        let alert = rustls::Error::AlertReceived(AlertDescription::HandshakeFailure);
        for (error, told) in [
            (
                certificate(CertificateError::Other(OtherError(Arc::new(Unnamed)))),
                "invalid peer certificate: ca used as end entity",
            ),
            (
                io::Error::new(io::ErrorKind::InvalidData, rustls::Error::AlertReceived(AlertDescription::UnknownCA)),
                "received fatal alert: unknown CA",
            ),
            (
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    rustls::Error::AlertReceived(AlertDescription::UnknownPSKIdentity),
                ),
                "received fatal alert: unknown PSK identity",
            ),
            (certificate(CertificateError::UnknownIssuer), "invalid peer certificate: unknown issuer"),
            (io::Error::new(io::ErrorKind::InvalidData, alert), "received fatal alert: handshake failure"),
            (io::Error::new(io::ErrorKind::UnexpectedEof, "tls handshake eof"), "tls handshake eof"),
            (io::Error::other("it says: No, it does not"), "it says: No, it does not"),
        ] {
            assert_eq!(handshake_failure(&error), told);
        }
    }

    #[test]
    fn what_a_name_leads_to_is_withheld_and_nothing_else() {
        let inside = PostError::Special(IpAddr::from([10, 0, 0, 1]), "for private use (RFC 1918)");
        let told = PostError::NoAddress.withheld().to_string();
        for error in [inside, PostError::Lookup("Name or service not known".to_owned())] {
            assert_eq!(error.withheld().to_string(), told);
        }
        let refused = PostError::Connect("1.1.1.1: Connection refused".to_owned());
        assert_eq!(refused.withheld().to_string(), "cannot connect: 1.1.1.1: Connection refused");
    }
}
