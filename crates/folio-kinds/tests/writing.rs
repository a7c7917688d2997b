//! What flags describe, as manifests, and back.

use std::collections::BTreeMap;

use folio_kinds::spec::write::{self, Archives, WriteError};
use folio_kinds::spec::{self, Contents};
use folio_model::{
    Bag, Digest, EnvironmentSpec, FunctionSpec, MountPin, Name, PackagePin, PackageSpec, QueueSpec,
    RoutePath, RouteSpec, RunSettings, RuntimeKind, Snapshot, Sticky, Target, TimerSpec,
    TriggerSpec, WatchSpec,
};
use serde_json::{Value, json};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn targets(function: &str) -> Vec<Target> {
    vec![Target { function: function.parse().unwrap(), weight: 10_000 }]
}

/// Writes a unit, checks which version says it, and reads it back.
fn check(spec: Snapshot, version: &str) -> Value {
    let written = write::manifest(&name("one"), "default", spec.clone()).unwrap();
    assert_eq!(written["apiVersion"], version);
    assert_eq!(written["metadata"], json!({"name": "one", "namespace": "default"}));
    let read = spec::written(written.clone()).unwrap().expect("it is a kind");
    assert_eq!(read.unknown, Vec::<String>::new());
    let unit = spec::unit(&read.manifest, Contents::default()).unwrap();
    assert_eq!(unit.name, name("one"));
    assert_eq!(unit.idle, Vec::<String>::new());
    assert_eq!(without_bag(unit.spec), spec);
    written
}

fn without_bag(mut spec: Snapshot) -> Snapshot {
    match &mut spec {
        Snapshot::Function(spec) => spec.bag.clear(),
        Snapshot::Environment(spec) => spec.bag.clear(),
        Snapshot::Trigger(TriggerSpec::Http(spec)) => spec.bag.clear(),
        Snapshot::Trigger(TriggerSpec::Timer(spec)) => spec.bag.clear(),
        Snapshot::Trigger(TriggerSpec::Queue(spec)) => spec.bag.clear(),
        Snapshot::Trigger(TriggerSpec::Watch(spec)) => {
            spec.bag.clear();
            spec.namespace = None;
        }
        other => panic!("{other:?}"),
    }
    spec
}

fn function(run: RunSettings) -> FunctionSpec {
    FunctionSpec {
        environment: name("nodejs"),
        package: PackagePin { name: name("one-pkg"), snapshot: Digest::of(b"") },
        entrypoint: Some("main".to_owned()),
        environment_snapshot: None,
        run,
        configs: Vec::new(),
        secrets: Vec::new(),
        bag: Bag::new(),
    }
}

fn pin(text: &str, mount_path: Option<&str>) -> MountPin {
    let mount_path = mount_path.map(str::to_owned);
    MountPin { name: name(text), snapshot: Digest::of(b""), mount_path }
}

#[test]
fn a_function_is_written_in_fissions_words() {
    let run = RunSettings {
        variables: BTreeMap::from([("MODE".to_owned(), "test".to_owned())]),
        timeout_ms: Some(30_000),
        memory_bytes: Some(128 << 20),
        cpu_millis: Some(500),
        concurrency: Some(5),
        idle_ms: Some(60_000),
        scale_min: Some(1),
        scale_max: Some(3),
        requests_per_worker: Some(1),
        access: None,
    };
    let configs = vec![pin("mode", None)];
    let secrets = vec![pin("db", Some("/etc/keys"))];
    let spec = FunctionSpec { configs, secrets, ..function(run) };
    let written = check(Snapshot::Function(spec), "fission.io/v1");
    let expected = json!({
        "environment": {"name": "nodejs", "namespace": "default"},
        "package": {
            "packageref": {"name": "one-pkg", "namespace": "default"}, "functionName": "main",
        },
        "env": [{"name": "MODE", "value": "test"}],
        "resources": {"limits": {"cpu": "500m", "memory": "128Mi"}},
        "configmaps": [{"name": "mode", "namespace": "default"}],
        "secrets": [{"name": "db", "namespace": "default", "mountPath": "/etc/keys"}],
        "functionTimeout": 30,
        "idletimeout": 60,
        "requestsPerPod": 5,
        "onceOnly": true,
        "InvokeStrategy": {
            "ExecutionStrategy": {"ExecutorType": "newdeploy", "MinScale": 1, "MaxScale": 3},
        },
    });
    assert_eq!(written["spec"], expected);
}

