//! Addresses that others reach us under, or we reach others under.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;

/// An `https` address without a slash at its end; `http` only where it cannot leave the machine.
pub fn https(text: &str) -> Result<String, String> {
    let uri = parse(text)?;
    match uri.scheme_str() {
        Some("https") => {}
        Some("http") if uri.host().is_some_and(loopback_host) => {}
        _ => return Err(format!("must begin with https:// (http:// only for this machine itself), not {text:?}")),
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// An `http` address without a slash at its end: what relying parties fetch must not need TLS to be fetched, since it
/// is needed to check TLS certificates.
pub fn http(text: &str) -> Result<String, String> {
    let uri = parse(text)?;
    if uri.scheme_str() != Some("http") {
        return Err(format!("must begin with http://, not {text:?}: relying parties fetch from it without TLS"));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// Whether a host is this machine itself.
pub fn loopback_host(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => bare.eq_ignore_ascii_case("localhost") || bare.to_ascii_lowercase().ends_with(".localhost"),
    }
}

/// The host of an address that was checked.
pub fn host(checked: &str) -> String {
    checked.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default()
}

fn parse(text: &str) -> Result<Uri, String> {
    let wrong = || format!("{text:?} is not an address such as https://ca.example.com");
    let uri = text.parse::<Uri>().map_err(|_| wrong())?;
    let authority = uri.authority().ok_or_else(wrong)?;
    if uri.scheme().is_none() || authority.host().is_empty() {
        return Err(wrong());
    }
    if authority.as_str().contains('@') {
        return Err("must not have a user name or password in it".to_owned());
    }
    if text.contains(['?', '#']) {
        return Err(format!("must end with its path, without `?` or `#`: {text:?}"));
    }
    if !text.is_ascii() {
        return Err(format!("must be in ASCII, anything else in it as %XX: {text:?}"));
    }
    let (host, port) = (authority.host(), &authority.as_str()[authority.host().len()..]);
    if !is_host(host) {
        return Err(format!("names no host that there can be: {host:?}"));
    }
    let is_port = |port: &str| !port.starts_with('+') && port.parse::<u16>().is_ok_and(|port| port > 0);
    let has_port = port.strip_prefix(':').is_some_and(is_port);
    if !port.is_empty() && !has_port {
        return Err(format!("names a port that there cannot be: {text:?}"));
    }
    Ok(uri)
}

/// An address, or a name as networks have them: also of one label, with underscores, and with the dot of the root.
fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[') {
        return address.strip_suffix(']').is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let plain = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_');
    let is_label = |label: &str| {
        (1..=63).contains(&label.len()) && label.bytes().all(plain) && !label.starts_with('-') && !label.ends_with('-')
    };
    let name = host.strip_suffix('.').unwrap_or(host);
    let is_number = name.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    match is_number {
        true => host.parse::<Ipv4Addr>().is_ok(),
        false => name.len() <= 253 && name.split('.').all(is_label),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_only() {
        for good in [
            "https://ca.example.com",
            "https://ca.example.com:8443/api",
            "http://localhost:1",
            "http://[::1]:1",
            "https://my_ca",
            "https://ca.example.com.",
            "https://192.0.2.1",
        ] {
            assert_eq!(https(good).as_deref(), Ok(good));
        }
        assert_eq!(https("https://ca.example.com/").as_deref(), Ok("https://ca.example.com"));
        for bad in [
            "http://ca.example.com",
            "http://localhost.example.com",
            "http://10.0.0.1",
            "ftp://localhost",
            "ca.example.com",
            "https://",
            "https://user:secret@ca.example.com",
            "https://ca.example.com?x=1",
            "https://ca.example.com/#x",
            "https://ca.example.com:abc",
            "https://ca.example.com:99999",
            "https://ca.example.com:0",
            "https://ca.example.com:+443",
            "https://300.1.2.3",
            "https://ca.300",
            "https://ca.example.com:",
            "https://.",
            "https://-",
            "https://ca..example.com",
            "https://ca.example.com/\u{e9}",
            "",
        ] {
            assert!(https(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn relying_parties_fetch_without_tls() {
        assert_eq!(http("http://pki.example.com/").as_deref(), Ok("http://pki.example.com"));
        assert!(http("https://pki.example.com").is_err());
    }

    #[test]
    fn a_host_of_this_machine_is_recognised() {
        for host in
            ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]", "::1", "::ffff:127.0.0.1"]
        {
            assert!(loopback_host(host), "{host}");
        }
        for host in ["example.com", "0.0.0.0", "[::]", "128.0.0.1", "notlocalhost"] {
            assert!(!loopback_host(host), "{host}");
        }
    }
}
