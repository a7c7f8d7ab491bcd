//! Programs that are not ours: Node, and what the tests take from npm.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// Names the folder with the packages of `scripts/node`.
const MODULES: &str = "CHANCERY_TEST_NODE_MODULES";
/// With this set, missing packages are a failure: nobody reads what a build server skipped.
const REQUIRED: &str = "CHANCERY_REQUIRE_TOOLS";

/// Starts a script of this folder, or gives `None`, and says so, where the packages are missing and need not be there.
pub(crate) fn node(script: &str) -> Option<Child> {
    let Some(modules) = std::env::var_os(MODULES).map(PathBuf::from) else {
        assert!(std::env::var_os(REQUIRED).is_none(), "{REQUIRED} is set, and {MODULES} is not: run ./scripts/test");
        eprintln!("skipped: {MODULES} is not set, so what this test says of other people's programs was not tested");
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/identity").join(script);
    let mut command = Command::new("node");
    command.arg(script).env(MODULES, modules).stdin(Stdio::piped()).stdout(Stdio::piped());
    Some(command.spawn().expect("node is installed where its packages are"))
}

/// Hands a script one question and reads its one answer.
pub(crate) fn ask_node(script: &str, question: &Value) -> Option<Value> {
    let mut child = node(script)?;
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(question.to_string().as_bytes()).expect("a script that reads");
    drop(input);
    let output = child.wait_with_output().expect("a script that ends");
    assert!(output.status.success(), "{script}: {}", output.status);
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}
