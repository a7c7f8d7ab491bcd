//! How the pairs of a reseller's own are described in requests.

use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

/// Of pairs that come with something new.
pub(crate) fn pairs() -> Object {
    described("At most 16 pairs of your own.")
}

/// Of pairs that come with a change.
pub(crate) fn all_pairs() -> Object {
    described("Replaces all pairs; at most 16.")
}

fn described(what: &str) -> Object {
    let text = |least, most| ObjectBuilder::new().schema_type(Type::String).min_length(least).max_length(Some(most));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(what))
        .max_properties(Some(16))
        .property_names(Some(text(Some(1), 64).build()))
        .additional_properties(Some(text(None, 512)))
        .build()
}
