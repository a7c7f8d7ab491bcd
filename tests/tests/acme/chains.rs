//! Further chains above a certificate (RFC 8555 section 7.4.2).

use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_domain::{Entropy, PageRequest, RevocationReason};
use chancery_pki::{
    CaName, CaPolicy, Certificate, Issuer, IssuingCa, KeyAlgorithm, PrivateKey, Serial, Validity, chain_to_pem,
    issuing, root,
};
use chancery_service::operator::NewIssuer;
use chancery_store::{AuditFilter, IssuerState};
use chancery_tests::{AcmeClient, Reply, START, World, on_both_databases, path, settings};
use http::Method;
use serde_json::Value;

use crate::common::{problem, stage};

const CA: &str = "Test Issuing E1";
const DAY: i64 = 86_400;

struct Zeros;

impl Entropy for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

/// A chain for the world's CA up to another root, good for so many days: first the CA, then the root.
async fn vouched_for(world: &World, root_name: &str, days: u32) -> Vec<Certificate> {
    let issuers = world.services.operator.issuers().await.unwrap();
    let ca = &issuers.iter().find(|issuer| issuer.name == CA).unwrap().certificate;
    let key = PrivateKey::generate(KeyAlgorithm::EcP256).unwrap();
    let validity = |days| Validity::days(START.as_secs(), days).unwrap();
    let name = |text: &str| CaName::beside(ca, text).unwrap();
    let root = root(&key, &name(root_name), validity(3650), Serial::draw(&Zeros)).unwrap();
    let root = Issuer::new(root, Arc::new(key)).unwrap();
    let cross = IssuingCa {
        subject: &name(CA),
        spki: &ca.spki().unwrap(),
        validity: validity(days),
        serial: Serial::draw(&Zeros),
        policy: CaPolicy::Any,
        purposes: &[],
        ca_issuers_url: None,
        crl_url: None,
    };
    vec![issuing(&root, &cross).unwrap(), root.certificate().clone()]
}

/// Adds such a chain, and gives the certificate that clients are to get.
async fn add(world: &World, root_name: &str, days: u32) -> Certificate {
    let chain = vouched_for(world, root_name, days).await;
    world.services.operator.add_chain(CA, &chain_to_pem(&chain)).await.unwrap();
    world.services.authority.reload().await.unwrap();
    chain[0].clone()
}

fn alternates(reply: &Reply) -> Vec<String> {
    let links = reply.headers.get_all("link").iter().map(|value| value.to_str().unwrap());
    let alternate = links.filter_map(|link| link.strip_suffix(">;rel=\"alternate\"")?.strip_prefix('<'));
    alternate.map(str::to_owned).collect()
}

async fn issued(world: &World) -> (chancery_tests::Tenant, AcmeClient, String) {
    world.start_workers();
    let (tenant, _, client) = stage(world).await;
    let (_, order) = client.issue(&["example.com"]).await;
    (tenant, client, order["certificate"].as_str().unwrap().to_owned())
}

