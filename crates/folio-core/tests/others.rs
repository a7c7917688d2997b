//! Functions of other apps: whoever names one needs the right to it there, whatever they ask for, and is told the same
//! whether it is there or not.

use std::fmt::Debug;

use folio_core::canary::{NewCanary, PlanFields};
use folio_core::execution::{Listing, NewExecution};
use folio_core::ports::runtime::Scale;
use folio_core::{Caller, Explain};
use folio_model::{
    AppName, ExecutionMode, ExecutionOrigin, Grant, Kind, Reference, Role, VersionId,
};

use crate::runtime::{Running, call, reference, running};
use crate::world::{app, function};

fn shop() -> AppName {
    "shop".parse().unwrap()
}

fn of_shop(role: Role) -> Caller {
    let grant = Grant { role, app: Some(shop()) };
    Caller { grant, ..Caller::new("grace".parse().unwrap()) }
}

fn new(function: Reference) -> NewExecution {
    let (input, description) = (None, String::new());
    let (mode, origin) = (ExecutionMode::Sync, ExecutionOrigin::Request);
    NewExecution { function, input, mode, description, origin }
}

fn canary([alias, old, new]: [&Reference; 3]) -> NewCanary {
    let (alias, old, new) = (Some(alias.clone()), Some(old.clone()), new.clone());
    NewCanary { trigger: None, alias, old, new, fields: PlanFields::default() }
}

/// What each verb that is given a reference says of one, in turn.
async fn told(running: &Running, role: Role, named: &Reference) -> Vec<(&'static str, String)> {
    let (folio, by, shop) = (&running.world.folio, &of_shop(role), &shop());
    let (own, function) = (&reference("own"), Kind::Function);
    let (tag, name): (VersionId, _) = ("mine".parse().unwrap(), "mine".parse().unwrap());
    let (tag, at) = ((shop, &tag), (shop, &name));
    vec![
        says(folio.start_execution(by, shop, new(named.clone())).await),
        says(folio.check_execution(by, shop, named, None).await),
        says(folio.invoke(by, (shop, named), call(0)).await.map(|_| ())),
        says(folio.scale(by, (shop, named), Scale::Away).await),
        says(folio.bound_to(by, shop, named).await),
        says(folio.tag(by, tag, vec![own.clone(), named.clone()], None).await),
        says(folio.set_members(by, tag, vec![named.clone()], None).await),
        says(folio.start_canary(by, at, canary([named, own, own])).await),
        says(folio.start_canary(by, at, canary([own, named, own])).await),
        says(folio.start_canary(by, at, canary([own, own, named])).await),
        says(folio.resolve(by, shop, function, named).await),
        says(folio.diff(by, (shop, function), named, own).await),
        says(folio.diff(by, (shop, function), own, named).await),
    ]
}

#[track_caller]
fn says<T: Debug, E: Explain>(result: Result<T, E>) -> (&'static str, String) {
    let error = result.expect_err("what is in another app is not for them");
    (error.code().0, error.to_string())
}

#[tokio::test]
async fn every_verb_refuses_a_function_of_another_app_whether_it_is_there_or_not() {
    let running = running().await;
    running.world.folio.create_app(&running.world.caller, &shop()).await.unwrap();
    running.world.version(&function("hello"), "one", "v1").await;
    let entries = *running.world.folio.head().borrow();
    for role in [Role::Deployer, Role::Admin] {
        for named in ["default/hello", "default/hello@v1", "default/none", "default/hello@none"] {
            for (code, text) in told(&running, role, &reference(named)).await {
                assert_eq!(code, "forbidden", "{named}: {text}");
                assert!(text.contains("app `default`") && !text.contains("hello"), "{text}");
            }
        }
        for (code, text) in told(&running, role, &reference("missing/none")).await {
            assert_eq!(code, "forbidden", "{text}");
        }
    }
    assert_eq!(*running.world.folio.head().borrow(), entries, "nothing was changed");
    let listing = Listing { limit: 10, ..Listing::default() };
    assert_eq!(running.world.folio.executions(&app(), listing).await.unwrap(), [], "nothing ran");
    assert_eq!(running.stub.happened("call hello@v1"), 0, "nothing was called");
}

#[tokio::test]
async fn whoever_may_call_functions_of_the_other_app_may_name_them() {
    let running = running().await;
    running.world.folio.create_app(&running.world.caller, &shop()).await.unwrap();
    running.world.version(&function("hello"), "one", "v1").await;
    let caller = Caller {
        grant: Grant { role: Role::Invoker, app: None },
        ..Caller::new("grace".parse().unwrap())
    };
    let hello = reference("default/hello");
    let started = running.world.folio.start_execution(&caller, &shop(), new(hello)).await.unwrap();
    assert_eq!(started.app, app());
}
