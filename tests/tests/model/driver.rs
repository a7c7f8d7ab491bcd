//! Makes a call in the model and at the service, and compares what is answered.

use std::time::Duration;

use chancery_domain::{ProblemKind, ValidationProblem};
use chancery_jose::{SigningKey, base64url, jws};
use chancery_service::Report;
use chancery_testkit::TestStore;
use chancery_tests::{AcmeClient, Reply, identifiers, lookup};
use serde_json::{Map, Value, json};

use crate::calls::{Call, Reason, Rule, Who};
use crate::parties::Status;
use crate::real::{Real, SUBSCRIBERS};
use crate::state::Model;

/// The model and the service, side by side.
pub(crate) struct Driver {
    pub(crate) model: Model,
    pub(crate) real: Real,
    /// What was called so far, and how it was answered.
    pub(crate) told: Vec<String>,
    pub(crate) refused: usize,
    /// When control of a name was really shown, and for whom.
    pub(crate) shown: Vec<(usize, i64)>,
    pub(crate) serials: Vec<String>,
}

/// Certificates and CAs do not last for ever.
const LONGEST: i64 = 600 * 86_400;

impl Driver {
    pub(crate) async fn new(store: TestStore) -> Self {
        let real = Real::new(store).await;
        let model = Model { now: real.now(), ..Model::default() };
        Self { model, real, told: Vec::new(), refused: 0, shown: Vec::new(), serials: Vec::new() }
    }

    /// Makes a call, and says where the service and the model do not agree.
    pub(crate) async fn step(&mut self, call: &Call) -> Result<(), String> {
        let Some((expected, reply)) = self.call(call).await? else { return Ok(()) };
        let got = reply.as_ref().map(|reply| reply.status.as_u16());
        let line = format!("{call:?} -> {}", got.map_or("done".to_owned(), |got| got.to_string()));
        self.told.push(line);
        self.refused += usize::from(got.is_some_and(|got| got >= 400));
        match (got, &reply) {
            (Some(got), Some(reply)) if got != expected => {
                Err(format!("{call:?}: the model says {expected}, the service {got}: {}", reply.text()))
            }
            _ => self.compare().await.map_err(|why| format!("after {call:?}: {why}")),
        }
    }

    /// What the model answers, and the service; nothing where there is nothing to call about.
    async fn call(&mut self, call: &Call) -> Result<Option<(Status, Option<Reply>)>, String> {
        let told = match call {
            Call::CreateAccount { .. }
            | Call::Suspend { .. }
            | Call::Resume { .. }
            | Call::Terminate { .. }
            | Call::CreateCredential { .. }
            | Call::RevokeCredential { .. } => self.parties(call).await,
            Call::CreateGroup { .. }
            | Call::DeleteGroup { .. }
            | Call::CreatePolicy { .. }
            | Call::DeletePolicy { .. }
            | Call::Assign { .. }
            | Call::Unassign { .. }
            | Call::AddMember { .. }
            | Call::RemoveMember { .. } => self.rules(call).await,
            Call::Register { .. }
            | Call::RegisterAgain { .. }
            | Call::ChangeKey { .. }
            | Call::SpeakWithOldKey { .. }
            | Call::DeactivateClient { .. } => self.clients(call).await,
            Call::Order { .. }
            | Call::Codes { .. }
            | Call::Choose { .. }
            | Call::DeleteChallenge { .. }
            | Call::Finalize { .. }
            | Call::Cancel { .. }
            | Call::Show { .. }
            | Call::Download { .. }
            | Call::Revoke { .. } => self.reseller(call).await,
            Call::AcmeOrder { .. }
            | Call::PreAuthorize { .. }
            | Call::Answer { .. }
            | Call::GiveUp { .. }
            | Call::AcmeFinalize { .. }
            | Call::AcmeShow { .. }
            | Call::AcmeDownload { .. }
            | Call::AcmeRevoke { .. }
            | Call::RevokeByKey { .. } => self.acme(call).await,
            Call::LookInVain { authorization } => return self.look_in_vain(*authorization).await,
            Call::Work => return self.work().await.map(|()| Some((0, None))),
            Call::Advance(span) => {
                if self.model.now - chancery_tests::START.as_secs() > LONGEST {
                    return Ok(None);
                }
                self.real.world.advance(Duration::from_secs(span.seconds()));
                self.model.now = self.real.now();
                return Ok(Some((0, None)));
            }
        };
        Ok(told.map(|(status, reply)| (status, Some(reply))))
    }

