//! Publishes packages.

use folio_model::{Origin, Snapshot};

use super::{Error, Job, same_as_latest};
use crate::builder::{Builder, NewVersion};
use crate::request::IfSame;
use crate::view::{self, Published, VersionView};
use crate::{code, compose};

pub(super) fn publish(builder: &mut Builder<'_>, job: &Job<'_>) -> Result<Published, Error> {
    if job.request.package_version.is_some() {
        let (name, field) = (job.key.name.clone(), "a package version");
        return Err(compose::Error::NotForPackages { name, field }.into());
    }
    let unit = job.unit(builder.state)?;
    let base = job.base(builder.state, unit.as_ref())?;
    let base_spec = match &base {
        Some(base) => Some(compose::package_spec(builder.state, base.snapshot)?),
        None => None,
    };
    let scope = job.scope(builder.state);
    let spec = compose::package(scope, &job.key.name, base_spec, job.given)?;
    let snapshot = Snapshot::Package(spec);
    if let Some(unit) = &unit
        && job.request.if_same == IfSame::Keep
        && let Some(latest) = same_as_latest(builder.state, unit, snapshot.digest())?
    {
        return Ok(Published {
            version: view::version(builder.state, unit, latest)?,
            package: None,
        });
    }
    let id = job.id(builder, unit.as_ref())?;
    let mut unit = code::claim(builder, job.key, Origin::User)?;
    if job.replaces_draft() {
        builder.clear_draft(&mut unit)?;
    }
    let archive = match &job.given.files {
        Some(files) => files.archive,
        None => base.and_then(|base| base.archive),
    };
    let description = job.request.description.clone();
    let new = NewVersion { id, uses: None, archive, description };
    let version = builder.publish(&mut unit, &snapshot, new)?;
    super::say(builder, job.key, &version.id);
    let build = builder.build_of(&snapshot)?;
    let version = VersionView::new(&unit, version, snapshot, None, build);
    Ok(Published { version, package: None })
}
