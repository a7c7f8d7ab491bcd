//! Help, completions, and mistakes at the keyboard.

use std::process::Command;

use crate::support::*;

const COMMANDS: &[&[&str]] = &[
    &["dev"],
    &["serve"],
    &["init"],
    &["reseller"],
    &["reseller", "create"],
    &["reseller", "list"],
    &["reseller", "show"],
    &["reseller", "suspend"],
    &["reseller", "resume"],
    &["client"],
    &["client", "create"],
    &["client", "list"],
    &["client", "rotate"],
    &["client", "disable"],
    &["client", "enable"],
    &["api-key"],
    &["api-key", "create"],
    &["api-key", "list"],
    &["api-key", "revoke"],
    &["operator-key"],
    &["operator-key", "create"],
    &["operator-key", "list"],
    &["operator-key", "revoke"],
    &["profile"],
    &["profile", "list"],
    &["profile", "show"],
    &["ca"],
    &["ca", "list"],
    &["ca", "show"],
    &["ca", "create"],
    &["ca", "rotate"],
    &["ca", "retire"],
    &["ca", "activate"],
    &["ca", "revoke-issuer"],
    &["revoke"],
    &["kek"],
    &["kek", "list"],
    &["kek", "rotate"],
    &["kek", "prune"],
    &["audit"],
    &["backup"],
    &["migrate"],
    &["check-config"],
    &["my"],
    &["my", "login"],
    &["my", "logout"],
    &["my", "whoami"],
    &["my", "profiles"],
    &["my", "account"],
    &["my", "account", "create"],
    &["my", "account", "list"],
    &["my", "account", "show"],
    &["my", "account", "update"],
    &["my", "account", "suspend"],
    &["my", "account", "resume"],
    &["my", "account", "terminate"],
    &["my", "eab"],
    &["my", "eab", "create"],
    &["my", "eab", "list"],
    &["my", "eab", "show"],
    &["my", "eab", "revoke"],
    &["my", "group"],
    &["my", "group", "create"],
    &["my", "group", "list"],
    &["my", "group", "show"],
    &["my", "group", "update"],
    &["my", "group", "delete"],
    &["my", "group", "members"],
    &["my", "group", "add"],
    &["my", "group", "remove"],
    &["my", "group", "move"],
    &["my", "policy"],
    &["my", "policy", "create"],
    &["my", "policy", "list"],
    &["my", "policy", "show"],
    &["my", "policy", "update"],
    &["my", "policy", "delete"],
    &["my", "policy", "assign"],
    &["my", "policy", "unassign"],
    &["my", "policy", "try"],
    &["my", "order"],
    &["my", "order", "create"],
    &["my", "order", "resume"],
    &["my", "order", "list"],
    &["my", "order", "show"],
    &["my", "order", "cancel"],
    &["my", "authorization"],
    &["my", "authorization", "list"],
    &["my", "authorization", "show"],
    &["my", "authorization", "challenges"],
    &["my", "authorization", "verify"],
    &["my", "authorization", "deactivate"],
    &["my", "certificate"],
    &["my", "certificate", "list"],
    &["my", "certificate", "show"],
    &["my", "certificate", "download"],
    &["my", "revoke"],
    &["my", "check-csr"],
    &["my", "diagnose"],
    &["my", "pause"],
    &["my", "pause", "list"],
    &["my", "pause", "lift"],
    &["my", "usage"],
    &["my", "limits"],
    &["openapi"],
    &["man"],
    &["completions"],
];

#[test]
fn every_command_explains_itself() {
    for command in COMMANDS {
        let help = run(&[command, &["--help"][..]].concat());
        assert_eq!(help.code, 0, "{command:?}");
        let usage = format!("Usage: chancery {}", command.join(" "));
        assert!(help.stdout.contains(&usage) && help.stderr.is_empty(), "{command:?}: {help:?}");
    }
    let help = run(&["--help"]);
    for command in COMMANDS.iter().filter(|command| command.len() == 1) {
        assert!(
            help.stdout.lines().any(|line| line.trim_start().starts_with(command[0])),
            "{command:?}\n{}",
            help.stdout
        );
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
