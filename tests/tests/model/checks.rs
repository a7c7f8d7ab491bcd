//! What is looked at after each call, and after a whole sequence.

use std::collections::{BTreeMap, BTreeSet};

use chancery_domain::{PageRequest, Timestamp};
use chancery_jose::Jwk;
use chancery_store::{AuditFilter, Outcome};
use chancery_tests::{Tenant, lookup};
use serde_json::Value;
use x509_parser::prelude::{FromDer, GeneralName, ParsedExtension, X509Certificate};

use crate::driver::Driver;
use crate::real::SUBSCRIBERS;
use crate::state::{DAY, REUSE};

/// Things by their names, each with a word about it.
type View = BTreeMap<String, String>;

impl Driver {
    /// That both tenants see what the model has of theirs, and nothing else. So a refused call has changed nothing.
    pub(crate) async fn compare(&self) -> Result<(), String> {
        for tenant in 0..self.real.tenants.len() {
            let who = &self.real.tenants[tenant];
            same("orders", self.orders(tenant), seen_orders(who).await)?;
            let certificates = view(who, "/v1/certificates?limit=1000", "orderLookup", |item| text(item, "status"));
            same("certificates", self.certificates(tenant), certificates.await)?;
            let path = "/v1/account?limit=1000&include_deleted=true";
            let accounts = view(who, path, "lookup", |item| format!("{} {}", text(item, "status"), item["revoked"]));
            same("accounts", self.accounts(tenant), accounts.await)?;
            let credentials =
                view(who, "/v1/eab-credential?limit=1000", "kid", |item| match item["parent"].is_null() {
                    true => format!("root {}", item["revoked"]),
                    false => format!("{} {}", text(item, "status"), item["revoked"]),
                });
            same("credentials", self.credentials(tenant), credentials.await)?;
            let groups = view(who, "/v1/account-group?limit=1000", "lookup", |item| {
                let policies: BTreeSet<_> = list(&item["policies"]).iter().map(lookup).collect();
                format!("{} members, {policies:?}", item["memberCount"])
            });
            same("groups", self.groups(tenant), groups.await)?;
            let policies = view(who, "/v1/policy?limit=1000", "lookup", |_| String::new());
            same("policies", self.policies(tenant), policies.await)?;
        }
        Ok(())
    }

    fn orders(&self, tenant: usize) -> View {
        let (model, real) = (&self.model, &self.real);
        let own = (0..model.orders.len()).filter(|order| model.tenant_of_order(*order) == tenant);
        let told = own.map(|order| {
            let statuses: Vec<_> = model.orders[order]
                .authorizations
                .iter()
                .map(|place| {
                    format!("{} {}", real.authorizations[*place].lookup, model.authorizations[*place].status(model.now))
                })
                .collect();
            let told = format!("{}: {}", model.orders[order].status(model.now), statuses.join(", "));
            (real.orders[order].lookup.clone(), told)
        });
        told.collect()
    }

    fn certificates(&self, tenant: usize) -> View {
        let (model, real) = (&self.model, &self.real);
        let own = (0..model.orders.len()).filter(|order| model.tenant_of_order(*order) == tenant);
        let status = |order: usize| model.orders[order].certificate_status(model.now).to_owned();
        own.map(|order| (real.orders[order].lookup.clone(), status(order))).collect()
    }

    fn accounts(&self, tenant: usize) -> View {
        let (model, real) = (&self.model, &self.real);
        let own = model.accounts.iter().zip(&real.accounts).filter(|(account, _)| account.tenant == tenant);
        let told = own.map(|(account, lookup)| {
            (lookup.clone(), format!("{} {}", account.status(), model.credentials[account.root].revoked))
        });
        told.collect()
    }

    fn credentials(&self, tenant: usize) -> View {
        let model = &self.model;
        let own = (0..model.credentials.len())
            .filter(|credential| model.accounts[model.credentials[*credential].account].tenant == tenant);
        let told = own.map(|place| {
            let credential = &model.credentials[place];
            let told = match model.accounts[credential.account].root == place {
                true => format!("root {}", credential.revoked),
                false => format!("{} {}", credential.status(), credential.revoked),
            };
            (self.real.kid(place).to_owned(), told)
        });
        told.collect()
    }

