//! The PROXY protocol, versions 1 and 2: before anything else a proxy says on a connection whose it is. It is read from
//! proxies alone that the operator names, and has to be there: a receiver that guessed could be told anything.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::io::{AsyncRead, AsyncReadExt};

const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Signature, version and command, family, length.
const FIXED: usize = 16;
/// The longest line of version 1, with its end.
const LONGEST_LINE: usize = 107;
/// What version 2 may have after its fixed part. Addresses take 36 bytes; the rest is for extensions, which are skipped.
const LONGEST_REST: usize = 4096;

/// What the first bytes of a connection come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announced {
    /// At least so many more bytes belong to it.
    More(usize),
    /// It speaks for this client.
    Client(SocketAddr),
    /// It speaks for itself, or does not say for whom.
    Itself,
    /// It is not the PROXY protocol as it ought to be.
    Wrong(&'static str),
}

/// Reads what the proxy says, and not a byte more: the client, or nothing where the proxy speaks for itself.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<SocketAddr>> {
    let mut bytes = Vec::with_capacity(LONGEST_LINE);
    loop {
        match announced(&bytes) {
            Announced::More(more) => {
                let have = bytes.len();
                bytes.resize(have + more, 0);
                stream.read_exact(&mut bytes[have..]).await?;
            }
            Announced::Client(client) => return Ok(Some(client)),
            Announced::Itself => return Ok(None),
            Announced::Wrong(why) => return Err(io::Error::new(io::ErrorKind::InvalidData, why)),
        }
    }
}

/// Looks at all that was read so far.
pub fn announced(bytes: &[u8]) -> Announced {
    let Some(start) = bytes.first_chunk::<12>() else {
        return Announced::More(SIGNATURE.len() - bytes.len());
    };
    if *start == SIGNATURE {
        binary(bytes)
    } else if start.starts_with(b"PROXY ") {
        line(bytes)
    } else {
        Announced::Wrong("it does not begin with the PROXY protocol")
    }
}

/// Version 2.
fn binary(bytes: &[u8]) -> Announced {
    let Some([.., version_and_command, family, high, low]) = bytes.first_chunk::<FIXED>() else {
        return Announced::More(FIXED - bytes.len());
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    if version_and_command >> 4 != 2 {
        return Announced::Wrong("its version is not 2");
    }
    if length > LONGEST_REST {
        return Announced::Wrong("it is too long");
    }
    let rest = &bytes[FIXED..];
    let Some(rest) = rest.get(..length) else { return Announced::More(length - rest.len()) };
    match (version_and_command & 0x0f, family) {
        // LOCAL: the proxy's own, as when it looks whether we are there.
        (0, _) => Announced::Itself,
        (1, 0x11) => match rest.first_chunk::<12>() {
            Some(&[a, b, c, d, _, _, _, _, high, low, _, _]) => {
                client(Ipv4Addr::new(a, b, c, d).into(), u16::from_be_bytes([high, low]))
            }
            None => Announced::Wrong("it has no room for its addresses"),
        },
        (1, 0x21) => match (rest.first_chunk::<16>(), rest.get(32..36)) {
            (Some(address), Some(&[high, low, _, _])) => {
                client(Ipv6Addr::from(*address).into(), u16::from_be_bytes([high, low]))
            }
            (_, _) => Announced::Wrong("it has no room for its addresses"),
        },
        // Not told, or a socket of the proxy's own machine.
        (1, 0x00 | 0x31) => Announced::Itself,
        (1, _) => Announced::Wrong("it is not about a TCP connection"),
        (_, _) => Announced::Wrong("its command is unknown"),
    }
}

/// Version 1: `PROXY TCP4 192.0.2.1 198.51.100.1 56324 443` and the end of the line.
fn line(bytes: &[u8]) -> Announced {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        // What follows the line is not ours: one by one.
        return if bytes.len() < LONGEST_LINE { Announced::More(1) } else { Announced::Wrong("its line has no end") };
    };
    let text = bytes[..end].strip_suffix(b"\r").and_then(|line| std::str::from_utf8(line).ok());
    let Some(text) = text.filter(|_| end < LONGEST_LINE) else { return Announced::Wrong("its line is broken") };
    let words: Vec<&str> = text.split(' ').collect();
    match words.as_slice() {
        ["PROXY", "UNKNOWN", ..] => Announced::Itself,
        ["PROXY", kind @ ("TCP4" | "TCP6"), from, to, from_port, to_port] => {
            let address = |text: &str| match *kind {
                "TCP4" => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
                _ => text.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            };
            match (address(from), address(to), port(from_port), port(to_port)) {
                (Some(from), Some(_), Some(from_port), Some(_)) => client(from, from_port),
                _ => Announced::Wrong("its line is broken"),
            }
        }
        _ => Announced::Wrong("its line is broken"),
    }
}

fn port(text: &str) -> Option<u16> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

