//! The three listeners, bound before anything else is done: a taken port is the most common mistake.

use std::io::ErrorKind;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

use crate::failure::Failure;
use crate::installation::Addresses;

/// Connections that wait to be taken, for each listener; the system may allow fewer.
const BACKLOG: u32 = 1024;

pub struct Listeners {
    pub api: TcpListener,
    pub http: TcpListener,
    pub admin: TcpListener,
}

/// How the addresses are chosen, for telling a person what to change.
#[derive(Clone, Copy, Debug)]
pub struct Flags {
    api: &'static str,
    http: &'static str,
    admin: &'static str,
}

impl Flags {
    pub const COMMAND_LINE: Self = Self { api: "--listen", http: "--http-listen", admin: "--admin-listen" };
    pub const CONFIGURATION: Self =
        Self { api: "server.listen", http: "server.http_listen", admin: "server.admin_listen" };
}

impl Listeners {
    pub async fn bind(addresses: Addresses, flags: Flags) -> Result<Self, Failure> {
        Ok(Self {
            api: bind(addresses.api, flags.api)?,
            http: bind(addresses.http, flags.http)?,
            admin: bind(addresses.admin, flags.admin)?,
        })
    }

    /// Where they really are: a port 0 has become a free one.
    pub fn addresses(&self) -> Result<Addresses, Failure> {
        let at = |listener: &TcpListener| listener.local_addr().map_err(Failure::failed);
        Ok(Addresses { api: at(&self.api)?, http: at(&self.http)?, admin: at(&self.admin)? })
    }
}

/// Listens; `flag` is what a person changes to listen elsewhere.
pub fn bind(address: SocketAddr, flag: &str) -> Result<TcpListener, Failure> {
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Connections of the last run that still close must not keep us from starting again.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    listen().map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => Failure::usage(format!("{address} is taken by another program"))
            .advise(format!("stop it, or choose another address with {flag}")),
        ErrorKind::PermissionDenied => Failure::usage(format!("this user may not listen on {address}"))
            .advise(format!("choose a port from 1024 on with {flag}")),
        _ => Failure::usage(format!("cannot listen on {address}: {error}"))
            .advise(format!("choose another address with {flag}")),
    })
}
