//! How the door is mounted. The service mounts it once, as it is; a test environment may mount it again, and otherwise.

use std::ops::Deref;
use std::sync::Arc;

use chancery_domain::ProfileName;

use crate::faults::Faults;
use crate::layout::Layout;
use crate::order_profiles::OrderProfiles;
use crate::renewal_answers::RenewalAnswers;
use crate::stand_in::StandIn;

/// What is particular to one mounting; the default is what the service has.
pub struct Mount {
    pub layout: Layout,
    /// The profile of the only directory, where there is only one; in the service each profile has its own.
    pub directory: Option<ProfileName>,
    /// Who binds accounts in the stead of clients; nobody in the service.
    pub stand_in: StandIn,
    /// Profiles that orders may choose here, beside the directory's own.
    pub profiles: Vec<ProfileName>,
    /// Terms that new accounts have to agree to here, in place of those of the settings.
    pub terms_of_service: Option<String>,
    /// How many orders are listed at a time.
    pub orders_per_page: u32,
    pub renewal_answers: RenewalAnswers,
    pub faults: Faults,
}

impl Default for Mount {
    fn default() -> Self {
        Self {
            layout: Layout::default(),
            directory: None,
            stand_in: StandIn::default(),
            profiles: Vec::new(),
            terms_of_service: None,
            orders_per_page: 100,
            renewal_answers: RenewalAnswers::default(),
            faults: Faults::default(),
        }
    }
}

/// The state of the routes: what every door holds, and how this one is mounted.
#[derive(Clone)]
pub(crate) struct Door {
    /// In one piece, since every request gets a copy.
    shared: Arc<chancery_http::Door>,
    pub(crate) mount: Arc<Mount>,
    pub(crate) order_profiles: Arc<OrderProfiles>,
}

impl Door {
    pub(crate) fn new(shared: chancery_http::Door, mount: Arc<Mount>) -> Self {
        Self { shared: Arc::new(shared), mount, order_profiles: Arc::default() }
    }

    /// The terms that new accounts have to agree to, where there are any.
    pub(crate) fn terms_of_service(&self) -> Option<&str> {
        let settings = &self.services.settings.acme;
        self.mount.terms_of_service.as_deref().or(settings.terms_of_service.as_deref())
    }
}

impl Deref for Door {
    type Target = chancery_http::Door;

    fn deref(&self) -> &chancery_http::Door {
        &self.shared
    }
}
