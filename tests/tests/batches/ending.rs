//! Accounts that very much ends with, customers' and those of ACME.

use chancery_domain::{AccountId, AcmeAccountId, OrderId, OrderStatus, PageRequest};
use chancery_store::Tx;
use chancery_testkit::Builders;
use chancery_tests::{AcmeClient, Tenant, World, lookup, on_both_databases};
use serde_json::json;

use crate::common::{cascades, finish, orders, small_transactions, trail};

/// More orders than are reached while the caller waits: twenty batches of 25.
const MANY: usize = 600;

async fn open_orders(world: &World, tenant: &Tenant, account: &str, names: &[&str], count: usize) {
    let order: OrderId = lookup(&tenant.make_order(account, names).await).parse().unwrap();
    world.copy_order(order, count - 1).await;
    world.store.take_write_peaks();
}

/// Further credentials of an account, and ACME accounts bound by its first one.
async fn bind(world: &World, tenant: &Tenant, account: AccountId, count: usize) {
    let (make, code) = (Builders::seeded(99), tenant.code.clone());
    let bind = move |tx: &mut Tx<'_>| {
        let reseller = tx.reseller_by_code(&code)?.unwrap().id;
        let account = tx.account(reseller, account)?.unwrap();
        for _ in 0..count {
            let number = tx.next_account_number()?;
            tx.insert_credential(&chancery_domain::EabCredential { number, ..make.credential(&account) }, &[0; 96])?;
            let now = make.now();
            let id = AcmeAccountId::new(now, make.entropy());
            tx.insert_acme_account(&chancery_domain::AcmeAccount {
                id,
                reseller,
                account: account.id,
                kid: account.kid,
                jwk: "{}".to_owned(),
                thumbprint: id.to_string(),
                contacts: Vec::new(),
                terms_agreed_at: None,
                state: chancery_domain::AcmeAccountState::Active,
                created_at: now,
                updated_at: now,
                version: 1,
            })?;
        }
        Ok::<_, chancery_store::StoreError>(())
    };
    world.store.write(bind).await.unwrap();
    world.store.take_write_peaks();
}

/// How many credentials of the account are not revoked, and how many of its ACME accounts are active.
async fn live(world: &World, tenant: &Tenant, account: AccountId) -> (usize, usize) {
    let code = tenant.code.clone();
    let count = move |tx: &mut Tx<'_>| {
        let reseller = tx.reseller_by_code(&code)?.unwrap().id;
        let kid = tx.account(reseller, account)?.unwrap().kid;
        let page = PageRequest { after: None, limit: 1000 };
        let credentials = tx.credentials_of_account(account, &page)?.items;
        let bound = tx.bound_acme_accounts(kid, 1000)?;
        let bound = bound.into_iter().map(|id| tx.acme_account(id)).collect::<Result<Vec<_>, _>>()?;
        let live = credentials.iter().filter(|credential| credential.revoked_at.is_none()).count();
        let active = bound.iter().flatten().filter(|account| account.require_active().is_ok()).count();
        Ok::<_, chancery_store::StoreError>((live, active))
    };
    world.store.read(count).await.unwrap()
}

