//! What resellers are told of: kinds of events, and their names.

use std::fmt;
use std::str::FromStr;

use crate::documented::documented;
use crate::id::{AuditId, IdError};
use crate::text::cut;

documented! {
    /// What has happened.
    EventType {
        AccountCreated = "account.created": "An account was created, with its first EAB credential.";
        AccountUpdated = "account.updated": "The e-mail address, external id or metadata of an account changed.";
        AccountSuspended = "account.suspended": "An account was suspended.";
        AccountResumed = "account.resumed": "A suspended account was resumed.";
        AccountTerminated = "account.terminated": "An account was terminated, with its credentials and open orders.";
        EabCredentialCreated = "eab_credential.created": "An additional EAB credential was created.";
        EabCredentialRevoked = "eab_credential.revoked": "An EAB credential was revoked.";
        EabCredentialFirstUsed = "eab_credential.first_used": "An EAB credential bound its first ACME account.";
        OrderCreated = "order.created": "An order was created through the reseller API or ACME.";
        OrderReady = "order.ready": "All names of an order are authorized; it can be finalized.";
        OrderValid = "order.valid": "The certificate of an order was issued.";
        OrderInvalid = "order.invalid": "An order failed; `data.problem` has the reason.";
        OrderCancelled = "order.cancelled": "An order was cancelled.";
        AuthorizationValid = "authorization.valid": "Control of a name was validated.";
        AuthorizationInvalid = "authorization.invalid": "Validation of a name failed; `data.problem` has the reason.";
        AuthorizationDeactivated = "authorization.deactivated": "An authorization was deactivated.";
        CertificateIssued = "certificate.issued": "A certificate was issued.";
        CertificateExpiring = "certificate.expiring": "A certificate expires in `data.daysLeft` days, and no newer certificate of its account covers all its names.";
        CertificateRevoked = "certificate.revoked": "A certificate was revoked.";
        PolicyRefused = "policy.refused": "A policy refused an order, an authorization or a challenge.";
        QuotaExceeded = "quota.exceeded": "A quota is used up and refused an order or an authorization.";
        WebhookDisabled = "webhook.disabled": "A webhook was disabled because it failed for three days or responded 410.";
        WebhookTest = "webhook.test": "A test of a webhook was requested. Sent to that webhook only.";
    }
}

impl FromStr for EventType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::named(text).ok_or_else(|| {
            format!("{:?} is not a type of event; the documentation at /docs lists them", cut(text, 100))
        })
    }
}

/// The name of an event: the record it is read from, and which of the events of that record it is. Sorts so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    pub record: AuditId,
    pub place: u32,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.record.to_string();
        let bare = record.strip_prefix("aud_").unwrap_or(&record);
        match self.place {
            0 => write!(f, "evt_{bare}"),
            place => write!(f, "evt_{bare}-{place}"),
        }
    }
}

impl FromStr for EventId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let unknown = IdError("evt");
        let rest = text.strip_prefix("evt_").ok_or(unknown)?;
        let (bare, place) = match rest.split_once('-') {
            None => (rest, 0),
            Some((bare, place)) => (bare, place.parse().map_err(|_| unknown)?),
        };
        let id = Self { record: format!("aud_{bare}").parse().map_err(|_| unknown)?, place };
        // One spelling only.
        if id.to_string() == text { Ok(id) } else { Err(unknown) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_back_from_its_text_in_one_spelling_only() {
        let record: AuditId = "aud_01mcc5rm00ee3rgq7rf7em3d93".parse().unwrap();
        for place in [0, 1, 10] {
            let id = EventId { record, place };
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert_eq!(EventId { record, place: 0 }.to_string(), "evt_01mcc5rm00ee3rgq7rf7em3d93");
        for other in ["-0", "-01", "-+1", "-", "-x"] {
            assert!(format!("evt_01mcc5rm00ee3rgq7rf7em3d93{other}").parse::<EventId>().is_err(), "{other}");
        }
        assert!("aud_01mcc5rm00ee3rgq7rf7em3d93".parse::<EventId>().is_err());
    }

    #[test]
    fn every_type_comes_back_from_its_name_and_has_a_sentence() {
        for kind in EventType::ALL {
            assert_eq!(kind.as_str().parse(), Ok(*kind));
            assert!(kind.describe().ends_with('.'));
        }
    }
}
