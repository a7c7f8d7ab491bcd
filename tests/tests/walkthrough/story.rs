//! Makes requests, and writes them down with their answers.

use chancery_tests::{Reply, Tenant};
use http::Method;
use serde_json::{Value, json};

/// A story in Markdown, as far as it has been told.
pub(crate) struct Story {
    told: String,
    tenant: Tenant,
    /// Of the customer's web server, which would be 80.
    port: u16,
}

impl Story {
    pub(crate) fn of(tenant: &Tenant, port: u16) -> Self {
        Self { told: String::new(), tenant: tenant.clone(), port }
    }

    pub(crate) fn chapter(&mut self, title: &str) {
        self.told.push_str(&format!("\n## {title}\n"));
    }

    pub(crate) fn say(&mut self, text: &str) {
        let gap = if self.told.is_empty() { "" } else { "\n" };
        self.told.push_str(&format!("{gap}{text}\n"));
    }

    pub(crate) fn told(self) -> String {
        self.told
    }

    /// The way in, which needs no token yet.
    pub(crate) async fn token(&mut self, tenant: &Tenant) {
        let asked = json!({
            "client_id": tenant.client_id,
            "client_secret": tenant.client_secret,
            "audience": "https://ca.test/v1",
            "grant_type": "client_credentials",
        });
        let reply = tenant.ask_token(json!({})).await;
        self.write("POST /oauth/token\n", Some(&asked), &reply, 200);
    }

    pub(crate) async fn post(&mut self, path: &str, body: Value, status: u16) -> Value {
        let reply = self.tenant.post(path, body.clone()).await;
        self.write(&format!("POST {path}\n"), Some(&body), &reply, status)
    }

    pub(crate) async fn post_empty(&mut self, path: &str, status: u16) -> Value {
        let reply = self.tenant.post_empty(path).await;
        self.write(&format!("POST {path}\n"), None, &reply, status)
    }

    pub(crate) async fn get(&mut self, path: &str, status: u16) -> Value {
        let reply = self.tenant.get(path).await;
        self.write(&format!("GET {path}\n"), None, &reply, status)
    }

    pub(crate) async fn get_as(&mut self, path: &str, accept: &str, status: u16) -> Value {
        let reply = self.tenant.send(Method::GET, path, &[("accept", accept)], None).await;
        self.write(&format!("GET {path}\nAccept: {accept}\n"), None, &reply, status)
    }

    /// Something that is done but not worth telling.
    pub(crate) async fn quietly(&mut self, path: &str, body: Value, status: u16) -> Value {
        self.tenant.post(path, body).await.expect(status)
    }

    fn write(&mut self, head: &str, body: Option<&Value>, reply: &Reply, status: u16) -> Value {
        assert_eq!(reply.status.as_u16(), status, "{head}: {}", reply.text());
        let mut request = head.to_owned();
        if let Some(body) = body {
            request.push_str(&format!("Content-Type: application/json\n\n{}\n", self.shown(body)));
        }
        let (value, answer) = match serde_json::from_slice::<Value>(&reply.body) {
            Ok(value) => {
                let shown = self.shown(&value);
                (value, shown)
            }
            Err(_) => (Value::Null, cut_pem(reply.text().trim_end())),
        };
        let (status, kind) = (reply.status, reply.header("content-type").unwrap_or_default());
        self.told.push_str(&format!(
            "\n```http\n{request}```\n\n```http\n{status}\nContent-Type: {kind}\n\n{answer}\n```\n"
        ));
        value
    }

    fn shown(&self, value: &Value) -> String {
        let text = serde_json::to_string_pretty(&cut(value.clone())).unwrap();
        text.replace(&format!(":{}", self.port), "")
    }
}

/// What is random even here, where clock and randomness of the service stand still, or too long to read.
fn cut(value: Value) -> Value {
    const RANDOM: &[&str] = &["access_token", "recordValue", "acmeIdentifier", "sha256Fingerprint"];
    match value {
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| {
                let value = match (name.as_str(), value) {
                    (name, Value::String(_)) if RANDOM.contains(&name) => json!("…"),
                    ("keyAuthorization" | "body" | "expected" | "actual", Value::String(text)) => {
                        json!(format!("{}.…", text.split('.').next().unwrap_or_default()))
                    }
                    ("csr" | "certificate" | "chain", Value::String(text)) => json!(cut_pem(&text)),
                    (_, value) => cut(value),
                };
                (name, value)
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(cut).collect(),
        other => other,
    }
}

/// The first line of each PEM, and that there is more.
fn cut_pem(text: &str) -> String {
    let (mut shown, mut inside) = (Vec::new(), false);
    for line in text.lines() {
        match line {
            line if line.starts_with("-----BEGIN") => {
                shown.extend([line, "…"]);
                inside = true;
            }
            line if line.starts_with("-----END") => {
                shown.push(line);
                inside = false;
            }
            line if !inside => shown.push(line),
            _ => {}
        }
    }
    shown.join("\n")
}
