//! The hub and the model are one thing in two forms, and older hubs can still be read.

use folio_kinds::{HUB_VERSION, Manifest, mapping};
use folio_model::{
    Bag, Content, Cors, Digest, EnvironmentSpec, FunctionSpec, Layout, Misfire, Network,
    PackagePin, PackageSpec, QueueSpec, RoutePath, RouteSpec, RunSettings, RuntimeKind, Snapshot,
    Sticky, Target, TimerSpec, TriggerSpec, WatchSpec, canonical,
};
use serde_json::json;

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

/// Snapshots in which everything is said that can be.
fn everything() -> Vec<Snapshot> {
    let mut all = code();
    all.extend(triggers().into_iter().map(Snapshot::Trigger));
    all
}

fn code() -> Vec<Snapshot> {
    let content = Content { tree: digest("tree"), layout: Layout::Directory };
    vec![
        Snapshot::Function(FunctionSpec {
            environment: "python".parse().unwrap(),
            package: PackagePin { name: "code".parse().unwrap(), snapshot: digest("package") },
            entrypoint: Some("main".to_owned()),
            environment_snapshot: Some(digest("environment")),
            run: RunSettings {
                variables: [("A".to_owned(), "b".to_owned())].into(),
                timeout_ms: Some(1500),
                memory_bytes: Some(1 << 30),
                cpu_millis: Some(500),
                concurrency: Some(2),
                idle_ms: Some(3),
                access: Some(folio_model::Access::Token),
                scale_min: Some(1),
                scale_max: Some(2),
                requests_per_worker: Some(1),
            },
            configs: Vec::new(),
            secrets: Vec::new(),
            bag: Bag::new(),
        }),
        Snapshot::Package(PackageSpec {
            environment: "python".parse().unwrap(),
            source: Some(content),
            deployment: Some(Content { layout: Layout::File, ..content }),
            build_command: Some("./build".to_owned()),
            environment_snapshot: Some(digest("environment")),
            bag: Bag::new(),
        }),
        Snapshot::Environment(EnvironmentSpec {
            image: Some("image".to_owned()),
            command: Some("server".to_owned()),
            builder: Some("build".to_owned()),
            poolsize: Some(2),
            network: Network::Egress,
            ..EnvironmentSpec::of(RuntimeKind::Command)
        }),
    ]
}

fn triggers() -> Vec<TriggerSpec> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    vec![
        TriggerSpec::Http(RouteSpec {
            host: Some("example.org".to_owned()),
            path: RoutePath::Prefix { path: "/a".to_owned(), keep: true },
            methods: words(&["GET", "PUT"]),
            targets: vec![Target::only("hello@prod".parse().unwrap())],
            sticky: Some(Sticky::Header("X-User".to_owned())),
            cors: Some(Cors {
                allow_origins: words(&["*"]),
                allow_methods: words(&["GET"]),
                allow_headers: words(&["A"]),
                expose_headers: words(&["B"]),
                allow_credentials: true,
                max_age_seconds: 5,
            }),
            bag: Bag::new(),
        }),
        TriggerSpec::Timer(TimerSpec {
            cron: "0 6 * * *".to_owned(),
            zone: Some("Europe/Berlin".to_owned()),
            method: Some("GET".to_owned()),
            path: Some("/run".to_owned()),
            targets: Vec::new(),
            tag: Some("nightly".parse().unwrap()),
            misfire: Misfire::All,
            retry: true,
            bag: Bag::new(),
        }),
        TriggerSpec::Queue(QueueSpec {
            queue: Some("nats-jetstream".to_owned()),
            topic: "orders".to_owned(),
            response_topic: Some("answers".to_owned()),
            error_topic: Some("failures".to_owned()),
            retries_max: Some(3),
            content_type: Some("text/plain".to_owned()),
            poll_seconds: Some(30),
            readers_min: Some(1),
            readers_max: Some(4),
            options: [("subject".to_owned(), "orders".to_owned())].into(),
            secret: Some("nats".to_owned()),
            targets: vec![Target::only("hello@prod".parse().unwrap())],
            bag: Bag::new(),
        }),
        TriggerSpec::Watch(WatchSpec {
            object_type: "function".to_owned(),
            object_name: Some("hello".parse().unwrap()),
            namespace: Some("default".to_owned()),
            labels: [("a".to_owned(), "b".to_owned())].into(),
            targets: vec![Target::only("hello@2".parse().unwrap())],
            bag: Bag::new(),
        }),
    ]
}

#[test]
fn the_hub_has_a_word_for_everything_in_the_model() {
    for snapshot in everything() {
        let stored = mapping::stored(&snapshot, &"hello".parse().unwrap()).unwrap();
        let hub = stored.to_value();
        assert!(!hub.to_string().contains("$bag"), "nothing had to be kept: {hub}");
        assert_eq!(mapping::snapshot(&stored).unwrap(), snapshot);
        let clean = Manifest::of(stored, HUB_VERSION).unwrap();
        assert_eq!(mapping::snapshot(&clean.store().unwrap()).unwrap(), snapshot);
    }
}

#[test]
fn every_version_of_a_unit_gives_the_snapshot_back() {
    for snapshot in everything() {
        let name = "hello".parse().unwrap();
        let stored = mapping::stored(&snapshot, &name).unwrap();
        for version in stored.kind().versions {
            let seen = Manifest::of(stored.clone(), version).unwrap();
            assert_eq!(seen.name(), Some("hello"), "{version}");
        }
    }
}

