//! The operator's commands: one file a noun. They work beside a running service or without one.

pub mod api_key;
pub mod audit;
pub mod backup;
pub mod bench;
pub mod ca;
pub mod client;
pub(crate) mod context;
pub mod demo;
pub mod doctor;
pub mod kek;
pub mod man;
mod noting;
pub mod openapi;
pub mod operator_key;
pub mod pause;
pub mod profile;
pub mod recover;
pub mod reseller;
pub mod restore;
pub mod revoke;
mod revoked;
pub mod setup;

use chancery_domain::{Scope, ScopeSet};

/// Reads scopes as OAuth writes them, naming what there is when one is unknown.
fn scopes(text: &str) -> Result<ScopeSet, String> {
    let scopes: ScopeSet =
        text.parse().map_err(|unknown| format!("there is no scope {unknown}; there are: {}", ScopeSet::all()))?;
    match scopes.contains(Scope::Reseller) {
        true => Ok(scopes),
        false => Err(format!("the scope {} must be among them: nothing can be done without it", Scope::Reseller)),
    }
}
