//! What the macros of the operations leave unsaid, and the standard asks for.

use utoipa::openapi::path::Operation;
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Components, Content, OpenApi, RefOr, Required};

/// Describes every response (OpenAPI 3.1 requires it) by the schema of its body, and makes a body that may be left out
/// one that may not be `null`.
pub(crate) fn finish(document: &mut OpenApi) {
    let components = document.components.clone().unwrap_or_default();
    for item in document.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            describe_responses(operation, &components);
            if let Some(RefOr::T(body)) = &mut operation.request_body {
                never_null(body);
            }
        }
    }
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
