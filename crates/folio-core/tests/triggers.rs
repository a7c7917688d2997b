//! Triggers that are no routes: what they need, what they keep from being deleted, and that names are shared.

use folio_core::Explain;
use folio_core::request::{Cascade, Onto, Which};
use folio_core::route::RouteFields;
use folio_core::trigger::{
    Error, QueueFields, TimerFields, TriggerFields, TriggerType, TriggerView, WatchFields,
};
use folio_model::{RoutePath, Target, VersionId};

use crate::runtime::reference;
use crate::world::{World, app, function, id, refused, world};

fn to(functions: &str) -> Option<Vec<Target>> {
    Some(vec![Target::only(reference(functions))])
}

fn timer(cron: &str, function: &str) -> TriggerFields {
    let cron = Some(cron.to_owned());
    TriggerFields::Timer(TimerFields { cron, targets: to(function), ..TimerFields::default() })
}

fn by_tag(tag: &VersionId) -> TriggerFields {
    let (cron, tag) = (Some("@hourly".to_owned()), Some(tag.clone()));
    TriggerFields::Timer(TimerFields { cron, tag, ..TimerFields::default() })
}

fn watch(object_type: &str) -> TriggerFields {
    let object_type = Some(object_type.to_owned());
    TriggerFields::Watch(WatchFields {
        object_type,
        targets: to("hello"),
        ..WatchFields::default()
    })
}

async fn set(
    world: &World,
    name: &str,
    fields: TriggerFields,
    onto: Onto,
) -> Result<TriggerView, Error> {
    let name = name.parse().unwrap();
    let at = (&app(), Some(&name));
    Ok(world.folio.set_trigger(&world.caller, at, fields, (onto, None)).await?.result)
}

async fn create(world: &World, name: &str, fields: TriggerFields) -> Result<TriggerView, Error> {
    set(world, name, fields, Onto::Nothing).await
}

async fn hello(world: &World) {
    world.version(&function("hello"), "one", "v1").await;
    world.version(&function("hello"), "two", "v2").await;
    world.point("hello", "prod", "v1").await;
}

#[tokio::test]
async fn a_timer_needs_a_time_that_comes_and_something_to_call() {
    let world = world().await;
    hello(&world).await;
    let refuse = async |fields: TriggerFields| refused(create(&world, "t", fields).await);
    assert_eq!(refuse(timer("often", "hello")).await.0, "bad_schedule");
    let (code, said) = refuse(timer("0 0 31 2 *", "hello")).await;
    assert_eq!((code, said.as_str()), ("bad_schedule", "`0 0 31 2 *` never comes"));
    for years in ["0 0 3 * * * 2027", "CRON_TZ=Europe/Berlin 0 0 3 * * * *"] {
        let (code, said) = refuse(timer(years, "hello")).await;
        let expected = format!("`{years}` has seven fields, and there is none for years");
        assert_eq!((code, said), ("bad_schedule", expected));
    }
    assert_eq!(refuse(timer("@hourly", "nobody")).await.0, "unit_not_found");
    assert_eq!(refuse(timer("@hourly", "hello@v9")).await.0, "version_not_found");
    assert_eq!(refuse(by_tag(&id("nightly"))).await.0, "tag_not_found");
    let nothing = TriggerFields::Timer(TimerFields::default());
    assert_eq!(refuse(nothing).await.0, "trigger_incomplete");
    let targetless = TimerFields { cron: Some("@daily".to_owned()), ..TimerFields::default() };
    assert_eq!(refuse(TriggerFields::Timer(targetless)).await.0, "trigger_incomplete");
    assert!(world.folio.triggers_of(&app(), None).await.unwrap().is_empty());
    let made = create(&world, "t", timer("@hourly", "hello_prod")).await.unwrap();
    assert_eq!(made.spec.targets()[0].function.to_string(), "hello@prod");
}

