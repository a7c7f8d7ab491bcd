//! `/v1/policy`: issuance policies.

use std::fmt::Display;

use chancery_wire::{
    IssuancePolicy, IssuancePolicyRecord, PolicyEvaluation, PolicyEvaluationRequest, PolicyList, SuccessResponse,
};

use crate::client::Client;
use crate::error::Error;
use crate::page::{PageQuery, Pages};
use crate::path::route;
use crate::request::RawRequest;
use crate::response::Replayable;

/// Issuance policies, named by their `lookup`.
#[derive(Debug, Clone, Copy)]
pub struct Policies<'a> {
    pub(crate) client: &'a Client,
}

impl Policies<'_> {
    /// Creates a policy.
    pub async fn create(&self, request: &IssuancePolicy) -> Result<IssuancePolicyRecord, Error> {
        self.client.call(RawRequest::post(route!("/v1/policy")).json(request)).await?.json()
    }

    /// As [`create`](Self::create), but the same request with the same key makes one policy.
    pub async fn create_once(
        &self,
        request: &IssuancePolicy,
        key: &str,
    ) -> Result<Replayable<IssuancePolicyRecord>, Error> {
        let request = RawRequest::post(route!("/v1/policy")).json(request).idempotency_key(key);
        self.client.call(request).await?.replayable()
    }

    /// A policy.
    pub async fn get(&self, policy: impl Display) -> Result<IssuancePolicyRecord, Error> {
        self.client.call(RawRequest::get(route!("/v1/policy/{}", policy))).await?.json()
    }

    /// One page, newest first.
    pub async fn list(&self, page: PageQuery) -> Result<PolicyList, Error> {
        self.client.call(RawRequest::get(route!("/v1/policy")).query(&page.into())).await?.json()
    }

    /// All pages.
    pub fn list_all(&self, page: PageQuery) -> Pages<IssuancePolicyRecord> {
        Pages::new(self.client, route!("/v1/policy"), page)
    }

    /// Replaces a policy: rules that the request leaves out are gone.
    pub async fn update(&self, policy: impl Display, request: &IssuancePolicy) -> Result<IssuancePolicyRecord, Error> {
        self.client.call(RawRequest::put(route!("/v1/policy/{}", policy)).json(request)).await?.json()
    }

    /// Deletes a policy and takes it off its groups.
    pub async fn delete(&self, policy: impl Display) -> Result<SuccessResponse, Error> {
        self.client.call(RawRequest::delete(route!("/v1/policy/{}", policy))).await?.json()
    }

    /// What would happen to an order, without ordering.
    pub async fn evaluate(&self, request: &PolicyEvaluationRequest) -> Result<PolicyEvaluation, Error> {
        self.client.call(RawRequest::post(route!("/v1/policy/evaluate")).json(request)).await?.json()
    }
}
