//! Whose a certificate is: the API has three ways to name an account, people have one.

/// Exactly one of them is there.
pub struct Whose {
    pub account_lookup: Option<String>,
    pub customer_email: Option<String>,
    pub eab_kid: Option<String>,
}

impl Whose {
    /// An e-mail address has an `@`, a key id is a UUID, everything else is a lookup.
    pub fn of(text: &str) -> Self {
        let (mut account_lookup, mut customer_email, mut eab_kid) = (None, None, None);
        let place = match text {
            text if text.contains('@') => &mut customer_email,
            text if is_uuid(text) => &mut eab_kid,
            _ => &mut account_lookup,
        };
        *place = Some(text.to_owned());
        Self { account_lookup, customer_email, eab_kid }
    }
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<_> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_told_by_how_it_is_written() {
        assert_eq!(Whose::of("a@b.example").customer_email.as_deref(), Some("a@b.example"));
        let kid = "0d8f1c4e-6a1b-4c3d-9e2f-7a5b3c1d9e8f";
        assert_eq!(Whose::of(kid).eab_kid.as_deref(), Some(kid));
        for lookup in ["acc_01jcq3v9k2e7x8t5m4n6p0r1sw", "0d8f1c4e-6a1b-4c3d-9e2f", ""] {
            assert_eq!(Whose::of(lookup).account_lookup.as_deref(), Some(lookup));
        }
    }
}
