//! The page at `/docs`, driven in a real browser.

use std::process::Command;

use crate::dev_server::{DevServer, tool};

mod slow {
    use super::*;

    #[test]
    fn the_docs_page_works_in_a_browser() {
        let Some(modules) = tool("CHANCERY_TEST_NODE_MODULES") else { return };
        let Some(server) = DevServer::start() else { return };
        let output = Command::new("node")
            .args(["--test", concat!(env!("CARGO_MANIFEST_DIR"), "/browser/docs.test.mjs")])
            .env("CHANCERY_TEST_NODE_MODULES", modules)
            .env("CHANCERY_TEST_DEV_JSON", server.facts_file())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(!said.contains("# SKIP"), "{said}");
    }
}
