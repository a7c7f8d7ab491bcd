//! What the macros of the operations leave unsaid, and the standard asks for.

use utoipa::openapi::path::Operation;
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Components, Content, Header, HeaderBuilder, ObjectBuilder, OpenApi, Ref, RefOr, Required, Type};

/// The headers of answers that no operation speaks of by itself, each described once.
const HEADERS: [(&str, Type, &str); 7] = [
    ("X-Request-Id", Type::String, "Names this exchange in our logs: the id that you sent, or one of ours"),
    ("RateLimit", Type::String, "What is left of the request rate: `r` requests, for the next `t` seconds"),
    ("RateLimit-Policy", Type::String, "The request rate that is granted: `q` requests in a window of `w` seconds"),
    ("Idempotency-Replayed", Type::String, "`true` where it is the answer to an earlier request with the same key"),
    ("Retry-After", Type::Integer, "Seconds to wait"),
    ("Link", Type::String, "With `rel=\"alternate\"`: another chain above the certificate, one a header"),
    ("Content-Disposition", Type::String, "With CSV: the name to keep it under"),
];

/// Describes every response (OpenAPI 3.1 requires it) by the schema of its body, declares the headers it has, and makes
/// a body that may be left out one that may not be `null`.
pub(crate) fn finish(document: &mut OpenApi) {
    let components = document.components.clone().unwrap_or_default();
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            describe_responses(operation, &components);
            declare_headers(operation);
            if let Some(RefOr::T(body)) = &mut operation.request_body {
                never_null(body);
            }
        }
    }
    let described = HEADERS.map(|(name, kind, description)| (name.to_owned(), RefOr::T(header(kind, description))));
    document.components.get_or_insert_default().headers.extend(described);
}

fn header(kind: Type, description: &str) -> Header {
    let value = ObjectBuilder::new().schema_type(kind).build();
    HeaderBuilder::new().schema(Some(value)).description(Some(description)).build()
}

fn describe_responses(operation: &mut Operation, components: &Components) {
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            let body = response.content.values().next().and_then(schema);
            let described = body.and_then(|body| description(body, components));
            response.description = described.or_else(|| operation.summary.clone()).unwrap_or_else(|| "Done".to_owned());
        }
    }
}

/// By what an operation takes and gives, so that a new one has its headers without a word.
fn declare_headers(operation: &mut Operation) {
    let responses = &mut operation.responses.responses;
    let is_limited = responses.contains_key("429");
    let takes_key = operation.parameters.iter().flatten().any(|parameter| match parameter {
        RefOr::T(parameter) => parameter.name == "Idempotency-Key",
        RefOr::Ref(_) => false,
    });
    let is_download = match responses.get("200") {
        Some(RefOr::T(response)) => response.content.contains_key("application/pem-certificate-chain"),
        Some(RefOr::Ref(_)) | None => false,
    };
    for (status, response) in responses {
        let RefOr::T(response) = response else { continue };
        let status = status.as_str();
        let succeeds = status.starts_with('2');
        // Who a caller is, is known before the rate is taken; an overload is told without asking.
        let tells_rate = is_limited && !matches!(status, "401" | "503");
        // Refusals that would be the same again are kept as well.
        let is_kept = succeeds || matches!(status, "400" | "404" | "409" | "410");
        let sent = [
            (true, "X-Request-Id"),
            (tells_rate, "RateLimit"),
            (tells_rate, "RateLimit-Policy"),
            (takes_key && is_kept, "Idempotency-Replayed"),
            (is_download && status == "202", "Retry-After"),
            (is_download && matches!(status, "200" | "404"), "Link"),
            (response.content.contains_key("text/csv"), "Content-Disposition"),
        ];
        for (_, name) in sent.into_iter().filter(|(is_sent, _)| *is_sent) {
            let described = RefOr::Ref(Ref::new(format!("#/components/headers/{name}")));
            response.headers.entry(name.to_owned()).or_insert(described);
        }
    }
}

fn never_null(body: &mut RequestBody) {
    for content in body.content.values_mut() {
        if let RefOr::T(content) = content
            && let Some(RefOr::T(Schema::OneOf(choice))) = &content.schema
            && let Some(only) = choice.items.iter().find(|item| matches!(item, RefOr::Ref(_)))
        {
            content.schema = Some(only.clone());
            body.required = Some(Required::False);
        }
    }
}

fn schema(content: &RefOr<Content>) -> Option<&RefOr<Schema>> {
    match content {
        RefOr::T(content) => content.schema.as_ref(),
        RefOr::Ref(_) => None,
    }
}

fn description(schema: &RefOr<Schema>, components: &Components) -> Option<String> {
    match schema {
        RefOr::Ref(reference) => {
            let name = reference.ref_location.rsplit('/').next()?;
            description(components.schemas.get(name)?, components)
        }
        RefOr::T(Schema::Object(object)) => object.description.clone(),
        RefOr::T(Schema::AllOf(all)) => all.description.clone(),
        RefOr::T(Schema::OneOf(one)) => one.description.clone(),
        RefOr::T(Schema::AnyOf(any)) => any.description.clone(),
        RefOr::T(Schema::Array(array)) => array.description.clone(),
        RefOr::T(_) => None,
    }
}