    async fn parties(&mut self, call: &Call) -> Option<(Status, Reply)> {
        let accounts = self.real.accounts.len();
        Some(match *call {
            Call::CreateAccount { tenant, email } => {
                let body = json!({"customer_email": format!("customer-{email}@example.com")});
                let reply = self.real.tenants[tenant].post("/v1/account", body).await;
                if reply.status == 201 {
                    self.real.accounts.push(lookup(&reply.json()));
                    self.real.credentials.push(reply.json());
                }
                (self.model.create_account(tenant, email), reply)
            }
            Call::Suspend { account, who } => self.suspend(nth(account, accounts)?, who, true).await,
            Call::Resume { account, who } => self.suspend(nth(account, accounts)?, who, false).await,
            Call::Terminate { account, who, revoke } => {
                let account = nth(account, accounts)?;
                let (by, path) = (self.by(self.model.accounts[account].tenant, who), self.account(account));
                let reply = self.real.tenants[by].delete(&format!("{path}?revoke_certificates={revoke}")).await;
                (self.model.terminate(by, account, revoke), reply)
            }
            Call::CreateCredential { account, who } => {
                let account = nth(account, accounts)?;
                let (by, path) = (self.by(self.model.accounts[account].tenant, who), self.account(account));
                let reply = self.real.tenants[by].post_empty(&format!("{path}/eab-credential")).await;
                if reply.status == 201 {
                    self.real.credentials.push(reply.json());
                }
                (self.model.create_credential(by, account), reply)
            }
            Call::RevokeCredential { credential, who } => {
                let credential = nth(credential, self.real.credentials.len())?;
                let account = self.model.credentials[credential].account;
                let by = self.by(self.model.accounts[account].tenant, who);
                let path = format!("/v1/eab-credential/{}", self.real.kid(credential));
                (self.model.revoke_credential(by, credential), self.real.tenants[by].delete(&path).await)
            }
            _ => return None,
        })
    }

    async fn suspend(&mut self, account: usize, who: Who, suspended: bool) -> (Status, Reply) {
        let (by, path) = (self.by(self.model.accounts[account].tenant, who), self.account(account));
        let reply = self.real.tenants[by].patch(&path, json!({"suspended": suspended})).await;
        (self.model.suspend(by, account, suspended), reply)
    }

    fn account(&self, account: usize) -> String {
        format!("/v1/account/{}", self.real.accounts[account])
    }

