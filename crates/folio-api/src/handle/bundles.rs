//! Bundles: an app version in one file.

use bytes::Bytes;
use folio_core::Folio;
use folio_core::bundle::{BrokenOff, Imported};
use futures::stream::{Stream, StreamExt as _};

use super::Outcome;
use crate::decode::{Ask, Bundle, MomentPath};
use crate::encode::{Created, File};

pub(crate) async fn export(folio: Folio, ask: Ask<MomentPath>) -> Outcome<File> {
    let MomentPath { app, at } = ask.path;
    let download = folio.export_app(&app, at.0).await?;
    File::new(app.as_str(), download).await
}

pub(crate) async fn import(folio: Folio, bundle: Bundle) -> Outcome<Created<Imported>> {
    let Bundle { caller, app, mut file } = bundle;
    let done = folio.import_app(&caller, &app, &mut file).await;
    if done.is_err() {
        drain(&mut file).await;
    }
    Ok(Created(done?))
}

/// Takes what still comes, up to a point: whoever is sending listens for the answer only after that.
async fn drain(file: &mut (impl Stream<Item = Result<Bytes, BrokenOff>> + Unpin)) {
    const BYTES_MAX: usize = 256 * 1024 * 1024;
    let mut taken = 0;
    while let Some(Ok(piece)) = file.next().await {
        taken += piece.len();
        if taken > BYTES_MAX {
            return;
        }
    }
}
