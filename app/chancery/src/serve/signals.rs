//! What the system asks of us: stop, stop at once, read the certificate again.

use chancery_http::tls::ReloadingCertificate;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// From here on no signal ends the process by itself.
    pub fn listen() -> Result<Self, Failure> {
        let on = |kind| signal(kind).map_err(|error| Failure::failed(format!("cannot wait for signals: {error}")));
        Ok(Self {
            terminate: on(SignalKind::terminate())?,
            interrupt: on(SignalKind::interrupt())?,
            hang_up: on(SignalKind::hangup())?,
        })
    }

    /// Waits for SIGTERM or SIGINT; SIGHUP reads the certificate again meanwhile.
    pub async fn until_stop(&mut self, certificate: Option<&ReloadingCertificate>) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hang_up.recv() => reload(certificate),
            }
        }
    }

    /// The next SIGTERM or SIGINT ends the process without waiting for anything.
    pub fn exit_on_the_next(mut self) {
        tokio::spawn(async move {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
            }
            tracing::warn!("told to stop a second time: not waiting for what is in flight");
            std::process::exit(1);
        });
    }
}

fn reload(certificate: Option<&ReloadingCertificate>) {
    let Some(certificate) = certificate else { return };
    match certificate.reload() {
        Ok(()) => tracing::info!("read the TLS certificate again"),
        Err(error) => tracing::error!(%error, "new TLS certificate refused; the old one is still served"),
    }
}
