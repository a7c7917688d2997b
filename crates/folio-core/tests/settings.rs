//! Configs and secrets: set, frozen into what names them, renewed by every change, and never told.

use std::sync::Arc;

use folio_core::config::{ConfigFields, ConfigSet};
use folio_core::ports::Plaintext;
use folio_core::request::{Fields, Mounting, Onto, Publish, Repeat, Start};
use folio_core::secret::{SecretFields, SecretSet};
use folio_core::serving::Meaning;
use folio_core::settings::Error;
use folio_core::view::Done;
use folio_core::{Caller, Explain};
use folio_model::{Digest, Kind, UnitKey};
use folio_testkit::vault::TestVault;

use crate::runtime::reference;
use crate::world::{World, app, function, refused, request};

async fn world() -> World {
    let world = crate::world::world().await;
    World { folio: world.folio.with_vault(Arc::new(TestVault)), ..world }
}

fn config(name: &str) -> UnitKey {
    UnitKey { app: app(), kind: Kind::Config, name: name.parse().unwrap() }
}

fn secret(name: &str) -> UnitKey {
    UnitKey { app: app(), kind: Kind::Secret, name: name.parse().unwrap() }
}

async fn set(world: &World, key: &str, value: &str) -> Result<Done<ConfigSet>, Error> {
    let set = [(key.parse().unwrap(), value.into())].into();
    let fields = ConfigFields { set, ..ConfigFields::default() };
    world.folio.set_config(&world.caller, &config("shop"), fields, None).await
}

fn values(key: &str, value: &str) -> SecretFields {
    let value = Plaintext::new(value.as_bytes().to_vec());
    SecretFields { set: [(key.parse().unwrap(), value)].into(), ..SecretFields::default() }
}

async fn seal(world: &World, value: &str, onto: Onto) -> Result<Done<SecretSet>, Error> {
    let fields = values("password", value);
    world.folio.set_secret(&world.caller, &secret("db"), fields, (onto, None)).await
}

fn named(name: &str) -> Option<Vec<Mounting>> {
    Some(vec![Mounting { name: name.parse().unwrap(), mount_path: None }])
}

/// Publishes a function that names the config and the secret.
async fn publish(world: &World, name: &str) {
    let fields = Fields { configs: named("shop"), secrets: named("db"), ..world.code("x").await };
    world.publish(&function(name), request(fields)).await.unwrap();
}

/// The variables and files that a version is given.
async fn given(world: &World, at: &str) -> Vec<String> {
    let slot = world.folio.slot(&app(), &reference(at)).await.unwrap();
    let plan = match &**slot.load() {
        Meaning::Versions(split) => split.sole().unwrap().clone(),
        Meaning::Nothing(unresolved) => panic!("{unresolved}"),
    };
    let shown = format!("{plan:?}");
    assert!(!shown.contains("hunter"), "{shown}");
    let variables = plan.variables.iter().map(|(name, value)| format!("{name}={value}"));
    let files = plan.files.iter().map(|file| {
        format!("{}: {}", file.path.display(), String::from_utf8_lossy(file.bytes.expose()))
    });
    variables.chain(files).collect()
}

fn names(set: &folio_core::settings::Users) -> Vec<String> {
    set.functions.iter().map(|one| format!("{}@{}", one.name, one.number)).collect()
}

#[tokio::test]
async fn a_function_is_given_what_it_names_as_variables_and_files() {
    let world = world().await;
    set(&world, "db.pool-size", "5").await.unwrap();
    set(&world, "greeting", "hi").await.unwrap();
    seal(&world, "hunter2", Onto::Nothing).await.unwrap();
    let mut fields =
        Fields { configs: named("shop"), secrets: named("db"), ..world.code("x").await };
    fields.secrets.as_mut().unwrap()[0].mount_path = Some("/etc/db".to_owned());
    fields.run.variables.insert("greeting".to_owned(), "moin".to_owned());
    world.publish(&function("hello"), request(fields)).await.unwrap();
    assert_eq!(
        given(&world, "hello").await,
        [
            "greeting=moin",
            "password=hunter2",
            "/configs/default/shop/db.pool-size: 5",
            "/configs/default/shop/greeting: hi",
            "/etc/db/password: hunter2",
        ]
    );
}