    async fn rules(&mut self, call: &Call) -> Option<(Status, Reply)> {
        let (groups, policies, accounts) = (self.real.groups.len(), self.real.policies.len(), self.real.accounts.len());
        let group_path = |me: &Self, group: usize| format!("/v1/account-group/{}", me.real.groups[group]);
        let members = |me: &Self, account: usize| json!({"accounts": [me.real.accounts[account]]});
        Some(match *call {
            Call::CreateGroup { tenant, name } => {
                let body = json!({"name": format!("Group {name}")});
                let reply = self.real.tenants[tenant].post("/v1/account-group", body).await;
                if reply.status == 200 {
                    self.real.groups.push(lookup(&reply.json()));
                }
                (self.model.create_group(tenant, name), reply)
            }
            Call::DeleteGroup { group, who } => {
                let group = nth(group, groups)?;
                let by = self.by(self.model.groups[group].tenant, who);
                let reply = self.real.tenants[by].delete(&group_path(self, group)).await;
                (self.model.delete_group(by, group), reply)
            }
            Call::CreatePolicy { tenant, name, rule } => {
                let mut body = match rule {
                    Rule::NothingIsIssued => json!({"issuance_enabled": false}),
                    Rule::NotB => json!({"denied_domains": ["b.test"]}),
                    Rule::OneName => json!({"max_names": 1}),
                };
                body["name"] = format!("Policy {name}").into();
                let reply = self.real.tenants[tenant].post("/v1/policy", body).await;
                if reply.status == 200 {
                    self.real.policies.push(lookup(&reply.json()));
                }
                (self.model.create_policy(tenant, name, rule), reply)
            }
            Call::DeletePolicy { policy, who } => {
                let policy = nth(policy, policies)?;
                let by = self.by(self.model.policies[policy].tenant, who);
                let path = format!("/v1/policy/{}", self.real.policies[policy]);
                (self.model.delete_policy(by, policy), self.real.tenants[by].delete(&path).await)
            }
            Call::Assign { group, policy, who } => {
                let (group, policy) = (nth(group, groups)?, nth(policy, policies)?);
                let by = self.by(self.model.groups[group].tenant, who);
                let path = format!("{}/policy/{}", group_path(self, group), self.real.policies[policy]);
                (self.model.assign(by, group, policy), self.real.tenants[by].post_empty(&path).await)
            }
            Call::Unassign { group, policy, who } => {
                let (group, policy) = (nth(group, groups)?, nth(policy, policies)?);
                let by = self.by(self.model.groups[group].tenant, who);
                let path = format!("{}/policy/{}", group_path(self, group), self.real.policies[policy]);
                (self.model.unassign(by, group, policy), self.real.tenants[by].delete(&path).await)
            }
            Call::AddMember { group, account, who } => {
                let (group, account) = (nth(group, groups)?, nth(account, accounts)?);
                let by = self.by(self.model.groups[group].tenant, who);
                let path = format!("{}/member", group_path(self, group));
                let reply = self.real.tenants[by].post(&path, members(self, account)).await;
                (self.model.add_member(by, group, account), reply)
            }
            Call::RemoveMember { group, account, who } => {
                let (group, account) = (nth(group, groups)?, nth(account, accounts)?);
                let by = self.by(self.model.groups[group].tenant, who);
                let path = format!("{}/member", group_path(self, group));
                let reply = self.real.tenants[by].delete_with(&path, members(self, account)).await;
                (self.model.remove_member(by, group, account), reply)
            }
            _ => return None,
        })
    }

    async fn clients(&mut self, call: &Call) -> Option<(Status, Reply)> {
        let clients = self.real.clients.len();
        Some(match *call {
            Call::Register { credential, right } => {
                let credential = nth(credential, self.real.credentials.len())?;
                let mut shown = self.real.credentials[credential].clone();
                if !right {
                    // As long as a real one, and another.
                    shown["hmacKey"] = "A".repeat(64).into();
                }
                let mut client = AcmeClient::at(self.real.world.stranger(), "TLS-90d").await;
                let reply = client.register(&shown).await;
                if reply.status == 201 {
                    self.real.clients.push(client);
                    self.real.old_keys.push(Vec::new());
                }
                (self.model.register(credential, right), reply)
            }
            Call::RegisterAgain { client } => {
                let client = nth(client, clients)?;
                let speaker = &self.real.clients[client];
                let url = speaker.url("newAccount");
                let mut header = speaker.header(&url).await;
                header.remove("kid");
                header.insert("jwk".to_owned(), speaker.key.public().to_value());
                (self.model.register_again(client), speaker.send(&url, header, b"{}").await)
            }
            Call::ChangeKey { client, taken } => {
                let client = nth(client, clients)?;
                // The key of the client itself is taken as well.
                let new = if taken { copy(&self.real.clients[0].key) } else { SigningKey::generate().expect("a key") };
                let reply = change_key(&self.real.clients[client], &new).await;
                if reply.status == 200 {
                    let old = std::mem::replace(&mut self.real.clients[client].key, new);
                    self.real.old_keys[client].push(old);
                }
                (self.model.change_key(client, taken), reply)
            }
            Call::SpeakWithOldKey { client } => {
                let client = nth(client, clients)?;
                let (speaker, old) = (&self.real.clients[client], self.real.old_keys[client].last()?);
                let url = speaker.kid.clone()?;
                let body = jws::sign_flattened(speaker.header(&url).await, b"", old).ok()?;
                (400, speaker.send_raw(&url, body.to_string().into_bytes()).await)
            }
            Call::DeactivateClient { client } => {
                let client = nth(client, clients)?;
                let speaker = &self.real.clients[client];
                let reply = speaker.post(speaker.kid.as_ref()?, &json!({"status": "deactivated"})).await;
                (self.model.deactivate_client(client), reply)
            }
            _ => return None,
        })
    }

