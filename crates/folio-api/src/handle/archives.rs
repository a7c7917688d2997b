//! Archives that packages came from.

use folio_core::Folio;
use folio_core::archives::ArchiveView;

use super::Outcome;
use crate::decode::{AppPath, ArchivePath, Ask};
use crate::encode::{Answer, File};
use crate::wire::Items;

pub(crate) async fn list(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<Items<ArchiveView>>> {
    let items = folio.archives(&ask.path.app).await?;
    Ok(Answer(Items { items }))
}

pub(crate) async fn download(folio: Folio, ask: Ask<ArchivePath>) -> Outcome<File> {
    let ArchivePath { app, id } = ask.path;
    let stem = id.hex();
    File::new(&stem, folio.archive(&app, id).await?).await
}
