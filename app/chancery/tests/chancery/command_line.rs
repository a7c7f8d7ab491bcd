//! Help, completions, and mistakes at the keyboard.

use std::process::Command;

use crate::support::*;

/// Every command there is, as `--help` tells from the first to the last: the words after `chancery`, and what it tells.
pub fn commands() -> Vec<(Vec<String>, String)> {
    let (mut found, mut to_ask) = (Vec::new(), vec![Vec::<String>::new()]);
    while let Some(command) = to_ask.pop() {
        let mut words: Vec<_> = command.iter().map(String::as_str).collect();
        words.push("--help");
        let help = run(&words);
        assert!(help.code == 0 && help.stderr.is_empty(), "{command:?}: {help:?}");
        let listed = help.stdout.lines().skip_while(|line| *line != "Commands:").skip(1);
        let listed = listed.take_while(|line| !line.is_empty());
        // What goes on in the next line stands further to the right.
        let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        for name in names.filter_map(|line| line.split_whitespace().next()) {
            to_ask.push([&command[..], &[name.to_owned()]].concat());
        }
        found.push((command, help.stdout));
    }
    found.remove(0);
    found
}

#[test]
fn every_command_explains_itself() {
    let commands = commands();
    for known in
        ["demo", "doctor", "restore", "pause lift", "bench acme", "ca add-chain", "my order create", "my pause lift"]
    {
        assert!(commands.iter().any(|(command, _)| command.join(" ") == known), "{known} is not found");
    }
    for (command, help) in commands {
        assert!(help.contains(&format!("Usage: chancery {}", command.join(" "))), "{command:?}: {help}");
        let about = help.lines().next().unwrap_or_default();
        assert!(about.len() > 10 && !about.starts_with("Usage"), "{command:?} does not say what it does: {help}");
    }
    // Builds for others name their commit as well.
    let version = run(&["--version"]).stdout;
    assert!(version.starts_with(&format!("chancery {}", env!("CARGO_PKG_VERSION"))), "{version}");
}

#[test]
fn a_mistake_is_told_in_one_line_with_the_code_of_a_mistake() {
    for (args, said) in [
        (&["resseller"][..], "resseller"),
        (&[], "a command is missing"),
        (&["reseller"], "a command is missing"),
        (&["reseller", "create", "--name", "x"], "--code"),
        (&["reseller", "create", "--code", "low", "--name", "x"], "2 to 32 capital letters"),
        (&["client", "create", "--reseller", "X", "--scope", "admin"], "there is no scope admin"),
        (&["client", "create", "--reseller", "X", "--scope", "read:order"], "the scope reseller must be among them"),
        (&["dev", "--http01-port", "0"], "0"),
        (&["client", "disable", "key_123"], "not a lookup of this kind"),
        (&["audit", "--since", "yesterday"], "a time is like"),
        (&["dev", "--listen", "nowhere"], "nowhere"),
        (&["dev", "--pebble-eab"], "--pebble"),
        (&["dev", "--reject-nonces", "101"], "101"),
        (&["dev", "--pebble", "--pebble-eab-key", "mine=short"], "a key is KID=HMAC"),
        (&["dev", "--caa", "--skip-validation"], "cannot be used with"),
        // Keys of CAs, and faults, are for `dev` alone.
        (&["serve", "--config", "x", "--pebble"], "--pebble"),
        (&["serve", "--config", "x", "--refuse", "1"], "--refuse"),
        (&["serve"], "--config"),
        (&["backup"], "--to"),
        (&["reseller", "list", "--config", "a", "--data-dir", "b"], "cannot be used with"),
        (&["completions", "tcl"], "tcl"),
    ] {
        let outcome = run(args);
        assert!(outcome.line(2).contains(said), "{args:?}: {outcome:?}");
    }
}

#[test]
fn a_command_that_names_no_installation_says_how() {
    let nowhere = folder();
    let asked = |args: &[&str]| outcome(chancery().args(args).current_dir(nowhere.path()));
    assert!(asked(&["reseller", "list"]).line(2).contains("--config FILE"));
    assert!(
        asked(&["reseller", "list", "--data-dir", "nowhere"]).line(2).contains("is not the folder of a `chancery dev`")
    );
}

#[test]
fn the_usual_folder_needs_no_flag() {
    let place = folder();
    Dev::start(&place.path().join("chancery-data")).process.stop();
    let listed = outcome(chancery().args(["reseller", "list", "--json"]).current_dir(place.path())).json();
    assert_eq!(listed[0]["code"], "DEMO");
}

#[test]
fn completions_are_scripts_that_a_shell_takes() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&["completions", shell]);
        assert!(script.code == 0 && script.stdout.contains("check-config"), "{shell}: {script:?}");
    }
    let place = folder();
    let script = place.path().join("chancery.bash");
    std::fs::write(&script, run(&["completions", "bash"]).stdout).unwrap();
    let taken = Command::new("bash").arg("-n").arg(&script).output().unwrap();
    assert!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stderr));
}

#[test]
fn the_openapi_document_is_printed_as_it_is_served() {
    let printed = run(&["openapi"]).json();
    assert!(printed["openapi"].as_str().unwrap().starts_with("3.1"));
    let configured = Configured::initialised("");
    let serving = configured.serve();
    let mut served = get(&serving.api, "/openapi.json").json();
    // Only where it is served is part of what it says.
    served["servers"] = printed["servers"].clone();
    assert_eq!(served["paths"], printed["paths"]);
    assert_eq!(served["info"], printed["info"]);
}

#[test]
fn a_reader_that_has_seen_enough_is_fine() {
    let script = format!("{} completions bash | head -n 1", env!("CARGO_BIN_EXE_chancery"));
    let output = Command::new("bash").args(["-o", "pipefail", "-c", &script]).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success());
}
