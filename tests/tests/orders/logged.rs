//! Certificates that are shown to public logs before they are issued.

use std::collections::BTreeSet;

use chancery_domain::{CertificateId, PageRequest, RevocationReason, Timestamp};
use chancery_service::operator::{CertificateRef, Fate, RevokedWhat};
use chancery_service::{CrlName, Job, JobKind, Next};
use chancery_store::{AuditFilter, PrecertificateFate, Standing};
use chancery_testkit::Address;
use chancery_testkit::log::{Mood, TestLog};
use chancery_tests::{
    AcmeClient, LogPlaces, Node, START, Tenant, World, all_be, lookup, on_both_databases, settings, start_logs,
};
use chancery_workers::Workers;
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use x509_parser::prelude::{CertificateRevocationList, FromDer, ParsedExtension, X509Certificate};

use crate::common::{certificate_path, days, finalize_path, later, order_path, revocation_path, stage, text};

/// A node that shows logs what it issues, with three logs of two operators.
struct Shown {
    logs: Vec<TestLog>,
    places: LogPlaces,
    node: Node,
    tenant: Tenant,
    account: String,
}

impl Shown {
    async fn in_world(world: &World) -> Self {
        let (logs, places) = start_logs(&["a", "a", "b"]);
        let node = node(world, &places).await;
        let (tenant, account) = stage(world).await;
        let tenant = node.hears(&tenant);
        Self { logs, places, node, tenant, account }
    }

    /// An order that is being issued, with nobody at work on it.
    async fn finalized(&self, world: &World, name: &str) -> Value {
        let order = world.make_ready(&self.tenant, &self.account, &[name]).await;
        self.tenant.post_empty(&finalize_path(&order)).await.expect(202)
    }

    /// Begins its job for the so-manieth time, and gives the order as it is then.
    async fn begin(&self, world: &World, order: &Value, attempts: i64) -> Value {
        let job = Job { kind: JobKind::Issue, subject: lookup(order), attempts, reseller: None };
        let workers = Workers::new(self.node.services.clone(), None, world.clock.clone());
        workers.with_logs(self.node.logs.clone()).work(job).await;
        self.tenant.get(&order_path(order)).await.expect(200)
    }

    /// A client of the node, which works until the test ends.
    async fn acme_client(&self, world: &World) -> AcmeClient {
        let workers = Workers::new(self.node.services.clone(), None, world.clock.clone());
        tokio::spawn(workers.with_logs(self.node.logs.clone()).run(std::future::pending()));
        let credential = self.tenant.make_account("acme@example.com").await;
        let mut client = AcmeClient::at(self.node.stranger(), "TLS-90d").await;
        assert_eq!(client.register(&credential).await.status, 201);
        client
    }

    /// All logs take what they are shown again, and nobody remembers that they did not.
    fn recover(&mut self, world: &World) {
        all_be(&self.logs, Mood::Taking);
        self.node.logs = self.places.keepers(world.clock.clone());
    }

    async fn suspend(&self, suspended: bool) {
        self.tenant.patch(&format!("/v1/account/{}", self.account), json!({"suspended": suspended})).await.expect(200);
    }

    /// The certificate of an order, in DER.
    async fn certificate(&self, order: &Value) -> Vec<u8> {
        let chain = self.tenant.get(&certificate_path(order)).await;
        assert_eq!(chain.status, 200, "{}", chain.text());
        chancery_tests::der(&chain.text())
    }
}

async fn node(world: &World, places: &LogPlaces) -> Node {
    let mut node = world.another_node(places.show_in(settings()), Vec::new()).await;
    node.logs = places.keepers(world.clock.clone());
    node
}

/// The serial number that an order's certificate is to have.
async fn drafted(world: &World, order: &Value) -> Option<String> {
    let id: CertificateId = text(order, "certificateLookup").parse().unwrap();
    world.store.read(move |tx| tx.draft(id)).await.unwrap().map(|draft| draft.serial)
}

/// What relying parties are told of a serial number.
async fn standing(world: &World, serial: &str) -> Standing {
    let (issuer, serial) = (world.services.authority.all()[0].id, serial.to_owned());
    world.store.read(move |tx| tx.standing(issuer, &serial)).await.unwrap()
}

