//! Drafts of subscribers' certificates, after RFC 5280 and the Baseline Requirements (section 7.1.2.7).

use std::collections::BTreeSet;

use chancery_domain::Identifier;
use der::{Decode, flagset::FlagSet, referenced::OwnedToRef};
use spki::SubjectPublicKeyInfoOwned;
use x509_cert::{ext::pkix::KeyUsages, name::RdnSequence};

use crate::{
    draft::Draft,
    error::{IssuerError, NameError, PkiError},
    extensions,
    issuer::Issuer,
    key::SubscriberKey,
    names,
    profile::SubscriberProfile,
    serial::Serial,
    tbs::Contents,
    transparency,
    urls::IssuerUrls,
    validity::Validity,
};

/// What was agreed about a certificate: a draft is made of it, and held against it before it is signed.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// Who signs.
    pub issuer: &'a Issuer,
    /// How it is to look.
    pub profile: &'a SubscriberProfile,
    /// What it says about its issuer.
    pub urls: &'a IssuerUrls,
    /// The names that were validated, and no others. They never come from a request.
    pub names: &'a [Identifier],
    /// The subscriber's key.
    pub key: &'a SubscriberKey,
    /// The time of signing, in Unix seconds.
    pub now: i64,
}

impl Draft {
    /// Drafts a subscriber's certificate.
    ///
    /// The names stand in the subject alternative names, each once and sorted. Where the profile has a common name it
    /// is the one given, if that is among the names and short enough, else the first name that is short enough.
    ///
    /// Where the profile's certificates are shown to logs it is a draft of the precertificate.
    pub fn subscriber(
        terms: &Terms<'_>,
        validity: Validity,
        serial: Serial,
        common_name: Option<&Identifier>,
    ) -> Result<Self, PkiError> {
        let issuer_not_after = terms.issuer.not_after();
        if validity.not_after() > issuer_not_after {
            return Err(IssuerError::OutlivesIssuer { issuer_not_after }.into());
        }
        let names: BTreeSet<_> = terms.names.iter().collect();
        if names.is_empty() {
            return Err(NameError::NoNames.into());
        }
        let subject = match terms.profile.common_name.then(|| choose_common_name(terms.names, common_name)).flatten() {
            Some(name) => names::common_name(&name)?,
            None => RdnSequence::default(),
        };
        let spki = SubjectPublicKeyInfoOwned::from_der(terms.key.spki()).map_err(PkiError::Encoding)?;
        let (profile, urls) = (terms.profile, terms.urls);

        let purposes = profile.purposes.iter().map(|purpose| purpose.oid());
        let mut extensions =
            vec![extensions::key_usage(key_usages(profile, terms.key))?, extensions::purposes(purposes.collect())?];
        if profile.subject_key_id {
            extensions.push(extensions::subject_key_id(spki.owned_to_ref())?);
        }
        extensions.push(terms.issuer.authority_key_id()?);
        extensions.extend(extensions::authority_info(urls.ocsp.as_deref(), urls.ca_issuers.as_deref())?);
        // RFC 5280 section 4.2.1.6: critical where the subject is empty.
        extensions.push(extensions::names(names, subject.is_empty())?);
        if !profile.policies.is_empty() {
            extensions.push(extensions::policies(profile.policies.iter().map(|policy| policy.0).collect())?);
        }
        if let Some(shards) = &urls.crl {
            extensions.push(extensions::crl(&shards.url_of(&serial))?);
        }
        if profile.logs.is_some() {
            extensions.push(transparency::poison()?);
        }
        let contents = Contents { serial, issuer: terms.issuer.name(), validity, subject, spki, extensions };
        Ok(Self::new(contents.encode(terms.issuer.algorithm())?, serial, validity, profile.logs.is_some()))
    }
}

/// Signatures for every key; key encipherment only makes sense for RSA (Baseline Requirements section 7.1.2.7.11).
fn key_usages(profile: &SubscriberProfile, key: &SubscriberKey) -> FlagSet<KeyUsages> {
    if profile.key_encipherment && key.is_rsa() {
        KeyUsages::DigitalSignature | KeyUsages::KeyEncipherment
    } else {
        KeyUsages::DigitalSignature.into()
    }
}

fn choose_common_name(names: &[Identifier], wished: Option<&Identifier>) -> Option<String> {
    let fits = |name: &&Identifier| name.to_string().len() <= names::MAX_CHARACTERS;
    let wished = wished.filter(|wished| names.contains(wished)).filter(fits);
    wished.or_else(|| names.iter().find(fits)).map(ToString::to_string)
}
