//! One app of a ledger under test, with short ways to say what happens in it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use folio_core::ports::{Ledger, State, StoreError};
use folio_model::{
    Actor, AppName, Bag, BuildRecord, Change, Ciphertext, ConfigSpec, Content, Digest, Draft, Edit,
    Entry, EnvironmentSpec, FULL_WEIGHT, Fingerprint, FunctionSpec, Kind, Layout, MountPin, Number,
    Origin, PackagePin, PackageSpec, Place, Pointer, RoutePath, RouteSpec, RunSettings,
    RuntimeKind, Sealed, SecretSpec, Snapshot, Target, Timestamp, TriggerSpec, Unit, UnitKey,
    UnitUid, Version, VersionId, VersionKey, Weights,
};
use serde_json::Value;
use uuid::Uuid;

use crate::{Depth, dump};

/// One app and the ledger it lives in.
pub struct World<'a> {
    /// The ledger.
    pub ledger: &'a dyn Ledger,
    /// The app.
    pub app: AppName,
    seconds: AtomicI64,
}

/// A unit of the world.
#[derive(Debug, Clone)]
pub struct Named {
    /// Its identity.
    pub uid: UnitUid,
    /// Its name.
    pub key: UnitKey,
}

impl<'a> World<'a> {
    /// Makes a new app.
    pub async fn new(ledger: &'a dyn Ledger) -> Self {
        let app: AppName = format!("a{}", Uuid::new_v4().simple()).parse().expect("a host label");
        let world = Self::of(ledger, app.clone());
        world.must(vec![Edit::CreateApp { app }]).await;
        world
    }

    /// An app that is there already, or is made by whoever asks for it.
    pub fn of(ledger: &'a dyn Ledger, app: AppName) -> Self {
        Self { ledger, app, seconds: AtomicI64::new(1_700_000_000) }
    }

    /// A moment, one second after the last.
    pub fn now(&self) -> Timestamp {
        let seconds = self.seconds.fetch_add(1, Ordering::SeqCst);
        Timestamp::from_second(seconds).expect("within range")
    }

    /// A change of nothing but edits.
    pub fn change(&self, edits: Vec<Edit>) -> Change {
        Change {
            app: self.app.clone(),
            at: self.now(),
            by: actor(),
            message: "change".to_owned(),
            reason: None,
            edits,
            snapshots: Vec::new(),
            requires: Vec::new(),
            frees: Vec::new(),
            app_version: None,
            placements: Vec::new(),
            git: None,
            undoes: None,
            rollback: false,
            unreleased: false,
            answer: None,
        }
    }

    /// Appends a change.
    pub async fn append(&self, change: Change) -> Result<Entry, StoreError> {
        let plan = Box::new(move |_: &dyn State| Ok(Some(change.clone())));
        Ok(self.ledger.append(plan).await?.expect("the plan returned a change"))
    }

    /// Appends edits that must fit.
    pub async fn must(&self, edits: Vec<Edit>) -> Entry {
        self.append(self.change(edits)).await.expect("the edits fit")
    }

    /// Appends edits that must not fit, and checks that nothing happened.
    pub async fn refuses(&self, edits: Vec<Edit>) {
        self.refuses_change(self.change(edits)).await;
    }

    /// Appends a change that must not fit, and checks that nothing happened.
    pub async fn refuses_change(&self, change: Change) {
        let before = self.dump().await;
        let edits = change.edits.clone();
        match self.append(change).await {
            Err(StoreError::Conflict { .. }) => {}
            other => panic!("{edits:?} gave {other:?}"),
        }
        assert_eq!(self.dump().await, before, "{edits:?} left something behind");
    }

