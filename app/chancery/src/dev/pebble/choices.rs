//! What Pebble's configuration says where nobody changes it.

use chancery_domain::policy::DomainPattern;
use chancery_domain::{PolicyRules, Profile, ProfileName};

/// Pebble rejects as many of a hundred nonces.
pub const REJECTED_NONCES: u8 = 5;
/// Pebble lists as many orders at a time.
pub const ORDERS_PER_PAGE: u32 = 3;
/// Pebble has terms, and wants them to be agreed to.
pub const TERMS: &str = "data:text/plain,Certificates%20for%20tests%20alone";
/// The profile of its directory.
pub const DEFAULT: &str = "default";
/// A name that it refuses.
const BLOCKED: &str = "blocked-domain.example";

/// Its profiles. One CA signs all of their certificates, whatever key they have.
pub fn profiles() -> [Profile; 2] {
    [(DEFAULT, 90), ("shortlived", 6)].map(|(text, days)| {
        let description = format!("As Pebble's profile {text}, {days} days");
        Profile { name: name(text), description, validity_days: days, ..Profile::predefined().swap_remove(0) }
    })
}

pub fn name(text: &str) -> ProfileName {
    ProfileName::parse(text).expect("a plain word")
}

/// What it refuses.
pub fn policy() -> PolicyRules {
    let blocked = [BLOCKED.to_owned(), format!("*.{BLOCKED}")];
    let blocked = blocked.iter().filter_map(|text| DomainPattern::parse(text).ok()).collect();
    PolicyRules { denied_domains: Some(blocked), ..PolicyRules::default() }
}
