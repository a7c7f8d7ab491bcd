//! The limits, each with its name.

/// How a limit is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// A number of events at once, and in a length of time in the long run.
    TokenBucket,
    /// A number of operations at once; free permits go to tenants in turn.
    FairPermits,
    /// A number of requests or jobs at once that follows what the node can finish in time.
    AdaptiveConcurrency,
    /// A number of things, or of bytes.
    Cap,
    /// A share of the database's time.
    FairTime,
}

impl Mechanism {
    /// The mechanism as documents name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TokenBucket => "token bucket",
            Self::FairPermits => "fair permits",
            Self::AdaptiveConcurrency => "adaptive concurrency",
            Self::Cap => "cap",
            Self::FairTime => "fair time",
        }
    }
}

/// Writes the enum and its tables from one list, so that none can miss a limit.
macro_rules! limits {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $mechanism:ident, per $key:literal, of $label:literal;)+) => {
        /// A reason to refuse or delay work. `docs/limits.md` has a row for each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Limit {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Limit {
            /// Every limit.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Its name in responses, headers, metrics and logs. Never changes its meaning.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What enforces it.
            pub const fn mechanism(self) -> Mechanism {
                match self { $(Self::$variant => Mechanism::$mechanism,)+ }
            }

            /// What each bucket, permit or count belongs to.
            pub const fn keyed_by(self) -> &'static str {
                match self { $(Self::$variant => $key,)+ }
            }

            /// What it counts, as a plural for people.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)+ }
            }

            /// One sentence for the documentation.
            pub fn describe(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim(),)+ }
            }
        }
    };
}

limits! {
    /// Requests of a reseller and its customers, at all front ends together.
    Requests = "requests", TokenBucket, per "reseller", of "requests";
    /// ACME requests that no active account has signed, and requests for renewal information.
    AnonymousRequestsPerAddress = "anonymous-requests-per-address", TokenBucket, per "address", of "requests";
    /// ACME accounts created from one address.
    NewAccountsPerAddress = "new-accounts-per-address", TokenBucket, per "address", of "new accounts from this address";
    /// ACME accounts bound by one EAB credential.
    NewAccountsPerCredential = "new-accounts-per-credential", TokenBucket, per "credential", of "new accounts with this credential";
    /// ACME orders and pre-authorizations from one address.
    NewOrdersPerAddress = "new-orders-per-address", TokenBucket, per "address", of "new orders from this address";
    /// Orders of one customer account, through ACME and the reseller API together.
    NewOrdersPerAccount = "new-orders-per-account", TokenBucket, per "account", of "new orders of this account";
    /// Failed validations of one name for one customer account.
    FailedValidations = "failed-validations", TokenBucket, per "account and name", of "failed validations of this name";
    /// Requests to the token endpoint.
    TokenRequestsPerAddress = "tokens-per-address", TokenBucket, per "address", of "requests for a token from this address";
    /// Responses 401 at the reseller API.
    UnauthorizedPerAddress = "unauthorized-per-address", TokenBucket, per "address", of "requests without valid credentials from this address";
    /// Names examined by `POST /v1/diagnose`.
    Diagnoses = "diagnoses", TokenBucket, per "reseller", of "names to examine";
    /// Failed sign-ins to the console from one address.
    SignInsPerAddress = "sign-ins-per-address", TokenBucket, per "address", of "failed sign-ins from this address";
    /// Failed sign-ins to the console for one client from one address.
    SignInsPerClient = "sign-ins-per-client", TokenBucket, per "address and client", of "failed sign-ins for this client";
    /// ACME requests of one customer account; checked before those of its reseller.
    RequestsPerAccount = "requests-per-account", TokenBucket, per "account", of "requests of this account";
    /// Requests in flight on one listener of a node.
    RequestsInFlight = "requests-in-flight", AdaptiveConcurrency, per "node", of "requests in flight";
    /// Requests in flight of one reseller, or of one network before the reseller is known, while more than half of the capacity is in use.
    RequestsInFlightPerTenant = "requests-in-flight-per-tenant", AdaptiveConcurrency, per "reseller or network", of "requests in flight of one tenant";
    /// Bytes of responses that one reseller's clients have not read yet.
    UnsentResponses = "unsent-responses", Cap, per "reseller", of "bytes of unsent responses";
    /// New orders while the requests of several resellers occupy a quarter of the capacity.
    NewWork = "new-work", AdaptiveConcurrency, per "node", of "new orders";
    /// New orders of a reseller that has its share, while new orders take longer than 150 ms.
    NewWorkPerReseller = "new-work-per-reseller", AdaptiveConcurrency, per "reseller", of "new orders of one reseller";
    /// Validations and issuances in flight on a node.
    WorkInFlight = "work-in-flight", AdaptiveConcurrency, per "reseller", of "validations and issuances in flight";
    /// List pages, usage reports, policy evaluations, CSR checks, diagnoses, orders under many policies and changes of many members at
    /// the same time.
    ListReads = "list-reads", FairPermits, per "reseller", of "lists and evaluations at the same time";
    /// Units of work that wait for the database.
    StoreQueue = "store-queue", FairTime, per "reseller", of "units of work waiting for the database";
    /// Orders of one account that are neither finalized, cancelled nor expired.
    OpenOrders = "open-orders-per-account", Cap, per "account", of "open orders";
    /// Account groups of one reseller.
    Groups = "groups-per-reseller", Cap, per "reseller", of "account groups";
    /// Policies of one reseller.
    Policies = "policies-per-reseller", Cap, per "reseller", of "policies";
    /// Policies assigned to one account group.
    PoliciesPerGroup = "policies-per-group", Cap, per "account group", of "policies of this group";
    /// Bytes of all policy rules of one reseller.
    PolicyRuleBytes = "policy-rule-bytes-per-reseller", Cap, per "reseller", of "bytes of policy rules";
    /// Account groups that one account is in.
    GroupsPerAccount = "groups-per-account", Cap, per "account", of "groups of this account";
    /// Webhooks of one reseller.
    Webhooks = "webhooks-per-reseller", Cap, per "reseller", of "webhooks";
    /// CSV exports of one reseller in progress on a node.
    Exports = "downloads-at-a-time", Cap, per "reseller", of "CSV exports in progress";
    /// Validation failures in a row after which new orders for a name are paused.
    PausedNames = "paused-names", Cap, per "account and name", of "failed validations in a row";
    /// Certificates per day, per week or active at once, as the reseller's policies set them.
    CertificateQuota = "certificate-quota", Cap, per "account and policy", of "certificates";
    /// Bytes of a request body.
    RequestBodyBytes = "request-body-bytes", Cap, per "request", of "bytes of a request body";
    /// Open connections of a listener.
    Connections = "connections", Cap, per "node", of "connections";
    /// Open connections of one address.
    ConnectionsPerAddress = "connections-per-address", Cap, per "address", of "connections from this address";
}

impl Limit {
    /// The limits that are rates.
    pub fn rates() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|limit| limit.mechanism() == Mechanism::TokenBucket)
    }

    /// Counts one refusal by this limit.
    pub fn count_refusal(self) {
        metrics::counter!("chancery_limit_refusals_total", "limit" => self.as_str()).increment(1);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_readable_in_headers_and_labels() {
        let names: BTreeSet<_> = Limit::ALL.iter().map(|limit| limit.as_str()).collect();
        assert_eq!(names.len(), Limit::ALL.len());
        assert!(
            names.iter().all(|name| name.chars().all(|character| character.is_ascii_lowercase() || character == '-'))
        );
    }
}
