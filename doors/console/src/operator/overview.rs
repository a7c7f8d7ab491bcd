//! How the service is doing.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::{PageRequest, Timestamp};
use chancery_http::Door;
use chancery_service::console::Counted;
use chancery_service::{AuditFilter, AuditOutcome, JobKind, Queue};
use maud::{Markup, html};

use super::audit::subject;
use super::authorities::{lists, responders};
use super::troubles;
use crate::audit;
use crate::parts::{columns, empty, heading};
use crate::refused::Refused;
use crate::session::Operator;
use crate::text::{ago, counted, date, grouped};

/// Of the newest warnings and errors, so many are here.
const TROUBLES: usize = 5;

pub(crate) async fn page(State(door): State<Door>, who: Operator) -> Result<Response, Refused> {
    let services = &door.services;
    let now = services.now();
    let resellers = who.operator.resellers().await?;
    let suspended = resellers.iter().filter(|reseller| reseller.suspended).count();
    let queues = services.jobs.backlog().await?;
    let more = queues.iter().any(|queue| queue.more);
    let jobs = Counted { count: queues.iter().map(|queue| queue.jobs).sum(), more };
    let due: i64 = queues.iter().map(|queue| queue.overdue).sum();
    let (fresh, stale) = lists(services, now);
    let (ready, unready) = responders(services);
    let nodes = services.nodes.list().await?;
    let silent = nodes.iter().filter(|node| node.silent).count();
    let refused = AuditFilter { outcome: Some(AuditOutcome::Refused), ..AuditFilter::default() };
    let refused = services.audit.list(refused, PageRequest { limit: 15, after: None }).await?;
    let ending = services.authority.ending();
    let gaps = services.authority.gaps();
    let mut troubles = services.troubles.list();
    troubles.truncate(TROUBLES);
    let body = html! {
        (heading("Overview", html! { "How this service is doing, as this node sees it." }, html! {}))
        div.numbers {
            a.number href="/console/operator/resellers" { b { (grouped(resellers.len() as i64)) } span { "resellers, " (suspended) " suspended" } }
            a class={ "number" @if due > 0 { " alert" } } href="#jobs" { b { (counted(jobs)) } span { "jobs, " (grouped(due)) " overdue" } }
            a class={ "number" @if stale > 0 { " alert" } } href="/console/operator/authorities" { b { (grouped(fresh)) } span { "revocation lists fresh, " (stale) " not" } }
            a class={ "number" @if unready > 0 { " alert" } } href="/console/operator/authorities" { b { (grouped(ready)) } span { "CAs answered for by OCSP, " (unready) " not" } }
            a class={ "number" @if silent > 0 { " alert" } } href="/console/operator/nodes" { b { (grouped((nodes.len() - silent) as i64)) } span { @if nodes.len() - silent == 1 { "node" } @else { "nodes" } ", and " (silent) " silent" } }
        }
        @if !ending.is_empty() || !gaps.is_empty() {
            section.card {
                h2 { "Look at this" }
                @for signing in &ending {
                    @let ends = date(Timestamp::from_secs(signing.issuer.not_after()));
                    p.caution {
                        @if signing.ends_with_chain() { "The chain of " }
                        (signing.name) " ends on " (ends) " and shortens what it signs. Replace it with " code { (signing.remedy().command()) } "."
                    }
                }
                @for (profile, key) in &gaps { p.caution { "No active CA may sign " (key) " keys for the profile " (profile) "." } }
            }
        }
        section.card #jobs {
            div.head { h2 { "Jobs" } p.muted { "What waits or is at work, on all nodes" } }
            (jobs_table(&queues, now))
        }
        section.card {
            div.head { h2 { "Errors lately" } a href=(troubles::PATH) { "More of them" } }
            (troubles::table(&troubles, now))
        }
        section.card {
            div.head { h2 { "Refused lately" } a href="/console/operator/audit?outcome=refused" { "All of them" } }
            @if refused.is_empty() { (empty("Nothing was refused.", html! { "Refusals of every reseller appear here." })) }
            @else { (audit::table(&refused, now, subject)) }
        }
    };
    Ok(who.context.page("Overview", body))
}

fn jobs_table(queues: &[Queue], now: Timestamp) -> Markup {
    html! {
        table.cards {
            caption.hidden { "Jobs by kind" }
            (columns(&["Kind", "Waiting or at work", "Overdue", "Oldest"]))
            tbody {
                @for queue in queues {
                    tr {
                        th scope="row" data-label="Kind" { span.strong { (queue.kind.as_str()) } span.sub { (about(queue.kind)) } }
                        td.num data-label="Waiting or at work" { (counted(Counted { count: queue.jobs, more: queue.more })) }
                        td.num data-label="Overdue" { @if queue.overdue > 0 { span.pill.warn { (grouped(queue.overdue)) } } @else { "0" } }
                        td data-label="Oldest" { @if queue.jobs > 0 { (ago(now.minus(queue.oldest), now)) } @else { span.muted { "–" } } }
                    }
                }
            }
        }
        p.muted { "A job is overdue when nobody has held on to it in time; a node takes it over within seconds. Where the number stays, nodes have too much to do or fail at it." }
    }
}

const fn about(kind: JobKind) -> &'static str {
    match kind {
        JobKind::Validate => "looks whether control of a name is shown",
        JobKind::Issue => "issues a certificate",
        JobKind::Cascade => "applies a change to many rows, in batches",
    }
}
