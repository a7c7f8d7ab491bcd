//! What the tests of orders say often.

use std::time::Duration;

use chancery_domain::{ProblemKind, ValidationProblem};
use chancery_service::Report;
use chancery_tests::{Reply, Tenant, World, lookup};
use serde_json::Value;

/// A reseller and the lookup of its one account.
pub(crate) async fn stage(world: &World) -> (Tenant, String) {
    let tenant = world.tenant("DEMO").await;
    let account = lookup(&tenant.make_account("a@example.com").await);
    (tenant, account)
}

/// Lets time pass, and gets a token that is good afterwards.
pub(crate) async fn later(world: &World, tenant: &mut Tenant, by: Duration) {
    world.advance(by);
    tenant.sign_in().await;
}

/// So many days.
pub(crate) const fn days(count: u64) -> Duration {
    Duration::from_secs(count * 86_400)
}

/// One member of an object, which must be a text.
#[track_caller]
pub(crate) fn text(of: &Value, member: &str) -> String {
    of[member].as_str().unwrap_or_else(|| panic!("no {member} in {of}")).to_owned()
}

pub(crate) fn order_path(order: &Value) -> String {
    format!("/v1/order/{}", text(order, "lookup"))
}

pub(crate) fn finalize_path(order: &Value) -> String {
    format!("{}/finalize", order_path(order))
}

pub(crate) fn certificate_path(order: &Value) -> String {
    format!("/v1/certificate/{}", text(order, "certificateLookup"))
}

pub(crate) fn revocation_path(order: &Value) -> String {
    format!("/v1/certificates/{}/revocation", text(order, "lookup"))
}

/// The paths of the challenges of an order's authorization, whose codes are made where they are not yet.
pub(crate) async fn challenge_paths(tenant: &Tenant, order: &Value, place: usize) -> Vec<String> {
    let codes = tenant.codes(&lookup(&order["authorizations"][place])).await;
    codes.iter().map(|code| format!("/v1/challenge/{}", lookup(code))).collect()
}

/// An order that is being issued, with nobody at work on it.
pub(crate) async fn finalized(world: &World, tenant: &Tenant, account: &str, names: &[&str]) -> Value {
    let order = world.make_ready(tenant, account, names).await;
    tenant.post_empty(&finalize_path(&order)).await.expect(202)
}

/// Chooses the first challenge of an order's first authorization, and reports that nothing was found.
pub(crate) async fn fail_validation(world: &World, tenant: &Tenant, order: &Value) {
    let chosen = challenge_paths(tenant, order, 0).await.remove(0);
    let chosen = lookup(&tenant.post_empty(&chosen).await.expect(200)).parse().unwrap();
    let problem = ValidationProblem { kind: ProblemKind::Dns, detail: "there is no such name".to_owned() };
    let report = Report::new(Err(problem));
    world.services.validations.conclude(chosen, report).await.unwrap();
}

/// Every problem of a refusal, as `field code`, in the order in which they are told.
#[track_caller]
pub(crate) fn problems(reply: &Reply) -> Vec<String> {
    let body = reply.expect(400);
    let errors = body["errors"].as_array().unwrap_or_else(|| panic!("no list of problems in {body}"));
    errors.iter().map(|problem| format!("{} {}", text(problem, "field"), text(problem, "code"))).collect()
}

/// One member of each item of a list.
#[track_caller]
pub(crate) fn each(list: &Value, member: &str) -> Vec<String> {
    list["items"].as_array().expect("a list").iter().map(|item| text(item, member)).collect()
}
