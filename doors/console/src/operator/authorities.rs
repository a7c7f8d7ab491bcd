//! The certificate authorities, their profiles and their revocation lists.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::Timestamp;
use chancery_http::Door;
use chancery_service::{CrlName, Services};
use maud::{Markup, html};

use crate::parts::{columns, heading, pill};
use crate::refused::Refused;
use crate::session::Operator;
use crate::text::{ago, moment, on_day, short_date};

pub(crate) async fn page(State(door): State<Door>, who: Operator) -> Result<Response, Refused> {
    let now = door.services.now();
    let issuers = who.operator.issuers().await?;
    let body = html! {
        (heading("Authorities", html! { "Roots, and the CAs below them that sign. Make, rotate and retire them with " code { "chancery ca" } "." }, html! {}))
        table.cards {
            caption.hidden { "Certificate authorities" }
            (columns(&["CA", "State", "Key", "Ends", "Revocation lists", "OCSP"]))
            tbody {
                @for issuer in &issuers {
                    @let end = Timestamp::from_secs(issuer.not_after());
                    tr {
                        th scope="row" data-label="CA" { span.strong { (issuer.name) } span.sub { (issuer.kind.as_str()) } span.sub.mono { (issuer.info.serial) } }
                        td data-label="State" { (pill(issuer.standing())) }
                        td data-label="Key" { (issuer.info.key_type) }
                        td data-label="Ends" {
                            (on_day(end)) span.sub { (ago(end, now)) }
                            @if let Some(preferred) = &issuer.preferred { span.sub { "below " (preferred.chain.root_name()) } }
                        }
                        td data-label="Revocation lists" { (lists_of(&door.services, issuer.id, issuer.parent.is_none(), now)) }
                        td data-label="OCSP" { (ocsp_of(&door.services, issuer.id)) }
                    }
                }
            }
        }
        section.card {
            h2 { "Profiles" }
            table.cards {
                caption.hidden { "Profiles" }
                (columns(&["Profile", "Days", "Keys", "Challenges", "Names"]))
                tbody {
                    @for profile in &door.services.settings.profiles {
                        tr {
                            th scope="row" data-label="Profile" { span.strong { (profile.name) } span.sub { (profile.description) } }
                            td data-label="Days" { (profile.validity_days) }
                            td data-label="Keys" { ul.tags { @for kind in &profile.key_types { li.tag { (kind) } } } }
                            td data-label="Challenges" { ul.tags { @for kind in &profile.challenge_types { li.tag { (kind) } } } }
                            td data-label="Names" { "up to " (profile.max_names) }
                        }
                    }
                }
            }
        }
    };
    Ok(who.context.page("Authorities", body))
}

/// How many lists are fresh on this node, and how many are missing or too old.
pub(super) fn lists(services: &Services, now: Timestamp) -> (i64, i64) {
    let all = services.authority.all();
    let named =
        all.iter().flat_map(|signing| (0..signing.shards.count()).map(|shard| (signing.id, CrlName::Shard(shard))));
    let fresh = |(id, name)| services.publication.crl(id, name).is_some_and(|crl| crl.next_update > now);
    let (fresh, stale): (Vec<_>, Vec<_>) = named.partition(|named| fresh(*named));
    (fresh.len() as i64, stale.len() as i64)
}

/// For how many CAs this node can answer by OCSP, and for how many it cannot.
pub(super) fn responders(services: &Services) -> (i64, i64) {
    let all = services.authority.all();
    let ready = all.iter().filter(|signing| services.ocsp.good_until(signing.id).is_some()).count();
    (ready as i64, (all.len() - ready) as i64)
}

fn ocsp_of(services: &Services, id: chancery_domain::IssuerId) -> Markup {
    let (signs, until) = (services.authority.find(id).is_some(), services.ocsp.good_until(id));
    html! {
        @match until {
            Some(end) => { (pill("valid")) span.sub { "answered here, good until " (short_date(end)) } }
            None if signs => { (pill("failed")) span.sub { "this node has no responder for it" } }
            None => span.muted { "–" }
        }
    }
}

fn lists_of(services: &Services, id: chancery_domain::IssuerId, root: bool, now: Timestamp) -> Markup {
    let names: Vec<_> = match (root, services.authority.find(id)) {
        (true, _) => vec![CrlName::Root],
        (false, Some(signing)) => (0..signing.shards.count()).map(CrlName::Shard).collect(),
        (false, None) => Vec::new(),
    };
    let known: Vec<_> = names.iter().filter_map(|name| services.publication.crl(id, *name)).collect();
    let oldest = known.iter().map(|crl| crl.this_update).min();
    let soonest = known.iter().map(|crl| crl.next_update).min();
    html! {
        @if names.is_empty() { span.muted { "–" } }
        @else if known.len() < names.len() { (pill("failed")) span.sub { (names.len() - known.len()) " of " (names.len()) " missing" } }
        @else {
            @if soonest.is_some_and(|end| end > now) { (pill("valid")) } @else { (pill("failed")) }
            @if let (Some(made), Some(end)) = (oldest, soonest) {
                span.sub { (names.len()) ", made " (moment(made, now)) ", good until " (short_date(end)) }
            }
        }
    }
}
