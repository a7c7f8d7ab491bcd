//! What `dev` says when it is ready: where it is, how to get in, and what to try.

use anstyle::{AnsiColor, Style};

use super::demo::Demo;
use super::folder::{Folder, url};
use super::hostile::HostileArgs;
use super::json::PebbleJson;
use crate::failure::Failure;
use crate::installation::Installation;
use crate::print::out;
use crate::version::VERSION;

pub fn print(
    folder: &Folder,
    installation: &Installation,
    demo: &Demo,
    pebble: Option<&PebbleJson>,
    hostile: &HostileArgs,
) -> Result<(), Failure> {
    out(&greeting(folder, installation, demo, pebble, hostile))
}

fn greeting(
    folder: &Folder,
    installation: &Installation,
    demo: &Demo,
    pebble: Option<&PebbleJson>,
    hostile: &HostileArgs,
) -> String {
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let green = AnsiColor::Green.on_default().bold();
    let cyan = AnsiColor::Cyan.on_default();
    let mut text = format!("\n{green}Chancery {} is ready{green:#}\n\n", VERSION);
    let mut line = |name: &str, value: &str| text.push_str(&format!("  {bold}{name:<14}{bold:#} {value}\n"));
    line("API", &installation.urls.base_url);
    line("Try it there", &format!("{}/docs", installation.urls.base_url));
    let directory = installation.urls.acme_directory(installation.settings.default_profile.as_str());
    line("ACME", &format!("{directory} (with the EAB credential of an account)"));
    line("Console", &format!("{}{} (sign in with the client)", installation.urls.base_url, chancery_console::PATH));
    line("Relying party", &installation.urls.http_url);
    line("Health", &format!("{}/readyz", url("http", installation.listen.admin)));
    line("Data", &format!("{} ({})", folder.path().display(), installation.database));
    line("Client id", &demo.client_id);
    line("Client secret", demo.client_secret.reveal());
    line("API key", demo.api_key.reveal());
    line("Operator key", demo.operator_key.reveal());
    line("Audience", &installation.settings.audience);
    if let Some(pebble) = pebble {
        let binding = if pebble.eab_required { "required" } else { "optional" };
        line("As Pebble", &format!("{} (EAB {binding}; kid-1, kid-2 and kid-3 are known)", pebble.directory_url));
        line("Management", &format!("{} (the CAs' private keys, too)", pebble.management_url));
        let looked = match installation.validation.ports() {
            (0, 0) => "nobody looks: every name is taken for shown".to_owned(),
            (http01, tls_alpn01) => format!("http-01 on port {http01}, tls-alpn-01 on port {tls_alpn01}"),
        };
        line("Validation", &looked);
    }
    let faults = hostile.told();
    if !faults.is_empty() {
        line("On purpose", &faults.join(", "));
    }
    text.push_str(&format!("\n{bold}Try it{bold:#} {dim}(paste these one after the other){dim:#}\n"));
    for (comment, command) in commands(folder, installation, demo) {
        text.push_str(&format!("\n  {dim}# {comment}{dim:#}\n  {cyan}{command}{cyan:#}\n"));
    }
    if !installation.listen.api.ip().is_loopback() || pebble.is_some_and(|pebble| pebble.open) {
        let yellow = AnsiColor::Yellow.on_default();
        let warning = match pebble {
            Some(_) => {
                "Other machines can reach this server, and fetch the private keys of its CAs: trust them nowhere."
            }
            None => {
                "Other machines can reach this server, and its credentials are in this terminal: do not use it for real."
            }
        };
        text.push_str(&format!("\n  {yellow}{warning}{yellow:#}\n"));
    }
    text.push_str(&format!(
        "\n  {dim}Everything for scripts is in {}/dev.json; stop with Ctrl-C.{dim:#}\n\n",
        folder.path().display()
    ));
    text
}

/// Commands that work as they are printed, each time they are pasted.
fn commands(folder: &Folder, installation: &Installation, demo: &Demo) -> [(&'static str, String); 4] {
    let curl = format!("curl -sS -w '\\n' --cacert {}", quoted(&folder.tls("ca.pem").display().to_string()));
    let api = &installation.urls.base_url;
    let request = serde_json::json!({
        "grant_type": "client_credentials",
        "client_id": demo.client_id,
        "client_secret": demo.client_secret.reveal(),
        "audience": installation.settings.audience,
    });
    let json = "-H 'Content-Type: application/json'";
    let bearer = "-H \"Authorization: Bearer $TOKEN\"";
    let token = format!(
        "TOKEN=$({curl} {}/oauth/token {json} -d {} | sed 's/.*\"access_token\": *\"\\([^\"]*\\)\".*/\\1/')",
        installation.urls.auth_url,
        quoted(&request.to_string()),
    );
    // The time makes the address a new one each time.
    let create = format!(
        "{curl} {api}/v1/account {bearer} {json} -d '{{\"customer_email\": \"customer-'$(date +%s)'@example.com\"}}'"
    );
    let list = format!("{curl} {api}/v1/account {bearer}");
    // As it was started: it need not be on the PATH.
    let program = std::env::current_exe().map_or_else(|_| "chancery".to_owned(), |path| path.display().to_string());
    let order = format!("{} demo --data-dir {}", quoted(&program), quoted(&folder.path().display().to_string()));
    [
        ("get a token", token),
        ("create an account", create),
        ("list the accounts", list),
        ("get a certificate for hello.test, from order to chain", order),
    ]
}

/// In single quotes, as a shell takes it literally.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
