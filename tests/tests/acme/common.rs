//! What the tests of ACME say often.

use chancery_tests::{AcmeClient, Reply, Tenant, World};
use serde_json::Value;

/// A reseller, the credential of its one account, and a client that it bound.
pub(crate) async fn stage(world: &World) -> (Tenant, Value, AcmeClient) {
    let tenant = world.tenant("DEMO").await;
    let credential = tenant.make_account("a@example.com").await;
    let client = AcmeClient::registered(world, &credential).await;
    (tenant, credential, client)
}

/// The detail of a problem document of this status and type.
#[track_caller]
pub(crate) fn problem(reply: &Reply, status: u16, kind: &str) -> String {
    assert_eq!(reply.status.as_u16(), status, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{}", reply.text());
    let body = reply.json();
    assert_eq!(body["type"], format!("urn:ietf:params:acme:error:{kind}"), "{body}");
    assert_eq!(body["status"], status);
    body["detail"].as_str().unwrap().to_owned()
}

/// The lookup at the end of a URL.
pub(crate) fn last(url: &str) -> &str {
    url.rsplit('/').next().unwrap()
}
