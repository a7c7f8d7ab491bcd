//! `openssl` fetches what it needs by itself, from the addresses in the certificate.

use chancery_http::Server;
use chancery_testkit::TestStore;
use chancery_tests::{World, settings};
use tokio::net::TcpListener;

use crate::customer::{Customer, Held};
use crate::openssl::RelyingParty;

/// A service that is reached where its certificates say it is.
async fn reachable() -> (World, Customer) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut settings = settings();
    settings.issuing.relying_url = format!("http://{}", listener.local_addr().unwrap());
    let world = World::over(TestStore::sqlite(), settings, Vec::new()).await;
    tokio::spawn(Server::plain(world.relying.clone()).serve(listener, std::future::pending()));
    let customer = Customer::of(&world).await;
    (world, customer)
}

fn verify(world: &World, party: &RelyingParty, held: &Held) -> String {
    party.write("leaf.pem", held.pem.as_bytes());
    let now = world.services.now().as_secs().to_string();
    let trust = ["verify", "-CAfile", "root.pem", "-untrusted", "issuer.pem", "-attime", &now];
    party.run(&[&trust[..], &["-crl_check", "-crl_download", "leaf.pem"]].concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openssl_verifies_with_the_list_that_the_certificate_names() {
    let (world, customer) = reachable().await;
    let held = customer.certificate(&world, "a.test").await;
    let party = RelyingParty::of(&world, &held).await;
    let without = verify(&world, &party, &held);
    assert!(without.contains("unable to get certificate CRL"), "{without}");
    world.services.publication.look().await.unwrap();
    assert_eq!(verify(&world, &party, &held), "leaf.pem: OK\n");
    customer.revoke(&held, "keyCompromise").await;
    world.services.publication.look().await.unwrap();
    let revoked = verify(&world, &party, &held);
    assert!(revoked.contains("certificate revoked"), "{revoked}");
}

/// No list may be passed for another: the one of another shard has the signature of the same issuer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openssl_does_not_take_the_list_of_another_shard() {
    let (world, customer) = reachable().await;
    let held = customer.certificate(&world, "a.test").await;
    world.services.publication.look().await.unwrap();
    let party = RelyingParty::of(&world, &held).await;
    party.write("leaf.pem", held.pem.as_bytes());
    let now = world.services.now().as_secs().to_string();
    for (shard, taken) in [(held.shard(), true), ((held.shard() + 1) % 8, false)] {
        let list = world.relying_party().get(&format!("/crl/{}/{shard}.crl", held.issuer())).await.body;
        party.write("list.der", &list);
        party.run(&["crl", "-inform", "DER", "-in", "list.der", "-out", "list.pem"]);
        let trust = ["verify", "-CAfile", "root.pem", "-untrusted", "issuer.pem", "-attime", &now];
        let said = party.run(&[&trust[..], &["-crl_check", "-CRLfile", "list.pem", "leaf.pem"]].concat());
        assert_eq!(said == "leaf.pem: OK\n", taken, "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openssl_asks_for_a_status_over_http() {
    let (world, customer) = reachable().await;
    let (good, bad) = (customer.certificate(&world, "a.test").await, customer.certificate(&world, "b.test").await);
    customer.revoke(&bad, "affiliationChanged").await;
    let party = RelyingParty::of(&world, &good).await;
    party.write("good.pem", good.pem.as_bytes());
    party.write("bad.pem", bad.pem.as_bytes());
    let now = world.services.now().as_secs().to_string();
    let url = party.run(&["x509", "-in", "good.pem", "-noout", "-ocsp_uri"]);
    let common = [
        "ocsp",
        "-CAfile",
        "root.pem",
        "-verify_other",
        "issuer.pem",
        "-attime",
        &now,
        "-validity_period",
        "315360000",
    ];
    let whom = ["-url", url.trim(), "-issuer", "issuer.pem"];
    for (hash, nonce) in [("-sha1", "-nonce"), ("-sha256", "-nonce"), ("-sha1", "-no_nonce"), ("-sha256", "-no_nonce")]
    {
        let what = [nonce, hash, "-cert", "good.pem", hash, "-cert", "bad.pem"];
        let said = party.run(&[&common[..], &whom, &what].concat());
        assert!(said.contains("Response verify OK") && !said.contains("WARNING"), "{hash} {nonce}: {said}");
        assert!(said.contains("good.pem: good") && said.contains("bad.pem: revoked"), "{said}");
        assert!(said.contains("Reason: affiliationChanged"), "{said}");
    }
}

/// `openssl ocsp` only posts. Clients that get send base64 with its own slashes and pluses, or percent signs for them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_is_got_over_http_whatever_is_in_the_path() {
    let (world, customer) = reachable().await;
    let held = customer.certificate(&world, "a.test").await;
    let party = RelyingParty::of(&world, &held).await;
    // Bits that are slashes and pluses in base64, wherever it begins to count.
    let serial = "5ffffffffbefbefbeefbefbefbbefbefbeffffff";
    let request = data_encoding::BASE64.encode(&party.ask(serial, &["-no_nonce"]));
    assert!(request.contains("//") && request.contains('+'), "{request}");
    let escaped = request.replace('+', "%2b").replace('/', "%2F").replace('=', "%3d");
    for path in [request, escaped] {
        let url = format!("{}/{path}", held.ocsp_url);
        let output = std::process::Command::new("curl").args(["-sSf", "--path-as-is", &url]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = party.judge(&output.stdout, serial, world.services.now(), &[]);
        assert!(said.contains("Response verify OK") && said.contains(": unknown"), "{path}: {said}");
    }
}
