//! What a public profile requires of the rest of the configuration.

use chancery_dcv::Strictness;

use super::{Check, dcv};
use crate::config::types::Config;
use crate::installation::Perspectives;

/// Refuses settings under which validations must not back public certificates. What could not be understood was refused
/// already.
pub(super) fn require(
    config: &Config,
    validation: Option<&dcv::Validation>,
    perspectives: Option<&Perspectives>,
    check: &mut Check<'_>,
) {
    let Some(profile) = config.profiles.list.iter().find(|profile| profile.public) else { return };
    let understood = !check.problems.0.iter().any(|problem| problem.setting.starts_with("dcv.perspectives"));
    let mut refuse = |setting: &str, must: &str| {
        let message = format!(
            "must {must} while the profile {} is public: the Baseline Requirements demand it. Change this, or set \
             public = false for the profile",
            profile.name
        );
        check.problems.add(setting, message);
    };
    if let Some(validation) = validation {
        let own = validation.validator.strictness();
        let public = Strictness::PUBLIC;
        if !own.dnssec {
            refuse("dcv.dnssec", "be \"validate\"");
        }
        if own.special_addresses {
            refuse("dcv.allow_special_addresses", "be false");
            // Without special addresses, other ports are refused for every profile.
            for (setting, port, standard) in [
                ("dcv.http01_port", own.http01_port, public.http01_port),
                ("dcv.tls_alpn01_port", own.tls_alpn01_port, public.tls_alpn01_port),
            ] {
                if port != standard {
                    refuse(setting, &format!("be {standard}"));
                }
            }
        }
    }
    // Section 3.2.2.9: the remote perspectives that agree are in the service regions of at least two registries.
    if understood && perspectives.is_some_and(|perspectives| !perspectives.quorum.requires_two_regions()) {
        refuse("dcv.perspectives", "name perspectives, with their `region`, in at least two regions");
    }
}
