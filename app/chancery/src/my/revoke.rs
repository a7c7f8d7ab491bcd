//! `revoke`: a certificate that must not be trusted any more.

use chancery_client::wire::{ReasonInput, ResellerRevokeCertificateRequest};
use chancery_client::{Fetched, Revoked};
use clap::Args;

use super::ask;
use super::session::Session;
use super::show::OrTrouble;
use crate::failure::{Failure, Kind};

#[derive(Args, Debug)]
pub struct RevokeArgs {
    /// The certificate, by lookup, its own or that of its order
    certificate: String,
    /// Why: unspecified, keyCompromise, affiliationChanged, superseded, cessationOfOperation or privilegeWithdrawn
    #[arg(long)]
    reason: Option<String>,
    /// For your own records
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub async fn run(session: &Session, args: RevokeArgs) -> Result<(), Failure> {
    let (certificates, trouble) = (session.client.certificates(), &session.trouble);
    // The API revokes by the order.
    let (order, names) = match args.certificate.starts_with("ord_") {
        true => {
            let order = session.client.orders().get(&args.certificate).await.or_trouble(trouble)?;
            (order.lookup, order.identifiers.into_iter().map(|name| name.value).collect::<Vec<_>>())
        }
        false => match certificates.get(&args.certificate).await.or_trouble(trouble)? {
            Fetched::Issued(found) => (found.metadata.order_lookup, found.metadata.names),
            Fetched::Pending(order) => {
                return Err(Failure::of(Kind::Missing, "it is not issued yet")
                    .advise(format!("cancel its order instead: chancery my order cancel {}", order.lookup)));
            }
        },
    };
    ask::confirm(&format!("revoke the certificate for {} for good", names.join(", ")), args.yes)?;
    let request =
        ResellerRevokeCertificateRequest { reason: args.reason.map(ReasonInput::Name), comment: args.comment };
    match certificates.revoke(&order, &request).await.or_trouble(trouble)? {
        Revoked::Accepted(certificate) => session.show.thing(&certificate, || {
            format!("{} is revoked; revocation lists and OCSP show it within seconds.\n", certificate.lookup)
        }),
        Revoked::AlreadyAccepted(order) => {
            session.show.thing(&order, || format!("{} was revoked before.\n", order.certificate_lookup))
        }
    }
}
