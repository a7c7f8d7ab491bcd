//! The door as a test environment mounts it: in another server's place.

use std::sync::Arc;

use chancery_acme::{Layout, Mount, RenewalAnswers, mounted};
use chancery_domain::ProfileName;
use chancery_http::{Door, Edge, account_for, finish};
use chancery_tests::{Tenant, VERSION, World, on_both_databases};
use http::Method;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::common::{problem, stage};
use crate::renewal::name;

/// Somebody who speaks to the door where it is mounted so.
fn speaking_to(world: &World, mount: Mount) -> Tenant {
    let door = Door { services: Arc::new(world.services.clone()), urls: world.urls.clone(), version: VERSION };
    let routes = account_for(mounted(door.clone(), Arc::new(mount)), door);
    world.stranger().hears_by(finish(routes, Edge::new(Arc::new(|| "r".into()))))
}

on_both_databases! {
    async fn where_there_is_one_directory_everything_leads_back_to_it(world: World) {
        let layout = Layout::new([("/dir", "/acme/TLS-199d/directory"), ("/my-order/{}", "/acme/order/{}")]);
        let directory = Some(ProfileName::parse("TLS-199d").unwrap());
        let stranger = speaking_to(&world, Mount { layout, directory, ..Mount::default() });
        for path in ["/acme", "/acme/", "/acme/renewal-info/x/", "/acme/order/x", "/acme/TLS-90d/new-nonce"] {
            for method in [Method::GET, Method::POST] {
                let reply = stranger.raw(method, path, &[], Vec::new()).await;
                assert_eq!(reply.header("link"), Some("<https://ca.test/dir>;rel=\"index\""), "{path}");
            }
        }
        for path in ["/acme", "/acme/renewal-info/x/", "/acme/renewal-info/"] {
            problem(&stranger.get(path).await, 404, "malformed");
        }
    }

    async fn a_renewal_that_somebody_has_set_is_told_word_for_word(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        let (_, order) = client.issue(&["example.com"]).await;
        let (_, other) = client.issue(&["example.org"]).await;
        let (der, other) = (client.certificate(&order).await, client.certificate(&other).await);
        let renewal_answers = RenewalAnswers::default();
        let stranger = speaking_to(&world, Mount { renewal_answers: renewal_answers.clone(), ..Mount::default() });
        let place = |der: &[u8]| format!("/acme/renewal-info/{}", name(der));
        let usual = stranger.get(&place(&other)).await;
        let text = "{\"suggestedWindow\": \"soon\"";
        let (_, certificate) = X509Certificate::from_der(&der).unwrap();
        renewal_answers.set(certificate.raw_serial(), text.to_owned());

        let told = stranger.get(&place(&der)).await;
        assert_eq!((told.status.as_u16(), told.text()), (200, text.to_owned()));
        assert_eq!(told.header("content-type"), Some("application/json"));
        assert_eq!(told.header("retry-after"), Some("21600"));
        // Others are as they were, and so is the service itself.
        assert_eq!(stranger.get(&place(&other)).await.expect(200), usual.expect(200));
        assert!(world.stranger().get(&place(&der)).await.expect(200)["suggestedWindow"]["start"].is_string());
    }
}
