//! The OpenAPI document: it has what the interface promises, it is sound, and the copy in the repository is fresh.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::collections::{BTreeMap, BTreeSet};

use chancery_domain::{EventType, Scope};
use chancery_tests::{VERSION, World};
use serde_json::{Value, json};

/// The schemas that the interface names.
const SCHEMAS: &[&str] = &[
    "Account",
    "AccountGroupList",
    "AccountGroupMemberList",
    "AccountGroupRecord",
    "AccountList",
    "AccountWithGroups",
    "Authorization",
    "CertificateMetadata",
    "CertificateSummaryList",
    "Challenge",
    "Challenges",
    "EABAuthorization",
    "EabCredentialList",
    "ErrorResponse",
    "IssuancePolicy",
    "IssuancePolicyRecord",
    "Order",
    "PolicyList",
    "ResellerAccountGroupMembersRequest",
    "ResellerAccountGroupRequest",
    "ResellerAccountRequest",
    "ResellerOrderRequest",
    "ResellerRevokeCertificateRequest",
    "ResellerUpdateAccountRequest",
    "ResellerValidateCsrRequest",
    "SuccessResponse",
];

/// The operations that the interface names: request and success bodies, and every status it lists.
const OPERATIONS: &[(&str, &str, &str, &str, &[u16])] = &[
    ("get", "/v1/policy", "", "PolicyList", &[200, 401, 403]),
    ("post", "/v1/policy", "IssuancePolicy", "IssuancePolicyRecord", &[200, 400, 401, 403]),
    ("get", "/v1/policy/{lookup}", "", "IssuancePolicyRecord", &[200, 401, 403, 404]),
    ("put", "/v1/policy/{lookup}", "IssuancePolicy", "IssuancePolicyRecord", &[200, 400, 401, 403, 404]),
    ("delete", "/v1/policy/{lookup}", "", "SuccessResponse", &[200, 401, 403, 404]),
    ("get", "/v1/account-group", "", "AccountGroupList", &[200, 401, 403]),
    ("post", "/v1/account-group", "ResellerAccountGroupRequest", "AccountGroupRecord", &[200, 400, 401, 403]),
    ("get", GROUP, "", "AccountGroupRecord", &[200, 401, 403, 404]),
    ("put", GROUP, "ResellerAccountGroupRequest", "AccountGroupRecord", &[200, 400, 401, 403, 404]),
    ("delete", GROUP, "", "SuccessResponse", &[200, 401, 403, 404]),
    ("post", ASSIGNMENT, "", "SuccessResponse", &[200, 401, 403, 404]),
    ("delete", ASSIGNMENT, "", "SuccessResponse", &[200, 401, 403, 404]),
    ("get", MEMBERS, "", "AccountGroupMemberList", &[200, 401, 403, 404]),
    ("post", MEMBERS, "ResellerAccountGroupMembersRequest", "SuccessResponse", &[200, 400, 401, 403, 404]),
    ("delete", MEMBERS, "ResellerAccountGroupMembersRequest", "SuccessResponse", &[200, 400, 401, 403, 404]),
    ("patch", MOVE, "ResellerAccountGroupMembersRequest", "SuccessResponse", &[200, 400, 401, 403, 404]),
    ("get", "/v1/account", "", "AccountList", &[200, 401, 403]),
    ("post", "/v1/account", "ResellerAccountRequest", "Account", &[201, 401, 403, 404, 409]),
    ("get", "/v1/account/{lookup}", "", "AccountWithGroups", &[200, 401, 403, 404]),
    ("delete", "/v1/account/{lookup}", "", "SuccessResponse", &[200, 401, 403, 404]),
    (
        "patch",
        "/v1/account/{lookup}",
        "ResellerUpdateAccountRequest",
        "SuccessResponse",
        &[200, 400, 401, 403, 404, 409],
    ),
    ("get", "/v1/account/{lookup}/eab-credential", "", "EabCredentialList", &[200, 401, 403, 404]),
    ("post", "/v1/account/{lookup}/eab-credential", "", "EABAuthorization", &[201, 401, 403, 404]),
    ("get", "/v1/eab-credential", "", "EabCredentialList", &[200, 401, 403]),
    ("get", "/v1/eab-credential/{kid}", "", "Account", &[200, 401, 403, 404]),
    ("delete", "/v1/eab-credential/{kid}", "", "SuccessResponse", &[200, 401, 403, 404]),
    ("post", "/v1/order", "ResellerOrderRequest", "Order", &[201, 400, 404, 410]),
    ("get", "/v1/order/{order_lookup}", "", "Order", &[200, 404, 410]),
    ("delete", "/v1/order/{order_lookup}", "", "Order", &[200, 404, 410]),
    ("post", "/v1/order/{order_lookup}/finalize", "", "Order", &[202, 208, 404, 410]),
    ("post", "/v1/authz/{auth_lookup}/challenges", "", "Challenges", &[200, 401, 403, 404]),
    ("post", "/v1/challenge/{challenge_lookup}", "", "Challenge", &[200, 401, 403, 404, 410]),
    ("delete", "/v1/challenge/{challenge_lookup}", "", "Authorization", &[200, 401, 403, 404, 410]),
    ("get", "/v1/certificates", "", "CertificateSummaryList", &[200, 401]),
    ("post", REVOCATION, "ResellerRevokeCertificateRequest", "CertificateMetadata", &[202, 208, 400, 401, 403, 404]),
];