on_both_databases! {
    async fn every_chain_leads_to_the_others(world: World) {
        let (_, client, url) = issued(&world).await;
        let usual = client.read(&url).await;
        assert_eq!(alternates(&usual), [""; 0]);
        let first = add(&world, "Root X2", 100).await;
        let second = add(&world, "Root X3", 200).await;

        let [one, two] = [1, 2].map(|number| format!("{url}/{number}"));
        let again = client.read(&url).await;
        assert_eq!((again.text(), alternates(&again)), (usual.text(), vec![one.clone(), two.clone()]));
        for (number, own, others) in [(&one, &first, [&url, &two]), (&two, &second, [&url, &one])] {
            let reply = client.read(number).await;
            assert_eq!(reply.header("content-type"), Some("application/pem-certificate-chain"));
            let chain = Certificate::chain_from_pem(&reply.text()).unwrap();
            assert_eq!(chain[0], Certificate::from_pem(&usual.text()).unwrap());
            assert_eq!(&chain[1..], std::slice::from_ref(own), "the root is not sent");
            assert_eq!(alternates(&reply).iter().collect::<Vec<_>>(), others);
        }
        for unknown in ["00", "3", "01", "+1", "x", "1/1", "4294967297"] {
            problem(&client.read(&format!("{url}/{unknown}")).await, 404, "malformed");
        }
        let own = client.read(&format!("{url}/0")).await;
        assert_eq!((own.text(), alternates(&own)), (usual.text(), vec![one.clone(), two.clone()]));
        assert_eq!(world.stranger().get(path(&one)).await.status, 405);

        // One that has expired is not offered; the others keep their numbers.
        world.clock.advance(Duration::from_secs(100 * DAY.unsigned_abs()));
        assert_eq!(alternates(&client.read(&url).await), [two.as_str()]);
        problem(&client.read(&one).await, 404, "malformed");
        assert_eq!(alternates(&client.read(&two).await), [url.as_str()]);
        world.services.operator.remove_chain(CA, 2).await.unwrap();
        world.services.authority.reload().await.unwrap();
        assert_eq!(alternates(&client.read(&url).await), [""; 0]);
    }

    async fn the_chain_that_is_preferred_is_the_usual_one(world: World) {
        let operator = world.services.operator.clone();
        let prefer = async |number| {
            let preferred = operator.prefer_chain(CA, number).await.unwrap();
            assert_eq!(preferred.map(|chain| chain.number), number);
            world.services.authority.reload().await.unwrap();
        };
        let (tenant, client, url) = issued(&world).await;
        let before = client.read(&url).await.text();
        let first = add(&world, "Root X2", 100).await;
        let second = add(&world, "Root X3", 200).await;
        let [own, one, two] = [0, 1, 2].map(|number| format!("{url}/{number}"));
        prefer(Some(2)).await;

        // Each leads to the others, and the usual one has the plain address.
        for (address, above, others) in [
            (&url, Some(&second), [&own, &one]),
            (&two, Some(&second), [&own, &one]),
            (&own, None, [&url, &one]),
            (&one, Some(&first), [&url, &own]),
        ] {
            let reply = client.read(address).await;
            match above {
                Some(above) => {
                    let chain = Certificate::chain_from_pem(&reply.text()).unwrap();
                    assert_eq!(&chain[1..], std::slice::from_ref(above), "{address}");
                }
                None => assert_eq!(reply.text(), before),
            }
            assert_eq!(alternates(&reply).iter().collect::<Vec<_>>(), others, "{address}");
        }
        let lookup = url.rsplit('/').next().unwrap();
        let download = async |query: &str| tenant.get(&format!("/v1/certificate/{lookup}{query}")).await;
        assert_eq!(Certificate::chain_from_pem(&download("").await.text()).unwrap()[1], second);
        assert_eq!(download("?chain=0").await.text(), before);
        let linked = ["?chain=0", "?chain=1"].map(|query| format!("https://ca.test/v1/certificate/{lookup}{query}"));
        assert_eq!(alternates(&download("").await), linked);
        let id = operator.issuers().await.unwrap().iter().find(|issuer| issuer.name == CA).unwrap().id;
        let published = || world.services.publication.issuer_certificate(id).unwrap();
        assert_eq!(*published(), *second.as_der(), "whoever looks for the issuer finds the same one");

        let refused = operator.remove_chain(CA, 2).await.err().unwrap().to_string();
        assert!(refused.contains("rely on chain 2, which is preferred"), "{refused}");
        let refused = operator.prefer_chain(CA, Some(3)).await.err().unwrap().to_string();
        assert!(refused.contains("has no further chain 3"), "{refused}");
        let refused = operator.rotate_issuer(CA, None).await.err().unwrap().to_string();
        assert!(refused.contains("which a successor does not have yet"), "{refused}");
        prefer(None).await;
        assert_eq!(client.read(&url).await.text(), before);
        assert_ne!(*published(), *second.as_der());
        operator.remove_chain(CA, 2).await.unwrap();
        let filter = AuditFilter { action: Some("issuer.prefer_chain".to_owned()), ..AuditFilter::default() };
        let page = PageRequest::default();
        let trail = world.store.read(move |tx| tx.audit(&filter, &page)).await.unwrap().items;
        assert_eq!(trail.len(), 2);
    }

    async fn nothing_outlasts_the_chain_that_is_preferred(world: World) {
        let (_, client, _) = issued(&world).await;
        add(&world, "Root X2", 40).await;
        let ends = START.as_secs() + 40 * DAY - 1;
        world.services.operator.prefer_chain(CA, Some(1)).await.unwrap();
        world.services.authority.reload().await.unwrap();
        let read = async |order: &Value| {
            let chain = client.read(order["certificate"].as_str().unwrap()).await.text();
            Certificate::from_pem(&chain).unwrap()
        };
        let (_, order) = client.issue(&["short.example.com"]).await;
        assert_eq!(read(&order).await.not_after(), ends);
        assert_eq!(world.services.authority.ending().iter().filter(|signing| signing.ends_with_chain()).count(), 1);

        // Once it is over the CA signs nothing until somebody vouches for it again.
        world.clock.advance(Duration::from_secs(40 * DAY.unsigned_abs()));
        assert!(!world.services.authority.gaps().is_empty());
        let refused = world.services.operator.prefer_chain(CA, Some(1)).await.err().unwrap().to_string();
        assert!(refused.contains("ended at"), "{refused}");
        world.services.operator.prefer_chain(CA, None).await.unwrap();
        world.services.authority.reload().await.unwrap();
        assert!(world.services.authority.gaps().is_empty());
        let (_, order) = client.issue(&["long.example.com"]).await;
        assert!(read(&order).await.not_after() > ends + DAY);
    }

    async fn a_ca_asks_others_to_vouch_for_it(world: World) {
        let operator = &world.services.operator;
        let request = operator.request_chain(CA).await.unwrap();
        assert!(request.starts_with("-----BEGIN CERTIFICATE REQUEST-----\n"), "{request}");
        assert!(operator.request_chain("Test Root").await.is_err());
        let idle = NewIssuer { state: IssuerState::Retired, ..KeyAlgorithm::EcP256.into() };
        let made = operator.create_issuer(idle).await.unwrap();
        assert_eq!(made.state, IssuerState::Retired);
        world.services.authority.reload().await.unwrap();
        assert!(!world.services.authority.find(made.id).unwrap().active);
        assert!(operator.request_chain(&made.name).await.is_ok());
        assert_eq!(operator.activate_issuer(&made.name).await.unwrap().state, IssuerState::Active);
        let filter = AuditFilter { action: Some("issuer.request".to_owned()), ..AuditFilter::default() };
        let trail = world.store.read(move |tx| tx.audit(&filter, &PageRequest::default())).await.unwrap().items;
        assert_eq!(trail.len(), 2);
    }

    async fn who_takes_turns_with_a_ca_is_vouched_for_as_it_is(world: World) {
        let operator = &world.services.operator;
        let chain = chain_to_pem(&vouched_for(&world, "Root X2", 100).await);
        // Whoever asks for the same once more has it.
        for _ in 0..2 {
            assert_eq!(operator.add_preferred_chain(CA, &chain).await.unwrap().number, 1);
        }
        let refused = operator.create_issuer(KeyAlgorithm::EcP256).await.err().unwrap().to_string();
        assert!(refused.contains("rely on another root, which does not vouch for Test Issuing E"), "{refused}");
        // Those with other keys sign for other customers' keys.
        assert!(operator.create_issuer(KeyAlgorithm::EcP384).await.is_ok());
        let idle = NewIssuer { state: IssuerState::Retired, ..KeyAlgorithm::EcP256.into() };
        let idle = operator.create_issuer(idle).await.unwrap().name;
        let refused = operator.activate_issuer(&idle).await.err().unwrap().to_string();
        assert!(refused.contains("rely on another root"), "{refused}");
        operator.prefer_chain(CA, None).await.unwrap();
        assert!(operator.activate_issuer(&idle).await.is_ok());
    }

    async fn a_certificate_comes_from_a_ca_that_lasts_as_long_as_it_does(world: World) {
        let (_, client, _) = issued(&world).await;
        let operator = &world.services.operator;
        operator.create_issuer(KeyAlgorithm::EcP256).await.unwrap();
        add(&world, "Root X2", 40).await;
        operator.prefer_chain(CA, Some(1)).await.unwrap();
        world.services.authority.reload().await.unwrap();
        for turn in 0..6 {
            let (_, order) = client.issue(&[&format!("n{turn}.example.com")]).await;
            let chain = client.read(order["certificate"].as_str().unwrap()).await.text();
            let certificate = Certificate::from_pem(&chain).unwrap();
            assert!(certificate.not_after() > START.as_secs() + 80 * DAY, "{turn}: {}", certificate.issuer_text());
        }
    }

    async fn nobody_vouches_for_a_ca_that_is_revoked(world: World) {
        let operator = &world.services.operator;
        let chain = chain_to_pem(&vouched_for(&world, "Root X2", 100).await);
        operator.add_preferred_chain(CA, &chain).await.unwrap();
        operator.revoke_issuer(CA, RevocationReason::KeyCompromise).await.unwrap();
        let other = chain_to_pem(&vouched_for(&world, "Root X3", 100).await);
        let said = [
            operator.request_chain(CA).await.err().unwrap().to_string(),
            operator.add_chain(CA, &other).await.err().unwrap().to_string(),
            operator.prefer_chain(CA, Some(1)).await.err().unwrap().to_string(),
        ];
        assert!(said.iter().all(|said| said.contains("nobody is to vouch for it")), "{said:?}");
        operator.remove_chain(CA, 1).await.unwrap();
        let issuers = operator.issuers().await.unwrap();
        assert!(issuers.iter().find(|issuer| issuer.name == CA).unwrap().preferred.is_none());
    }

    async fn another_account_gets_no_chain_of_it(world: World) {
        let (tenant, _, url) = issued(&world).await;
        add(&world, "Root X2", 100).await;
        let credential = tenant.make_account("b@example.com").await;
        let other = AcmeClient::registered(&world, &credential).await;
        problem(&other.read(&format!("{url}/1")).await, 404, "malformed");
    }

    async fn a_running_node_offers_a_new_chain_within_seconds(world: World) {
        let (_, client, url) = issued(&world).await;
        let node = world.another_node(settings(), Vec::new()).await;
        let authority = node.services.authority.clone();
        let watching = tokio::spawn(async move { authority.watch().await });
        let client = client.speaking_to(node.stranger());
        let chain = vouched_for(&world, "Root X2", 100).await;
        for offered in [true, false] {
            match offered {
                true => drop(world.services.operator.add_chain(CA, &chain_to_pem(&chain)).await.unwrap()),
                false => drop(world.services.operator.remove_chain(CA, 1).await.unwrap()),
            }
            let began = Instant::now();
            while alternates(&client.read(&url).await).is_empty() == offered {
                assert!(began.elapsed() < Duration::from_secs(5), "a running node follows within 5 seconds");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        let add = async |root: &str| {
            let chain = vouched_for(&world, root, 100).await;
            world.services.operator.add_chain(CA, &chain_to_pem(&chain)).await.unwrap().number
        };
        let number = add("Root X3").await;
        for preferred in [Some(number), None] {
            world.services.operator.prefer_chain(CA, preferred).await.unwrap();
            let began = Instant::now();
            let shown = |number: u32| format!("{url}/{number}");
            let expected = if preferred.is_some() { shown(0) } else { shown(number) };
            while alternates(&client.read(&url).await) != [expected.as_str()] {
                assert!(began.elapsed() < Duration::from_secs(5), "a running node follows within 5 seconds");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        watching.abort();
    }

    async fn a_chain_is_added_once_and_only_to_its_ca(world: World) {
        let operator = &world.services.operator;
        let chain = vouched_for(&world, "Root X2", 100).await;
        let refused = async |ca: &str, chain: &[Certificate]| {
            operator.add_chain(ca, &chain_to_pem(chain)).await.err().unwrap().to_string()
        };
        let said = refused(CA, &chain[..1]).await;
        assert!(said.contains("is not in it; add the certificates up to the root"), "{said}");
        assert!(refused("Test Root", &chain).await.contains("is a root; name an issuing CA"));
        assert!(refused("nobody", &chain).await.contains("nobody"));
        assert_eq!(operator.add_chain(CA, &chain_to_pem(&chain)).await.unwrap().number, 1);
        assert!(refused(CA, &chain).await.contains("has this chain already, as number 1"));
        assert!(operator.remove_chain(CA, 2).await.is_err());
        operator.remove_chain(CA, 1).await.unwrap();
        assert_eq!(operator.add_chain(CA, &chain_to_pem(&chain)).await.unwrap().number, 2);
    }

    async fn the_number_of_a_chain_that_was_removed_is_not_given_again(world: World) {
        let operator = &world.services.operator;
        let chain = async |root: &str| chain_to_pem(&vouched_for(&world, root, 100).await);
        let (one, two) = (chain("Root X2").await, chain("Root X3").await);
        assert_eq!(operator.add_chain(CA, &one).await.unwrap().number, 1);
        assert_eq!(operator.add_chain(CA, &two).await.unwrap().number, 2);
        operator.remove_chain(CA, 2).await.unwrap();
        operator.remove_chain(CA, 1).await.unwrap();
        assert_eq!(operator.add_chain(CA, &two).await.unwrap().number, 3);
        operator.remove_chain(CA, 3).await.unwrap();
        assert_eq!(operator.add_chain(CA, &one).await.unwrap().number, 4);
        // As an earlier release leaves it, which keeps no numbers.
        let id = operator.issuers().await.unwrap().iter().find(|issuer| issuer.name == CA).unwrap().id;
        world.store.write(move |tx| tx.set_watermark(&format!("chain_number {id}"), 0)).await.unwrap();
        operator.remove_chain(CA, 4).await.unwrap();
        assert_eq!(operator.add_chain(CA, &two).await.unwrap().number, 5);
    }

    async fn a_reseller_downloads_the_chain_of_its_choice(world: World) {
        let (tenant, _, url) = issued(&world).await;
        let cross = add(&world, "Root X2", 100).await;
        let lookup = url.rsplit('/').next().unwrap();
        for base in ["/v1/certificate", "/certificate"] {
            let get = async |query: &str, accept: &str| {
                tenant.send(Method::GET, &format!("{base}/{lookup}{query}"), &[("accept", accept)], None).await
            };
            let usual = get("", "*/*").await;
            assert_eq!(alternates(&usual), [format!("https://ca.test/v1/certificate/{lookup}?chain=1")]);
            let other = get("?chain=1", "*/*").await;
            assert_eq!(Certificate::chain_from_pem(&other.text()).unwrap()[1], cross);
            assert_eq!(alternates(&other), [format!("https://ca.test/v1/certificate/{lookup}")]);
            let json = get("?chain=1", "application/json").await.expect(200);
            assert_eq!(json["chain"], cross.to_pem());
            let unknown = get("?chain=2", "*/*").await;
            assert_eq!(unknown.refusal(404), "certificate_not_found");
            let both = ["", "?chain=1"].map(|query| format!("https://ca.test/v1/certificate/{lookup}{query}"));
            assert_eq!(alternates(&unknown), both);
            assert_eq!(get("?chain=x", "*/*").await.fields(), ["chain"]);
            assert_eq!(get("?chains=1", "*/*").await.fields(), ["chains"]);
        }
    }
}
