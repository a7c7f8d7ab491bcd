//! What clients may cost.

use std::num::NonZeroU32;

use chancery_http::{BodyLimits, Limits};
use chancery_overload::{Caps, Limit, LimitSettings, Rate};

use super::{Check, minutes, seconds};
use crate::config::{span, types};
use crate::installation::ServerLimits;

const MANY: u32 = 1_000_000;

pub(super) fn settle(limits: &types::Limits, check: &mut Check<'_>) -> Option<(ServerLimits, LimitSettings)> {
    let granted = settle_granted(limits, check);
    let connections = check.number("limits.connections", limits.connections, 1_usize, 1_000_000);
    let per_peer = check.number("limits.connections_per_peer", limits.connections_per_peer, 0_usize, 1_000_000);
    let at_once = check.number("limits.requests_at_once", limits.requests_at_once, 0_usize, 1_000_000);
    let body_bytes = check.number("limits.body_bytes", limits.body_bytes, 1024_usize, 16 * 1024 * 1024);
    let header_bytes = check.number("limits.header_bytes", limits.header_bytes, 8192_usize, 1024 * 1024);
    let mut time = |setting: &str, text: &str| check.span(setting, text, seconds(1), minutes(10));
    let body_time = time("limits.body_time", &limits.body_time);
    let header_time = time("limits.header_time", &limits.header_time);
    let handshake_time = time("limits.handshake_time", &limits.handshake_time);
    let idle_time = time("limits.idle_time", &limits.idle_time);
    let server = ServerLimits {
        http: Limits {
            connections: connections?,
            connections_per_peer: per_peer.filter(|most| *most > 0),
            handshake: handshake_time?,
            header_read: header_time?,
            idle: idle_time?,
            header_bytes: header_bytes?,
            ..Limits::default()
        },
        requests_at_once: at_once.filter(|most| *most > 0),
        body: BodyLimits { max_bytes: body_bytes?, time: body_time?, ..BodyLimits::default() },
    };
    Some((server, granted?))
}

/// What each reseller, account and address may do.
fn settle_granted(limits: &types::Limits, check: &mut Check<'_>) -> Option<LimitSettings> {
    let per_second = check.number("limits.requests_per_second", limits.requests_per_second, 0, MANY);
    let burst = check.number("limits.burst", limits.burst, 1, MANY);
    let mut cap = |setting: &str, number: i64| check.number(setting, number, 0, MANY);
    let failures_to_pause = cap("limits.failures_to_pause", limits.failures_to_pause);
    let open_orders = cap("limits.open_orders", limits.open_orders);
    let groups = cap("limits.groups", limits.groups);
    let policies = cap("limits.policies", limits.policies);
    let downloads = cap("limits.downloads", limits.downloads);
    let rates = [
        (Limit::NewAccountsPerAddress, "new_accounts_per_address", &limits.new_accounts_per_address),
        (Limit::NewAccountsPerCredential, "new_accounts_per_credential", &limits.new_accounts_per_credential),
        (Limit::NewOrdersPerAddress, "new_orders_per_address", &limits.new_orders_per_address),
        (Limit::NewOrdersPerAccount, "new_orders_per_account", &limits.new_orders_per_account),
        (Limit::FailedValidations, "failed_validations", &limits.failed_validations),
        (Limit::TokenRequestsPerAddress, "tokens_per_address", &limits.tokens_per_address),
        (Limit::UnauthorizedPerAddress, "unauthorized_per_address", &limits.unauthorized_per_address),
        (Limit::Diagnoses, "diagnoses", &limits.diagnoses),
    ];
    let rates: Vec<_> = rates
        .into_iter()
        .map(|(limit, setting, text)| Some((limit, check.problems.take(format!("limits.{setting}"), rate(text))?)))
        .collect();
    let per_account = limits.requests_per_account.as_ref();
    let per_account = per_account.map(|text| check.problems.take("limits.requests_per_account", rate(text)));
    let help = limits.help_url.as_ref().map(|text| check.problems.take("limits.help_url", super::url::https(text)));
    let requests = NonZeroU32::new(per_second?).zip(NonZeroU32::new(burst?));
    let requests = requests.map(|(per_second, burst)| Rate::per_second(per_second, burst));
    let per_account = match per_account {
        Some(rate) => rate?,
        None => requests.map(Rate::half),
    };
    let mut granted = LimitSettings::none()
        .with(Limit::Requests, requests)
        .with(Limit::RequestsPerAccount, per_account)
        .with(Limit::AnonymousRequestsPerAddress, requests);
    for (limit, rate) in rates.into_iter().collect::<Option<Vec<_>>>()? {
        granted = granted.with(limit, rate);
    }
    granted.caps = Caps {
        failures_to_pause: failures_to_pause?,
        open_orders: open_orders?,
        groups: groups?,
        policies: policies?,
        downloads: downloads?,
    };
    granted.help = help.flatten();
    Some(granted)
}

/// `300/3h`: so many in so long, all at once if need be. `off` is no limit.
fn rate(text: &str) -> Result<Option<Rate>, String> {
    if text == "off" {
        return Ok(None);
    }
    let wrong = || format!("must be a number in a length of time such as \"300/3h\", or \"off\", not {text:?}");
    let (count, per) = text.split_once('/').ok_or_else(wrong)?;
    let count = count.parse::<NonZeroU32>().ok().filter(|count| count.get() <= MANY).ok_or_else(wrong)?;
    let per = span::parse(per).ok().filter(|per| (seconds(1)..=seconds(30 * 86_400)).contains(per));
    Ok(Some(Rate::new(count, per.ok_or_else(wrong)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_in_a_time_or_off() {
        let number = |number| NonZeroU32::new(number).unwrap();
        assert_eq!(rate("300/3h"), Ok(Some(Rate::new(number(300), seconds(10_800)))));
        assert_eq!(rate("off"), Ok(None));
        for bad in ["", "300", "0/1h", "300/0s", "300/31d", "x/1h", "300/h", "-1/1h"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_account_gets_half_of_the_rate_of_its_reseller_unless_the_file_sets_one() {
        let account_rate = |requests_per_second, burst, requests_per_account: Option<&str>| {
            let mut check = Check { base: std::path::Path::new("/"), problems: Default::default() };
            let requests_per_account = requests_per_account.map(str::to_owned);
            let limits = types::Limits { requests_per_second, burst, requests_per_account, ..types::Limits::default() };
            settle_granted(&limits, &mut check).map(|granted| granted.rate(Limit::RequestsPerAccount))
        };
        let rate = |count, per| Some(Rate::new(NonZeroU32::new(count).unwrap(), seconds(per)));
        let half = Rate { burst: NonZeroU32::new(20).unwrap(), ..rate(9, 2).unwrap() };
        assert_eq!(account_rate(9, 40, None), Some(Some(half)));
        assert_eq!(account_rate(1, 1, None), Some(rate(1, 2)));
        assert_eq!(account_rate(0, 40, None), Some(None));
        assert_eq!(account_rate(9, 40, Some("7/3s")), Some(rate(7, 3)));
        assert_eq!(account_rate(9, 40, Some("off")), Some(None));
        assert_eq!(account_rate(9, 40, Some("7")), None);
    }

    #[test]
    fn what_the_file_says_where_it_says_nothing_is_what_is_usual() {
        let mut check = Check { base: std::path::Path::new("/"), problems: Default::default() };
        assert_eq!(settle_granted(&types::Limits::default(), &mut check), Some(LimitSettings::usual()));
    }
}
