//! Light or dark: as the system has it, unless somebody chose. Kept in a cookie, so that no page shows the other one first.

use axum::extract::State;
use axum::response::Response;
use chancery_http::Door;
use http::HeaderMap;
use http::header::SET_COOKIE;

use crate::refused::Refused;
use crate::session::{Posted, cookie, local, see_other};

const COOKIE: &str = "__Host-chancery-theme";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    System,
    Light,
    Dark,
}

impl Theme {
    pub(crate) const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let chosen = cookie(headers, COOKIE);
        Self::ALL.into_iter().find(|theme| chosen == Some(theme.as_str())).unwrap_or(Self::System)
    }
}

/// Changes nothing but a cookie: strangers may do it too, at the page where they sign in.
pub(crate) async fn choose(State(_): State<Door>, posted: Posted) -> Result<Response, Refused> {
    let asked = posted.form.text("theme");
    let theme = Theme::ALL.into_iter().find(|theme| theme.as_str() == asked).unwrap_or(Theme::System);
    let mut response = see_other(local(posted.form.text("back")).unwrap_or("/console"));
    let age = if theme == Theme::System { 0 } else { 31_536_000 };
    let text = format!("{COOKIE}={}; Path=/; Max-Age={age}; Secure; HttpOnly; SameSite=Lax", theme.as_str());
    if let Ok(value) = text.parse() {
        response.headers_mut().append(SET_COOKIE, value);
    }
    Ok(response)
}
