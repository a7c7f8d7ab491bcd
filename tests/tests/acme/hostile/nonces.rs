//! Nonces (RFC 8555 section 6.5): each is good once, here, and not for ever.

use std::time::Duration;

use chancery_jose::base64url;
use chancery_testkit::Address;
use chancery_tests::{World, on_both_databases, settings};
use http::Method;
use serde_json::json;

use super::common::{refused, signed, stage, with};

on_both_databases! {
    async fn a_nonce_is_taken_once_and_only_if_it_is_ours_and_fresh(world: World) {
        let (_, _, client) = stage(&world).await;
        let url = client.kid.clone().unwrap();
        let header = with(client.header(&url).await, json!({"nonce": null}));
        refused(&client.send(&url, header, b"").await, 400, "badNonce", "no `nonce`");

        let header = client.header(&url).await;
        client.send(&url, header.clone(), b"").await.expect(200);
        let reply = client.send(&url, header.clone(), b"").await;
        refused(&reply, 400, "badNonce", "used before");
        // The nonce of the refusal is the way out of it.
        let fresh = reply.header("replay-nonce").unwrap();
        client.send(&url, with(header, json!({"nonce": fresh})), b"").await.expect(200);

        let own = client.nonce().await;
        let altered = if own.starts_with('A') { own.replacen('A', "B", 1) } else { format!("A{}", &own[1..]) };
        // As another service would make it: of the same shape.
        let mut foreign = base64url::decode(&own).unwrap();
        foreign[24..].fill(7);
        for nonce in [&altered, &base64url::encode(&foreign), "AAAA", "", &format!("{own}AAAA")] {
            let header = with(client.header(&url).await, json!({"nonce": nonce}));
            refused(&client.send(&url, header, b"").await, 400, "badNonce", "not one of ours");
        }

        let header = client.header(&url).await;
        world.advance(Duration::from_secs(3600));
        refused(&client.send(&url, header, b"").await, 400, "badNonce", "too old");
    }

    async fn a_nonce_of_an_earlier_start_is_not_taken_from_a_client_that_had_used_it(world: World) {
        let (_, _, client) = stage(&world).await;
        let url = client.kid.clone().unwrap();
        let header = client.header(&url).await;
        client.send(&url, header.clone(), b"").await.expect(200);
        let node = world.another_node(settings(), Vec::new()).await;
        let client = client.speaking_to(node.stranger());
        let reply = client.send(&url, header.clone(), b"").await;
        refused(&reply, 400, "badNonce", "use the one in the header Replay-Nonce");
        let fresh = reply.header("replay-nonce").unwrap();
        client.send(&url, with(header, json!({"nonce": fresh})), b"").await.expect(200);
    }
}

/// Several nodes serve from one database only where that is PostgreSQL.
mod nodes {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_nonce_is_taken_once_by_all_nodes_together() {
        let Some(world) = World::postgres().await else { return };
        let (_, _, client) = stage(&world).await;
        let node = world.another_node(settings(), Vec::new()).await;
        let url = client.kid.clone().unwrap();
        for _ in 0..20 {
            let body = signed(client.header(&url).await, b"", &client.key).to_string().into_bytes();
            let (here, there) = (world.stranger(), node.stranger());
            let headers = [("content-type", "application/jose+json")];
            let path = chancery_tests::path(&url);
            let (one, two) = tokio::join!(
                here.raw(Method::POST, path, &headers, body.clone()),
                there.raw(Method::POST, path, &headers, body.clone()),
            );
            let mut seen = [one.status.as_u16(), two.status.as_u16()];
            seen.sort_unstable();
            assert_eq!(seen, [200, 400], "{} {}", one.text(), two.text());
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_nonce_of_one_node_is_good_at_another_and_forgotten_in_time() {
        let Some(world) = World::postgres().await else { return };
        let (_, _, client) = stage(&world).await;
        let node = world.another_node(settings(), Vec::new()).await;
        let url = client.kid.clone().unwrap();
        let header = client.header(&url).await;
        let client = client.speaking_to(node.stranger());
        client.send(&url, header.clone(), b"").await.expect(200);
        let client = client.speaking_to(world.stranger());
        refused(&client.send(&url, header.clone(), b"").await, 400, "badNonce", "used before");
        assert_eq!(world.services.acme.sweep().await.unwrap(), 0);
        world.advance(Duration::from_secs(3601));
        // The clock of another node may be behind.
        assert_eq!(world.services.acme.sweep().await.unwrap(), 0);
        world.advance(Duration::from_secs(600));
        // That of the registration, and this one.
        assert_eq!(world.services.acme.sweep().await.unwrap(), 2);
        refused(&client.send(&url, header, b"").await, 400, "badNonce", "too old");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_nonce_from_before_a_recovery_of_the_database_is_taken() {
        let Some(world) = World::postgres().await else { return };
        let (_, _, mut client) = stage(&world).await;
        let node = world.another_node(settings(), Vec::new()).await;
        let (account, new_account) = (client.kid.clone().unwrap(), client.url("newAccount"));
        let of_account = client.header(&account).await;
        let of_key =
            with(client.header(&new_account).await, json!({"kid": null, "jwk": client.key.public().to_value()}));
        let requests =
            [(&account, of_account, b"".as_slice()), (&new_account, of_key, br#"{"onlyReturnExisting": true}"#)];
        for (url, header, payload) in &requests {
            client.send(url, header.clone(), payload).await.expect(200);
        }
        forget_redeemed(&world);
        for reached in [world.stranger(), node.stranger()] {
            client = client.speaking_to(reached);
            for (url, header, payload) in &requests {
                let reply = client.send(url, header.clone(), payload).await;
                refused(&reply, 400, "badNonce", "the database has recovered");
                // The first nonce that comes with a refusal is good.
                let fresh = json!({"nonce": reply.header("replay-nonce").unwrap()});
                client.send(url, with(header.clone(), fresh), payload).await.expect(200);
            }
        }
    }

    /// What PostgreSQL does to its tables when it recovers, if it had lost every nonce that was redeemed.
    fn forget_redeemed(world: &World) {
        let Address::Postgres(address) = world.store.address() else { panic!("it is PostgreSQL") };
        let forget = "TRUNCATE acme_nonce_generation; TRUNCATE acme_nonces";
        // The driver blocks, which it may not do on a thread of a runtime.
        let forgotten = std::thread::spawn(move || {
            ::postgres::Client::connect(&address, ::postgres::NoTls).unwrap().batch_execute(forget).unwrap();
        });
        forgotten.join().unwrap();
    }
}
