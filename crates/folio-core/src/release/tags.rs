//! Tags on releases. A tagged release never expires, and a tag never moves by itself.

use folio_model::{AppName, Place, Pointer, ReleaseId};

use super::{Error, ReleaseRef, ReleaseView, Standing, by_id, reach, tagged, view};
use crate::Folio;
use crate::ports::StandingRelease;
use crate::request::Caller;
use crate::view::Done;

impl Folio {
    /// Puts a tag on a release that can be reached, taking it from another if need be. `from` is the release that
    /// the caller has seen it on.
    pub async fn tag_release(
        &self,
        caller: &Caller,
        (app, tag): (&AppName, &ReleaseId),
        on: &ReleaseRef,
        from: Option<&ReleaseId>,
    ) -> Result<Done<ReleaseView>, Error> {
        let (app, tag, on, from) = (app.clone(), tag.clone(), on.clone(), from.cloned());
        self.commit(caller, &app.clone(), move |builder| {
            let found = reach(builder.state, &app, &on)?;
            let taken = by_id(builder.state, &app, &tag)?.is_some();
            if taken || builder.state.id_taken(&app, &as_version(&tag))? {
                return Err(Error::TagIsId(tag.clone()));
            }
            let max = ReleaseId::tag_bytes_max(&app);
            if tag.as_str().len() > max {
                return Err(Error::TagTooLong { app: app.clone(), tag: tag.clone(), max });
            }
            let now = tagged(builder.state, &app, &tag)?;
            if from.is_some() && now != from {
                return Err(Error::TagMoved { tag: tag.clone(), on: now });
            }
            let mut standing = Standing::read(builder.state, &app)?;
            if found.release.aside {
                return Err(Error::Aside(found.id));
            }
            let others = standing.tags_counted(&tag);
            let limit = standing.plan.tagged;
            if others >= limit as usize {
                return Err(Error::TooManyTags { app: app.clone(), limit });
            }
            builder.say(format!("tag release {} as {tag}", found.id));
            let pointer = Pointer::ReleaseTag { app: app.clone(), name: tag.clone() };
            let to = Some(Place::Tagged(found.id.clone()));
            builder.point(pointer, now.map(Place::Tagged), to)?;
            standing.tags.retain(|(name, _)| *name != tag);
            standing.tags.push((tag.clone(), found.id.clone()));
            standing.tags.sort();
            Ok(view::release(builder.state, &standing, found)?)
        })
        .await
    }

    /// Takes a tag away. The release stays; it may expire when the next one is made.
    pub async fn untag_release(
        &self,
        caller: &Caller,
        app: &AppName,
        tag: &ReleaseId,
    ) -> Result<Done<ReleaseView>, Error> {
        let (app, tag) = (app.clone(), tag.clone());
        self.commit(caller, &app.clone(), move |builder| {
            let Some(on) = tagged(builder.state, &app, &tag)? else {
                let tags = builder.state.release_tags(&app)?;
                let names = tags.iter().map(|(name, _)| name.as_str());
                let near = crate::resolve::nearest(tag.as_str(), names);
                return Err(Error::NoTag { app: app.clone(), tag: tag.clone(), near });
            };
            builder.say(format!("remove tag {tag} from release {on}"));
            let pointer = Pointer::ReleaseTag { app: app.clone(), name: tag.clone() };
            builder.point(pointer, Some(Place::Tagged(on.clone())), None)?;
            let mut standing = Standing::read(builder.state, &app)?;
            standing.tags.retain(|(name, _)| *name != tag);
            let found: Option<StandingRelease> = by_id(builder.state, &app, &on)?;
            let found = found.ok_or_else(|| Error::NotFound {
                app: app.clone(),
                release: on.clone(),
                near: None,
            })?;
            Ok(view::release(builder.state, &standing, found)?)
        })
        .await
    }
}

/// The tag as an id of a version would be written; every tag could be one.
pub(super) fn as_version(tag: &ReleaseId) -> folio_model::VersionId {
    tag.as_str().parse().expect("what fits a host name and is no number is an id")
}