const REVOCATION: &str = "/v1/certificates/{order_lookup}/revocation";
const GROUP: &str = "/v1/account-group/{group_lookup}";
const ASSIGNMENT: &str = "/v1/account-group/{group_lookup}/policy/{policy_lookup}";
const MEMBERS: &str = "/v1/account-group/{group_lookup}/member";
const MOVE: &str = "/v1/account-group/{origin_group_lookup}/{destination_group_lookup}/member";

/// Operations that need no token.
const OPEN: &[&str] = &["get /v1/version"];

fn text() -> String {
    chancery_reseller::openapi().to_pretty_json().unwrap() + "\n"
}

fn document() -> Value {
    serde_json::from_str(&text()).unwrap()
}

/// Every operation, by `method path`.
fn operations(document: &Value) -> BTreeMap<String, Value> {
    let paths = document["paths"].as_object().unwrap().iter();
    let of_path = |(path, item): (&String, &Value)| {
        let operations = item.as_object().unwrap().clone().into_iter();
        let path = path.clone();
        operations.map(move |(method, operation)| (format!("{method} {path}"), operation))
    };
    paths.flat_map(of_path).collect()
}

fn schema_of(content: &Value) -> &str {
    let reference = content["application/json"]["schema"]["$ref"].as_str().unwrap_or_default();
    reference.rsplit('/').next().unwrap_or_default()
}

/// Everything under a value, with its place.
fn walk<'a>(value: &'a Value, place: &str, visit: &mut impl FnMut(&str, &'a Value)) {
    visit(place, value);
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| walk(member, &format!("{place}/{name}"), visit));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| walk(item, &format!("{place}/{n}"), visit))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_schemas_of_the_interface_have_their_names() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for name in SCHEMAS {
        assert!(schemas.contains_key(*name), "{name} is missing");
    }
}

#[test]
fn every_operation_of_the_interface_has_its_bodies_and_every_status() {
    let operations = operations(&document());
    for (method, path, request, success, statuses) in OPERATIONS {
        let operation =
            operations.get(&format!("{method} {path}")).unwrap_or_else(|| panic!("{method} {path} is missing"));
        let responses = operation["responses"].as_object().unwrap();
        for status in *statuses {
            assert!(responses.contains_key(&status.to_string()), "{method} {path}: {status} is missing");
        }
        assert_eq!(schema_of(&responses[&statuses[0].to_string()]["content"]), *success, "{method} {path}");
        if !request.is_empty() {
            assert_eq!(schema_of(&operation["requestBody"]["content"]), *request, "{method} {path}");
            assert_eq!(operation["requestBody"]["required"], true, "{method} {path}");
        }
    }
}

