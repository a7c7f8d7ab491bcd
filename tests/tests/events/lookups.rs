//! Looking up the host of a webhook takes no thread from what signs.

use std::sync::mpsc;

use chancery_publish::Post;
use tokio::runtime::Builder;

use crate::receiver::{Receiver, publisher};

/// PKCS #11 tokens, CRLs and OCSP responses are signed on these threads too.
#[test]
fn a_host_is_looked_up_without_a_blocking_thread() {
    let runtime = Builder::new_multi_thread().worker_threads(2).max_blocking_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let (release, busy) = mpsc::channel::<()>();
        let (begun, begins) = tokio::sync::oneshot::channel();
        // The only one.
        let blocking = tokio::task::spawn_blocking(move || {
            begun.send(()).unwrap();
            let _ = busy.recv();
        });
        begins.await.unwrap();
        let receiver = Receiver::start().await;
        let url = receiver.url.replace("127.0.0.1", "localhost");
        let answer = publisher().post(&Post { url: &url, headers: &[], body: b"{}" }).await;
        assert!(matches!(answer, Ok(204)), "{answer:?}");
        drop(release);
        blocking.await.unwrap();
    });
}
