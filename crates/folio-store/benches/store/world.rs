//! A platform on a data directory, as a server would run it.

use std::path::Path;
use std::sync::Arc;

use folio_core::ports::SystemClock;
use folio_core::request::{Caller, ContentRef, Fields, Publish};
use folio_core::{Folio, Settings};
use folio_model::{AppName, Kind, UnitKey, VersionId};
use folio_store::DataDirectory;

/// Opens a new data directory.
pub(crate) async fn open(directory: &Path) -> (Folio, DataDirectory) {
    let settings = Settings::default();
    let data = DataDirectory::open(directory, Arc::new(SystemClock), settings.grace).await;
    let data = data.expect("a data directory");
    let folio =
        Folio::new(data.ledger.clone(), data.blobs.clone(), Arc::new(SystemClock), settings);
    let token = folio.draw_token();
    folio.admit(&"admin".parse().expect("a name"), &token).await.expect("a first token");
    (folio, data)
}

/// The key of a package.
pub(crate) fn package(name: &str) -> UnitKey {
    let name = name.parse().expect("a well-formed name");
    UnitKey { app: AppName::default_app(), kind: Kind::Package, name }
}

/// Who asks for everything that is measured.
pub(crate) fn caller() -> Caller {
    Caller::new("bench".parse().expect("a name"))
}

/// Publishes content as a new version.
pub(crate) async fn publish(folio: &Folio, key: &UnitKey, content: ContentRef) {
    publish_as(folio, key, content, None).await;
}

/// Publishes content as a new version, under an id if one is given.
pub(crate) async fn publish_as(
    folio: &Folio,
    key: &UnitKey,
    content: ContentRef,
    id: Option<VersionId>,
) {
    let fields = Fields {
        environment: Some("nodejs".parse().expect("a name")),
        deployment: Some(content),
        ..Fields::default()
    };
    let request = Publish { id, ..Publish::fresh(fields) };
    folio.publish(&caller(), key, request).await.expect("a published version");
}