fn client(address: IpAddr, port: u16) -> Announced {
    Announced::Client(SocketAddr::new(address.to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Version 2, with a length that fits.
    fn two(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
        [&SIGNATURE[..], &[0x20 | command, family], &length, rest].concat()
    }

    fn tcp4() -> Vec<u8> {
        two(1, 0x11, &[192, 0, 2, 1, 198, 51, 100, 1, 0xdc, 0x04, 0x01, 0xbb])
    }

    fn tcp6() -> Vec<u8> {
        let (from, to) = ("2001:db8::1".parse::<Ipv6Addr>().unwrap(), Ipv6Addr::LOCALHOST);
        two(1, 0x21, &[&from.octets()[..], &to.octets(), &[0xdc, 0x04, 0x01, 0xbb]].concat())
    }

    fn said(text: &str) -> Announced {
        Announced::Client(text.parse().unwrap())
    }

    #[tokio::test]
    async fn both_versions_name_the_client_and_what_follows_is_left() {
        let with_extension = two(1, 0x11, &[&tcp4()[16..], &[0x04, 0, 3, 1, 2, 3]].concat());
        for (bytes, client) in [
            (b"PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n".to_vec(), "192.0.2.1:56324"),
            (b"PROXY TCP6 2001:db8::1 ::1 56324 443\r\n".to_vec(), "[2001:db8::1]:56324"),
            (b"PROXY TCP6 ::ffff:192.0.2.1 ::1 1 443\r\n".to_vec(), "192.0.2.1:1"),
            (tcp4(), "192.0.2.1:56324"),
            (with_extension, "192.0.2.1:56324"),
            (tcp6(), "[2001:db8::1]:56324"),
        ] {
            assert_eq!(announced(&bytes), said(client));
            let whole = [&bytes[..], b"GET"].concat();
            let mut rest = whole.as_slice();
            assert_eq!(read(&mut rest).await.unwrap(), Some(client.parse().unwrap()));
            assert_eq!(rest, b"GET");
        }
    }

    #[tokio::test]
    async fn a_proxy_that_speaks_for_itself_names_nobody() {
        for bytes in [
            b"PROXY UNKNOWN\r\n".to_vec(),
            b"PROXY UNKNOWN ffff::1 whatever 1 2\r\n".to_vec(),
            two(0, 0, &[]),
            two(0, 0x11, &tcp4()[16..]),
            two(1, 0, &[1, 2, 3]),
            two(1, 0x31, &[0; 216]),
        ] {
            assert_eq!(announced(&bytes), Announced::Itself, "{bytes:?}");
            assert_eq!(read(&mut bytes.as_slice()).await.unwrap(), None);
        }
    }

    #[tokio::test]
    async fn whatever_breaks_off_names_nobody() {
        for whole in [tcp4(), tcp6(), b"PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n".to_vec()] {
            for end in 0..whole.len() {
                assert!(matches!(announced(&whole[..end]), Announced::More(1..)), "{end}");
                assert!(read(&mut &whole[..end]).await.is_err());
            }
        }
    }

    #[tokio::test]
    async fn what_is_not_the_protocol_is_refused() {
        let mut version = tcp4();
        version[12] = 0x11;
        let mut long = two(1, 0x11, &[0; 12]);
        long[14..16].copy_from_slice(&4097_u16.to_be_bytes());
        let mut signature = tcp4();
        signature[11] = b'\r';
        let line = |text: &str| format!("PROXY {text}\r\n").into_bytes();
        for bytes in [
            b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 0],
            version,
            long,
            signature,
            two(2, 0x11, &tcp4()[16..]),
            two(1, 0x12, &tcp4()[16..]),
            two(1, 0x11, &[192, 0, 2, 1, 198, 51, 100, 1, 0, 1, 0]),
            two(1, 0x21, &[0; 35]),
            b"PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\n".to_vec(),
            format!("PROXY UNKNOWN {}\r\n", "x".repeat(100)).into_bytes(),
            line("TCP4 2001:db8::1 ::1 1 2"),
            line("TCP6 192.0.2.1 192.0.2.1 1 2"),
            line("TCP4 192.0.2.01 198.51.100.1 1 2"),
            line("TCP4 192.0.2.1 198.51.100.1 +1 2"),
            line("TCP4 192.0.2.1 198.51.100.1 01 2"),
            line("TCP4 192.0.2.1 198.51.100.1 65536 2"),
            line("TCP4 192.0.2.1 198.51.100.1 1"),
            line("TCP4  192.0.2.1 198.51.100.1 1 2"),
            line("TCP4 192.0.2.1 198.51.100.1 1 2 3"),
            line("UDP4 192.0.2.1 198.51.100.1 1 2"),
            line("unknown"),
            line("      "),
        ] {
            assert!(matches!(announced(&bytes), Announced::Wrong(_)), "{:?}", String::from_utf8_lossy(&bytes));
            assert!(read(&mut bytes.as_slice()).await.is_err());
        }
    }
}
