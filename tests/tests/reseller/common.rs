//! What the tests of the reseller API say often.

use chancery_domain::{Scope, ScopeSet};
use chancery_tests::Reply;
use serde_json::Value;

/// The body of a refusal but for the name of the exchange, which is never the same twice.
#[track_caller]
pub(crate) fn unnamed(reply: &Reply) -> Value {
    let mut body = reply.json();
    let id = body.as_object_mut().expect("an object").remove("requestId");
    assert_eq!(id.as_ref().and_then(Value::as_str), reply.header("x-request-id"));
    body
}

/// Every problem of a refusal, as `field code`, in the order in which they are told.
#[track_caller]
pub(crate) fn problems(reply: &Reply) -> Vec<String> {
    let body = reply.expect(400);
    let said = |problem: &Value, member: &str| problem[member].as_str().expect("a text").to_owned();
    let errors = body["errors"].as_array().unwrap_or_else(|| panic!("no list of problems in {body}"));
    assert!(errors.iter().all(|problem| !said(problem, "message").is_empty()), "{body}");
    errors.iter().map(|problem| format!("{} {}", said(problem, "field"), said(problem, "code"))).collect()
}

/// A text as one segment of a path.
pub(crate) fn segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// The names of the members of an object, in the order of the alphabet.
#[track_caller]
pub(crate) fn members(object: &Value) -> Vec<&str> {
    let mut names: Vec<_> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// One member of each item of a list.
#[track_caller]
pub(crate) fn each(list: &Value, member: &str) -> Vec<Value> {
    list["items"].as_array().expect("a list").iter().map(|item| item[member].clone()).collect()
}

/// Just these scopes.
pub(crate) fn only(scopes: &[Scope]) -> ScopeSet {
    let names: Vec<_> = scopes.iter().map(|scope| scope.as_str()).collect();
    names.join(" ").parse().expect("scopes have names")
}
