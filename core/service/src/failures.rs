//! Names whose validation fails again and again: held to a rate, and paused in the end.

use chancery_domain::{AccountId, Authorization, Identifier};

use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::limits::Limit;

/// That nothing stands against validating what these authorizations still have to show.
pub(crate) fn require_worth_trying(kernel: &Kernel, authorizations: &[Authorization]) -> Result<(), ServiceError> {
    let unshown = authorizations.iter().filter(|authorization| authorization.validation().is_none());
    for authorization in unshown {
        let whom = whom(authorization.account, &authorization.identifier);
        let failed = kernel.limits.peek(Limit::FailedValidations, &whom);
        if let Some(failed) = failed.filter(|failed| !failed.allowed()) {
            return Err(ServiceError::RateLimited(failed));
        }
    }
    Ok(())
}

/// Whose bucket a failed validation is taken from.
pub(crate) fn whom(account: AccountId, identifier: &Identifier) -> String {
    format!("{account} {identifier}")
}
