//! Forms whose answer shows a secret. Sent twice, by a double click or by loading the page again, they make one thing, and
//! show the same: a browser drops the answer to the first of two clicks, and what it showed would be lost.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use chancery_service::{Answer, IdempotencyKey, Once, Outcome};
use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use crate::form::Fields;

/// The field with the name of the form.
pub(crate) const FORM: &str = "form";

/// What a form asks for is done once, and `shown` is kept, sealed, to be shown again. Who goes back and writes something else
/// into it asks for something else, and so does another form of the page: that is about something else. A form without a name was
/// not made by us, and is done each time.
pub(crate) fn once<T: 'static>(form: &Fields, about: &str, shown: fn(&T) -> Value) -> Option<Once<T>> {
    form.filled(FORM)?;
    let said = json!([about, form.without(&["csrf", "current"])]).to_string();
    let hash = HEXLOWER.encode(digest(&SHA256, said.as_bytes()).as_ref());
    let key = IdempotencyKey::parse(&format!("console form {hash}"))?;
    let render = Arc::new(move |made: &T| Answer { status: 200, body: shown(made).to_string().into_bytes() });
    Some(Once { key, fingerprint: [0; 32], render })
}

/// What the page shows of what was made, now or when the form was sent before.
pub(crate) fn shown<T>(outcome: &Outcome<T>, shown: fn(&T) -> Value) -> Shown {
    Shown(match outcome {
        Outcome::Fresh(made) => shown(made),
        Outcome::Replayed(answer) => serde_json::from_slice(&answer.body).unwrap_or_default(),
    })
}

pub(crate) struct Shown(Value);

impl Shown {
    pub(crate) fn text(&self, member: &str) -> &str {
        self.0[member].as_str().unwrap_or_default()
    }
}
