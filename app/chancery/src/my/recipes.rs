//! Commands that set up an ACME client with a new credential, ready to paste.

use std::path::Path;

use anstyle::{AnsiColor, Style};
use chancery_client::wire::EabAuthorization;

/// For certbot and for lego, at the directory of one profile; the other directories below.
pub fn told(made: &EabAuthorization, ca_file: Option<&Path>, profile: Option<&str>, domain: &str) -> String {
    let directories = &made.acme_directories;
    let usual = || directories.iter().find(|(_, url)| Some(*url) == made.acme_directory.as_ref());
    let chosen = match profile {
        Some(name) => directories.get_key_value(name),
        None => usual().or_else(|| directories.iter().next()),
    };
    let Some((profile, directory)) = chosen else {
        return "The account may use no certificate profile: its policies leave none.\n".to_owned();
    };
    let (bold, cyan) = (Style::new().bold(), AnsiColor::Cyan.on_default());
    let command = |name: &str, lines: String| format!("{bold}{name}{bold:#}\n{cyan}{lines}{cyan:#}\n\n");
    let mut text = command("certbot", certbot(made, ca_file, directory, domain));
    text.push_str(&command("lego", lego(made, ca_file, directory, domain)));
    text.push_str(&format!("These are for the certificate profile {profile}. The directories there are:\n"));
    let width = directories.keys().map(String::len).max().unwrap_or(0);
    for (name, url) in directories {
        text.push_str(&format!("  {name:width$}  {url}\n"));
    }
    text
}

fn certbot(made: &EabAuthorization, ca_file: Option<&Path>, directory: &str, domain: &str) -> String {
    let trust = trust("REQUESTS_CA_BUNDLE", ca_file);
    format!(
        "{trust}certbot certonly {} -d {} --server {} \\\n    --eab-kid {} --eab-hmac-key {} \\\n    \
         --agree-tos --no-eff-email -m {}",
        if is_wildcard(domain) { "--manual --preferred-challenges dns" } else { "--standalone" },
        quoted(domain),
        quoted(directory),
        quoted(&made.account.kid),
        quoted(&made.hmac_key_url),
        quoted(&made.account.email),
    )
}

fn lego(made: &EabAuthorization, ca_file: Option<&Path>, directory: &str, domain: &str) -> String {
    let trust = trust("LEGO_CA_CERTIFICATES", ca_file);
    format!(
        "{trust}lego {} -d {} --server {} \\\n    --eab --kid {} --hmac {} \\\n    --accept-tos --email {} run",
        if is_wildcard(domain) { "--dns manual" } else { "--http" },
        quoted(domain),
        quoted(directory),
        quoted(&made.account.kid),
        quoted(&made.hmac_key_url),
        quoted(&made.account.email),
    )
}

/// Only a record shows control of those; web pages do not.
fn is_wildcard(domain: &str) -> bool {
    domain.starts_with("*.")
}

/// Where the service's own certificate is of a private CA, clients have to be told.
fn trust(variable: &str, ca_file: Option<&Path>) -> String {
    ca_file.map(|path| format!("{variable}={} \\\n", quoted(&path.display().to_string()))).unwrap_or_default()
}

/// A command to paste, of its words, one argument and its flags, which begin with a blank. An argument that would be
/// taken for a flag comes last, after a `--`.
pub fn command(words: &str, argument: &str, flags: &str) -> String {
    match argument.starts_with('-') {
        true => format!("{words}{flags} -- {}", quoted(argument)),
        false => format!("{words} {}{flags}", quoted(argument)),
    }
}

/// As a shell takes it literally: in single quotes, where it needs any.
pub fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@%+=,".contains(letter);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_change_is_quoted() {
        assert_eq!(quoted("https://ca.example.com/acme/TLS-90d"), "https://ca.example.com/acme/TLS-90d");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted("*.example.com"), "'*.example.com'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_command_takes_its_argument_for_what_it_is() {
        let told = |email: &str| command("my eab create", email, " --profile eu");
        assert_eq!(told("a@b.example"), "my eab create a@b.example --profile eu");
        assert_eq!(told("`x`$y;z|&@b.example"), "my eab create '`x`$y;z|&@b.example' --profile eu");
        assert_eq!(told("-o'c@b.example"), r"my eab create --profile eu -- '-o'\''c@b.example'");
        assert_eq!(command("my eab create", "-a@b.example", ""), "my eab create -- -a@b.example");
    }
}
