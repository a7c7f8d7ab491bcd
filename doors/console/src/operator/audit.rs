//! The whole audit trail.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::{AuditId, PageRequest};
use chancery_http::Door;
use maud::{Markup, html};

use crate::audit::{asked, filters, table};
use crate::parts::{heading, pager};
use crate::query::{Query, link};
use crate::refused::Refused;
use crate::session::Operator;

const PATH: &str = "/console/operator/audit";
const PAGE: u32 = 50;

pub(crate) async fn page(State(door): State<Door>, who: Operator, Query(query): Query) -> Result<Response, Refused> {
    // The operator may see everything, so nothing is given away by where a page begins.
    let after = query.filled("after").and_then(|text| text.parse::<AuditId>().ok()).map(|id| id.to_string());
    let page = PageRequest { limit: PAGE, after };
    let records = door.services.audit.list(asked(&query), page).await?;
    let last = records.last().filter(|_| records.len() >= PAGE as usize).map(|record| record.id.to_string());
    let keep = |after: String| {
        let keep = |name: &'static str| (name, query.text(name));
        link(PATH, &[keep("subject"), keep("action"), keep("outcome"), ("after", after.as_str())])
    };
    let body = html! {
        (heading("Audit trail", html! { "Every change and every refusal of everybody, by whom and from where." }, html! {}))
        (filters(&query, PATH))
        (table(&records, door.services.now(), subject))
        (pager(last.map(keep), query.filled("after").map(|_| PATH)))
    };
    Ok(who.context.page("Audit trail", body))
}

/// The pages of things are their reseller's: here a name leads to all that was done to it.
pub(super) fn subject(text: &str) -> Markup {
    match text {
        "" => html! {},
        _ => html! { a.mono href=(link(PATH, &[("subject", text)])) { (text) } },
    }
}
