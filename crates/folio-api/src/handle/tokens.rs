//! Tokens: who may speak, and for whom.

use folio_core::Folio;
use folio_core::token::{NewToken, TokenView};
use folio_core::view::Done;
use folio_model::Grant;

use super::Outcome;
use crate::decode::{Anybody, Ask, Change, Given, Nothing, TokenPath};
use crate::encode::Answer;
use crate::wire::{Items, Myself, RevealedToken, TokenRequest};

pub(crate) async fn whoami(_: Folio, who: Anybody) -> Outcome<Answer<Myself>> {
    Ok(Answer(Myself { actor: who.caller.actor, grant: who.caller.grant }))
}

pub(crate) async fn list(folio: Folio, ask: Ask) -> Outcome<Answer<Items<TokenView>>> {
    Ok(Answer(Items { items: folio.tokens(&ask.caller).await? }))
}

pub(crate) async fn create(
    folio: Folio,
    change: Change<Nothing, Nothing, Given<TokenRequest>>,
) -> Outcome<Answer<RevealedToken>> {
    change.unconditional()?;
    let Given(TokenRequest { actor, role, app, valid_for_seconds }) = change.body;
    let grant = Grant { role, app };
    let valid_for = valid_for_seconds.map(std::time::Duration::from_secs);
    let new = NewToken { actor, grant, valid_for };
    let (token, done) = folio.create_token(&change.caller, new).await?;
    Ok(Answer(RevealedToken { token: token.reveal(), view: done.result }))
}

pub(crate) async fn revoke(
    folio: Folio,
    change: Change<TokenPath>,
) -> Outcome<Answer<Done<TokenView>>> {
    change.unconditional()?;
    Ok(Answer(folio.revoke_token(&change.caller, &change.path.id).await?))
}
