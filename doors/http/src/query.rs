//! Query strings: nothing unknown, nothing twice, nothing that is not text.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use chancery_service::{ListRequest, ServiceError};
use chancery_wire::{ErrorCode, FieldProblem};
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::{
    document::{self, MAX_PROBLEMS, Tree, code},
    error::ApiError,
    paging::list_request,
    shape::{Shape, follows, refuse},
};

/// The query string of a request, as `T`: a flat struct with `#[serde(deny_unknown_fields)]` whose fields are strings,
/// whole numbers, booleans (`true`, `false`), enums without content, or options of these.
///
/// A parameter that is unknown, repeated, missing or of the wrong form is 400, with all of them in `errors`.
/// No value contains U+0000.
#[derive(Debug)]
pub struct StrictQuery<T>(
    /// What was asked.
    pub T,
);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for StrictQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        read(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

/// The query string of a list with filters: as [`StrictQuery`], and what is wrong with it is told together with what is wrong with
/// its values.
#[derive(Debug)]
pub struct FilterQuery<T>(Shape<T>);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for FilterQuery<T> {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(match parse(parts.uri.query().unwrap_or_default()) {
            Ok((tree, problems)) => Shape::of(document::read(tree, problems, "query")),
            Err(error) => Shape::Malformed(error),
        }))
    }
}

impl<T> FilterQuery<T> {
    /// What the rules make of the filters, and the page that is asked for: its limit and its cursor.
    pub fn read<U>(
        self,
        page: impl FnOnce(&T) -> (Option<String>, Option<String>),
        rules: impl FnOnce(T) -> Result<U, ServiceError>,
    ) -> Result<(U, ListRequest), ApiError> {
        let mut request = list_request(None, None);
        let filters = self.0.read("The query", |value| {
            let (limit, cursor) = page(&value);
            request = list_request(limit, cursor);
            rules(value)
        });
        match (filters, request) {
            (Ok(filters), request) => Ok((filters, request?)),
            (Err(error), Err(of_page)) => {
                let known = error.errors();
                let news = of_page.errors().iter().filter(|new| !follows(new, known));
                Err(refuse("The query", known.iter().chain(news).cloned().collect()))
            }
            (Err(error), Ok(_)) => Err(error),
        }
    }
}

pub(crate) fn read<T: DeserializeOwned>(query: &str) -> Result<T, ApiError> {
    let (tree, problems) = parse(query)?;
    document::read(tree, problems, "query").map_err(|unfit| refuse("The query", unfit.problems))
}

/// As `application/x-www-form-urlencoded`, but strictly: a percent sign is followed by two hexadecimal digits, and what
/// comes out is UTF-8.
fn parse(query: &str) -> Result<(Tree, Vec<FieldProblem>), ApiError> {
    let mut members: Vec<(String, Tree)> = Vec::new();
    let mut problems = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name).filter(|name| !name.contains('\0')).ok_or_else(|| {
            ApiError::bad_request(
                ErrorCode::InvalidRequest,
                "A parameter's name in the query is not percent-encoded UTF-8.",
            )
        })?;
        // Bounds the search below as well as the answer.
        if members.len() + problems.len() >= 4 * MAX_PROBLEMS {
            return Err(ApiError::bad_request(ErrorCode::InvalidRequest, "The query has too many parameters."));
        }
        let mut problem = |code, message| problems.push(FieldProblem::new(name.clone(), code, message));
        if members.iter().any(|(known, _)| *known == name) {
            problem(code::DUPLICATE, "is given more than once");
            continue;
        }
        let value = match decode(value) {
            None => {
                problem(code::INVALID_VALUE, "is not percent-encoded UTF-8");
                Tree::Recorded
            }
            Some(value) if value.contains('\0') => {
                problem(code::NUL, "contains the character U+0000, which is not accepted");
                Tree::Recorded
            }
            Some(value) => Tree::Text(value),
        };
        members.push((name, value));
    }
    problems.truncate(MAX_PROBLEMS);
    Ok((Tree::Object(members), problems))
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            other => other,
        });
    }
    String::from_utf8(decoded).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use http_body_util::BodyExt;
    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq, Default)]
    #[serde(deny_unknown_fields, default)]
    struct Asked {
        limit: Option<String>,
        count: Option<u32>,
        suspended: Option<bool>,
        email: Option<String>,
    }

    async fn ask(query: &str) -> Result<Asked, Value> {
        let (mut parts, ()) = http::Request::builder().uri(format!("/x?{query}")).body(()).unwrap().into_parts();
        match StrictQuery::from_request_parts(&mut parts, &()).await {
            Ok(StrictQuery(asked)) => Ok(asked),
            Err(error) => {
                assert_eq!(error.status(), 400);
                let bytes = error.into_response().into_body().collect().await.unwrap().to_bytes();
                Err(serde_json::from_slice(&bytes).unwrap())
            }
        }
    }

    #[tokio::test]
    async fn parameters_are_decoded_and_read() {
        let asked = ask("limit=5&count=7&suspended=true&email=a%2Bb%40example.com").await.unwrap();
        let expected = Asked {
            limit: Some("5".into()),
            count: Some(7),
            suspended: Some(true),
            email: Some("a+b@example.com".into()),
        };
        assert_eq!(asked, expected);
        assert_eq!(ask("").await.unwrap(), Asked::default());
        assert_eq!(ask("&&email=a+b&").await.unwrap().email.unwrap(), "a b");
        assert_eq!(ask("email").await.unwrap().email.unwrap(), "");
    }

    #[tokio::test]
    async fn an_unknown_parameter_is_named() {
        let body = ask("limit=5&lmiit=6").await.unwrap_err();
        assert_eq!(body["code"], "unknown_field");
        assert_eq!(body["errors"][0]["field"], "lmiit");
    }

    #[tokio::test]
    async fn a_repeated_parameter_is_named() {
        let body = ask("limit=5&count=1&lim%69t=5").await.unwrap_err();
        assert_eq!(body["code"], "invalid_request");
        assert_eq!(body["errors"].as_array().unwrap().len(), 1);
        assert_eq!(
            (&body["errors"][0]["field"], &body["errors"][0]["code"]),
            (&"limit".into(), &"duplicate_field".into())
        );
    }

    #[tokio::test]
    async fn text_that_is_not_text_is_refused() {
        for bad in ["email=%", "email=%4", "email=%zz", "email=%ff", "email=%C3%28", "email=%00", "%00=1", "%ff=1"] {
            assert_eq!(ask(bad).await.unwrap_err()["code"], "invalid_request", "{bad}");
        }
    }

    #[tokio::test]
    async fn all_values_of_the_wrong_form_are_named() {
        let body = ask("count=-1&suspended=yes&nope=1").await.unwrap_err();
        let fields: Vec<_> = body["errors"].as_array().unwrap().iter().map(|e| e["field"].as_str().unwrap()).collect();
        assert_eq!(fields, ["count", "suspended", "nope"]);
        for bad in ["count=", "count=+1", "count=1.5", "count=4294967296", "suspended=", "suspended=TRUE"] {
            assert!(ask(bad).await.is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_flood_of_parameters_is_refused() {
        let many: Vec<String> = (0..5_000).map(|n| format!("p{n}=1")).collect();
        assert_eq!(ask(&many.join("&")).await.unwrap_err()["code"], "invalid_request");
    }
}
