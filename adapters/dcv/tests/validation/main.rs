//! Every rule of domain validation, against responders on loopback.

mod caa;
mod dns01;
mod dnssec;
mod http01;
mod places;
mod redirects;
mod resolving;
mod retries;
mod tls_alpn01;
mod world;
