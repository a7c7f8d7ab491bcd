//! What stands between the nodes and their database: passes on, delays, swallows or hangs up, as the test says.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What becomes of what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Open,
    /// Everything arrives so much later.
    Slow(Duration),
    /// Connections are taken and nothing arrives, ever: also not when the way is open again.
    Swallowed,
    /// Connections end, and new ones end at once.
    Cut,
    /// A connection ends when it is to commit; the server does not hear of it.
    LosesCommits,
    /// A connection ends when it has committed; the server's answer is lost.
    LosesAnswers,
}

pub(crate) struct Proxy {
    pub(crate) port: u16,
    way: watch::Sender<Way>,
    target: Arc<Mutex<u16>>,
}

impl Proxy {
    /// A proxy for a port of this machine.
    pub(crate) async fn to(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (way, target) = (watch::Sender::new(Way::Open), Arc::new(Mutex::new(target)));
        tokio::spawn(accept(listener, way.clone(), target.clone()));
        Self { port, way, target }
    }

    pub(crate) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }

    /// New connections go there.
    pub(crate) fn lead_to(&self, port: u16) {
        *self.target.lock().unwrap() = port;
    }
}

async fn accept(listener: TcpListener, way: watch::Sender<Way>, target: Arc<Mutex<u16>>) {
    while let Ok((near, _)) = listener.accept().await {
        let (way, target) = (way.subscribe(), *target.lock().unwrap());
        tokio::spawn(async move {
            if *way.borrow() == Way::Cut {
                return;
            }
            let Ok(far) = TcpStream::connect(("127.0.0.1", target)).await else { return };
            let (_, _) = (near.set_nodelay(true), far.set_nodelay(true));
            let (near_in, near_out) = near.into_split();
            let (far_in, far_out) = far.into_split();
            // When one direction has ended, so has the connection.
            tokio::select! {
                () = pass(near_in, far_out, way.clone(), b"COMMIT") => {}
                () = pass(far_in, near_out, way, b"no server says this") => {}
            }
        });
    }
}

async fn pass(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mut way: watch::Receiver<Way>,
    commit: &[u8],
) {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let now = *way.borrow_and_update();
        match now {
            Way::Cut => return,
            Way::Swallowed => return std::future::pending().await,
            Way::Open | Way::Slow(_) | Way::LosesCommits | Way::LosesAnswers => {}
        }
        let read = tokio::select! {
            _ = way.changed() => continue,
            read = from.read(&mut bytes) => read,
        };
        if let Way::Slow(delay) = now {
            tokio::time::sleep(delay).await;
        }
        let commits = matches!(read, Ok(read) if bytes[..read].windows(commit.len()).any(|part| part == commit));
        match read {
            Ok(0) | Err(_) => return,
            Ok(_) if commits && now == Way::LosesCommits => return,
            Ok(read) if commits && now == Way::LosesAnswers => {
                let _ = to.write_all(&bytes[..read]).await;
                return;
            }
            Ok(read) if to.write_all(&bytes[..read]).await.is_err() => return,
            Ok(_) => {}
        }
    }
}
