//! Listeners, addresses and the listener's certificate.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use chancery_http::tls::ReloadingCertificate;
use chancery_http::{Network, ProxyHeader, PublicUrls, TrustedProxies};

use super::{Check, minutes, url};
use crate::config::types;
use crate::installation::{Addresses, TlsFiles};

pub(super) struct Server {
    pub(super) listen: Addresses,
    pub(super) urls: PublicUrls,
    pub(super) tls: Option<TlsFiles>,
    pub(super) drain: Duration,
    pub(super) shutdown_delay: Duration,
    pub(super) proxies: TrustedProxies,
}

impl Server {
    /// Whether other machines reach it, directly or through a proxy on this one.
    pub(super) fn is_public(&self) -> bool {
        !is_loopback(self.listen.api) || !url::loopback_host(&url::host(&self.urls.base_url))
    }
}

pub(super) fn settle(server: &types::Server, check: &mut Check<'_>) -> Option<Server> {
    let listen = settle_listeners(server, check);
    let tls = settle_tls(&server.tls, check);
    let urls = settle_urls(server, listen.as_ref(), check);
    let drain = check.span("server.drain", &server.drain, Duration::ZERO, minutes(10));
    let shutdown_delay = check.span("server.shutdown_delay", &server.shutdown_delay, Duration::ZERO, minutes(5));
    let proxies = settle_proxies(server, check);
    let (listen, urls, tls, proxies) = (listen?, urls?, tls?, proxies?);
    Some(Server { listen, urls, tls, drain: drain?, shutdown_delay: shutdown_delay?, proxies })
}

fn settle_proxies(server: &types::Server, check: &mut Check<'_>) -> Option<TrustedProxies> {
    let read = |text: &String| check.problems.take("server.trusted_proxies", text.parse::<Network>());
    let networks: Vec<_> = server.trusted_proxies.iter().map(read).collect();
    let header = match server.proxy_header.to_ascii_lowercase().as_str() {
        "x-forwarded-for" => Some(ProxyHeader::XForwardedFor),
        "forwarded" => Some(ProxyHeader::Forwarded),
        other => {
            check.problems.add("server.proxy_header", format!("must be x-forwarded-for or forwarded, not {other:?}"));
            None
        }
    };
    let named = !server.proxy_protocol || !networks.is_empty();
    let message = "needs server.trusted_proxies: whoever is not named there is not believed";
    check.problems.require(named, "server.proxy_protocol", message);
    let networks = networks.into_iter().collect::<Option<_>>()?;
    Some(TrustedProxies { networks, header: header?, announce: server.proxy_protocol })
}

fn settle_listeners(server: &types::Server, check: &mut Check<'_>) -> Option<Addresses> {
    let mut address = |setting: &str, text: &str| {
        let address = text.parse::<SocketAddr>();
        let address =
            address.map_err(|_| format!("must be an address and a port such as 127.0.0.1:8443, not {text:?}"));
        check.problems.take(setting, address)
    };
    let api = address("server.listen", &server.listen);
    let http = address("server.http_listen", &server.http_listen);
    let admin = address("server.admin_listen", &server.admin_listen);
    let encrypted = server.tls.certificate.is_some() || api.is_none_or(is_loopback);
    let message = "is reachable from other machines, and there is no certificate; set server.tls.certificate and \
                   server.tls.key, or listen on 127.0.0.1 behind a proxy that ends TLS";
    check.problems.require(encrypted, "server.listen", message);
    let guarded = server.allow_public_admin || admin.is_none_or(is_loopback);
    let message = "is reachable from other machines, and asks nobody who they are; listen on 127.0.0.1, or set \
                   server.allow_public_admin = true where only your monitoring gets there";
    check.problems.require(guarded, "server.admin_listen", message);
    let listen = Addresses { api: api?, http: http?, admin: admin? };
    let clash = |one: SocketAddr, other: SocketAddr| one == other && one.port() != 0;
    check.problems.require(!clash(listen.api, listen.http), "server.http_listen", "is the same as server.listen");
    let other = clash(listen.api, listen.admin) || clash(listen.http, listen.admin);
    check.problems.require(!other, "server.admin_listen", "is the same as another listener's");
    Some(listen)
}

fn settle_urls(server: &types::Server, listen: Option<&Addresses>, check: &mut Check<'_>) -> Option<PublicUrls> {
    let base = match &server.base_url {
        Some(text) => check.problems.take("server.base_url", url::https(text)),
        None => {
            let message = "is missing: say under which address resellers reach the API, such as https://ca.example.com";
            check.problems.add("server.base_url", message);
            None
        }
    };
    let mut or_base = |setting: &str, text: &Option<String>| match text {
        Some(text) => check.problems.take(setting, url::https(text)),
        None => base.clone(),
    };
    let acme = or_base("server.acme_url", &server.acme_url);
    let auth = or_base("server.auth_url", &server.auth_url);
    let http = match &server.http_url {
        Some(text) => check.problems.take("server.http_url", url::http(text)),
        None => base.as_ref().zip(listen).map(|(base, listen)| match listen.http.port() {
            80 => format!("http://{}", url::host(base)),
            port => format!("http://{}:{port}", url::host(base)),
        }),
    };
    Some(PublicUrls { base_url: base?, acme_url: acme?, auth_url: auth?, http_url: http? })
}

fn settle_tls(tls: &types::Tls, check: &mut Check<'_>) -> Option<Option<TlsFiles>> {
    let (certificate, key) = match (&tls.certificate, &tls.key) {
        (None, None) => return Some(None),
        (Some(certificate), Some(key)) => (check.path(certificate), check.path(key)),
        (Some(_), None) => {
            check.problems.add("server.tls.key", "is missing: server.tls.certificate needs its key");
            return None;
        }
        (None, Some(_)) => {
            check.problems.add("server.tls.certificate", "is missing: server.tls.key needs its certificate");
            return None;
        }
    };
    check.problems.take("server.tls", ReloadingCertificate::load(&certificate, &key))?;
    let mode = mode(&key).unwrap_or(0);
    // A group may read it: that is how one key is shared by the services of a machine.
    if mode & 0o007 != 0 {
        let message =
            format!("{key} can be reached by everybody (mode {mode:04o}); run: chmod 600 {key}", key = key.display());
        check.problems.add("server.tls.key", message);
        return None;
    }
    Some(Some(TlsFiles { certificate, key }))
}

fn mode(path: &Path) -> Option<u32> {
    std::fs::metadata(path).ok().map(|metadata| metadata.permissions().mode() & 0o7777)
}

fn is_loopback(address: SocketAddr) -> bool {
    IpAddr::to_canonical(&address.ip()).is_loopback()
}
