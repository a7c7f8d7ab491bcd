//! `/v1/version`: which program answers.

use chancery_wire::Version;

use crate::client::Client;
use crate::error::Error;
use crate::path::route;
use crate::request::RawRequest;

impl Client {
    /// The program behind the API and its version. Needs no token and fetches none.
    pub async fn version(&self) -> Result<Version, Error> {
        self.call(RawRequest::get(route!("/v1/version")).without_token()).await?.json()
    }
}
