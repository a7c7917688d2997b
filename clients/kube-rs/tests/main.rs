//! The Rust client of Kubernetes, unmodified, against a real server.

mod own;
mod server;

use std::time::Duration;

use folio_client_kube_rs::{
    Archive, Function, FunctionSpec, Named, Package, PackageRef, PackageSpec,
};
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Client, Error, ResourceExt as _};
use serde_json::json;

use self::server::Server;

fn package(name: &str) -> Package {
    let deployment = Archive {
        kind: Some("literal".to_owned()),
        literal: Some("bW9kdWxlLmV4cG9ydHMgPSAxOwo=".to_owned()),
        ..Archive::default()
    };
    let environment = Named::new("nodejs");
    Package::new(name, PackageSpec { environment, deployment, ..PackageSpec::default() })
}

fn function(name: &str, package: &str) -> Function {
    let package = PackageRef { packageref: Named::new(package), ..PackageRef::default() };
    let environment = Named::new("nodejs");
    Function::new(name, FunctionSpec { environment, package, ..FunctionSpec::default() })
}

/// The status that a request was refused with.
fn reason<T: std::fmt::Debug>(answer: Result<T, Error>) -> (u16, String) {
    match answer {
        Err(Error::Api(status)) => (status.code, status.reason.clone()),
        other => panic!("{other:?}"),
    }
}

/// A function of a package, in a server of their own.
async fn hello() -> (Server, Client, Api<Function>) {
    let server = Server::start();
    let client = server.client().await;
    let packages: Api<Package> = Api::default_namespaced(client.clone());
    packages.create(&PostParams::default(), &package("code")).await.unwrap();
    let functions: Api<Function> = Api::default_namespaced(client.clone());
    (server, client, functions)
}

#[tokio::test]
async fn objects_are_made_read_changed_and_deleted() {
    let (_server, client, functions) = hello().await;
    let version = client.apiserver_version().await.unwrap();
    assert_eq!(version.major, "1");
    let post = PostParams::default();
    let made = functions.create(&post, &function("hello", "code")).await.unwrap();
    assert!(made.uid().is_some() && made.resource_version().is_some());
    assert_eq!(reason(functions.create(&post, &made).await).0, 400);
    let again = functions.create(&post, &function("hello", "code")).await;
    assert_eq!(reason(again), (409, "AlreadyExists".to_owned()));

    let mut found = functions.get("hello").await.unwrap();
    assert_eq!(found.spec.package.packageref.name, "code");
    found.spec.function_timeout = Some(7);
    let stale = found.clone();
    let replaced = functions.replace("hello", &post, &found).await.unwrap();
    assert_eq!(replaced.spec.function_timeout, Some(7));
    assert_ne!(replaced.resource_version(), stale.resource_version());
    let mut other = stale;
    other.spec.function_timeout = Some(8);
    let refused = functions.replace("hello", &post, &other).await;
    assert_eq!(reason(refused), (409, "Conflict".to_owned()));

    let patch = json!({ "metadata": { "labels": { "tier": "web" } } });
    let patched = functions.patch("hello", &PatchParams::default(), &Patch::Merge(patch)).await;
    assert_eq!(patched.unwrap().labels()["tier"], "web");
    let listed = functions.list(&ListParams::default().labels("tier=web")).await.unwrap();
    assert_eq!(listed.items.len(), 1);
    let none = functions.list(&ListParams::default().labels("tier=none")).await.unwrap();
    assert!(none.items.is_empty());

    let dry = DeleteParams::default().dry_run();
    functions.delete("hello", &dry).await.unwrap();
    functions.delete("hello", &DeleteParams::default()).await.unwrap();
    assert_eq!(reason(functions.get("hello").await), (404, "NotFound".to_owned()));
    assert!(functions.get_opt("hello").await.unwrap().is_none());
}

