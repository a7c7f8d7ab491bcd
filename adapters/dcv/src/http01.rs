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
