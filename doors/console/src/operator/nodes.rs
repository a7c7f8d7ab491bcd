//! The processes that serve from the same database.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::response::Response;
use chancery_http::Door;
use maud::html;

use crate::parts::{columns, empty, heading, pill};
use crate::refused::Refused;
use crate::session::Operator;
use crate::text::moment;

pub(crate) async fn page(State(door): State<Door>, who: Operator) -> Result<Response, Refused> {
    let (nodes, now) = (door.services.nodes.list().await?, door.services.now());
    let versions: BTreeSet<_> = nodes.iter().filter(|node| !node.silent).map(|node| &node.version).collect();
    let body = html! {
        (heading("Nodes", html! { "The processes that serve from this database. Each says every ten seconds that it is there; one that was stopped takes itself off." }, html! {}))
        @if versions.len() > 1 {
            p.caution { "They are not all of one version. That is fine while you upgrade; finish it before you turn on anything new." }
        }
        @if nodes.is_empty() { (empty("No node has said anything yet.", html! { "Load this page again in ten seconds." })) }
        @else {
            table.cards {
                caption.hidden { "Nodes" }
                (columns(&["Node", "State", "Version", "Started", "Last seen"]))
                tbody {
                    @for node in &nodes {
                        tr {
                            th scope="row" data-label="Node" { span.strong { (node.name) } @if node.this { " " span.tag { "this one" } } }
                            td data-label="State" { (pill(if node.silent { "silent" } else { "active" })) }
                            td data-label="Version" { (node.version) }
                            td data-label="Started" { (moment(node.started_at, now)) }
                            td data-label="Last seen" { (moment(node.seen_at, now)) }
                        }
                    }
                }
            }
        }
    };
    Ok(who.context.page("Nodes", body))
}
