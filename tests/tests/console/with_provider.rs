//! Signing in through an external provider: who is let in, and which lies of the provider or of others are not believed.

use std::time::Duration;

use chancery_domain::{PageRequest, ScopeSet};
use chancery_jose::{Algorithm, HmacKey, SigningKey, jws};
use chancery_service::SpeaksFor;
use chancery_service::identity::hash_secret;
use chancery_store::AuditFilter;
use chancery_tests::{Node, Reply, START, on_both_databases, settings};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use serde_json::{Map, Value, json};

use crate::browser::Browser;
use crate::provider::{CLIENT, Hostile, REDIRECT, RESELLER_CLAIM, leave, sign_with};

const BACK: &str = "/console/sign-in/with/partners/return";
const SESSION: &str = "__Host-chancery-session";
const TICKET: &str = "__Host-chancery-sign-in";

on_both_databases! {
    async fn somebody_signs_in_and_sees_the_reseller_that_the_provider_names(world: World) {
        let provider = Hostile::start().await;
        let node = provider.world(&world).await;
        let mut browser = Browser::at(node.stranger());
        let page = browser.get("/console/sign-in?next=/console/customers").await.text();
        assert!(page.contains("Sign in with Partner accounts"), "{page}");
        let asked = leave(&mut browser, "/console/customers").await;
        assert_eq!((asked["response_type"].as_str(), asked["client_id"].as_str()), ("code", CLIENT));
        assert_eq!((asked["redirect_uri"].as_str(), asked["scope"].as_str()), (REDIRECT, "openid profile"));
        assert_eq!(asked["code_challenge_method"], "S256");

        provider.gives(&provider.sign("JWT", &provider.claims(&asked["nonce"])));
        let reply = come_back(&mut browser, &asked["state"], &format!("&iss={}", provider.issuer)).await;
        assert_eq!((reply.status.as_u16(), reply.header("location")), (303, Some("/console/customers")), "{}", reply.text());
        assert_eq!(browser.cookie(TICKET), None, "the ticket is used up");
        let cookies: Vec<_> = reply.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap()).collect();
        for flag in ["; Secure", "; HttpOnly", "; SameSite=Lax", "; Path=/"] {
            assert!(cookies.iter().all(|cookie| cookie.contains(flag)), "{cookies:?}");
        }
        let page = browser.look("/console/customers").await;
        assert!(page.contains("NORTH") && page.contains("Anna of North"), "{page}");

        // Shown by the verifier that it was us who asked, and nothing but the code passed on.
        let (authorization, form) = provider.asked().remove(0);
        let hash = aws_sha256(&form["code_verifier"]);
        assert_eq!(asked["code_challenge"], BASE64URL_NOPAD.encode(&hash));
        assert_eq!((form["redirect_uri"].as_str(), form["client_id"].as_str(), authorization), (REDIRECT, CLIENT, None));

        // May look and not change, as the operator has it; and the trail knows who it was.
        assert_eq!(browser.post("/console/customers", &[("email", "a@example.com")]).await.status, 403);
        let filter = AuditFilter { actor: Some(format!("{}#anna", provider.issuer)), ..AuditFilter::default() };
        let trail = world.services.audit.list(filter, PageRequest { limit: 10, after: None }).await.unwrap();
        assert!(trail.iter().any(|row| row.action == "console.sign_in" && row.actor_kind == "external"));
        browser.done("/console/sign-out", &[]).await;
        assert_eq!(browser.get("/console").await.status, 303);
    }

    async fn one_node_sends_them_away_and_another_takes_them_back(world: World) {
        let provider = Hostile::start().await;
        let node = provider.world(&world).await;
        let other = provider.node(&world).await;
        let mut browser = Browser::at(node.stranger());
        let asked = leave(&mut browser, "").await;
        provider.gives(&provider.sign("JWT", &provider.claims(&asked["nonce"])));
        let mut browser = browser.moved_to(other.stranger());
        assert_eq!(come_back(&mut browser, &asked["state"], "").await.status, 303);
        browser.moved_to(node.stranger()).look("/console").await;
    }

    async fn an_id_token_that_is_not_for_this_sign_in_is_refused(world: World) {
        let provider = Hostile::start().await;
        let node = provider.world(&world).await;
        let now = START.as_secs();
        let with = |name: &str, value: Value| {
            let name = name.to_owned();
            Box::new(move |claims: &mut Value| claims[&name] = value.clone()) as Box<dyn Fn(&mut Value)>
        };
        let without = |name: &str| {
            let name = name.to_owned();
            Box::new(move |claims: &mut Value| drop(claims.as_object_mut().unwrap().remove(&name))) as Box<dyn Fn(&mut Value)>
        };
        let lies = [
            ("another nonce", with("nonce", json!("another"))),
            ("no nonce", without("nonce")),
            ("another audience", with("aud", json!("another"))),
            ("no audience", without("aud")),
            ("several audiences and no party", with("aud", json!([CLIENT, "another"]))),
            ("another party", with("azp", json!("another"))),
            ("a party that is no text", with("azp", json!(7))),
            ("another issuer", with("iss", json!("https://elsewhere.test"))),
            ("our own issuer", with("iss", json!("https://ca.test/"))),
            ("no issuer", without("iss")),
            ("expired", with("exp", json!(now - 31))),
            ("no end", without("exp")),
            ("from the future", with("iat", json!(now + 31))),
            ("no beginning", without("iat")),
            ("nobody", without("sub")),
        ];
        let mut nodes = Vec::new();
        for (number, (lie, change)) in lies.into_iter().enumerate() {
            // A node lets nobody fail for ever.
            if number % 8 == 0 {
                nodes.push(provider.node(&world).await);
            }
            let (mut browser, asked) = away(nodes.last().unwrap()).await;
            let mut claims = provider.claims(&asked.1);
            change(&mut claims);
            provider.gives(&provider.sign("JWT", &claims));
            refused(&mut browser, &asked.0, lie).await;
        }
        for (typ, good) in [("at+jwt", false), ("logout+jwt", false), ("JWT", true)] {
            let (mut browser, asked) = away(&node).await;
            provider.gives(&provider.sign(typ, &provider.claims(&asked.1)));
            match good {
                true => assert_eq!(come_back(&mut browser, &asked.0, "").await.status, 303),
                false => refused(&mut browser, &asked.0, typ).await,
            }
        }
        let (mut browser, asked) = away(&node).await;
        let mut claims = provider.claims(&asked.1);
        (claims["aud"], claims["azp"]) = (json!([CLIENT, "another"]), json!(CLIENT));
        provider.gives(&provider.sign("JWT", &claims));
        assert_eq!(come_back(&mut browser, &asked.0, "").await.status, 303);
    }

    async fn an_id_token_that_the_provider_did_not_sign_is_refused(world: World) {
        let provider = Hostile::start().await;
        let node = provider.world(&world).await;
        type Forge = fn(&Hostile, &Value) -> String;
        let forgeries: [(&str, Forge); 4] = [
            ("another key", |_, claims| sign_with(&SigningKey::generate().unwrap(), "JWT", claims)),
            ("no signature", |_, claims| unsigned("none", claims)),
            ("no algorithm that is known", |_, claims| unsigned("ES257", claims)),
            ("an HMAC with the client's id", |_, claims| {
                let header = Map::from_iter([("kid".to_owned(), "one".into())]);
                let key = HmacKey::new(Algorithm::HS256, &[b'x'; 32]).unwrap();
                jws::sign_compact(header, claims.to_string().as_bytes(), &key).unwrap()
            }),
        ];
        for (forgery, forge) in forgeries {
            let (mut browser, asked) = away(&node).await;
            provider.gives(&forge(&provider, &provider.claims(&asked.1)));
            refused(&mut browser, &asked.0, forgery).await;
        }
        for (status, answer) in [
            (400, json!({"error": "invalid_grant"})),
            (200, json!({"access_token": "x"})),
            (200, json!({"id_token": 7})),
            (200, json!([])),
        ] {
            let (mut browser, asked) = away(&node).await;
            provider.answers(status, answer);
            refused(&mut browser, &asked.0, "no ID token").await;
        }
    }

    async fn who_did_not_leave_from_here_in_this_browser_does_not_come_back(world: World) {
        let provider = Hostile::start().await;
        let node = provider.world(&world).await;
        // Login CSRF: the state and code of somebody else, in a browser that never left, or left for itself.
        let (theirs, asked) = away(&node).await;
        provider.gives(&provider.sign("JWT", &provider.claims(&asked.1)));
        refused(&mut Browser::at(node.stranger()), &asked.0, "no ticket").await;
        let (mut victim, own) = away(&node).await;
        refused(&mut victim, &asked.0, "the state of another").await;
        assert!(own.0 != asked.0 && own.1 != asked.1);
        for wrong in ["", "x", &asked.0[1..]] {
            let mut browser = theirs.copy();
            refused(&mut browser, wrong, "a wrong state").await;
        }
        let mut changed = theirs.copy();
        let ticket = changed.cookie(TICKET).unwrap().to_owned();
        changed.set_cookie(TICKET, &ticket.replacen("partners.", "partner5.", 1));
        refused(&mut changed, &asked.0, "a ticket that was changed").await;
        assert_eq!(provider.asked().len(), 0, "no code was passed on");

        let mut late = theirs.copy();
        world.advance(Duration::from_secs(600));
        refused(&mut late, &asked.0, "too late").await;
    }

    async fn a_sign_in_begins_one_session_even_if_the_provider_takes_its_code_twice(world: World) {
        let provider = Hostile::start().await;
        let node = provider.world(&world).await;
        let (mut browser, asked) = away(&node).await;
        let mut stolen = browser.copy();
        provider.gives(&provider.sign("JWT", &provider.claims(&asked.1)));
        assert_eq!(come_back(&mut browser, &asked.0, "").await.status, 303);
        refused(&mut stolen.copy(), &asked.0, "again").await;
        browser.look("/console").await;
        // Also when that session has ended.
        browser.done("/console/sign-out", &[]).await;
        refused(&mut stolen, &asked.0, "again, after signing out").await;
    }

    async fn an_answer_of_another_issuer_or_an_error_is_not_followed(world: World) {
        let provider = Hostile::start().await;
        let node = provider.world(&world).await;
        let (mut browser, asked) = away(&node).await;
        provider.gives(&provider.sign("JWT", &provider.claims(&asked.1)));
        for issuer in ["https%3A%2F%2Fevil.test", "", "http%3A%2F%2F127.0.0.1"] {
            let reply = come_back(&mut browser.copy(), &asked.0, &format!("&iss={issuer}")).await;
            assert_eq!(reply.status, 401, "{issuer}");
        }
        let path = format!("{BACK}?state={}&error=access_denied", asked.0);
        let reply = browser.copy().get(&path).await;
        assert!(reply.status == 401 && reply.text().contains("access_denied"), "{}", reply.text());
        let path = format!("{BACK}?state={}&error=%3Cscript%3E", asked.0);
        assert!(!browser.copy().get(&path).await.text().contains("script&gt;"));
        assert_eq!(browser.copy().get(&format!("{BACK}?state={}", asked.0)).await.status, 401);
        assert_eq!(provider.asked().len(), 0, "no code was passed on");
        assert_eq!(browser.get("/console/sign-in/with/others").await.status, 404);
    }

    async fn the_provider_speaks_for_those_resellers_alone_that_it_was_given(world: World) {
        let provider = Hostile::start().await;
        world.tenant("SOUTH").await;
        let node = provider.world(&world).await;
        for (said, status) in [
            (json!("NORTH"), 303),
            (json!("/teams/north"), 303),
            (json!("SOUTH"), 403),
            (json!("north"), 403),
            (json!(["NORTH"]), 403),
            (Value::Null, 403),
        ] {
            let (mut browser, asked) = away(&node).await;
            let mut claims = provider.claims(&asked.1);
            claims[RESELLER_CLAIM] = said.clone();
            provider.gives(&provider.sign("JWT", &claims));
            assert_eq!(come_back(&mut browser, &asked.0, "").await.status.as_u16(), status, "{said}");
        }
        // Nor in the API.
        let mut claims = json!({
            "iss": provider.issuer, "sub": "anna", "aud": "https://ca.test/partners", "scope": "reseller read:account",
            "iat": START.as_secs(), "exp": START.as_secs() + 300, RESELLER_CLAIM: "NORTH",
        });
        let ask = async |claims: &Value| {
            let token = provider.sign("at+jwt", claims);
            node.stranger().with_authorization(&format!("Bearer {token}")).get("/v1/account").await.status.as_u16()
        };
        assert_eq!(ask(&claims).await, 200);
        claims[RESELLER_CLAIM] = json!("SOUTH");
        assert_eq!(ask(&claims).await, 401);
    }

    async fn an_id_token_does_not_open_the_api(world: World) {
        let provider = Hostile::start().await;
        let node = provider.world(&world).await;
        // Of a provider that gives both the same audience and types neither.
        let access = json!({
            "iss": provider.issuer, "sub": "anna", "aud": "https://ca.test/partners", "scope": "reseller read:account",
            "iat": START.as_secs(), "exp": START.as_secs() + 300, RESELLER_CLAIM: "NORTH",
        });
        let ask = async |claims: &Value| {
            let token = provider.sign("JWT", claims);
            node.stranger().with_authorization(&format!("Bearer {token}")).get("/v1/account").await.status.as_u16()
        };
        assert_eq!(ask(&access).await, 200);
        for (claim, value) in [("nonce", "x"), ("at_hash", "x"), ("c_hash", "x"), ("s_hash", "x"), ("typ", "ID")] {
            let mut id = access.clone();
            id[claim] = json!(value);
            assert_eq!(ask(&id).await, 401, "{claim}");
        }
        let mut bearer = access.clone();
        bearer["typ"] = json!("Bearer");
        assert_eq!(ask(&bearer).await, 200);
    }

    async fn what_the_operator_takes_away_is_gone_from_sessions(world: World) {
        let provider = Hostile::start().await;
        let node = provider.world(&world).await;
        let (mut browser, asked) = away(&node).await;
        provider.gives(&provider.sign("JWT", &provider.claims(&asked.1)));
        come_back(&mut browser, &asked.0, "").await;
        browser.look("/console/customers").await;

        let mut fewer = provider.settings();
        fewer.sign_in.as_mut().unwrap().scopes = "reseller".parse().unwrap();
        let node = world.another_node(settings(), vec![provider.external(fewer, None)]).await;
        assert_eq!(browser.moved_to(node.stranger()).get("/console/customers").await.status, 403);
        let mut others = provider.settings();
        others.resellers = SpeaksFor::Only(Vec::new());
        let node = world.another_node(settings(), vec![provider.external(others, None)]).await;
        assert_eq!(browser.moved_to(node.stranger()).get("/console").await.status, 303);
        let node = world.another_node(settings(), Vec::new()).await;
        assert_eq!(browser.moved_to(node.stranger()).get("/console").await.status, 303);

        browser.look("/console").await;
        let (mut before, hash) = (browser.copy(), hash_secret(browser.cookie(SESSION).unwrap()));
        world.services.operator.set_reseller_suspended("NORTH", true).await.unwrap();
        assert!(world.store.read(move |tx| tx.external_session(&hash)).await.unwrap().is_none());
        assert_eq!(browser.get("/console").await.status, 303);
        let (mut browser, asked) = away(&provider.node(&world).await).await;
        provider.gives(&provider.sign("JWT", &provider.claims(&asked.1)));
        let reply = come_back(&mut browser, &asked.0, "").await;
        assert!(reply.status == 401 && reply.text().contains("suspended"));
        world.services.operator.set_reseller_suspended("NORTH", false).await.unwrap();
        assert_eq!(before.get("/console").await.status, 303, "that session has ended");
    }

    async fn a_claim_may_lessen_what_somebody_may_do_and_never_widens_it(world: World) {
        let provider = Hostile::start().await;
        provider.world(&world).await;
        let mut by_claim = provider.settings();
        let sign_in = by_claim.sign_in.as_mut().unwrap();
        sign_in.scopes = "reseller read:account read:certificate".parse().unwrap();
        sign_in.scope_claim = Some("rights".to_owned());
        let node = world.another_node(settings(), vec![provider.external(by_claim, None)]).await;
        for (said, let_in, customers, certificates) in [
            (json!("reseller read:account"), 303, 200, 403),
            (json!(["reseller", "read:certificate", "write:account"]), 303, 403, 200),
            (json!(ScopeSet::all().to_string()), 303, 200, 200),
            (json!("read:account"), 403, 303, 303),
            (Value::Null, 403, 303, 303),
        ] {
            let (mut browser, asked) = away(&node).await;
            let mut claims = provider.claims(&asked.1);
            claims["rights"] = said.clone();
            provider.gives(&provider.sign("JWT", &claims));
            assert_eq!(come_back(&mut browser, &asked.0, "").await.status.as_u16(), let_in, "{said}");
            assert_eq!(browser.get("/console/customers").await.status.as_u16(), customers, "{said}");
            assert_eq!(browser.get("/console/certificates").await.status.as_u16(), certificates, "{said}");
        }
    }

    async fn such_a_session_ends_sooner_and_everywhere_at_once(world: World) {
        let provider = Hostile::start().await;
        let node = provider.world(&world).await;
        let mut browsers = Vec::new();
        for _ in 0..2 {
            let (mut browser, asked) = away(&node).await;
            provider.gives(&provider.sign("JWT", &provider.claims(&asked.1)));
            come_back(&mut browser, &asked.0, "").await;
            browser.look("/console").await;
            browsers.push(browser);
        }
        for _ in 0..7 {
            world.advance(Duration::from_secs(30 * 60));
            for browser in &mut browsers {
                browser.look("/console").await;
            }
        }
        browsers[0].done("/console/sign-out-everywhere", &[]).await;
        assert_eq!(browsers[1].get("/console").await.status, 303);
        assert_eq!(node.services.console.sweep().await.unwrap(), 0);
        world.advance(Duration::from_secs(30 * 60 + 1));
        assert_eq!(node.services.console.sweep().await.unwrap(), 2);
    }

    async fn a_client_with_a_secret_shows_it_and_its_failure_is_told_as_an_outage(world: World) {
        let provider = Hostile::start().await;
        provider.world(&world).await;
        let external = provider.external(provider.settings(), Some("s: e%cret"));
        let node = world.another_node(settings(), vec![external]).await;
        let (mut browser, asked) = away(&node).await;
        provider.answers(503, json!({}));
        let reply = come_back(&mut browser, &asked.0, "").await;
        assert!(reply.status == 503 && reply.header("retry-after").is_some());
        let (authorization, form) = provider.asked().remove(0);
        let expected = BASE64.encode(format!("{CLIENT}:s%3A%20e%25cret").as_bytes());
        assert_eq!(authorization, Some(format!("Basic {expected}")));
        assert!(!form.contains_key("client_id") && !form.contains_key("client_secret"));
        // Keys that cannot be fetched are an outage as well.
        provider.publishes(json!("no keys"));
        let (mut browser, asked) = away(&node).await;
        provider.gives(&provider.sign("JWT", &provider.claims(&asked.1)));
        assert_eq!(come_back(&mut browser, &asked.0, "").await.status, 503);
    }

    async fn who_comes_back_wrongly_ten_times_has_to_wait(world: World) {
        let provider = Hostile::start().await;
        let node = provider.world(&world).await;
        for _ in 0..10 {
            let (mut browser, asked) = away(&node).await;
            provider.answers(400, json!({"error": "invalid_grant"}));
            refused(&mut browser, &asked.0, "a made-up code").await;
        }
        let (mut browser, asked) = away(&node).await;
        assert_eq!(come_back(&mut browser, &asked.0, "").await.status, 429);
        assert_eq!(provider.asked().len(), 10);
    }
}

