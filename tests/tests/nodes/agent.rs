//! A customer's ACME client that does not give up: what is not answered, or refused for now, it asks again.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chancery_client::{Client, RawRequest, Response};
use chancery_domain::Identifier;
use chancery_jose::{Algorithm, HmacKey, SigningKey, base64url, jws};
use chancery_pki::{KeyAlgorithm, PrivateKey, make_request};
use http::Method;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::cluster::Cluster;
use crate::ledger::Ledger;
use crate::site::Site;

/// How long one thing may take, whatever happens to the service meanwhile.
const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub(crate) struct Agent(Arc<Inner>);

struct Inner {
    number: usize,
    client: Client,
    directory: Value,
    key: Arc<SigningKey>,
    kid: String,
    nonce: Mutex<Option<String>>,
    orders: Arc<AtomicU32>,
    site: Site,
    ledger: Arc<Ledger>,
    csr_key: PrivateKey,
}

/// An order whose challenge can be answered.
#[derive(Clone)]
pub(crate) struct Begun {
    pub(crate) order: String,
    pub(crate) name: String,
    pub(crate) authorization: String,
    pub(crate) challenge: String,
    pub(crate) token: String,
    pub(crate) finalize: String,
}

impl Agent {
    /// So many customers, registered.
    pub(crate) async fn crowd(cluster: &Cluster, number: usize, ledger: &Arc<Ledger>) -> Vec<Self> {
        let mut agents = Vec::new();
        for place in 0..number {
            agents.push(Self::register(cluster, place, ledger.clone()).await);
        }
        agents
    }

    pub(crate) async fn register(cluster: &Cluster, number: usize, ledger: Arc<Ledger>) -> Self {
        let client = client(&cluster.base_url);
        let path = cluster.directory();
        let path = path.strip_prefix(&cluster.base_url).unwrap();
        let directory: Value = client.raw(RawRequest::new(Method::GET, path)).await.unwrap().json().unwrap();
        let key = Arc::new(SigningKey::generate().unwrap());
        let mut inner = Inner {
            number,
            client,
            directory,
            key,
            kid: String::new(),
            nonce: Mutex::default(),
            orders: Arc::default(),
            site: cluster.site.clone(),
            ledger,
            csr_key: PrivateKey::generate(KeyAlgorithm::EcP256).unwrap(),
        };
        let url = inner.directory["newAccount"].as_str().unwrap().to_owned();
        let text = |name: &str| cluster.credential[name].as_str().unwrap();
        let mac = HmacKey::of_one_secret(Algorithm::HS256, &base64url::decode(text("hmacKey")).unwrap()).unwrap();
        let mut header = Map::new();
        header.insert("kid".to_owned(), text("kid").into());
        header.insert("url".to_owned(), url.as_str().into());
        let binding = jws::sign_flattened(header, inner.key.public().to_canonical_json().as_bytes(), &mac).unwrap();
        let payload = json!({"termsOfServiceAgreed": true, "externalAccountBinding": binding});
        let agent = Self(Arc::new(inner));
        let answer = agent.post(&url, payload.to_string().as_bytes()).await;
        let kid = answer.header("location").unwrap().to_owned();
        inner = Arc::into_inner(agent.0).unwrap();
        Self(Arc::new(Inner { kid, ..inner }))
    }

    /// The same account, speaking to one node alone.
    pub(crate) fn speaking_to(&self, address: &str) -> Self {
        let me = &self.0;
        let key = me.key.clone();
        Self(Arc::new(Inner {
            number: me.number,
            client: client(&format!("http://{address}")),
            directory: me.directory.clone(),
            key,
            kid: me.kid.clone(),
            nonce: Mutex::default(),
            orders: me.orders.clone(),
            site: me.site.clone(),
            ledger: me.ledger.clone(),
            csr_key: PrivateKey::generate(KeyAlgorithm::EcP256).unwrap(),
        }))
    }

    /// The address of an operation, as the directory has it.
    pub(crate) fn operation(&self, name: &str) -> &str {
        self.0.directory[name].as_str().unwrap()
    }

    /// One certificate, from the order to the chain.
    pub(crate) async fn issue(&self) {
        let begun = self.begin().await;
        self.answer(&begun).await;
        self.complete(&begun).await;
    }

    /// A new order, up to the answer that its challenge is waiting for.
    pub(crate) async fn begin(&self) -> Begun {
        let number = self.0.orders.fetch_add(1, Ordering::Relaxed);
        let name = format!("a{}-n{number}.nodes.test", self.0.number);
        let new_order = self.0.directory["newOrder"].as_str().unwrap();
        let payload = json!({"identifiers": [{"type": "dns", "value": name}]}).to_string();
        let answer = self.post(new_order, payload.as_bytes()).await;
        let (order, seen) = (answer.header("location").unwrap().to_owned(), answer.json::<Value>().unwrap());
        self.note(&order, &seen, &name);
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{seen}")).to_owned();
        let (authorization, finalize) = (text(&seen["authorizations"][0]), text(&seen["finalize"]));
        let shown = self.read(&authorization).await;
        let challenges = shown["challenges"].as_array().unwrap();
        let http = challenges.iter().find(|challenge| challenge["type"] == "http-01").unwrap();
        let (token, challenge) = (text(&http["token"]), text(&http["url"]));
        let key_authorization = format!("{token}.{}", self.thumbprint());
        self.0.site.publish(&token, &key_authorization);
        Begun { order, name, authorization, challenge, token, finalize }
    }