    async fn reseller(&mut self, call: &Call) -> Option<(Status, Reply)> {
        let (orders, authorizations) = (self.real.orders.len(), self.real.authorizations.len());
        Some(match *call {
            Call::Order { account, by_credential, names, key, who } => {
                let (account, credential) = match by_credential {
                    true => {
                        let credential = nth(account, self.real.credentials.len())?;
                        (self.model.credentials[credential].account, Some(credential))
                    }
                    false => (nth(account, self.real.accounts.len())?, None),
                };
                let by = self.by(self.model.accounts[account].tenant, who);
                let mut body = json!({"csr": SUBSCRIBERS[key].csr(names)});
                match credential {
                    Some(credential) => body["eab_kid"] = self.real.kid(credential).into(),
                    None => body["account_lookup"] = self.real.accounts[account].as_str().into(),
                }
                let reply = self.real.tenants[by].post("/v1/order", body).await;
                if reply.status == 201 {
                    self.real.learn_order(by, &lookup(&reply.json())).await;
                }
                (self.model.order(by, account, credential, names, key), reply)
            }
            Call::Codes { authorization, who } => {
                let place = nth(authorization, authorizations)?;
                let by = self.by(self.model.tenant_of_authorization(place), who);
                let path = format!("/v1/authz/{}/challenges", self.real.authorizations[place].lookup);
                let reply = self.real.tenants[by].post_empty(&path).await;
                if reply.status == 200 {
                    self.real.authorizations[place].challenge = reply.json()["challenges"].get(0).map(lookup);
                }
                (self.model.codes(by, place), reply)
            }
            Call::Choose { authorization, who } => {
                let place = nth(authorization, authorizations)?;
                let by = self.by(self.model.tenant_of_authorization(place), who);
                let path = format!("/v1/challenge/{}", self.real.challenge(place));
                (self.model.choose(by, place), self.real.tenants[by].post_empty(&path).await)
            }
            Call::DeleteChallenge { authorization, who } => {
                let place = nth(authorization, authorizations)?;
                let by = self.by(self.model.tenant_of_authorization(place), who);
                let path = format!("/v1/challenge/{}", self.real.challenge(place));
                (self.model.delete_challenge(by, place), self.real.tenants[by].delete(&path).await)
            }
            Call::Finalize { order, who } => {
                let order = nth(order, orders)?;
                let by = self.by(self.model.tenant_of_order(order), who);
                let path = format!("/v1/order/{}/finalize", self.real.orders[order].lookup);
                (self.model.finalize(by, order), self.real.tenants[by].post_empty(&path).await)
            }
            Call::Cancel { order, who } => {
                let order = nth(order, orders)?;
                let by = self.by(self.model.tenant_of_order(order), who);
                let path = format!("/v1/order/{}", self.real.orders[order].lookup);
                (self.model.cancel(by, order), self.real.tenants[by].delete(&path).await)
            }
            Call::Show { order, who } => {
                let order = nth(order, orders)?;
                let by = self.by(self.model.tenant_of_order(order), who);
                let path = format!("/v1/order/{}", self.real.orders[order].lookup);
                (self.model.show(by, order), self.real.tenants[by].get(&path).await)
            }
            Call::Download { order, who } => {
                let order = nth(order, orders)?;
                let by = self.by(self.model.tenant_of_order(order), who);
                let path = format!("/v1/certificate/{}", self.real.orders[order].certificate);
                (self.model.download(by, order), self.real.tenants[by].get(&path).await)
            }
            Call::Revoke { order, reason, who } => {
                let order = nth(order, orders)?;
                let by = self.by(self.model.tenant_of_order(order), who);
                let path = format!("/v1/certificates/{}/revocation", self.real.orders[order].lookup);
                let reply = self.real.tenants[by].post(&path, json!({"reason": reason.code()})).await;
                (self.model.revoke(by, order, reason), reply)
            }
            _ => return None,
        })
    }