/// Somebody who has left: the state and the nonce that the provider was given.
async fn away(node: &Node) -> (Browser, (String, String)) {
    let mut browser = Browser::at(node.stranger());
    let asked = leave(&mut browser, "").await;
    (browser, (asked["state"].clone(), asked["nonce"].clone()))
}

async fn come_back(browser: &mut Browser, state: &str, more: &str) -> Reply {
    browser.get(&format!("{BACK}?code=some-code&state={state}{more}")).await
}

async fn refused(browser: &mut Browser, state: &str, why: &str) {
    let reply = come_back(browser, state, "").await;
    assert_eq!(reply.status, 401, "{why}: {}", reply.text());
    assert!(reply.text().contains("role=\"alert\""), "{why}: {}", reply.text());
    assert_eq!(browser.cookie(SESSION), None, "{why}");
    assert_eq!(browser.cookie(TICKET), None, "{why}");
}

fn unsigned(alg: &str, claims: &Value) -> String {
    let header = json!({"alg": alg, "typ": "JWT", "kid": "one"});
    let [header, claims] = [&header, claims].map(|part| BASE64URL_NOPAD.encode(part.to_string().as_bytes()));
    format!("{header}.{claims}.")
}

fn aws_sha256(text: &str) -> [u8; 32] {
    hash_secret(text).0
}