#[test]
fn refusals_are_plain_strings_or_error_responses() {
    for (name, operation) in operations(&document()) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let content = &response["content"];
            match status.as_str() {
                "200" | "400" if name == "post /v1/validate-csr" => {
                    assert_eq!(content["text/plain"]["schema"], json!({"type": "string"}), "{name} {status}")
                }
                "401" | "403" => {
                    assert_eq!(content["text/plain"]["schema"], json!({"type": "string"}), "{name} {status}")
                }
                _ if status.starts_with('2') => {
                    assert!(content["application/json"]["schema"].is_object(), "{name} {status}")
                }
                _ => {
                    assert_eq!(schema_of(content), "ErrorResponse", "{name} {status}");
                    let example = &content["application/json"]["example"];
                    assert_eq!(example["status"].to_string(), *status, "{name}");
                    assert!(example["code"].is_string() && example["message"].is_string(), "{name} {status}");
                }
            }
            assert!(
                response["description"].as_str().is_some_and(|text| !text.is_empty()),
                "{name} {status} says nothing"
            );
        }
    }
}

#[test]
fn the_headers_that_are_sent_are_declared() {
    let operations = operations(&document());
    for (name, operation) in &operations {
        let is_open = OPEN.contains(&name.as_str());
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let takes_key = parameters.iter().any(|parameter| parameter["name"] == "Idempotency-Key");
        for (status, response) in operation["responses"].as_object().unwrap() {
            let is_declared = |header: &str| response["headers"].get(header).is_some();
            let succeeds = status.starts_with('2');
            assert!(is_declared("X-Request-Id"), "{name} {status}");
            for header in ["RateLimit", "RateLimit-Policy"] {
                assert_eq!(
                    is_declared(header),
                    !is_open && status != "401" && status != "503",
                    "{name} {status} {header}"
                );
            }
            if succeeds {
                assert_eq!(is_declared("Idempotency-Replayed"), takes_key, "{name} {status}");
            }
            let as_csv = response["content"].get("text/csv").is_some();
            assert_eq!(is_declared("Content-Disposition"), as_csv, "{name} {status}");
        }
    }
    for name in ["get /v1/certificate/{certificate_lookup}", "get /certificate/{certificate_lookup}"] {
        for (status, header) in [("200", "Link"), ("202", "Retry-After"), ("404", "Link")] {
            let declared = &operations[name]["responses"][status]["headers"][header];
            assert_eq!(declared["$ref"], format!("#/components/headers/{header}"), "{name} {status}");
        }
    }
}

#[test]
fn every_type_of_event_is_listed() {
    let operations = operations(&document());
    let parameters = operations["get /v1/event"]["parameters"].as_array().unwrap();
    let parameter = parameters.iter().find(|parameter| parameter["name"] == "type").unwrap();
    let described = parameter["description"].as_str().unwrap();
    for kind in EventType::ALL {
        assert!(described.contains(&format!("`{kind}`")), "{kind} is missing");
    }
}

