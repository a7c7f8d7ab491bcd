//! Somebody who speaks to the service, and what they are told.

use axum::Router;
use axum::body::Body;
use chancery_domain::ClientId;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

/// A client of a reseller, or a stranger.
#[derive(Clone)]
pub struct Tenant {
    router: Router,
    pub code: String,
    pub client_id: String,
    pub client_secret: String,
    /// What is sent as `Authorization`, where anything is.
    pub authorization: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Tenant {
    pub(crate) fn new(router: Router, code: &str, id: ClientId, secret: &str) -> Self {
        let (code, client_id) = (code.to_owned(), id.to_string());
        Self { router, code, client_id, client_secret: secret.to_owned(), authorization: None }
    }

    pub(crate) fn stranger(router: Router) -> Self {
        let nothing = String::new;
        Self { router, code: nothing(), client_id: nothing(), client_secret: nothing(), authorization: None }
    }

    pub(crate) fn at(&self, router: Router) -> Self {
        Self { router, ..self.clone() }
    }

    /// The same somebody, speaking to another router.
    #[must_use]
    pub fn hears_by(&self, router: Router) -> Self {
        self.at(router)
    }

    /// Gets a token as the seed describes it, and sends it from now on.
    pub async fn sign_in(&mut self) {
        let reply = self.ask_token(json!({})).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let token = reply.json()["access_token"].as_str().expect("a token").to_owned();
        self.authorization = Some(format!("Bearer {token}"));
    }

    /// Asks for a token, with members of the request replaced.
    pub async fn ask_token(&self, replace: Value) -> Reply {
        let mut body = json!({
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "audience": "https://ca.test/v1",
            "grant_type": "client_credentials",
        });
        for (name, value) in replace.as_object().expect("an object") {
            body[name] = value.clone();
        }
        self.stranger_of().send(Method::POST, "/oauth/token", &[], Some(&body)).await
    }

    fn stranger_of(&self) -> Self {
        Self { authorization: None, ..self.clone() }
    }

    /// The same somebody, sending something else as `Authorization`.
    #[must_use]
    pub fn with_authorization(&self, value: &str) -> Self {
        Self { authorization: Some(value.to_owned()), ..self.clone() }
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, &[], None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(Method::POST, path, &[], Some(&body)).await
    }

    pub async fn post_empty(&self, path: &str) -> Reply {
        self.send(Method::POST, path, &[], None).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Reply {
        self.send(Method::PUT, path, &[], Some(&body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Reply {
        self.send(Method::PATCH, path, &[], Some(&body)).await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        self.send(Method::DELETE, path, &[], None).await
    }

    pub async fn delete_with(&self, path: &str, body: Value) -> Reply {
        self.send(Method::DELETE, path, &[], Some(&body)).await
    }

    /// A JSON request with further headers.
    pub async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Reply {
        let bytes = body.map(|body| serde_json::to_vec(body).expect("JSON")).unwrap_or_default();
        let mut all: Vec<(&str, &str)> = headers.to_vec();
        if body.is_some() {
            all.push(("content-type", "application/json"));
        }
        self.raw(method, path, &all, bytes).await
    }

    /// Any bytes at all.
    pub async fn raw(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body)).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("a router always answers");
        let (head, body) = response.into_parts();
        let body = body.collect().await.expect("a whole body").to_bytes().to_vec();
        Reply { status: head.status, headers: head.headers, body }
    }
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The JSON body of an answer that must have this status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        self.json()
    }

    /// The `code` of a refusal that must have this status.
    #[track_caller]
    pub fn refusal(&self, status: u16) -> String {
        self.expect(status)["code"].as_str().expect("a code").to_owned()
    }

    /// The fields that a refusal complains about, in the order of the alphabet.
    #[track_caller]
    pub fn fields(&self) -> Vec<String> {
        let body = self.json();
        let errors = body["errors"].as_array().expect("a refusal with a list of problems");
        let mut fields: Vec<_> = errors.iter().filter_map(|error| error["field"].as_str()).map(str::to_owned).collect();
        fields.sort();
        fields
    }
}
