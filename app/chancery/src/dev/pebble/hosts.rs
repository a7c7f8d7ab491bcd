//! Names that this machine gives itself. Pebble asks the system for names, so suites put theirs into its table of hosts.

use std::net::IpAddr;

/// Where the system keeps the table.
const SYSTEM: &str = "/etc/hosts";

/// The names in the system's table that lead to this machine.
pub fn own_names() -> Vec<String> {
    names(&std::fs::read_to_string(SYSTEM).unwrap_or_default())
}

fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
        let address = words.next().and_then(|word| word.parse::<IpAddr>().ok());
        if address.is_some_and(|address| address.is_loopback()) {
            // A name without a dot is of no use in a certificate.
            names.extend(words.filter(|word| word.contains('.')).map(str::to_ascii_lowercase));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_are_read_and_others_are_not() {
        let text = "127.0.0.1 localhost acme.wtf Lego.WTF # not.this\n::1 ip6-localhost six.example\n\
                    192.0.2.1 other.example\n# 127.0.0.1 comment.example\n127.0.1.1\tbox.example box\nnonsense x.example\n";
        assert_eq!(names(text), ["acme.wtf", "lego.wtf", "six.example", "box.example"]);
    }
}
