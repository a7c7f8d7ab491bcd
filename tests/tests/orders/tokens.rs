//! CAs whose keys are in a token, which is away.

use chancery_service::{Job, JobKind, ServiceError};
use chancery_store::{SEALED_COLUMNS, SealedValue, Tx};
use chancery_tests::{World, lookup, on_both_databases};
use chancery_workers::Workers;
use serde_json::Value;

use crate::common::{finalized, order_path, revocation_path, stage, text};

/// Puts the keys of all CAs into a token that nobody has. Gives what was there.
async fn put_keys_into_a_token(world: &World) -> Vec<(SealedValue, Vec<u8>)> {
    let (column, keyring) =
        (*SEALED_COLUMNS.iter().find(|column| column.table == "issuers").unwrap(), world.keyring.clone());
    let put = move |tx: &mut Tx<'_>| {
        let mut put = Vec::new();
        for was in tx.sealed_values(column, "", 100)? {
            let sealed = keyring.seal(&column.context(&was.id), b"pkcs11:id=%01%AB");
            assert!(tx.replace_sealed(column, &was.id, &was.sealed, &sealed)?);
            put.push((was, sealed));
        }
        Ok::<_, ServiceError>(put)
    };
    let put = world.store.write(put).await.unwrap();
    world.services.authority.reload().await.unwrap();
    put
}

async fn put_them_back(world: &World, keys: Vec<(SealedValue, Vec<u8>)>) {
    let column = *SEALED_COLUMNS.iter().find(|column| column.table == "issuers").unwrap();
    let put = move |tx: &mut Tx<'_>| {
        for (was, sealed) in &keys {
            assert!(tx.replace_sealed(column, &was.id, sealed, &was.sealed)?);
        }
        Ok::<_, ServiceError>(())
    };
    world.store.write(put).await.unwrap();
    world.services.authority.reload().await.unwrap();
}

/// Begins the job of an order for the so-manieth time.
async fn begin(world: &World, order: &Value, attempts: i64) {
    let job = Job { kind: JobKind::Issue, subject: lookup(order), attempts, reseller: None };
    Workers::new(world.services.clone(), None, world.clock.clone()).work(job).await;
}

on_both_databases! {
    async fn an_order_outlasts_a_token_that_is_away_for_long(world: World) {
        let (tenant, account) = stage(&world).await;
        let keys = put_keys_into_a_token(&world).await;
        let order = finalized(&world, &tenant, &account, &["a.test"]).await;
        for attempts in [1, 9, 240] {
            begin(&world, &order, attempts).await;
            let seen = tenant.get(&order_path(&order)).await.expect(200);
            assert_eq!((&seen["status"], &seen["error"]), (&"processing".into(), &Value::Null), "{attempts}");
        }
        put_them_back(&world, keys).await;
        begin(&world, &order, 8).await;
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "valid");
    }

    async fn what_needs_no_token_is_not_begun_that_often(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = finalized(&world, &tenant, &account, &["a.test"]).await;
        begin(&world, &order, 9).await;
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "invalid");
    }

    async fn i6_an_order_does_not_wait_for_a_token_for_ever(world: World) {
        let (tenant, account) = stage(&world).await;
        put_keys_into_a_token(&world).await;
        let order = finalized(&world, &tenant, &account, &["a.test"]).await;
        begin(&world, &order, 1).await;
        begin(&world, &order, 241).await;
        let ended = tenant.get(&order_path(&order)).await.expect(200);
        assert_eq!(ended["status"], "invalid");
        assert!(!text(&ended["error"], "detail").contains("token"), "that is nobody else's business: {ended}");
    }

    async fn what_is_served_without_a_signature_is_served(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = finalized(&world, &tenant, &account, &["a.test"]).await;
        begin(&world, &order, 1).await;
        let valid = tenant.get(&order_path(&order)).await.expect(200);
        assert_eq!(valid["status"], "valid");
        put_keys_into_a_token(&world).await;
        let certificate = format!("/v1/certificate/{}", text(&valid, "certificateLookup"));
        assert_eq!(tenant.get(&certificate).await.status, 200);
        tenant.post(&revocation_path(&order), serde_json::json!({"reason": "superseded"})).await.expect(202);
        // A list that cannot be made is not the end of those who look after lists.
        world.services.publication.look().await.unwrap();
    }
}
