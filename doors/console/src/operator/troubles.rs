//! What this node has logged of warnings and errors lately.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::Timestamp;
use chancery_http::Door;
use chancery_service::{KEPT_TROUBLES, Trouble};
use maud::{Markup, html};

use crate::parts::{columns, empty, heading, pill, trail};
use crate::refused::Refused;
use crate::session::Operator;
use crate::text::moment;

pub(super) const PATH: &str = "/console/operator/errors";

pub(crate) async fn page(State(door): State<Door>, who: Operator) -> Result<Response, Refused> {
    let troubles = door.services.troubles.list();
    let body = html! {
        (trail("/console/operator", "Overview"))
        (heading("Errors", html! { "The last " (KEPT_TROUBLES) " warnings and errors of this node's log since it was started. The log itself has all of them, and so have the other nodes of theirs." }, html! {}))
        (table(&troubles, door.services.now()))
    };
    Ok(who.context.page("Errors", body))
}

pub(super) fn table(troubles: &[Trouble], now: Timestamp) -> Markup {
    if troubles.is_empty() {
        return empty(
            "Nothing went wrong.",
            html! { "Warnings and errors of this node appear here until it is started anew." },
        );
    }
    html! {
        table.cards {
            caption.hidden { "Warnings and errors" }
            (columns(&["What", "Level", "Where", "When"]))
            tbody {
                @for trouble in troubles {
                    tr {
                        th scope="row" data-label="What" {
                            span.strong { (trouble.message) }
                            @for (name, value) in &trouble.fields { span.sub.mono { (name) "=" (value) } }
                        }
                        td data-label="Level" { (pill(trouble.severity.as_str())) }
                        td data-label="Where" { span.mono { (trouble.place) } }
                        td data-label="When" { (moment(trouble.at, now)) }
                    }
                }
            }
        }
    }
}