#[tokio::test]
async fn a_role_goes_as_far_as_it_goes() {
    let (_server, client, _) = hello().await;
    let elsewhere: Api<Function> = Api::namespaced(client.clone(), "elsewhere");
    let refused = elsewhere.list(&ListParams::default()).await;
    assert_eq!(reason(refused), (403, "Forbidden".to_owned()));
    let namespaces: Api<Namespace> = Api::all(client);
    assert_eq!(namespaces.get("default").await.unwrap().name_any(), "default");
    assert_eq!(reason(namespaces.list(&ListParams::default()).await).0, 403);
}

/// The next event, which comes soon or never.
async fn next<T: Unpin>(events: &mut (impl Stream<Item = T> + Unpin)) -> T {
    let soon = tokio::time::timeout(Duration::from_secs(20), events.next());
    soon.await.expect("an event comes").expect("the watch goes on")
}

async fn follows(config: watcher::Config) {
    let (_server, _, functions) = hello().await;
    let post = PostParams::default();
    functions.create(&post, &function("first", "code")).await.unwrap();
    let (store, writer) = reflector::store();
    let watched = reflector(writer, watcher(functions.clone(), config));
    let mut events = Box::pin(watched.applied_objects().try_filter(|function| {
        let is_later = function.name_any() != "first";
        async move { is_later }
    }));
    // The first object is there before anything is told of the second.
    let making = async {
        store.wait_until_ready().await.unwrap();
        functions.create(&post, &function("second", "code")).await.unwrap();
        let patch = json!({ "spec": { "functionTimeout": 9 } });
        let patch = Patch::Merge(patch);
        functions.patch("second", &PatchParams::default(), &patch).await.unwrap();
        functions.delete("second", &DeleteParams::default()).await.unwrap();
        functions.create(&post, &function("third", "code")).await.unwrap();
    };
    let seeing = async {
        loop {
            let seen = next(&mut events).await.unwrap();
            if seen.name_any() == "third" {
                break;
            }
            assert_eq!(seen.name_any(), "second");
        }
    };
    tokio::join!(making, seeing);
    let mut names: Vec<_> = store.state().iter().map(|function| function.name_any()).collect();
    names.sort();
    assert_eq!(names, ["first", "third"], "what was deleted is forgotten");
}

#[tokio::test]
async fn a_reflector_sees_what_is_made_changed_and_deleted() {
    follows(watcher::Config::default()).await;
}

#[tokio::test]
async fn a_reflector_that_streams_its_first_list_sees_the_same() {
    follows(watcher::Config::default().streaming_lists()).await;
}

#[tokio::test]
async fn what_is_applied_belongs_to_whoever_applied_it() {
    let (_server, _, functions) = hello().await;
    let applied = |timeout: i64| {
        let mut object = serde_json::to_value(function("hello", "code")).unwrap();
        object["spec"]["functionTimeout"] = timeout.into();
        Patch::Apply(object)
    };
    let (mine, theirs) = (PatchParams::apply("mine"), PatchParams::apply("theirs"));
    let made = functions.patch("hello", &mine, &applied(5)).await.unwrap();
    let managers: Vec<_> =
        made.managed_fields().iter().filter_map(|entry| entry.manager.clone()).collect();
    assert_eq!(managers, ["mine"]);
    let same = functions.patch("hello", &mine, &applied(5)).await.unwrap();
    assert_eq!(same.resource_version(), made.resource_version(), "nothing was changed");

    let refused = functions.patch("hello", &theirs, &applied(6)).await;
    let Err(Error::Api(status)) = refused else { panic!("{refused:?}") };
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    assert!(status.message.contains("mine"), "{}", status.message);
    let forced = functions.patch("hello", &theirs.clone().force(), &applied(6)).await.unwrap();
    assert_eq!(forced.spec.function_timeout, Some(6));
    let refused = functions.patch("hello", &mine, &applied(5)).await;
    assert_eq!(reason(refused), (409, "Conflict".to_owned()));
}