/// The serial numbers on the revocation lists, as they are published now, without reasons.
async fn listed(world: &World) -> BTreeSet<String> {
    world.services.publication.look().await.unwrap();
    let issuer = world.services.authority.all()[0].id;
    let mut all = BTreeSet::new();
    for shard in 0..world.services.settings.issuing.crl_shards {
        let list = world.services.publication.crl(issuer, CrlName::Shard(shard)).unwrap();
        let (_, parsed) = CertificateRevocationList::from_der(&list.der).unwrap();
        for revoked in parsed.iter_revoked_certificates() {
            assert!(revoked.extensions().is_empty(), "a reason, where nobody has one");
            all.insert(data_encoding::HEXLOWER.encode(revoked.raw_serial()));
        }
    }
    all
}

/// What was done about precertificates, oldest first.
async fn trail(world: &World) -> Vec<String> {
    let page = PageRequest { limit: 1_000, after: None };
    let records = world.services.audit.list(AuditFilter::default(), page).await.unwrap();
    let all = records.into_iter().rev().map(|record| record.action);
    all.filter(|action| action.starts_with("precertificate.")).collect()
}

async fn settle(world: &World) -> u64 {
    world.services.issuance.settle_precertificates().await.unwrap()
}

/// Which step of the schema programs have to know to work on this database.
async fn needed(world: &World) -> i64 {
    const SQL: &str = "SELECT needs FROM schema_migrations WHERE version = 17";
    match world.store.address() {
        Address::Sqlite(path) => {
            rusqlite::Connection::open(path).unwrap().query_row(SQL, (), |row| row.get(0)).unwrap()
        }
        Address::Postgres(url) => {
            let ask = move || {
                let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
                client.query_one(SQL, &[]).unwrap().get(0)
            };
            tokio::task::spawn_blocking(ask).await.unwrap()
        }
    }
}

/// How many timestamps a certificate has, and what is in it of the mark of a precertificate.
fn timestamps(der: &[u8]) -> (usize, bool) {
    let (_, certificate) = X509Certificate::from_der(der).unwrap();
    let scts = certificate.extensions().iter().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SCT(scts) => Some(scts.len()),
        _ => None,
    });
    let marked = certificate.extensions().iter().any(|each| each.oid.to_id_string() == "1.3.6.1.4.1.11129.2.4.3");
    (scts.unwrap_or(0), marked)
}

