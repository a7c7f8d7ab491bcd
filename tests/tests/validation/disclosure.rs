//! What a failed validation discloses to the applicant of the operator's network.

use std::net::IpAddr;

use chancery_domain::PageRequest;
use chancery_store::AuditFilter;
use chancery_testkit::dns::{encoded, reply};
use chancery_tests::{AcmeClient, Tenant, World, lookup, on_both_databases};
use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;
use serde_json::{Value, json};

use crate::site::{Site, choose, code, order, path, seen};

/// How each kind of validation fails, and what the applicant reads of it.
const FAILURES: [(&str, &str); 4] = [
    (
        "http-01",
        "leads to no address that may be spoken to: an address is for private use (RFC 1918); an address is for",
    ),
    (
        "tls-alpn-01",
        "leads to no address that may be spoken to: an address is for private use (RFC 1918); an address is",
    ),
    ("dns-01", "the resolver's answer cannot be read"),
    // The page is where it should be, and CAA cannot be looked up.
    ("caa", "CAA could not be checked"),
];

/// The names of one front end, each of which fails in one of these ways.
fn names(site: &Site, prefix: &str) -> [String; 4] {
    let garbled = |question: &_, _| {
        let mut bytes = encoded(&reply(question, ResponseCode::NoError));
        bytes.truncate(bytes.len() - 3);
        Some(bytes)
    };
    let names = FAILURES.map(|(way, _)| format!("{prefix}-{way}.example.test"));
    for inside in &names[..2] {
        for address in ["10.77.1.2", "10.77.1.3", "fd00:77::1"] {
            site.dns.address_of(inside, address.parse::<IpAddr>().unwrap());
        }
    }
    site.dns.script(&format!("_acme-challenge.{}", names[2]), RecordType::TXT, garbled);
    site.dns.script(&names[3], RecordType::CAA, garbled);
    names
}

/// How control of a name is shown that fails in this way.
fn kind_of(way: &str) -> &str {
    if way == "caa" { "dns-01" } else { way }
}

async fn reseller_reads(world: &World, site: &Site, tenant: &Tenant, account: &str) -> Vec<String> {
    let mut read = Vec::new();
    for (name, (way, expected)) in names(site, "reseller").iter().zip(FAILURES) {
        let order = order(tenant, account, &[name]).await;
        let challenge = code(tenant, &order, name, kind_of(way)).await;
        if way == "caa" {
            site.dns.txt(
                challenge["instructions"]["recordName"].as_str().unwrap(),
                challenge["instructions"]["recordValue"].as_str().unwrap(),
            );
        }
        choose(tenant, &challenge).await;
        world.work(Some(site.public_validator(world))).await;
        let failed = seen(tenant, &order).await;
        assert!(failed["error"]["detail"].as_str().unwrap().contains(expected), "{failed:#}");
        read.push(failed.to_string());
        read.push(tenant.get(&path(&challenge)).await.expect(200).to_string());
        read.push(tenant.get(&format!("/v1/authz/{}", lookup(&order["authorizations"][0]))).await.text());
        read.push(tenant.post_empty(&path(&challenge)).await.expect(410).to_string());
    }
    for list in ["/v1/order", "/v1/event"] {
        read.push(tenant.get(list).await.expect(200).to_string());
    }
    read
}

async fn acme_client_reads(world: &World, site: &Site, client: &AcmeClient) -> Vec<String> {
    let mut read = Vec::new();
    // Through ACME, the value of the record is the client's to compute: CAA is left out.
    for (name, (way, expected)) in names(site, "acme").iter().zip(&FAILURES[..3]) {
        let (url, order) = client.order(&[name]).await;
        let authorization = order["authorizations"][0].as_str().unwrap();
        let codes = client.read(authorization).await.expect(200);
        let all = codes["challenges"].as_array().unwrap();
        let challenge: &Value = all.iter().find(|challenge| challenge["type"] == **way).unwrap();
        let challenge = challenge["url"].as_str().unwrap();
        client.post(challenge, &json!({})).await.expect(200);
        world.work(Some(site.public_validator(world))).await;
        let failed = client.read(&url).await.expect(200);
        assert!(failed["error"].to_string().contains(expected), "{failed:#}");
        read.push(failed.to_string());
        for url in [authorization, challenge] {
            read.push(client.read(url).await.expect(200).to_string());
        }
    }
    read
}

on_both_databases! {
    async fn no_address_inside_of_the_operators_network_reaches_a_tenant(world: World) {
        let site = Site::open().await;
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        let mut read = reseller_reads(&world, &site, &tenant, &lookup(&credential)).await;
        let client = AcmeClient::registered(&world, &credential).await;
        read.extend(acme_client_reads(&world, &site, &client).await);
        // Events and the messages to webhooks are made from the audit records.
        let page = PageRequest { limit: 1000, after: None };
        let records = world.services.audit.list(AuditFilter::default(), page).await.unwrap();
        let records = format!("{records:?}");
        assert!(records.contains("may be spoken to") && records.contains("CAA could not be checked"), "{records}");
        read.push(records);
        for text in read {
            for inside in ["10.77.", "fd00:", &site.dns.address().to_string()] {
                assert!(!text.contains(inside), "{inside}: {text}");
            }
        }
    }
}
