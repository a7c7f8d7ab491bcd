//! One customer: its keys, groups, orders and certificates.

use axum::extract::{Path, State};
use axum::response::Response;
use chancery_domain::{Account, AccountId, Scope, Timestamp};
use chancery_http::Door;
use chancery_service::{
    AccountDetails, AccountLookup, Caller, CertificateDetails, CertificateFilter, CredentialDetails, ListRequest,
    OrderDetails, OrderFilter,
};
use maud::{Markup, html};

use super::change::read_id;
use super::credentials::{Pasted, paste};
use crate::certificates::{self, nothing_asked};
use crate::form::Fields;
use crate::layout::Context;
use crate::orders;
use crate::parts::{Complaints, Field, columns_and_actions, confirmed, empty, fact, opened, pager, pill, trail};
use crate::query::{Query, link};
use crate::refused::Refused;
use crate::session::SignedIn;
use crate::text::{moment, on_day};

/// As many of each are shown.
const SHOWN: ListRequest = ListRequest { limit: 10, cursor: None };
/// Keys on a page.
const KEYS: u32 = 100;

/// The forms of the page that can be filled in wrongly.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Change,
    NewKey,
}

/// What was wrong with one of them.
pub(super) struct Wrong {
    pub(super) what: Part,
    pub(super) complaints: Complaints,
    pub(super) form: Fields,
}

/// What the page is about.
struct Known {
    details: AccountDetails,
    orders: Vec<OrderDetails>,
    certificates: Markup,
    now: Timestamp,
    /// Whether whoever looks may change it.
    may_change: bool,
    /// Whether the keys are not those of the first page.
    later: bool,
}

pub(crate) async fn page(
    State(door): State<Door>,
    who: SignedIn,
    Path(id): Path<String>,
    Query(query): Query,
) -> Result<Response, Refused> {
    let id = read_id(&id)?;
    with_keys(&door, &who.caller, &who.context, id, query.filled("keys"), None).await
}

pub(super) async fn shown(
    door: &Door,
    caller: &Caller,
    context: &Context,
    id: AccountId,
    wrong: Option<Wrong>,
) -> Result<Response, Refused> {
    with_keys(door, caller, context, id, None, wrong).await
}

/// With the page of its keys that a cursor names.
async fn with_keys(
    door: &Door,
    caller: &Caller,
    context: &Context,
    id: AccountId,
    cursor: Option<&str>,
    wrong: Option<Wrong>,
) -> Result<Response, Refused> {
    let services = &door.services;
    let (lookup, now) = (AccountLookup::Id(id), services.now());
    let mut details = services.accounts.show(caller, lookup.clone()).await?;
    if let Some(cursor) = cursor {
        let request = ListRequest { limit: KEYS, cursor: Some(cursor.to_owned()) };
        details.credentials = services.credentials.list_of_account(caller, lookup.clone(), &request).await?;
    }
    // What a client may not see is left out; the rest of the page is there.
    let orders = match caller.scopes.contains(Scope::ReadOrder) {
        true => {
            let filter = OrderFilter { account: None, status: None, external_id: None, now };
            services.orders.list(caller, Some(lookup.clone()), filter, &SHOWN).await?.items
        }
        false => Vec::new(),
    };
    let certificates: Vec<CertificateDetails> = match caller.scopes.contains(Scope::ReadCertificate) {
        true => {
            let filter: CertificateFilter = nothing_asked(now);
            services.certificates.list(caller, Some(lookup), filter, &SHOWN).await?.items
        }
        false => Vec::new(),
    };
    let certificates = match certificates.is_empty() {
        true => empty(
            "No certificates yet.",
            html! { "They appear here as soon as the customer's client has ordered one." },
        ),
        false => certificates::table(&certificates, caller, now),
    };
    let complaints = wrong.as_ref().map(|wrong| wrong.complaints.clone());
    let title = details.account.email.to_string();
    let may_change = caller.scopes.contains(Scope::WriteAccount) && !details.account.is_terminated();
    let known = Known { details, orders, certificates, now, may_change, later: cursor.is_some() };
    Ok(context.page_with(complaints.as_ref(), &title, body(door, context, &known, wrong)))
}

fn body(door: &Door, context: &Context, known: &Known, wrong: Option<Wrong>) -> Markup {
    let Known { details, orders, certificates, now, may_change, later } = known;
    let AccountDetails { account, credentials, groups } = details;
    let (wrong_change, wrong_key) = match wrong {
        Some(wrong) if wrong.what == Part::NewKey => (None, Some(wrong)),
        other => (other, None),
    };
    let pasted = Pasted {
        directory: door.urls.acme_directory(door.services.settings.default_profile.as_str()),
        kid: account.kid.to_string(),
        hmac: "HMAC".to_owned(),
        email: account.email.to_string(),
    };
    html! {
        (trail("/console/customers", "Customers"))
        div.title { h1 { (account.email) } (pill(account.status().as_str())) }
        section.card { dl.facts {
            (fact("Lookup", html! { span.mono { (account.id) } }))
            (fact("Number", html! { (account.number) }))
            (fact("Your reference", html! { @match &account.external_id { Some(id) => (id), None => "–" } }))
            (fact("Created", moment(account.created_at, *now)))
            (fact("Groups", html! {
                @if groups.is_empty() { "None" } @else {
                    ul.tags { @for group in groups { li { a.tag href={ "/console/groups/" (group.id) } { (group.name) } } } }
                }
            }))
            @for (key, value) in account.metadata.pairs() { (fact(key, html! { (value) })) }
        } }
        section.card {
            div.head { h2 { "ACME keys" } p.muted { "One for each machine or team; revoke one without touching the others." } }
            (keys(context, account, &credentials.items, *may_change, *now))
            @let here = format!("/console/customers/{}", account.id);
            (pager(credentials.next_cursor.as_deref().map(|next| link(&here, &[("keys", next)])), later.then_some(&*here)))
            @if *may_change { (new_key(context, account, wrong_key, door.services.settings.acme.single_use)) }
        }
        @if !account.is_terminated() {
            section.card {
                div.head { h2 { "Set up a client" } p.muted { "Put the key in the place of HMAC: it was shown when it was made." } }
                (paste(&pasted))
            }
        }
        section.card {
            div.head { h2 { "Certificates" } a href=(link("/console/certificates", &[("customer", account.id.to_string().as_str())])) { "All of them" } }
            (certificates)
        }
        @if !orders.is_empty() {
            section.card {
                div.head { h2 { "Orders" } a href=(link("/console/orders", &[("customer", account.id.to_string().as_str())])) { "All of them" } }
                (orders::table(orders, *now))
            }
        }
        @if *may_change {
            section.card { h2 { "Change" } (edit(context, account, wrong_change)) }
            section.card { h2 { "Suspend or end" } (ending(context, account)) }
        }
    }
}

