//! Every metric there is. `docs/metrics.md` lists the same, which a test makes sure of.
//!
//! A label has few values, all of our own making or of the operator's: never one of a customer, of a name or of a path.

use chancery_domain::{ChallengeType, ProblemKind};
use chancery_overload::Limit;
use metrics::Unit;

/// What is measured.
pub struct Metric {
    pub name: &'static str,
    pub kind: Kind,
    pub unit: Unit,
    /// Each label with its values, where they are known beforehand: such series are there from the start, at zero, so
    /// that whoever watches can tell nothing from not yet.
    pub labels: &'static [(&'static str, Values)],
    pub help: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// The values of a label.
#[derive(Clone, Copy)]
pub enum Values {
    /// These.
    Are(&'static [&'static str]),
    /// The ways to show control.
    Methods,
    /// These, and every kind of problem.
    AreProblemsAnd(&'static [&'static str]),
    /// The limits on rates.
    Limits,
    /// A route, a status, a profile, a CA: known when they come.
    Come,
}

impl Values {
    /// None where they are not known yet.
    pub fn known(self) -> Option<Vec<&'static str>> {
        match self {
            Self::Are(values) => Some(values.to_vec()),
            Self::Methods => Some(ChallengeType::ALL.iter().map(|kind| kind.as_str()).collect()),
            Self::AreProblemsAnd(values) => {
                Some(values.iter().copied().chain(ProblemKind::ALL.iter().map(|kind| kind.as_str())).collect())
            }
            Self::Limits => Some(Limit::ALL.iter().map(|limit| limit.as_str()).collect()),
            Self::Come => None,
        }
    }
}

use Kind::{Counter, Gauge, Histogram};
use Values::{Are, AreProblemsAnd, Come, Limits, Methods};

const fn of(
    name: &'static str,
    kind: Kind,
    unit: Unit,
    labels: &'static [(&'static str, Values)],
    help: &'static str,
) -> Metric {
    Metric { name, kind, unit, labels, help }
}

const JOBS: Values = Are(&["validate", "issue", "cascade"]);
const REFUSED: Values = Are(&[
    "accept_failed",
    "handshake_failed",
    "handshake_timeout",
    "proxy_protocol",
    "header_timeout",
    "response_stalled",
    "idle",
]);
const OCSP: Values = Are(&["signed", "remembered", "malformed", "unauthorized", "try_later", "internal_error"]);

