//! Serves the gateway on a listener until told to stop. Owns every connection; nothing outlives it.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use folio_core::Folio;
use folio_core::serving::Follower;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::connection;
use crate::handle::Gateway;
use crate::settings::Settings;
use crate::table::Table;

/// How long to wait when the machine cannot open one more connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// How long to wait before asking a store again that could not tell what is released.
const FOLLOW_PAUSE: Duration = Duration::from_millis(500);

/// Serves until `shutdown` resolves, then lets admitted requests finish for as long as the settings say.
pub async fn serve(
    listener: TcpListener,
    folio: Folio,
    settings: Settings,
    shutdown: impl Future<Output = ()>,
) {
    let limits = settings.limits;
    let mut shutdown = pin!(shutdown);
    let gateway = tokio::select! {
        gateway = open(folio, settings) => gateway,
        () = &mut shutdown => return,
    };
    let (stop, stopping) = watch::channel(false);
    let mut connections = JoinSet::new();
    // Ends with everything else, not by itself.
    let mut beside = JoinSet::new();
    let folio = gateway.folio.clone();
    beside.spawn(async move { folio.run_encodings().await });
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < limits.connections_max => match accepted {
                Ok((stream, peer)) => {
                    let gateway = Arc::clone(&gateway);
                    connections.spawn(connection::serve(gateway, stream, peer, stopping.clone()));
                }
                Err(error) => {
                    tracing::warn!("Cannot accept a connection: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    gateway.is_stopping.store(true, Ordering::Release);
    stop.send_replace(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.drain, drained).await.is_err() {
        tracing::warn!("Stopped with {} connections still open", connections.len());
    }
    connections.shutdown().await;
}

/// Reads what is released and follows it from there on.
async fn open(folio: Folio, settings: Settings) -> Arc<Gateway> {
    let table = ArcSwap::from_pointee(Table::new(settings.domain.as_deref()));
    let is_stopping = AtomicBool::new(false);
    let gateway = Arc::new(Gateway { folio, table, settings, is_stopping });
    loop {
        match gateway.folio.follow_sites(follower(Arc::downgrade(&gateway))).await {
            Ok(()) => return gateway,
            Err(error) => {
                tracing::error!("Cannot read what is released: {error}");
                tokio::time::sleep(FOLLOW_PAUSE).await;
            }
        }
    }
}

/// Swaps the table whenever something else is released. Holds the gateway only while it does, because the gateway holds the
/// platform that holds this.
fn follower(gateway: Weak<Gateway>) -> Follower {
    Arc::new(move |sites| {
        let Some(gateway) = gateway.upgrade() else { return };
        let table = gateway.table.load().with(&sites);
        gateway.table.store(Arc::new(table));
    })
}
