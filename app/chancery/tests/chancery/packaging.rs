//! `packaging/`: what is written there fits the binary.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use yaml_rust2::{Yaml, YamlLoader};

use crate::support::*;

fn packaging(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(path)
}

#[track_caller]
fn read(path: &str) -> String {
    fs::read_to_string(packaging(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The documents of a YAML file; in templates of Helm, its values stand first.
#[track_caller]
fn yaml(path: &str) -> Vec<Yaml> {
    let text = rendered(&read(path));
    YamlLoader::load_from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}\n{text}"))
}

/// `{{ .Values.a.b }}` and `{{ .Release.Name }}`, which is all that our templates use, but for parts that stand only
/// where a value does: those of our values are empty.
fn rendered(text: &str) -> String {
    let values = YamlLoader::load_from_str(&read("helm/chancery/values.yaml")).unwrap();
    let text = without_parts(text, &values[0]);
    let mut parts = text.split("{{");
    let mut rendered = parts.next().unwrap().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").expect("a template ends");
        match name.trim().strip_prefix(".Values.") {
            None => {
                assert_eq!(name.trim(), ".Release.Name");
                rendered.push_str("try");
            }
            Some(path) => {
                let value = path.split('.').fold(&values[0], |value, name| &value[name]);
                let text = value.as_str().map(str::to_owned).or(value.as_i64().map(|number| number.to_string()));
                rendered.push_str(&text.unwrap_or_else(|| panic!("values.yaml has no {path}")));
            }
        }
        rendered.push_str(rest);
    }
    rendered
}

/// The text without what stands between `{{- with .Values.a }}` and `{{- end }}`.
fn without_parts(text: &str, values: &Yaml) -> String {
    let Some((before, rest)) = text.split_once("{{- with .Values.") else { return text.to_owned() };
    let (name, rest) = rest.split_once("}}").expect("a template ends");
    let (_, after) = rest.split_once("{{- end }}").expect("a part ends");
    let value = &values[name.trim()];
    let empty = value.as_vec().map(Vec::is_empty).or(value.as_hash().map(|pairs| pairs.is_empty()));
    assert_eq!(empty, Some(true), "values.yaml has no empty {name}");
    format!("{}{}", before.trim_end(), without_parts(after, values))
}

/// A command line as the binary understands it: what follows is told to be explained, and is.
#[track_caller]
fn is_understood(arguments: &[String]) {
    let flags: Vec<_> = arguments.iter().filter(|argument| argument.starts_with("--")).collect();
    let help = run(&[&arguments[0], "--help"]);
    assert_eq!(help.code, 0, "{arguments:?}");
    for flag in flags {
        assert!(help.stdout.contains(flag.as_str()), "{arguments:?}: there is no {flag}");
    }
}

fn texts(list: &Yaml) -> Vec<String> {
    list.as_vec().expect("a list").iter().map(|item| item.as_str().expect("a text").to_owned()).collect()
}

#[test]
fn three_nodes_of_compose_share_one_database() {
    let document = &yaml("compose/compose.yaml")[0];
    let services = &document["services"];
    for node in ["node1", "node2", "node3"] {
        is_understood(&texts(&services[node]["command"]));
        assert!(services[node]["environment"]["CHANCERY__DATABASE__URL"].as_str().unwrap().starts_with("postgres://"));
    }
    let balancer = read("compose/haproxy.cfg");
    assert!(["node1:8443", "node2:8443", "node3:8443", "/readyz"].iter().all(|part| balancer.contains(part)));
    let init = services["init"]["command"].clone();
    is_understood(&texts(&init));
}

/// Podman reads the one name, and Docker the other.
#[test]
fn what_is_not_in_the_repository_is_not_sent_to_build_an_image() {
    let ignored = |name: &str| read(&format!("../{name}"));
    assert_eq!(ignored(".containerignore"), ignored(".dockerignore"));
    let sent_not: BTreeSet<_> = ignored(".containerignore").lines().map(str::to_owned).collect();
    for line in ignored(".gitignore").lines() {
        let here = line.trim_end_matches('/');
        let said = here.strip_prefix('/').map_or_else(|| format!("**/{here}"), str::to_owned);
        assert!(sent_not.contains(&said), ".gitignore has {line}, .containerignore not");
    }
    assert!([".git", "packaging/compose/tls"].iter().all(|name| sent_not.contains(*name)));
    // And what the image is built from is.
    for needed in ["Cargo.lock", "app/chancery/Cargo.toml", "docs/openapi.json", "packaging/Containerfile"] {
        let parts = || {
            needed.split('/').scan(String::new(), |path, part| {
                *path = if path.is_empty() { part.to_owned() } else { format!("{path}/{part}") };
                Some(path.clone())
            })
        };
        assert!(!parts().any(|part| sent_not.contains(&part)), "{needed}");
    }
}

/// The Compose example, as the programs that read it understand it.
#[test]
fn compose_and_its_balancer_take_the_example() {
    if installed("docker-compose") {
        let mut command = Command::new("docker-compose");
        command.args(["--file", packaging("compose/compose.yaml").to_str().unwrap(), "config"]);
        let kek = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
        let understood = command.env("CHANCERY_KEK", kek).env("POSTGRES_PASSWORD", "secret").output().unwrap();
        let (said, wrong) = (String::from_utf8_lossy(&understood.stdout), String::from_utf8_lossy(&understood.stderr));
        assert!(understood.status.success(), "{wrong}");
        let document = &YamlLoader::load_from_str(&said).unwrap()[0];
        for node in ["node1", "node2", "node3", "init"] {
            let environment = &document["services"][node]["environment"];
            assert_eq!(environment["CHANCERY__KEYS__KEK"].as_str(), Some(kek), "{said}");
        }
        // Without its secrets it does not start, and says so.
        let without = command.env_remove("CHANCERY_KEK").output().unwrap();
        let wrong = String::from_utf8_lossy(&without.stderr);
        assert!(!without.status.success() && wrong.contains("CHANCERY_KEK"), "{wrong}");
    }
    if installed("haproxy") {
        // The names are those of containers, which are looked for again and again.
        let checked = Command::new("haproxy")
            .args(["-c", "-f"])
            .arg(packaging("compose/haproxy.cfg"))
            .env("PATH", places())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&checked.stderr).into_owned();
        let warned = said.lines().filter(|line| line.contains("[WARNING]"));
        let other: Vec<_> = warned.filter(|line| !line.contains("could not resolve address")).collect();
        assert!(checked.status.success() && other.is_empty(), "{said}");
    }
}

