//! EAB credentials: what a customer's ACME client is let in with, ready to paste.

use axum::extract::{Path, State};
use axum::response::Response;
use chancery_domain::{AccountId, EabTerms, Kid, Label, Problems, ProfileName, Timestamp};
use chancery_http::Door;
use chancery_service::{CreatedCredential, Noun, ServiceError};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::create::shown_once;
use super::show::{self, Part, Wrong};
use crate::form::Fields;
use crate::once::{once, shown};
use crate::parts::{Complaints, copyable, heading, trail};
use crate::refused::Refused;
use crate::session::{Change, see_other};

/// What goes into the commands.
pub(crate) struct Pasted {
    pub(crate) directory: String,
    pub(crate) kid: String,
    pub(crate) hmac: String,
    pub(crate) email: String,
}

pub(crate) async fn create(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    let Change { caller, context, form } = change;
    let account: AccountId = id.parse().map_err(|_| ServiceError::not_found(Noun::Account))?;
    let now = door.services.now();
    let made = match read(&form, now) {
        Ok(terms) => {
            door.services.credentials.create(&caller, account, terms, once(&form, &account.to_string(), told)).await
        }
        Err(error) => Err(error),
    };
    let made = match made {
        Ok(made) => shown(&made, told),
        Err(error) => {
            let wrong = Wrong { what: Part::NewKey, complaints: Complaints::of(error)?, form };
            return show::shown(&door, &caller, &context, account, Some(wrong)).await;
        }
    };
    let profile = Some(made.text("profile")).filter(|profile| !profile.is_empty());
    let pasted = Pasted {
        directory: door.urls.acme_directory(profile.unwrap_or(door.services.settings.default_profile.as_str())),
        kid: made.text("kid").to_owned(),
        hmac: made.text("hmac").to_owned(),
        email: made.text("email").to_owned(),
    };
    let body = html! {
        (trail(&format!("/console/customers/{account}"), &pasted.email))
        (heading("New ACME key", html! { "For " (pasted.email) ". It is shown only now." }, html! {}))
        (shown_once(&pasted))
    };
    Ok(context.page("New ACME key", body))
}

/// What is shown of a new credential.
fn told(made: &CreatedCredential) -> Value {
    let CreatedCredential { credential, account, hmac_key, profiles } = made;
    let profile = profiles.first().map(ProfileName::as_str);
    json!({"kid": credential.kid.to_string(), "hmac": hmac_key.reveal(), "email": account.email.as_str(), "profile": profile})
}

pub(crate) async fn revoke(
    State(door): State<Door>,
    Path((id, kid)): Path<(String, String)>,
    change: Change,
) -> Result<Response, Refused> {
    let kid: Kid = kid.parse().map_err(|_| ServiceError::not_found(Noun::Credential))?;
    let account: AccountId = id.parse().map_err(|_| ServiceError::not_found(Noun::Account))?;
    door.services.credentials.revoke(&change.caller, kid).await?;
    Ok(see_other(&format!("/console/customers/{account}?done=revoked")))
}

fn read(form: &Fields, now: Timestamp) -> Result<EabTerms, ServiceError> {
    let mut problems = Problems::default();
    let label = form.filled("label").and_then(|text| problems.take("label", Label::parse(text)));
    let days = form.number("days", EabTerms::MAX_DAYS, &mut problems);
    let max_bindings = form.number("max_bindings", EabTerms::MAX_BINDINGS, &mut problems);
    problems.into_result().map_err(ServiceError::Invalid)?;
    Ok(EabTerms { label, expires_at: days.map(|days| now.plus_days(days)), max_bindings })
}

/// The commands of the usual clients, as a shell takes them.
pub(crate) fn paste(of: &Pasted) -> Markup {
    let Pasted { directory, kid, hmac, email } = of;
    let mail = quoted(email);
    let certbot = format!(
        "certbot register --server {directory} \\\n    --eab-kid {kid} --eab-hmac-key {hmac} --agree-tos --no-eff-email -m {mail}\n\
         certbot certonly --server {directory} --standalone -d www.example.com"
    );
    let lego = format!(
        "lego --server {directory} --accept-tos --email {mail} \\\n    --eab --kid {kid} --hmac {hmac} --http -d www.example.com run"
    );
    let acme_sh = format!(
        "acme.sh --register-account --server {directory} \\\n    --eab-kid {kid} --eab-hmac-key {hmac} -m {mail}\n\
         acme.sh --issue --server {directory} -d www.example.com --standalone"
    );
    let plain: String = email.chars().filter(|letter| !['"', '\\', '`', '{', '}'].contains(letter)).collect();
    let caddy = format!(
        "{{\n\temail \"{plain}\"\n\tacme_ca {directory}\n\tacme_eab {{\n\t\tkey_id {kid}\n\t\tmac_key {hmac}\n\t}}\n}}\n\n\
         www.example.com {{\n\treverse_proxy 127.0.0.1:8000\n}}"
    );
    html! {
        div.tabs {
            @for (place, (name, text)) in
                [("certbot", certbot), ("lego", lego), ("acme.sh", acme_sh), ("Caddy", caddy)].into_iter().enumerate() {
                details open[place == 0] {
                    summary { (name) }
                    (copyable(&format!("the commands for {name}"), &text))
                }
            }
        }
    }
}

/// In single quotes where a shell would not take it literally.
fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "@.-_+".contains(letter);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_word_to_a_shell() {
        assert_eq!(quoted("a.b+c@example.com"), "a.b+c@example.com");
        assert_eq!(quoted("a'$(x)`@example.com"), r"'a'\''$(x)`@example.com'");
    }
}
