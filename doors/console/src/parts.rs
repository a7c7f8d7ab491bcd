//! Pieces that pages are made of.

use std::fmt::Display;

use chancery_domain::{Identifier, Name, Problem, Problems};
use chancery_http::RefusalNote;
use chancery_service::ServiceError;
use maud::{Markup, html};

use crate::refused::sentence;

/// The top of a page: its title, what it is about, and what can be begun from it.
pub(crate) fn heading(title: &str, about: Markup, actions: Markup) -> Markup {
    html! {
        div.heading {
            div { h1 { (title) } p.about { (about) } }
            div.actions { (actions) }
        }
    }
}

/// The way back up.
pub(crate) fn trail(path: &str, words: &str) -> Markup {
    html! { p.trail { a href=(path) { "← " (words) } } }
}

/// The first name, and how many more there are.
pub(crate) fn names(identifiers: &[Identifier]) -> Markup {
    let more = identifiers.len().saturating_sub(1);
    html! {
        @if let Some(first) = identifiers.first() { (first) }
        @if more > 0 { span.muted { " +" (more) } }
    }
}

/// Tags that a row of a table shows at most.
const TAGS: usize = 20;

/// Links to the first of some things, by id and name, and how many more there are.
pub(crate) fn tags(path: &str, things: &[(impl Display, Name)]) -> Markup {
    let more = things.len().saturating_sub(TAGS);
    html! {
        ul.tags {
            @for (id, name) in things.iter().take(TAGS) { li { a.tag href={ (path) (id) } { (name) } } }
            @if more > 0 { li.muted { "+" (more) } }
        }
    }
}

/// A status in a colour, and in words for those who do not see it.
pub(crate) fn pill(status: &str) -> Markup {
    let tone = match status {
        "active" | "valid" | "issued" | "bound" | "done" | "enabled" => "good",
        "pending" | "ready" | "processing" | "unused" | "waiting" => "info",
        "suspended" | "expiring" | "retired" | "silent" | "warning" => "warn",
        "invalid" | "revoked" | "refused" | "failed" | "terminated" | "disabled" | "error" => "bad",
        _ => "idle",
    };
    html! { span class={ "pill " (tone) } { (status) } }
}

/// What is said where there is nothing, and what to do about it.
pub(crate) fn empty(title: &str, advice: Markup) -> Markup {
    html! { div.empty { p.what { (title) } p { (advice) } } }
}

/// The heads of a table's columns.
pub(crate) fn columns(names: &[&str]) -> Markup {
    html! { thead { tr { @for name in names { th scope="col" { (name) } } } } }
}

/// The heads of a table's columns, with a last one for buttons that needs no name for those who see them.
pub(crate) fn columns_and_actions(names: &[&str]) -> Markup {
    html! { thead { tr { @for name in names { th scope="col" { (name) } } th scope="col" { span.hidden { "Actions" } } } } }
}

/// The next page of a list, where there is one.
pub(crate) fn pager(next: Option<String>, first: Option<&str>) -> Markup {
    html! {
        @if next.is_some() || first.is_some() {
            nav.pager aria-label="Pages" {
                @if let Some(first) = first { a.button.plain href=(first) { "First page" } }
                @if let Some(next) = next { a.button.plain href=(next) rel="next" { "Next page" } }
            }
        }
    }
}

/// Text in a frame, with a button that copies it where there is a script.
pub(crate) fn copyable(label: &str, text: &str) -> Markup {
    html! {
        div.copyable {
            pre tabindex="0" aria-label=(label) { code { (text) } }
            button.copy type="button" hidden data-copy { "Copy" span.hidden { " " (label) } }
        }
    }
}

