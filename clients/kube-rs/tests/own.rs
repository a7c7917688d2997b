//! Kinds of folio's own group, typed: a function that both groups show, and a job, which is no unit.

use folio_client_kube_rs::own::{Function, FunctionSpec, Job, JobSpec, Run};
use folio_client_kube_rs::{Function as OfFission, Named};
use kube::runtime::{WatchStreamExt as _, watcher};

use super::*;

fn clean(name: &str, timeout_ms: i64) -> Function {
    let run = Run { timeout_ms: Some(timeout_ms), ..Run::default() };
    let (environment, package) = ("nodejs".to_owned(), Named::new("code"));
    Function::new(name, FunctionSpec { environment, package, run: Some(run), ..Default::default() })
}

fn timeout_ms(function: &Function) -> Option<i64> {
    function.spec.run.as_ref().and_then(|run| run.timeout_ms)
}

#[tokio::test]
async fn a_function_is_one_in_both_groups() {
    let (_server, client, of_fission) = hello().await;
    let functions: Api<Function> = Api::default_namespaced(client);
    let post = PostParams::default();
    let made = functions.create(&post, &clean("hello", 7000)).await.unwrap();
    let seen: OfFission = of_fission.get("hello").await.unwrap();
    assert_eq!(seen.spec.function_timeout, Some(7));
    assert_eq!((seen.uid(), seen.resource_version()), (made.uid(), made.resource_version()));
    let mut changed = made.clone();
    changed.spec.run = Some(Run { timeout_ms: Some(8000), ..Run::default() });
    let changed = functions.replace("hello", &post, &changed).await.unwrap();
    assert_eq!(timeout_ms(&changed), Some(8000));
    let stale = functions.replace("hello", &post, &made).await;
    assert_eq!(reason(stale), (409, "Conflict".to_owned()));
    assert_eq!(functions.list(&ListParams::default()).await.unwrap().items.len(), 1);
    functions.delete("hello", &DeleteParams::default()).await.unwrap();
    assert!(of_fission.get_opt("hello").await.unwrap().is_none());
}

#[tokio::test]
async fn what_is_applied_in_folios_words_has_an_owner_too() {
    let (_server, client, _) = hello().await;
    let functions: Api<Function> = Api::default_namespaced(client);
    let (mine, theirs) = (PatchParams::apply("mine"), PatchParams::apply("theirs"));
    let applied = |timeout_ms| Patch::Apply(clean("hello", timeout_ms));
    let made = functions.patch("hello", &mine, &applied(5000)).await.unwrap();
    let same = functions.patch("hello", &mine, &applied(5000)).await.unwrap();
    assert_eq!(same.resource_version(), made.resource_version(), "nothing was changed");
    let refused = functions.patch("hello", &theirs, &applied(6000)).await;
    assert_eq!(reason(refused), (409, "Conflict".to_owned()));
    let forced = functions.patch("hello", &theirs.force(), &applied(6000)).await.unwrap();
    assert_eq!(timeout_ms(&forced), Some(6000));
}

#[tokio::test]
async fn a_job_is_made_watched_paused_and_deleted() {
    let (_server, client, functions) = hello().await;
    let packages: Api<Package> = Api::default_namespaced(client.clone());
    let post = PostParams::default();
    packages.create(&post, &published(package("built"))).await.unwrap();
    functions.create(&post, &published(function("hello", "built"))).await.unwrap();
    let jobs: Api<Job> = Api::default_namespaced(client);
    let mut events = Box::pin(watcher(jobs.clone(), watcher::Config::default()).touched_objects());
    let pattern = Some("0 6 * * *".to_owned());
    let spec = JobSpec { function: "hello".to_owned(), pattern, ..JobSpec::default() };
    let making = async {
        let made = jobs.create(&post, &Job::new("tick", spec)).await.unwrap();
        assert_eq!(made.status.unwrap().state, "running");
        let pause = Patch::Merge(json!({ "spec": { "state": "paused" } }));
        let paused = jobs.patch("tick", &PatchParams::default(), &pause).await.unwrap();
        assert_eq!(paused.status.unwrap().state, "paused");
    };
    let seeing = async {
        loop {
            let seen = next(&mut events).await.unwrap();
            if seen.status.is_some_and(|status| status.state == "paused") {
                break;
            }
        }
    };
    tokio::join!(making, seeing);
    jobs.delete("tick", &DeleteParams::default()).await.unwrap();
    assert_eq!(reason(jobs.get("tick").await), (404, "NotFound".to_owned()));
}

/// An object that gets a version, so that it can be run.
fn published<T: kube::Resource>(mut object: T) -> T {
    let annotation = ("folio.dev/publish".to_owned(), "true".to_owned());
    object.annotations_mut().extend([annotation]);
    object
}
