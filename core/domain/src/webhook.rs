//! Where a reseller wants to be told of events, and how telling it goes.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use crate::event::{EventId, EventType};
use crate::id::{DeliveryId, ResellerId, WebhookId};
use crate::special_address::set_aside;
use crate::text::Description;
use crate::time::Timestamp;

/// A URL that messages are sent to. Its query may hold a secret of its owner: [`WebhookUrl::shown`] leaves it out.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(String);

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown())
    }
}

/// What URLs are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookUrlRules {
    /// Also `http`, for a test environment.
    pub plain_http: bool,
    /// Also addresses that are set aside for special use, for a network of one's own.
    pub special_addresses: bool,
}

/// Why a URL is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookUrlError {
    #[error(
        "must be an absolute URL such as https://example.com/hook, at most 2000 characters, written as RFC 3986 says: \
         other characters are percent-encoded, a name in another script has its A-labels"
    )]
    Malformed,
    #[error("must begin with https://")]
    Scheme,
    #[error("must not have a user name or password; the signature of each message says who sends it")]
    Credentials,
    #[error("must not have a fragment")]
    Fragment,
    #[error("must not lead to {0}, which is {1}")]
    Special(IpAddr, &'static str),
}

impl WebhookUrl {
    /// A first look: where a name leads is checked with every message.
    pub fn parse(text: &str, rules: WebhookUrlRules) -> Result<Self, WebhookUrlError> {
        if text.len() > 2000 || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(WebhookUrlError::Malformed);
        }
        let (scheme, rest) = text.split_once("://").ok_or(WebhookUrlError::Malformed)?;
        match scheme.to_ascii_lowercase().as_str() {
            "https" => {}
            "http" if rules.plain_http => {}
            _ => return Err(WebhookUrlError::Scheme),
        }
        if text.contains('#') {
            return Err(WebhookUrlError::Fragment);
        }
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(WebhookUrlError::Credentials);
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (authority, None),
        };
        if !port.is_none_or(is_port) || !is_target(target) {
            return Err(WebhookUrlError::Malformed);
        }
        if let Some(address) = read_host(host)?
            && !rules.special_addresses
            && let Some(why) = set_aside(address)
        {
            return Err(WebhookUrlError::Special(address, why));
        }
        Ok(Self(text.to_owned()))
    }

    /// One that was checked before it was stored.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// For logs and records.
    pub fn shown(&self) -> &str {
        self.0.split('?').next().unwrap_or_default()
    }
}

/// One to five digits. A number may have a sign before it, a port may not.
fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// The address that a host is; none where it is a name. Names have no escapes here (RFC 3986 section 3.2.2 has them), and
/// those of other scripts are written as A-labels.
fn read_host(host: &str) -> Result<Option<IpAddr>, WebhookUrlError> {
    if let Some(literal) = host.strip_prefix('[') {
        let address = literal.strip_suffix(']').and_then(|address| address.parse::<Ipv6Addr>().ok());
        return address.map(|address| Some(IpAddr::V6(address))).ok_or(WebhookUrlError::Malformed);
    }
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => Ok(Some(IpAddr::V4(address))),
        Ok(IpAddr::V6(_)) => Err(WebhookUrlError::Malformed),
        Err(_) if is_name(host) => Ok(None),
        Err(_) => Err(WebhookUrlError::Malformed),
    }
}

/// Whether this can be a name in the DNS and in a certificate. The last label of one is not a number: that is an address,
/// written in some way that not everybody reads alike.
fn is_name(host: &str) -> bool {
    let bare = host.strip_suffix('.').unwrap_or(host);
    let last = bare.rsplit('.').next().unwrap_or_default();
    host.len() <= 253 && bare.split('.').all(is_label) && !last.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Whether a path and query have only what may stand there (RFC 3986 sections 3.3 and 3.4).
fn is_target(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let fits = match byte {
            b'%' => (0..2).all(|_| bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
            b'-' | b'.' | b'_' | b'~' | b':' | b'@' | b'/' | b'?' => true,
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' => true,
            other => other.is_ascii_alphanumeric(),
        };
        if !fits {
            return false;
        }
    }
    true
}

/// Whether a webhook is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookState {
    Active,
    /// By its owner.
    Paused,
    /// By us, after it had failed for long.
    Disabled,
}

