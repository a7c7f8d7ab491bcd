//! The forms in which a request comes: PEM, base64, DER.

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD};

use super::MAX_CSR_BYTES;

pub(super) const LABEL: &str = "CERTIFICATE REQUEST";
const LABELS: [&str; 2] = [LABEL, "NEW CERTIFICATE REQUEST"];

/// Why something is not a certificate signing request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CsrError {
    /// Longer than [`MAX_CSR_BYTES`].
    #[error("the CSR is longer than {MAX_CSR_BYTES} bytes; ask for fewer names")]
    TooLarge,
    /// Empty.
    #[error("the CSR is empty; send it as PEM or as base64 of its DER")]
    Empty,
    /// PEM of something else.
    #[error("this is PEM of a {0:?}, not of a CERTIFICATE REQUEST; send the CSR")]
    OtherPem(String),
    /// A second one after the first.
    #[error("there is more than one CSR; send one")]
    Several,
    /// A private key. It was sent to someone who must not know it.
    #[error("this is a private key, which nobody but you should have; make a new key, and send the CSR only")]
    PrivateKey,
    /// Text that is neither PEM nor base64.
    #[error(
        "the CSR is neither PEM nor base64; it begins with -----BEGIN CERTIFICATE REQUEST-----, or is base64 of DER"
    )]
    Encoding,
    /// Bytes that are no CSR.
    #[error("the CSR is not a PKCS #10 request in DER ({0}); make it anew")]
    Der(&'static str),
}

impl CsrError {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLarge => "csr_too_large",
            Self::Empty | Self::OtherPem(_) | Self::Several | Self::PrivateKey | Self::Encoding | Self::Der(_) => {
                "malformed_csr"
            }
        }
    }
}

/// The DER inside.
pub(super) fn open(input: &[u8]) -> Result<Vec<u8>, CsrError> {
    if input.len() > MAX_CSR_BYTES {
        return Err(CsrError::TooLarge);
    }
    // A SEQUENCE begins with a byte that is the digit 0, with which no base64 of a SEQUENCE begins.
    if input.first() == Some(&0x30) {
        return Ok(input.to_vec());
    }
    let text = std::str::from_utf8(input).map_err(|_| CsrError::Encoding)?.trim();
    if text.is_empty() {
        return Err(CsrError::Empty);
    }
    match text.find("-----BEGIN ") {
        Some(begin) => pem(&text[begin..]),
        None => base64(text),
    }
}

/// The first block, which must be a request and the only one; text before and after it is passed over, as OpenSSL
/// writes some.
fn pem(text: &str) -> Result<Vec<u8>, CsrError> {
    // Wherever it stands: a key that was sent is not to be certified.
    if text.contains("PRIVATE KEY-----") {
        return Err(CsrError::PrivateKey);
    }
    let rest = &text["-----BEGIN ".len()..];
    let (label, rest) = rest.split_once("-----").ok_or(CsrError::Encoding)?;
    if !LABELS.contains(&label) {
        return Err(CsrError::OtherPem(label.chars().take(40).collect()));
    }
    let (body, rest) = rest.split_once("-----END ").ok_or(CsrError::Encoding)?;
    let (end, after) = rest.split_once("-----").ok_or(CsrError::Encoding)?;
    if end != label {
        return Err(CsrError::Encoding);
    }
    // Nobody could tell for which of them the certificate would be.
    if begins_request(after) {
        return Err(CsrError::Several);
    }
    base64(body)
}

fn begins_request(text: &str) -> bool {
    LABELS.iter().any(|label| text.contains(&format!("-----BEGIN {label}-----")))
}

