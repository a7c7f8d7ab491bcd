//! That the load bench runs to its end. What it measures here says nothing.

use std::process::Command;

/// Needs the program: `CHANCERY_TEST_BINARY` names it, as for the tests from outside.
#[test]
fn the_load_bench_runs_to_its_end_on_a_small_store() {
    let Some(binary) = std::env::var_os("CHANCERY_TEST_BINARY") else {
        eprintln!("skipped: CHANCERY_TEST_BINARY is not set");
        return;
    };
    let mut load = Command::new(env!("CARGO_BIN_EXE_load"));
    load.args(["--stored", "200,400", "--minutes", "0.02", "--flood", "100"]);
    // Not the overload: it takes as long as it takes.
    load.args(["--phases", "start,reads,steady,console,neighbour", "--binary"]).arg(binary);
    let output = load.output().unwrap();
    let (said, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{failed}");
    assert_eq!(failed, "", "an operation was refused");
    for phase in ["From start to ready", "Looking alone", "Issuing and looking", "Pages of the console", "neighbour"] {
        assert!(said.contains(phase), "no {phase}:\n{said}");
    }
}