#[test]
fn a_body_of_an_older_hub_reads_as_what_it_means() {
    let pin = digest("package").to_string();
    let old = json!({
        "kind": "function", "environment": "python", "entry": "main",
        "package": {"name": "code", "snapshot": pin},
        "$bag": {
            "podspec@fission.io/v1": {"a": 1},
            "/package": {"*@fission.io/v1": {"x": 1}},
            "metadata": {"labels": {"a": "b"}},
        },
    });
    let new = json!({
        "kind": "function", "environment": "python", "entrypoint": "main",
        "package": {"name": "code", "snapshot": pin},
        "$bag": {
            "podspec@fission.io/v1": {"a": 1},
            "/package": {"*@fission.io/v1": {"x": 1}},
            "metadata": {"labels": {"a": "b"}},
        },
    });
    let read = mapping::read_body("folio.dev/v1beta1", old.to_string().as_bytes()).unwrap();
    let current = mapping::read_body(HUB_VERSION, &canonical::encode(&new)).unwrap();
    assert_eq!(read, current);

    let old = json!({"kind": "trigger", "trigger": "http", "path": "/a/*",
        "targets": [{"function": "hello", "weight": 10_000}]});
    let read = mapping::read_body("folio.dev/v1beta1", old.to_string().as_bytes()).unwrap();
    let Snapshot::Trigger(TriggerSpec::Http(route)) = read else { panic!("it is a route") };
    assert_eq!(route.path, RoutePath::Prefix { path: "/a".to_owned(), keep: false });
}

#[test]
fn the_triggers_of_fission_are_those_of_folio() {
    let spec = |kind: &str, spec: serde_json::Value| {
        let manifest = json!({"apiVersion": "fission.io/v1", "kind": kind,
            "metadata": {"name": "one"}, "spec": spec});
        let stored = Manifest::new(manifest.clone()).unwrap().store().unwrap();
        let snapshot = mapping::snapshot(&stored).unwrap();
        let back = mapping::stored(&snapshot, &"one".parse().unwrap()).unwrap();
        let back = Manifest::of(back, "fission.io/v1").unwrap();
        assert_eq!(back.as_value()["spec"], manifest["spec"]);
        let Snapshot::Trigger(spec) = snapshot else { panic!("it is a trigger") };
        spec
    };
    let to = json!({"type": "name", "name": "hello"});
    let targets = vec![Target::only("hello".parse().unwrap())];
    let timer = spec(
        "TimeTrigger",
        json!({"cron": "@every 5m", "functionref": to,
        "method": "GET", "subpath": "/run"}),
    );
    let TriggerSpec::Timer(timer) = timer else { panic!("it is a timer") };
    assert_eq!((timer.cron.as_str(), timer.method(), timer.path()), ("@every 5m", "GET", "/run"));
    assert_eq!(timer.targets, targets);
    let queue = spec(
        "MessageQueueTrigger",
        json!({"functionref": to, "topic": "orders",
        "messageQueueType": "nats-jetstream", "respTopic": "answers", "errorTopic": "failures",
        "maxRetries": 3, "contentType": "text/plain", "mqtkind": "keda",
        "metadata": {"stream": "orders"}, "pollingInterval": 30}),
    );
    let TriggerSpec::Queue(queue) = queue else { panic!("it is a trigger of messages") };
    assert_eq!((queue.queue(), queue.topic.as_str()), ("nats-jetstream", "orders"));
    assert_eq!(queue.response_topic.as_deref(), Some("answers"));
    assert_eq!((queue.error_topic.as_deref(), queue.retries_max), (Some("failures"), Some(3)));
    assert_eq!(queue.targets, targets);
    let watch = spec(
        "KubernetesWatchTrigger",
        json!({"functionref": to, "type": "POD",
        "namespace": "default", "labelselector": {"a": "b"}}),
    );
    let TriggerSpec::Watch(watch) = watch else { panic!("it is a watch") };
    assert_eq!((watch.object_type.as_str(), watch.targets), ("POD", targets));
}

#[test]
fn a_body_nobody_knows_is_refused() {
    let check = |version: &str, body: &str, expected: &str| {
        let error = mapping::read_body(version, body.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("folio.dev/v9", r#"{"kind": "function"}"#, "version `folio.dev/v9`");
    check("folio.dev/v1beta1", r#"{"kind": "secret"}"#, "of the kind");
    check("folio.dev/v1beta1", "{", "cannot be read");
    check(HUB_VERSION, r#"{"kind": "function", "entry": "x"}"#, "cannot be read");
}

#[test]
fn an_object_that_is_no_unit_has_no_snapshot() {
    let tag = json!({"apiVersion": HUB_VERSION, "kind": "Tag", "metadata": {},
        "spec": {"members": []}});
    let stored = Manifest::new(tag).unwrap().store().unwrap();
    let error = mapping::snapshot(&stored).unwrap_err().to_string();
    assert_eq!(error, "Tag is not a unit that folio versions");
}

#[test]
fn a_function_without_its_pin_is_not_complete() {
    let stored = super::fission::manifest().store().unwrap();
    let error = mapping::snapshot(&stored).unwrap_err().to_string();
    assert!(error.contains("missing field `snapshot`"), "{error}");
}