on_both_databases! {
    async fn a_certificate_says_which_logs_have_it(world: World) {
        let shown = Shown::in_world(&world).await;
        let order = shown.finalized(&world, "a.test").await;
        let order = shown.begin(&world, &order, 1).await;
        assert_eq!(order["status"], "valid", "{order}");
        let der = shown.certificate(&order).await;
        assert_eq!(timestamps(&der), (2, false));
        // Two of two operators, and nobody was bothered who need not be.
        let taken: Vec<_> = shown.logs.iter().map(|log| log.taken().len()).collect();
        assert_eq!((taken[0] + taken[1], taken[2]), (1, 1), "{taken:?}");
        let (_, certificate) = X509Certificate::from_der(&der).unwrap();
        let precertificate = shown.logs[2].taken()[0][0].clone();
        assert_eq!(timestamps(&precertificate), (0, true));
        let (_, precertificate) = X509Certificate::from_der(&precertificate).unwrap();
        assert_eq!(precertificate.raw_serial(), certificate.raw_serial());
        assert_eq!(precertificate.validity(), certificate.validity());
        assert_eq!(settle(&world).await, 1);
        let serial = data_encoding::HEXLOWER.encode(certificate.raw_serial());
        assert_eq!(standing(&world, &serial).await, Standing::Issued);
        assert_eq!(listed(&world).await, BTreeSet::new());
        assert_eq!(trail(&world).await, ["precertificate.sign", "precertificate.log"]);
    }

    /// They would leave it out of revocation lists.
    async fn programs_that_know_nothing_of_precertificates_do_not_start_where_there_are_any(world: World) {
        let shown = Shown::in_world(&world).await;
        let order = shown.finalized(&world, "a.test").await;
        shown.node.services.issuance.prepare(lookup(&order).parse().unwrap()).await.unwrap();
        assert_eq!(needed(&world).await, 0);
        shown.begin(&world, &order, 1).await;
        assert_eq!(needed(&world).await, 17);
    }

    /// ACME waits for them within the request.
    async fn an_acme_client_gets_its_certificate_when_it_finalizes(world: World) {
        let shown = Shown::in_world(&world).await;
        let client = shown.acme_client(&world).await;
        let (_, order) = client.issue(&["a.test", "b.test"]).await;
        assert_eq!(timestamps(&client.certificate(&order).await), (2, false));
    }

    async fn logs_that_are_away_are_waited_for_and_nothing_is_signed_twice(world: World) {
        let mut shown = Shown::in_world(&world).await;
        let order = shown.finalized(&world, "a.test").await;
        all_be(&shown.logs[..2], Mood::Refusing);
        for attempts in [1, 9, 240] {
            let seen = shown.begin(&world, &order, attempts).await;
            assert_eq!((&seen["status"], &seen["error"]), (&"processing".into(), &Value::Null), "{attempts}");
        }
        let seen = shown.tenant.get(&order_path(&order)).await.expect(200);
        let sign = seen["progress"].as_array().unwrap().iter().find(|step| step["step"] == "sign").unwrap();
        assert!(text(sign, "detail").contains("too few have promised"), "{sign}");
        let serial = drafted(&world, &order).await.unwrap();
        // Whoever has seen it in a log may ask.
        assert_eq!(standing(&world, &serial).await, Standing::Issued);
        assert_eq!(settle(&world).await, 0);
        shown.recover(&world);
        let order = shown.begin(&world, &order, 8).await;
        assert_eq!(order["status"], "valid", "{order}");
        assert_eq!(drafted(&world, &order).await, None);
        assert_eq!(standing(&world, &serial).await, Standing::Issued);
        let signed: BTreeSet<_> = shown.logs.iter().flat_map(TestLog::taken).map(|chain| chain[0].clone()).collect();
        assert_eq!(signed.len(), 1, "it was signed twice");
        assert_eq!(trail(&world).await, ["precertificate.sign", "precertificate.log"]);
        assert_eq!((settle(&world).await, listed(&world).await), (1, BTreeSet::new()));
    }

    async fn what_too_few_logs_take_is_revoked_with_the_order_that_comes_to_nothing(world: World) {
        let mut shown = Shown::in_world(&world).await;
        let order = shown.finalized(&world, "a.test").await;
        all_be(&shown.logs, Mood::Wrong);
        shown.begin(&world, &order, 1).await;
        let serial = drafted(&world, &order).await.unwrap();
        let ended = shown.begin(&world, &order, 241).await;
        assert_eq!(ended["status"], "invalid", "{ended}");
        assert_eq!(settle(&world).await, 1);
        let revoked = standing(&world, &serial).await;
        assert!(matches!(revoked, Standing::Revoked { .. }), "{revoked:?}");
        assert_eq!(listed(&world).await, BTreeSet::from([serial.clone()]));
        assert_eq!(trail(&world).await, ["precertificate.sign", "precertificate.revoke"]);
        // Once, whoever looks.
        assert_eq!((settle(&world).await, trail(&world).await.len()), (0, 2));
        // It stays on its list until it has ended, and is answered for as long as certificates are.
        let sweep = async |world: &World| {
            world.services.retention.sweep().await.unwrap();
            world.advance(days(1));
            world.services.retention.sweep().await.unwrap().precertificates
        };
        later(&world, &mut shown.tenant, days(85)).await;
        assert_eq!((sweep(&world).await, listed(&world).await.len()), (0, 1));
        later(&world, &mut shown.tenant, days(10)).await;
        // It has ended, and was on no list since.
        let now = world.services.now();
        assert_eq!(world.store.write(move |tx| tx.delete_precertificates(now, 9)).await.unwrap(), 0);
        listed(&world).await;
        world.advance(days(1));
        assert_eq!((sweep(&world).await, listed(&world).await), (0, BTreeSet::new()));
        assert_ne!(standing(&world, &serial).await, Standing::NotIssued);
        later(&world, &mut shown.tenant, days(731)).await;
        listed(&world).await;
        assert_eq!(sweep(&world).await, 1);
        assert_eq!(standing(&world, &serial).await, Standing::NotIssued);
    }

    /// The order is put back, and gets another serial number when it goes on; whatever the logs say meanwhile.
    async fn of_an_order_that_is_put_back_the_precertificate_is_revoked_and_not_the_certificate(world: World) {
        let shown = Shown::in_world(&world).await;
        let order = shown.finalized(&world, "a.test").await;
        let id = lookup(&order).parse().unwrap();
        let Next::ShowLogs(assignment) = shown.node.services.issuance.issue(id).await.unwrap() else {
            panic!("nobody is to be shown it")
        };
        let first = drafted(&world, &order).await.unwrap();
        let scts = shown.node.logs.gather(&assignment).await.unwrap();
        shown.suspend(true).await;
        shown.begin(&world, &order, 2).await;
        assert_eq!(shown.tenant.get(&order_path(&order)).await.expect(200)["status"], "ready");
        shown.suspend(false).await;
        shown.tenant.post_empty(&finalize_path(&order)).await.expect(202);
        shown.node.services.issuance.prepare(id).await.unwrap();
        let second = drafted(&world, &order).await.unwrap();
        assert_ne!(first, second);
        // Too late: it is another draft by now.
        shown.node.services.issuance.note_promises(&assignment, scts).await.unwrap();
        let order = shown.begin(&world, &order, 1).await;
        assert_eq!(order["status"], "valid", "{order}");
        assert_eq!(settle(&world).await, 2);
        assert_eq!(standing(&world, &second).await, Standing::Issued);
        assert!(matches!(standing(&world, &first).await, Standing::Revoked { .. }));
        assert_eq!(listed(&world).await, BTreeSet::from([first]));
    }

    /// Another node has the same, and it does not matter which of them is faster.
    async fn a_node_that_takes_over_shows_the_precertificate_that_there_is(world: World) {
        let mut shown = Shown::in_world(&world).await;
        let order = shown.finalized(&world, "a.test").await;
        let id = lookup(&order).parse().unwrap();
        let Next::ShowLogs(here) = shown.node.services.issuance.issue(id).await.unwrap() else { panic!() };
        world.advance(world.services.settings.issuing.job_lease);
        let other = node(&world, &shown.places).await;
        assert_eq!(other.services.jobs.lease().await.unwrap().len(), 1);
        let Next::ShowLogs(there) = other.services.issuance.issue(id).await.unwrap() else { panic!() };
        assert_eq!((&here.chains, &here.serial), (&there.chains, &there.serial));
        // The first has lost its job: what it gathers changes nothing.
        let scts = shown.node.logs.gather(&here).await.unwrap();
        shown.node.services.issuance.note_promises(&here, scts.clone()).await.unwrap();
        let Next::ShowLogs(_) = other.services.issuance.issue(id).await.unwrap() else { panic!("it was written") };
        other.services.issuance.note_promises(&there, scts).await.unwrap();
        assert!(matches!(other.services.issuance.issue(id).await.unwrap(), Next::Done));
        shown.tenant = world.another_node(settings(), Vec::new()).await.hears(&shown.tenant);
        let order = shown.tenant.get(&order_path(&order)).await.expect(200);
        assert_eq!(order["status"], "valid", "{order}");
        assert_eq!(timestamps(&shown.certificate(&order).await), (2, false));
    }

    /// Whoever has drafted it asks once more, whatever has changed since.
    async fn nothing_is_signed_for_logs_that_may_not_be_issued(world: World) {
        let shown = Shown::in_world(&world).await;
        let order = shown.finalized(&world, "a.test").await;
        shown.node.services.issuance.prepare(lookup(&order).parse().unwrap()).await.unwrap();
        let policy = shown.tenant.make_policy("no more", json!({"issuance_enabled": false})).await;
        let group = shown.tenant.make_group("no more").await;
        shown.tenant.add_members(&group, std::slice::from_ref(&shown.account)).await.expect(200);
        shown.tenant.assign(&group, &policy).await.expect(200);
        shown.node.services.issuance.sign(lookup(&order).parse().unwrap()).await.unwrap();
        assert_eq!(shown.tenant.get(&order_path(&order)).await.expect(200)["status"], "invalid");
        assert_eq!(world.store.read(|tx| tx.open_precertificates("", 9)).await.unwrap(), []);
        assert_eq!(shown.logs.iter().map(TestLog::asked).sum::<usize>(), 0);
        assert_eq!(trail(&world).await, [""; 0]);
    }

    /// It is counted by the day on which it was drafted, also after logs have promised to show it on the next.
    async fn what_was_shown_to_logs_and_came_to_nothing_is_not_counted(world: World) {
        let mut shown = Shown::in_world(&world).await;
        let order = shown.finalized(&world, "a.test").await;
        let id = lookup(&order).parse().unwrap();
        let Next::ShowLogs(assignment) = shown.node.services.issuance.issue(id).await.unwrap() else { panic!() };
        let account = shown.account.parse().unwrap();
        let counted = async || {
            let counted = world.store.read(move |tx| tx.issued_lately(account, 7, START.plus(days(2)))).await.unwrap();
            counted.iter().map(|day| day.certificates).sum::<i64>()
        };
        assert_eq!(counted().await, 1);
        later(&world, &mut shown.tenant, days(1)).await;
        let scts = shown.node.logs.gather(&assignment).await.unwrap();
        world.store.write(move |tx| tx.release_jobs(Timestamp::from_secs(0))).await.unwrap();
        shown.node.services.jobs.lease().await.unwrap();
        shown.node.services.issuance.note_promises(&assignment, scts).await.unwrap();
        shown.tenant.delete(&format!("/v1/account/{}", shown.account)).await.expect(200);
        assert!(matches!(shown.node.services.issuance.issue(id).await.unwrap(), Next::Done));
        assert_eq!(counted().await, 0);
    }

    /// A certificate may have come of it since the copy was made.
    async fn a_copy_that_is_put_back_leaves_what_was_shown_to_logs_as_it_was(world: World) {
        let mut shown = Shown::in_world(&world).await;
        let order = shown.finalized(&world, "a.test").await;
        all_be(&shown.logs, Mood::Refusing);
        shown.begin(&world, &order, 1).await;
        let first = drafted(&world, &order).await.unwrap();
        shown.recover(&world);
        world.services.operator.settle_restored().await.unwrap();
        shown.node.services.jobs.lease().await.unwrap();
        let order = shown.begin(&world, &order, 1).await;
        assert_eq!(order["status"], "valid", "{order}");
        let open = world.store.read(|tx| tx.open_precertificates("", 9)).await.unwrap();
        let [PrecertificateFate::Issued] = open.iter().map(|each| each.fate).collect::<Vec<_>>()[..] else {
            panic!("{open:?}")
        };
        settle(&world).await;
        assert_eq!((standing(&world, &first).await, listed(&world).await), (Standing::Issued, BTreeSet::new()));
        // Who knows that nothing came of it can say so.
        let by_serial = CertificateRef::Serial(first.clone());
        let operator = &world.services.operator;
        let revoked = operator.revoke(by_serial, RevocationReason::Superseded, None).await.unwrap();
        assert!(!revoked.already);
        assert!(matches!(revoked.what, RevokedWhat::Precertificate { serial, certificate: Some(_) } if serial == first));
        let revoked = standing(&world, &first).await;
        assert!(matches!(revoked, Standing::Revoked { reason: RevocationReason::Superseded, .. }), "{revoked:?}");
    }

    /// Whoever has seen it in a log, and has the key, may say so; then nothing comes of it.
    async fn a_key_that_is_compromised_while_logs_are_shown_its_certificate_gets_none(world: World) {
        let mut shown = Shown::in_world(&world).await;
        for by_reseller in [false, true] {
            let order = shown.finalized(&world, &format!("{by_reseller}.test")).await;
            all_be(&shown.logs, Mood::Refusing);
            shown.begin(&world, &order, 1).await;
            let serial = drafted(&world, &order).await.unwrap();
            // Not issued, as it says; and blocked all the same.
            if by_reseller {
                let body = json!({"reason": "keyCompromise"});
                let refused = shown.tenant.post(&revocation_path(&order), body).await;
                assert!(refused.status == 404 && refused.text().contains("its key is blocked"), "{}", refused.text());
            } else {
                let by_serial = CertificateRef::Serial(serial.clone());
                let operator = &world.services.operator;
                let refused = operator.revoke(by_serial, RevocationReason::KeyCompromise, None).await.unwrap_err();
                assert!(refused.to_string().contains("its key is blocked"), "{refused}");
            }
            shown.recover(&world);
            let ended = shown.begin(&world, &order, 2).await;
            assert_eq!((&ended["status"], &ended["error"]["type"]), (&"invalid".into(), &"badCSR".into()), "{ended}");
            settle(&world).await;
            let said = standing(&world, &serial).await;
            assert!(matches!(said, Standing::Revoked { reason: RevocationReason::KeyCompromise, .. }), "{said:?}");
        }
    }

    /// Logs show precertificates more often than certificates: whoever finds a key finds those.
    async fn a_certificate_can_be_revoked_by_its_precertificate(world: World) {
        let shown = Shown::in_world(&world).await;
        let client = shown.acme_client(&world).await;
        let revoke = async |client: &AcmeClient, der: &[u8], reason: u8| {
            let body = json!({"certificate": BASE64URL_NOPAD.encode(der), "reason": reason});
            client.post(&client.url("revokeCert"), &body).await
        };
        client.issue(&["a.test"]).await;
        let precertificate = shown.logs[2].taken()[0][0].clone();
        // Another with the same serial number is not it.
        let mut altered = precertificate.clone();
        let place = altered.windows(6).position(|bytes| bytes == b"a.test").unwrap();
        altered[place] = b'b';
        assert_eq!(revoke(&client, &altered, 1).await.status, 404);
        // Nor is one that our CA has not signed.
        let mut unsigned = precertificate.clone();
        *unsigned.last_mut().unwrap() ^= 1;
        assert_eq!(revoke(&client, &unsigned, 1).await.status, 404);
        assert_eq!(revoke(&client, &precertificate, 4).await.status, 200);
        let (_, parsed) = X509Certificate::from_der(&precertificate).unwrap();
        let said = standing(&world, &data_encoding::HEXLOWER.encode(parsed.raw_serial())).await;
        assert!(matches!(said, Standing::Revoked { reason: RevocationReason::Superseded, .. }), "{said:?}");
        // And so can one that is only in logs yet, where its key is compromised.
        all_be(&shown.logs[..2], Mood::Refusing);
        let (url, order) = client.order(&["b.test"]).await;
        client.answer_all(&order).await;
        let order = client.wait_for(&url, "ready").await;
        assert_eq!(client.finalize(&order, &["b.test"]).await.expect(200)["status"], "processing");
        let precertificate = shown.logs[2].taken().last().unwrap()[0].clone();
        assert_eq!(revoke(&client, &precertificate, 4).await.status, 400);
        assert_eq!(revoke(&client, &precertificate, 1).await.status, 200);
        all_be(&shown.logs, Mood::Taking);
        world.advance(world.services.settings.issuing.job_lease);
        let ended = async {
            loop {
                let order = client.read(&url).await.expect(200);
                if order["status"] != "processing" {
                    return order;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        let ended = tokio::time::timeout(std::time::Duration::from_secs(30), ended).await.unwrap();
        assert_eq!(ended["status"], "invalid", "{ended}");
        settle(&world).await;
        let (_, parsed) = X509Certificate::from_der(&precertificate).unwrap();
        let said = standing(&world, &data_encoding::HEXLOWER.encode(parsed.raw_serial())).await;
        assert!(matches!(said, Standing::Revoked { reason: RevocationReason::KeyCompromise, .. }), "{said:?}");
    }

    async fn what_was_given_up_is_blamed_on_its_key_when_that_is_known_later(world: World) {
        let shown = Shown::in_world(&world).await;
        let order = shown.finalized(&world, "a.test").await;
        all_be(&shown.logs, Mood::Refusing);
        shown.begin(&world, &order, 1).await;
        let serial = drafted(&world, &order).await.unwrap();
        shown.suspend(true).await;
        shown.begin(&world, &order, 2).await;
        settle(&world).await;
        let said = standing(&world, &serial).await;
        assert!(matches!(said, Standing::Revoked { reason: RevocationReason::Unspecified, .. }), "{said:?}");
        assert_eq!(listed(&world).await.len(), 1);
        let operator = &world.services.operator;
        let fates = operator.revoke_many(vec![serial.clone()], RevocationReason::KeyCompromise, None).await.unwrap();
        assert_eq!(fates, [Fate::Already]);
        let said = standing(&world, &serial).await;
        assert!(matches!(said, Standing::Revoked { reason: RevocationReason::KeyCompromise, .. }), "{said:?}");
        let heads = world.store.read(|tx| tx.crl_heads()).await.unwrap();
        assert_eq!(heads.iter().filter(|head| head.lacking).count(), 1, "its list is made anew");
    }

    async fn nothing_is_shown_to_logs_that_could_not_be_enough(world: World) {
        let (logs, mut places) = start_logs(&["a", "b"]);
        places.0[1].takes_until = Some(START.plus(days(60)));
        let node = node(&world, &places).await;
        let (tenant, account) = stage(&world).await;
        let shown = Shown { logs, places, tenant: node.hears(&tenant), node, account };
        let order = shown.finalized(&world, "a.test").await;
        let ended = shown.begin(&world, &order, 1).await;
        assert_eq!(ended["status"], "invalid", "{ended}");
        assert!(text(&ended["error"], "detail").contains("too few certificate logs"), "{ended}");
        assert_eq!(shown.logs.iter().map(TestLog::asked).sum::<usize>(), 0);
        assert_eq!(trail(&world).await, [""; 0]);
    }

    /// The operator may begin with logs, or leave one out, while orders wait.
    async fn a_draft_that_does_not_suit_the_logs_of_its_profile_any_more_is_made_anew(world: World) {
        let shown = Shown::in_world(&world).await;
        // Drafted without logs, issued with.
        let order = world.make_ready(&shown.tenant, &shown.account, &["a.test"]).await;
        let elsewhere = world.another_node(settings(), Vec::new()).await;
        let order = elsewhere.hears(&shown.tenant).post_empty(&finalize_path(&order)).await.expect(202);
        elsewhere.services.issuance.prepare(lookup(&order).parse().unwrap()).await.unwrap();
        let first = drafted(&world, &order).await.unwrap();
        world.advance(world.services.settings.issuing.job_lease);
        shown.node.services.jobs.lease().await.unwrap();
        let order = shown.begin(&world, &order, 1).await;
        assert_eq!(order["status"], "valid", "{order}");
        assert_eq!(timestamps(&shown.certificate(&order).await), (2, false));
        assert_eq!(standing(&world, &first).await, Standing::NotIssued);
        // Shown to logs, one of which is left out before it is signed.
        let order = shown.finalized(&world, "b.test").await;
        let id = lookup(&order).parse().unwrap();
        let Next::ShowLogs(assignment) = shown.node.services.issuance.issue(id).await.unwrap() else { panic!() };
        let scts = shown.node.logs.gather(&assignment).await.unwrap();
        shown.node.services.issuance.note_promises(&assignment, scts).await.unwrap();
        let first = drafted(&world, &order).await.unwrap();
        let (_others, others) = start_logs(&["c", "d"]);
        let mut other = world.another_node(others.show_in(settings()), Vec::new()).await;
        other.logs = others.keepers(world.clock.clone());
        other.work(None).await;
        let order = shown.tenant.get(&order_path(&order)).await.expect(200);
        assert_eq!(order["status"], "valid", "{order}");
        settle(&world).await;
        assert!(matches!(standing(&world, &first).await, Standing::Revoked { .. }));
    }
}