#[tokio::test]
async fn setting_one_value_renews_every_function_that_names_it_in_one_entry() {
    let world = world().await;
    set(&world, "greeting", "one").await.unwrap();
    seal(&world, "hunter1", Onto::Nothing).await.unwrap();
    publish(&world, "a").await;
    publish(&world, "b").await;
    world.version(&function("c"), "x", "v1").await;
    let done = set(&world, "greeting", "two").await.unwrap();
    assert_eq!(names(&done.result.users), ["a@2", "b@2"]);
    assert_eq!(done.result.config.version.number.get(), 2);
    let log = world.folio.log(&app(), None, 1).await.unwrap();
    assert_eq!(
        (log[0].entry.seq, log[0].entry.message.as_str()),
        (done.entry.unwrap(), "change config shop")
    );
    assert!(given(&world, "a@1").await.contains(&"greeting=one".to_owned()));
    assert!(given(&world, "a").await.contains(&"greeting=two".to_owned()));

    let same = set(&world, "greeting", "two").await.unwrap();
    assert!(!same.changed && same.result.users.functions.is_empty());
    let rotated = seal(&world, "hunter2", Onto::Existing).await.unwrap();
    assert_eq!(names(&rotated.result.users), ["a@3", "b@3"]);
    assert!(!seal(&world, "hunter2", Onto::Existing).await.unwrap().changed);
    assert!(given(&world, "b@2").await.contains(&"password=hunter1".to_owned()));
    assert!(given(&world, "b").await.contains(&"password=hunter2".to_owned()));
    assert_eq!(world.ids(&function("c")).await, ["v1"]);

    world.folio.undo(&world.caller, &app(), rotated.entry).await.unwrap();
    assert!(given(&world, "b").await.contains(&"password=hunter1".to_owned()));
}

#[tokio::test]
async fn a_draft_that_names_it_is_frozen_anew() {
    let world = world().await;
    set(&world, "greeting", "one").await.unwrap();
    let fields = Fields { configs: named("shop"), ..world.code("x").await };
    let onto = (Onto::Nothing, None);
    world.folio.set_draft(&world.caller, &function("hello"), fields, onto).await.unwrap();
    let done = set(&world, "greeting", "two").await.unwrap();
    assert_eq!(done.result.users.drafts, ["hello".parse().unwrap()]);
    assert!(given(&world, "hello@draft").await.contains(&"greeting=two".to_owned()));
    world.publish(&function("hello"), request(Fields::default())).await.unwrap();
    assert!(given(&world, "hello@1").await.contains(&"greeting=two".to_owned()));
}

#[tokio::test]
async fn what_is_not_there_cannot_be_named() {
    let world = world().await;
    let fields = Fields { secrets: named("db"), ..world.code("x").await };
    let missing = world.publish(&function("hello"), request(fields)).await.unwrap_err();
    assert_eq!(missing.to_string(), "secret `db` does not exist");
    assert_eq!(missing.code().0, "secret_not_found");
    assert_eq!(missing.hint().unwrap(), "make it with `folio secret create db --value KEY=VALUE`");
    set(&world, "greeting", "one").await.unwrap();
    let fields = Fields { configs: named("other"), ..world.code("x").await };
    let missing = world.publish(&function("hello"), request(fields)).await.unwrap_err();
    assert_eq!(missing.code().0, "config_not_found");
    assert!(missing.hint().unwrap().starts_with("there are shop;"));
    let unset = ConfigFields { unset: ["nope".parse().unwrap()].into(), ..ConfigFields::default() };
    let unset = world.folio.set_config(&world.caller, &config("shop"), unset, None).await;
    assert_eq!(refused(unset).0, "key_not_found");
}

#[tokio::test]
async fn removing_a_name_breaks_nothing_and_says_who_uses_it() {
    let world = world().await;
    set(&world, "greeting", "one").await.unwrap();
    seal(&world, "hunter2", Onto::Nothing).await.unwrap();
    publish(&world, "hello").await;
    let gone = world.folio.delete_secret(&world.caller, &secret("db"), None).await.unwrap();
    assert_eq!(names(&gone.result.used_by), ["hello@1"]);
    assert_eq!(refused(world.folio.show_secret(&secret("db")).await).0, "secret_not_found");
    assert!(given(&world, "hello").await.contains(&"password=hunter2".to_owned()));
    // A new version of what named it before keeps what it had.
    let update = Publish { start: Start::Latest, ..request(Fields::default()) };
    world.publish(&function("hello"), update).await.unwrap();
    assert!(given(&world, "hello@2").await.contains(&"password=hunter2".to_owned()));
    world.folio.undo(&world.caller, &app(), gone.entry).await.unwrap();
    assert!(world.folio.show_secret(&secret("db")).await.is_ok());
}

