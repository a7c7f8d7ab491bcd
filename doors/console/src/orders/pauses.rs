//! Names that customers get no new orders for, because they failed again and again.

use axum::extract::{Path, State};
use axum::response::Response;
use chancery_domain::{Pause, PauseId, Timestamp};
use chancery_http::Door;
use chancery_service::{Noun, ServiceError};
use maud::{Markup, html};

use crate::layout::Context;
use crate::parts::columns_and_actions;
use crate::refused::Refused;
use crate::session::{Change, see_other};
use crate::text::{moment, plural};

pub(crate) async fn lift(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    let id: PauseId = id.parse().map_err(|_| ServiceError::not_found(Noun::Pause))?;
    door.services.pauses.lift(&change.caller, id).await?;
    Ok(see_other("/console/orders?done=lifted"))
}

pub(super) fn card(context: &Context, pauses: &[Pause], may_lift: bool, now: Timestamp) -> Markup {
    if pauses.is_empty() {
        return html! {};
    }
    html! {
        section.card {
            div.head { h2 { "Paused names" } p.muted { "Their validation failed again and again. Nothing is ordered for them until you lift it." } }
            table.cards {
                caption.hidden { "Paused names" }
                (columns_and_actions(&["Name", "Failed", "Why, the last time"]))
                tbody {
                    @for pause in pauses {
                        tr {
                            th scope="row" data-label="Name" { span.strong { (pause.name) } span.sub { a href={ "/console/customers/" (pause.account) } { "The customer" } } }
                            td data-label="Failed" { (plural(pause.failures, "time")) span.sub { "last " (moment(pause.last_failed_at, now)) } }
                            td data-label="Why" { (pause.problem.chars().take(200).collect::<String>()) }
                            td.end {
                                @if may_lift {
                                    form method="post" action={ "/console/pauses/" (pause.id) "/lift" } {
                                        (context.token()) button.small type="submit" { "Lift" span.hidden { " the pause of " (pause.name) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
