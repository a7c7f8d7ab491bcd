//! Who signs: several issuing CAs, chosen by profile and key, rotated while the service runs.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use chancery_domain::{PageRequest, Profile, ProfileName, RevocationReason, ScopeSet, Timestamp};
use chancery_pki::{NameRules, PolicyId, Purpose, SubscriberProfile};
use chancery_service::operator::{
    CertificateRef, KeyAlgorithm, NewHierarchy, NewIssuer, OperatorRevocation, RevokedWhat,
};
use chancery_service::{IssuerRef, IssuerRules, Operator, ServiceError, Services, Settings};
use chancery_store::{AuditFilter, IssuerKind};
use chancery_testkit::Address;
use chancery_tests::{Node, START, Tenant, World, csr, csr_with, on_both_databases, settings};
use serde_json::{Value, json};

use crate::common::{days, later, problems, stage};

/// A profile for each thing that profiles can say, beside the usual ones.
fn many_profiles() -> Settings {
    let mut settings = settings();
    let mut add = |name: &str, change: &dyn Fn(&mut SubscriberProfile, &mut IssuerRules)| {
        let name = ProfileName::parse(name).unwrap();
        let usual = settings.profiles[0].clone();
        let (mut look, mut rules) = (settings.issuing.certificates[&usual.name].clone(), IssuerRules::default());
        change(&mut look, &mut rules);
        let validity_days = look.validity_days;
        settings.profiles.push(Profile { name: name.clone(), validity_days, ..usual });
        settings.issuing.certificates.insert(name.clone(), look);
        settings.issuing.issuers.insert(name, rules);
    };
    add("rsa-only", &|_, rules| rules.allowed = vec![IssuerRef::Rsa]);
    add("named", &|_, rules| rules.allowed = vec![IssuerRef::Name("Test Issuing E2".to_owned())]);
    add("rich", &|look, _| {
        look.common_name = true;
        look.subject_key_id = true;
        look.key_encipherment = true;
        look.purposes = Purpose::ALL.to_vec();
        look.policies = vec![PolicyId::DOMAIN_VALIDATED, "1.3.6.1.4.1.99999.1".parse().unwrap()];
    });
    add("bare", &|look, rules| {
        look.policies.clear();
        (rules.ocsp, rules.crl) = (false, false);
    });
    add("public", &|look, _| {
        look.public = true;
        look.validity_days = 365;
        look.names = NameRules::default();
    });
    settings.issuing.fit_for_public = true;
    settings
}

/// A policy of the operator's own.
const OWN_POLICY: &str = "1.3.6.1.4.1.99999.1";

/// The usual profiles, and one under a policy that none of them has.
fn with_own_policy() -> Settings {
    let mut settings = settings();
    let usual = settings.profiles[0].clone();
    let name = ProfileName::parse("own").unwrap();
    let mut look = settings.issuing.certificates[&usual.name].clone();
    look.policies = vec![OWN_POLICY.parse().unwrap()];
    settings.issuing.certificates.insert(name.clone(), look);
    settings.profiles.push(Profile { name, ..usual });
    settings
}

/// Somebody with an account, and the service they speak to.
struct Customer<'a> {
    tenant: Tenant,
    account: String,
    node: &'a Node,
}

impl<'a> Customer<'a> {
    async fn of(world: &World, node: &'a Node) -> Self {
        let tenant = node.hears(&world.tenant("DEMO").await);
        let account = tenant.make_account("a@example.com").await["lookup"].as_str().unwrap().to_owned();
        Self { tenant, account, node }
    }

    /// The order of a new certificate.
    async fn issue(&self, profile: &str, csr: String) -> Value {
        let request = json!({"account_lookup": self.account, "profile": profile, "csr": csr});
        let order = self.tenant.post("/v1/order", request).await.expect(201);
        for authorization in
            order["authorizations"].as_array().unwrap().iter().filter(|each| each["status"] == "pending")
        {
            let lookup = authorization["lookup"].as_str().unwrap();
            let codes = self.tenant.post_empty(&format!("/v1/authz/{lookup}/challenges")).await.expect(200);
            let challenge = codes["challenges"][0]["lookup"].as_str().unwrap();
            self.tenant.post_empty(&format!("/v1/challenge/{challenge}")).await.expect(200);
        }
        self.node.work(None).await;
        let path = format!("/v1/order/{}", order["lookup"].as_str().unwrap());
        self.tenant.post_empty(&format!("{path}/finalize")).await.expect(202);
        self.node.work(None).await;
        let order = self.tenant.get(&path).await.expect(200);
        assert_eq!(order["status"], "valid", "{profile}: {order}");
        order
    }

