//! `/v1/usage` and `/v1/diagnose`: what was issued, and what would be.

use chancery_wire::{DiagnosisReport, DiagnosisRequest, UsageReport};

use crate::client::Client;
use crate::error::Error;
use crate::path::route;
use crate::query::Query;
use crate::request::RawRequest;

/// Which certificates are counted, and by what; what is left out is as the operation says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageQuery {
    /// The first day, such as `2026-11-01`.
    pub from: Option<String>,
    /// The last day.
    pub to: Option<String>,
    /// Some of `day`, `account`, `group` and `profile`, with commas between.
    pub by: Option<String>,
    /// Only those of this account.
    pub account: Option<String>,
    /// Only those of this profile.
    pub profile: Option<String>,
}

impl Client {
    /// How many certificates were issued.
    pub async fn usage(&self, query: &UsageQuery) -> Result<UsageReport, Error> {
        self.call(RawRequest::get(route!("/v1/usage")).query(&query.into())).await?.json()
    }

    /// What would happen to names, without ordering.
    pub async fn diagnose(&self, request: &DiagnosisRequest) -> Result<DiagnosisReport, Error> {
        self.call(RawRequest::post(route!("/v1/diagnose")).json(request)).await?.json()
    }
}

impl From<&UsageQuery> for Query {
    fn from(query: &UsageQuery) -> Self {
        let UsageQuery { from, to, by, account, profile } = query.clone();
        Self::default()
            .with("from", from)
            .with("to", to)
            .with("by", by)
            .with("account_lookup", account)
            .with("profile", profile)
    }
}