    async fn acme(&mut self, call: &Call) -> Option<(Status, Reply)> {
        let (orders, authorizations) = (self.real.orders.len(), self.real.authorizations.len());
        Some(match *call {
            Call::AcmeOrder { client, names } => {
                let client = nth(client, self.real.clients.len())?;
                let speaker = &self.real.clients[client];
                let payload = json!({"identifiers": identifiers(&names.texts())});
                let reply = speaker.post(&speaker.url("newOrder"), &payload).await;
                if let Some(url) = reply.header("location").filter(|_| reply.status == 201) {
                    let tenant = self.model.accounts[self.model.clients[client].account].tenant;
                    self.real.learn_order(tenant, last(url)).await;
                }
                (self.model.acme_order(client, names), reply)
            }
            Call::PreAuthorize { client, name } => {
                let client = nth(client, self.real.clients.len())?;
                let speaker = &self.real.clients[client];
                let payload = json!({"identifier": {"type": "dns", "value": name.text()}});
                let reply = speaker.post(&speaker.url("newAuthz"), &payload).await;
                if let Some(url) = reply.header("location").filter(|_| reply.status == 201) {
                    let tenant = self.model.accounts[self.model.clients[client].account].tenant;
                    let seen = self.real.tenants[tenant].get(&format!("/v1/authz/{}", last(url))).await;
                    self.real.learn_authorization(&seen.json());
                }
                (self.model.pre_authorize(client, name), reply)
            }
            Call::Answer { authorization, who } => {
                let place = nth(authorization, authorizations)?;
                let client = self.client(self.model.authorizations[place].client, who)?;
                let url = Real::acme_url("challenge", &self.real.challenge(place));
                let reply = self.real.clients[client].post(&url, &json!({})).await;
                (self.model.answer(client, place), reply)
            }
            Call::GiveUp { authorization, who } => {
                let place = nth(authorization, authorizations)?;
                let client = self.client(self.model.authorizations[place].client, who)?;
                let url = Real::acme_url("authz", &self.real.authorizations[place].lookup);
                let reply = self.real.clients[client].post(&url, &json!({"status": "deactivated"})).await;
                (self.model.give_up(client, place), reply)
            }
            Call::AcmeFinalize { order, who, key, other_names } => {
                let order = nth(order, orders)?;
                let client = self.client(self.model.orders[order].client, who)?;
                let names = self.model.orders[order].names;
                let names = if other_names { names.others() } else { names };
                let url = Real::acme_url("order", &format!("{}/finalize", self.real.orders[order].lookup));
                let payload = json!({"csr": SUBSCRIBERS[key].csr_for_acme(names)});
                let reply = self.real.clients[client].post(&url, &payload).await;
                (self.model.acme_finalize(client, order, key, other_names), reply)
            }
            Call::AcmeShow { order, who } => {
                let order = nth(order, orders)?;
                let client = self.client(self.model.orders[order].client, who)?;
                let url = Real::acme_url("order", &self.real.orders[order].lookup);
                (self.model.acme_show(client, order), self.real.clients[client].read(&url).await)
            }
            Call::AcmeDownload { order, who } => {
                let order = nth(order, orders)?;
                let client = self.client(self.model.orders[order].client, who)?;
                let url = Real::acme_url("cert", &self.real.orders[order].certificate);
                (self.model.acme_download(client, order), self.real.clients[client].read(&url).await)
            }
            Call::AcmeRevoke { order, reason, who } => {
                let order = nth(order, orders)?;
                let client = self.client(self.model.orders[order].client, who)?;
                let payload = revocation(self.real.orders[order].der.as_ref()?, reason);
                let speaker = &self.real.clients[client];
                let reply = speaker.post(&speaker.url("revokeCert"), &payload).await;
                (self.model.acme_revoke(client, order, reason), reply)
            }
            Call::RevokeByKey { order, reason, right } => {
                let order = nth(order, orders)?;
                let payload = revocation(self.real.orders[order].der.as_ref()?, reason);
                let key = self.model.orders[order].key?;
                let key = if right { key } else { (key + 1) % SUBSCRIBERS.len() };
                let mut holder = AcmeClient::at(self.real.world.stranger(), "TLS-90d").await;
                holder.key = copy(&SUBSCRIBERS[key].key);
                let reply = holder.post(&holder.url("revokeCert"), &payload).await;
                (self.model.revoke_by_key(order, reason, right), reply)
            }
            _ => return None,
        })
    }

