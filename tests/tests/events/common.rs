//! What the tests of events say often.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chancery_tests::Tenant;
use serde_json::Value;

/// One page of the feed.
pub(crate) async fn page(tenant: &Tenant, query: &str) -> Value {
    tenant.get(&format!("/v1/event?{query}")).await.expect(200)
}

/// The first page of the feed in the order of commits, with all that there is. On PostgreSQL what was committed last may not be
/// told for a moment: a unit that was refused before is still being rolled back.
pub(crate) async fn whole(tenant: &Tenant, query: &str) -> Value {
    let ids = |page: &Value| texts(page, "id").into_iter().collect::<BTreeSet<_>>();
    let began = Instant::now();
    loop {
        let (all, told) = (page(tenant, query).await, page(tenant, &format!("{query}&order=oldest")).await);
        if ids(&all) == ids(&told) || began.elapsed() > Duration::from_secs(10) {
            return told;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
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
    types(&whole(tenant, "limit=1000").await)
}