#[tokio::test]
async fn every_change_is_a_version_and_undo_takes_it_back() {
    let world = world().await;
    hello(&world).await;
    create(&world, "t", timer("@hourly", "hello")).await.unwrap();
    let daily = TimerFields { cron: Some("@daily".to_owned()), ..TimerFields::default() };
    let change = TriggerFields::Timer(daily);
    let changed = set(&world, "t", change.clone(), Onto::Existing).await.unwrap();
    assert_eq!(changed.version.number.get(), 2);
    let same = set(&world, "t", change, Onto::Existing).await.unwrap();
    assert_eq!(same.version.number.get(), 2);
    let (app, name) = (app(), "t".parse().unwrap());
    let cron = async || match world.folio.show_trigger(&app, &name).await.unwrap().spec {
        folio_model::TriggerSpec::Timer(timer) => timer.cron,
        spec => panic!("a timer became {spec:?}"),
    };
    assert_eq!(cron().await, "@daily");
    world.folio.undo(&world.caller, &app, None).await.unwrap();
    assert_eq!(cron().await, "@hourly");
    world.folio.delete_trigger(&world.caller, (&app, &name), None).await.unwrap();
    world.folio.undo(&world.caller, &app, None).await.unwrap();
    assert_eq!(cron().await, "@hourly");
}

#[tokio::test]
async fn a_trigger_keeps_what_it_names() {
    let world = world().await;
    hello(&world).await;
    create(&world, "t", timer("@hourly", "hello@v2")).await.unwrap();
    let delete = Which::One("v2".parse().unwrap());
    let key = function("hello");
    let kept = world.folio.delete_versions(&world.caller, &key, delete, None).await.unwrap_err();
    assert!(kept.to_string().ends_with("it is in use by timer `t`"), "{kept}");
    assert_eq!(kept.hint().unwrap(), "delete it first with `folio timer delete t`");
    let kept = world.folio.delete(&world.caller, &key, Cascade::No, None).await;
    assert_eq!(refused(kept).0, "in_use");
    let gone = world.folio.delete(&world.caller, &key, Cascade::Yes, None).await.unwrap();
    let units: Vec<_> = gone.result.units.iter().map(|unit| unit.name.to_string()).collect();
    assert_eq!(units, ["t", "hello"]);
}

