//! How the door speaks HTTP.

use std::time::Duration;

use chancery_tests::on_both_databases;
use http::Method;

use crate::customer::{Customer, Held, path};
use crate::openssl::RelyingParty;

/// A request about a certificate, without a nonce, in base64; one that has a slash and a plus where that can be had.
fn base64(party: &RelyingParty, held: &Held) -> String {
    data_encoding::BASE64.encode(&party.ask(&held.serial, &["-no_nonce"]))
}

fn escaped(base64: &str) -> String {
    base64.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D")
}

on_both_databases! {
    async fn a_list_may_be_kept_for_a_little_while(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        world.services.publication.look().await.unwrap();
        let relying = world.relying_party();
        let whole = relying.get(&held.crl_path()).await;
        assert_eq!(whole.header("content-type"), Some("application/pkix-crl"));
        assert_eq!(whole.header("cache-control"), Some("public, max-age=20, no-transform, must-revalidate"));
        assert!(whole.header("expires").unwrap().ends_with(" GMT") && whole.header("last-modified").is_some());
        let etag = whole.header("etag").unwrap();
        let again = relying.raw(Method::GET, &held.crl_path(), &[("if-none-match", etag)], Vec::new()).await;
        assert_eq!((again.status.as_u16(), again.body.len()), (304, 0));
        assert_eq!(again.header("etag"), Some(etag));
        let head = relying.raw(Method::HEAD, &held.crl_path(), &[], Vec::new()).await;
        assert_eq!((head.status.as_u16(), head.body.len()), (200, 0));
        assert_eq!(head.header("content-length"), Some(whole.body.len().to_string().as_str()));

        customer.revoke(&held, "superseded").await;
        world.services.publication.look().await.unwrap();
        let changed = relying.raw(Method::GET, &held.crl_path(), &[("if-none-match", etag)], Vec::new()).await;
        assert_eq!(changed.status, 200);
        assert_ne!(changed.header("etag"), Some(etag));
    }

    async fn an_ocsp_request_in_the_path_is_taken_in_every_spelling(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let (party, relying) = (RelyingParty::of(&world, &held).await, world.relying_party());
        let plain = base64(&party, &held);
        let spellings =
            [format!("/ocsp/{plain}"), format!("/ocsp/{}", escaped(&plain)), format!("/ocsp//{plain}"), format!("/ocsp/{}", plain.trim_end_matches('='))];
        for spelling in spellings {
            let reply = relying.get(&spelling).await;
            assert_eq!((reply.status.as_u16(), reply.header("content-type")), (200, Some("application/ocsp-response")), "{spelling}");
            assert_eq!(reply.header("cache-control"), Some("public, max-age=20, no-transform, must-revalidate"));
            let said = party.judge(&reply.body, &held.serial, world.services.now(), &[]);
            assert!(said.contains("Response verify OK") && said.contains(": good"), "{spelling}: {said}");
        }
        // Slashes in a row, as base64 has them: 0xff 0xff 0xff is `////`. It is no request, but it is read as one.
        assert_eq!(relying.get("/ocsp/MA////8=").await.body, [0x30, 3, 0x0a, 1, 1]);
    }

    async fn an_answer_is_given_again_for_a_moment_and_no_longer(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let (party, relying) = (RelyingParty::of(&world, &held).await, world.relying_party());
        let path = format!("/ocsp/{}", escaped(&base64(&party, &held)));
        let first = relying.get(&path).await;
        let again = relying.get(&path).await;
        assert_eq!(first.body, again.body, "the same signature");
        let etag = first.header("etag").unwrap();
        let known = relying.raw(Method::GET, &path, &[("if-none-match", etag)], Vec::new()).await;
        assert_eq!(known.status, 304);
        customer.revoke(&held, "superseded").await;
        world.advance(Duration::from_secs(4));
        let late = relying.raw(Method::GET, &path, &[("if-none-match", etag)], Vec::new()).await;
        let said = party.judge(&late.body, &held.serial, world.services.now(), &[]);
        assert!(late.status == 200 && said.contains(": revoked"), "within five seconds: {said}");
    }

    async fn what_is_remembered_of_a_path_is_no_answer_to_a_body(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let (party, relying) = (RelyingParty::of(&world, &held).await, world.relying_party());
        let text = base64(&party, &held);
        assert!(world.services.ocsp.answer_get(&text).await.cacheable.is_some());
        let headers = [("content-type", "application/ocsp-request")];
        let reply = relying.raw(Method::POST, "/ocsp", &headers, text.into_bytes()).await;
        assert_eq!(reply.body, [0x30, 3, 0x0a, 1, 1], "malformedRequest");
    }

    async fn a_nonce_in_the_path_is_not_kept(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        let party = RelyingParty::of(&world, &held).await;
        let request = data_encoding::BASE64.encode(&party.ask(&held.serial, &["-nonce"]));
        let reply = world.relying_party().get(&format!("/ocsp/{}", escaped(&request))).await;
        assert_eq!((reply.status.as_u16(), reply.header("cache-control")), (200, Some("no-store")));
        assert_eq!(reply.header("etag"), None);
    }

    async fn everything_else_is_not_there(world: World) {
        let customer = Customer::of(&world).await;
        let held = customer.certificate(&world, "a.test").await;
        world.services.publication.look().await.unwrap();
        let relying = world.relying_party();
        let issuer = held.issuer();
        for missing in [
            "/".to_owned(),
            "/v1/account".to_owned(),
            "/crl".to_owned(),
            format!("/crl/{issuer}/8.crl"),
            format!("/crl/{issuer}/00.crl"),
            format!("/crl/{issuer}/+1.crl"),
            format!("/crl/{issuer}/-1.crl"),
            format!("/crl/{issuer}/0"),
            format!("/crl/{issuer}/root.crl"),
            format!("/crl/{}/0.crl", issuer.to_string().to_uppercase()),
            format!("/crl/{issuer}/0.crl/"),
            format!("/crl/{issuer}/%ff.crl"),
            "/issuer/x.crt".to_owned(),
            "/issuer/%ff.crt".to_owned(),
            path(&held.ca_issuers_url).replace(".crt", ".pem"),
        ] {
            let reply = relying.get(&missing).await;
            assert_eq!(reply.status, 404, "{missing}: {}", reply.text());
            assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"), "{missing}");
            assert_eq!(reply.header("cache-control"), Some("no-store"));
        }
        let large = relying.raw(Method::POST, "/ocsp", &[], vec![0; 20_000]).await;
        assert_eq!(large.status, 413);
        let wrong = relying.raw(Method::DELETE, &held.crl_path(), &[], Vec::new()).await;
        assert_eq!((wrong.status.as_u16(), wrong.header("allow")), (405, Some("GET,HEAD")));
        for refusal in [large, wrong] {
            assert_eq!(refusal.header("content-type"), Some("text/plain; charset=utf-8"), "{}", refusal.text());
        }
    }
}
