//! The bound on the detail of an audit line.
//!
//! The detail is a JSON object of at most [`DETAIL_BYTES`]. A longer one is cut before it is written: lists and inner objects lose
//! their last entries, long texts their ends, and two members say so: `truncated` is true and `omittedBytes` says how much
//! is missing. Lines of earlier versions can be longer and cannot be changed, so the same cut is made when they are read.
//! Of a detail longer than [`WHOLE_BYTES`] only the beginning is read from the database.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The longest detail that is written, and that anybody sees.
pub(super) const DETAIL_BYTES: usize = 8 * 1024;
/// The longest detail that is read whole.
pub(super) const WHOLE_BYTES: usize = 64 * 1024;
/// How much is read of a longer one, in bytes on SQLite and in characters on PostgreSQL.
pub(super) const HEAD: usize = 16 * 1024;

/// What is left of a detail.
struct Limits {
    /// Entries of a list.
    entries: usize,
    /// Bytes of a text.
    text: usize,
    /// Members of an object that is within another one of the detail.
    members: usize,
}

/// From mild to severe: the first by which a detail is short enough is used. Lookups, serial numbers and fingerprints, which events
/// are made of, have at most 64 bytes and survive all of them.
const LIMITS: &[Limits] = &{
    const fn limits(entries: usize, text: usize, members: usize) -> Limits {
        Limits { entries, text, members }
    }
    [
        limits(64, 512, 16),
        limits(48, 512, 16),
        limits(32, 512, 16),
        limits(24, 512, 16),
        limits(16, 512, 16),
        limits(8, 512, 16),
        limits(4, 512, 16),
        limits(2, 256, 16),
        limits(1, 128, 16),
        limits(1, 64, 8),
        limits(1, 64, 2),
    ]
};

/// The detail, cut if it is too long.
pub(super) fn bounded(detail: &str) -> Cow<'_, str> {
    match detail.len() {
        0..=DETAIL_BYTES => Cow::Borrowed(detail),
        length => Cow::Owned(cut(&serde_json::from_str(detail).unwrap_or_default(), length)),
    }
}

/// What to show of a detail of this length if only its beginning was read.
pub(super) fn of_head(head: &str, length: usize) -> String {
    cut(&completed(head), length)
}

/// A detail of `length` bytes, cut to at most [`DETAIL_BYTES`].
fn cut(detail: &Value, length: usize) -> String {
    let within = LIMITS.iter().map(|limits| marked(limited(detail, limits, 0), length));
    let short = within.into_iter().find(|text| text.len() <= DETAIL_BYTES);
    short.unwrap_or_else(|| marked(Value::Null, length))
}

/// The text of a cut detail, with the members that say how it was cut.
fn marked(kept: Value, length: usize) -> String {
    let omitted = length.saturating_sub(kept.to_string().len());
    let mut kept = match kept {
        Value::Object(kept) => kept,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    kept.insert("truncated".to_owned(), true.into());
    kept.insert("omittedBytes".to_owned(), omitted.into());
    Value::Object(kept).to_string()
}

fn limited(value: &Value, limits: &Limits, depth: usize) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) if text.len() <= limits.text => value.clone(),
        Value::String(text) => format!("{}…", &text[..text.floor_char_boundary(limits.text)]).into(),
        Value::Array(entries) => {
            entries.iter().take(limits.entries).map(|entry| limited(entry, limits, depth + 1)).collect()
        }
        Value::Object(members) => {
            // The detail itself, and what it has before and after, have a few members that are all worth keeping.
            let most = if depth < 2 { usize::MAX } else { limits.members };
            let kept = members.iter().take(most);
            kept.map(|(name, member)| (name.clone(), limited(member, limits, depth + 1))).collect()
        }
    }
}

