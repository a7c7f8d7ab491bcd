//! How secrets look. The prefixes let a scanner recognise one that has leaked.

use aws_lc_rs::digest::{SHA256, digest};
use chancery_domain::{ApiKeyId, Entropy, OperatorKeyId, Secret, SecretHash};
use data_encoding::BASE64URL_NOPAD;

const CLIENT_SECRET: &str = "chs_";
const API_KEY: &str = "chk_";
const OPERATOR_KEY: &str = "cho_";

/// A client secret of 256 random bits.
pub fn draw_secret(entropy: &dyn Entropy) -> Secret {
    Secret::new(format!("{CLIENT_SECRET}{}", BASE64URL_NOPAD.encode(&entropy.bytes::<32>())))
}

/// What is stored of a secret.
pub fn hash_secret(text: &str) -> SecretHash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    SecretHash(hash)
}

/// A new API key: it carries its own id, so that it can be found without trying every hash.
pub fn api_key_text(id: ApiKeyId, entropy: &dyn Entropy) -> Secret {
    key_text(API_KEY, &id.to_string(), entropy)
}

/// The id inside an API key, where the text looks like one.
pub(crate) fn api_key_id(text: &str) -> Option<ApiKeyId> {
    format!("{}_{}", ApiKeyId::PREFIX, bare_id(API_KEY, text)?).parse().ok()
}

/// A new operator key, which carries its own id as API keys do.
pub(crate) fn operator_key_text(id: OperatorKeyId, entropy: &dyn Entropy) -> Secret {
    key_text(OPERATOR_KEY, &id.to_string(), entropy)
}

/// The id inside an operator key, where the text looks like one.
pub(crate) fn operator_key_id(text: &str) -> Option<OperatorKeyId> {
    format!("{}_{}", OperatorKeyId::PREFIX, bare_id(OPERATOR_KEY, text)?).parse().ok()
}

/// The mark of its kind, its id without the prefix of ids, and the secret.
fn key_text(mark: &str, id: &str, entropy: &dyn Entropy) -> Secret {
    let bare = id.split_once('_').map_or(id, |(_, bare)| bare);
    Secret::new(format!("{mark}{bare}_{}", BASE64URL_NOPAD.encode(&entropy.bytes::<32>())))
}

fn bare_id<'a>(mark: &str, text: &'a str) -> Option<&'a str> {
    let (id, secret) = text.strip_prefix(mark)?.split_once('_')?;
    (secret.len() == 43).then_some(id)
}
