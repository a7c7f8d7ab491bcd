//! `POST /oauth/token` where it gives a token.

use chancery_domain::ScopeSet;
use chancery_tests::{Reply, START, Tenant, World, on_both_databases};
use data_encoding::BASE64;
use http::Method;
use serde_json::{Value, json};

use crate::forge::parts;

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
/// In the order of the documented response.
const SCOPES: &str = "reseller read:order write:order read:authorization write:authorization read:certificate \
                      write:certificate read:challenge write:challenge read:account write:account \
                      read:event read:webhook write:webhook";

on_both_databases! {
    async fn a_token_is_given_as_the_seed_shows_it(world: World) {
        let tenant = world.tenant("DEMO").await;
        let reply = tenant.ask_token(json!({})).await;
        let body = reply.expect(200);
        let members: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["access_token", "expires_in", "scope", "token_type"]);
        assert_eq!(body["scope"], SCOPES);
        assert_eq!(body["expires_in"], json!(86_400));
        assert_eq!(body["token_type"], "Bearer");
        // RFC 6749 section 5.1.
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert_eq!(reply.header("pragma"), Some("no-cache"));
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert_eq!(admitted(&tenant, &reply).await, 200);
    }

    async fn a_token_has_the_claims_of_rfc_9068_and_ours(world: World) {
        let tenant = world.tenant("DEMO").await;
        let tokens = [tenant.ask_token(json!({})).await, tenant.ask_token(json!({})).await];
        let [(header, mut claims), (_, others)] = tokens.map(|reply| parts(&access_token(&reply)));

        assert_eq!(header["typ"], "at+jwt");
        assert_eq!(header["alg"], "ES256");
        assert_eq!(header["kid"], world.stranger().get("/.well-known/jwks.json").await.json()["keys"][0]["kid"]);
        let jti = claims.as_object_mut().unwrap().remove("jti").expect("RFC 9068 section 2.2");
        assert_ne!(jti, others["jti"]);
        let now = START.as_secs();
        assert_eq!(
            claims,
            json!({
                "iss": "https://ca.test/", "aud": "https://ca.test/v1", "sub": tenant.client_id,
                "azp": tenant.client_id, "client_id": tenant.client_id, "scope": SCOPES, "gty": "client-credentials",
                "iat": now, "exp": now + 86_400, "reseller_code": "DEMO",
            })
        );
    }

    async fn a_form_is_taken_as_well(world: World) {
        let tenant = world.tenant("DEMO").await;
        let form = form(&[("client_id", &tenant.client_id), ("client_secret", &tenant.client_secret)]);
        // RFC 6749 section 3.2: what is not understood is ignored, and a member without a value counts as left out.
        for form in [form.clone(), format!("{form}&scope=&nonsense=1&nonsense=2"), format!("&&{form}&")] {
            let reply = post(&world, &[FORM], &form).await;
            assert_eq!(reply.expect(200)["scope"], SCOPES, "{form}");
            assert_eq!(admitted(&tenant, &reply).await, 200);
        }
        let charset = ("content-type", "Application/X-WWW-Form-Urlencoded; charset=UTF-8");
        post(&world, &[charset], &form).await.expect(200);
    }

    async fn http_basic_is_taken_with_a_form_and_with_json(world: World) {
        let tenant = world.tenant("DEMO").await;
        let json = json!({"grant_type": "client_credentials", "audience": "https://ca.test/v1"}).to_string();
        let bodies = [(FORM, form(&[])), (("content-type", "application/json"), json)];
        // RFC 6749 section 2.3.1: both halves are form-encoded first. Who does not do it sends the same, for our
        // secrets have nothing to encode.
        let encoded = tenant.client_id.replace('_', "%5F");
        for id in [&tenant.client_id, &encoded] {
            let credentials = BASE64.encode(format!("{id}:{}", tenant.client_secret).as_bytes());
            for scheme in ["Basic", "basic", "BASIC"] {
                let authorization = format!("{scheme} {credentials}");
                for (content_type, body) in &bodies {
                    let reply = post(&world, &[*content_type, ("authorization", &authorization)], body).await;
                    assert_eq!(reply.expect(200)["token_type"], "Bearer");
                }
            }
        }
        // Naming the same client in the body is no second method.
        let authorization =
            format!("Basic {}", BASE64.encode(format!("{}:{}", tenant.client_id, tenant.client_secret).as_bytes()));
        let named = form(&[("client_id", &tenant.client_id)]);
        post(&world, &[FORM, ("authorization", &authorization)], &named).await.expect(200);
    }

    async fn a_further_member_of_json_is_ignored_and_null_counts_as_left_out(world: World) {
        let tenant = world.tenant("DEMO").await;
        let reply = tenant.ask_token(json!({"scope": Value::Null, "resource": ["x"], "nonsense": {"a": 1}})).await;
        assert_eq!(reply.expect(200)["scope"], SCOPES);
    }

    async fn a_client_is_a_client_of_one_reseller(world: World) {
        let (one, other) = (world.tenant("ONE").await, world.tenant("OTHER").await);
        one.post("/v1/account", json!({"customer_email": "a@example.com"})).await.expect(201);
        let further = world.client_of("ONE", ScopeSet::all()).await;
        assert_eq!(further.get("/v1/account").await.expect(200)["items"].as_array().unwrap().len(), 1);
        assert_eq!(other.get("/v1/account").await.expect(200)["items"].as_array().unwrap().len(), 0);
    }
}

fn access_token(reply: &Reply) -> String {
    reply.expect(200)["access_token"].as_str().unwrap().to_owned()
}

async fn admitted(tenant: &Tenant, granted: &Reply) -> u16 {
    let tenant = tenant.with_authorization(&format!("Bearer {}", access_token(granted)));
    tenant.get("/v1/account").await.status.as_u16()
}

async fn post(world: &World, headers: &[(&str, &str)], body: &str) -> Reply {
    world.stranger().raw(Method::POST, "/oauth/token", headers, body.as_bytes().to_vec()).await
}

fn form(further: &[(&str, &str)]) -> String {
    let mut form = "grant_type=client_credentials&audience=https%3A%2F%2Fca.test%2Fv1".to_owned();
    for (name, value) in further {
        form.push_str(&format!("&{name}={value}"));
    }
    form
}
