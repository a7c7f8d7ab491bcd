//! Forms whose answer shows a secret. Sent twice, by a double click or by loading the page again, they make one thing: a
//! second secret would be good, and nobody would have kept it.

use std::sync::Arc;

use chancery_service::{Answer, IdempotencyKey, Once};

use crate::form::Fields;

/// The field with the name of the form.
pub(crate) const FORM: &str = "form";

/// What a form asks for is done once. One without a name was not made by us, and is done each time.
pub(crate) fn once<T>(form: &Fields) -> Option<Once<T>> {
    let key = IdempotencyKey::parse(&format!("console form {}", form.filled(FORM)?))?;
    // Nobody looks at the answer: what it showed is not shown again.
    let render = Arc::new(|_: &T| Answer { status: 200, body: Vec::new() });
    Some(Once { key, fingerprint: [0; 32], render })
}