/// A thing to know: its name and its value.
pub(crate) fn fact(name: &str, value: Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// Something that cannot be taken back: asked twice without a script, by a part of the page that has to be opened.
pub(crate) fn confirmed(words: &str, body: Markup) -> Markup {
    html! {
        details.confirm {
            summary.button.plain.bad { (words) }
            div.inner { (body) }
        }
    }
}

/// A part of the page that can be opened, for what does no harm.
pub(crate) fn opened(words: &str, open: bool, body: Markup) -> Markup {
    html! {
        details.confirm open[open] {
            summary.button.plain { (words) }
            div.inner { (body) }
        }
    }
}

/// What stands against a form, field by field.
#[derive(Clone, Debug, Default)]
pub(crate) struct Complaints(pub(crate) Vec<(String, String)>);

impl Complaints {
    /// Takes what a form can be mended for; what it cannot is given back.
    pub(crate) fn of(error: ServiceError) -> Result<Self, ServiceError> {
        let of_field = |field: &str, error: &ServiceError| Self(vec![(field.to_owned(), sentence(&error.to_string()))]);
        match error {
            ServiceError::Invalid(Problems(problems)) => Ok(Self::from_problems(problems)),
            ServiceError::PolicyViolation(violations) | ServiceError::QuotaExceeded { problems: violations, .. } => {
                let (described, omitted) = violations.into_parts();
                let mut complaints = Self::from_problems(described);
                if omitted > 0 {
                    complaints.0.push(("violations".to_owned(), format!("And {omitted} more.")));
                }
                Ok(complaints)
            }
            ServiceError::NameInUse(..) => Ok(of_field("name", &error)),
            ServiceError::AccountInUse { email: Some(_), .. } => Ok(of_field("email", &error)),
            ServiceError::AccountInUse { email: None, .. } | ServiceError::OrderExternalIdInUse(_) => {
                Ok(of_field("external_id", &error))
            }
            ServiceError::Overtaken(_) => {
                let again = "It was changed since this page was opened. Open it again, and see what it is now.";
                Ok(Self(vec![("seen".to_owned(), again.to_owned())]))
            }
            other => Err(other),
        }
    }

    pub(crate) fn from_problems(problems: Vec<Problem>) -> Self {
        Self(problems.into_iter().take(50).map(|problem| (problem.field, sentence(&problem.message))).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// For the audit trail; the first of them say enough there.
    pub(crate) fn note(&self) -> RefusalNote {
        let told: Vec<_> = self.0.iter().take(3).map(|(field, message)| format!("{field}: {message}")).collect();
        RefusalNote::new("console", &told.join(" "))
    }

    fn about(&self, field: &str) -> Vec<&str> {
        let mine = self.0.iter().filter(|(name, _)| name == field || name.starts_with(&format!("{field}[")));
        mine.map(|(_, message)| message.as_str()).collect()
    }

    /// What no field of these names stands beside.
    pub(crate) fn others(&self, fields: &[&str]) -> Markup {
        let beside = |name: &str| fields.iter().any(|field| name == *field || name.starts_with(&format!("{field}[")));
        let others: Vec<_> = self.0.iter().filter(|(name, _)| !beside(name)).collect();
        html! {
            @if !self.is_empty() {
                div.complaint role="alert" {
                    p { strong { "Please look at this form again." } }
                    @if !others.is_empty() { ul { @for (_, message) in others { li { (message) } } } }
                }
            }
        }
    }
}

/// A field with its label, a hint, and what is wrong with it.
pub(crate) struct Field<'a> {
    pub(crate) name: &'a str,
    pub(crate) label: &'a str,
    pub(crate) hint: &'a str,
    pub(crate) value: &'a str,
    pub(crate) complaints: &'a Complaints,
}

impl Field<'_> {
    /// One line of text; `kind` is that of HTML.
    pub(crate) fn line(&self, kind: &str, required: bool) -> Markup {
        self.framed(
            html! {
                input id={ "f-" (self.name) } name=(self.name) type=(kind) value=(self.value) required[required]
                    autocomplete="off" aria-describedby=[self.described()] aria-invalid=[self.invalid()];
            },
            !required,
        )
    }

    /// Several lines of text.
    pub(crate) fn lines(&self, rows: u32, required: bool) -> Markup {
        self.framed(
            html! {
                textarea id={ "f-" (self.name) } name=(self.name) rows=(rows) required[required] spellcheck="false"
                    aria-describedby=[self.described()] aria-invalid=[self.invalid()] { (self.value) }
            },
            !required,
        )
    }

    /// One of several values, each with its words.
    pub(crate) fn choice(&self, options: &[(String, String)]) -> Markup {
        self.framed(
            html! {
                select id={ "f-" (self.name) } name=(self.name) aria-describedby=[self.described()]
                    aria-invalid=[self.invalid()] {
                    @for (value, words) in options {
                        option value=(value) selected[value == self.value] { (words) }
                    }
                }
            },
            false,
        )
    }

    fn framed(&self, control: Markup, optional: bool) -> Markup {
        let wrong = self.complaints.about(self.name);
        html! {
            div class={ "field" @if !wrong.is_empty() { " wrong" } } {
                label for={ "f-" (self.name) } { (self.label) @if optional { span.needed.optional { " (optional)" } } }
                @if !self.hint.is_empty() { p.hint id={ "h-" (self.name) } { (self.hint) } }
                (control)
                @if !wrong.is_empty() {
                    p.error id={ "e-" (self.name) } { @for message in wrong { span { (message) } } }
                }
            }
        }
    }

    fn described(&self) -> Option<String> {
        let hint = (!self.hint.is_empty()).then(|| format!("h-{}", self.name));
        let error = self.invalid().map(|_| format!("e-{}", self.name));
        let both: Vec<_> = hint.into_iter().chain(error).collect();
        (!both.is_empty()).then(|| both.join(" "))
    }

    fn invalid(&self) -> Option<&'static str> {
        (!self.complaints.about(self.name).is_empty()).then_some("true")
    }
}
