//! Serves the control API on a listener until told to stop. Owns every connection; nothing outlives it.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use axum::{Extension, Router};
use folio_core::Folio;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::encryption::{self, Encrypted, Encryption};
use crate::router::router_until;

/// How long a client may take to send a request's head, or to send the next one on an open connection.
const HEAD_WAIT_MAX: Duration = Duration::from_secs(60);

/// How long requests that were admitted may take to finish after the server was told to stop.
const DRAIN_MAX: Duration = Duration::from_secs(30);

/// How many connections may be open at once; more wait to be accepted.
const CONNECTIONS_MAX: usize = 4096;

/// How long to wait when the machine cannot open one more connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Serves until `shutdown` resolves, then lets admitted requests finish, for half a minute at most. Speaks TLS if it is
/// given what for, and then nothing else.
pub async fn serve(
    listener: TcpListener,
    folio: Folio,
    encryption: Option<Encryption>,
    shutdown: impl Future<Output = ()>,
) {
    let (open, closing) = watch::channel(());
    let router = router_until(folio, closing.clone());
    let router = match encryption {
        Some(_) => router.layer(Extension(Encrypted)),
        None => router,
    };
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
                Ok((stream, _)) => {
                    let door = Door { router: router.clone(), watcher: graceful.watcher() };
                    let (encryption, closing) = (encryption.clone(), closing.clone());
                    connections.spawn(connection(stream, door, encryption, closing));
                }
                Err(error) => {
                    tracing::warn!("Cannot accept a connection: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    drop(open);
    if tokio::time::timeout(DRAIN_MAX, graceful.shutdown()).await.is_err() {
        tracing::warn!("Stopped with {} connections still open", connections.len());
    }
    connections.shutdown().await;
}

/// What a connection leads to.
struct Door {
    router: Router,
    watcher: Watcher,
}

/// One connection from its first byte to its end.
async fn connection(
    stream: TcpStream,
    door: Door,
    encryption: Option<Encryption>,
    mut closing: watch::Receiver<()>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("Cannot turn off delays on a connection: {error}");
    }
    match encryption {
        None => door.lead(stream).await,
        Some(encryption) => {
            let shaken = tokio::select! {
                shaken = encryption::shake(stream, &encryption) => shaken,
                // Nothing was admitted yet.
                _ = closing.changed() => None,
            };
            if let Some(stream) = shaken {
                door.lead(stream).await;
            }
        }
    }
}

impl Door {
    /// Takes requests until the connection ends.
    async fn lead(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WAIT_MAX)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(self.router));
        if let Err(error) = self.watcher.watch(connection).await {
            tracing::debug!("A connection ended early: {error}");
        }
    }
}
