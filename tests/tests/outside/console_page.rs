//! The console, driven in a real browser.

use std::process::Command;

use crate::dev_server::{DevServer, free_port, tool};

mod slow {
    use super::*;

    #[test]
    fn the_console_works_in_a_browser() {
        let Some(modules) = tool("CHANCERY_TEST_NODE_MODULES") else { return };
        // The test itself answers there, for some names.
        let Some(server) = DevServer::start_with(&["--http01-port", &free_port().to_string()]) else { return };
        let output = Command::new("node")
            .args(["--test", concat!(env!("CARGO_MANIFEST_DIR"), "/browser/console.test.mjs")])
            .env("CHANCERY_TEST_NODE_MODULES", modules)
            .env("CHANCERY_TEST_DEV_JSON", server.facts_file())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(!said.contains("# SKIP"), "{said}");
    }
}