    fn groups(&self, tenant: usize) -> View {
        let (model, real) = (&self.model, &self.real);
        let own = (0..model.groups.len())
            .filter(|group| model.groups[*group].tenant == tenant && !model.groups[*group].deleted);
        let told = own.map(|group| {
            let members = model.accounts.iter().filter(|account| account.groups.contains(&group)).count();
            let policies = model.groups[group].policies.iter().map(|policy| real.policies[*policy].clone());
            let policies: BTreeSet<_> = policies.collect();
            (real.groups[group].clone(), format!("{members} members, {policies:?}"))
        });
        told.collect()
    }

    fn policies(&self, tenant: usize) -> View {
        let all = self.model.policies.iter().zip(&self.real.policies);
        let own = all.filter(|(policy, _)| policy.tenant == tenant && !policy.deleted);
        own.map(|(_, lookup)| (lookup.clone(), String::new())).collect()
    }

    /// Does what waits, and looks closely at every certificate that comes of it.
    pub(crate) async fn work(&mut self) -> Result<(), String> {
        self.real.world.work(None).await;
        self.model.now = self.real.now();
        let looked_for = (0..self.model.authorizations.len()).filter(|place| self.model.is_looked_for(*place));
        let looked_for: Vec<_> = looked_for.collect();
        let processing: Vec<_> = (0..self.model.orders.len()).filter(|order| self.is_entitled(*order)).collect();
        for order in self.model.work() {
            if !processing.contains(&order) {
                return Err(format!("the model issues for order {order}, whose parties may have nothing"));
            }
            self.look_at_certificate(order).await?;
        }
        self.shown.extend(looked_for.into_iter().map(|place| (place, self.model.now)));
        Ok(())
    }

    /// That a certificate may be issued now, told by what was seen and not by what the model makes of it.
    fn is_entitled(&self, place: usize) -> bool {
        let (model, order) = (&self.model, &self.model.orders[place]);
        let shown_lately = |name: &crate::calls::Name| {
            self.shown.iter().any(|(shown, at)| {
                let shown = &model.authorizations[*shown];
                (shown.account, shown.client, shown.name) == (order.account, order.client, *name)
                    && model.now - at < REUSE
            })
        };
        model.accounts[order.account].is_active()
            && (order.was_revoked || !model.credentials[order.credential].revoked)
            && order.client.is_none_or(|client| !model.clients[client].deactivated)
            && order.names.list().iter().all(shown_lately)
    }

    async fn look_at_certificate(&mut self, order: usize) -> Result<(), String> {
        let who = &self.real.tenants[self.model.tenant_of_order(order)];
        let path = format!("/v1/certificate/{}", self.real.orders[order].certificate);
        let headers = [("accept", "application/json")];
        let reply = who.send(http::Method::GET, &path, &headers, None).await;
        if reply.status != 200 {
            return Err(format!("the model has a certificate for order {order}, the service none: {}", reply.text()));
        }
        let told = reply.json();
        let end = Timestamp::parse(told["notAfter"].as_str().unwrap_or_default()).ok_or("no notAfter")?.as_secs();
        if !(self.model.now + 89 * DAY..=self.model.now + 90 * DAY).contains(&end) {
            return Err(format!("the certificate ends at {end}, and it is {}", self.model.now));
        }
        let serial = told["serialNumber"].as_str().ok_or("no serial number")?.to_owned();
        if self.serials.contains(&serial) {
            return Err(format!("the serial number {serial} was given twice"));
        }
        let der = chancery_tests::der(told["certificate"].as_str().ok_or("no certificate")?);
        self.require_asked_for(order, &der)?;
        self.serials.push(serial);
        self.model.orders[order].issued_until = Some(end);
        self.real.orders[order].der = Some(der);
        Ok(())
    }

