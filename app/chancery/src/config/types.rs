//! The configuration as it is written: plain texts and numbers, which `settle` checks and turns into what they mean.
//!
//! `chancery.example.toml` explains every field. The types hold a secret, so they have no `Debug`.

use serde::{Deserialize, Serialize};

macro_rules! sections {
    ($($(#[$doc:meta])* $section:ident { $($field:ident: $kind:ty = $default:expr,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Deserialize, Serialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $section { $(pub $field: $kind,)* }

        impl Default for $section {
            fn default() -> Self {
                Self { $($field: $default.into(),)* }
            }
        }

        impl Specimen for $section {
            fn specimen() -> Self {
                Self { $($field: Specimen::specimen(),)* }
            }
        }
    )*};
}

sections! {
    Config {
        server: Server = Server::default(),
        database: Database = Database::default(),
        keys: Keys = Keys::default(),
        identity: Identity = Identity::default(),
        limits: Limits = Limits::default(),
        dcv: Dcv = Dcv::default(),
        acme: Acme = Acme::default(),
        eab: Eab = Eab::default(),
        policy: Policy = Policy::default(),
        profiles: Profiles = Profiles::default(),
        ca: Ca = Ca::default(),
        ct: Ct = Ct::default(),
        retention: Retention = Retention::default(),
        log: Log = Log::default(),
        telemetry: Telemetry = Telemetry::default(),
    }
    /// Where we listen, and under which addresses the world reaches us.
    Server {
        listen: String = "127.0.0.1:8443",
        http_listen: String = "127.0.0.1:8080",
        admin_listen: String = "127.0.0.1:9090",
        base_url: Option<String> = None,
        acme_url: Option<String> = None,
        auth_url: Option<String> = None,
        http_url: Option<String> = None,
        allow_public_admin: bool = false,
        drain: String = "30s",
        shutdown_delay: String = "0s",
        trusted_proxies: Vec<String> = Vec::new(),
        proxy_header: String = "x-forwarded-for",
        proxy_protocol: bool = false,
        tls: Tls = Tls::default(),
    }
    /// The certificate of the HTTPS listener.
    Tls {
        certificate: Option<String> = None,
        key: Option<String> = None,
    }
    Database {
        url: String = "sqlite://chancery.db",
        connections: i64 = 8,
        migrate: bool = true,
        ca_file: Option<String> = None,
        allow_unencrypted: bool = false,
    }
    /// The key-encryption key, and where else keys are.
    Keys {
        kek_file: Option<String> = None,
        kek: Option<String> = None,
        pkcs11: Pkcs11 = Pkcs11::default(),
    }
    /// The token that has the keys of CAs.
    Pkcs11 {
        module: Option<String> = None,
        token: Option<String> = None,
        pin_file: Option<String> = None,
    }
    Identity {
        issuer: Option<String> = None,
        audience: Option<String> = None,
        token_lifetime: String = "24h",
        token_key_rotation: String = "30d",
        token_key_notice: String = "1h",
        api_keys: bool = false,
        allow_public_api_keys: bool = false,
        external: Vec<External> = Vec::new(),
    }
    /// An external OpenID provider.
    External {
        issuer: String = "",
        jwks_url: String = "",
        audience: String = "",
        reseller_claim: String = "reseller_code",
        scope_claim: String = "scope",
        resellers: Vec<String> = Vec::new(),
        ca_file: Option<String> = None,
        sign_in: SignIn = SignIn::default(),
    }
    /// How people sign in to the console through an external provider.
    SignIn {
        name: Option<String> = None,
        label: Option<String> = None,
        authorize_url: Option<String> = None,
        token_url: Option<String> = None,
        client_id: Option<String> = None,
        client_secret_file: Option<String> = None,
        request_scope: String = "openid profile email",
        scopes: String =
            "reseller read:order read:authorization read:certificate read:challenge read:account read:event",
        scope_claim: Option<String> = None,
    }
    Limits {
        requests_per_second: i64 = 50,
        burst: i64 = 200,
        requests_per_account: Option<String> = None,
        new_accounts_per_address: String = "500/1h",
        new_accounts_per_credential: String = "500/1h",
        new_orders_per_address: String = "10000/1h",
        new_orders_per_account: String = "10000/1h",
        failed_validations: String = "20/1h",
        tokens_per_address: String = "120/1m",
        unauthorized_per_address: String = "300/1m",
        diagnoses: String = "60/1m",
        failures_to_pause: i64 = 100,
        open_orders: i64 = 10_000,
        groups: i64 = 10_000,
        policies: i64 = 1000,
        downloads: i64 = 8,
        help_url: Option<String> = None,
        connections: i64 = 10_000,
        requests_at_once: i64 = 4096,
        connections_per_peer: i64 = 1000,
        body_bytes: i64 = 262_144,
        body_time: String = "20s",
        header_bytes: i64 = 65_536,
        header_time: String = "10s",
        handshake_time: String = "10s",
        idle_time: String = "75s",
    }
    /// How control of names is checked, and how long it counts.
    Dcv {
        resolvers: Vec<String> = Vec::new(),
        dnssec: String = "validate",
        caa_identities: Vec<String> = Vec::new(),
        retry_window: String = "20s",
        reuse_days: i64 = 10,
        order_lifetime: String = "7d",
        max_in_flight: i64 = 500,
        allow_special_addresses: bool = false,
        http01_port: i64 = 80,
        tls_alpn01_port: i64 = 443,
        perspectives: Vec<Perspective> = Vec::new(),
        perspectives_may_fail: Option<i64> = None,
    }
    /// From where else is looked.
    Perspective {
        name: String = "",
        url: String = "",
        secret_file: String = "",
        ca_file: Option<String> = None,
        region: Option<String> = None,
    }
    /// What ACME clients are told and asked for.
    Acme {
        terms_of_service: Option<String> = None,
        website: Option<String> = None,
        finalize_wait: String = "5s",
        challenge_wait: String = "1s",
        subdomains: bool = false,
    }
    /// What an EAB credential is good for.
    Eab {
        single_use: bool = false,
    }
    /// The policy of accounts that no policy applies to; without a rule it permits what the profiles permit.
    Policy {
        name: String = "default",
        allowed_domains: Option<Vec<String>> = None,
        denied_domains: Option<Vec<String>> = None,
        allow_wildcards: Option<bool> = None,
        allow_ip_addresses: Option<bool> = None,
        allowed_profiles: Option<Vec<String>> = None,
        allowed_key_types: Option<Vec<String>> = None,
        allowed_challenge_types: Option<Vec<String>> = None,
        max_names: Option<i64> = None,
        max_validity_days: Option<i64> = None,
        max_certificates_per_day: Option<i64> = None,
        max_certificates_per_week: Option<i64> = None,
        max_active_certificates: Option<i64> = None,
        issuance_enabled: Option<bool> = None,
    }
    Profiles {
        default_profile: String = "TLS-90d",
        list: Vec<Profile> = Vec::new(),
    }
    Profile {
        name: String = "",
        description: String = "",
        validity_days: i64 = 90,
        key_types: Vec<String> = ["rsa-2048", "rsa-3072", "rsa-4096", "ec-p256", "ec-p384"].map(String::from),
        challenge_types: Vec<String> = ["http-01", "dns-01", "tls-alpn-01"].map(String::from),
        allow_wildcards: bool = true,
        allow_ip_addresses: bool = true,
        max_names: i64 = 100,
        issuers: Vec<String> = Vec::new(),
        usages: Vec<String> = ["server-auth"].map(String::from),
        policies: Vec<String> = ["2.23.140.1.2.1"].map(String::from),
        common_name: bool = false,
        subject_key_id: bool = false,
        key_encipherment: bool = false,
        backdate: String = "1h",
        ocsp: bool = true,
        crl: bool = true,
        public: bool = false,
        ct: bool = false,
    }
    /// The certificate authorities.
    Ca {
        crl_shards: i64 = 8,
        key_blocklist: Option<String> = None,
    }
    /// The logs that are shown certificates before they are issued.
    Ct {
        log_list_file: Option<String> = None,
        logs: Vec<CtLog> = Vec::new(),
        scts: Option<i64> = None,
        operators: Option<i64> = None,
    }
    CtLog {
        name: String = "",
        operator: String = "",
        url: String = "",
        key: String = "",
        from: Option<String> = None,
        until: Option<String> = None,
        ca_file: Option<String> = None,
    }
    /// How long what has ended is kept; 0 is for ever.
    Retention {
        orders: String = "90d",
        authorizations: String = "90d",
        certificates: String = "730d",
        audit: String = "1095d",
        refusals: String = "90d",
        every: String = "1h",
    }
    Log {
        format: String = "auto",
        level: String = "info",
    }
    /// Traces.
    Telemetry {
        otlp_endpoint: Option<String> = None,
        sample: f64 = 1.0,
        continue_from: Vec<String> = Vec::new(),
    }
}

/// One value of a kind: a `Config::specimen()` has every setting there is, to know their names and kinds by.
pub trait Specimen {
    fn specimen() -> Self;
}

impl<T: Specimen> Specimen for Option<T> {
    fn specimen() -> Self {
        Some(T::specimen())
    }
}

impl<T: Specimen> Specimen for Vec<T> {
    fn specimen() -> Self {
        vec![T::specimen()]
    }
}

impl Specimen for String {
    fn specimen() -> Self {
        "text".to_owned()
    }
}

impl Specimen for i64 {
    fn specimen() -> Self {
        1
    }
}

impl Specimen for f64 {
    fn specimen() -> Self {
        1.0
    }
}

impl Specimen for bool {
    fn specimen() -> Self {
        true
    }
}
