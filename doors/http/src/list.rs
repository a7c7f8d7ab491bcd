//! A page of a list as JSON.

use axum::response::{IntoResponse, Response};
use chancery_service::{Listed, WrittenPage};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde::Serialize;

/// A page as the list types of [`chancery_wire`] are written: `items`, and `nextCursor` if there is one. [`Listed::write`] bounds
/// its length.
pub fn list_response<T, W: Serialize>(page: Listed<T>, view: impl Fn(&T) -> W) -> Response {
    let write =
        |item: &T| serde_json::to_vec(&view(item)).expect("wire types are texts, numbers, lists and maps of texts");
    let WrittenPage { items, next_cursor } = page.write(write);
    let mut body = Vec::with_capacity(items.iter().map(|item| item.len() + 1).sum::<usize>() + 256);
    body.extend_from_slice(b"{\"items\":[");
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            body.push(b',');
        }
        body.extend_from_slice(item);
    }
    body.push(b']');
    if let Some(cursor) = next_cursor {
        // A cursor is base64url: nothing in it needs an escape.
        body.extend_from_slice(format!(",\"nextCursor\":\"{cursor}\"").as_bytes());
    }
    body.push(b'}');
    ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use serde_json::{Value, json};

    use super::*;

    async fn written(items: Vec<u32>) -> Value {
        let response = list_response(Listed::whole(items), |item| json!({"number": item}));
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
        serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
    }

    #[tokio::test]
    async fn a_page_is_an_object_with_its_items() {
        assert_eq!(written(vec![]).await, json!({"items": []}));
        assert_eq!(written(vec![1, 2]).await, json!({"items": [{"number": 1}, {"number": 2}]}));
    }
}