fn base64(text: &str) -> Result<Vec<u8>, CsrError> {
    let text: String = text.chars().filter(|character| !character.is_ascii_whitespace()).collect();
    let forms = match (text.contains(['-', '_']), text.contains('=')) {
        (false, true) => BASE64,
        (false, false) => BASE64_NOPAD,
        (true, true) => BASE64URL,
        (true, false) => BASE64URL_NOPAD,
    };
    let der = forms.decode(text.as_bytes()).map_err(|_| CsrError::Encoding)?;
    if der.is_empty() { Err(CsrError::Empty) } else { Ok(der) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has `+` and `/` in its base64.
    const DER: &[u8] = b"\x30\x0a\xfb\xef\xbe\xff\xff\xff\x00\x01\x02\x03";

    #[test]
    fn every_form_is_opened() {
        let plain = BASE64.encode(DER);
        assert!(plain.contains(['+', '/']));
        for text in [
            plain.clone(),
            BASE64_NOPAD.encode(DER),
            BASE64URL.encode(DER),
            BASE64URL_NOPAD.encode(DER),
            format!("\r\n {} \n{}\n", &plain[..5], &plain[5..]),
            format!("-----BEGIN CERTIFICATE REQUEST-----\n{plain}\n-----END CERTIFICATE REQUEST-----\n"),
            format!("-----BEGIN NEW CERTIFICATE REQUEST-----\r\n{plain}\r\n-----END NEW CERTIFICATE REQUEST-----"),
            format!("text\n-----BEGIN CERTIFICATE REQUEST-----\n{plain}\n-----END CERTIFICATE REQUEST-----\nmore"),
        ] {
            assert_eq!(open(text.as_bytes()).as_deref(), Ok(DER), "{text}");
        }
        assert_eq!(open(DER).as_deref(), Ok(DER));
    }

    #[test]
    fn what_is_not_a_request_is_told_from_a_broken_one() {
        let error = |text: &str| open(text.as_bytes()).unwrap_err();
        assert_eq!(error(""), CsrError::Empty);
        assert_eq!(error(" \n"), CsrError::Empty);
        assert_eq!(error("!"), CsrError::Encoding);
        assert_eq!(open(&[0xff, 0xfe]).unwrap_err(), CsrError::Encoding);
        assert_eq!(error("-----BEGIN CERTIFICATE REQUEST-----"), CsrError::Encoding);
        assert_eq!(error("-----BEGIN CERTIFICATE REQUEST-----\nMAoA\n-----END CERTIFICATE-----"), CsrError::Encoding);
        let certificate = "-----BEGIN CERTIFICATE-----\nMAoA\n-----END CERTIFICATE-----";
        assert_eq!(error(certificate), CsrError::OtherPem("CERTIFICATE".to_owned()));
        assert_eq!(error("-----BEGIN PRIVATE KEY-----\nMAoA\n"), CsrError::PrivateKey);
        assert_eq!(error("-----BEGIN RSA PRIVATE KEY-----\nMAoA\n"), CsrError::PrivateKey);
        let request = format!("-----BEGIN {LABEL}-----\nMAoA\n-----END {LABEL}-----\n");
        assert_eq!(error(&format!("{request}-----BEGIN EC PRIVATE KEY-----\nMAoA\n")), CsrError::PrivateKey);
        assert_eq!(open(&vec![0x30; MAX_CSR_BYTES + 1]).unwrap_err(), CsrError::TooLarge);
    }

    #[test]
    fn of_two_requests_none_is_chosen() {
        let block = |label: &str| format!("-----BEGIN {label}-----\nMAoA\n-----END {label}-----\n");
        let [usual, new] = LABELS.map(block);
        for both in [usual.repeat(2), new.repeat(2), format!("{usual}{new}"), format!("{new}text\n{usual}")] {
            let error = open(both.as_bytes()).unwrap_err();
            assert_eq!((&error, error.code()), (&CsrError::Several, "malformed_csr"), "{both}");
        }
        // What comes after and is no request is passed over, as ever.
        let with_certificate = usual.clone() + &block("CERTIFICATE");
        assert_eq!(open(with_certificate.as_bytes()), open(usual.as_bytes()));
    }
}