/// The beginning of a JSON text as a value: what is incomplete at its end is left out.
fn completed(head: &str) -> Value {
    let mut open: Vec<char> = Vec::new();
    let (mut in_text, mut is_escaped) = (false, false);
    // Up to where everything is complete, and what closes the text there.
    let mut whole = None;
    for (place, character) in head.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if in_text => is_escaped = true,
            '"' => in_text = !in_text,
            _ if in_text => {}
            '{' | '[' => {
                open.push(if character == '{' { '}' } else { ']' });
                whole = Some((place + 1, open.clone()));
            }
            '}' | ']' => drop(open.pop()),
            ',' => whole = Some((place, open.clone())),
            _ => {}
        }
    }
    let Some((end, closing)) = whole else { return Value::Null };
    let text: String = head[..end].chars().chain(closing.into_iter().rev()).collect();
    serde_json::from_str(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cut_of(detail: &Value) -> Value {
        let text = detail.to_string();
        let cut = bounded(&text);
        assert!(cut.len() <= DETAIL_BYTES, "{} bytes", cut.len());
        serde_json::from_str(&cut).unwrap()
    }

    #[test]
    fn a_detail_that_fits_is_left_as_it_is() {
        let exact = format!(r#"{{"a":"{}"}}"#, "x".repeat(DETAIL_BYTES - 8));
        assert_eq!(exact.len(), DETAIL_BYTES);
        assert!(matches!(bounded(&exact), Cow::Borrowed(_)));
        let longer = format!(r#"{{"a":"{}"}}"#, "x".repeat(DETAIL_BYTES - 7));
        assert!(matches!(bounded(&longer), Cow::Owned(_)));
    }

    #[test]
    fn lists_lose_their_last_entries_and_everything_short_stays() {
        let names: Vec<_> = (0..100).map(|place| format!("{place}.{}.example", "n".repeat(200))).collect();
        let problem =
            json!({"field": "identifiers[0]", "code": "denied", "message": "m".repeat(300), "policy": "pol_1"});
        let detail = json!({
            "names": names, "problems": vec![problem.clone(); 32], "order": "ord_1", "profile": "TLS-90d", "quota": true,
            "retryAfter": 7, "none": null,
        });
        let cut = cut_of(&detail);
        for member in ["order", "profile", "quota", "retryAfter", "none"] {
            assert_eq!(cut[member], detail[member]);
        }
        let kept = cut["names"].as_array().unwrap();
        assert!(kept.len() >= 8 && kept.as_slice() == &detail["names"].as_array().unwrap()[..kept.len()]);
        assert_eq!(cut["problems"][0], problem);
        assert_eq!(cut["truncated"], true);
        let (whole, left) = (detail.to_string().len(), cut.to_string().len());
        let omitted = usize::try_from(cut["omittedBytes"].as_u64().unwrap()).unwrap();
        assert!((whole - left..=whole - left + 50).contains(&omitted), "{omitted} of {whole}, {left} left");
    }

    #[test]
    fn texts_and_inner_objects_are_cut_where_lists_are_not_to_blame() {
        let pairs: Map<_, _> =
            (0..16).map(|place| (format!("{place:02}{}", "😀".repeat(62)), "😀".repeat(512).into())).collect();
        let account =
            json!({"email": "a@example.com", "externalId": "x".repeat(255), "status": "active", "metadata": pairs});
        let cut = cut_of(&json!({"before": account, "after": account, "groups": []}));
        for when in ["before", "after"] {
            assert_eq!((&cut[when]["email"], &cut[when]["status"]), (&"a@example.com".into(), &"active".into()));
            assert!(cut[when]["metadata"].as_object().unwrap().len() >= 2);
        }
        assert!(cut_of(&json!({"problem": "é".repeat(100_000)}))["problem"].as_str().unwrap().ends_with("é…"));
    }

    #[test]
    fn what_cannot_be_cut_is_left_out() {
        let many: Map<_, _> = (0..10_000).map(|place| (place.to_string(), Value::Null)).collect();
        let length = Value::Object(many.clone()).to_string().len();
        assert_eq!(cut_of(&Value::Object(many)), json!({"truncated": true, "omittedBytes": length - 4}));
        let no_json = "x".repeat(DETAIL_BYTES + 1);
        assert_eq!(serde_json::from_str::<Value>(&bounded(&no_json)).unwrap()["truncated"], true);
    }

    #[test]
    fn the_beginning_of_a_detail_is_shown_as_far_as_it_is_complete() {
        let whole = r#"{"names":["a.test","b\"]},.test"],"order":null,"problems":[{"code":"x","field":"y"},{"code":"z"}],"quota":false}"#;
        let shown = |length: usize| -> Value { serde_json::from_str(&of_head(&whole[..length], 1_000_000)).unwrap() };
        assert_eq!(shown(1)["truncated"], true);
        for (length, expected) in [
            (10, json!({"names": []})),
            (25, json!({"names": ["a.test"]})),
            (60, json!({"names": ["a.test", "b\"]},.test"], "order": null, "problems": [{}]})),
            (75, json!({"names": ["a.test", "b\"]},.test"], "order": null, "problems": [{"code": "x"}]})),
            (
                whole.len() - 3,
                json!({"names": ["a.test", "b\"]},.test"], "order": null,
                "problems": [{"code": "x", "field": "y"}, {"code": "z"}]}),
            ),
        ] {
            let mut shown = shown(length);
            assert!(shown["omittedBytes"].as_u64().unwrap() > 999_000);
            shown.as_object_mut().unwrap().retain(|name, _| name != "truncated" && name != "omittedBytes");
            assert_eq!(shown, expected, "{}", &whole[..length]);
        }
        for length in 0..whole.len() {
            assert_eq!(shown(length)["truncated"], true, "{length}");
        }
    }
}
