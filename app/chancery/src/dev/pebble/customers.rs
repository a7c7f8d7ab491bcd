//! The customers that accounts on Pebble's listener belong to: one for those without a binding, and one for each of
//! the keys that Pebble's example configuration has.

use chancery_acme::{StandIn, StandInCredential};
use chancery_domain::{EabTerms, EmailAddress, Metadata, Reseller, ScopeSet};
use chancery_service::{
    AccountLookup, Actor, Caller, CreatedAccount, CreatedCredential, NewAccount, Origin, Outcome, ServiceError,
};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use serde::{Deserialize, Serialize};

use super::PebbleArgs;
use crate::assembly::Assembled;
use crate::dev::demo;
use crate::dev::folder::Folder;
use crate::failure::Failure;

/// Key ids and HMAC keys, as they are known everywhere.
const KNOWN: [(&str, &str); 3] = [
    ("kid-1", "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W"),
    ("kid-2", "b10lLJs8l1GPIzsLP0s6pMt8O0XVGnfTaCeROxQM0BIt2XrJMDHJZBM5NuQmQJQH"),
    ("kid-3", "HjudV5qnbreN-n9WyFSH-t4HXuEx_XFen45zuxY-G1h6fr74V3cUM_dVlwQZBWmc"),
];
/// The customer of accounts without a binding.
const UNBOUND: &str = "unbound";
/// The customer of all keys that the command line names.
const OTHERS: &str = "others";

/// A credential that is kept from one start to the next.
#[derive(Clone, Deserialize, Serialize)]
pub struct Kept {
    kid: String,
    hmac_key: String,
}

/// Reads a key as it stands on the command line.
pub fn key(text: &str) -> Result<(String, Vec<u8>), String> {
    let form = "a key is KID=HMAC, with 32 bytes or more in base64url";
    let (kid, hmac_key) = text.split_once('=').filter(|(kid, _)| !kid.is_empty()).ok_or(form)?;
    let hmac_key = BASE64URL_NOPAD.decode(hmac_key.as_bytes()).ok().filter(|key| key.len() >= 32).ok_or(form)?;
    Ok((kid.to_owned(), hmac_key))
}

/// Finds the customers, or makes those that are not there, or whose credential has ended.
pub async fn ensure(folder: &Folder, assembled: &Assembled, args: &PebbleArgs) -> Result<StandIn, Failure> {
    let operator = assembled.services.operator.clone().acting_as("chancery dev");
    let customers = Customers { folder, assembled, caller: caller(operator.reseller(demo::CODE).await?) };
    let mut stand_in = StandIn::default();
    for (kid, hmac_key) in KNOWN {
        let hmac_key = BASE64URL_NOPAD.decode(hmac_key.as_bytes()).map_err(Failure::failed)?;
        stand_in = stand_in.for_known(kid, hmac_key, customers.credential(kid).await?);
    }
    for (kid, hmac_key) in &args.pebble_eab_key {
        stand_in = stand_in.for_known(kid, hmac_key.clone(), customers.credential(OTHERS).await?);
    }
    match args.pebble_eab {
        true => Ok(stand_in),
        false => Ok(stand_in.for_unbound(customers.credential(UNBOUND).await?)),
    }
}

struct Customers<'a> {
    folder: &'a Folder,
    assembled: &'a Assembled,
    caller: Caller,
}

impl Customers<'_> {
    /// The credential of the customer with this name.
    async fn credential(&self, name: &str) -> Result<StandInCredential, Failure> {
        let mut state = self.folder.state()?;
        let kept = match state.pebble.get(name) {
            Some(kept) if is_alive(self.assembled, &self.caller, kept).await? => kept.clone(),
            Some(_) | None => {
                let made = make(self.assembled, &self.caller, name).await?;
                state.pebble.insert(name.to_owned(), made.clone());
                self.folder.save(&state)?;
                made
            }
        };
        let hmac_key = BASE64.decode(kept.hmac_key.as_bytes()).map_err(Failure::failed)?;
        Ok(StandInCredential { kid: kept.kid, hmac_key })
    }
}

/// The demo reseller itself.
fn caller(reseller: Reseller) -> Caller {
    Caller {
        reseller: reseller.id,
        code: reseller.code,
        actor: Actor::Operator("chancery dev".to_owned()),
        scopes: ScopeSet::all(),
        acme_account: None,
        acme_key: None,
        origin: Origin::default(),
    }
}

async fn is_alive(assembled: &Assembled, caller: &Caller, kept: &Kept) -> Result<bool, Failure> {
    let Ok(kid) = kept.kid.parse() else { return Ok(false) };
    match assembled.services.credentials.show(caller, kid).await {
        Ok(found) => Ok(found.credential.revoked_at.is_none() && !found.account.is_terminated()),
        Err(ServiceError::NotFound(..)) => Ok(false),
        Err(other) => Err(other.into()),
    }
}

/// A new customer; a new credential where there is the customer already.
async fn make(assembled: &Assembled, caller: &Caller, name: &str) -> Result<Kept, Failure> {
    let services = &assembled.services;
    let email = EmailAddress::parse(&format!("pebble-{name}@example.com")).map_err(Failure::failed)?;
    let lookup = AccountLookup::Email(email.clone());
    let known = services.accounts.find_any(caller, lookup).await?.filter(|account| !account.is_terminated());
    let (kid, hmac_key) = match known {
        Some(account) => match services.credentials.create(caller, account.id, EabTerms::default(), None).await? {
            Outcome::Fresh(CreatedCredential { credential, hmac_key, .. }) => (credential.kid, hmac_key),
            Outcome::Replayed(_) => return Err(unheard_of()),
        },
        None => {
            let new = NewAccount { email, groups: Vec::new(), external_id: None, metadata: Metadata::default() };
            match services.accounts.create(caller, new, None).await? {
                Outcome::Fresh(CreatedAccount { account, hmac_key }) => (account.kid, hmac_key),
                Outcome::Replayed(_) => return Err(unheard_of()),
            }
        }
    };
    Ok(Kept { kid: kid.to_string(), hmac_key: hmac_key.reveal().to_owned() })
}

/// Without an idempotency key there is nothing to replay.
fn unheard_of() -> Failure {
    Failure::failed("an answer was replayed that nobody asked for")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_the_command_line_is_read() {
        let (kid, hmac_key) = key("mine=zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W").unwrap();
        assert_eq!((kid.as_str(), hmac_key.len()), ("mine", 48));
        for bad in ["", "mine", "=zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG4", "mine=short", "mine=a b"] {
            assert!(key(bad).is_err(), "{bad}");
        }
    }
}
