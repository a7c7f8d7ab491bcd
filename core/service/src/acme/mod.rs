//! What ACME clients may do (RFC 8555): the same orders, authorizations and certificates as everybody's, by another way.

mod account;
mod addresses;
mod admission;
mod authorization;
pub(crate) mod binding;
mod counter;
mod error;
mod finalize;
mod keys;
mod names;
mod nonce;
mod order;
pub(crate) mod renewal;
mod revocation;
mod spent;

use std::sync::Arc;

pub use account::{AccountUpdate, NewAcmeAccount, Registered};
pub use admission::{AcmeCaller, SpeakersKey};
pub(crate) use admission::{hold_applicant, require_still};
pub use error::{AcmeError, RejectedName, Rejection, ToldName};
pub use names::AskedName;
pub use nonce::Nonce;
pub(crate) use nonce::{Nonces, start_generation};
pub use order::NewAcmeOrder;
pub use renewal::{RenewalInfo, RenewalWindow};
pub use revocation::{RevocationRequest, Revoker};

use self::addresses::KnownAddresses;
use self::keys::KnownKeys;
use crate::authority::Authority;
use crate::authorizations::Authorizations;
use crate::certificates::Certificates;
use crate::issuance::Issuance;
use crate::kernel::Kernel;
use crate::orders::Orders;

/// The use cases of ACME.
#[derive(Clone)]
pub struct Acme {
    kernel: Arc<Kernel>,
    authority: Arc<Authority>,
    orders: Orders,
    authorizations: Authorizations,
    certificates: Certificates,
    issuance: Issuance,
    keys: Arc<KnownKeys>,
    addresses: Arc<KnownAddresses>,
}

impl Acme {
    pub(crate) fn new(kernel: Arc<Kernel>, authority: Arc<Authority>) -> Self {
        Self {
            orders: Orders::new(kernel.clone()),
            authorizations: Authorizations::new(kernel.clone()),
            certificates: Certificates::new(kernel.clone(), authority.clone()),
            issuance: Issuance::new(kernel.clone(), authority.clone()),
            keys: Arc::default(),
            addresses: Arc::default(),
            kernel,
            authority,
        }
    }
}
