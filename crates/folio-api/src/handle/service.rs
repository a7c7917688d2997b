//! What the server says about itself.

use folio_core::Folio;

use super::Outcome;
use crate::decode::{Anyone, Ask};
use crate::encode::{Answer, Document};
use crate::wire::{About, Health};

pub(crate) async fn health(_: Folio, _: Anyone) -> Outcome<Answer<Health>> {
    Ok(Answer(Health { status: "ok" }))
}

pub(crate) async fn about(folio: Folio, _: Anyone) -> Outcome<Answer<About>> {
    let (limits, hosts) = (*folio.limits(), folio.hosts().clone());
    Ok(Answer(About { name: "folio", version: env!("CARGO_PKG_VERSION"), limits, hosts }))
}

pub(crate) async fn openapi(_: Folio, _: Ask) -> Outcome<Document> {
    Ok(Document(crate::document()))
}
