//! Requests made up from the OpenAPI document by a tool that knows nothing else of us.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::dev_server::{DevServer, tool};

mod slow {
    use super::*;

    #[test]
    fn i12_no_request_that_the_document_allows_gets_an_undocumented_answer() {
        let Some(program) = tool("CHANCERY_TEST_SCHEMATHESIS") else { return };
        let Some(server) = DevServer::start() else { return };
        let config = server.folder().join("schemathesis.toml");
        fs::write(&config, known_resources(&server)).unwrap();
        let output = Command::new(program)
            .arg("--config-file")
            .arg(&config)
            .args(["run", &format!("{}/openapi.json", server.fact("base_url"))])
            .args(["--tls-verify", server.fact("ca_bundle")])
            .args(["--header", &format!("Authorization: {}", server.fact("api_key"))])
            .args(["--phases", "examples,coverage,fuzzing", "--max-examples", "40", "--seed", "1"])
            .args(["--suppress-health-check", "all", "--continue-on-failure", "--no-color"])
            .args(["--checks", CHECKS])
            .current_dir(server.folder())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("Coverage") && said.contains("Fuzzing"), "{said}");
    }

    /// Not asked for: `ignored_auth` (the sweep test looks closer), and those about links, which the document has not.
    const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
        response_headers_conformance,response_schema_conformance,negative_data_rejection,unsupported_method,\
        allow_header_conformance";

    /// Half of the requests go to things that exist, so that more than the word "not found" is heard.
    fn known_resources(server: &DevServer) -> String {
        let lookup = |value: serde_json::Value| value["lookup"].as_str().unwrap().to_owned();
        let account = server.ask("POST", "/v1/account", &json!({"customer_email": "customer@example.com"}));
        let kid = account["kid"].as_str().unwrap().to_owned();
        let account = lookup(account);
        let group = |name: &str| lookup(server.ask("POST", "/v1/account-group", &json!({"name": name})));
        let (one, other) = (group("one"), group("other"));
        let policy = lookup(server.ask("POST", "/v1/policy", &json!({"name": "policy"})));
        format!(
            "[parameters]\n\
             \"path.lookup\" = [\"{account}\", \"{policy}\", \"no_such\"]\n\
             \"path.group_lookup\" = [\"{one}\", \"no_such\"]\n\
             \"path.origin_group_lookup\" = [\"{one}\", \"no_such\"]\n\
             \"path.destination_group_lookup\" = [\"{other}\", \"no_such\"]\n\
             \"path.policy_lookup\" = [\"{policy}\", \"no_such\"]\n\
             \"path.kid\" = [\"{kid}\", \"no_such\"]\n"
        )
    }
}
