//! A receiver of messages, which answers as it is told.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use chancery_dcv::{HostResolver, HostResolverConfig};
use chancery_publish::{Publisher, PublisherConfig};
use chancery_testkit::SeededEntropy;
use chancery_tests::{Node, Tenant, World, lookup};
use chancery_workers::{Courier, WebhookHosts};
use data_encoding::{BASE64, HEXLOWER};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// What arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Arrived {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    pub(crate) fn event(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn kind(&self) -> String {
        self.event()["type"].as_str().unwrap().to_owned()
    }

    /// The signatures that OpenSSL makes too with one of these secrets.
    pub(crate) fn verified_by(&self, secret: &str) -> usize {
        let key = BASE64.decode(secret.strip_prefix("whsec_").expect("whsec_").as_bytes()).unwrap();
        let content = format!("{}.{}.{}", self.header("webhook-id"), self.header("webhook-timestamp"), self.body);
        let mut openssl = Command::new("openssl")
            .args([
                "dgst",
                "-sha256",
                "-binary",
                "-mac",
                "HMAC",
                "-macopt",
                &format!("hexkey:{}", HEXLOWER.encode(&key)),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        openssl.stdin.take().unwrap().write_all(content.as_bytes()).unwrap();
        let expected = format!("v1,{}", BASE64.encode(&openssl.wait_with_output().unwrap().stdout));
        self.header("webhook-signature").split(' ').filter(|signature| *signature == expected).count()
    }
}

#[derive(Default)]
struct Behaviour {
    arrived: Vec<Arrived>,
    /// Answers in their turn; then all is well.
    answers: Vec<u16>,
    delay: Duration,
    /// Answers wait until this is true.
    gate: Option<watch::Receiver<bool>>,
    /// What happens as each message arrives.
    meanwhile: Option<Box<dyn Fn() + Send>>,
}

/// A web server on loopback.
#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) url: String,
    behaviour: Arc<Mutex<Behaviour>>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let behaviour = Arc::<Mutex<Behaviour>>::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let router = Router::new().fallback(receive).with_state(behaviour.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, behaviour }
    }

    pub(crate) fn answer(&self, answers: &[u16]) {
        self.behaviour.lock().unwrap().answers = answers.to_vec();
    }

    pub(crate) fn delay(&self, delay: Duration) {
        self.behaviour.lock().unwrap().delay = delay;
    }

    /// Keeps all answers back until the sender sends `true` or is dropped.
    pub(crate) fn hold(&self) -> watch::Sender<bool> {
        let (sender, gate) = watch::channel(false);
        self.behaviour.lock().unwrap().gate = Some(gate);
        sender
    }

    /// Has something happen as each message arrives.
    pub(crate) fn meanwhile(&self, happens: impl Fn() + Send + 'static) {
        self.behaviour.lock().unwrap().meanwhile = Some(Box::new(happens));
    }

    /// What has arrived since this was asked last.
    pub(crate) fn take(&self) -> Vec<Arrived> {
        std::mem::take(&mut self.behaviour.lock().unwrap().arrived)
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        self.take().iter().map(Arrived::kind).collect()
    }

    /// A webhook of somebody that leads here.
    pub(crate) async fn webhook(&self, tenant: &Tenant, types: &[&str]) -> Value {
        tenant.post("/v1/webhook", json!({"url": self.url, "types": types})).await.expect(201)
    }
}

async fn receive(
    State(behaviour): State<Arc<Mutex<Behaviour>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (status, delay, gate) = {
        let mut behaviour = behaviour.lock().unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        behaviour.arrived.push(Arrived { path: uri.to_string(), headers, body });
        behaviour.meanwhile.iter().for_each(|happens| happens());
        let status = if behaviour.answers.is_empty() { 204 } else { behaviour.answers.remove(0) };
        (status, behaviour.delay, behaviour.gate.clone())
    };
    tokio::time::sleep(delay).await;
    if let Some(mut gate) = gate {
        let _ = gate.wait_for(|open| *open).await;
    }
    let location = [("location", "/elsewhere")];
    (StatusCode::from_u16(status).unwrap(), location).into_response()
}

pub(crate) fn publisher() -> Publisher {
    publisher_with(PublisherConfig { timeout: Duration::from_secs(2), ..PublisherConfig::new(true, true) })
}

/// A publisher that looks hosts up as the program does.
pub(crate) fn publisher_with(config: PublisherConfig) -> Publisher {
    let hosts = HostResolver::new(HostResolverConfig::default(), Arc::new(SeededEntropy::new(1)));
    Publisher::new(config, Arc::new(WebhookHosts(hosts)))
}

pub(crate) fn courier(world: &World) -> Courier {
    Courier::new(world.services.clone(), publisher(), world.clock.clone())
}

pub(crate) fn courier_of(world: &World, node: &Node) -> Courier {
    Courier::new(node.services.clone(), publisher(), world.clock.clone())
}

/// What was told to a webhook, newest first.
pub(crate) async fn deliveries(tenant: &Tenant, webhook: &Value) -> Vec<Value> {
    let list = tenant.get(&format!("/v1/webhook/{}/delivery", lookup(webhook))).await.expect(200);
    list["items"].as_array().unwrap().clone()
}