    /// Reads the state.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&dyn State) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        self.try_look(look).await.expect("the state reads")
    }

    /// Reads the state, which may fail.
    pub async fn try_look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&dyn State) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let found = Arc::new(Mutex::new(None));
        let place = Arc::clone(&found);
        let look = move |state: &dyn State| {
            let value = look(state)?;
            *place.lock().expect("nothing panics here") = Some(value);
            Ok(())
        };
        self.ledger.view(Box::new(look)).await?;
        Ok(found.lock().expect("nothing panics here").take().expect("the view ran"))
    }

    /// The whole state of the app.
    pub async fn dump(&self) -> Value {
        let app = self.app.clone();
        self.look(move |state| dump(state, &app, Depth::Whole)).await
    }

    /// Names a unit without making it.
    pub fn named(&self, kind: Kind, name: &str) -> Named {
        let key = UnitKey { app: self.app.clone(), kind, name: name.parse().expect("a name") };
        Named { uid: UnitUid(Uuid::new_v4()), key }
    }

    /// Makes a unit.
    pub async fn create(&self, kind: Kind, name: &str) -> Named {
        let unit = self.named(kind, name);
        self.must(vec![unit.create()]).await;
        unit
    }

    /// Reads a living unit.
    pub async fn unit(&self, unit: &Named) -> Unit {
        let uid = unit.uid;
        self.look(move |state| state.unit_by_uid(uid)).await.expect("the unit lives")
    }

    /// Publishes the next version of a unit.
    pub async fn publish(&self, unit: &Named, id: &str) -> Version {
        self.publish_as(unit, id, package(id), false).await
    }

    /// Publishes a snapshot as the next version of a unit, which may wait for a build.
    pub async fn publish_as(
        &self,
        unit: &Named,
        id: &str,
        snapshot: Snapshot,
        waits: bool,
    ) -> Version {
        let next = self.unit(unit).await.next_number;
        let version = self.version(next, id, &snapshot);
        let edits = vec![Edit::Publish { uid: unit.uid, version: version.clone(), waits }];
        let change = Change { snapshots: vec![snapshot], ..self.change(edits) };
        self.append(change).await.expect("the version is next");
        version
    }

    /// A version without package and archive.
    pub fn version(&self, number: Number, id: &str, snapshot: &Snapshot) -> Version {
        Version {
            number,
            id: version_id(id),
            snapshot: snapshot.digest(),
            uses: None,
            archive: None,
            created_at: self.now(),
            created_by: actor(),
            description: String::new(),
            described_at: None,
        }
    }

    /// Deletes a version.
    pub async fn delete(&self, unit: &Named, version: &Version) -> Entry {
        self.must(vec![unit.delete(version)]).await
    }
}

impl Named {
    /// The edit that makes it.
    pub fn create(&self) -> Edit {
        Edit::CreateUnit { uid: self.uid, key: self.key.clone(), origin: Origin::User }
    }

    /// The edit that removes it.
    pub fn remove(&self) -> Edit {
        Edit::DeleteUnit { uid: self.uid, key: self.key.clone() }
    }

    /// The edit that deletes one of its versions.
    pub fn delete(&self, version: &Version) -> Edit {
        Edit::DeleteVersion { uid: self.uid, version: version.clone() }
    }

    /// The edit that restores one of its versions.
    pub fn restore(&self, version: &Version) -> Edit {
        Edit::RestoreVersion { uid: self.uid, version: version.clone() }
    }

    /// The edit that moves one of its aliases, from and to all of one version.
    pub fn point(&self, name: &str, from: Option<u64>, to: Option<u64>) -> Edit {
        let place = |number| Place::Versions(Weights::only(self::number(number)));
        let pointer = self.alias(name);
        Edit::Move { pointer, from: from.map(place), to: to.map(place) }
    }

    /// One of its aliases.
    pub fn alias(&self, name: &str) -> Pointer {
        Pointer::Alias { unit: self.uid, name: version_id(name) }
    }

    /// One of its versions.
    pub fn at(&self, number: u64) -> VersionKey {
        VersionKey { unit: self.uid, number: self::number(number) }
    }
}

/// Who does everything here.
pub fn actor() -> Actor {
    "tester".parse().expect("an actor")
}

/// A version's number.
pub fn number(number: u64) -> Number {
    Number::new(number).expect("a number")
}

