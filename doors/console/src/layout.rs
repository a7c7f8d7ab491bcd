//! What stands around every page.

use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, StatusCode};
use maud::{DOCTYPE, Markup, html};

use crate::assets;
use crate::form::Fields;
use crate::once::FORM;
use crate::parts::Complaints;
use crate::theme::Theme;

/// Who looks at a page, and how.
pub(crate) struct Context {
    whose: Whose,
    pub(crate) csrf: String,
    form: String,
    theme: Theme,
    path: String,
    /// Where to go on when the colours are chosen; none on the answer to a form, which a browser would have to send again.
    back: Option<String>,
    notice: Option<&'static str>,
}

pub(crate) enum Whose {
    Reseller { reseller: String, client: String },
    Operator { name: String },
}

/// The pages that are always at hand: path, words, and the drawing in front of them.
const RESELLER: &[(&str, &str, &str)] = &[
    ("/console", "Overview", "M3 13h8V3H3zM13 21h8V11h-8zM3 21h8v-6H3zM13 3v6h8V3z"),
    (
        "/console/customers",
        "Customers",
        "M16 11a4 4 0 1 0-4-4M8 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM2 20c0-3 3-5 6-5s6 2 6 5M15 15c4 0 7 2 7 5",
    ),
    ("/console/certificates", "Certificates", "M5 3h14v12H5zM9 7h6M9 11h4M15 15v6l-2-2-2 2v-6"),
    ("/console/calendar", "Calendar", "M4 5h16v16H4zM4 10h16M8 3v4M16 3v4"),
    ("/console/orders", "Orders", "M6 3h9l4 4v14H6zM14 3v5h5M9 13h6M9 17h6"),
    ("/console/groups", "Groups", "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z"),
    ("/console/policies", "Policies", "M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6zM9 12l2 2 4-4"),
    ("/console/clients", "API clients", "M14 10a4 4 0 1 0-4 4l-6 6v-3M7 17l3 3"),
    ("/console/audit", "Audit trail", "M12 7v5l3 3M21 12a9 9 0 1 1-3-6.7L21 8M21 3v5h-5"),
];
const OPERATOR: &[(&str, &str, &str)] = &[
    ("/console/operator", "Overview", "M3 13h8V3H3zM13 21h8V11h-8zM3 21h8v-6H3zM13 3v6h8V3z"),
    ("/console/operator/resellers", "Resellers", "M3 21V8l9-5 9 5v13M9 21v-6h6v6"),
    ("/console/operator/authorities", "Authorities", "M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6zM9 12l2 2 4-4"),
    ("/console/operator/nodes", "Nodes", "M4 4h16v6H4zM4 14h16v6H4zM8 7h.01M8 17h.01"),
    ("/console/operator/audit", "Audit trail", "M12 7v5l3 3M21 12a9 9 0 1 1-3-6.7L21 8M21 3v5h-5"),
];

/// What is said on the page that follows a change.
const NOTICES: &[(&str, &str)] = &[
    ("saved", "Saved."),
    ("created", "Created."),
    ("deleted", "Deleted."),
    ("suspended", "Suspended. Nothing is issued until you resume."),
    ("resumed", "Resumed."),
    ("terminated", "The customer is terminated."),
    ("revoked", "Revoked."),
    ("cancelled", "The order is cancelled."),
    ("finalized", "The certificate is being issued."),
    ("lifted", "Lifted: new orders are taken again."),
    ("assigned", "The policy is assigned."),
    ("unassigned", "The policy is taken off."),
    ("added", "Added."),
    ("removed", "Removed."),
    ("moved", "Moved."),
    ("disabled", "Disabled. Its tokens and sessions end at once."),
    ("enabled", "Enabled."),
    ("rotated", "The old secret does not work any more."),
];

impl Context {
    pub(crate) fn new(whose: Whose, csrf: String, form: String, parts: &Parts) -> Self {
        let said = Fields::parse(parts.uri.query().unwrap_or_default());
        let notice = NOTICES.iter().find(|(key, _)| *key == said.text("done")).map(|(_, text)| *text);
        let theme = Theme::of(&parts.headers);
        let path = parts.uri.path().to_owned();
        let back = match notice {
            Some(_) => &path,
            None => parts.uri.path_and_query().map_or(&*path, PathAndQuery::as_str),
        };
        let back = (parts.method == Method::GET).then(|| back.to_owned());
        Self { whose, csrf, form, theme, path, back, notice }
    }

