//! Programs that are not ours: Node, and what the tests take from npm.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Names the folder with the packages of `scripts/node`.
const MODULES: &str = "CHANCERY_TEST_NODE_MODULES";
/// With this set, missing packages are a failure: nobody reads what a build server skipped.
const REQUIRED: &str = "CHANCERY_REQUIRE_TOOLS";

/// Starts a script of the folder `tests`, or gives `None`, and says so, where the packages are missing and need not be there.
pub fn node_script(script: &str) -> Option<Child> {
    node_script_with(script, &[])
}

/// The same, with variables in its environment.
pub fn node_script_with(script: &str, environment: &[(&str, &str)]) -> Option<Child> {
    let Some(modules) = std::env::var_os(MODULES).map(PathBuf::from) else {
        assert!(std::env::var_os(REQUIRED).is_none(), "{REQUIRED} is set, and {MODULES} is not: run ./scripts/test");
        eprintln!("skipped: {MODULES} is not set, so what this test says of other people's programs was not tested");
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(script);
    let mut command = Command::new("node");
    command.arg(script).env(MODULES, modules).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.envs(environment.iter().copied());
    Some(command.spawn().expect("node is installed where its packages are"))
}
