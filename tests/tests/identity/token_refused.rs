//! `POST /oauth/token` where it gives none: the errors of RFC 6749 section 5.2.

use chancery_domain::PageRequest;
use chancery_service::Services;
use chancery_store::AuditFilter;
use chancery_tests::{Reply, Tenant, World, on_both_databases};
use data_encoding::BASE64;
use http::Method;
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

on_both_databases! {
    async fn a_client_that_is_not_known_is_an_invalid_client(world: World) {
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let altered = format!("{}x", tenant.client_secret);
        let shorter = &tenant.client_secret[..tenant.client_secret.len() - 1];
        let unknown = "cli_00000000000000000000000000";
        for replaced in [
            json!({"client_secret": altered}),
            json!({"client_secret": shorter}),
            json!({"client_secret": ""}),
            json!({"client_secret": other.client_secret}),
            json!({"client_secret": Value::Null}),
            json!({"client_id": Value::Null}),
            json!({"client_id": ""}),
            json!({"client_id": unknown}),
            json!({"client_id": other.client_id}),
            json!({"client_id": tenant.client_id.to_uppercase()}),
            json!({"client_id": "'; DROP TABLE clients; --"}),
            json!({"client_id": "x".repeat(8000)}),
            // The client comes first: what it asks for is not looked at before it is known.
            json!({"client_secret": altered, "audience": "elsewhere", "scope": "everything"}),
        ] {
            let reply = tenant.ask_token(replaced.clone()).await;
            assert_eq!(refusal(&reply), (401, "invalid_client".to_owned()), "{replaced}");
        }
    }

    async fn every_other_error_is_a_bad_request_by_its_name(world: World) {
        let tenant = world.tenant_with("DEMO", "reseller read:account".parse().unwrap()).await;
        for (replaced, error) in [
            (json!({"audience": Value::Null}), "invalid_request"),
            (json!({"audience": ""}), "invalid_request"),
            (json!({"audience": "https://ca.test/v1/"}), "invalid_request"),
            (json!({"audience": "https://elsewhere.test/v1"}), "invalid_request"),
            (json!({"audience": ["https://ca.test/v1"]}), "invalid_request"),
            (json!({"client_secret": 7}), "invalid_request"),
            (json!({"client_id": "demo\u{0}"}), "invalid_request"),
            (json!({"grant_type": Value::Null}), "invalid_request"),
            (json!({"grant_type": "password"}), "unsupported_grant_type"),
            (json!({"grant_type": "authorization_code"}), "unsupported_grant_type"),
            (json!({"grant_type": "Client_Credentials"}), "unsupported_grant_type"),
            (json!({"grant_type": ""}), "unsupported_grant_type"),
            (json!({"scope": "admin"}), "invalid_scope"),
            (json!({"scope": "reseller write:account"}), "invalid_scope"),
            (json!({"scope": "RESELLER"}), "invalid_scope"),
            (json!({"scope": "reseller,read:account"}), "invalid_scope"),
        ] {
            let reply = tenant.ask_token(replaced.clone()).await;
            assert_eq!(refusal(&reply), (400, error.to_owned()), "{replaced}");
        }
    }

    async fn what_the_audience_must_be_is_said(world: World) {
        let tenant = world.tenant("DEMO").await;
        for replaced in [json!({"audience": Value::Null}), json!({"audience": "elsewhere"})] {
            let said = tenant.ask_token(replaced).await.expect(400)["error_description"].to_string();
            assert!(said.contains("https://ca.test/v1"), "{said}");
        }
    }

    async fn garbage_is_an_invalid_request(world: World) {
        let tenant = world.tenant("DEMO").await;
        let whole = whole(&tenant);
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let twice = format!(r#"{{"grant_type":"client_credentials",{}"#, &whole[1..]);
        let large = format!(r#"{{"padding":"{}",{}"#, "x".repeat(20_000), &whole[1..]);
        let cut = &whole[..whole.len() - 1];
        for body in ["", "{", "null", "[]", "\"x\"", "7", "{}{}", "\u{feff}{}", cut, &deep, &twice, &large] {
            let reply = post(&world, &[JSON], body.as_bytes()).await;
            assert_eq!(refusal(&reply), (400, "invalid_request".to_owned()), "{}", &body[..body.len().min(80)]);
        }
        for bytes in [&b"\xff\xfe"[..], b"{\"client_id\": \"\xc3\x28\"}", b"\0", &[b'x'; 1_000_000]] {
            for content_type in [JSON, FORM] {
                let (status, error) = refusal(&post(&world, &[content_type], bytes).await);
                assert_eq!((status, error.as_str()), (400, "invalid_request"));
            }
        }
        // The same bytes that would do as JSON, under another name or none.
        for headers in [&[][..], &[("content-type", "text/plain")], &[("content-type", "application/jsonx")]] {
            let reply = post(&world, headers, whole.as_bytes()).await;
            assert_eq!(refusal(&reply), (400, "invalid_request".to_owned()), "{headers:?}");
        }
        assert_eq!(tenant.get("/oauth/token").await.status, 405);
    }

    async fn what_holds_for_every_body_holds_for_this_one(world: World) {
        let tenant = world.tenant("DEMO").await;
        let whole = whole(&tenant);
        for (content_type, body) in [(JSON, whole.clone()), (FORM, form(&tenant))] {
            for coding in ["gzip", "GZIP", "br", "identity, gzip", ""] {
                let reply = post(&world, &[content_type, ("content-encoding", coding)], body.as_bytes()).await;
                assert_eq!(refusal(&reply), (415, "invalid_request".to_owned()), "{coding}");
            }
            post(&world, &[content_type, ("content-encoding", "Identity")], body.as_bytes()).await.expect(200);
        }
        let nested = |lists| format!(r#"{{"x":{}{},{}"#, "[".repeat(lists), "]".repeat(lists), &whole[1..]);
        post(&world, &[JSON], nested(31).as_bytes()).await.expect(200);
        let Tenant { client_id, client_secret, .. } = &tenant;
        let list = json!(["client_credentials", client_id, client_secret, "https://ca.test/v1", null]).to_string();
        let twice = format!(r#"{{"x":1,"x":1,{}"#, &whole[1..]);
        for body in [nested(32), nested(100), list, twice] {
            let reply = post(&world, &[JSON], body.as_bytes()).await;
            assert_eq!(refusal(&reply), (400, "invalid_request".to_owned()), "{body}");
        }
    }

    async fn a_member_that_stands_twice_in_a_form_is_refused(world: World) {
        let tenant = world.tenant("DEMO").await;
        let form = form(&tenant);
        post(&world, &[FORM], form.as_bytes()).await.expect(200);
        for member in form.split('&') {
            let reply = post(&world, &[FORM], format!("{form}&{member}").as_bytes()).await;
            assert_eq!(refusal(&reply), (400, "invalid_request".to_owned()), "{member}");
        }
    }

    async fn two_ways_of_showing_the_client_are_one_too_many(world: World) {
        let tenant = world.tenant("DEMO").await;
        let basic = basic(&tenant.client_id, &tenant.client_secret);
        let authorization = ("authorization", basic.as_str());
        for (content_type, body) in [(FORM, form(&tenant)), (JSON, whole(&tenant))] {
            let reply = post(&world, &[content_type, authorization], body.as_bytes()).await;
            assert_eq!(refusal(&reply), (400, "invalid_request".to_owned()));
        }
        let bare = "grant_type=client_credentials&audience=https%3A%2F%2Fca.test%2Fv1";
        let other = format!("{bare}&client_id=cli_00000000000000000000000000");
        let reply = post(&world, &[FORM, authorization], other.as_bytes()).await;
        assert_eq!(refusal(&reply), (400, "invalid_request".to_owned()), "another client in the body");
        let reply = post(&world, &[FORM, authorization, authorization], bare.as_bytes()).await;
        assert_eq!(refusal(&reply), (400, "invalid_request".to_owned()), "two Authorization headers");
    }

    async fn a_header_that_is_not_http_basic_is_an_invalid_client(world: World) {
        let tenant = world.tenant("DEMO").await;
        let bare = "grant_type=client_credentials&audience=https%3A%2F%2Fca.test%2Fv1";
        let no_colon = format!("Basic {}", BASE64.encode(tenant.client_id.as_bytes()));
        let wrong = basic(&tenant.client_id, "chs_wrong");
        let bearer = format!("Bearer {}", tenant.client_secret);
        for authorization in ["Basic", "Basic !!!", "Basic ", "Basic /////w==", &no_colon, &wrong, &bearer] {
            let reply = post(&world, &[FORM, ("authorization", authorization)], bare.as_bytes()).await;
            assert_eq!(refusal(&reply), (401, "invalid_client".to_owned()), "{authorization}");
        }
    }

    async fn a_suspended_reseller_has_unauthorized_clients(world: World) {
        let tenant = world.tenant("DEMO").await;
        world.services.operator.set_reseller_suspended("DEMO", true).await.unwrap();
        assert_eq!(refusal(&tenant.ask_token(json!({})).await), (400, "unauthorized_client".to_owned()));
        // That is told to the client itself and to nobody else.
        let wrong = tenant.ask_token(json!({"client_secret": "chs_wrong"})).await;
        assert_eq!(refusal(&wrong), (401, "invalid_client".to_owned()));
        world.services.operator.set_reseller_suspended("DEMO", false).await.unwrap();
        tenant.ask_token(json!({})).await.expect(200);
    }

    async fn a_secret_that_was_sent_is_never_repeated(world: World) {
        let tenant = world.tenant("DEMO").await;
        let secret = "chs_AttemptedByMistake";
        let broken = format!(r#"{{"client_id": "x", "client_secret": {secret}"#);
        let numeric = json!({"client_secret": {secret: secret}});
        for reply in [
            tenant.ask_token(json!({"client_secret": secret})).await,
            tenant.ask_token(numeric).await,
            post(&world, &[JSON], broken.as_bytes()).await,
            post(&world, &[FORM], format!("{}&client_secret={secret}", form(&tenant)).as_bytes()).await,
            post(&world, &[FORM, ("authorization", &basic(&tenant.client_id, secret))], b"").await,
        ] {
            assert!(reply.status.is_client_error() && !reply.text().contains(secret), "{}", reply.text());
        }
        let trail = audit_trail(&world.services).await;
        assert!(trail.contains("POST /oauth/token") && trail.contains("invalid_client"), "{trail}");
        assert!(!trail.contains(secret) && !trail.contains(&tenant.client_secret), "{trail}");
    }
}

/// Status and error of a refusal that keeps to RFC 6749 section 5.2 in everything else.
#[track_caller]
fn refusal(reply: &Reply) -> (u16, String) {
    let body = reply.json();
    assert_eq!(body.as_object().unwrap().len(), 2, "{body}");
    assert!(body["error_description"].as_str().is_some_and(|said| !said.is_empty()), "{body}");
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let challenge = reply.header("www-authenticate");
    assert_eq!(challenge, (reply.status == 401).then_some("Basic realm=\"chancery\""), "{body}");
    (reply.status.as_u16(), body["error"].as_str().unwrap().to_owned())
}

async fn post(world: &World, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    world.stranger().raw(Method::POST, "/oauth/token", headers, body.to_vec()).await
}

fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", BASE64.encode(format!("{id}:{secret}").as_bytes()))
}

fn form(tenant: &Tenant) -> String {
    let Tenant { client_id, client_secret, .. } = tenant;
    let what = "grant_type=client_credentials&audience=https%3A%2F%2Fca.test%2Fv1&scope=reseller";
    format!("{what}&client_id={client_id}&client_secret={client_secret}")
}

fn whole(tenant: &Tenant) -> String {
    json!({
        "client_id": tenant.client_id, "client_secret": tenant.client_secret,
        "audience": "https://ca.test/v1", "grant_type": "client_credentials",
    })
    .to_string()
}

/// Everything that was written down, after the refusals on their way have been.
async fn audit_trail(services: &Services) -> String {
    services.audit.run(async {}).await;
    let page = PageRequest { limit: 1000, after: None };
    let records = services.audit.list(AuditFilter::default(), page).await.unwrap();
    format!("{records:?}")
}
