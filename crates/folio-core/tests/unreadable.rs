//! What becomes of hosts when something that is stored cannot be read.

use folio_core::release::ReleaseRef;
use folio_core::request::ContentRef;
use folio_core::serving::AssetEntry;
use folio_model::{AppName, Digest};
use folio_testkit::sample;

use crate::encodings::{Served, Way};
use crate::world::app;

const FILES: [(&str, &str); 1] = [("index.html", "one")];

/// What the live release of an app has at its root: `file`, `nothing`, or `unreadable`.
fn shown(served: &Served, app: &AppName) -> &'static str {
    let sites = served.told.lock().unwrap();
    let site = sites.iter().find(|site| site.app == *app).unwrap();
    match &site.live[0].0.assets[0].files {
        AssetEntry::Directory(files) if files.find("index.html").is_some() => "file",
        AssetEntry::Unreadable => "unreadable",
        _ => "nothing",
    }
}

async fn tree(served: &Served) -> Digest {
    match sample::directory(&served.world.folio, &FILES).await {
        ContentRef::Tree { tree, .. } => tree,
        other @ ContentRef::Archive { .. } => panic!("{other:?} is no tree"),
    }
}

#[tokio::test]
async fn an_item_that_cannot_be_read_leaves_all_others_served() {
    for way in [Way::Damaged, Way::Lost] {
        let served = Served::new().await;
        let shop: AppName = "shop".parse().unwrap();
        served.world.folio.create_app(&served.world.caller, &shop).await.unwrap();
        served.deploy(&FILES).await;
        served.deploy_to(&shop, &[("index.html", "shop")]).await;
        let damaged = tree(&served).await;
        served.blobs.unreadable.lock().unwrap().insert(damaged, way);
        let served = served.restart().await;
        assert_eq!((shown(&served, &app()), shown(&served, &shop)), ("unreadable", "file"));
        // Both go on, and what is deployed instead is there at once.
        served.deploy_to(&shop, &[("index.html", "new shop")]).await;
        assert_eq!(shown(&served, &shop), "file");
        served.deploy(&[("index.html", "two")]).await;
        assert_eq!(shown(&served, &app()), "file");
    }
}

#[tokio::test]
async fn an_item_that_can_be_read_again_is_served_from_the_next_release_on() {
    let served = Served::new().await;
    served.deploy(&FILES).await;
    let damaged = tree(&served).await;
    served.blobs.unreadable.lock().unwrap().insert(damaged, Way::Lost);
    let served = served.restart().await;
    assert_eq!(shown(&served, &app()), "unreadable");
    served.blobs.unreadable.lock().unwrap().clear();
    let before = served.world.folio.show_release(&app(), &ReleaseRef::Latest).await.unwrap();
    served.world.version(&crate::world::function("hello"), "one", "v1").await;
    let after = served.world.folio.show_release(&app(), &ReleaseRef::Latest).await.unwrap();
    assert_ne!(before.label.id, after.label.id);
    assert_eq!(shown(&served, &app()), "file");
}
