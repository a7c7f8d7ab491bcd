//! What has gone wrong on a node, on the operator's pages.

use chancery_domain::Timestamp;
use chancery_service::{Severity, Trouble};
use chancery_tests::{World, on_both_databases};

use crate::browser::Browser;

fn trouble(world: &World, severity: Severity, message: &str) -> Trouble {
    Trouble {
        at: Timestamp::from_secs(world.services.now().as_secs() - 600),
        severity,
        place: "chancery_<i>where".to_owned(),
        message: message.to_owned(),
        fields: vec![("error".to_owned(), "<script>alert(1)</script>".to_owned())],
    }
}

on_both_databases! {
    async fn the_operator_sees_the_latest_warnings_and_errors(world: World) {
        let mut operator = Browser::of_operator(&world).await;
        for path in ["/console/operator", "/console/operator/errors"] {
            assert!(operator.look(path).await.contains("Nothing went wrong."), "{path}");
        }
        world.services.troubles.note(trouble(&world, Severity::Error, "the <b>disk is full"));
        for number in 1..=9 {
            world.services.troubles.note(trouble(&world, Severity::Warning, &format!("warning number {number}")));
        }
        let page = operator.look("/console/operator/errors").await;
        assert!(page.contains("<span class=\"strong\">the &lt;b&gt;disk is full</span>"), "{page}");
        assert!(page.contains("error=&lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script>alert"), "{page}");
        assert!(page.contains("<span class=\"mono\">chancery_&lt;i&gt;where</span>") && page.contains("10 minutes ago"), "{page}");
        assert_eq!((page.matches(">error</span>").count(), page.matches(">warning</span>").count()), (1, 9), "{page}");
        // The newest are on the overview, with a link to the rest.
        let page = operator.look("/console/operator").await;
        assert_eq!(page.matches("warning number").count(), 5, "{page}");
        assert!(page.contains("warning number 9") && page.contains("href=\"/console/operator/errors\""), "{page}");
        // They are the operator's alone.
        let mut person = Browser::of(&world, &world.tenant("NORTH").await).await;
        assert_eq!(person.get("/console/operator/errors").await.status, 404);
        // Another node has its own.
        let other = world.another_node(chancery_tests::settings(), Vec::new()).await;
        assert!(operator.moved_to(other.stranger()).look("/console/operator/errors").await.contains("Nothing went wrong."));
    }
}
