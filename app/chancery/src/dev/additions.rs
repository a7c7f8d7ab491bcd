//! What a `dev` adds to the service, as it was asked to.

use std::sync::Arc;

use chancery_acme::{Faults, Mount};
use chancery_service::Services;
use chancery_workers::Inspector;

use super::hostile::{HostileInspector, Pause};
use super::pebble::{Pebble, Renaming};
use crate::assembly::Assembled;
use crate::installation::Installation;
use crate::serve::{AddedDoor, Additions};

pub struct DevAdditions<'a> {
    pub installation: &'a Installation,
    pub assembled: &'a Assembled,
    pub faults: Faults,
    pub pause: Option<Pause>,
    pub caa: bool,
    pub pebble: Option<Pebble>,
}

impl Additions for DevAdditions<'_> {
    fn acme(&self) -> Arc<Mount> {
        Arc::new(Mount { faults: self.faults, ..Mount::default() })
    }

    fn inspector(&self, usual: Option<Arc<dyn Inspector>>) -> Option<Arc<dyn Inspector>> {
        let usual = match (usual, &self.pebble) {
            (Some(inspector), Some(pebble)) => {
                let names = pebble.account_names(self.installation);
                Some(Arc::new(Renaming { inspector, names }) as Arc<dyn Inspector>)
            }
            (usual, _) => usual,
        };
        match (self.pause, self.caa) {
            (None, true) => usual,
            (pause, caa) => Some(Arc::new(HostileInspector { usual, pause, caa })),
        }
    }

    fn doors(&mut self, installation: &Installation, services: &Services) -> Vec<AddedDoor> {
        let pebble = self.pebble.take();
        pebble.map(|pebble| pebble.doors(installation, self.assembled, services).into()).unwrap_or_default()
    }
}