    /// The chain of an order's certificate, its own first.
    async fn chain(&self, order: &Value) -> String {
        let reply = self.tenant.get(&format!("/v1/certificate/{}", order["certificateLookup"].as_str().unwrap())).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.text()
    }

    /// Who signed a new certificate for a key of this kind.
    async fn issuer_for(&self, profile: &str, key_type: &str) -> String {
        let order = self.issue(profile, csr_with(key_type, &["hello.test"])).await;
        issuer(&self.chain(&order).await)
    }
}

fn openssl(arguments: &[&str], input: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chain.pem");
    fs::write(&path, input).unwrap();
    let output = Command::new("openssl").args(arguments).arg(&path).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// The common name of the issuer of the first certificate.
fn issuer(chain: &str) -> String {
    let shown = openssl(&["x509", "-noout", "-issuer", "-nameopt", "sep_multiline", "-in"], chain).unwrap();
    let name = shown.lines().find_map(|line| line.trim().strip_prefix("CN=")).unwrap_or_else(|| panic!("{shown}"));
    name.to_owned()
}

fn shown(chain: &str) -> String {
    openssl(&["x509", "-noout", "-text", "-in"], chain).unwrap()
}

/// Whether the chain leads to a root, as OpenSSL sees it.
async fn verify(world: &World, chain: &str, purpose: &str) -> Result<(), String> {
    verify_with(world, chain, &["-purpose", purpose]).await
}

async fn verify_with(world: &World, chain: &str, more: &[&str]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let (roots, above) = (folder.path().join("roots.pem"), folder.path().join("above.pem"));
    let issuers = world.services.operator.issuers().await.unwrap();
    let pem = issuers.iter().filter(|issuer| issuer.kind == IssuerKind::Root).map(|root| root.certificate.to_pem());
    fs::write(&roots, pem.collect::<String>()).unwrap();
    fs::write(&above, chain).unwrap();
    let at = world.services.now().as_secs().to_string();
    let (roots, above) = (roots.to_str().unwrap(), above.to_str().unwrap());
    let strict = ["verify", "-x509_strict", "-check_ss_sig", "-no-CApath", "-no-CAstore"];
    let rest = ["-CAfile", roots, "-untrusted", above, "-attime", &at];
    openssl(&[strict.as_slice(), &rest, more].concat(), chain).map(drop)
}

/// Makes a P-384 and an RSA one beside the P-256 one that each world has.
async fn make_others(services: &Services) {
    for (key, name) in [(KeyAlgorithm::EcP384, "Test Issuing E2"), (KeyAlgorithm::Rsa2048, "Test Issuing R1")] {
        assert_eq!(services.operator.create_issuer(key).await.unwrap().name, name);
    }
    services.authority.reload().await.unwrap();
}

fn refusal<T>(outcome: Result<T, ServiceError>) -> String {
    match outcome {
        Err(ServiceError::Invalid(problems)) => problems.0[0].message.clone(),
        Err(other) => other.to_string(),
        Ok(_) => panic!("it was not refused"),
    }
}

on_both_databases! {
    async fn each_profile_and_key_has_its_issuer_and_every_certificate_verifies(world: World) {
        let node = world.another_node(many_profiles(), Vec::new()).await;
        let customer = Customer::of(&world, &node).await;
        // An installation with one CA, as all were once.
        assert_eq!(customer.issuer_for("TLS-90d", "rsa-2048").await, "Test Issuing E1");
        make_others(&node.services).await;
        let issuers = |profile: &str| match profile {
            "rsa-only" => ["R1"; 3],
            "named" => ["E2"; 3],
            // E1 was made when no profile had clients, so it does not cover them.
            "rich" => ["E2", "E2", "R1"],
            _ => ["E1", "E2", "R1"],
        };
        for profile in &many_profiles().profiles {
            let profile = profile.name.as_str();
            let name = if profile == "public" { "www.example.com" } else { "hello.test" };
            for (key_type, expected) in ["ec-p256", "ec-p384", "rsa-2048"].into_iter().zip(issuers(profile)) {
                let order = customer.issue(profile, csr_with(key_type, &[name])).await;
                let chain = customer.chain(&order).await;
                assert_eq!(issuer(&chain), format!("Test Issuing {expected}"), "{profile} {key_type}");
                assert_eq!(verify(&world, &chain, "sslserver").await, Ok(()), "{profile} {key_type}");
                let client = verify(&world, &chain, "sslclient").await;
                assert_eq!(client.is_ok(), profile == "rich", "{profile} {key_type} {client:?}");
                let text = shown(&chain);
                assert_eq!(text.contains("Subject: CN = hello.test"), profile == "rich", "{text}");
                assert_eq!(text.contains("Subject Key Identifier"), profile == "rich", "{text}");
                assert_eq!(text.contains("Key Encipherment"), profile == "rich" && key_type == "rsa-2048", "{text}");
                assert_eq!(text.contains("CRL Distribution Points"), profile != "bare", "{text}");
                assert_eq!(text.contains("2.23.140.1.2.1"), profile != "bare", "{text}");
                assert!(text.contains("CA Issuers - URI:http://ca.test/issuer/iss_"), "{text}");
            }
        }
        assert_eq!(node.services.operator.create_issuer(KeyAlgorithm::EcP256).await.unwrap().name, "Test Issuing E3");
        node.services.authority.reload().await.unwrap();
        assert_eq!(customer.issuer_for("rich", "ec-p256").await, "Test Issuing E3");
    }

    async fn a_policy_needs_a_ca_that_has_it(world: World) {
        // The CA of each world was made when every profile was domain validated.
        let node = world.another_node(with_own_policy(), Vec::new()).await;
        let gaps = node.services.authority.gaps();
        assert!(!gaps.is_empty() && gaps.iter().all(|(profile, _)| profile.as_str() == "own"), "{gaps:?}");
        node.services.operator.create_issuer(KeyAlgorithm::EcP256).await.unwrap();
        node.services.authority.reload().await.unwrap();
        assert!(node.services.authority.gaps().is_empty());
        let customer = Customer::of(&world, &node).await;
        // Often enough that the other one would have had its turn.
        for _ in 0..8 {
            let order = customer.issue("own", csr(&["hello.test"])).await;
            let chain = customer.chain(&order).await;
            assert_eq!(issuer(&chain), "Test Issuing E2");
            let asked = ["-policy", OWN_POLICY, "-explicit_policy"];
            assert_eq!(verify_with(&world, &chain, &asked).await, Ok(()));
        }
    }

    async fn a_ca_begins_an_hour_early_so_that_its_first_certificates_can(world: World) {
        let operator = &world.services.operator;
        let issuers = operator.issuers().await.unwrap();
        let early = START.as_secs() - 3600;
        assert!(issuers.iter().all(|ca| ca.info.not_before == early), "root and issuing CA");
        let node = world.another_node(settings(), Vec::new()).await;
        let customer = Customer::of(&world, &node).await;
        customer.issue("TLS-90d", csr(&["hello.test"])).await;
        let listed = customer.tenant.get("/v1/certificates?limit=1").await.expect(200);
        let begins = listed["items"][0]["notBefore"].as_str().and_then(Timestamp::parse).unwrap();
        assert_eq!(begins.as_secs(), world.services.now().as_secs() - 3600);
        // By a clock that is behind it would be older than its root.
        world.clock.set(START.minus(Duration::from_secs(1800)));
        let made = operator.create_issuer(KeyAlgorithm::EcP256).await.unwrap();
        assert_eq!(made.info.not_before, early);
    }

    async fn a_public_certificate_is_never_longer_than_its_day_allows(world: World) {
        let node = world.another_node(many_profiles(), Vec::new()).await;
        let customer = Customer::of(&world, &node).await;
        let mut seconds = Vec::new();
        for day in [1_800_000_000_i64, 1_806_000_000] {
            world.clock.set(Timestamp::from_secs(day));
            let mut tenant = customer.tenant.clone();
            tenant.sign_in().await;
            let customer = Customer { tenant, account: customer.account.clone(), node: &node };
            let order = customer.issue("public", csr(&["www.example.com"])).await;
            let listed = customer.tenant.get("/v1/certificates?limit=1").await.expect(200);
            assert_eq!(listed["items"][0]["orderLookup"], order["lookup"], "{listed}");
            let time = |name: &str| listed["items"][0][name].as_str().and_then(Timestamp::parse);
            seconds.push(time("notAfter").unwrap().as_secs() - time("notBefore").unwrap().as_secs() + 1);
        }
        assert_eq!(seconds, [200 * 86_400, 100 * 86_400]);
    }

    async fn an_issuing_ca_says_where_its_root_is_and_where_it_would_be_revoked(world: World) {
        make_others(&world.services).await;
        let issuers = world.services.operator.issuers().await.unwrap();
        let root = issuers[0].id;
        for ca in &issuers[1..] {
            let text = shown(&ca.certificate.to_pem());
            assert!(text.contains(&format!("CA Issuers - URI:http://ca.test/issuer/{root}.crt")), "{text}");
            assert!(text.contains(&format!("URI:http://ca.test/crl/{root}/root.crl")), "{text}");
            assert!(text.contains("Policy: 2.23.140.1.2.1") && !text.contains("Client Authentication"), "{text}");
            assert_eq!(verify(&world, &ca.certificate.to_pem(), "crlsign").await, Ok(()));
        }
    }

    async fn several_of_a_kind_take_turns(world: World) {
        let node = world.another_node(settings(), Vec::new()).await;
        node.services.operator.create_issuer(KeyAlgorithm::EcP256).await.unwrap();
        node.services.authority.reload().await.unwrap();
        let customer = Customer::of(&world, &node).await;
        let mut signed: Vec<String> = Vec::new();
        for _ in 0..16 {
            signed.push(customer.issuer_for("TLS-90d", "ec-p256").await);
        }
        for name in ["Test Issuing E1", "Test Issuing E2"] {
            assert!(signed.iter().any(|signer| signer == name), "{name} never signs: {signed:?}");
        }
    }

    async fn a_ca_is_rotated_under_a_running_node(world: World) {
        let node = world.another_node(settings(), Vec::new()).await;
        let customer = Customer::of(&world, &node).await;
        let first = customer.issue("TLS-90d", csr(&["hello.test"])).await;
        let authority = node.services.authority.clone();
        let watching = tokio::spawn(async move { authority.watch().await });

        let rotated = world.services.operator.rotate_issuer("Test Issuing E1", None).await.unwrap();
        assert_eq!((rotated.new.name.as_str(), rotated.old.state.as_str()), ("Test Issuing E2", "retired"));
        assert_eq!((rotated.new.info.key_type.as_str(), rotated.new.parent), ("ec-p256", rotated.old.parent));
        let began = Instant::now();
        let noticed = || node.services.authority.find(rotated.new.id).is_some();
        while !noticed() {
            assert!(began.elapsed() < Duration::from_secs(5), "a node follows within 5 seconds");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        watching.abort();
        let second = customer.issue("TLS-90d", csr(&["hello.test"])).await;
        let (old, new) = (customer.chain(&first).await, customer.chain(&second).await);
        assert_eq!((issuer(&old).as_str(), issuer(&new).as_str()), ("Test Issuing E1", "Test Issuing E2"));
        for chain in [&old, &new] {
            assert_eq!(verify(&world, chain, "sslserver").await, Ok(()));
        }
        // A node that has not noticed yet is asked for what another one issued.
        assert!(world.services.authority.find(rotated.new.id).is_none());
        let late = Customer { tenant: world.client_of("DEMO", ScopeSet::all()).await, account: String::new(), node: &node };
        assert_eq!(late.chain(&second).await, new);

        // What the retired one issued is still revoked.
        let revocation = format!("/v1/certificates/{}/revocation", first["lookup"].as_str().unwrap());
        assert_eq!(customer.tenant.post(&revocation, json!({})).await.expect(202)["status"], "revoked");
    }

    async fn a_draft_keeps_its_issuer_when_that_is_retired_meanwhile(world: World) {
        let node = world.another_node(settings(), Vec::new()).await;
        let customer = Customer::of(&world, &node).await;
        customer.issue("TLS-90d", csr(&["hello.test"])).await;
        let request = json!({"account_lookup": customer.account, "csr": csr(&["hello.test"])});
        let order = customer.tenant.post("/v1/order", request).await.expect(201);
        let path = format!("/v1/order/{}", order["lookup"].as_str().unwrap());
        customer.tenant.post_empty(&format!("{path}/finalize")).await.expect(202);
        let id = order["lookup"].as_str().unwrap().parse().unwrap();
        // The first step, and then the node dies.
        node.services.issuance.prepare(id).await.unwrap();
        node.services.operator.rotate_issuer("Test Issuing E1", None).await.unwrap();
        node.services.authority.reload().await.unwrap();
        node.work(None).await;
        assert_eq!(customer.tenant.get(&path).await.expect(200)["status"], "valid");
        assert_eq!(issuer(&customer.chain(&order).await), "Test Issuing E1");
    }

    async fn the_last_ca_that_a_profile_needs_is_not_retired(world: World) {
        let operator = &world.services.operator;
        let refused = refusal(operator.retire_issuer("Test Issuing E1").await);
        assert!(refused.contains("no other active CA may sign rsa-2048 certificates of the profile TLS-199d"), "{refused}");
        assert_eq!(operator.issuers().await.unwrap()[1].state.as_str(), "active");
        operator.create_issuer(KeyAlgorithm::EcP384).await.unwrap();
        for _ in 0..2 {
            assert_eq!(operator.retire_issuer("Test Issuing E1").await.unwrap().state.as_str(), "retired");
        }
        refusal(operator.retire_issuer("Test Issuing E2").await);
        assert_eq!(operator.activate_issuer("Test Issuing E1").await.unwrap().state.as_str(), "active");
        assert!(refusal(operator.retire_issuer("Test Root").await).contains("is a root"));
        assert!(refusal(operator.retire_issuer("nobody").await).contains("there is no CA nobody"));
        // Verifiers take no notice of capitals and of blanks.
        for name in ["Test Root", "TEST root", "Test  Issuing e1"] {
            let refused = refusal(operator.create_issuer(NewIssuer { name: Some(name.to_owned()), ..KeyAlgorithm::EcP256.into() }).await);
            assert!(refused.contains("exists already"), "{refused}");
        }
        assert_eq!(operator.activate_issuer("test issuing  E1").await.unwrap().name, "Test Issuing E1");

        // By name alone: its successor has another one.
        let named = world.another_node(many_profiles(), Vec::new()).await;
        let refused = refusal(named.services.operator.rotate_issuer("Test Issuing E2", None).await);
        assert!(refused.contains("of the profile named"), "{refused}");
        assert_eq!(operator.issuers().await.unwrap().len(), 3, "nothing of a refused rotation is kept");

        let page = PageRequest { limit: 100, after: None };
        let trail = world.services.audit.list(AuditFilter::default(), page).await.unwrap();
        let mut actions: Vec<_> = trail.iter().map(|line| line.action.as_str()).filter(|action| action.starts_with("issuer.")).collect();
        // The clock stands still, and within an instant lines are in no order.
        actions.sort_unstable();
        let expected =
            ["issuer.activate", "issuer.create", "issuer.create", "issuer.create", "issuer.retire"];
        assert_eq!(actions, expected);
    }

    async fn of_two_that_make_a_hierarchy_at_once_one_wins(world: World) {
        let other = world.another_node(settings(), Vec::new()).await;
        let hold = empty_hierarchy(&world);
        let made = |operator: &Operator, name: &str| {
            let (operator, root, issuing) = (operator.clone(), format!("{name} Root"), format!("{name} Issuing E1"));
            let new = NewHierarchy {
                country: "DE".to_owned(),
                organization: name.to_owned(),
                root,
                issuing: vec![(issuing, KeyAlgorithm::EcP256)],
                keys: None,
            };
            tokio::spawn(async move { operator.init_hierarchy(new).await })
        };
        let makers = [made(&world.services.operator, "One"), made(&other.services.operator, "Other")];
        // Both have their keys, and have seen that nothing is there.
        tokio::time::sleep(Duration::from_secs(2)).await;
        drop(hold);
        let mut seen = Vec::new();
        for maker in makers {
            let issuers = maker.await.unwrap().unwrap();
            seen.push(issuers.into_iter().map(|issuer| issuer.name).collect::<Vec<_>>());
        }
        assert_eq!(seen[0].len(), 2, "{seen:?}");
        assert_eq!(seen[0], seen[1]);
        let filter = AuditFilter { action: Some("issuer.create".to_owned()), ..AuditFilter::default() };
        let trail = world.services.audit.list(filter, PageRequest { limit: 100, after: None }).await.unwrap();
        let noted = trail.iter().filter(|line| !line.detail.contains("Test ")).count();
        assert_eq!(noted, 2, "what was not made is not noted");
    }

    async fn no_hierarchy_has_two_cas_of_one_name(world: World) {
        drop(empty_hierarchy(&world));
        let operator = &world.services.operator;
        let new = |issuing: [&str; 2]| NewHierarchy {
            country: "DE".to_owned(),
            organization: "One".to_owned(),
            root: "One Root".to_owned(),
            issuing: issuing.map(|name| (name.to_owned(), KeyAlgorithm::EcP256)).into(),
            keys: None,
        };
        for names in [["One Issuing", "one root"], ["One Issuing", "One  issuing"]] {
            assert!(refusal(operator.init_hierarchy(new(names)).await).contains("exists already"), "{names:?}");
        }
        assert_eq!(operator.init_hierarchy(new(["One Issuing E1", "One Issuing E2"])).await.unwrap().len(), 3);
    }

    async fn of_two_operators_who_retire_the_last_two_one_is_refused(world: World) {
        let node = world.another_node(settings(), Vec::new()).await;
        let (one, other) = (&world.services.operator, &node.services.operator);
        one.create_issuer(KeyAlgorithm::EcP256).await.unwrap();
        for round in 0..10 {
            let names = ["Test Issuing E1", "Test Issuing E2"];
            let (first, second) = tokio::join!(one.retire_issuer(names[0]), other.retire_issuer(names[1]));
            assert!(first.is_ok() != second.is_ok(), "round {round}: {:?} {:?}", first.err(), second.err());
            for name in names {
                one.activate_issuer(name).await.unwrap();
            }
        }
    }

    async fn dates_that_could_not_be_had_are_refused_with_the_order(world: World) {
        let node = world.another_node(many_profiles(), Vec::new()).await;
        let customer = Customer::of(&world, &node).await;
        let csr = csr(&["www.example.com"]);
        let ordered = async |profile: &str, start: i64, days: i64| {
            let now = world.services.now().as_secs();
            let (not_before, not_after) = (now + start, now + start + days * 86_400 - 1);
            let time = |at| Timestamp::from_secs(at).to_string();
            let request = json!({"account_lookup": customer.account, "profile": profile, "csr": csr,
                                 "not_before": time(not_before), "not_after": time(not_after)});
            let reply = customer.tenant.post("/v1/order", request).await;
            if reply.status == 201 { Vec::new() } else { reply.fields() }
        };
        let (hour, day) = (3600, 86_400);
        assert_eq!(ordered("TLS-90d", -hour, 90).await, [""; 0]);
        assert_eq!(ordered("TLS-90d", -hour - 1, 91).await, ["not_after", "not_before"]);
        assert_eq!(ordered("TLS-90d", 30 * day, 90).await, [""; 0]);
        assert_eq!(ordered("public", 2 * day, 200).await, [""; 0]);
        assert_eq!(ordered("public", 2 * day + 1, 201).await, ["not_after", "not_before"]);
    }

    async fn an_end_that_no_ca_reaches_is_refused_with_the_order(world: World) {
        let (mut tenant, account) = stage(&world).await;
        let issuers = world.services.operator.issuers().await.unwrap();
        let ends = issuers.iter().find(|issuer| issuer.name == "Test Issuing E1").unwrap().info.not_after;
        let left = u64::try_from(ends - world.services.now().as_secs()).unwrap();
        later(&world, &mut tenant, Duration::from_secs(left) - days(30)).await;
        let csr = csr(&["www.example.com"]);
        let order = async |not_after: &str| {
            tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr, "not_after": not_after})).await
        };
        let (last, beyond) = (Timestamp::from_secs(ends).to_string(), Timestamp::from_secs(ends + 1).to_string());
        order(&last).await.expect(201);
        let refused = order(&beyond).await;
        assert_eq!(problems(&refused), ["not_after out_of_range"]);
        assert!(refused.text().contains(&format!("must be {last} at most")), "{}", refused.text());
        // Another one that lasts longer may sign it.
        world.services.operator.create_issuer(KeyAlgorithm::EcP256).await.unwrap();
        order(&beyond).await.expect(201);
    }

    async fn the_operator_revokes_whatever_it_is_called_by(world: World) {
        let node = world.another_node(settings(), Vec::new()).await;
        let customer = Customer::of(&world, &node).await;
        let operator = world.services.operator.clone().acting_as("alice");
        for way in 0..3 {
            let order = customer.issue("TLS-90d", csr(&["hello.test"])).await;
            let listed = customer.tenant.get("/v1/certificates?limit=1").await.expect(200);
            let which = || match way {
                0 => CertificateRef::Serial(listed["items"][0]["serialNumber"].as_str().unwrap().to_owned()),
                1 => CertificateRef::Certificate(order["certificateLookup"].as_str().unwrap().parse().unwrap()),
                _ => CertificateRef::Order(order["lookup"].as_str().unwrap().parse().unwrap()),
            };
            let done = operator.revoke(which(), RevocationReason::Superseded, Some(chancery_domain::Comment::parse("why").unwrap())).await.unwrap();
            let certificate = |done: OperatorRevocation| match done.what {
                RevokedWhat::Certificate(certificate) => certificate,
                other => panic!("{other:?}"),
            };
            assert!(!done.already);
            let first = certificate(done);
            assert_eq!(first.order.to_string(), order["lookup"].as_str().unwrap());
            let again = operator.revoke(which(), RevocationReason::AffiliationChanged, None).await.unwrap();
            assert!(again.already && certificate(again).revocation() == first.revocation());
            let worse = operator.revoke(which(), RevocationReason::KeyCompromise, None).await.unwrap();
            assert!(!worse.already);
            let worse = certificate(worse);
            let revocation = worse.revocation().unwrap();
            assert_eq!(revocation.reason, RevocationReason::KeyCompromise);
            assert_eq!(revocation.comment.as_deref(), Some("why"), "what was said stays");
            let listed = customer.tenant.get("/v1/certificates?limit=1").await.expect(200);
            assert_eq!(listed["items"][0]["status"], "revoked", "{listed}");
        }
        let unknown = CertificateRef::Serial("00".to_owned());
        assert!(refusal(operator.revoke(unknown, RevocationReason::Unspecified, None).await).contains("there is no certificate 00"));
        let request = json!({"account_lookup": customer.account, "csr": csr(&["other.test"])});
        let pending = customer.tenant.post("/v1/order", request).await.expect(201);
        let pending = CertificateRef::Order(pending["lookup"].as_str().unwrap().parse().unwrap());
        assert!(refusal(operator.revoke(pending, RevocationReason::Unspecified, None).await).contains("nothing is issued yet"));

        let page = PageRequest { limit: 1000, after: None };
        let trail = world.services.audit.list(AuditFilter::default(), page).await.unwrap();
        let revocations: Vec<_> = trail.iter().filter(|line| line.action == "certificate.revoke").collect();
        assert_eq!(revocations.len(), 6);
        for line in revocations {
            assert_eq!((line.actor_kind.as_str(), line.actor.as_str(), line.reseller.is_some()), ("operator", "alice", true));
        }
    }
}

/// Deletes the CAs; on PostgreSQL nothing can be added, though it can be read that nothing is there, until what is given back is
/// dropped.
fn empty_hierarchy(world: &World) -> Option<std::sync::mpsc::Sender<()>> {
    let delete = "DELETE FROM issuers WHERE kind = 'issuing'; DELETE FROM issuers";
    match world.store.address() {
        Address::Sqlite(path) => {
            rusqlite::Connection::open(path).unwrap().execute_batch(delete).unwrap();
            None
        }
        Address::Postgres(url) => {
            let (locked, is_locked) = std::sync::mpsc::channel();
            let (release, released) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
                client.batch_execute(delete).unwrap();
                let mut transaction = client.transaction().unwrap();
                transaction.batch_execute("LOCK TABLE issuers IN SHARE MODE").unwrap();
                locked.send(()).unwrap();
                let _ = released.recv();
                transaction.commit().unwrap();
            });
            is_locked.recv().unwrap();
            Some(release)
        }
    }
}
