//! Health and metrics, on a listener of their own that only the operator reaches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use chancery_service::Kernel;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// A check that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long what was found out about the database stands.
const STANDING: Duration = Duration::from_secs(1);
/// How often the token is asked.
const STANDING_OF_TOKEN: Duration = Duration::from_secs(5);

/// Whether requests are welcome.
#[derive(Clone)]
pub struct Health {
    kernel: Arc<Kernel>,
    ready: Arc<AtomicBool>,
    last: Arc<Mutex<Option<Checked>>>,
    of_token: Arc<parking_lot::Mutex<OfToken>>,
}

/// What is known of the token.
struct OfToken {
    asked_at: Option<Instant>,
    answer: Result<(), String>,
}

impl Default for OfToken {
    fn default() -> Self {
        Self { asked_at: None, answer: Err("not asked yet".to_owned()) }
    }
}

/// When the database was asked last, and what came of it.
type Checked = (Instant, Result<(), String>);

impl Health {
    pub fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel, ready: Arc::new(AtomicBool::new(false)), last: Arc::default(), of_token: Arc::default() }
    }

    /// Whether the process itself wants requests: not before it has started, and not once it stops.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::SeqCst);
    }

    /// What is asked again within a second gets the same answer: it costs a commit.
    pub(super) async fn database(&self) -> Result<(), String> {
        let mut last = self.last.lock().await;
        if let Some((at, answer)) = last.as_ref()
            && at.elapsed() < STANDING
        {
            return answer.clone();
        }
        let answer = match tokio::time::timeout(PATIENCE, self.kernel.check_store()).await {
            Ok(answered) => answered.map_err(|error| error.to_string()),
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        };
        *last = Some((Instant::now(), answer.clone()));
        answer
    }

    /// Whether the token lets us in, where the keys of CAs are in one: what it said last. Nobody waits for it here; it is asked
    /// aside, and not too often, for who asks has to log in, and tokens write that down.
    fn token(&self) -> Option<Result<(), String>> {
        let token = self.kernel.ca_keys.token()?.clone();
        let mut last = self.of_token.lock();
        if last.asked_at.is_none_or(|at| at.elapsed() >= STANDING_OF_TOKEN) {
            last.asked_at = Some(Instant::now());
            let of_token = self.of_token.clone();
            tokio::task::spawn_blocking(move || {
                let answer = token.check().map_err(|error| error.to_string());
                of_token.lock().answer = answer;
            });
        }
        Some(last.answer.clone())
    }

    /// A keyring that was broken is told here, before the next restart finds out.
    async fn keyring(&self) -> Result<(), String> {
        let keyring = self.kernel.keyring.clone();
        let read = tokio::task::spawn_blocking(move || keyring.reload());
        match tokio::time::timeout(PATIENCE, read).await {
            Ok(Ok(read)) => read.map_err(|error| error.to_string()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("not read within {} s", PATIENCE.as_secs())),
        }
    }
}

/// `/livez`, `/readyz` and `/metrics`.
pub fn router(health: Health, metrics: PrometheusHandle) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/metrics", get(render).with_state((health.clone(), metrics)))
        .route("/readyz", get(readyz).with_state(health))
        .fallback(|| async { (StatusCode::NOT_FOUND, "There are /livez, /readyz and /metrics here.\n") })
}

async fn readyz(State(health): State<Health>) -> Response {
    let (database, keyring) = tokio::join!(health.database(), health.keyring());
    let process = if health.ready.load(Ordering::SeqCst) { Ok(()) } else { Err("starting or stopping".to_owned()) };
    let ready = database.is_ok() && keyring.is_ok() && process.is_ok();
    let shown = |check: Result<(), String>| check.map_or_else(Value::from, |()| Value::from("ok"));
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut checks = json!({"process": shown(process), "database": shown(database), "keyring": shown(keyring)});
    // Told, and no reason to turn everybody away: what is served to relying parties needs no token, and what is to be
    // signed waits for it.
    if let Some(token) = health.token() {
        checks["token"] = shown(token);
    }
    (status, Json(json!({"ready": ready, "node": health.kernel.node, "checks": checks}))).into_response()
}

async fn render(State((health, metrics)): State<(Health, PrometheusHandle)>) -> impl IntoResponse {
    // Of the moment: it comes and goes within milliseconds.
    metrics::gauge!("chancery_store_units_waiting").set(health.kernel.store.waiting() as f64);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics.render())
}
