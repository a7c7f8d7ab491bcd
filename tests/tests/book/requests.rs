//! The requests that pages name between backticks, such as `GET /v1/order?external_id=…`, are operations of the interface.

use std::fs;

use serde_json::Value;

use crate::{none, pages, root};

/// Said of what is not there: the example of how to add an operation.
const IMAGINED: [&str; 1] = ["POST /v1/policy/{lookup}/copy"];

#[test]
fn every_request_that_is_named_is_an_operation_with_its_parameters() {
    let document: Value = serde_json::from_slice(&fs::read(root().join("docs/openapi.json")).unwrap()).unwrap();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (path, page) in pages() {
        for (place, span) in page.spans.iter().enumerate().filter(|(_, span)| !IMAGINED.contains(&span.as_str())) {
            let Some((method, target)) = request(span) else { continue };
            count += 1;
            let next = page.spans.get(place + 1).map_or("", String::as_str);
            let problems = match no_operation(&document, method, target) {
                Some(problem) => vec![problem],
                None => unknown_members(&document, method, target, next),
            };
            wrong.extend(problems.into_iter().map(|what| format!("{path}: `{span}`: {what}")));
        }
    }
    assert!(count > 30, "only {count} requests were found");
    none(&wrong);
}

#[test]
fn a_request_that_is_none_is_found() {
    let document = serde_json::json!({"paths": {
        "/v1/a/{lookup}": {"get": {"parameters": [{"name": "limit", "in": "query"}]}},
        "/v1/a/most": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/most"}}}}}},
    }, "most": {"properties": {"a": {}}}});
    let tell = |span| request(span).map(|(method, target)| no_operation(&document, method, target).is_none());
    assert_eq!(tell("GET /v1/a/{id}?limit=…"), Some(true));
    assert_eq!(tell("POST /v1/a/most"), Some(true));
    for wrong in ["GET /v1/b/{id}", "GET /v1/a", "POST /v1/a/{id}", "GET /v1/a/{id}?from=…", "GET /v1/a/b"] {
        assert_eq!(tell(wrong), Some(false), "{wrong}");
    }
    assert_eq!(tell("GET it"), None);
    assert_eq!(unknown_members(&document, "POST", "/v1/a/most", "{\"a\": 1}"), [""; 0]);
    assert_eq!(unknown_members(&document, "POST", "/v1/a/most", "{\"b\": 1}").len(), 1);
}

/// Method and target. Only the reseller's interface is in the document.
fn request(span: &str) -> Option<(&str, &str)> {
    let (method, target) = span.split_once(' ')?;
    (["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method) && target.starts_with("/v1/"))
        .then_some((method, target))
}

fn no_operation(document: &Value, method: &str, target: &str) -> Option<String> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let known = document["paths"].as_object().unwrap();
    let Some((_, found)) = known.iter().find(|(known, _)| is_same(known, path)) else {
        return Some(format!("there is no {path}"));
    };
    let operation = &found[method.to_lowercase()];
    if operation.is_null() {
        return Some(format!("there is no {method}"));
    }
    let names = || operation["parameters"].as_array().into_iter().flatten().map(|one| &one["name"]);
    let asked = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split('=').next().unwrap());
    asked
        .into_iter()
        .find(|name| !names().any(|known| known == name))
        .map(|name| format!("there is no parameter {name}"))
}

/// Members of a body that the operation does not know: `PATCH /v1/account/{lookup}` with `{"suspended": true}`.
fn unknown_members(document: &Value, method: &str, target: &str, body: &str) -> Vec<String> {
    let Ok(Value::Object(members)) = serde_json::from_str(body) else { return Vec::new() };
    let path = target.split('?').next().unwrap();
    let operations = document["paths"].as_object().unwrap().iter().find(|(known, _)| is_same(known, path)).unwrap().1;
    let schema = &operations[method.to_lowercase()]["requestBody"]["content"]["application/json"]["schema"];
    let schema = schema["$ref"].as_str().and_then(|name| document.pointer(&name[1..])).unwrap_or(schema);
    let unknown = members.keys().filter(|name| schema["properties"][name.as_str()].is_null());
    unknown.map(|name| format!("its body has no {name}")).collect()
}

/// What is in braces may be called otherwise; what is not may not.
fn is_same(known: &str, path: &str) -> bool {
    let (known, path): (Vec<_>, Vec<_>) = (known.split('/').collect(), path.split('/').collect());
    let same = |(known, part): (&&str, &&str)| known == part || (known.starts_with('{') && part.starts_with('{'));
    known.len() == path.len() && known.iter().zip(&path).all(same)
}