impl WebhookState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
        }
    }
}

impl std::str::FromStr for WebhookState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Active, Self::Paused, Self::Disabled]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| format!("no state {text}"))
    }
}

/// Where a reseller wants to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    pub id: WebhookId,
    pub reseller: ResellerId,
    pub url: WebhookUrl,
    pub description: Option<Description>,
    /// All, where there is none.
    pub types: Vec<EventType>,
    pub state: WebhookState,
    /// Since when nothing has got through, where that is so.
    pub failing_since: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub version: i64,
}

impl Webhook {
    pub fn wants(&self, kind: EventType) -> bool {
        // A test is for the webhook that it was asked for.
        kind != EventType::WebhookTest && (self.types.is_empty() || self.types.contains(&kind))
    }
}

/// How telling one event to one webhook goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub id: DeliveryId,
    pub webhook: WebhookId,
    pub reseller: ResellerId,
    pub event: EventId,
    pub kind: EventType,
    pub state: DeliveryState,
    pub attempts: i64,
    /// When it is tried next, while it is pending.
    pub due_at: Timestamp,
    pub last: Option<Attempted>,
    pub created_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    Pending,
    Delivered,
    /// Given up.
    Failed,
}

impl DeliveryState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }
}

impl std::str::FromStr for DeliveryState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Pending, Self::Delivered, Self::Failed]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| format!("no state {text}"))
    }
}

/// What came of the last try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempted {
    pub at: Timestamp,
    pub took: Duration,
    /// The HTTP status, where there was an answer.
    pub answered: Option<u16>,
    /// Why it did not count, where it did not.
    pub failure: Option<String>,
}

/// How long to wait after each try: three days in all.
const PAUSES: [u64; 12] = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 43_200, 57_600, 86_400];

impl Delivery {
    /// After a try. `jitter` is 0 to 255, and spreads those who failed together.
    #[must_use]
    pub fn tried(mut self, attempted: Attempted, jitter: u8) -> Self {
        let now = attempted.at.plus(attempted.took);
        self.attempts += 1;
        let pause = usize::try_from(self.attempts - 1).ok().and_then(|tried| PAUSES.get(tried));
        self.state = match (&attempted.failure, pause) {
            (None, _) => DeliveryState::Delivered,
            (Some(_), Some(pause)) => {
                // Up to a tenth more.
                let more = pause * 100 * u64::from(jitter) / 255;
                self.due_at = now.plus(Duration::from_millis(pause * 1000 + more));
                DeliveryState::Pending
            }
            (Some(_), None) => DeliveryState::Failed,
        };
        self.last = Some(attempted);
        self
    }

    /// To be told once more, now, whatever came of it; it is tried as often again. It never stands as it did before.
    #[must_use]
    pub fn again(mut self, now: Timestamp) -> Self {
        self.state = DeliveryState::Pending;
        self.attempts = 0;
        self.due_at = now.min(self.due_at.minus(Duration::from_millis(1)));
        self
    }

    /// Whether it is as it was when it was sent: not tried since by another, and not asked for once more.
    pub fn stands_as(&self, sent: &Self) -> bool {
        self.state == DeliveryState::Pending && (self.attempts, self.due_at) == (sent.attempts, sent.due_at)
    }
}