fn keys(
    context: &Context,
    account: &Account,
    credentials: &[CredentialDetails],
    may_change: bool,
    now: Timestamp,
) -> Markup {
    html! {
        table.cards {
            caption.hidden { "ACME keys" }
            (columns_and_actions(&["Key id", "Status", "Used by", "Binds until"]))
            tbody {
                @for CredentialDetails { credential, bound, .. } in credentials {
                    tr {
                        th scope="row" data-label="Key id" {
                            span.mono.break { (credential.kid) }
                            span.sub {
                                @match &credential.terms.label { Some(label) => (label), None => @if credential.is_root { "First key" } @else { "No label" } }
                                ", made " (moment(credential.created_at, now))
                            }
                        }
                        td data-label="Status" { (pill(credential.status().as_str())) }
                        td data-label="Used by" {
                            @if credential.bindings == 0 { span.muted { "nobody yet" } }
                            @else { (crate::text::plural(credential.bindings, "ACME account")) }
                            @if let Some(at) = credential.last_used_at.filter(|_| !bound.is_empty()) { span.sub { "last " (moment(at, now)) } }
                        }
                        td data-label="Binds until" {
                            @match credential.terms.expires_at { Some(at) => (on_day(at)), None => span.muted { "no end" } }
                        }
                        td.end {
                            @if credential.revoked_at.is_none() && may_change {
                                (confirmed("Revoke", html! {
                                    form method="post" action={ "/console/customers/" (account.id) "/credentials/" (credential.kid) "/revoke" } {
                                        (context.token())
                                        p { "ACME accounts that were bound by this key stop working." }
                                        button.bad.small type="submit" { "Revoke this key" }
                                    }
                                }))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn new_key(context: &Context, account: &Account, wrong: Option<Wrong>, binds_one: bool) -> Markup {
    let open = wrong.is_some();
    let (complaints, form) = wrong.map(|wrong| (wrong.complaints, wrong.form)).unwrap_or_default();
    let field = |name, label, hint| Field { name, label, hint, value: form.text(name), complaints: &complaints };
    opened(
        "New key",
        open,
        html! {
            form method="post" action={ "/console/customers/" (account.id) "/credentials" } {
                (context.token())
                (context.once())
                (complaints.others(&["label", "days", "max_bindings"]))
                (field("label", "Label", "Such as the name of a server.").line("text", false))
                (field("days", "Binds for days", "Empty: until it is revoked. ACME accounts that it has bound go on after that.").line("number", false))
                @if !binds_one {
                    (field("max_bindings", "How many ACME accounts it may bind", "Empty: as many as come.").line("number", false))
                }
                button.primary type="submit" { "Create key" }
            }
        },
    )
}

fn edit(context: &Context, account: &Account, wrong: Option<Wrong>) -> Markup {
    let reference = account.external_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let current = Fields::default().with("email", account.email.to_string()).with("external_id", reference);
    let (complaints, form) = wrong.map_or((Complaints::default(), current), |wrong| (wrong.complaints, wrong.form));
    html! {
        form.form method="post" action={ "/console/customers/" (account.id) "/edit" } {
            (context.token())
            (complaints.others(&["email", "external_id"]))
            (Field { name: "email", label: "E-mail address", hint: "", value: form.text("email"), complaints: &complaints }.line("email", true))
            (Field { name: "external_id", label: "Your reference", hint: "", value: form.text("external_id"), complaints: &complaints }.line("text", false))
            div { button.primary type="submit" { "Save" } }
        }
    }
}

fn ending(context: &Context, account: &Account) -> Markup {
    let at = |what: &str| format!("/console/customers/{}/{what}", account.id);
    html! {
        div.row {
            @if account.suspended {
                form method="post" action=(at("resume")) { (context.token()) button type="submit" { "Resume" } }
                p.muted { "Nothing is issued for a suspended customer; its certificates stay valid." }
            } @else {
                form method="post" action=(at("suspend")) { (context.token()) button type="submit" { "Suspend" } }
                p.muted { "Nothing is issued until you resume; its certificates stay valid." }
            }
        }
        (confirmed("Terminate…", html! {
            form method="post" action=(at("terminate")) {
                (context.token())
                p { "Its keys are revoked, it leaves its groups, and its open orders are cancelled. This cannot be undone." }
                div.check { input #revoke type="checkbox" name="revoke" value="yes"; label for="revoke" { "Revoke its certificates, too" } }
                div.check { input #sure type="checkbox" name="sure" value="yes" required; label for="sure" { "Yes, terminate " strong { (account.email) } } }
                button.bad type="submit" { "Terminate the customer" }
            }
        }))
    }
}