on_both_databases! {
    async fn a_terminated_account_is_over_before_a_batch_has_reached_its_orders(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        open_orders(&world, &tenant, &account, &["a.test"], MANY).await;
        tenant.delete(&format!("/v1/account/{account}")).await.expect(200);
        small_transactions(&world);
        assert_eq!(cascades(&world).await, 1);
        let left = orders(&world, &tenant, OrderStatus::Pending).await;
        assert!((1..MANY).contains(&left), "{left} orders are left");
        // The account is gone, its address is free, and no order of it can be had, finalized or cancelled any more.
        let seen = tenant.get(&format!("/v1/account/{account}")).await.expect(200);
        assert_eq!((&seen["status"], &seen["revoked"]), (&json!("terminated"), &json!(true)), "{seen}");
        tenant.make_account("a@example.com").await;
        let open = tenant.get("/v1/order?status=pending&limit=1").await.expect(200);
        let path = format!("/v1/order/{}", lookup(&open["items"][0]));
        assert_eq!(tenant.delete(&path).await.status, 410);
        assert_eq!(tenant.post_empty(&format!("{path}/finalize")).await.refusal(410), "account_terminated");
        assert_eq!(tenant.delete(&format!("/v1/account/{account}")).await.status, 404);
        finish(&world).await;
        small_transactions(&world);
        assert_eq!(orders(&world, &tenant, OrderStatus::Cancelled).await, MANY);
        let [whole] = &trail(&world, "account.terminate").await[..] else { panic!("one line tells of it") };
        let told = trail(&world, "order.cancel").await;
        assert_eq!(told.len(), MANY);
        assert!(told.iter().all(|line| (&line.request_id, &line.actor) == (&whole.request_id, &whole.actor)));
        assert!(told.iter().all(|line| line.detail.contains(r#""because":"account.terminate""#)));
    }

    async fn orders_with_a_hundred_names_are_cancelled_one_at_a_time(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let names: Vec<_> = (0..100).map(|number| format!("n{number}.test")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        open_orders(&world, &tenant, &account, &names, 6).await;
        tenant.delete(&format!("/v1/account/{account}")).await.expect(200);
        small_transactions(&world);
        assert_eq!((orders(&world, &tenant, OrderStatus::Cancelled).await, cascades(&world).await), (6, 0));
        let shown = tenant.get("/v1/order?limit=6").await.expect(200);
        for order in shown["items"].as_array().unwrap() {
            let all = order["authorizations"].as_array().unwrap();
            assert!(all.len() == 100 && all.iter().all(|each| each["status"] == "deactivated"), "{order}");
        }
    }

    async fn credentials_groups_certificates_and_acme_accounts_end_with_an_account(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let id: AccountId = account.parse().unwrap();
        let mut groups = Vec::new();
        for number in 0..70 {
            groups.push(tenant.make_group(&format!("g{number}")).await);
            tenant.add_members(groups.last().unwrap(), std::slice::from_ref(&account)).await.expect(200);
        }
        let issued = world.issue(&tenant, &account, &["a.test"]).await;
        world.copy_order(lookup(&issued).parse().unwrap(), 130).await;
        bind(&world, &tenant, id, 130).await;
        let client = AcmeClient::registered(&world, &tenant.post_empty(&format!("/v1/account/{account}/eab-credential")).await.expect(201)).await;
        world.store.take_write_peaks();
        tenant.delete(&format!("/v1/account/{account}?revoke_certificates=true")).await.expect(200);
        small_transactions(&world);
        assert_eq!(client.read(client.kid.as_ref().unwrap()).await.status, 403);
        finish(&world).await;
        small_transactions_or_none(&world);
        assert_eq!(live(&world, &tenant, id).await, (0, 0));
        assert_eq!(trail(&world, "certificate.revoke").await.len(), 131);
        let revoked = tenant.get("/v1/certificates?certificate_status=revoked&limit=1000").await.expect(200);
        assert_eq!(revoked["items"].as_array().unwrap().len(), 131);
        for group in groups {
            assert_eq!(tenant.get(&format!("/v1/account-group/{group}")).await.expect(200)["memberCount"], 0);
        }
        assert_eq!(tenant.get(&format!("/v1/account/{account}")).await.expect(200)["groups"], json!([]));
    }

    async fn certificates_are_revoked_before_orders_are_cancelled(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let issued = world.issue(&tenant, &account, &["a.test"]).await;
        world.copy_order(lookup(&issued).parse().unwrap(), 59).await;
        open_orders(&world, &tenant, &account, &["b.test"], MANY).await;
        tenant.delete(&format!("/v1/account/{account}?revoke_certificates=true")).await.expect(200);
        assert_eq!(trail(&world, "certificate.revoke").await.len(), 60);
        assert!(orders(&world, &tenant, OrderStatus::Pending).await > 0, "some orders are left");
        finish(&world).await;
        small_transactions(&world);
        assert_eq!(trail(&world, "certificate.revoke").await.len(), 60);
        assert_eq!(orders(&world, &tenant, OrderStatus::Pending).await, 0);
    }

    async fn a_deactivated_acme_account_is_over_before_a_batch_has_reached_its_orders(world: World) {
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        let client = AcmeClient::registered(&world, &credential).await;
        let other = AcmeClient::registered(&world, &tenant.post_empty(&format!("/v1/account/{}/eab-credential", lookup(&credential))).await.expect(201)).await;
        let (url, _) = client.order(&["a.test"]).await;
        world.copy_order(url.rsplit('/').next().unwrap().parse().unwrap(), MANY - 1).await;
        let (kept, _) = other.order(&["a.test"]).await;
        world.store.take_write_peaks();
        let account = client.kid.clone().unwrap();
        assert_eq!(client.post(&account, &json!({"status": "deactivated"})).await.expect(200)["status"], "deactivated");
        small_transactions(&world);
        assert_eq!(cascades(&world).await, 1);
        assert_eq!(client.read(&url).await.status, 401);
        finish(&world).await;
        small_transactions(&world);
        assert_eq!(orders(&world, &tenant, OrderStatus::Cancelled).await, MANY);
        assert_eq!(other.read(&kept).await.expect(200)["status"], "pending");
    }

    async fn revoking_a_credential_and_suspending_an_account_change_a_few_rows(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = tenant.make_account("a@example.com").await;
        let id = lookup(&account);
        open_orders(&world, &tenant, &id, &["a.test"], 300).await;
        bind(&world, &tenant, id.parse().unwrap(), 300).await;
        tenant.patch(&format!("/v1/account/{id}"), json!({"suspended": true})).await.expect(200);
        tenant.delete(&format!("/v1/eab-credential/{}", account["kid"].as_str().unwrap())).await.expect(200);
        let rows = world.store.take_write_peaks().rows;
        assert!(rows <= 6, "{rows} rows");
    }

    async fn giving_up_a_challenge_changes_the_rows_of_its_order(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let names: Vec<_> = (0..100).map(|number| format!("n{number}.test")).collect();
        let order = tenant.make_order(&account, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        world.copy_order(lookup(&order).parse().unwrap(), 50).await;
        let challenge = lookup(&tenant.codes(&lookup(&order["authorizations"][0])).await[0]);
        world.store.take_write_peaks();
        tenant.delete(&format!("/v1/challenge/{challenge}")).await.expect(200);
        small_transactions(&world);
        assert_eq!(orders(&world, &tenant, OrderStatus::Cancelled).await, 1);
    }
}

fn small_transactions_or_none(world: &World) {
    let rows = world.store.take_write_peaks().rows;
    assert!(rows <= 105, "one transaction has changed {rows} rows");
}
