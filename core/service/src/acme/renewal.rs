//! When a certificate is to be renewed, and by which order it is replaced (RFC 9773).

use std::time::Duration;

use chancery_domain::{AcmeAccountId, CertificateRecord, Identifier, IssuerId, OrderId, ResellerId, Timestamp};
use chancery_pki::Certificate;
use chancery_store::{RecoveredRow, Tx};
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};

use super::{Acme, AcmeError};
use crate::error::ServiceError;
use crate::publication::CrlName;

/// How often a client is to ask.
const ASK_AGAIN: Duration = Duration::from_secs(6 * 3600);

/// When a certificate is to be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenewalInfo {
    pub window: RenewalWindow,
    pub ask_again: Duration,
}

/// A client renews at a moment of its own choice in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenewalWindow {
    pub start: Timestamp,
    pub end: Timestamp,
}

impl Acme {
    /// When to renew a certificate that is named as RFC 9773 section 4.1 names it. Anybody may ask.
    pub async fn renewal_info(&self, name: String) -> Result<RenewalInfo, ServiceError> {
        let me = self.clone();
        let unit = move |tx: &mut Tx<'_>| find(&me, tx, &name, false);
        let certificate = self.kernel.anonymous_store().read(unit).await?;
        Ok(RenewalInfo { window: certificate.window(self.kernel.now()), ask_again: ASK_AGAIN })
    }
}

/// A certificate that is to be renewed.
struct Renewable {
    not_before: Timestamp,
    not_after: Timestamp,
    is_revoked: bool,
    names: Vec<Identifier>,
    /// None of one that was brought back: who ordered it is lost.
    order: Option<(ResellerId, OrderId)>,
}

impl Renewable {
    /// A third before its end, over a span that keeps renewals apart; a revoked one at once.
    fn window(&self, now: Timestamp) -> RenewalWindow {
        if self.is_revoked {
            let hour = Duration::from_secs(3600);
            return RenewalWindow { start: now.minus(2 * hour), end: now.minus(hour) };
        }
        let life = self.not_after.since(self.not_before);
        let start = self.not_before.plus(life / 3 * 2);
        RenewalWindow { start, end: start.plus((life / 24).max(Duration::from_secs(1))) }
    }
}

/// That a certificate can be replaced by a new order: it is not another account's, has a name in common with the order, and
/// no other order replaces it (RFC 9773 section 5).
pub(super) fn require_replaceable(
    acme: &Acme,
    tx: &mut Tx<'_>,
    account: AcmeAccountId,
    name: &str,
    identifiers: &[Identifier],
) -> Result<(), ServiceError> {
    let certificate = find(acme, tx, name, true).map_err(|error| match error {
        ServiceError::Acme(AcmeError::NotFound(why) | AcmeError::Malformed(why)) => {
            AcmeError::Malformed(format!("`replaces`: {why}")).into()
        }
        other => other,
    })?;
    let order = certificate.order.map(|(reseller, order)| tx.order(reseller, order)).transpose()?;
    if order.is_some_and(|order| order.and_then(|order| order.acme_account) != Some(account)) {
        let message = "`replaces` names a certificate that another account ordered; leave it out";
        return Err(AcmeError::Unauthorized(message.to_owned()).into());
    }
    if !certificate.names.iter().any(|each| identifiers.contains(each)) {
        let message = "`replaces` names a certificate that has no name in common with the order; leave it out";
        return Err(AcmeError::Malformed(message.to_owned()).into());
    }
    // Of one that belongs to nobody anybody may say that they replace it: others are not to be kept from it by that.
    let replacement = match certificate.order {
        Some(_) => tx.replacement(name, acme.kernel.now())?,
        None => tx.own_replacement(name, account, acme.kernel.now())?,
    };
    match replacement {
        Some(_) => Err(AcmeError::AlreadyReplaced(name.to_owned()).into()),
        None => Ok(()),
    }
}

/// By the key of its issuer and its serial number, each in base64url.
fn find(acme: &Acme, tx: &mut Tx<'_>, name: &str, claim: bool) -> Result<Renewable, ServiceError> {
    let unknown = || AcmeError::NotFound("there is no certificate of that name here".to_owned());
    let (key_id, serial) = parse(name).ok_or_else(|| {
        let form =
            "it must be the authority key identifier and the serial number, each in base64url, with a dot between";
        AcmeError::Malformed(format!("the name of a certificate cannot be read: {form}"))
    })?;
    let found = match claim {
        true => tx.claim_certificate_by_serial(&serial)?,
        false => tx.certificate_by_serial(&serial)?,
    };
    let (issuer, certificate) = match found.as_ref().and_then(issued) {
        Some(issued) => issued,
        None => {
            let row = if claim { tx.claim_recovered(&serial)? } else { tx.recovered(&serial)? };
            row.and_then(recovered).ok_or_else(unknown)?
        }
    };
    let signing = acme.authority.require(tx, issuer)?;
    if signing.issuer.key_id() == key_id { Ok(certificate) } else { Err(unknown().into()) }
}

fn issued(certificate: &CertificateRecord) -> Option<(IssuerId, Renewable)> {
    let issued = certificate.issued()?;
    let renewable = Renewable {
        not_before: issued.not_before,
        not_after: issued.not_after,
        is_revoked: certificate.revocation().is_some(),
        names: certificate.identifiers.clone(),
        order: Some((certificate.reseller, certificate.order)),
    };
    Some((issued.issuer, renewable))
}

/// None for a CA, and for what is known from a revocation list alone.
fn recovered(row: RecoveredRow) -> Option<(IssuerId, Renewable)> {
    if row.shard == CrlName::Root.column() {
        return None;
    }
    let certificate = Certificate::from_der(&row.found?.der).ok()?;
    let renewable = Renewable {
        not_before: Timestamp::from_secs(certificate.not_before()),
        not_after: row.not_after,
        is_revoked: row.revoked.is_some(),
        names: certificate.identifiers().ok()??,
        order: None,
    };
    Some((row.issuer, renewable))
}

/// The key identifier, and the serial number as we keep it: the octets of the INTEGER, without the zero that only says
/// that it is not negative.
pub(crate) fn parse(name: &str) -> Option<(Vec<u8>, String)> {
    let (key_id, serial) = name.split_once('.')?;
    let key_id = BASE64URL_NOPAD.decode(key_id.as_bytes()).ok()?;
    let serial = BASE64URL_NOPAD.decode(serial.as_bytes()).ok()?;
    let digits = match serial.as_slice() {
        [0, rest @ ..] if rest.first().is_some_and(|first| first & 0x80 != 0) => rest,
        [first, ..] if *first != 0 && first & 0x80 == 0 => &serial,
        _ => return None,
    };
    (!key_id.is_empty()).then(|| (key_id, HEXLOWER.encode(digits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_example_of_the_rfc() {
        let (key_id, serial) = parse("aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE").unwrap();
        assert_eq!(HEXLOWER.encode(&key_id), "69885b6b87464041e1b37b847ba0ae2cde01c8d4");
        assert_eq!(serial, "87654321");
    }

    #[test]
    fn takes_one_spelling_only() {
        for bad in
            ["", ".", "aYhba4dGQEHhs3uEe6CuLN4ByNQ", "aYhb.", ".AIdlQyE", "aYhb.AIdlQyE=", "aYhb.h2VDIQ", "aYhb.AAE"]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