#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    of("chancery_build_info", Gauge, Unit::Count, &[("version", Come)], "Always 1; the version is in the label."),
    of("process_start_time_seconds", Gauge, Unit::Seconds, &[], "When the process began, in Unix seconds."),
    of("process_resident_memory_bytes", Gauge, Unit::Bytes, &[], "Memory in use."),
    of("process_open_fds", Gauge, Unit::Count, &[], "Open files and connections."),
    of("process_max_fds", Gauge, Unit::Count, &[], "Open files and connections that are allowed."),

    of("chancery_http_requests_total", Counter, Unit::Count, &[("method", Come), ("route", Come), ("status", Come)],
        "Requests answered."),
    of("chancery_http_request_seconds", Histogram, Unit::Seconds, &[("method", Come), ("route", Come)],
        "From a request's head to its response's head."),
    of("chancery_http_requests_in_flight", Gauge, Unit::Count, &[], "Requests whose response has not begun."),
    of("chancery_http_connections", Gauge, Unit::Count, &[], "Open connections."),
    of("chancery_http_connections_refused_total", Counter, Unit::Count, &[("reason", REFUSED)],
        "Connections refused or cut."),
    of("chancery_limit_refusals_total", Counter, Unit::Count, &[("limit", Limits)], "Requests and connections refused by a limit."),
    of("chancery_acme_accounts_total", Counter, Unit::Count, &[], "ACME accounts registered."),
    of("chancery_acme_problems_total", Counter, Unit::Count, &[("type", Come)], "Requests of ACME clients refused."),
    of("chancery_audit_refusals_dropped_total", Counter, Unit::Count, &[], "Refusals missing from the audit trail."),
    of("chancery_audit_strangers_unwritten_total", Counter, Unit::Count, &[],
        "Refusals of strangers that are only counted: 429s, and those beyond 60 a minute from one network."),
    of("chancery_retention_deleted_total", Counter, Unit::Count,
        &[("kind", Are(&["orders", "certificates", "precertificates", "authorizations", "audit", "counts"]))], "Rows that were kept long enough, and deleted."),
    of("chancery_trace_spans_dropped_total", Counter, Unit::Count, &[], "Spans that the collector of traces did not get."),

    of("chancery_orders_created_total", Counter, Unit::Count, &[("via", Are(&["reseller", "acme"]))], "Orders taken."),
    of("chancery_orders_ended_total", Counter, Unit::Count, &[("outcome", AreProblemsAnd(&["valid", "cancelled"]))],
        "Orders that have ended: valid, cancelled, or failed with the problem named. Those that expire are not counted."),
    of("chancery_certificates_issued_total", Counter, Unit::Count, &[("profile", Come)], "Certificates issued."),
    of("chancery_validations_total", Counter, Unit::Count,
        &[("method", Methods), ("outcome", AreProblemsAnd(&["valid"]))],
        "Challenges decided: valid, or failed with the problem named."),
    of("chancery_validation_seconds", Histogram, Unit::Seconds, &[("method", Methods)],
        "Looking whether control of a name is shown."),
    of("chancery_perspective_answers_total", Counter, Unit::Count,
        &[("perspective", Come), ("about", Are(&["validation", "caa"])), ("outcome", Are(&["agreed", "disagreed", "unreachable", "late"]))],
        "Whether other perspectives saw what was seen from here. Late are those without whom it was decided."),
    of("chancery_log_answers_total", Counter, Unit::Count,
        &[("log", Come), ("outcome", Are(&["promised", "failed", "slow", "wrong"]))],
        "What certificate logs did with what they were shown. Wrong is what their keys have not signed, or of a time to come."),
    of("chancery_log_promises_total", Counter, Unit::Count, &[("outcome", Are(&["enough", "too_few"]))],
        "Whether enough certificate logs promised to show what was going to be issued; if not, they are asked again."),
    of("chancery_crypto_seconds", Histogram, Unit::Seconds, &[("what", Are(&["csr", "jws", "sign"]))],
        "Judging a CSR; verifying the signature of an ACME request; linting and signing a certificate."),
    of("chancery_token_failures_total", Counter, Unit::Count, &[],
        "What a token did not do: certificates, lists, certificates of OCSP responders. It is tried again."),
    of("chancery_jobs_total", Counter, Unit::Count, &[("kind", JOBS), ("outcome", Are(&["done", "failed"]))],
        "Jobs that this node has worked on; those that failed are tried again. What is done at once, while a client waits, is no job."),
    of("chancery_jobs_waiting", Gauge, Unit::Count, &[("kind", JOBS)],
        "Jobs that are not done, of all nodes; no more than 10000 are counted."),
    of("chancery_jobs_oldest_age_seconds", Gauge, Unit::Seconds, &[("kind", JOBS)],
        "How long the oldest of them has waited."),
    of("chancery_webhook_attempts_total", Counter, Unit::Count, &[("outcome", Are(&["delivered", "failed"]))],
        "Messages to webhooks that this node has tried to deliver."),
    of("chancery_webhook_seconds", Histogram, Unit::Seconds, &[], "Delivering a message to a webhook."),

    of("chancery_ca_active", Gauge, Unit::Count, &[("ca", Come)], "1 where a CA signs, 0 where it is retired."),
    of("chancery_ca_not_after_timestamp_seconds", Gauge, Unit::Seconds, &[("ca", Come)],
        "When a CA's certificate ends, or the chain that it prefers, in Unix seconds."),
    of("chancery_tls_not_after_timestamp_seconds", Gauge, Unit::Seconds, &[],
        "When the TLS certificate that is served ends, in Unix seconds; only with TLS."),
    of("chancery_crl_age_seconds", Gauge, Unit::Seconds, &[("ca", Come)], "Age of the oldest revocation list of a CA."),
    of("chancery_crl_next_update_timestamp_seconds", Gauge, Unit::Seconds, &[("ca", Come)],
        "When the first revocation list of a CA runs out, in Unix seconds."),
    of("chancery_crl_oldest_age_seconds", Gauge, Unit::Seconds, &[], "Age of the oldest revocation list of all."),
    of("chancery_crls_published_total", Counter, Unit::Count, &[], "Revocation lists made by this node."),
    of("chancery_ocsp_answers_total", Counter, Unit::Count, &[("outcome", OCSP)], "OCSP requests answered."),
    of("chancery_ocsp_statuses_total", Counter, Unit::Count, &[("status", Are(&["good", "revoked", "unknown"]))],
        "What newly signed OCSP answers say of certificates."),

    of("chancery_database_up", Gauge, Unit::Count, &[], "1 while the database answers within two seconds."),
    of("chancery_store_unit_seconds", Histogram, Unit::Seconds, &[("kind", Are(&["read", "write"]))],
        "A unit of work in the database; on SQLite, writes that share a commit are one."),
    of("chancery_store_group_commit_units", Histogram, Unit::Count, &[], "Units of work that shared one commit (SQLite)."),
    of("chancery_store_rows_per_transaction", Histogram, Unit::Count, &[],
        "Rows that one unit of work inserted, changed and deleted. On SQLite several units share one transaction."),
    of("chancery_store_units_waiting", Gauge, Unit::Count, &[], "Units of work that wait for a connection."),
    of("chancery_store_conflicts_total", Counter, Unit::Count, &[], "Units of work run again after a conflict (PostgreSQL)."),
];
