//! `/v1/certificates`, `/v1/certificate` and `/v1/validate-csr`.

use std::fmt::Display;

use bytes::Bytes;
use chancery_wire::{
    CertificateMetadata, CertificateSummaryList, CertificateWithChain, Order, ResellerRevokeCertificateRequest,
    ResellerValidateCsrRequest,
};
use http::StatusCode;

use crate::client::Client;
use crate::error::Error;
use crate::page::Pages;
use crate::path::route;
use crate::query::Query;
use crate::request::RawRequest;

/// Certificates, named by their `lookup`; revoked by that of their order.
#[derive(Debug, Clone, Copy)]
pub struct Certificates<'a> {
    pub(crate) client: &'a Client,
}

/// Which certificates to list, and which page of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateQuery {
    /// Only certificates of the customer with this e-mail address.
    pub customer_email: Option<String>,
    /// Only certificates of this root account.
    pub account_lookup: Option<String>,
    /// Only certificates of this EAB credential.
    pub eab_kid: Option<String>,
    /// One status, or several with commas between.
    pub certificate_status: Option<String>,
    /// Only certificates for this name.
    pub name: Option<String>,
    /// Only certificates of this profile.
    pub profile: Option<String>,
    /// Only the certificate with this serial number, in hexadecimal.
    pub serial: Option<String>,
    /// Only certificates that end before this time (RFC 3339).
    pub expires_before: Option<String>,
    /// Only certificates that end at this time or later (RFC 3339).
    pub expires_after: Option<String>,
    /// Only certificates of the order with this reference of the reseller's own.
    pub external_id: Option<String>,
    /// Most items in a page: 1 to 1000, 100 where it is left out.
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; the first page where it is left out.
    pub cursor: Option<String>,
}

impl From<CertificateQuery> for Query {
    fn from(query: CertificateQuery) -> Self {
        Self::default()
            .with("customer_email", query.customer_email)
            .with("account_lookup", query.account_lookup)
            .with("eab_kid", query.eab_kid)
            .with("certificate_status", query.certificate_status)
            .with("name", query.name)
            .with("profile", query.profile)
            .with("serial", query.serial)
            .with("expires_before", query.expires_before)
            .with("expires_after", query.expires_after)
            .with("external_id", query.external_id)
            .with("limit", query.limit)
            .with("cursor", query.cursor)
    }
}

/// What came of asking for a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// Here it is.
    Issued(Box<CertificateWithChain>),
    /// Not issued yet: where its order stands.
    Pending(Box<Order>),
}

/// The forms that a certificate can be downloaded in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateForm {
    /// The certificate and the chain above it, in PEM.
    Pem,
    /// The certificate alone, in DER.
    Der,
    /// The certificate and the chain above it, as PKCS #7.
    Pkcs7,
    /// What is known of it, with certificate and chain in PEM.
    Json,
}

impl CertificateForm {
    const fn media_type(self) -> &'static str {
        match self {
            Self::Pem => "application/pem-certificate-chain",
            Self::Der => "application/pkix-cert",
            Self::Pkcs7 => "application/pkcs7-mime",
            Self::Json => "application/json",
        }
    }
}

/// What came of a download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Downloaded {
    /// The bytes, in the form that was asked for.
    Issued(Bytes),
    /// Not issued yet: where its order stands.
    Pending(Box<Order>),
}

/// What came of a revocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revoked {
    /// It is revoked from now on.
    Accepted(Box<CertificateMetadata>),
    /// It was already.
    AlreadyAccepted(Box<Order>),
}

impl Certificates<'_> {
    /// One page, newest first.
    pub async fn list(&self, query: CertificateQuery) -> Result<CertificateSummaryList, Error> {
        self.client.call(RawRequest::get(route!("/v1/certificates")).query(&query.into())).await?.json()
    }

    /// All pages.
    pub fn list_all(&self, query: CertificateQuery) -> Pages<CertificateMetadata> {
        Pages::new(self.client, route!("/v1/certificates"), query)
    }

    /// A certificate with its chain, or where it stands.
    pub async fn get(&self, certificate: impl Display) -> Result<Fetched, Error> {
        let response = self.client.call(RawRequest::get(route!("/v1/certificate/{}", certificate))).await?;
        if response.status == StatusCode::ACCEPTED {
            return Ok(Fetched::Pending(Box::new(response.json()?)));
        }
        Ok(Fetched::Issued(Box::new(response.json()?)))
    }

    /// A certificate in one of its forms, with the usual chain or with another one, by its number.
    pub async fn download(
        &self,
        certificate: impl Display,
        form: CertificateForm,
        chain: Option<u32>,
    ) -> Result<Downloaded, Error> {
        let request = RawRequest::get(route!("/v1/certificate/{}", certificate));
        let request = request.query(&Query::default().with("chain", chain)).accept(form.media_type());
        let response = self.client.call(request).await?;
        if response.status == StatusCode::ACCEPTED {
            return Ok(Downloaded::Pending(Box::new(response.json()?)));
        }
        Ok(Downloaded::Issued(response.body))
    }

    /// Revokes the certificate of an order. Asking again is fine.
    pub async fn revoke(
        &self,
        order: impl Display,
        request: &ResellerRevokeCertificateRequest,
    ) -> Result<Revoked, Error> {
        let path = route!("/v1/certificates/{}/revocation", order);
        let response = self.client.call(RawRequest::post(path).json(request)).await?;
        if response.status == StatusCode::ALREADY_REPORTED {
            return Ok(Revoked::AlreadyAccepted(Box::new(response.json()?)));
        }
        Ok(Revoked::Accepted(Box::new(response.json()?)))
    }

    /// What stands against a CSR, one problem a line; nothing where it would be accepted.
    pub async fn validate_csr(&self, request: &ResellerValidateCsrRequest) -> Result<Option<String>, Error> {
        let response = self.client.raw(RawRequest::post(route!("/v1/validate-csr")).json(request)).await?;
        match response.status {
            StatusCode::OK => Ok(None),
            StatusCode::BAD_REQUEST => Ok(Some(response.text().into_owned())),
            _ => Err(response.unexpected("neither valid nor invalid")),
        }
    }
}
