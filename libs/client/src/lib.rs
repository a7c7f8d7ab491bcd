//! The reseller API from Rust: one method an operation, one file a noun.
//!
//! A [`Client`] is cheap to clone and shares its connections and its access token with its clones. The token is
//! fetched when it is first needed, kept until shortly before it expires, and fetched anew once if the server
//! refuses it.
//!
//! ```no_run
//! use chancery_client::wire::ResellerAccountRequest;
//! use chancery_client::{AccountQuery, Client, ClientCredentials, Error, StatusCode};
//!
//! # async fn example(secret: String) -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder("https://ca.example.com:8443")
//!     .ca_pem(std::fs::read("ca.pem")?)
//!     .credentials(ClientCredentials {
//!         client_id: "my-client".to_owned(),
//!         client_secret: secret,
//!         audience: "https://ca.example.com:8443".to_owned(),
//!         auth_url: "https://ca.example.com:8443".to_owned(),
//!     })
//!     .build()?;
//!
//! let request =
//!     ResellerAccountRequest { customer_email: "admin@example.com".to_owned(), ..Default::default() };
//! match client.accounts().create(&request).await {
//!     Ok(account) => println!("created {}, EAB key id {}", account.lookup, account.kid),
//!     Err(error) if error.status() == Some(StatusCode::CONFLICT) => println!("is there already"),
//!     Err(error) => return Err(error.into()),
//! }
//!
//! let mut accounts = client.accounts().list_all(AccountQuery { is_suspended: Some(false), ..Default::default() });
//! while let Some(account) = accounts.next().await? {
//!     println!("{} {}", account.lookup, account.email);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What has no method here, and what is meant to be refused, goes through [`Client::request`] and [`Client::raw`].

mod account;
mod authorization;
mod base_url;
mod builder;
mod certificate;
mod client;
mod connector;
mod eab;
mod error;
mod event;
mod group;
mod limits;
mod member;
mod metadata;
mod order;
mod page;
mod path;
mod pause;
mod policy;
mod query;
mod request;
mod response;
mod tls;
mod token;
mod transport;
mod usage;
mod version;
mod webhook;

pub use account::{AccountQuery, Accounts};
pub use builder::{BuildError, ClientBuilder};
pub use certificate::{CertificateForm, CertificateQuery, Certificates, Downloaded, Fetched, Revoked};
pub use client::Client;
pub use eab::EabCredentials;
pub use error::{Error, TransportError};
pub use event::{EventQuery, Events};
pub use group::AccountGroups;
pub use metadata::ServiceMetadata;
pub use order::{OrderQuery, Orders};
pub use page::{PageQuery, Pages};
pub use pause::Pauses;
pub use policy::Policies;
pub use request::RawRequest;
pub use response::{Replayable, Response};
pub use token::{AccessToken, ClientCredentials};
pub use usage::UsageQuery;
pub use webhook::Webhooks;

pub use bytes::Bytes;
/// The shapes of requests and answers.
pub use chancery_wire as wire;
pub use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
