//! The settings of a validator that decide what its results are worth.

/// How strictly a validator checks. A perspective reports it with each answer, and public certificates require
/// [`Strictness::PUBLIC`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strictness {
    /// Whether DNSSEC signatures are checked.
    pub dnssec: bool,
    /// Whether connections to private, loopback and other special addresses are allowed.
    pub special_addresses: bool,
    pub http01_port: u16,
    pub tls_alpn01_port: u16,
}

impl Strictness {
    /// What the Baseline Requirements (sections 3.2.2.4 and 3.2.2.8) and the definitions of the challenges (RFC 8555
    /// section 8.3, RFC 8737 section 3) require for public certificates.
    pub const PUBLIC: Self = Self { dnssec: true, special_addresses: false, http01_port: 80, tls_alpn01_port: 443 };

    /// Each respect in which this is laxer than another; empty if it is at least as strict.
    pub fn laxer_than(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        if other.dnssec && !self.dnssec {
            found.push("DNSSEC is not checked".to_owned());
        }
        if self.special_addresses && !other.special_addresses {
            found.push("special addresses are allowed".to_owned());
        }
        for (challenge, port, others, standard) in [
            ("http-01", self.http01_port, other.http01_port, Self::PUBLIC.http01_port),
            ("tls-alpn-01", self.tls_alpn01_port, other.tls_alpn01_port, Self::PUBLIC.tls_alpn01_port),
        ] {
            if port != others && port != standard {
                found.push(format!("{challenge} uses port {port}"));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAX: Strictness =
        Strictness { dnssec: false, special_addresses: true, http01_port: 8080, tls_alpn01_port: 8443 };

    #[test]
    fn each_setting_that_is_laxer_is_named() {
        let strict = Strictness::PUBLIC;
        for (lax, expected) in [
            (Strictness { dnssec: false, ..strict }, "DNSSEC is not checked"),
            (Strictness { special_addresses: true, ..strict }, "special addresses are allowed"),
            (Strictness { http01_port: 8080, ..strict }, "http-01 uses port 8080"),
            (Strictness { tls_alpn01_port: 80, ..strict }, "tls-alpn-01 uses port 80"),
        ] {
            assert_eq!(lax.laxer_than(&strict), [expected]);
            assert_eq!(strict.laxer_than(&lax), [""; 0], "{expected}");
        }
        assert_eq!(LAX.laxer_than(&strict).len(), 4);
    }

    #[test]
    fn the_same_settings_are_strict_enough_and_other_ports_are_not() {
        assert_eq!(LAX.laxer_than(&LAX), [""; 0]);
        let other = Strictness { http01_port: 8081, ..LAX };
        assert_eq!(other.laxer_than(&LAX), ["http-01 uses port 8081"]);
    }
}
