//! `chancery revoke --serials`, beside a running service.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::authorities::{issue, post};
use crate::support::*;

fn revoke(place: &Path, file: &str, more: &[&str]) -> Command {
    let mut command = chancery();
    command.args(["revoke", "--reason", "superseded", "--comment", "incident 7", "--serials", file]);
    command.args(more).arg("--data-dir").arg(place).current_dir(place);
    command
}

#[test]
fn many_certificates_are_revoked_by_a_file_under_a_running_service() {
    let place = folder();
    let mut dev = Dev::start_with(place.path(), &["--skip-validation"]);
    let account = post(&dev, "/v1/account", &json!({"customer_email": "a@example.com"}));
    let account = account["lookup"].as_str().unwrap().to_owned();
    let chains: Vec<_> = (0..2).map(|_| issue(&mut dev, &account).1).collect();
    let listed = dev.curl("/v1/certificates", &[]).json();
    let serials: Vec<_> = (0..2).map(|at| listed["items"][at]["serialNumber"].as_str().unwrap().to_owned()).collect();
    let text = format!("# incident 7\n{}\n\nnothing of ours\n00ff\n{}  # the other\n", serials[0], serials[1]);
    fs::write(place.path().join("serials"), text).unwrap();

    let done = outcome(&mut revoke(place.path(), "serials", &[]));
    assert_eq!(
        done.stdout,
        "2 revoked, 0 revoked already, 1 unknown, 1 unreadable.\nline 4: a serial number is written in hexadecimal\n\
         line 5: there is no certificate 00ff\n"
    );
    assert!(done.line(1).contains("2 lines named nothing that could be revoked"), "{done:?}");
    let revoked = dev.curl("/v1/certificates?certificate_status=revoked", &[]).json();
    assert_eq!(revoked["items"].as_array().unwrap().len(), 2, "{revoked}");
    for (chain, serial) in chains.iter().zip(serials.iter().rev()) {
        let list = list_of(chain);
        dev.process.until("the list", |_| crl(&list).contains(&serial.to_uppercase()).then_some(()));
    }

    // Once more, from standard input, without what is wrong: harmless.
    fs::write(place.path().join("serials"), serials.join("\n")).unwrap();
    let input = File::open(place.path().join("serials")).unwrap();
    let again = outcome(revoke(place.path(), "-", &["--json"]).stdin(input)).json();
    assert_eq!((&again["revoked"], &again["already"], &again["problems"]), (&json!(0), &json!(2), &json!([])));
    let audit = json_in(place.path(), &["audit", "--action", "certificate.revoke"]);
    let comments: Vec<_> = audit.as_array().unwrap().iter().map(|line| &line["detail"]["comment"]).collect();
    assert_eq!(comments, ["incident 7"; 2], "{audit}");
    // With the CA above it, as clients keep it.
    fs::write(place.path().join("chain.pem"), &chains[0]).unwrap();
    let mut command = chancery();
    command.args(["revoke", "--file"]).arg(place.path().join("chain.pem")).arg("--data-dir").arg(place.path());
    let chain = outcome(&mut command);
    assert!(
        chain.code == 0 && chain.stdout.contains("1 revoked already") && chain.stdout.contains("of a CA"),
        "{chain:?}"
    );
    // One that nothing in the file was issued by is not there by the way.
    let others = json_in(place.path(), &["ca", "show", "Chancery Dev Issuing CA E2"]);
    fs::write(place.path().join("chain.pem"), chains[0].clone() + others["certificate"].as_str().unwrap()).unwrap();
    let with_another = outcome(&mut command);
    assert!(with_another.line(1).contains("1 item named nothing that could be revoked"), "{with_another:?}");
    let missing = outcome(&mut revoke(place.path(), "nowhere", &[]));
    assert!(missing.line(2).contains("cannot read nowhere"), "{missing:?}");
}

/// Where the list is that the first certificate of a chain names.
fn list_of(chain: &str) -> String {
    let place = folder();
    let path = place.path().join("chain.pem");
    fs::write(&path, chain).unwrap();
    let text = Command::new("openssl").args(["x509", "-noout", "-text", "-in"]).arg(&path).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    let lists = text.split_once("CRL Distribution Points").expect("it names a list").1;
    lists.split_once("URI:").unwrap().1.split_whitespace().next().unwrap().to_owned()
}

fn crl(url: &str) -> String {
    let command = format!("curl -sS {url} | openssl crl -inform DER -noout -text");
    let text = Command::new("bash").args(["-c", &command]).output().unwrap();
    String::from_utf8(text.stdout).unwrap()
}
