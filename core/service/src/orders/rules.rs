//! The profile of an order.

use chancery_domain::{Profile, ProfileName};

use crate::error::ServiceError;
use crate::settings::Settings;

/// The profile of this name; another name is a mistake in the request.
pub(crate) fn profile<'a>(settings: &'a Settings, name: &ProfileName) -> Result<&'a Profile, ServiceError> {
    settings.profile(name).ok_or_else(|| {
        let known: Vec<_> = settings.profiles.iter().map(|profile| profile.name.as_str()).collect();
        ServiceError::invalid(
            "profile",
            "unknown",
            format!("there is no profile {name}; there are {}", known.join(", ")),
        )
    })
}
