//! How long what has ended is kept.

use std::time::Duration;

use chancery_service::Retention;

use super::{Check, days, minutes};
use crate::config::{span, types};

const LONGEST: Duration = days(36_500);

pub(super) fn settle(retention: &types::Retention, check: &mut Check<'_>) -> Option<Retention> {
    let mut kept = |setting: &str, text: &str, least: Duration| {
        let setting = format!("retention.{setting}");
        // Nothing is kept for no time at all: 0 is how one says "for ever".
        if span::parse(text).is_ok_and(|span| span.is_zero()) {
            return Some(None);
        }
        check.span(&setting, text, least, LONGEST).map(Some)
    };
    let orders = kept("orders", &retention.orders, days(1));
    let authorizations = kept("authorizations", &retention.authorizations, days(1));
    let certificates = kept("certificates", &retention.certificates, days(7));
    let audit = kept("audit", &retention.audit, days(30));
    let refusals = kept("refusals", &retention.refusals, days(1));
    let every = check.span("retention.every", &retention.every, minutes(1), days(7));
    let settled = Retention {
        orders: orders?,
        authorizations: authorizations?,
        certificates: certificates?,
        audit: audit?,
        refusals: refusals?,
        every: every?,
    };
    if let Some(audit) = settled.audit {
        let fits = settled.refusals.is_some_and(|refusals| refusals <= audit);
        check.problems.require(fits, "retention.refusals", "must not be longer than retention.audit");
    }
    Some(settled)
}