#[tokio::test]
async fn a_renamed_secret_is_sealed_for_its_new_name() {
    let world = world().await;
    set(&world, "greeting", "one").await.unwrap();
    let made = seal(&world, "hunter2", Onto::Nothing).await.unwrap();
    publish(&world, "hello").await;
    let to = "keys".parse().unwrap();
    let renamed = world.folio.rename_secret(&world.caller, &secret("db"), &to, None).await.unwrap();
    assert_eq!(names(&renamed.result.users), ["hello@2"]);
    assert_eq!(renamed.result.secret.keys, made.result.secret.keys);
    let files = given(&world, "hello").await;
    assert!(files.contains(&"/secrets/default/keys/password: hunter2".to_owned()), "{files:?}");
    let old = given(&world, "hello@1").await;
    assert!(old.contains(&"/secrets/default/db/password: hunter2".to_owned()), "{old:?}");
    seal(&world, "hunter3", Onto::Nothing).await.unwrap();
    let taken = world.folio.rename_secret(&world.caller, &secret("db"), &to, None).await;
    assert_eq!(refused(taken).0, "unit_exists");
}

#[tokio::test]
async fn no_answer_and_no_difference_tells_a_value() {
    let world = world().await;
    set(&world, "greeting", "one").await.unwrap();
    seal(&world, "hunter1", Onto::Nothing).await.unwrap();
    publish(&world, "hello").await;
    let done = seal(&world, "hunter2", Onto::Existing).await.unwrap();
    let sealed = serde_json::to_string(&done).unwrap();
    assert!(!sealed.contains("hunter") && !sealed.contains("\"sealed\""), "{sealed}");
    let (from, to) = (reference("hello@1"), reference("hello@2"));
    let diff = world.folio.diff(&world.caller, (&app(), Kind::Function), &from, &to).await.unwrap();
    let [change] = &diff.fields[..] else { panic!("{diff:?}") };
    assert_eq!(change.field, "secrets.db.password");
    let digits =
        |value: &Option<serde_json::Value>| value.as_ref().unwrap().as_str().unwrap().len();
    assert_eq!((digits(&change.from), digits(&change.to)), (12, 12));
    set(&world, "greeting", "two").await.unwrap();
    let diff = world
        .folio
        .diff(&world.caller, (&app(), Kind::Function), &to, &reference("hello@3"))
        .await
        .unwrap();
    assert_eq!(diff.fields[0].field, "configs.shop.greeting");
    assert_eq!(diff.fields[0].to, Some("two".into()));
    let (from, to) = (reference("db@1"), reference("db@2"));
    let diff = world.folio.diff(&world.caller, (&app(), Kind::Secret), &from, &to).await.unwrap();
    let fields: Vec<_> = diff.fields.iter().map(|one| one.field.as_str()).collect();
    assert_eq!(fields, ["keys.password.fingerprint"]);
}

#[tokio::test]
async fn a_request_is_remembered_without_a_digest_of_its_values() {
    let world = world().await;
    let plain = Digest::of(b"the body with hunter2");
    let repeat = Some(Repeat { key: "once".to_owned(), request: plain });
    let caller = Caller { repeat, ..world.caller.clone() };
    let set = async |value| {
        let fields = values("password", value);
        world.folio.set_secret(&caller, &secret("db"), fields, (Onto::Nothing, None)).await
    };
    let first = set("hunter2").await.unwrap();
    assert_eq!(set("hunter2").await.unwrap(), first);
    // The same plain digest for another value: only what is sealed decides.
    assert_eq!(refused(set("hunter3").await).0, "idempotency_key_reused");
}

#[tokio::test]
async fn without_a_key_nothing_is_sealed() {
    let world = crate::world::world().await;
    let refused_ = seal(&world, "hunter2", Onto::Nothing).await;
    assert_eq!(refused(refused_).0, "secret_key_missing");
    assert!(world.folio.check_secrets().await.is_ok());
}
