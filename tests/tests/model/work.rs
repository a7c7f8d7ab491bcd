//! What happens behind the doors: control is looked for, certificates are issued.

use crate::state::{Model, Permission, REUSE, State, Thing};

impl Model {
    /// Whether somebody is to look for what an authorization asks for.
    pub(crate) fn is_looked_for(&self, place: usize) -> bool {
        let authorization = &self.authorizations[place];
        authorization.tried && authorization.status(self.now) == "pending"
    }

    pub(crate) fn look_in_vain(&mut self, place: usize) {
        self.authorizations[place].state = Permission::Invalid;
        if let Some(order) = self.authorizations[place].order {
            let state = &mut self.orders[order].state;
            match state {
                State::Pending | State::Ready | State::Processing => *state = State::Invalid,
                State::Valid | State::Invalid | State::Cancelled => {}
            }
        }
        self.note("challenge.validate", Thing::Challenge(place));
    }

    /// Every job that waits is done. Gives the orders from which a certificate must have come.
    pub(crate) fn work(&mut self) -> Vec<usize> {
        let waiting: Vec<_> = (0..self.orders.len()).filter(|order| self.is_waiting(*order)).collect();
        for place in 0..self.authorizations.len() {
            if self.is_looked_for(place) {
                self.look(place);
            }
        }
        waiting.into_iter().filter(|order| self.issue(*order)).collect()
    }

    fn is_waiting(&self, order: usize) -> bool {
        self.orders[order].state == State::Processing
    }

    fn look(&mut self, place: usize) {
        self.authorizations[place].state = Permission::Valid { at: self.now, source: place };
        self.authorizations[place].expires = self.now + REUSE;
        self.note("challenge.validate", Thing::Challenge(place));
        let Some(order) = self.authorizations[place].order else { return };
        let mut all = self.orders[order].authorizations.iter().map(|place| &self.authorizations[*place]);
        if self.orders[order].state == State::Pending && all.all(|each| each.status(self.now) == "valid") {
            self.orders[order].state = State::Ready;
        }
    }

    /// Nothing is issued for those who have ended, nor against a rule, nor without permission; who is suspended waits.
    fn issue(&mut self, order: usize) -> bool {
        let Some(key) = self.orders[order].key else { panic!("an order is finalized without a CSR") };
        let account = self.orders[order].account;
        if self.stands(order) && self.accounts[account].suspended {
            self.orders[order].state = State::Ready;
            self.note("order.put_back", Thing::Order(order));
            return false;
        }
        let good = self.stands(order)
            && self.is_authorized(order)
            && !self.blocked.contains(&key)
            && self.permits(account, self.orders[order].names.list());
        if good {
            self.orders[order].state = State::Valid;
            self.note("certificate.issue", Thing::Order(order));
        } else {
            self.orders[order].state = State::Invalid;
            self.note("order.fail", Thing::Order(order));
        }
        good
    }
}
