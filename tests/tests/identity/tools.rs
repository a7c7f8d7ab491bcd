//! Programs that are not ours.

use std::io::Write as _;
use std::process::Child;

use chancery_tests::node_script;
use serde_json::Value;

/// Starts a script of this folder, where Node's packages are.
pub(crate) fn node(script: &str) -> Option<Child> {
    node_script(&format!("identity/{script}"))
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
