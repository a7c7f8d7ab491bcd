//! What the tests of events say often.

use chancery_tests::Tenant;
use serde_json::Value;

/// One page of the feed.
pub(crate) async fn page(tenant: &Tenant, query: &str) -> Value {
    tenant.get(&format!("/v1/event?{query}")).await.expect(200)
}

/// The types of the events of a page.
pub(crate) fn types(page: &Value) -> Vec<String> {
    texts(page, "type")
}

/// One member of each event.
pub(crate) fn texts(page: &Value, member: &str) -> Vec<String> {
    let items = page["items"].as_array().expect("a list").iter();
    items.map(|event| event[member].as_str().unwrap_or_else(|| panic!("no {member} in {event}")).to_owned()).collect()
}

/// All types, in the order of commits.
pub(crate) async fn history(tenant: &Tenant) -> Vec<String> {
    types(&page(tenant, "order=oldest&limit=1000").await)
}
