//! Mutations of JSON: a value is changed, also one inside of base64url inside of JSON, as in a JWS.

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};

use super::Dice;

/// The input with one value changed; none if it is not JSON.
pub(super) fn mutated(input: &[u8], words: &[Vec<u8>], dice: &mut Dice) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(input).ok()?;
    let mut chosen = dice.below(count(&value));
    change(&mut value, &mut chosen, words, dice);
    Some(value.to_string().into_bytes())
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Changes the value of that number, counted from the front; true once it is found.
fn change(value: &mut Value, chosen: &mut usize, words: &[Vec<u8>], dice: &mut Dice) -> bool {
    if *chosen == 0 {
        change_this(value, words, dice);
        return true;
    }
    *chosen -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| change(item, chosen, words, dice)),
        Value::Object(members) => members.values_mut().any(|member| change(member, chosen, words, dice)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn change_this(value: &mut Value, words: &[Vec<u8>], dice: &mut Dice) {
    let word = dice.pick(words).map(|word| String::from_utf8_lossy(word)).unwrap_or_default();
    let word = word.as_ref();
    // A number is worth more as a number.
    let meant = serde_json::from_str(word).unwrap_or_else(|_| json!(word));
    let names: Vec<_> = value.as_object().map(|members| members.keys().cloned().collect()).unwrap_or_default();
    let name = dice.pick(&names).cloned().unwrap_or_default();
    match (&mut *value, dice.below(8)) {
        // What is hidden in base64url is what a JWS is about.
        (Value::String(text), 0..5) => {
            let hidden = BASE64URL_NOPAD.decode(text.as_bytes()).ok().filter(|bytes| !bytes.is_empty());
            let inner = hidden.as_ref().and_then(|hidden| mutated(hidden, words, dice));
            match (inner, hidden) {
                (Some(inner), _) => *text = BASE64URL_NOPAD.encode(&inner),
                (None, Some(mut bytes)) => {
                    let at = dice.below(bytes.len());
                    bytes[at] ^= 1 << dice.below(8);
                    *text = BASE64URL_NOPAD.encode(&bytes);
                }
                (None, None) => text.insert_str(0, word),
            }
        }
        (Value::Object(members), 0) => drop(members.remove(&name)),
        (Value::Object(members), 1..4) => {
            let moved = members.get(&name).cloned().unwrap_or(json!(word));
            members.insert(word.to_owned(), moved);
        }
        (Value::Object(members), 4) => drop(members.insert(name, meant)),
        (Value::Array(items), 0) => drop(items.pop()),
        (Value::Array(items), 1..4) => items.extend(items.first().cloned()),
        (Value::Number(number), 0..5) => {
            let near = number.as_i64().unwrap_or(0).wrapping_add(dice.below(3) as i64 - 1);
            *value = [
                json!(near),
                json!(near),
                meant,
                json!(i64::MAX),
                json!(u64::MAX),
                json!(i64::MIN),
                json!(0.5),
                json!(-1),
            ]
            .into_iter()
            .nth(dice.below(8))
            .unwrap_or_default();
        }
        _ => {
            *value = [json!(null), json!(true), json!(0), meant, json!([]), json!({}), json!([word]), json!("")]
                .into_iter()
                .nth(dice.below(8))
                .unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_in_base64url_is_changed_too() {
        let hidden = BASE64URL_NOPAD.encode(br#"{"alg":"ES256"}"#);
        let whole = json!({ "protected": hidden }).to_string();
        let reached = (0..200).any(|round| {
            let changed = mutated(whole.as_bytes(), &[b"none".to_vec()], &mut Dice::new(1, round)).unwrap();
            let changed: Value = serde_json::from_slice(&changed).unwrap();
            let inner = changed["protected"].as_str().and_then(|text| BASE64URL_NOPAD.decode(text.as_bytes()).ok());
            inner.and_then(|inner| serde_json::from_slice::<Value>(&inner).ok()) == Some(json!({ "alg": "noneES256" }))
        });
        assert!(reached);
    }
}