#[test]
fn what_fission_has_no_word_for_is_written_in_folios() {
    let run = RunSettings { timeout_ms: Some(1500), ..RunSettings::default() };
    check(Snapshot::Function(function(run.clone())), "folio.dev/v1");
    let spec = FunctionSpec { secrets: vec![pin("db", None)], ..function(run) };
    let refused = write::manifest(&name("one"), "default", Snapshot::Function(spec)).unwrap_err();
    assert!(matches!(&refused, WriteError::Both(parts) if parts == &["spec.run"]));
}

#[test]
fn a_package_names_its_archives() {
    let spec = PackageSpec {
        environment: name("python"),
        source: None,
        deployment: None,
        build_command: Some("./build.sh".to_owned()),
        environment_snapshot: None,
        bag: Bag::new(),
    };
    let archives = Archives { source: Some("one-source".to_owned()), deployment: None };
    let written = write::package(&name("one"), "default", spec, archives).unwrap();
    let expected = json!({
        "environment": {"name": "python", "namespace": "default"},
        "buildcmd": "./build.sh",
        "source": {"type": "url", "url": "archive://one-source"},
    });
    assert_eq!(written["spec"], expected);
}

#[test]
fn an_environment_is_written_with_its_image() {
    let image = Some("fission/node-env".to_owned());
    let spec = EnvironmentSpec { image, ..EnvironmentSpec::of(RuntimeKind::Nodejs) };
    let written = check(Snapshot::Environment(spec), "fission.io/v1");
    assert_eq!(written["spec"]["runtime"]["image"], "fission/node-env");
    let command = Some("serve {port}".to_owned());
    let spec = EnvironmentSpec { command, ..EnvironmentSpec::of(RuntimeKind::Command) };
    check(Snapshot::Environment(spec), "folio.dev/v1");
}

#[test]
fn triggers_are_written_with_the_functions_they_call() {
    let route = RouteSpec {
        host: None,
        path: RoutePath::Prefix { path: "/shop".to_owned(), keep: true },
        methods: ["GET".to_owned()].into(),
        targets: targets("hello@prod"),
        sticky: None,
        cors: None,
        bag: Bag::new(),
    };
    let written = check(Snapshot::Trigger(TriggerSpec::Http(route.clone())), "fission.io/v1");
    assert_eq!(
        written["spec"]["functionref"],
        json!({"type": "name", "name": "hello", "alias": "prod"})
    );
    let sticky = Some(Sticky::Address);
    check(Snapshot::Trigger(TriggerSpec::Http(RouteSpec { sticky, ..route })), "folio.dev/v1");
    let timer = TimerSpec {
        cron: "@daily".to_owned(),
        zone: None,
        method: Some("GET".to_owned()),
        path: Some("/clean".to_owned()),
        targets: targets("hello"),
        tag: None,
        misfire: folio_model::Misfire::default(),
        retry: false,
        bag: Bag::new(),
    };
    check(Snapshot::Trigger(TriggerSpec::Timer(timer.clone())), "fission.io/v1");
    let tag = Some("nightly".parse().unwrap());
    let tagged = TimerSpec { tag, targets: Vec::new(), ..timer };
    check(Snapshot::Trigger(TriggerSpec::Timer(tagged)), "folio.dev/v1");
    let queue = QueueSpec {
        queue: Some("nats-jetstream".to_owned()),
        topic: "orders".to_owned(),
        response_topic: Some("done".to_owned()),
        error_topic: None,
        retries_max: Some(3),
        content_type: None,
        poll_seconds: None,
        readers_min: None,
        readers_max: Some(2),
        options: BTreeMap::new(),
        secret: None,
        targets: targets("hello"),
        bag: Bag::new(),
    };
    check(Snapshot::Trigger(TriggerSpec::Queue(queue)), "fission.io/v1");
    let watch = WatchSpec {
        object_type: "function".to_owned(),
        object_name: None,
        namespace: None,
        labels: BTreeMap::new(),
        targets: targets("hello"),
        bag: Bag::new(),
    };
    check(Snapshot::Trigger(TriggerSpec::Watch(watch.clone())), "fission.io/v1");
    let watch = WatchSpec { object_name: Some(name("hello")), ..watch };
    check(Snapshot::Trigger(TriggerSpec::Watch(watch)), "folio.dev/v1");
}

#[test]
fn every_kind_has_its_file() {
    let check = |kind, expected: &str| assert_eq!(write::file(kind, "one"), expected);
    check("Function", "function-one.yaml");
    check("Package", "package-one.yaml");
    check("Environment", "env-one.yaml");
    check("HTTPTrigger", "route-one.yaml");
    check("TimeTrigger", "timetrigger-one.yaml");
    check("MessageQueueTrigger", "mqtrigger-one.yaml");
    check("KubernetesWatchTrigger", "kubewatch-one.yaml");
}
