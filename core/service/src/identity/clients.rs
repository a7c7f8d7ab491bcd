//! A new API client, whoever makes it.

use chancery_domain::{Client, ClientId, ClientSecret, Entropy, Name, ResellerId, ScopeSet, Secret, Timestamp};

use super::{draw_secret, hash_secret};

/// What a new client is to be.
#[derive(Clone, Debug)]
pub struct NewClient {
    pub name: Name,
    pub scopes: ScopeSet,
    pub expires_in_days: Option<u32>,
}

/// A client, and a secret of it that is shown only this once.
#[derive(Clone)]
pub struct NewSecret {
    pub client: Client,
    pub secret: Secret,
}

impl NewClient {
    /// When it ends by itself.
    pub(crate) fn expires_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.expires_in_days.map(|days| now.plus_days(days))
    }

    /// Draws its id and its first secret. Nothing is stored yet.
    pub(crate) fn draw(&self, reseller: ResellerId, now: Timestamp, entropy: &dyn Entropy) -> NewSecret {
        let secret = draw_secret(entropy);
        let client = Client {
            id: ClientId::new(now, entropy),
            reseller,
            name: self.name.clone(),
            scopes: self.scopes.clone(),
            secrets: vec![ClientSecret { hash: hash_secret(secret.reveal()), created_at: now }],
            disabled: false,
            expires_at: self.expires_at(now),
            created_at: now,
            updated_at: now,
            version: 1,
        };
        NewSecret { client, secret }
    }
}
