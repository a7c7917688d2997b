//! Versions of functions and packages.

use folio_core::Folio;
use folio_core::ports;
use folio_core::view::{Done, Published, Removed, VersionView};

use super::Outcome;
use crate::decode::{
    AfterQuery, Ask, Change, Given, Nothing, PartQuery, UnitPath, VersionPath, VersionsPath,
    page_items,
};
use crate::encode::{Answer, Created, File};
use crate::wire::{NewDescription, NewVersion, Page};

pub(crate) async fn list(
    folio: Folio,
    ask: Ask<UnitPath, AfterQuery>,
) -> Outcome<Answer<Page<VersionView>>> {
    let limit = page_items(&folio, ask.query.limit);
    let page = ports::Page { after: ask.query.after, limit };
    let items = folio.versions(&ask.path.key(), page).await?;
    Ok(Answer(Page::new(items, limit, |version| version.number.get())))
}

pub(crate) async fn publish(
    folio: Folio,
    change: Change<UnitPath, Nothing, Given<NewVersion>>,
) -> Outcome<Created<Published>> {
    let expect = change.revision()?;
    let (key, Given(version)) = (change.path.key(), change.body);
    Ok(Created(folio.publish(&change.caller, &key, version.expecting(expect)).await?))
}

pub(crate) async fn show(folio: Folio, ask: Ask<VersionPath>) -> Outcome<Answer<VersionView>> {
    Ok(Answer(folio.version(&ask.path.key(), &ask.path.at.0).await?))
}

pub(crate) async fn describe(
    folio: Folio,
    change: Change<VersionPath, Nothing, Given<NewDescription>>,
) -> Outcome<Answer<Done<VersionView>>> {
    change.unconditional()?;
    let (path, Given(NewDescription { description })) = (change.path, change.body);
    let done = folio.describe(&change.caller, &path.key(), &path.at.0, description).await?;
    Ok(Answer(done))
}

pub(crate) async fn delete(
    folio: Folio,
    change: Change<VersionsPath>,
) -> Outcome<Answer<Done<Removed>>> {
    let (key, expect) = (change.path.key(), change.revision_of_existing());
    Ok(Answer(folio.delete_versions(&change.caller, &key, change.path.at.0, expect).await?))
}

pub(crate) async fn download(folio: Folio, ask: Ask<VersionPath, PartQuery>) -> Outcome<File> {
    let key = ask.path.key();
    let files = folio.files(&key, &ask.path.at.0, ask.query.part).await?;
    let download = folio.download(&files).await?;
    File::new(&format!("{}-{}", key.name, files.id), download).await
}
