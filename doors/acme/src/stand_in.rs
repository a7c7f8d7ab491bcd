//! Bindings made in the stead of clients, for test environments: the use cases always ask for one (RFC 8555 section
//! 7.3.4), and always verify it.

use std::collections::BTreeMap;

use chancery_jose::jws::sign_flattened;
use chancery_jose::{Algorithm, HmacKey, Jwk, Jws, KeyError};
use serde_json::{Map, Value};

use crate::problem::Problem;

/// Nobody, by default: clients bind their accounts themselves.
#[derive(Default)]
pub struct StandIn {
    unbound: Option<StandInCredential>,
    known: BTreeMap<String, (Vec<u8>, StandInCredential)>,
}

/// A credential of a customer, with its HMAC key.
pub struct StandInCredential {
    pub kid: String,
    pub hmac_key: Vec<u8>,
}

impl StandIn {
    /// Accounts without a binding get one with this credential.
    #[must_use]
    pub fn for_unbound(mut self, credential: StandInCredential) -> Self {
        self.unbound = Some(credential);
        self
    }

    /// A binding with this key id and HMAC key counts as one with the credential.
    #[must_use]
    pub fn for_known(mut self, kid: &str, hmac_key: Vec<u8>, credential: StandInCredential) -> Self {
        self.known.insert(kid.to_owned(), (hmac_key, credential));
        self
    }

    /// Whether clients have to bind their accounts.
    pub(crate) fn leaves_binding_to_clients(&self) -> bool {
        self.unbound.is_none()
    }

    /// The binding to go on with.
    pub(crate) fn bind(&self, binding: Option<Jws>, key: &Jwk, url: &str) -> Result<Option<Jws>, Problem> {
        let Some(binding) = binding else {
            let Some(credential) = &self.unbound else { return Ok(None) };
            let header = Map::from_iter([("url".to_owned(), Value::from(url))]);
            return credential.sign(Algorithm::HS256, header, key.to_canonical_json().as_bytes()).map(Some);
        };
        let header = binding.header();
        let known = header.kid.as_ref().and_then(|kid| self.known.get(kid)).filter(|_| header.alg.is_hmac());
        let Some((hmac_key, credential)) = known else { return Ok(Some(binding)) };
        let mac = HmacKey::of_one_secret(header.alg, hmac_key).map_err(unusable)?;
        let payload = binding.verify(&mac).map_err(|_| {
            Problem::unauthorized("external account binding: the MAC does not match; check the HMAC key of this kid")
        })?;
        // Everything else that it says is judged as if it were said with the credential.
        credential.sign(header.alg, header.members.clone(), payload).map(Some)
    }
}

impl StandInCredential {
    fn sign(&self, alg: Algorithm, mut header: Map<String, Value>, payload: &[u8]) -> Result<Jws, Problem> {
        header.insert("kid".to_owned(), self.kid.as_str().into());
        let key = HmacKey::of_one_secret(alg, &self.hmac_key).map_err(unusable)?;
        let signed = sign_flattened(header, payload, &key).map_err(unusable)?.to_string();
        Jws::flattened(signed.as_bytes(), signed.len()).map_err(|error| {
            tracing::error!(%error, "a binding of ours cannot be read");
            Problem::internal()
        })
    }
}

fn unusable(error: KeyError) -> Problem {
    tracing::error!(%error, "a binding cannot be made in a client's stead");
    Problem::internal()
}

#[cfg(test)]
mod tests {
    use chancery_jose::SigningKey;
    use serde_json::json;

    use super::*;

    const URL: &str = "https://ca.test/new-account";

    fn credential() -> StandInCredential {
        StandInCredential { kid: "ours".to_owned(), hmac_key: vec![1; 32] }
    }

    fn binding(kid: &str, secret: &[u8], alg: Algorithm) -> Jws {
        let Value::Object(header) = json!({"kid": kid, "url": URL}) else { panic!("an object") };
        let signed = sign_flattened(header, b"{}", &HmacKey::of_one_secret(alg, secret).unwrap()).unwrap();
        Jws::flattened(signed.to_string().as_bytes(), 10_000).unwrap()
    }

    fn own(alg: Algorithm) -> HmacKey {
        HmacKey::of_one_secret(alg, &[1; 32]).unwrap()
    }

    #[test]
    fn by_default_nothing_is_bound_that_the_client_did_not_bind() {
        let key = SigningKey::generate().unwrap();
        let nobody = StandIn::default();
        assert!(nobody.leaves_binding_to_clients());
        assert!(nobody.bind(None, key.public(), URL).unwrap().is_none());
        let sent = binding("kid-1", &[2; 48], Algorithm::HS256);
        let same = nobody.bind(Some(sent), key.public(), URL).unwrap().unwrap();
        assert_eq!(same.header().kid.as_deref(), Some("kid-1"));
    }

    #[test]
    fn an_account_without_a_binding_gets_one_of_its_key_and_url() {
        let key = SigningKey::generate().unwrap();
        let stand_in = StandIn::default().for_unbound(credential());
        assert!(!stand_in.leaves_binding_to_clients());
        let bound = stand_in.bind(None, key.public(), URL).unwrap().unwrap();
        assert_eq!(bound.header().kid.as_deref(), Some("ours"));
        assert_eq!(bound.header().members["url"], URL);
        assert_eq!(Jwk::parse(bound.verify(&own(Algorithm::HS256)).unwrap()).unwrap(), *key.public());
    }

    #[test]
    fn a_known_key_counts_as_the_credential_and_a_wrong_one_does_not() {
        let key = SigningKey::generate().unwrap();
        let stand_in = StandIn::default().for_known("kid-1", vec![2; 48], credential());
        for alg in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            let bound = stand_in.bind(Some(binding("kid-1", &[2; 48], alg)), key.public(), URL).unwrap().unwrap();
            assert_eq!(bound.header().kid.as_deref(), Some("ours"));
            assert_eq!(bound.header().members["url"], URL);
            assert_eq!(bound.verify(&own(alg)).unwrap(), b"{}");
        }
        assert!(stand_in.bind(Some(binding("kid-1", &[3; 48], Algorithm::HS256)), key.public(), URL).is_err());
        let stranger = stand_in.bind(Some(binding("kid-9", &[3; 48], Algorithm::HS256)), key.public(), URL);
        assert_eq!(stranger.unwrap().unwrap().header().kid.as_deref(), Some("kid-9"));
    }
}