    async fn look_in_vain(&mut self, authorization: usize) -> Result<Option<(Status, Option<Reply>)>, String> {
        let Some(place) = nth(authorization, self.real.authorizations.len()) else { return Ok(None) };
        let Some(challenge) = &self.real.authorizations[place].challenge else { return Ok(None) };
        let id = challenge.parse().expect("a challenge has a lookup");
        let validations = &self.real.world.services.validations;
        let begun = validations.begin(id).await.map_err(|error| error.to_string())?.is_some();
        if begun != self.model.is_looked_for(place) {
            return Err(format!("looking begins: {begun}, which the model denies"));
        }
        if !begun {
            return Ok(None);
        }
        let problem = ValidationProblem { kind: ProblemKind::Connection, detail: "nobody answers".to_owned() };
        let report = Report::new(Err(problem));
        validations.conclude(id, report).await.map_err(|error| error.to_string())?;
        self.model.look_in_vain(place);
        Ok(Some((0, None)))
    }

    /// Who calls about something of a tenant.
    fn by(&self, owner: usize, who: Who) -> usize {
        match who {
            Who::Owner => owner,
            Who::Other => 1 - owner,
        }
    }

    /// Which ACME account calls about something of one, or of none: then any is somebody else.
    fn client(&self, owner: Option<usize>, who: Who) -> Option<usize> {
        match (owner, who) {
            (Some(owner), Who::Owner) => Some(owner),
            (owner, _) => (0..self.real.clients.len()).rev().find(|client| Some(*client) != owner),
        }
    }
}

/// The one that was made so long ago; nothing where nothing was made.
fn nth(back: usize, count: usize) -> Option<usize> {
    (count > 0).then(|| count - 1 - back % count)
}

fn copy(key: &SigningKey) -> SigningKey {
    SigningKey::from_pkcs8(&key.to_pkcs8().expect("a key can be written")).expect("and read")
}

fn revocation(der: &[u8], reason: Reason) -> Value {
    json!({"certificate": base64url::encode(der), "reason": reason.code()})
}

fn last(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or(url)
}

async fn change_key(client: &AcmeClient, new: &SigningKey) -> Reply {
    let url = client.url("keyChange");
    let mut header = Map::new();
    header.insert("jwk".to_owned(), new.public().to_value());
    header.insert("url".to_owned(), url.as_str().into());
    let payload = json!({"account": client.kid, "oldKey": client.key.public().to_value()}).to_string();
    let inner = jws::sign_flattened(header, payload.as_bytes(), new).expect("a signature");
    client.post(&url, &inner).await
}
