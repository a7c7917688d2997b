//! Facts about domains: whose they are, what is refused, and that hosts hear of every move.

use std::sync::{Arc, Mutex};

use folio_core::request::{Cascade, Onto};
use folio_core::route::RouteFields;
use folio_core::serving::Site;
use folio_model::{AppName, DomainName, RoutePath, Target};

use crate::world::{World, app, function, refused, request, world};

fn shop() -> AppName {
    "shop".parse().unwrap()
}

fn domain(text: &str) -> DomainName {
    DomainName::written(text).unwrap()
}

async fn with_shop() -> World {
    let world = world().await;
    world.folio.create_app(&world.caller, &shop()).await.unwrap();
    world
}

async fn route(world: &World, app: &AppName, host: &str) -> Result<(), (&'static str, String)> {
    let fields = RouteFields {
        path: Some(RoutePath::Exact("/x".to_owned())),
        targets: Some(vec![Target::only("hello".parse().unwrap())]),
        host: Some(host.to_owned()),
        ..RouteFields::default()
    };
    let name = "own".parse().unwrap();
    let set =
        world.folio.set_route(&world.caller, (app, Some(&name)), fields, (Onto::Nothing, None));
    match set.await {
        Ok(_) => Ok(()),
        error => Err(refused(error)),
    }
}

#[tokio::test]
async fn a_domain_is_of_one_app_and_free_once_it_is_removed() {
    let World { folio, caller, .. } = &with_shop().await;
    let name = domain("shop.example.com");
    let added = folio.add_domain(caller, &shop(), &name).await.unwrap();
    assert!(added.changed && added.entry.is_some() && added.app_version.is_none());
    assert!(!folio.add_domain(caller, &shop(), &name).await.unwrap().changed);
    let (code, message) = refused(folio.add_domain(caller, &app(), &name).await);
    assert_eq!((code, message.contains("`shop`")), ("domain_taken", true), "{message}");
    let (code, _) = refused(folio.remove_domain(caller, &app(), &name).await);
    assert_eq!(code, "domain_not_found");
    folio.remove_domain(caller, &shop(), &name).await.unwrap();
    assert_eq!(folio.domains(&shop()).await.unwrap(), []);
    folio.add_domain(caller, &app(), &name).await.unwrap();
    let history = folio.domain_history(&shop(), &name).await.unwrap();
    assert_eq!(history.iter().map(|step| step.added).collect::<Vec<_>>(), [false, true]);
    let conflict = folio.undo(caller, &shop(), None).await;
    assert_eq!(refused(conflict).0, "undo_conflict", "another app has it by now");
}

#[tokio::test]
async fn the_platforms_own_hosts_are_no_domains() {
    let World { folio, caller, .. } = &with_shop().await;
    for name in ["shop.localhost", "a.b.localhost"] {
        let (code, _) = refused(folio.add_domain(caller, &shop(), &domain(name)).await);
        assert_eq!(code, "domain_reserved", "{name}");
    }
}

#[tokio::test]
async fn a_host_is_not_shared_between_a_domain_and_the_routes_of_another_app() {
    let world = with_shop().await;
    let (folio, caller) = (&world.folio, &world.caller);
    world.publish(&function("hello"), request(world.code("x").await)).await.unwrap();
    folio.add_domain(caller, &shop(), &domain("shop.example.com")).await.unwrap();
    for host in ["shop.example.com", "SHOP.example.com"] {
        assert_eq!(route(&world, &app(), host).await.unwrap_err().0, "domain_taken", "{host}");
    }
    route(&world, &app(), "blog.example.com").await.unwrap();
    let (code, message) =
        refused(folio.add_domain(caller, &shop(), &domain("blog.example.com")).await);
    assert_eq!((code, message.contains("default/own")), ("domain_taken", true), "{message}");
    folio.add_domain(caller, &app(), &domain("blog.example.com")).await.unwrap();
}

#[tokio::test]
async fn an_app_with_domains_is_deleted_only_with_them() {
    let World { folio, caller, .. } = &with_shop().await;
    let name = domain("shop.example.com");
    folio.add_domain(caller, &shop(), &name).await.unwrap();
    let (code, message) = refused(folio.delete_app(caller, &shop(), Cascade::No).await);
    assert_eq!((code, message.contains("shop.example.com")), ("in_use", true), "{message}");
    folio.delete_app(caller, &shop(), Cascade::Yes).await.unwrap();
    folio.add_domain(caller, &app(), &name).await.unwrap();
}

#[tokio::test]
async fn hosts_hear_of_a_domain_before_the_call_returns() {
    let World { folio, caller, .. } = &with_shop().await;
    let told = Arc::new(Mutex::new(Vec::<Arc<Site>>::new()));
    let hear = Arc::clone(&told);
    let follower = move |sites: Arc<Vec<_>>| *hear.lock().unwrap() = sites.to_vec();
    folio.follow_sites(Arc::new(follower)).await.unwrap();
    let domains = || {
        let sites = told.lock().unwrap();
        let site = sites.iter().find(|site| site.app == shop()).unwrap();
        site.domains.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let name = domain("shop.example.com");
    folio.add_domain(caller, &shop(), &name).await.unwrap();
    assert_eq!(domains(), ["shop.example.com"]);
    folio.undo(caller, &shop(), None).await.unwrap();
    assert_eq!(domains(), Vec::<String>::new());
}
