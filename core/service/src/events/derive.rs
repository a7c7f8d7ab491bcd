//! Events as they are read from the audit trail: a change is written down once, in its own unit of work, and what
//! resellers are told of it follows from the record. Only what is named here is told.

use chancery_domain::{Action, ChallengeId, EventId, EventType, Timestamp};
use chancery_store::{AuditRecord, Outcome};
use serde_json::{Map, Value, json};

/// Something that happened to a reseller's things.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: EventId,
    pub kind: EventType,
    pub at: Timestamp,
    /// The lookup of the account it concerns, where it concerns one.
    pub account: Option<String>,
    /// The lookup of what it happened to.
    pub subject: String,
    pub data: Map<String, Value>,
}

impl Event {
    /// As it stands in the feed and in messages.
    pub fn to_json(&self) -> Value {
        let mut told = json!({
            "id": self.id.to_string(),
            "type": self.kind.as_str(),
            "timestamp": self.at.to_string(),
            "subject": self.subject,
            "data": self.data,
        });
        if let Some(account) = &self.account {
            told["account"] = account.as_str().into();
        }
        told
    }
}

const ACCOUNT: &[&str] = &["email", "status", "externalId", "kid"];
const CREDENTIAL: &[&str] = &["label", "expiresAt", "maxBindings", "status"];
const ORDER: &[&str] = &["names", "profile", "via", "externalId", "certificate", "problem", "because"];
const AUTHORIZATION: &[&str] = &["name", "order", "problem"];
const CERTIFICATE: &[&str] = &[
    "order",
    "names",
    "profile",
    "externalId",
    "serial",
    "fingerprint",
    "notBefore",
    "notAfter",
    "reason",
    "because",
    "daysLeft",
];
const REFUSAL: &[&str] = &["order", "profile", "names", "problems", "omittedProblems", "retryAfter"];

/// The events that a record tells of, in their order; most records tell of none or one.
pub(crate) fn events(record: &AuditRecord) -> Vec<Event> {
    let detail: Value = serde_json::from_str(&record.detail).unwrap_or_default();
    let mut told = Told { record, detail: &detail, events: Vec::new() };
    match record.outcome {
        Outcome::Done => told.done(),
        Outcome::Refused => told.refused(),
    }
    told.events
}

struct Told<'a> {
    record: &'a AuditRecord,
    detail: &'a Value,
    events: Vec<Event>,
}