#[test]
fn every_operation_but_the_open_ones_needs_the_reseller_scope_and_one_more() {
    let document = document();
    let scheme = &document["components"]["securitySchemes"]["OAuth2Reseller"];
    assert_eq!(scheme["type"], "oauth2");
    let flow = &scheme["flows"]["clientCredentials"];
    assert_eq!(flow["tokenUrl"], "/oauth/token");
    let scopes: BTreeSet<_> = flow["scopes"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(scopes, Scope::ALL.iter().map(|scope| scope.as_str()).collect());
    for (name, operation) in operations(&document) {
        if OPEN.contains(&name.as_str()) {
            assert_eq!(operation["security"], json!([{}]), "{name}");
            continue;
        }
        let [requirement] = &operation["security"].as_array().unwrap()[..] else {
            panic!("{name}: not one requirement")
        };
        let needed = requirement["OAuth2Reseller"].as_array().unwrap_or_else(|| panic!("{name}: another scheme"));
        assert_eq!((needed.len(), &needed[0]), (2, &json!("reseller")), "{name}");
        assert!(scopes.contains(needed[1].as_str().unwrap()), "{name}: {}", needed[1]);
    }
}

#[test]
fn every_operation_has_a_name_of_its_own_a_summary_and_a_tag_that_is_described() {
    let document = document();
    let tags: BTreeSet<_> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    let mut names = BTreeSet::new();
    for (name, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap().to_owned();
        assert!(names.insert(id), "{name}: its operationId is taken");
        assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
        let [tag] = &operation["tags"].as_array().unwrap()[..] else { panic!("{name}: not one tag") };
        assert!(tags.contains(tag.as_str().unwrap()), "{name}: {tag}");
    }
}

#[test]
fn parameters_are_strings_and_those_of_the_path_are_required() {
    for (name, operation) in operations(&document()) {
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        for parameter in &parameters {
            assert_eq!(parameter["schema"]["type"], "string", "{name}: {}", parameter["name"]);
            assert_eq!(parameter["required"], parameter["in"] == "path", "{name}: {}", parameter["name"]);
        }
        let described: Vec<_> = parameters.iter().filter(|parameter| parameter["in"] == "path").collect();
        let in_path: Vec<_> = name.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        let names: Vec<_> = described.iter().map(|parameter| parameter["name"].as_str().unwrap()).collect();
        assert_eq!(names, in_path, "{name}");
        if name.starts_with("get ") && operation["responses"]["200"]["content"].to_string().contains("List\"") {
            for wanted in ["limit", "cursor"] {
                assert!(parameters.iter().any(|parameter| parameter["name"] == wanted), "{name}: no {wanted}");
            }
        }
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_referred_to() {
    let document = document();
    let mut targets = BTreeSet::new();
    walk(&document, "", &mut |place, value| {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{place}: {reference} is elsewhere"));
            assert!(document.pointer(pointer).is_some(), "{place}: {reference} leads nowhere");
            targets.insert(pointer.rsplit('/').next().unwrap().to_owned());
        }
    });
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(targets.contains(name), "nothing refers to {name}");
    }
}

#[test]
fn only_the_parent_of_an_account_is_ever_null() {
    let document = document();
    let mut nullable = Vec::new();
    walk(&document, "", &mut |place, value| {
        let null = json!("null");
        if value
            .get("type")
            .is_some_and(|kind| *kind == null || kind.as_array().is_some_and(|kinds| kinds.contains(&null)))
        {
            nullable.push(place.to_owned());
        }
    });
    assert_eq!(nullable, ["/components/schemas/Account/properties/parent"]);
}

#[test]
fn requests_refuse_what_they_do_not_know_and_errors_have_a_closed_list_of_codes() {
    let document = document();
    for (name, operation) in operations(&document) {
        let schema = schema_of(&operation["requestBody"]["content"]);
        if !schema.is_empty() {
            assert_eq!(document["components"]["schemas"][schema]["additionalProperties"], false, "{name}");
        }
    }
    let codes = document["components"]["schemas"]["ErrorCode"]["enum"].as_array().unwrap();
    let known: Vec<_> = chancery_wire::ErrorCode::ALL.iter().map(|code| json!(code.as_str())).collect();
    assert_eq!(*codes, known);
}

#[tokio::test]
async fn the_document_is_served_as_it_is_and_says_which_interface_it_follows() {
    let world = World::sqlite().await;
    let served = world.stranger().get("/openapi.json").await;
    assert_eq!(served.header("content-type"), Some("application/json"));
    assert_eq!(served.expect(200), document());
    let version = world.stranger().get("/v1/version").await.expect(200);
    assert_eq!(version["version"], VERSION);
    assert_eq!(document()["info"]["version"], env!("CARGO_PKG_VERSION"), "it is the same for every build");
    assert_eq!(document()["openapi"], "3.1.0");
    assert!(document()["info"]["description"].as_str().unwrap().contains("1.0.155"));
}

/// `UPDATE_OPENAPI=1 cargo test -p chancery-tests --test openapi` writes the copy anew.
#[test]
fn the_copy_in_the_repository_is_fresh() {
    let copy = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/openapi.json");
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&copy, text()).unwrap();
    }
    let kept = std::fs::read_to_string(&copy).unwrap_or_default();
    let line = kept.lines().zip(text().lines()).position(|(kept, made)| kept != made);
    let hint = "run UPDATE_OPENAPI=1 cargo test -p chancery-tests --test openapi";
    assert!(kept == text(), "docs/openapi.json is not what the code says, from line {line:?} on (from 0): {hint}");
}
