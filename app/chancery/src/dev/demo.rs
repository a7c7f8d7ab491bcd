//! The demo reseller: one client and one API key, made once.

use chancery_domain::{Name, ResellerCode, ScopeSet, Secret};
use chancery_service::identity::NewClient;
use chancery_service::identity::hash_secret;
use chancery_service::{Operator, ServiceError};

use super::folder::Folder;
use crate::assembly::Assembled;
use crate::failure::Failure;

pub const CODE: &str = "DEMO";

/// How to get in.
pub struct Demo {
    pub client_id: String,
    pub client_secret: Secret,
    pub api_key: Secret,
    /// For the operator's pages of the console.
    pub operator_key: Secret,
}

/// Finds the demo's credentials, or makes those that are not there or no longer fit the database.
pub async fn ensure(folder: &Folder, assembled: &Assembled) -> Result<Demo, Failure> {
    let operator = assembled.services.operator.clone().acting_as("chancery dev");
    match operator.reseller(CODE).await {
        Ok(_) => {}
        Err(ServiceError::NotFound(..)) => {
            let code = ResellerCode::parse(CODE).map_err(Failure::failed)?;
            operator.create_reseller(code, name("Demo")?).await?;
        }
        Err(other) => return Err(other.into()),
    }
    let mut state = folder.state()?;
    let client = match state.client_id.clone().zip(state.client_secret.clone()) {
        Some((id, secret)) if has_client(assembled, &id, &secret).await? => (id, Secret::new(secret)),
        Some(_) | None => {
            let new = NewClient { name: name("Demo client")?, scopes: ScopeSet::all(), expires_in_days: None };
            let made = operator.create_client(CODE, new).await?;
            (made.client.id.to_string(), made.secret)
        }
    };
    let api_key = match state.api_key.clone() {
        Some(text) if has_api_key(&operator, &text).await? => Secret::new(text),
        Some(_) | None => operator.create_api_key(CODE, name("Demo key")?, ScopeSet::all()).await?.text,
    };
    let operator_key = match state.operator_key.clone() {
        Some(text) if has_operator_key(&operator, &text).await? => Secret::new(text),
        Some(_) | None => operator.create_operator_key(name("Demo operator")?).await?.text,
    };
    let (client_id, client_secret) = client;
    state.client_id = Some(client_id.clone());
    state.client_secret = Some(client_secret.reveal().to_owned());
    state.api_key = Some(api_key.reveal().to_owned());
    state.operator_key = Some(operator_key.reveal().to_owned());
    folder.save(&state)?;
    Ok(Demo { client_id, client_secret, api_key, operator_key })
}

async fn has_client(assembled: &Assembled, id: &str, secret: &str) -> Result<bool, Failure> {
    let Ok(id) = id.parse() else { return Ok(false) };
    let client = assembled.kernel.store.read(move |tx| tx.client(id)).await.map_err(Failure::from)?;
    Ok(client.is_some_and(|client| client.accepts(&hash_secret(secret))))
}

async fn has_api_key(operator: &Operator, text: &str) -> Result<bool, Failure> {
    let hash = hash_secret(text);
    let keys = operator.api_keys(CODE).await?;
    Ok(keys.iter().any(|key| key.revoked_at.is_none() && key.hash.matches(&hash)))
}

async fn has_operator_key(operator: &Operator, text: &str) -> Result<bool, Failure> {
    let hash = hash_secret(text);
    let keys = operator.operator_keys().await?;
    Ok(keys.iter().any(|key| key.revoked_at.is_none() && key.hash.matches(&hash)))
}

fn name(text: &str) -> Result<Name, Failure> {
    Name::parse(text).map_err(Failure::failed)
}
