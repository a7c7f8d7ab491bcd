//! The directory of a profile (RFC 8555 section 7.1.1).

use axum::Json;
use axum::extract::{Path, Request, State};
use chancery_domain::Profile;
use serde_json::{Map, Value, json};

use crate::jws::by_account;
use crate::mount::Door;
use crate::payload;
use crate::problem::Problem;
use crate::urls::Urls;

pub(crate) async fn show(
    State(door): State<Door>,
    Path(profile): Path<String>,
) -> Result<Json<Map<String, Value>>, Problem> {
    let profile = find(&door, &profile)?;
    let urls = Urls::of(&door);
    let mut directory = Map::new();
    let resources = [
        ("newNonce", "new-nonce"),
        ("newAccount", "new-account"),
        ("newOrder", "new-order"),
        ("newAuthz", "new-authz"),
        ("revokeCert", "revoke-cert"),
        ("keyChange", "key-change"),
    ];
    for (name, place) in resources {
        directory.insert(name.to_owned(), urls.of_profile(profile.name.as_str(), place).into());
    }
    directory.insert("renewalInfo".to_owned(), urls.renewal_info().into());
    directory.insert("meta".to_owned(), meta(&door, profile));
    // A name that no client can know keeps all of them able to pass over names they do not know. The end of a nonce is
    // as good as random.
    let nonce = door.services.acme.new_nonce();
    let unknown = nonce.get(nonce.len().saturating_sub(16)..).unwrap_or_default();
    directory.insert(unknown.to_owned(), "https://www.rfc-editor.org/rfc/rfc8701".into());
    Ok(Json(directory))
}

/// Shows the directory by POST-as-GET (RFC 8555 section 6.3).
pub(crate) async fn show_signed(
    State(door): State<Door>,
    profile: Path<String>,
    request: Request,
) -> Result<Json<Map<String, Value>>, Problem> {
    let (_, signed) = by_account(&door, request).await?;
    payload::require_empty(&signed.payload)?;
    show(State(door), profile).await
}

/// The profile of that name.
pub(crate) fn find<'a>(door: &'a Door, name: &str) -> Result<&'a Profile, Problem> {
    let profiles = &door.services.settings.profiles;
    profiles.iter().find(|profile| profile.name.as_str() == name).ok_or_else(|| {
        let known: Vec<_> = profiles.iter().map(|profile| profile.name.as_str()).collect();
        Problem::not_found(format!("there is no such profile; there are {}", known.join(", ")))
    })
}

fn meta(door: &Door, profile: &Profile) -> Value {
    let settings = &door.services.settings.acme;
    let mut meta = json!({
        "externalAccountRequired": door.mount.stand_in.leaves_binding_to_clients(),
        "profiles": { profile.name.as_str(): profile.description },
    });
    for other in door.mount.profiles.iter().filter_map(|name| door.services.settings.profile(name)) {
        meta["profiles"][other.name.as_str()] = other.description.as_str().into();
    }
    if let Some(terms) = door.terms_of_service() {
        meta["termsOfService"] = terms.into();
    }
    if let Some(website) = &settings.website {
        meta["website"] = website.as_str().into();
    }
    if !settings.caa_identities.is_empty() {
        meta["caaIdentities"] = settings.caa_identities.clone().into();
    }
    // RFC 9444 section 4.4.
    if settings.subdomains {
        meta["subdomainAuthAllowed"] = true.into();
    }
    meta
}
