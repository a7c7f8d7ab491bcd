//! Which profile an order is of, so that answers about its authorizations lead back to the right directory.

use std::collections::HashMap;

use chancery_domain::{Authorization, OrderId, ProfileName};
use chancery_service::acme::AcmeCaller;
use parking_lot::Mutex;

use crate::mount::Door;

/// As many are remembered; then all are forgotten, and read anew.
const MOST: usize = 10_000;

/// What is known. An order never changes its profile, and clients look at authorizations again and again.
#[derive(Default)]
pub(crate) struct OrderProfiles(Mutex<HashMap<OrderId, ProfileName>>);

impl OrderProfiles {
    pub(crate) fn note(&self, order: OrderId, profile: &ProfileName) {
        let mut known = self.0.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(order, profile.clone());
    }

    fn of(&self, order: OrderId) -> Option<ProfileName> {
        self.0.lock().get(&order).cloned()
    }
}

/// The profile of the order that an authorization is for; none where it is for none, or where nobody needs to know.
pub(crate) async fn of_authorization(of: &Authorization, by: &AcmeCaller, door: &Door) -> Option<ProfileName> {
    let order = of.order.filter(|_| door.mount.directory.is_none())?;
    if let Some(known) = door.order_profiles.of(order) {
        return Some(known);
    }
    // An order that cannot be read refuses nothing here: a link is not worth it.
    let profile = door.services.acme.order(by, order).await.ok()?.profile;
    door.order_profiles.note(order, &profile);
    Some(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_known_and_no_more_than_there_is_room_for() {
        let (known, profile) = (OrderProfiles::default(), ProfileName::parse("TLS-90d").unwrap());
        let order = |number: usize| -> OrderId { format!("ord_{number:026}").parse().unwrap() };
        for number in 0..MOST {
            known.note(order(number), &profile);
        }
        assert_eq!(known.of(order(0)).as_ref(), Some(&profile));
        known.note(order(MOST), &profile);
        assert_eq!((known.of(order(0)), known.of(order(MOST))), (None, Some(profile)));
    }
}
