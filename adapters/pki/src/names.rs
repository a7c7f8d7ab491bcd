//! Names of certification authorities.

use chancery_domain::turns_text_around;
use der::{
    Tag,
    asn1::{Any, ObjectIdentifier, SetOfVec},
    oid::db::rfc4519::{COMMON_NAME, COUNTRY_NAME, ORGANIZATION_NAME},
};
use x509_cert::{
    attr::AttributeTypeAndValue,
    name::{RdnSequence, RelativeDistinguishedName},
};

use crate::{
    certificate::Certificate,
    error::{NameError, PkiError},
};

/// The most characters of an organization or a common name (RFC 5280 appendix A.1).
pub(crate) const MAX_CHARACTERS: usize = 64;

/// A CA's subject: country, organization, common name, in this order.
///
/// The Baseline Requirements (section 7.1.2.10.2) want all three.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaName {
    country: String,
    organization: String,
    common_name: String,
}

/// What stands in every certificate is read by people.
fn require_plain(text: &str) -> Result<(), NameError> {
    if text.chars().any(turns_text_around) { Err(NameError::Text(text.to_owned())) } else { Ok(()) }
}

impl CaName {
    /// Checks the parts: a country code of two capital letters (`XX` for none in particular), and
    /// 1 to 64 characters without control characters or blanks at the ends.
    pub fn new(country: &str, organization: &str, common_name: &str) -> Result<Self, NameError> {
        require_plain(organization)?;
        Self::within(country, organization, common_name)
    }

    /// The organization may be one that was taken earlier.
    fn within(country: &str, organization: &str, common_name: &str) -> Result<Self, NameError> {
        require_plain(common_name)?;
        if country.len() != 2 || !country.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(NameError::Country(country.to_owned()));
        }
        for text in [organization, common_name] {
            let plain = text.trim() == text && !text.chars().any(char::is_control);
            if !plain || !(1..=MAX_CHARACTERS).contains(&text.chars().count()) {
                return Err(NameError::Text(text.to_owned()));
            }
        }
        Ok(Self {
            country: country.to_owned(),
            organization: organization.to_owned(),
            common_name: common_name.to_owned(),
        })
    }

    /// The name of a CA beside another one: of the same country and organization.
    pub fn beside(other: &Certificate, common_name: &str) -> Result<Self, NameError> {
        let part = |oid| {
            let found = other.subject().iter().find(|attribute| attribute.oid == oid);
            found.map(|attribute| String::from_utf8_lossy(attribute.value.value()).into_owned()).unwrap_or_default()
        };
        Self::within(&part(COUNTRY_NAME), &part(ORGANIZATION_NAME), common_name)
    }

    /// The country as PrintableString, the others as UTF8String (RFC 5280 section 4.1.2.4).
    pub(crate) fn encode(&self) -> Result<RdnSequence, PkiError> {
        let mut name = RdnSequence::default();
        name.push(attribute(COUNTRY_NAME, Tag::PrintableString, &self.country)?);
        name.push(attribute(ORGANIZATION_NAME, Tag::Utf8String, &self.organization)?);
        name.push(attribute(COMMON_NAME, Tag::Utf8String, &self.common_name)?);
        Ok(name)
    }
}

/// A subscriber's subject: one of the certificate's names, as UTF8String (Baseline Requirements section 7.1.4.3).
pub(crate) fn common_name(name: &str) -> Result<RdnSequence, PkiError> {
    let mut subject = RdnSequence::default();
    subject.push(attribute(COMMON_NAME, Tag::Utf8String, name)?);
    Ok(subject)
}

fn attribute(oid: ObjectIdentifier, tag: Tag, text: &str) -> Result<RelativeDistinguishedName, PkiError> {
    let encode = || {
        let value = Any::new(tag, text.as_bytes())?;
        SetOfVec::try_from([AttributeTypeAndValue { oid, value }])
    };
    encode().map(RelativeDistinguishedName::from).map_err(PkiError::Encoding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_does_not_fit_is_named() {
        assert_eq!(CaName::new("xx", "O", "CN"), Err(NameError::Country("xx".to_owned())));
        assert_eq!(CaName::new("XXX", "O", "CN"), Err(NameError::Country("XXX".to_owned())));
        let long = "ä".repeat(65);
        for bad in ["", " O", "O ", "O\0", "O\nP", long.as_str()] {
            assert_eq!(CaName::new("XX", bad, "CN"), Err(NameError::Text(bad.to_owned())));
            assert_eq!(CaName::new("XX", "O", bad), Err(NameError::Text(bad.to_owned())));
        }
        assert!(CaName::new("XX", &"ä".repeat(64), "CN").is_ok());
    }

    #[test]
    fn text_is_taken_literally() {
        let name = CaName::new("XX", "Ex, Inc.+CN=evil", "#1 \\ \"Root\"").unwrap().encode().unwrap();
        assert_eq!(name.len(), 3);
        assert_eq!(name.to_string(), "CN=\\#1 \\\\ \\\"Root\\\",O=Ex\\, Inc.\\+CN=evil,C=XX");
    }
}
