//! A client's secret is replaced without an outage.

use chancery_domain::ClientId;
use chancery_service::ServiceError;
use chancery_service::identity::hash_secret;
use chancery_store::StoreError;
use chancery_tests::{Tenant, on_both_databases};
use serde_json::json;

on_both_databases! {
    async fn both_secrets_work_until_the_rotation_is_finished(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (id, old) = (client_id(&tenant), tenant.client_secret.clone());
        let elsewhere = world.another_node(chancery_tests::settings(), Vec::new()).await;
        let nodes = [tenant.clone(), elsewhere.hears(&tenant)];
        for node in &nodes {
            assert_eq!(with_secret(node, &old).await, 200);
        }

        let new = world.services.operator.begin_rotation(id).await.unwrap().secret.reveal().to_owned();
        assert_ne!(old, new);
        // Whoever pastes what the command printed need not wait, whichever node answers.
        for node in &nodes {
            assert_eq!(with_secret(node, &new).await, 200);
            assert_eq!(with_secret(node, &old).await, 200);
        }

        world.services.operator.finish_rotation(id).await.unwrap();
        for node in &nodes {
            assert_eq!(with_secret(node, &old).await, 401);
            assert_eq!(with_secret(node, &new).await, 200);
        }
        // A token is not a secret: what the old one was exchanged for goes on.
        tenant.get("/v1/account").await.expect(200);
    }

    async fn there_are_never_three_secrets_and_never_none(world: World) {
        let tenant = world.tenant("DEMO").await;
        let operator = &world.services.operator;
        let id = client_id(&tenant);
        assert!(matches!(operator.finish_rotation(id).await, Err(ServiceError::Invalid(_))));
        assert_eq!(with_secret(&tenant, &tenant.client_secret).await, 200);

        let second = operator.begin_rotation(id).await.unwrap();
        assert_eq!(second.client.secrets.len(), 2);
        assert!(matches!(operator.begin_rotation(id).await, Err(ServiceError::Invalid(_))));
        assert_eq!(with_secret(&tenant, &tenant.client_secret).await, 200);
        assert_eq!(with_secret(&tenant, second.secret.reveal()).await, 200);

        assert_eq!(operator.finish_rotation(id).await.unwrap().secrets.len(), 1);
        assert!(matches!(operator.finish_rotation(id).await, Err(ServiceError::Invalid(_))));
        assert_eq!(with_secret(&tenant, second.secret.reveal()).await, 200);
        // And round again.
        let third = operator.begin_rotation(id).await.unwrap();
        assert_eq!(with_secret(&tenant, third.secret.reveal()).await, 200);
    }

    async fn two_who_rotate_at_once_do_not_both_get_a_secret(world: World) {
        let tenant = world.tenant("DEMO").await;
        let id = client_id(&tenant);
        let other = world.another_node(chancery_tests::settings(), Vec::new()).await;
        let (here, there) =
            tokio::join!(world.services.operator.begin_rotation(id), other.services.operator.begin_rotation(id));
        let made: Vec<_> = [here, there].into_iter().flatten().collect();
        let [made] = &made[..] else { panic!("{} secrets were made", made.len()) };
        assert_eq!(with_secret(&tenant, made.secret.reveal()).await, 200);
        assert_eq!(with_secret(&tenant, &tenant.client_secret).await, 200);
    }

    async fn a_secret_is_long_random_recognisable_and_kept_only_as_a_hash(world: World) {
        let (one, other) = (world.tenant("ONE").await, world.tenant("OTHER").await);
        assert_ne!(one.client_secret, other.client_secret);
        let random = one.client_secret.strip_prefix("chs_").expect("a prefix that scanners know");
        assert_eq!(data_encoding::BASE64URL_NOPAD.decode(random.as_bytes()).unwrap().len() * 8, 256);
        let id = client_id(&one);
        let kept: Result<_, StoreError> = world.store.read(move |tx| tx.client(id)).await;
        let kept = kept.unwrap().unwrap().secrets;
        assert_eq!(kept.len(), 1);
        assert!(kept[0].hash.matches(&hash_secret(&one.client_secret)));
        assert!(kept[0].hash.0[..] != random.as_bytes()[..32], "the secret itself is kept");
    }
}

fn client_id(tenant: &Tenant) -> ClientId {
    tenant.client_id.parse().unwrap()
}

async fn with_secret(tenant: &Tenant, secret: &str) -> u16 {
    tenant.ask_token(json!({"client_secret": secret})).await.status.as_u16()
}
