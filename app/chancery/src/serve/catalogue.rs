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
    of("process_start_time_seconds", Gauge, Unit::Seconds, &[], "Start time of the process, in Unix seconds."),
    of("process_resident_memory_bytes", Gauge, Unit::Bytes, &[], "Resident memory."),
    of("process_open_fds", Gauge, Unit::Count, &[], "Open file descriptors."),
    of("process_max_fds", Gauge, Unit::Count, &[], "Limit of open file descriptors."),

    of("chancery_http_requests_total", Counter, Unit::Count, &[("method", Come), ("route", Come), ("status", Come)],
        "Requests with a response."),
    of("chancery_http_request_seconds", Histogram, Unit::Seconds, &[("method", Come), ("route", Come)],
        "Time from the head of a request to the head of its response."),
    of("chancery_http_requests_in_flight", Gauge, Unit::Count, &[], "Requests whose response has not started."),
    of("chancery_http_connections", Gauge, Unit::Count, &[], "Open connections."),
    of("chancery_http_connections_refused_total", Counter, Unit::Count, &[("reason", REFUSED)],
        "Connections refused or closed by the server."),
    of("chancery_limit_refusals_total", Counter, Unit::Count, &[("limit", Limits)], "Requests and connections refused by a limit."),
    of("chancery_acme_accounts_total", Counter, Unit::Count, &[], "ACME accounts registered."),
    of("chancery_acme_problems_total", Counter, Unit::Count, &[("type", Come)], "ACME requests refused, by problem."),
    of("chancery_audit_refusals_dropped_total", Counter, Unit::Count, &[], "Refusals that could not be written to the audit log."),
    of("chancery_audit_strangers_unwritten_total", Counter, Unit::Count, &[],
        "Refusals of unauthenticated clients that are not in the audit log: 429 responses, and more than 60 a minute from one network."),
    of("chancery_retention_deleted_total", Counter, Unit::Count,
        &[("kind", Are(&["orders", "certificates", "precertificates", "authorizations", "audit", "counts"]))], "Rows deleted after their retention period."),
    of("chancery_trace_spans_dropped_total", Counter, Unit::Count, &[], "Trace spans that could not be exported."),

    of("chancery_orders_created_total", Counter, Unit::Count, &[("via", Are(&["reseller", "acme"]))], "Orders created."),
    of("chancery_orders_ended_total", Counter, Unit::Count, &[("outcome", AreProblemsAnd(&["valid", "cancelled"]))],
        "Orders that ended: valid, cancelled, or failed with the named problem. Expired orders are not counted."),
    of("chancery_certificates_issued_total", Counter, Unit::Count, &[("profile", Come)], "Certificates issued."),
    of("chancery_validations_total", Counter, Unit::Count,
        &[("method", Methods), ("outcome", AreProblemsAnd(&["valid"]))],
        "Challenges that ended: valid, or failed with the named problem."),
    of("chancery_validation_seconds", Histogram, Unit::Seconds, &[("method", Methods)],
        "Duration of the validation of a challenge, with all its attempts."),
    of("chancery_perspective_answers_total", Counter, Unit::Count,
        &[("perspective", Come), ("about", Are(&["validation", "caa"])), ("outcome", Are(&["agreed", "disagreed", "unreachable", "late"]))],
        "Results of remote perspectives compared with the primary one. Late: the decision was made without it."),
    of("chancery_log_answers_total", Counter, Unit::Count,
        &[("log", Come), ("outcome", Are(&["promised", "failed", "slow", "wrong"]))],
        "Submissions to CT logs. Wrong: the SCT has an invalid signature or timestamp."),
    of("chancery_log_promises_total", Counter, Unit::Count, &[("outcome", Are(&["enough", "too_few"]))],
        "Rounds of submissions of a precertificate, with enough or too few SCTs. Too few are retried."),
    of("chancery_crypto_seconds", Histogram, Unit::Seconds, &[("what", Are(&["csr", "jws", "sign"]))],
        "Checking a CSR; verifying the signature of an ACME request; linting and signing a certificate."),
    of("chancery_token_failures_total", Counter, Unit::Count, &[],
        "Signing operations that the PKCS #11 token failed, for certificates, CRLs and OCSP responders. They are retried."),
    of("chancery_jobs_total", Counter, Unit::Count, &[("kind", JOBS), ("outcome", Are(&["done", "failed"]))],
        "Jobs processed by this node. Failed ones are retried. Work done within a request is not a job."),
    of("chancery_jobs_waiting", Gauge, Unit::Count, &[("kind", JOBS)],
        "Unfinished jobs of all nodes, counted up to 10000."),
    of("chancery_jobs_oldest_age_seconds", Gauge, Unit::Seconds, &[("kind", JOBS)],
        "Age of the oldest unfinished job."),
    of("chancery_webhook_attempts_total", Counter, Unit::Count, &[("outcome", Are(&["delivered", "failed"]))],
        "Delivery attempts to webhooks by this node."),
    of("chancery_webhook_seconds", Histogram, Unit::Seconds, &[], "Duration of a delivery attempt to a webhook."),

    of("chancery_ca_active", Gauge, Unit::Count, &[("ca", Come)], "1 if a CA is active, otherwise 0."),
    of("chancery_ca_not_after_timestamp_seconds", Gauge, Unit::Seconds, &[("ca", Come)],
        "Expiry of a CA certificate, or of its default chain, in Unix seconds."),
    of("chancery_tls_not_after_timestamp_seconds", Gauge, Unit::Seconds, &[],
        "Expiry of the TLS certificate of the service, in Unix seconds; only with TLS."),
    of("chancery_crl_age_seconds", Gauge, Unit::Seconds, &[("ca", Come)], "Age of the oldest CRL of a CA."),
    of("chancery_crl_next_update_timestamp_seconds", Gauge, Unit::Seconds, &[("ca", Come)],
        "Earliest nextUpdate of the CRLs of a CA, in Unix seconds."),
    of("chancery_crl_oldest_age_seconds", Gauge, Unit::Seconds, &[], "Age of the oldest CRL of all CAs."),
    of("chancery_crls_published_total", Counter, Unit::Count, &[], "CRLs signed by this node."),
    of("chancery_ocsp_answers_total", Counter, Unit::Count, &[("outcome", OCSP)], "OCSP responses."),
    of("chancery_ocsp_statuses_total", Counter, Unit::Count, &[("status", Are(&["good", "revoked", "unknown"]))],
        "Certificate statuses in newly signed OCSP responses."),

    of("chancery_database_up", Gauge, Unit::Count, &[], "1 while the database answers within two seconds."),
    of("chancery_store_unit_seconds", Histogram, Unit::Seconds, &[("kind", Are(&["read", "write"]))],
        "Duration of a unit of work in the database; on SQLite, writes that share a commit count as one."),
    of("chancery_store_group_commit_units", Histogram, Unit::Count, &[], "Units of work per commit (SQLite)."),
    of("chancery_store_rows_per_transaction", Histogram, Unit::Count, &[],
        "Rows that a unit of work inserted, updated and deleted. On SQLite several units share one transaction."),
    of("chancery_store_units_waiting", Gauge, Unit::Count, &[], "Units of work waiting for a connection."),
    of("chancery_store_conflicts_total", Counter, Unit::Count, &[], "Units of work retried after a conflict (PostgreSQL)."),
];
