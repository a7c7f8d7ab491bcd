//! An OpenID provider that says whatever a test wants it to say.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use chancery_domain::{ResellerCode, ScopeSet, Secret};
use chancery_idp::{CodeRedeemer, FetchLimits, JwksFetcher, RedeemLimits};
use chancery_jose::{Algorithm, Claims, JwkSet, PublishedKey, SigningKey, jwt};
use chancery_service::identity::External;
use chancery_service::{ExternalProvider, ProviderSignIn, SpeaksFor};
use chancery_tests::{START, World};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::browser::Browser;

pub(crate) const CLIENT: &str = "chancery-console";
pub(crate) const RESELLER_CLAIM: &str = "https://ca.test/reseller";
pub(crate) const REDIRECT: &str = "https://ca.test/console/sign-in/with/partners/return";
const KID: &str = "one";

/// Listens until the test ends.
pub(crate) struct Hostile {
    pub(crate) issuer: String,
    key: SigningKey,
    told: Arc<Mutex<Told>>,
}

/// What it answers to codes, and what it was asked.
struct Told {
    jwks: Value,
    status: u16,
    answer: Value,
    asked: Vec<(Option<String>, BTreeMap<String, String>)>,
}

impl Hostile {
    pub(crate) async fn start() -> Self {
        let key = SigningKey::generate().unwrap();
        let published = PublishedKey::for_signatures(KID, Algorithm::ES256, key.public().clone());
        let jwks = JwkSet { keys: vec![published] }.to_value();
        let told =
            Arc::new(Mutex::new(Told { jwks, status: 400, answer: json!({"error": "invalid_grant"}), asked: vec![] }));
        let routes = Router::new().route("/jwks", get(keys)).route("/token", post(token)).with_state(told.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { issuer, key, told }
    }

    /// What an operator would configure.
    pub(crate) fn settings(&self) -> ExternalProvider {
        let code = ResellerCode::parse("NORTH").unwrap();
        ExternalProvider {
            issuer: self.issuer.clone(),
            jwks_url: format!("{}/jwks", self.issuer),
            audience: "https://ca.test/partners".to_owned(),
            reseller_claim: RESELLER_CLAIM.to_owned(),
            scope_claim: "scope".to_owned(),
            resellers: SpeaksFor::Only(vec![("NORTH".to_owned(), code.clone()), ("/teams/north".to_owned(), code)]),
            sign_in: Some(ProviderSignIn {
                slug: "partners".to_owned(),
                label: "Partner accounts".to_owned(),
                authorize_url: format!("{}/authorize", self.issuer),
                token_url: format!("{}/token", self.issuer),
                client_id: CLIENT.to_owned(),
                redirect_url: REDIRECT.to_owned(),
                request_scope: "openid profile".to_owned(),
                scopes: "reseller read:account".parse().unwrap(),
                scope_claim: None,
            }),
        }
    }

    pub(crate) fn external(&self, provider: ExternalProvider, secret: Option<&str>) -> External {
        let limits = FetchLimits { min_interval: Duration::ZERO, ..FetchLimits::default() };
        let keys = JwksFetcher::new(&provider.jwks_url, None, limits).unwrap();
        let url = provider.sign_in.as_ref().unwrap().token_url.clone();
        let secret = secret.map(|secret| Secret::new(secret.to_owned()));
        let codes = CodeRedeemer::new(&url, None, CLIENT, secret.as_ref(), RedeemLimits::default()).unwrap();
        External { provider, keys: Arc::new(keys), codes: Some(Arc::new(codes)) }
    }

    /// A world that has it for a provider, and a reseller in it.
    pub(crate) async fn world(&self, world: &World) -> chancery_tests::Node {
        world.tenant_with("NORTH", ScopeSet::all()).await;
        self.node(world).await
    }

    pub(crate) async fn node(&self, world: &World) -> chancery_tests::Node {
        world.another_node(chancery_tests::settings(), vec![self.external(self.settings(), None)]).await
    }

    /// The claims of somebody whom we should let in.
    pub(crate) fn claims(&self, nonce: &str) -> Value {
        json!({
            "iss": self.issuer, "sub": "anna", "aud": CLIENT, "nonce": nonce, "name": "Anna of North",
            "iat": START.as_secs(), "exp": START.as_secs() + 300, RESELLER_CLAIM: "NORTH",
        })
    }

    pub(crate) fn sign(&self, typ: &str, claims: &Value) -> String {
        sign_with(&self.key, typ, claims)
    }

    /// Answers to every code with this ID token from now on.
    pub(crate) fn gives(&self, token: &str) {
        let mut told = self.told.lock().unwrap();
        told.status = 200;
        told.answer = json!({"access_token": "opaque", "token_type": "Bearer", "id_token": token});
    }

    pub(crate) fn answers(&self, status: u16, answer: Value) {
        let mut told = self.told.lock().unwrap();
        (told.status, told.answer) = (status, answer);
    }

    pub(crate) fn publishes(&self, jwks: Value) {
        self.told.lock().unwrap().jwks = jwks;
    }

    /// With which `Authorization` and form it was asked, each time.
    pub(crate) fn asked(&self) -> Vec<(Option<String>, BTreeMap<String, String>)> {
        self.told.lock().unwrap().asked.clone()
    }
}

/// By any key, under the name of the provider's.
pub(crate) fn sign_with(key: &SigningKey, typ: &str, claims: &Value) -> String {
    let Value::Object(claims) = claims.clone() else { panic!("claims are an object") };
    jwt::issue(key, KID, typ, &Claims(claims)).unwrap()
}

/// Leaves for the provider: what it is asked, by name.
pub(crate) async fn leave(browser: &mut Browser, next: &str) -> BTreeMap<String, String> {
    let reply = browser.get(&format!("/console/sign-in/with/partners?next={next}")).await;
    assert_eq!(reply.status, 303, "{}", reply.text());
    let (_, query) = reply.header("location").unwrap().split_once('?').unwrap();
    form(query)
}

pub(crate) fn form(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).unwrap()
}

async fn keys(State(told): State<Arc<Mutex<Told>>>) -> String {
    told.lock().unwrap().jwks.to_string()
}

async fn token(State(told): State<Arc<Mutex<Told>>>, headers: HeaderMap, body: String) -> (StatusCode, String) {
    let mut told = told.lock().unwrap();
    let authorization = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    told.asked.push((authorization, form(&body)));
    (StatusCode::from_u16(told.status).unwrap(), told.answer.to_string())
}
