//! The payload of a signed request: nothing, or a JSON object that says each thing once.

use chancery_domain::cut;
use chancery_http::{BodyLimits, misfits};
use chancery_jose::json_object;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::problem::Problem;

/// Characters of a refusal that may repeat what the client sent.
const TOLD_OF_BEGINNING: usize = 100;
const TOLD_OF_END: usize = 150;

/// That this is a POST-as-GET (RFC 8555 section 6.3): the payload has no bytes at all, not even `{}`.
pub(crate) fn require_empty(payload: &[u8]) -> Result<(), Problem> {
    if payload.is_empty() {
        return Ok(());
    }
    let detail = "this is read by POST-as-GET: the payload must be the empty string, not `{}` or anything else";
    Err(Problem::malformed(detail))
}

/// Reads an object. Members that we do not know are passed over.
pub(crate) fn read<T: DeserializeOwned>(payload: &[u8]) -> Result<T, Problem> {
    if payload.is_empty() {
        return Err(Problem::malformed("the payload is empty; this needs a JSON object"));
    }
    let members = json_object(payload)
        .map_err(|why| Problem::malformed(format!("the payload cannot be read: {}", shortened(&why.to_string()))))?;
    require_objects(&members)?;
    serde_json::from_slice(payload).map_err(|why| {
        let told = misfits::<T>(payload, BodyLimits::default());
        let told: Vec<_> = told.iter().map(|problem| format!("`{}` {}", problem.field, problem.message)).collect();
        let told = if told.is_empty() { why.to_string() } else { told.join("; ") };
        Problem::malformed(format!("the payload cannot be understood: {}", shortened(&told)))
    })
}

/// What is wrong, without the middle of what it repeats of the payload: what was expected, and where, stands at the end.
fn shortened(why: &str) -> String {
    match why.char_indices().rev().nth(TOLD_OF_END) {
        Some((end, _)) if cut(why, TOLD_OF_BEGINNING).len() < end => {
            format!("{} … {}", cut(why, TOLD_OF_BEGINNING), &why[end..])
        }
        Some(_) | None => why.to_owned(),
    }
}

/// That identifiers are objects: what comes next would also take a list of their members, in some order.
fn require_objects(members: &Map<String, Value>) -> Result<(), Problem> {
    let several = members.get("identifiers").and_then(Value::as_array).into_iter().flatten();
    match several.chain(members.get("identifier")).all(Value::is_object) {
        true => Ok(()),
        false => Err(Problem::malformed("an identifier must be an object with `type` and `value`")),
    }
}
