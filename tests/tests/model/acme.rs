//! Orders, authorizations and certificates at ACME's door.

use crate::calls::{Name, Names, Reason};
use crate::parties::Status;
use crate::state::{Model, ORDER_LIFE, Permission, State, Thing};

impl Model {
    pub(crate) fn acme_order(&mut self, client: usize, names: Names) -> Status {
        let account = self.clients[client].account;
        match self.admit_active(client) {
            Err(refused) => refused,
            Ok(()) if !self.permits(account, names.list()) => 403,
            Ok(()) => {
                let credential = self.clients[client].credential;
                self.make_order(account, credential, Some(client), names, None);
                201
            }
        }
    }

    pub(crate) fn pre_authorize(&mut self, client: usize, name: Name) -> Status {
        let account = self.clients[client].account;
        match self.admit_active(client) {
            Err(refused) => refused,
            Ok(()) if !self.permits(account, &[name]) => 403,
            Ok(()) => {
                let end = self.now + ORDER_LIFE;
                let made = self.make_authorization(account, Some(client), None, name, end);
                self.note("authorization.create", Thing::Authorization(made));
                201
            }
        }
    }

    pub(crate) fn answer(&mut self, client: usize, place: usize) -> Status {
        if let Err(refused) = self.admit_active(client) {
            return refused;
        }
        let authorization = &self.authorizations[place];
        if authorization.client != Some(client) {
            return 404;
        }
        match authorization.state {
            Permission::Deactivated => return 400,
            // Saying it again changes nothing.
            Permission::Valid { .. } | Permission::Invalid => return 200,
            Permission::Pending if self.now >= authorization.expires => return 400,
            Permission::Pending if authorization.tried => return 200,
            Permission::Pending => {}
        }
        if let Some(order) = authorization.order {
            match self.orders[order].status(self.now) {
                "invalid" => return 403,
                "expired" | "processing" | "valid" | "cancelled" => return 400,
                _ => {}
            }
        }
        self.authorizations[place].tried = true;
        self.note("challenge.choose", Thing::Challenge(place));
        200
    }

    /// Gives a permission up, and where it was earned all there are for the name. The open orders that need one of them fail.
    pub(crate) fn give_up(&mut self, client: usize, place: usize) -> Status {
        if let Err(refused) = self.admit_active(client) {
            return refused;
        }
        let authorization = &self.authorizations[place];
        if authorization.client != Some(client) {
            return 404;
        }
        let (name, order, was_valid) = (authorization.name, authorization.order, authorization.is_valid());
        match authorization.state {
            Permission::Pending | Permission::Valid { .. } => {}
            Permission::Invalid | Permission::Deactivated => return 200,
        }
        self.authorizations[place].state = Permission::Deactivated;
        if was_valid {
            let same = |each: &&mut crate::state::Authorization| {
                each.client == Some(client) && each.name == name && each.is_valid()
            };
            self.authorizations.iter_mut().filter(same).for_each(|each| each.state = Permission::Deactivated);
        }
        if let Some(order) = order.filter(|order| self.orders[*order].is_open(self.now)) {
            self.orders[order].state = State::Invalid;
        }
        self.note("authorization.deactivate", Thing::Authorization(place));
        for order in 0..self.orders.len() {
            let lost = |place: &usize| self.authorizations[*place].state == Permission::Deactivated;
            if self.orders[order].is_open(self.now) && self.orders[order].authorizations.iter().any(lost) {
                self.orders[order].state = State::Invalid;
                self.note("order.fail", Thing::Order(order));
            }
        }
        200
    }

    pub(crate) fn acme_finalize(&mut self, client: usize, order: usize, key: usize, other_names: bool) -> Status {
        if let Err(refused) = self.admit_active(client) {
            return refused;
        }
        if self.orders[order].client != Some(client) {
            return 404;
        }
        match self.orders[order].status(self.now) {
            // Once more with the same CSR, the answer to which may have been lost.
            "processing" | "valid" if self.orders[order].key == Some(key) && !other_names => return 200,
            "ready" => {}
            _ => return 403,
        }
        if other_names || self.blocked.contains(&key) {
            return 400;
        }
        if !self.permits(self.orders[order].account, self.orders[order].names.list()) {
            return 403;
        }
        self.orders[order].key = Some(key);
        self.orders[order].state = State::Processing;
        self.note("order.finalize", Thing::Order(order));
        200
    }

    pub(crate) fn acme_show(&self, client: usize, order: usize) -> Status {
        match self.admit(client) {
            Err(refused) => refused,
            Ok(()) if self.orders[order].client != Some(client) => 404,
            Ok(()) => 200,
        }
    }

    pub(crate) fn acme_download(&self, client: usize, order: usize) -> Status {
        match self.acme_show(client, order) {
            200 => match self.orders[order].certificate_status(self.now) {
                "pending" => 403,
                "cancelled" => 404,
                _ => 200,
            },
            refused => refused,
        }
    }

    /// By whoever ordered it, or has shown control of all its names (RFC 8555 section 7.6).
    pub(crate) fn acme_revoke(&mut self, client: usize, order: usize, reason: Reason) -> Status {
        if let Err(refused) = self.admit(client) {
            return refused;
        }
        let own = self.orders[order].client == Some(client);
        if !own && !self.controls(client, self.orders[order].names) {
            return 403;
        }
        // That a key is compromised is believed of whose it is.
        if !own && reason == Reason::KeyCompromise {
            return 400;
        }
        self.revoke_once(order, reason)
    }

    pub(crate) fn revoke_by_key(&mut self, order: usize, reason: Reason, right: bool) -> Status {
        if right { self.revoke_once(order, reason) } else { 403 }
    }

    fn revoke_once(&mut self, order: usize, reason: Reason) -> Status {
        if self.orders[order].certificate_status(self.now) == "issued" {
            self.revoke_issued(order, reason);
            return 200;
        }
        if self.revoke_for_more(order, reason) { 200 } else { 400 }
    }

    fn controls(&self, client: usize, names: Names) -> bool {
        let shown = |name: &Name| {
            let mut all = self.authorizations.iter();
            all.any(|each| each.client == Some(client) && each.name == *name && each.status(self.now) == "valid")
        };
        names.list().iter().all(shown)
    }
}
