//! http-01: a page on the web server of a name (RFC 8555 section 8.3).

use chancery_domain::{Attempt, Identifier, ProblemKind};
use http::{HeaderValue, StatusCode};
use url::Url;

use crate::check::Check;
use crate::dial::{Dialer, Host};
use crate::fetch::{self, Page};
use crate::redirect;
use crate::refusal::Refusal;
use crate::text::shown;
use crate::tls::{WebTls, server_name};

const MAX_REDIRECTS: usize = 10;

pub(crate) struct Http01 {
    pub port: u16,
    pub https_port: u16,
    pub user_agent: HeaderValue,
    pub tls: WebTls,
}

impl Http01 {
    pub(crate) async fn look(&self, dialer: &Dialer, check: &Check, attempt: &mut Attempt) -> Result<(), Refusal> {
        let mut url = self.first_url(check)?;
        attempt.url = Some(url.to_string());
        attempt.expected = Some(check.key_authorization.clone());
        let mut visited = vec![url.clone()];
        loop {
            let page = self.fetch(dialer, &url, attempt).await?;
            attempt.http_status = Some(page.status.as_u16());
            if !is_redirect(page.status) {
                return compare(&url, &page, check, attempt);
            }
            let next = redirect::target(&url, page.location.as_deref(), &[self.port, self.https_port])?;
            let refused = |why: &str| Err(Refusal::wrong(ProblemKind::IncorrectResponse, format!("{url} {why}")));
            if visited.contains(&next) {
                return refused(&format!("redirects to {next}, which was visited before: a loop"));
            }
            if attempt.redirects.len() == MAX_REDIRECTS {
                return refused(&format!("is the end of {MAX_REDIRECTS} redirects, and redirects again"));
            }
            attempt.redirects.push(next.to_string());
            visited.push(next.clone());
            url = next;
        }
    }

    fn first_url(&self, check: &Check) -> Result<Url, Refusal> {
        let (host, text) = match &check.identifier {
            Identifier::Dns(name) => (Host::Name(name.as_str().to_owned()), name.to_string()),
            Identifier::Ip(address) if address.is_ipv6() => (Host::Address(*address), format!("[{address}]")),
            Identifier::Ip(address) => (Host::Address(*address), address.to_string()),
        };
        let url = Url::parse(&format!("http://{text}:{}/.well-known/acme-challenge/{}", self.port, check.token));
        // `0x7f.1` is a name to us and an address to a URL: we ask the host that we were asked about or nobody.
        url.ok().filter(|url| redirect::host(url).as_ref() == Some(&host)).ok_or_else(|| {
            Refusal::wrong(ProblemKind::RejectedIdentifier, format!("{text} cannot be the host of a web page"))
        })
    }

    async fn fetch(&self, dialer: &Dialer, url: &Url, attempt: &mut Attempt) -> Result<Page, Refusal> {
        let (host, port) = redirect::host(url)
            .zip(url.port_or_known_default())
            .ok_or_else(|| Refusal::wrong(ProblemKind::Connection, format!("{url} names no host")))?;
        let stream = dialer.connect(&host, port, attempt).await?;
        if url.scheme() == "http" {
            return fetch::get(stream, url, &self.user_agent).await;
        }
        let name = server_name(&host)?;
        let tls = self
            .tls
            .connect(name, stream)
            .await
            .map_err(|error| Refusal::missing(ProblemKind::Tls, format!("no TLS connection for {url}: {error}")))?;
        fetch::get(tls, url, &self.user_agent).await
    }
}

/// Those that the Baseline Requirements (section 3.2.2.4.19) let a CA follow.
fn is_redirect(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    )
}