/// Where programs are, also those of the operator.
fn places() -> String {
    format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default())
}

/// Whether a program that `scripts/test` installs is there; without it, it is said that nothing was checked.
fn installed(program: &str) -> bool {
    let found = std::env::split_paths(&places()).any(|place| place.join(program).is_file());
    if !found {
        assert!(std::env::var_os("CHANCERY_REQUIRE_TOOLS").is_none(), "{program} is not installed");
        eprintln!("skipped: {program} is not installed; ./scripts/test installs it");
    }
    found
}

#[test]
fn the_chart_is_whole_and_asks_for_what_there_is() {
    for template in fs::read_dir(packaging("helm/chancery/templates")).unwrap() {
        let name = template.unwrap().file_name().into_string().unwrap();
        for document in yaml(&format!("helm/chancery/templates/{name}")) {
            assert!(document["apiVersion"].as_str().is_some() && document["kind"].as_str().is_some(), "{name}");
            let pod = &document["spec"]["template"]["spec"]["containers"][0];
            if !pod.is_badvalue() {
                is_understood(&texts(&pod["args"]));
                assert_eq!(pod["securityContext"]["readOnlyRootFilesystem"].as_bool(), Some(true), "{name}");
            }
        }
    }
    assert_eq!(yaml("helm/chancery/Chart.yaml")[0]["appVersion"].as_str(), Some(env!("CARGO_PKG_VERSION")));
    assert_eq!(yaml("helm/chancery/templates/deployment.yaml")[0]["spec"]["replicas"].as_i64(), Some(3));
}