    /// The names that were ordered, and the key of the CSR.
    fn require_asked_for(&self, order: usize, der: &[u8]) -> Result<(), String> {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
        let names = certificate.iter_extensions().filter_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
            _ => None,
        });
        let names = names.flatten().map(|name| match name {
            GeneralName::DNSName(name) => (*name).to_owned(),
            other => other.to_string(),
        });
        let (names, order) = (names.collect::<Vec<_>>(), &self.model.orders[order]);
        let key: Option<&Jwk> = order.key.map(|key| SUBSCRIBERS[key].key.public());
        if names != order.names.texts() || key.map(|key| key.to_spki()).as_deref() != Some(certificate.public_key().raw)
        {
            return Err(format!("the certificate is for {names:?}, or for another key than that of the CSR"));
        }
        Ok(())
    }

    /// What must hold after a whole sequence.
    pub(crate) async fn finish(&self) -> Result<(), String> {
        self.compare_acme().await?;
        let page = PageRequest { limit: 10_000, after: None };
        let audit = &self.real.world.services.audit;
        let records = audit.list(AuditFilter::default(), page).await.map_err(|error| error.to_string())?;
        let done =
            records.into_iter().filter(|record| record.outcome == Outcome::Done && record.actor_kind != "operator");
        let mut written: Vec<_> = done.map(|record| format!("{} {}", record.action, record.subject)).collect();
        let expected = self.model.trail.iter().map(|(action, about)| format!("{action} {}", self.real.subject(*about)));
        let mut expected: Vec<_> = expected.collect();
        written.sort();
        expected.sort();
        if written != expected {
            let missing: Vec<_> = difference(&expected, &written);
            let added: Vec<_> = difference(&written, &expected);
            return Err(format!("the trail lacks {missing:?}, and has besides {added:?}"));
        }
        Ok(())
    }

    /// That ACME shows its orders as the model has them, to those who may still look.
    async fn compare_acme(&self) -> Result<(), String> {
        for (place, order) in self.model.orders.iter().enumerate() {
            let Some(client) = order.client.filter(|client| self.model.admit(*client).is_ok()) else { continue };
            let url = crate::real::Real::acme_url("order", &self.real.orders[place].lookup);
            let reply = self.real.clients[client].read(&url).await;
            let (told, expected) = (reply.json(), order.acme_status(self.model.now));
            if told["status"] != expected {
                return Err(format!("ACME: the model has order {place} as {expected}, the service says {told}"));
            }
        }
        Ok(())
    }
}

/// What is in the one more often than in the other.
fn difference(one: &[String], other: &[String]) -> Vec<String> {
    let mut rest = other.to_vec();
    let mut more = one.to_vec();
    more.retain(|each| match rest.iter().position(|own| own == each) {
        Some(place) => {
            rest.remove(place);
            false
        }
        None => true,
    });
    more
}

fn same(what: &str, model: View, service: View) -> Result<(), String> {
    if model == service {
        return Ok(());
    }
    let of = |view: &View, other: &View| -> View {
        view.iter().filter(|(name, told)| other.get(*name) != Some(told)).map(|(a, b)| (a.clone(), b.clone())).collect()
    };
    let (left, right) = (of(&model, &service), of(&service, &model));
    Err(format!("{what}: the model has {left:?}, the service {right:?}"))
}

async fn seen_orders(who: &Tenant) -> View {
    view(who, "/v1/order?limit=1000", "lookup", |item| {
        let authorizations = list(&item["authorizations"]).iter();
        let statuses: Vec<_> =
            authorizations.map(|each| format!("{} {}", lookup(each), text(each, "status"))).collect();
        format!("{}: {}", text(item, "status"), statuses.join(", "))
    })
    .await
}

async fn view(who: &Tenant, path: &str, name: &str, tell: impl Fn(&Value) -> String) -> View {
    let page = who.get(path).await.expect(200);
    list(&page["items"]).iter().map(|item| (text(item, name), tell(item))).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_else(|| panic!("no {member} in {value}")).to_owned()
}