    /// Says that the challenge can be verified.
    pub(crate) async fn answer(&self, begun: &Begun) {
        self.post(&begun.challenge, b"{}").await;
    }

    /// Waits for the authorization, finalizes, waits for the certificate and fetches it.
    pub(crate) async fn complete(&self, begun: &Begun) {
        self.wait(&begun.authorization, &["valid"]).await;
        let csr = make_request(&self.0.csr_key, &[Identifier::parse(&begun.name).unwrap()]).unwrap();
        let csr = json!({"csr": base64url::encode(&csr)}).to_string();
        self.post(&begun.finalize, csr.as_bytes()).await;
        let valid = self.wait(&begun.order, &["valid"]).await;
        self.note(&begun.order, &valid, &begun.name);
        let place = valid["certificate"].as_str().unwrap();
        let chain = self.download(place).await;
        assert!(chain.contains("-----BEGIN CERTIFICATE-----"), "{chain}");
        self.0.ledger.note(&begun.order, |promise| promise.certificate = Some((place.to_owned(), chain)));
    }

    pub(crate) async fn read(&self, url: &str) -> Value {
        self.post(url, b"").await.json().unwrap()
    }

    pub(crate) async fn download(&self, url: &str) -> String {
        self.post(url, b"").await.text().into_owned()
    }

    /// Looks until the status is one of these.
    pub(crate) async fn wait(&self, url: &str, statuses: &[&str]) -> Value {
        let began = Instant::now();
        loop {
            let seen = self.read(url).await;
            let status = seen["status"].as_str().unwrap();
            if statuses.contains(&status) {
                return seen;
            }
            assert_ne!(status, "invalid", "{seen}");
            assert!(began.elapsed() < PATIENCE, "{url} is stuck: {seen}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Asks until there is an answer.
    pub(crate) async fn post(&self, url: &str, payload: &[u8]) -> Response {
        let began = Instant::now();
        loop {
            let tried = self.once(url, payload).await;
            match tried {
                Ok(answer) if answer.status.is_success() && answer.request_id().is_some() => return answer,
                Ok(answer) if answer.status.is_client_error() && !answer.text().contains("badNonce") => {
                    panic!("{url}: {}", answer.text())
                }
                Ok(_) | Err(_) => {}
            }
            assert!(began.elapsed() < PATIENCE, "{url}: no answer in all this time");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Asks once.
    pub(crate) async fn once(&self, url: &str, payload: &[u8]) -> Result<Response, String> {
        let nonce = self.nonce().await?;
        self.send(url, self.signed(url, &nonce, payload)).await
    }

    /// A request with this nonce.
    pub(crate) fn signed(&self, url: &str, nonce: &str, payload: &[u8]) -> String {
        let mut header = Map::new();
        header.insert("nonce".to_owned(), nonce.into());
        header.insert("url".to_owned(), url.into());
        match self.0.kid.is_empty() {
            true => header.insert("jwk".to_owned(), self.0.key.public().to_value()),
            false => header.insert("kid".to_owned(), self.0.kid.as_str().into()),
        };
        jws::sign_flattened(header, payload, self.0.key.as_ref()).unwrap().to_string()
    }

    pub(crate) fn thumbprint(&self) -> String {
        self.0.key.public().thumbprint()
    }

    pub(crate) fn account(&self) -> &str {
        &self.0.kid
    }

    pub(crate) async fn send(&self, url: &str, body: String) -> Result<Response, String> {
        let request = RawRequest::new(Method::POST, path(url)).header("content-type", "application/jose+json");
        let answer = self.exchange(url, request.body(body)).await?;
        *self.0.nonce.lock().unwrap() = answer.header("replay-nonce").map(str::to_owned);
        Ok(answer)
    }

    pub(crate) async fn nonce(&self) -> Result<String, String> {
        let kept = self.0.nonce.lock().unwrap().take();
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let url = self.0.directory["newNonce"].as_str().unwrap();
        let answer = self.exchange(url, RawRequest::new(Method::HEAD, path(url))).await?;
        answer.header("replay-nonce").map(str::to_owned).ok_or_else(|| format!("{}: no nonce", answer.status))
    }

    async fn exchange(&self, url: &str, request: RawRequest) -> Result<Response, String> {
        let began = Instant::now();
        let answer = self.0.client.raw(request.without_token()).await.map_err(|error| error.to_string());
        self.0.ledger.hear(url, answer.as_ref().map_err(String::as_str), began.elapsed());
        answer
    }

    fn note(&self, order: &str, seen: &Value, name: &str) {
        self.0.ledger.note(order, |promise| {
            name.clone_into(&mut promise.name);
            seen["status"].as_str().unwrap().clone_into(&mut promise.status);
        });
    }
}

/// Everybody issues one certificate after the other until told to stop.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    at_work: JoinSet<()>,
}

impl Load {
    pub(crate) fn begin(agents: &[Agent]) -> Self {
        let (stop, mut at_work) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
        for agent in agents {
            let (agent, stop) = (agent.clone(), stop.clone());
            at_work.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    agent.issue().await;
                }
            });
        }
        Self { stop, at_work }
    }

    /// Lets everybody finish what was begun. A flow that failed fails the test.
    pub(crate) async fn finish(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(done) = self.at_work.join_next().await {
            done.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        }
    }
}

fn client(url: &str) -> Client {
    Client::builder(url).http1_only().timeout(Duration::from_secs(60)).build().unwrap()
}

/// What a URL is below the address of a service.
fn path(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    url[host..].find('/').map_or("/", |at| &url[host + at..])
}
