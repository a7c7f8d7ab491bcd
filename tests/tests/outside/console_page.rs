//! The console, driven in a real browser.

use std::path::Path;
use std::process::Command;

use chancery_testkit::free_port;

use crate::dev_server::{DevServer, tool};
use crate::served::Served;

mod slow {
    use super::*;

    #[test]
    fn the_console_works_in_a_browser() {
        against_a_dev("console.test.mjs");
    }

    #[test]
    fn every_form_of_the_console_works_in_a_browser() {
        against_a_dev("console-forms.test.mjs");
    }

    #[test]
    fn people_of_a_provider_sign_in_with_a_browser() {
        if tool("CHANCERY_TEST_NODE_MODULES").is_none() {
            return;
        }
        let Some(server) = Served::start_with_provider() else { return };
        run("console-provider.test.mjs", &server.facts_file());
    }
}

fn against_a_dev(script: &str) {
    if tool("CHANCERY_TEST_NODE_MODULES").is_none() {
        return;
    }
    // The test itself answers there, for some names.
    let Some(server) = DevServer::start_with(&["--http01-port", &free_port().to_string()]) else { return };
    run(script, &server.facts_file());
}

fn run(script: &str, facts: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser").join(script);
    let output = Command::new("node").arg("--test").arg(script).env("CHANCERY_TEST_DEV_JSON", facts).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(!said.contains("# SKIP"), "{said}");
}
