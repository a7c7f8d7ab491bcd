//! A reseller that looks at what it has: lists, filters, pages, one thing at a time, what was used, what happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chancery_client::Client;
use http::Method;
use serde_json::Value;

use crate::fill::Known;
use crate::place::Reseller;
use crate::times::Times;

/// What is asked, of one that is stored.
struct Operation {
    name: &'static str,
    target: fn(&Known, &Days) -> String,
    /// Whether the cursor of the last answer is followed.
    pages: bool,
}

/// Days, as the interface writes them.
struct Days {
    yesterday: String,
    in_a_week: String,
    in_two_weeks: String,
}

/// Pages that are followed before it begins anew.
const PAGES: usize = 20;

const fn of(name: &'static str, target: fn(&Known, &Days) -> String) -> Operation {
    Operation { name, target, pages: false }
}

const OPERATIONS: &[Operation] = &[
    of("certificates", |_, _| "/v1/certificates".to_owned()),
    Operation { name: "certificates, next page", target: |_, _| "/v1/certificates?limit=50".to_owned(), pages: true },
    of("certificates, issued", |_, _| "/v1/certificates?certificate_status=issued".to_owned()),
    of("certificates, pending", |_, _| "/v1/certificates?limit=20&certificate_status=pending".to_owned()),
    of("certificates, revoked", |_, _| "/v1/certificates?limit=20&certificate_status=revoked".to_owned()),
    of("certificates, cancelled", |_, _| "/v1/certificates?limit=20&certificate_status=cancelled".to_owned()),
    of("certificates, expired", |_, _| "/v1/certificates?limit=20&certificate_status=expired".to_owned()),
    of("certificates of a name", |known, _| format!("/v1/certificates?name={}", known.name)),
    of("certificates of a serial", |known, _| format!("/v1/certificates?serial={}", known.serial)),
    of("certificates of an account", |known, _| format!("/v1/certificates?account_lookup={}", known.account)),
    of("certificates of an address", |known, _| format!("/v1/certificates?customer_email={}", known.email)),
    of("certificates of a kid", |known, _| format!("/v1/certificates?eab_kid={}", known.kid)),
    of("certificates of a profile", |_, _| "/v1/certificates?profile=TLS-90d".to_owned()),
    of("certificates, end within a week", |_, days| {
        format!("/v1/certificates?limit=20&expires_before={}", days.in_a_week)
    }),
    of("certificates, end in a span", |_, days| {
        format!("/v1/certificates?limit=20&expires_after={}&expires_before={}", days.in_a_week, days.in_two_weeks)
    }),
    of("certificate", |known, _| format!("/v1/certificate/{}", known.certificate)),
    of("orders", |_, _| "/v1/order".to_owned()),
    Operation { name: "orders, next page", target: |_, _| "/v1/order?limit=50".to_owned(), pages: true },
    of("orders, valid", |_, _| "/v1/order?status=valid".to_owned()),
    of("orders, pending", |_, _| "/v1/order?limit=20&status=pending".to_owned()),
    of("orders, invalid", |_, _| "/v1/order?limit=20&status=invalid".to_owned()),
    of("orders, expired", |_, _| "/v1/order?limit=20&status=expired".to_owned()),
    of("orders of an account", |known, _| format!("/v1/order?account_lookup={}", known.account)),
    of("order", |known, _| format!("/v1/order/{}", known.order)),
    of("accounts", |_, _| "/v1/account?limit=10".to_owned()),
    Operation { name: "accounts, next page", target: |_, _| "/v1/account?limit=10".to_owned(), pages: true },
    of("accounts, suspended", |_, _| "/v1/account?is_suspended=true".to_owned()),
    of("accounts of an address", |known, _| format!("/v1/account?customer_email={}", known.email)),
    of("account", |known, _| format!("/v1/account/{}", known.account)),
    of("credentials", |_, _| "/v1/eab-credential?limit=10".to_owned()),
    of("usage", |_, _| "/v1/usage".to_owned()),
    of("usage by day and profile", |_, _| "/v1/usage?by=day,profile".to_owned()),
    of("usage of an account", |known, _| format!("/v1/usage?account_lookup={}", known.account)),
    of("events", |_, _| "/v1/event".to_owned()),
    Operation { name: "events, next page", target: |_, _| "/v1/event?limit=50".to_owned(), pages: true },
    of("events, revocations", |_, _| "/v1/event?type=certificate.revoked".to_owned()),
    of("events of an account", |known, _| format!("/v1/event?account_lookup={}", known.account)),
    of("events since yesterday", |_, days| format!("/v1/event?order=oldest&created_after={}", days.yesterday)),
    of("limits", |_, _| "/v1/limits".to_owned()),
];

/// One of the readers.
pub(crate) struct Reader {
    client: Client,
    known: Vec<Known>,
    days: Days,
    /// Where each of the operations that follow pages stands.
    cursors: Vec<(usize, Option<String>)>,
    turn: usize,
}

impl Reader {
    pub(crate) fn new(client: Client, reseller: &Reseller, number: usize) -> Self {
        let cursors = vec![(0, None); OPERATIONS.len()];
        Self { client, known: reseller.known.clone(), days: Days::now(), cursors, turn: number * 1_000_003 }
    }

    /// Asks one thing after the other, one in each `pace`, until it is over.
    pub(crate) async fn read(mut self, pace: Duration, over: Arc<AtomicBool>) -> Times {
        let mut times = Times::default();
        // A token, and the connection, are not part of what is measured.
        let _ = self.client.request(Method::GET, "/v1/limits", None).await;
        while !over.load(Ordering::Relaxed) {
            let began = Instant::now();
            self.turn += 1;
            self.one(self.turn % OPERATIONS.len(), &mut times).await;
            tokio::time::sleep(pace.saturating_sub(began.elapsed())).await;
        }
        times
    }

    /// Asks for everything so many times.
    pub(crate) async fn read_all(&mut self, rounds: usize) -> Times {
        let mut times = Times::default();
        for _ in 0..rounds {
            self.turn += 1;
            for place in 0..OPERATIONS.len() {
                self.one(place, &mut times).await;
            }
        }
        times
    }

    async fn one(&mut self, place: usize, times: &mut Times) {
        let operation = &OPERATIONS[place];
        let known = &self.known[self.turn.wrapping_mul(31) % self.known.len()];
        let mut target = (operation.target)(known, &self.days);
        if let (_, Some(cursor)) = &self.cursors[place] {
            target = format!("{target}&cursor={cursor}");
        }
        let began = Instant::now();
        let answer = self.client.request(Method::GET, target.as_str(), None).await;
        let took = began.elapsed();
        let outcome = match &answer {
            Ok(answer) if answer.status.is_success() => {
                let body: Value = answer.json().unwrap_or_default();
                if operation.pages {
                    let (page, cursor) = &mut self.cursors[place];
                    *page = (*page + 1) % PAGES;
                    *cursor = body["nextCursor"].as_str().filter(|_| *page > 0).map(str::to_owned);
                }
                Ok(body["items"].as_array().map_or(1, Vec::len))
            }
            Ok(answer) => Err(format!("{target}: {}: {}", answer.status, answer.text())),
            Err(error) => Err(format!("{target}: {error}")),
        };
        times.push(operation.name, took, outcome);
    }
}

impl Days {
    fn now() -> Self {
        let seconds = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_secs()).unwrap();
        let day = |days: i64| chancery_domain::Timestamp::from_secs(seconds + days * 86_400).to_string();
        Self { yesterday: day(-1), in_a_week: day(7), in_two_weeks: day(14) }
    }
}