    /// A whole page of this title.
    pub(crate) fn page(&self, title: &str, body: Markup) -> Response {
        let places = match self.whose {
            Whose::Reseller { .. } => RESELLER,
            Whose::Operator { .. } => OPERATOR,
        };
        let content = html! {
            a.skip href="#main" { "Skip to the content" }
            div.frame {
                header.side {
                    a.brand href="/console" { (mark()) span { "Chancery" } }
                    nav aria-label="Main" {
                        ul {
                            @for (path, words, drawing) in places {
                                li {
                                    a href=(path) aria-current=[self.is_at(path).then_some("page")] {
                                        (glyph(drawing)) span { (words) }
                                    }
                                }
                            }
                        }
                    }
                    div.who {
                        @match &self.whose {
                            Whose::Reseller { reseller, client } => {
                                p { strong { (reseller) } span.muted { (client) } }
                            }
                            Whose::Operator { name } => p { strong { "Operator" } span.muted { (name) } }
                        }
                        @if let Some(back) = &self.back { (themes(self.theme, back)) }
                        form.out method="post" action="/console/sign-out" {
                            (self.token())
                            button.quiet type="submit" { "Sign out" }
                            button.quiet type="submit" formaction="/console/sign-out-everywhere" { "Everywhere" }
                        }
                    }
                }
                main #main tabindex="-1" {
                    @if let Some(notice) = self.notice {
                        p.notice role="status" { (notice) }
                    }
                    (body)
                }
            }
        };
        document(title, self.theme, content).into_response()
    }

    /// A whole page of this title; where something stands against its form, that is a refusal, and written down as one.
    pub(crate) fn page_with(&self, complaints: Option<&Complaints>, title: &str, body: Markup) -> Response {
        let mut response = self.page(title, body);
        if let Some(complaints) = complaints.filter(|complaints| !complaints.is_empty()) {
            *response.status_mut() = StatusCode::BAD_REQUEST;
            response.extensions_mut().insert(complaints.note());
        }
        response
    }

    /// What every form brings along.
    pub(crate) fn token(&self) -> Markup {
        html! { input type="hidden" name="csrf" value=(self.csrf); }
    }

    /// What a form brings along besides that must not be sent twice.
    pub(crate) fn once(&self) -> Markup {
        html! { input type="hidden" name=(FORM) value=(self.form); }
    }

    fn is_at(&self, path: &str) -> bool {
        match path {
            "/console" | "/console/operator" => self.path == path,
            other => self.path == other || self.path.strip_prefix(other).is_some_and(|rest| rest.starts_with('/')),
        }
    }
}

/// A page without anything around it, for those who are not signed in and for refusals.
pub(crate) fn bare(title: &str, theme: Theme, body: Markup) -> Document {
    let content = html! {
        div.bare {
            main.card #main {
                p.brand { (mark()) span { "Chancery" } }
                (body)
            }
            footer { (themes(theme, "/console")) }
        }
    };
    document(title, theme, content)
}

/// HTML with its media type.
pub(crate) struct Document(Markup);

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, "text/html; charset=utf-8")], self.0.into_string()).into_response()
    }
}

fn document(title: &str, theme: Theme, content: Markup) -> Document {
    Document(html! {
        (DOCTYPE)
        html lang="en" data-theme=(theme.as_str()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Forms say where they come from only where referrers are not forbidden altogether.
                meta name="referrer" content="same-origin";
                meta name="color-scheme" content=(match theme {
                    Theme::System => "light dark",
                    Theme::Light => "light",
                    Theme::Dark => "dark",
                });
                title { (title) " · Chancery" }
                link rel="icon" href=(assets::icon()) type="image/svg+xml";
                link rel="stylesheet" href=(assets::style());
                script src=(assets::script()) defer {}
            }
            body { (content) }
        }
    })
}

fn themes(chosen: Theme, back: &str) -> Markup {
    html! {
        form.themes method="post" action="/console/theme" {
            input type="hidden" name="back" value=(back);
            fieldset {
                legend.hidden { "Colours" }
                @for theme in Theme::ALL {
                    button type="submit" name="theme" value=(theme.as_str())
                        aria-pressed=(if theme == chosen { "true" } else { "false" }) {
                        (match theme { Theme::System => "Auto", Theme::Light => "Light", Theme::Dark => "Dark" })
                    }
                }
            }
        }
    }
}

fn mark() -> Markup {
    html! {
        svg.mark viewBox="0 0 32 32" width="28" height="28" aria-hidden="true" {
            rect.plate width="32" height="32" rx="8" {}
            path.seal d="M16 6l8 3v7c0 5-4 8.500-8 10-4-1.500-8-5-8-10V9z" {}
            path.tick d="M12 16l3 3 5.500-6" {}
        }
    }
}

pub(crate) fn glyph(drawing: &str) -> Markup {
    html! { svg.glyph viewBox="0 0 24 24" width="18" height="18" aria-hidden="true" { path d=(drawing) {} } }
}
