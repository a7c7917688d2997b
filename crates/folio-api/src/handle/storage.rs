//! Bytes: what is missing, uploads, and what is stored.

use folio_core::Folio;
use folio_core::sweep::{MigrationReport, SweepReport};
use folio_core::upload::{Belief, Uploaded};

use super::Outcome;
use crate::decode::{Ask, Given, Nothing, Upload};
use crate::encode::Answer;
use crate::wire::{Checked, Missing, Wanted};

pub(crate) async fn missing(
    folio: Folio,
    ask: Ask<Nothing, Nothing, Given<Wanted>>,
) -> Outcome<Answer<Missing>> {
    let Wanted { digests, read_back } = ask.body.0;
    let belief = if read_back { Belief::ReadBack } else { Belief::Written };
    let missing = folio.missing(digests, belief).await?;
    Ok(Answer(Missing { missing }))
}

pub(crate) async fn upload(folio: Folio, upload: Upload) -> Outcome<Answer<Uploaded>> {
    Ok(Answer(folio.upload(upload.nodes).await?))
}

pub(crate) async fn usage(folio: Folio, _: Ask) -> Outcome<Answer<SweepReport>> {
    Ok(Answer(folio.usage().await?))
}

pub(crate) async fn sweep(folio: Folio, _: Ask) -> Outcome<Answer<SweepReport>> {
    Ok(Answer(folio.sweep().await?))
}

pub(crate) async fn migrate(folio: Folio, _: Ask) -> Outcome<Answer<MigrationReport>> {
    Ok(Answer(folio.migrate_storage().await?))
}

pub(crate) async fn check(folio: Folio, _: Ask) -> Outcome<Answer<Checked>> {
    let damage = folio.check().await?;
    Ok(Answer(Checked { damage }))
}
