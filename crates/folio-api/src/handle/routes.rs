//! Routes of an app.

use folio_core::Folio;
use folio_core::request::Onto;
use folio_core::route::RouteView;
use folio_core::view::{Done, Removed};

use super::Outcome;
use crate::decode::{AppPath, Ask, Change, Given, Nothing, RoutePath};
use crate::encode::{Answer, Created};
use crate::wire::{Items, NewRoute, NewRouteFields};

pub(crate) async fn list(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<Items<RouteView>>> {
    let items = folio.routes_of(&ask.path.app).await?;
    Ok(Answer(Items { items }))
}

pub(crate) async fn show(folio: Folio, ask: Ask<RoutePath>) -> Outcome<Answer<RouteView>> {
    Ok(Answer(folio.show_route(&ask.path.app, &ask.path.name).await?))
}

pub(crate) async fn create(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<NewRoute>>,
) -> Outcome<Created<RouteView>> {
    let onto = (Onto::Nothing, change.revision()?);
    let Given(NewRoute { name, fields }) = change.body;
    let route = (&change.path.app, name.as_ref());
    Ok(Created(folio.set_route(&change.caller, route, fields, onto).await?))
}

pub(crate) async fn update(
    folio: Folio,
    change: Change<RoutePath, Nothing, Given<NewRouteFields>>,
) -> Outcome<Answer<Done<RouteView>>> {
    let onto = (Onto::Existing, change.revision_of_existing());
    let Given(NewRouteFields { fields }) = change.body;
    let route = (&change.path.app, Some(&change.path.name));
    Ok(Answer(folio.set_route(&change.caller, route, fields, onto).await?))
}

pub(crate) async fn delete(
    folio: Folio,
    change: Change<RoutePath>,
) -> Outcome<Answer<Done<Removed>>> {
    let expect = change.revision_of_existing();
    let route = (&change.path.app, &change.path.name);
    Ok(Answer(folio.delete_route(&change.caller, route, expect).await?))
}
