//! Pebble's ACME listener: our door, on Pebble's paths, in the name of whatever host it was called by. A suite may know
//! it as localhost, and a container beside it as pebble.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use chancery_acme::{Layout, Mount, mounted, wording};
use chancery_http::{Door, PublicUrls, Wording, account_for};
use http::header::HOST;
use http::uri::Authority;
use http::{Uri, request};
use parking_lot::Mutex;
use tower::ServiceExt;

/// Hosts that are remembered; for others a router is made each time.
const MOST_HOSTS: usize = 64;
/// Where there is nothing, inside.
const NOWHERE: &str = "/acme";

/// Pebble's paths, over the directory of a profile.
pub fn layout(profile: &str) -> Layout {
    let own = |name: &str| format!("/acme/{profile}/{name}");
    let of_profile = [
        ("/dir", "directory"),
        ("/nonce-plz", "new-nonce"),
        ("/sign-me-up", "new-account"),
        ("/order-plz", "new-order"),
        ("/authz-plz", "new-authz"),
        ("/revoke-cert", "revoke-cert"),
        ("/rollover-account-key", "key-change"),
    ];
    let of_profile: Vec<_> = of_profile.into_iter().map(|(outside, name)| (outside, own(name))).collect();
    let others = [
        ("/list-orderz/{}", "/acme/account/{}/orders"),
        ("/my-account/{}", "/acme/account/{}"),
        ("/finalize-order/{}", "/acme/order/{}/finalize"),
        ("/my-order/{}", "/acme/order/{}"),
        ("/authZ/{}", "/acme/authz/{}"),
        ("/chalZ/{}", "/acme/challenge/{}"),
        ("/certZ/{}", "/acme/cert/{}"),
        ("/draft-ietf-acme-ari-03", "/acme/renewal-info"),
        ("/draft-ietf-acme-ari-03/{}", "/acme/renewal-info/{}"),
    ];
    Layout::new(of_profile.iter().map(|(outside, inside)| (*outside, inside.as_str())).chain(others))
}

/// The door, mounted anew for each host that it is called by.
struct ByHost {
    door: Door,
    mount: Arc<Mount>,
    /// Who it is for those who do not say.
    usual: Authority,
    finish: Box<dyn Fn(Router, Wording) -> Router + Send + Sync>,
    made: Mutex<HashMap<Authority, Router>>,
}

/// Everything that the listener serves. `finish` is the last thing done to a router; it is given how the door says refusals.
pub fn router(
    door: Door,
    mount: Mount,
    usual: Authority,
    finish: impl Fn(Router, Wording) -> Router + Send + Sync + 'static,
) -> Router {
    let mount = Arc::new(mount);
    let by_host = ByHost { door, mount, usual, finish: Box::new(finish), made: Mutex::default() };
    Router::new().fallback(dispatch).with_state(Arc::new(by_host))
}

async fn dispatch(State(by_host): State<Arc<ByHost>>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let router = by_host.router(authority(&parts).unwrap_or_else(|| by_host.usual.clone()));
    parts.uri = by_host.inside(&parts.uri);
    match router.oneshot(Request::from_parts(parts, body)).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

impl ByHost {
    fn router(&self, authority: Authority) -> Router {
        let mut made = self.made.lock();
        if let Some(router) = made.get(&authority) {
            return router.clone();
        }
        let urls = PublicUrls { acme_url: format!("https://{authority}"), ..(*self.door.urls).clone() };
        let door = Door { urls: Arc::new(urls), ..self.door.clone() };
        let refusals = wording(door.clone(), self.mount.clone());
        let router = (self.finish)(account_for(mounted(door.clone(), self.mount.clone()), door), refusals);
        if made.len() < MOST_HOSTS {
            made.insert(authority, router.clone());
        }
        router
    }

    fn inside(&self, asked: &Uri) -> Uri {
        let path = self.mount.layout.inside(asked.path()).unwrap_or_else(|| NOWHERE.to_owned());
        let text = match asked.query() {
            Some(query) => format!("{path}?{query}"),
            None => path,
        };
        text.parse().unwrap_or_else(|_| Uri::from_static(NOWHERE))
    }
}

/// The host that was called, with its port: in the URI by HTTP/2, in a header by HTTP/1.1.
pub fn authority(parts: &request::Parts) -> Option<Authority> {
    let named = parts.uri.authority().cloned();
    let said = || parts.headers.get(HOST)?.to_str().ok()?.parse().ok();
    named.or_else(said).filter(|authority: &Authority| !authority.as_str().contains('@'))
}
