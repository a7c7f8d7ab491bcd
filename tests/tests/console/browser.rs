//! What a browser does without a script: keeps cookies, follows redirects, fills in forms.

use std::collections::BTreeMap;

use chancery_tests::{Reply, Tenant, World};
use http::Method;

const HOST: &str = "ca.test";

/// Somebody at a browser.
pub(crate) struct Browser {
    stranger: Tenant,
    cookies: BTreeMap<String, String>,
    /// What forms say they come from; nothing where a test leaves it out.
    pub(crate) origin: Option<String>,
    pub(crate) csrf: String,
}

impl Browser {
    pub(crate) fn new(world: &World) -> Self {
        Self::at(world.stranger())
    }

    /// At one node of several.
    pub(crate) fn at(stranger: Tenant) -> Self {
        let origin = Some(format!("https://{HOST}"));
        Self { stranger, cookies: BTreeMap::new(), origin, csrf: String::new() }
    }

    /// Signed in as the client of a tenant.
    pub(crate) async fn of(world: &World, tenant: &Tenant) -> Self {
        let mut browser = Self::new(world);
        let reply = browser.sign_in(&tenant.client_id, &tenant.client_secret).await;
        assert_eq!(reply.status, 303, "{}", reply.text());
        browser.look("/console").await;
        browser
    }

    /// Signed in as the operator.
    pub(crate) async fn of_operator(world: &World) -> Self {
        let name = chancery_domain::Name::parse("Olivia").unwrap();
        let made = world.services.operator.create_operator_key(name).await.unwrap();
        let mut browser = Self::new(world);
        let reply = browser.post("/console/sign-in", &[("operator_key", made.text.reveal())]).await;
        assert_eq!(reply.status, 303, "{}", reply.text());
        browser.look("/console/operator").await;
        browser
    }

    pub(crate) async fn sign_in(&mut self, id: &str, secret: &str) -> Reply {
        self.post("/console/sign-in", &[("client_id", id), ("client_secret", secret)]).await
    }

    /// The same browser, whose requests another node gets from now on.
    pub(crate) fn moved_to(&self, stranger: Tenant) -> Self {
        Self { stranger, ..self.copy() }
    }

    /// Another window of the same browser profile that shares nothing from now on.
    pub(crate) fn copy(&self) -> Self {
        Self {
            stranger: self.stranger.clone(),
            cookies: self.cookies.clone(),
            origin: self.origin.clone(),
            csrf: self.csrf.clone(),
        }
    }

    pub(crate) fn set_cookie(&mut self, name: &str, value: &str) {
        self.cookies.insert(name.to_owned(), value.to_owned());
    }

    pub(crate) fn cookie(&self, name: &str) -> Option<&str> {
        self.cookies.get(name).map(String::as_str)
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.send(Method::GET, path, Vec::new()).await
    }

    /// A page that must be there; the token of its forms is kept.
    pub(crate) async fn look(&mut self, path: &str) -> String {
        let reply = self.get(path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        let page = reply.text();
        if let Some((_, rest)) = page.split_once("name=\"csrf\" value=\"") {
            self.csrf = rest.split('"').next().unwrap().to_owned();
        }
        page
    }

    /// A form, with the token of the last page.
    pub(crate) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let csrf = self.csrf.clone();
        let all = std::iter::once(("csrf", csrf.as_str())).chain(fields.iter().copied());
        let body: Vec<_> = all.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        self.send(Method::POST, path, body.join("&").into_bytes()).await
    }

    /// A form that leads to another page: its path.
    pub(crate) async fn done(&mut self, path: &str, fields: &[(&str, &str)]) -> String {
        let reply = self.post(path, fields).await;
        assert_eq!(reply.status, 303, "{path}: {}", reply.text());
        reply.header("location").unwrap().to_owned()
    }

    async fn send(&mut self, method: Method, path: &str, body: Vec<u8>) -> Reply {
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let (cookies, origin) = (cookies.join("; "), self.origin.clone().unwrap_or_default());
        let mut headers = vec![("host", HOST), ("cookie", cookies.as_str())];
        if method == Method::POST {
            headers.push(("content-type", "application/x-www-form-urlencoded"));
            if self.origin.is_some() {
                headers.push(("origin", origin.as_str()));
            }
        }
        let reply = self.stranger.raw(method, path, &headers, body).await;
        for line in reply.headers.get_all("set-cookie") {
            let line = line.to_str().unwrap();
            let (name, rest) = line.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            match line.contains("Max-Age=0") {
                true => drop(self.cookies.remove(name)),
                false => drop(self.cookies.insert(name.to_owned(), value.to_owned())),
            }
        }
        reply
    }
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// What a browser would send of the form that leads to `action`, as it is filled when the page is opened.
pub(crate) fn form_of(page: &str, action: &str) -> Vec<(String, String)> {
    let start = page.find(&format!("action=\"{action}\"")).unwrap_or_else(|| panic!("no form for {action}: {page}"));
    let form = &page[start..start + page[start..].find("</form>").unwrap()];
    let mut fields = Vec::new();
    for (at, _) in form.match_indices('<') {
        let end = at + form[at..].find('>').unwrap();
        let (tag, behind) = (&form[at..end], &form[end + 1..]);
        let attribute = |name: &str| {
            let from = tag.find(&format!(" {name}=\""))? + name.len() + 3;
            Some(plain(&tag[from..from + tag[from..].find('"')?]))
        };
        let Some(name) = attribute("name").filter(|name| name != "csrf") else { continue };
        if tag.starts_with("<textarea") {
            fields.push((name, plain(&behind[..behind.find("</textarea>").unwrap()]).replace('\n', "\r\n")));
        } else if tag.starts_with("<select") {
            let options = &behind[..behind.find("</select>").unwrap()];
            let chosen =
                options.split("<option").find(|option| option.split('>').next().unwrap().contains(" selected"));
            let value = chosen.and_then(|option| option.split("value=\"").nth(1)?.split('"').next());
            fields.push((name, plain(value.unwrap_or_default())));
        } else if attribute("type").as_deref() != Some("checkbox") || tag.contains(" checked") {
            fields.push((name, attribute("value").unwrap_or_default()));
        }
    }
    fields
}

/// Text without what HTML writes for signs of its own.
fn plain(html: &str) -> String {
    html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}