impl fmt::Display for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::id::AuditId;

    const STRICT: WebhookUrlRules = WebhookUrlRules { plain_http: false, special_addresses: false };
    const LOOSE: WebhookUrlRules = WebhookUrlRules { plain_http: true, special_addresses: true };

    #[test]
    fn a_url_is_not_shown_with_its_query() {
        let rules = WebhookUrlRules { plain_http: false, special_addresses: false };
        let url = WebhookUrl::parse("https://example.com/hook?token=hunter2", rules).unwrap();
        assert_eq!(format!("{url:?}"), "https://example.com/hook");
    }

    #[test]
    fn a_url_is_https_to_somewhere_on_the_internet() {
        for good in
            ["https://example.com", "https://example.com:8443/a?b=c", "HTTPS://1.1.1.1/", "https://[2606:4700::1111]/x"]
        {
            assert!(WebhookUrl::parse(good, STRICT).is_ok(), "{good}");
        }
        for bad in [
            "",
            "example.com/hook",
            "https://",
            "https:///x",
            "https://:443/",
            "https://example.com:0/",
            "https://example.com:65536/",
            "https://example.com/#a",
            "https://user:pw@example.com/",
            "https://example.com\\@127.0.0.1/",
            "https://exa mple.com/",
            "http://example.com/",
            "ftp://example.com/",
            "https://127.0.0.1/",
            "https://127.0.0.1:8080/x",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]:443/",
            "https://169.254.169.254/latest/meta-data",
            "https://168.63.129.16/",
            "https://10.1.2.3?x",
        ] {
            assert!(WebhookUrl::parse(bad, STRICT).is_err(), "{bad}");
        }
        assert!(WebhookUrl::parse("http://127.0.0.1:9/x", LOOSE).is_ok());
        assert!(WebhookUrl::parse("http://localhost:46855?q=1", LOOSE).is_ok());
        assert_eq!(WebhookUrl::parse("https://a.test/x?token=1", STRICT).unwrap().to_string(), "https://a.test/x");
    }

    /// Nothing could ever be sent there.
    #[test]
    fn what_no_sender_can_read_is_refused() {
        for good in [
            "http://h",
            "http://h?",
            "http://h./",
            "http://under_score.a--b.test/",
            "http://xn--mnchen-3ya.test/",
            "http://[::1]:1/",
            "http://h:00080/",
            "http://h/-._~!$&'()*+,;=:@/%2F%aF?/?%00",
        ] {
            assert!(WebhookUrl::parse(good, LOOSE).is_ok(), "{good}");
        }
        let long = format!("http://{}/", "a.".repeat(127));
        for bad in [
            "http://[::1/x",
            "http://::1/x",
            "http://127.0.0.1]:1/",
            "http://[127.0.0.1]/",
            "http://[::1]x/",
            "http://[fe80::1%25eth0]/",
            "http://[v1.a]/",
            "http://exa%zzmple:1/",
            "http://exa%41mple:1/",
            "http://exa!mple/",
            "http://a..b/",
            "http://./",
            "http://-a.test/",
            "http://a-.test/",
            "http://127.1/",
            "http://1.2.3.4./",
            "http://a:b:1/",
            "http://h:/",
            "http://h:+46855/",
            "http://h:000080/",
            "http://h/a|b",
            "http://h/a^b",
            "http://h/a`b",
            "http://h/{e}",
            "http://h/a[0]",
            "http://h/a\\b",
            "http://h/?a\"b",
            "http://h/%",
            "http://h/%4",
            "http://h/%zz",
            long.as_str(),
        ] {
            assert_eq!(WebhookUrl::parse(bad, LOOSE), Err(WebhookUrlError::Malformed), "{bad}");
        }
    }

    #[test]
    fn one_that_is_asked_for_again_stands_otherwise_than_when_it_was_sent() {
        let (now, nil) = (Timestamp::from_secs(1000), Uuid::nil());
        let sent = Delivery {
            id: DeliveryId::from_uuid(nil),
            webhook: WebhookId::from_uuid(nil),
            reseller: ResellerId::from_uuid(nil),
            event: EventId { record: AuditId::from_uuid(nil), place: 0 },
            kind: EventType::AccountCreated,
            state: DeliveryState::Pending,
            attempts: 0,
            due_at: now,
            last: None,
            created_at: now,
        };
        let attempted = |failure| Attempted { at: now, took: Duration::ZERO, answered: None, failure };
        assert!(sent.clone().stands_as(&sent));
        // On its first try, in the very moment it was due, and later.
        for asked in [now, now.plus(Duration::from_secs(1))] {
            let again = sent.clone().again(asked);
            assert!(!again.stands_as(&sent) && again.due_at <= asked, "{again:?}");
        }
        let failed = sent.clone().tried(attempted(Some("no".to_owned())), 0);
        assert!(!failed.stands_as(&sent), "another has tried it");
        assert!(!failed.clone().again(failed.due_at).stands_as(&failed), "on a later try");
        assert!(!sent.clone().tried(attempted(None), 0).stands_as(&sent), "another has delivered it");
    }

    #[test]
    fn it_is_tried_for_about_three_days() {
        let hours = PAUSES.iter().sum::<u64>() / 3600;
        assert!((60..=72).contains(&hours), "{hours}");
        assert!(PAUSES.is_sorted());
    }
}