fn compare(url: &Url, page: &Page, check: &Check, attempt: &mut Attempt) -> Result<(), Refusal> {
    if page.status != StatusCode::OK {
        let detail = format!("{url} answered {}, not 200", page.status);
        let is_absent = matches!(page.status, StatusCode::NOT_FOUND | StatusCode::GONE);
        return Err(if is_absent || page.status.is_server_error() {
            Refusal::missing(ProblemKind::Unauthorized, detail)
        } else {
            Refusal::wrong(ProblemKind::Unauthorized, detail)
        });
    }
    // RFC 8555 section 8.3: white space at the end is ignored.
    let body = page.body.trim_ascii_end();
    attempt.actual = Some(shown(body));
    if body == check.key_authorization.as_bytes() {
        return Ok(());
    }
    let detail = format!("{url} holds {:?}, not the key authorization {:?}", shown(body), check.key_authorization);
    Err(Refusal::wrong(ProblemKind::IncorrectResponse, detail))
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;
    use std::time::Duration;

    use chancery_domain::ChallengeType;
    use chancery_testkit::SeededEntropy;
    use chancery_testkit::dns::TestDns;
    use chancery_testkit::web::TestWeb;

    use super::*;
    use crate::config::{Dnssec, ValidatorConfig};
    use crate::resolver::Resolver;

    const INTERNAL: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

    fn check(identifier: &str) -> Check {
        Check {
            identifier: Identifier::parse(identifier).unwrap(),
            kind: ChallengeType::Http01,
            token: "token".to_owned(),
            key_authorization: "token.key".to_owned(),
            account_uri: String::new(),
        }
    }

    fn http01(port: u16) -> Http01 {
        let tls = WebTls::offering(b"http/1.1").unwrap();
        Http01 { port, https_port: 443, user_agent: HeaderValue::from_static("test"), tls }
    }

    /// On loopback every address is special: here only one of them is, and the rest is the Internet.
    #[tokio::test]
    async fn i10_a_redirect_cannot_lead_to_an_address_that_is_set_aside() {
        let set_aside = |address: IpAddr| (address == INTERNAL).then_some("for tests");
        let dns = TestDns::start().await;
        let outside = TestWeb::http((Ipv4Addr::LOCALHOST, 0)).await;
        let inside = TestWeb::http((INTERNAL, outside.port())).await;
        let resolvers = vec![dns.address()];
        let config = ValidatorConfig { resolvers, dnssec: Dnssec::Unchecked, ..ValidatorConfig::default() };
        let dialer = Dialer {
            resolver: Resolver::new(&config, Arc::new(SeededEntropy::new(1))).unwrap(),
            set_aside,
            connect_timeout: Duration::from_secs(1),
        };
        dns.address_of("example.test", Ipv4Addr::LOCALHOST).address_of("inside.test", INTERNAL);
        inside.page("/secret", "token.key");
        let port = outside.port();
        for location in [
            format!("http://inside.test:{port}/secret"),
            format!("http://127.0.0.2:{port}/secret"),
            format!("http://0x7f.2:{port}/secret"),
            format!("https://127.0.0.2:{port}/secret"),
        ] {
            outside.redirect("/.well-known/acme-challenge/token", 302, &location);
            let mut attempt = Attempt::default();
            let refusal = http01(port).look(&dialer, &check("example.test"), &mut attempt).await.unwrap_err();
            assert!(refusal.problem.detail.contains("an address is for tests"), "{}", refusal.problem);
            assert!(!refusal.problem.detail.contains("127.0.0.2"), "{}", refusal.problem);
            assert_eq!(attempt.addresses_resolved, ["127.0.0.1"]);
            assert!(!refusal.look_again);
            assert_eq!(attempt.redirects, [location.replace("0x7f.2", "127.0.0.2")]);
        }
        assert_eq!(inside.connections(), 0);

        // Where a name has addresses of both kinds, only the others are spoken to.
        dns.address_of("inside.test", Ipv4Addr::LOCALHOST);
        outside.redirect("/.well-known/acme-challenge/token", 302, &format!("http://inside.test:{port}/secret"));
        outside.page("/secret", "token.key");
        let mut attempt = Attempt::default();
        http01(port).look(&dialer, &check("example.test"), &mut attempt).await.unwrap();
        assert_eq!(inside.connections(), 0);
        assert_eq!(attempt.addresses_resolved, ["127.0.0.1"]);
    }

    #[test]
    fn a_name_that_a_url_takes_for_an_address_is_not_asked() {
        for name in ["0x7f000001", "2130706433", "0x7f.1", "example.0x10"] {
            let Ok(Identifier::Dns(_)) = Identifier::parse(name) else { continue };
            let refusal = http01(80).first_url(&check(name)).unwrap_err();
            assert_eq!(refusal.problem.kind, ProblemKind::RejectedIdentifier, "{name}");
        }
        let url = http01(80).first_url(&check("example.test")).unwrap();
        assert_eq!(url.as_str(), "http://example.test/.well-known/acme-challenge/token");
    }
}