impl Told<'_> {
    fn done(&mut self) {
        let (detail, subject) = (self.detail, self.record.subject.as_str());
        let account = text(detail, "account");
        let Ok(action) = self.record.action.parse::<Action>() else { return };
        match action {
            Action::AccountCreate => self.account(EventType::AccountCreated),
            Action::AccountChange => changed(detail).into_iter().for_each(|kind| self.account(kind)),
            Action::AccountTerminate => self.account(EventType::AccountTerminated),
            Action::EabCredentialCreate => {
                self.tell(EventType::EabCredentialCreated, account, subject, pick(&detail["after"], CREDENTIAL));
            }
            Action::EabCredentialRevoke => {
                self.tell(EventType::EabCredentialRevoked, account, subject, pick(&detail["after"], CREDENTIAL));
            }
            Action::AcmeAccountCreate if detail["firstUse"] == true => {
                let (account, kid) = (text(&detail["after"], "account"), text(&detail["after"], "kid"));
                let data = Map::from_iter([("acmeAccount".to_owned(), subject.into())]);
                self.tell(EventType::EabCredentialFirstUsed, account, kid.unwrap_or_default(), data);
            }
            Action::OrderCreate => {
                self.tell(EventType::OrderCreated, account, subject, pick(detail, ORDER));
                if detail["ready"] == true {
                    self.tell(EventType::OrderReady, account, subject, pick(detail, ORDER));
                }
            }
            Action::OrderPutBack => self.tell(EventType::OrderReady, account, subject, pick(detail, ORDER)),
            Action::OrderCancel => self.tell(EventType::OrderCancelled, account, subject, pick(detail, ORDER)),
            Action::OrderFail => self.tell(EventType::OrderInvalid, account, subject, pick(detail, ORDER)),
            Action::ChallengeValidate if detail["shown"] == true => self.authorization(EventType::AuthorizationValid),
            // A record that was too long to be read says neither.
            Action::ChallengeValidate if detail["problem"].is_string() => {
                self.authorization(EventType::AuthorizationInvalid);
            }
            Action::ChallengeDeactivate | Action::AuthorizationDeactivate => {
                self.authorization(EventType::AuthorizationDeactivated);
            }
            Action::CertificateIssue => {
                let certificate = text(detail, "certificate").unwrap_or_default();
                let mut data = pick(detail, CERTIFICATE);
                data.insert("order".to_owned(), subject.into());
                self.tell(EventType::CertificateIssued, account, certificate, data);
                self.tell(EventType::OrderValid, account, subject, pick(detail, ORDER));
            }
            Action::CertificateRevoke => {
                self.tell(EventType::CertificateRevoked, account, subject, pick(detail, CERTIFICATE));
            }
            Action::CertificateExpireSoon => {
                self.tell(EventType::CertificateExpiring, account, subject, pick(detail, CERTIFICATE));
            }
            Action::WebhookDisable => {
                self.tell(EventType::WebhookDisabled, None, subject, pick(detail, &["url", "failingSince"]));
            }
            Action::WebhookTest => self.tell(EventType::WebhookTest, None, subject, pick(detail, &["url"])),
            _ => {}
        }
    }

    fn refused(&mut self) {
        let kind = match self.record.action.parse() {
            Ok(Action::OrderRefuse) if self.detail["quota"] == true => EventType::QuotaExceeded,
            Ok(Action::OrderRefuse) => EventType::PolicyRefused,
            _ => return,
        };
        let account = self.record.subject.as_str();
        self.tell(kind, Some(account), account, pick(self.detail, REFUSAL));
    }

    fn account(&mut self, kind: EventType) {
        let account = self.record.subject.as_str();
        self.tell(kind, Some(account), account, pick(&self.detail["after"], ACCOUNT));
    }

    /// An authorization, and what became of its order by that.
    fn authorization(&mut self, kind: EventType) {
        let (detail, subject) = (self.detail, self.record.subject.as_str());
        let account = text(detail, "account");
        let authorization = subject.parse::<ChallengeId>().map(|id| id.authorization().to_string());
        let authorization = authorization.unwrap_or_else(|_| subject.to_owned());
        self.tell(kind, account, &authorization, pick(detail, AUTHORIZATION));
        let became = match text(detail, "orderBecame") {
            Some("ready") => EventType::OrderReady,
            Some("invalid") => EventType::OrderInvalid,
            Some("cancelled") => EventType::OrderCancelled,
            Some(_) | None => return,
        };
        let order = text(detail, "order").unwrap_or_default();
        self.tell(became, account, order, pick(&detail["orderDetail"], ORDER));
    }

    /// Whether the record has less than it was written with.
    fn is_truncated(&self) -> bool {
        self.detail["truncated"] == true
    }

    fn tell(&mut self, kind: EventType, account: Option<&str>, subject: &str, mut data: Map<String, Value>) {
        if self.is_truncated() {
            data.insert("truncated".to_owned(), true.into());
        }
        let place = u32::try_from(self.events.len()).unwrap_or(u32::MAX);
        self.events.push(Event {
            id: EventId { record: self.record.id, place },
            kind,
            at: self.record.at,
            account: account.map(str::to_owned),
            subject: subject.to_owned(),
            data,
        });
    }
}

/// What became of an account by a change: its status, and what else is said of it, each where it is another. Records say
/// themselves whether something else is: before and after may be cut. Those of earlier versions are whole and do not.
fn changed(detail: &Value) -> Vec<EventType> {
    let [before, after] = ["before", "after"].map(|when| detail[when].as_object().cloned().unwrap_or_default());
    let status = |account: &Map<String, Value>| account.get("status").and_then(Value::as_str).map(str::to_owned);
    let status = match (status(&before), status(&after).as_deref()) {
        (before, after) if before.as_deref() == after => None,
        (_, Some("suspended")) => Some(EventType::AccountSuspended),
        _ => Some(EventType::AccountResumed),
    };
    let [before, after] = [before, after].map(|mut account| {
        account.remove("status");
        account
    });
    let updated = detail["updated"].as_bool().unwrap_or(before != after);
    status.into_iter().chain(updated.then_some(EventType::AccountUpdated)).collect()
}

fn text<'a>(detail: &'a Value, member: &str) -> Option<&'a str> {
    detail[member].as_str()
}

/// These members and no others, without those that say nothing.
fn pick(detail: &Value, members: &[&str]) -> Map<String, Value> {
    let told = members.iter().filter_map(|member| Some(((*member).to_owned(), detail.get(*member)?.clone())));
    told.filter(|(_, value)| !value.is_null()).collect()
}
