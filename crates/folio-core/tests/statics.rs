//! Static items: how much they may hold, at the door that every deploy of one goes through.

use std::sync::Arc;

use folio_core::Limits;
use folio_core::static_item::{Error, StaticFields, StaticView};
use folio_testkit::sample;

use crate::runtime::running_with;
use crate::world::{World, app, refused};

impl World {
    async fn static_item(&self, files: &[(&str, &str)]) -> Result<StaticView, Error> {
        let fields = StaticFields {
            path: "/".to_owned(),
            content: sample::directory(&self.folio, files).await,
            index: None,
            fallback: None,
            error_page: None,
            headers: Default::default(),
            expires: None,
        };
        let site = "site".parse().unwrap();
        let done = self.folio.set_static(&self.caller, (&app(), &site), fields, None).await?;
        Ok(done.result)
    }
}

#[tokio::test]
async fn an_item_with_more_files_or_bytes_than_allowed_is_refused_and_changes_nothing() {
    let limits = Limits { content_files_max: 2, content_bytes_max: 9, ..Limits::default() };
    let world = running_with(limits, Arc::new).await.world;
    let files = [("a", "a"), ("b", "b"), ("c", "c")];
    assert_eq!(refused(world.static_item(&files).await).0, "content_too_large");
    assert_eq!(refused(world.static_item(&[("a", "0123456789")]).await).0, "content_too_large");
    assert_eq!(world.folio.statics(&app()).await.unwrap(), []);
    let made = world.static_item(&files[..2]).await.unwrap();
    assert_eq!((made.files, made.bytes), (2, 2));
    assert_eq!(refused(world.static_item(&files).await).0, "content_too_large");
    let standing = world.folio.statics(&app()).await.unwrap();
    assert_eq!(standing[0].revision, made.revision);
}