/// Checks a configuration as it is, with the secrets that come from the environment.
fn problems(text: &str) -> Vec<String> {
    let place = folder();
    let path = place.path().join("chancery.toml");
    let here = format!("{}/", place.path().display());
    fs::write(&path, text.replace("/etc/chancery/tls/", &here).replace("/var/lib/chancery/", &here)).unwrap();
    for (certificate, key) in [("tls.crt", "tls.key"), ("server.pem", "server-key.pem")] {
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x"])
            .args(["-keyout", key, "-out", certificate])
            .current_dir(place.path())
            .output()
            .unwrap();
        assert!(made.status.success());
    }
    let mut command = chancery();
    command.args(["check-config", "--json", "--config"]).arg(&path);
    if !text.contains("sqlite:") {
        command.env("CHANCERY__KEYS__KEK", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=");
        command.env("CHANCERY__DATABASE__URL", "postgres://chancery:x@postgres:5432/chancery?sslmode=require");
    }
    let told = outcome(&mut command);
    let told: Value = serde_json::from_str(&told.stdout).unwrap_or_else(|error| panic!("{error}: {told:?}"));
    let problems = told["problems"].as_array().cloned().unwrap_or_default();
    problems.iter().map(|problem| problem["setting"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_configuration_is_one_that_the_service_takes() {
    assert_eq!(problems(&read("compose/chancery.toml")), [""; 0]);
    let map = &yaml("helm/chancery/templates/configmap.yaml")[0];
    assert_eq!(problems(map["data"]["chancery.toml"].as_str().unwrap()), [""; 0]);
    // That of the Debian package waits for its operator, and for nothing else.
    let debian = read("deb/chancery.toml");
    assert_eq!(
        problems(&debian).into_iter().collect::<BTreeSet<_>>(),
        BTreeSet::from(["server.base_url".to_owned(), "server.listen".to_owned()])
    );
    let set = debian.replace("#base_url", "base_url").replace("#certificate", "certificate").replace("#key", "key");
    assert_eq!(problems(&set), [""; 0]);
}

#[test]
fn the_units_start_what_there_is_and_are_kept_from_the_rest() {
    for unit in ["chancery.service", "chancery-perspective.service"] {
        starts_what_there_is_and_is_kept_from_the_rest(unit);
    }
}

fn starts_what_there_is_and_is_kept_from_the_rest(name: &str) {
    let path = format!("systemd/{name}");
    let unit = read(&path);
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let words: Vec<_> = line.split(' ').skip(1).map(str::to_owned).collect();
    is_understood(&words);
    for rule in ["User=chancery", "NoNewPrivileges=yes", "ProtectSystem=strict", "MemoryDenyWriteExecute=yes"] {
        assert!(unit.lines().any(|line| line == rule), "{rule}");
    }
    let analyze = |arguments: &[&str]| Command::new("systemd-analyze").args(arguments).arg(packaging(&path)).output();
    // Where there is no systemd, there is nobody to ask.
    let Ok(verdict) = analyze(&["security", "--offline=true", "--threshold=20"]) else { return };
    assert!(verdict.status.success(), "{}", String::from_utf8_lossy(&verdict.stdout));
    let verified = String::from_utf8(analyze(&["verify"]).unwrap().stderr).unwrap();
    let known = ["is not executable", "man chancery"];
    let other: Vec<_> = verified.lines().filter(|line| line.contains(name)).collect();
    assert!(other.iter().all(|line| known.iter().any(|known| line.contains(known))), "{other:?}");
}

#[test]
fn the_bill_of_materials_names_what_is_linked_and_is_the_same_each_time() {
    let write = || {
        let output = Command::new("python3").arg(packaging("sbom")).env("SOURCE_DATE_EPOCH", "0").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let first = write();
    assert_eq!(first, write());
    let document: Value = serde_json::from_slice(&first).unwrap();
    assert_eq!((&document["bomFormat"], &document["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = document["components"].as_array().unwrap();
    let names: BTreeSet<_> = components.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(["chancery-pki", "rustls", "aws-lc-rs", "clap"].iter().all(|name| names.contains(name)));
    assert!(!names.contains("tempfile") && !names.contains("yaml-rust2"), "what only tests use is not in the binary");
    let rustls = components.iter().find(|one| one["name"] == "rustls").unwrap();
    assert_eq!(rustls["hashes"][0]["content"].as_str().unwrap().len(), 64);
}

#[test]
fn the_debian_package_holds_what_an_operator_needs() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        return;
    }
    let out = folder();
    let build = |revision: &str| {
        let output = Command::new("bash")
            .arg(packaging("deb/build"))
            .args([
                "--compression",
                "none",
                "--revision",
                revision,
                "--binary",
                env!("CARGO_BIN_EXE_chancery"),
                "--out",
            ])
            .arg(out.path())
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let package = build("1");
    let listed = Command::new("dpkg-deb").args(["--contents", &package]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for (mode, path) in [
        ("-rwxr-xr-x root/root", "./usr/bin/chancery\n"),
        ("-rw-r--r-- root/root", "./lib/systemd/system/chancery.service\n"),
        ("-rw-r--r-- root/root", "./lib/systemd/system/chancery-perspective.service\n"),
        ("-rw-r-----", "./etc/chancery/chancery.toml\n"),
        ("-rw-r--r-- root/root", "./usr/share/man/man1/chancery-my-order-create.1.gz\n"),
        ("-rw-r--r-- root/root", "./usr/share/bash-completion/completions/chancery\n"),
        ("-rw-r--r-- root/root", "./usr/lib/sysusers.d/chancery.conf\n"),
    ] {
        let line = listed.split_inclusive('\n').find(|line| line.ends_with(path));
        assert!(line.is_some_and(|line| line.starts_with(mode)), "{mode} {path}: {line:?}");
    }
    let control = Command::new("dpkg-deb").args(["--field", &package, "Version", "Depends"]).output().unwrap();
    let control = String::from_utf8(control.stdout).unwrap();
    assert!(control.contains(concat!("Version: ", env!("CARGO_PKG_VERSION"), "-1")), "{control}");
    let before = fs::read(&package).unwrap();
    assert!(before == fs::read(build("1")).unwrap(), "two builds of the same differ");
}