/// A version's id.
pub fn version_id(id: &str) -> VersionId {
    id.parse().expect("an id")
}

/// The snapshot of a package whose tree is named after a text.
pub fn package(text: &str) -> Snapshot {
    Snapshot::Package(PackageSpec {
        environment: "python".parse().expect("a name"),
        source: None,
        deployment: Some(Content { tree: Digest::of(text.as_bytes()), layout: Layout::Directory }),
        build_command: None,
        environment_snapshot: None,
        bag: Bag::new(),
    })
}

/// The snapshot of a package that has to be built, whose source is named after a text.
pub fn source(text: &str) -> PackageSpec {
    PackageSpec {
        environment: "python".parse().expect("a name"),
        source: Some(Content { tree: Digest::of(text.as_bytes()), layout: Layout::Directory }),
        deployment: None,
        build_command: None,
        environment_snapshot: None,
        bag: Bag::new(),
    }
}

/// The snapshot of an environment whose image is named by a text.
pub fn environment(text: &str) -> Snapshot {
    let spec = EnvironmentSpec::of(RuntimeKind::Python);
    Snapshot::Environment(EnvironmentSpec { image: Some(text.to_owned()), ..spec })
}

/// The snapshot of a route to functions, which share its requests.
pub fn route(functions: &[&str]) -> Snapshot {
    let target = |name: &&str| Target {
        function: name.parse().expect("a reference"),
        weight: FULL_WEIGHT / u32::try_from(functions.len()).expect("few functions"),
    };
    Snapshot::Trigger(TriggerSpec::Http(RouteSpec {
        host: None,
        path: RoutePath::Exact("/".to_owned()),
        methods: std::collections::BTreeSet::new(),
        targets: functions.iter().map(target).collect(),
        sticky: None,
        cors: None,
        bag: Bag::new(),
    }))
}

/// A build that made a tree named after a text, and printed another.
pub fn succeeded(text: &str) -> BuildRecord {
    let tree = Digest::of(format!("result {text}").as_bytes());
    BuildRecord {
        result: Some(Content { tree, layout: Layout::Directory }),
        log: Some(Digest::of(format!("log {text}").as_bytes())),
        failure: None,
        at: Timestamp::UNIX_EPOCH,
    }
}

/// A build that failed for a reason.
pub fn failed(why: &str) -> BuildRecord {
    BuildRecord { result: None, failure: Some(why.to_owned()), ..succeeded(why) }
}

/// The snapshot of a function that froze a package.
pub fn function(package: &Snapshot) -> Snapshot {
    Snapshot::Function(FunctionSpec {
        environment: "python".parse().expect("a name"),
        package: PackagePin { name: "code".parse().expect("a name"), snapshot: package.digest() },
        entrypoint: None,
        environment_snapshot: None,
        run: RunSettings::default(),
        configs: Vec::new(),
        secrets: Vec::new(),
        bag: Bag::new(),
    })
}

/// The snapshot of a config with one value.
pub fn config(text: &str) -> Snapshot {
    Snapshot::Config(ConfigSpec {
        values: [("text".to_owned(), text.into())].into(),
        bag: Bag::new(),
    })
}

/// The snapshot of a secret whose value is sealed as a text.
pub fn secret(text: &str) -> Snapshot {
    let fingerprint = Fingerprint::of(Digest::of(text.as_bytes()).as_bytes());
    let sealed = Sealed { fingerprint, sealed: Some(Ciphertext(text.as_bytes().to_vec())) };
    let keys = [("key".parse().expect("a key"), sealed)].into();
    Snapshot::Secret(SecretSpec { keys, bag: Bag::new() })
}

/// What a function freezes of a config or secret.
pub fn pin(name: &str, snapshot: &Snapshot) -> MountPin {
    MountPin { name: name.parse().expect("a name"), snapshot: snapshot.digest(), mount_path: None }
}

/// A draft of nothing but a snapshot.
pub fn draft(snapshot: &Snapshot) -> Draft {
    Draft { snapshot: snapshot.digest(), uses: None, archive: None }
}