#[tokio::test]
async fn a_timer_keeps_its_tag() {
    let world = world().await;
    hello(&world).await;
    let (caller, tag) = (&world.caller, id("nightly"));
    let at = (&app(), &tag);
    let tagged = world.folio.tag(caller, at, vec![reference("hello@v1")], None).await.unwrap();
    create(&world, "t", by_tag(&tag)).await.unwrap();
    let (code, said) = refused(world.folio.delete_tag(caller, at, None).await);
    assert_eq!(code, "in_use");
    assert_eq!(said, "tag `nightly` cannot be removed: it is in use by timer `t`");
    let emptied = world.folio.untag(caller, at, vec!["hello".parse().unwrap()], None).await;
    assert_eq!(refused(emptied).0, "in_use");
    assert_eq!(refused(world.folio.undo(caller, &app(), tagged.entry).await).0, "in_use");
    // The function's package goes with its versions, which leaves the tag empty.
    let package = crate::world::package("hello-pkg");
    let refusal = world.folio.delete(caller, &package, Cascade::Yes, None).await;
    assert_eq!(refused(refusal).0, "in_use");
    let key = function("hello");
    let gone = world.folio.delete(caller, &key, Cascade::Yes, None).await.unwrap();
    let units: Vec<_> = gone.result.units.iter().map(|unit| unit.name.to_string()).collect();
    assert_eq!(units, ["t", "hello"]);
    assert!(world.folio.tags(&app()).await.unwrap().is_empty());
    world.folio.undo(caller, &app(), None).await.unwrap();
    assert_eq!(world.folio.triggers_of(&app(), None).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_tag_that_was_deleted_after_its_timer_keeps_the_timer_away() {
    let world = world().await;
    hello(&world).await;
    let (caller, tag) = (&world.caller, id("nightly"));
    let at = (&app(), &tag);
    world.folio.tag(caller, at, vec![reference("hello@v1")], None).await.unwrap();
    create(&world, "t", by_tag(&tag)).await.unwrap();
    let name = "t".parse().unwrap();
    let deleted = world.folio.delete_trigger(caller, (&app(), &name), None).await.unwrap();
    world.folio.delete_tag(caller, at, None).await.unwrap();
    let back = world.folio.undo(caller, &app(), deleted.entry).await;
    assert_eq!(refused(back).0, "undo_conflict");
}

#[tokio::test]
async fn all_triggers_share_their_names() {
    let world = world().await;
    hello(&world).await;
    create(&world, "t", timer("@hourly", "hello")).await.unwrap();
    let name = "t".parse().unwrap();
    let route = RouteFields {
        path: Some(RoutePath::Exact("/a".to_owned())),
        targets: to("hello"),
        ..RouteFields::default()
    };
    let at = (&app(), Some(&name));
    let taken =
        world.folio.set_route(&world.caller, at, route.clone(), (Onto::Nothing, None)).await;
    assert_eq!(refused(taken).0, "unit_exists");
    let changed =
        world.folio.set_route(&world.caller, at, route.clone(), (Onto::Existing, None)).await;
    assert_eq!(refused(changed).0, "other_trigger");
    assert_eq!(refused(world.folio.show_route(&app(), &name).await).0, "other_trigger");
    assert!(world.folio.routes_of(&app()).await.unwrap().is_empty());
    let other = "r".parse().unwrap();
    let at = (&app(), Some(&other));
    world.folio.set_route(&world.caller, at, route, (Onto::Nothing, None)).await.unwrap();
    assert_eq!(refused(world.folio.show_trigger(&app(), &other).await).0, "other_trigger");
    let deleted = world.folio.delete_trigger(&world.caller, (&app(), &other), None).await;
    assert_eq!(refused(deleted).0, "other_trigger");
    assert_eq!(refused(create(&world, "r", watch("function")).await).0, "unit_exists");
    let change = watch("function");
    assert_eq!(refused(set(&world, "t", change, Onto::Existing).await).0, "other_trigger");
    let timers = world.folio.triggers_of(&app(), Some(TriggerType::Timer)).await.unwrap();
    assert_eq!(timers.len(), 1);
    let watches = world.folio.triggers_of(&app(), Some(TriggerType::Watch)).await.unwrap();
    assert!(watches.is_empty());
}

#[tokio::test]
async fn what_cannot_be_watched_or_read_is_refused_with_the_reason() {
    let world = world().await;
    hello(&world).await;
    let (code, said) = refused(create(&world, "w", watch("POD")).await);
    assert_eq!(code, "bad_spec");
    assert_eq!(said, "`POD` objects cannot be watched: folio runs without a Kubernetes cluster");
    assert_eq!(refused(create(&world, "w", watch("planet")).await).0, "bad_spec");
    create(&world, "w", watch("Function")).await.unwrap();
    let queue = |queue: Option<&str>, topic: &str| {
        let (queue, topic) = (queue.map(str::to_owned), Some(topic.to_owned()));
        TriggerFields::Queue(QueueFields {
            queue,
            topic,
            targets: to("hello"),
            ..QueueFields::default()
        })
    };
    let (code, said) = refused(create(&world, "q", queue(Some("kafka"), "orders")).await);
    assert_eq!(code, "bad_spec");
    assert!(said.starts_with("message queues of the type `kafka` cannot be read"), "{said}");
    assert_eq!(refused(create(&world, "q", queue(None, "a..b")).await).0, "bad_spec");
    assert_eq!(refused(create(&world, "q", queue(None, "orders")).await).0, "no_message_queue");
}
