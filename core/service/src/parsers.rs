//! The readers of what strangers send, without the store behind them: for the fuzz targets.

use aws_lc_rs::hmac;
use chancery_domain::{ApiKeyId, Page, ResellerId};
use chancery_jose::{Jwk, Jws};

use crate::acme::binding;
use crate::cursor::{Cursors, ListName, ListRequest};
use crate::error::ServiceError;

/// The key id of an external account binding that was made for this URL.
pub fn binding_names<'a>(binding: &'a Jws, url: &str) -> Result<&'a str, ServiceError> {
    Ok(binding::named(binding, url)?)
}

/// Whether the holder of this secret has bound this key.
pub fn binding_binds(binding: &Jws, secret: &[u8], key: &Jwk) -> Result<(), ServiceError> {
    binding::require_bound(binding, secret, key)
}

/// The authority key identifier and the serial number (in hexadecimal) by which RFC 9773 names a certificate.
pub fn renewal_name(name: &str) -> Option<(Vec<u8>, String)> {
    crate::acme::renewal::parse(name)
}

/// The id inside of an API key.
pub fn api_key_id(text: &str) -> Option<ApiKeyId> {
    crate::identity::secrets::api_key_id(text)
}

/// The cursors of one list.
pub struct CursorsOfAList {
    cursors: Cursors,
    list: ListName,
}

impl CursorsOfAList {
    pub fn new(secret: &[u8; 32], list: &str, reseller: ResellerId) -> Self {
        let cursors = Cursors::new(hmac::Key::new(hmac::HMAC_SHA256, secret));
        Self { cursors, list: ListName::new(list, reseller, &()) }
    }

    /// The cursor that leads on after an item.
    pub fn after(&self, item: &str) -> Option<String> {
        let page = Page::<()>::empty(Some(item.to_owned()));
        self.cursors.close(&self.list, page).next_cursor
    }

    /// The item that a cursor leads on after, if it is one of ours.
    pub fn open(&self, cursor: &str) -> Option<String> {
        let request = ListRequest { limit: 1, cursor: Some(cursor.to_owned()) };
        self.cursors.open(&self.list, &request).ok()?.after
    }
}
