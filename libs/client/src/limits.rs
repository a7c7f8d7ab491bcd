//! `/v1/limits`: what the reseller may do, and what is left of it.

use chancery_wire::LimitOverview;

use crate::client::Client;
use crate::error::Error;
use crate::path::route;
use crate::request::RawRequest;

impl Client {
    /// The limits that hold the reseller and its customers.
    pub async fn limits(&self) -> Result<LimitOverview, Error> {
        self.call(RawRequest::get(route!("/v1/limits"))).await?.json()
    }
}
