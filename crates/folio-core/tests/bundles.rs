//! Facts about bundles: what is exported is what is imported, and whatever is wrong with a file changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use folio_core::bundle::{BrokenOff, Error, Imported};
use folio_core::config::ConfigFields;
use folio_core::history::Moment;
use folio_core::ports::{Page, Plaintext};
use folio_core::request::{Fields, IfSame, Mounting, Onto, Publish, Releasing};
use folio_core::route::RouteFields;
use folio_core::secret::SecretFields;
use folio_core::static_item::StaticFields;
use folio_core::view::{AliasView, Done};
use folio_core::{Caller, Explain, Folio};
use folio_model::{AppName, Digest, Kind, Qualifier, RoutePath, Target, UnitKey};
use folio_testkit::sample;
use folio_testkit::vault::TestVault;
use futures::StreamExt as _;
use sha2::{Digest as _, Sha256};

use crate::world::{World, app, function, id, refused, request, world};

/// A world whose secrets can be sealed.
async fn sealed() -> World {
    let world = world().await;
    World { folio: world.folio.clone().with_vault(Arc::new(TestVault)), ..world }
}

async fn exported(folio: &Folio, app: &AppName, moment: Moment) -> Vec<u8> {
    let mut download = folio.export_app(app, moment).await.unwrap();
    let mut file = Vec::new();
    while let Some(piece) = download.content.next().await {
        file.extend(piece.unwrap());
    }
    file
}

async fn import(
    folio: &Folio,
    caller: &Caller,
    (app, file): (&AppName, &[u8]),
) -> Result<Done<Imported>, Error> {
    let pieces = file.chunks(1000).map(|piece| Ok(Bytes::copy_from_slice(piece)));
    let pieces: Vec<Result<Bytes, BrokenOff>> = pieces.collect();
    folio.import_app(caller, app, futures::stream::iter(pieces)).await
}

fn named(name: &str) -> Option<Vec<Mounting>> {
    Some(vec![Mounting { name: name.parse().unwrap(), mount_path: None }])
}

fn key(kind: Kind, name: &str) -> UnitKey {
    UnitKey { app: app(), kind, name: name.parse().unwrap() }
}

async fn configure(world: &World, value: &str) {
    let set = [("greeting".parse().unwrap(), value.into())].into();
    let fields = ConfigFields { set, ..ConfigFields::default() };
    world.folio.set_config(&world.caller, &key(Kind::Config, "shop"), fields, None).await.unwrap();
}

async fn route(world: &World, name: &str, to: &str) {
    let fields = RouteFields {
        path: Some(RoutePath::Exact(format!("/{name}"))),
        targets: Some(vec![Target::only(to.parse().unwrap())]),
        ..RouteFields::default()
    };
    let name = name.parse().unwrap();
    let place = (&app(), Some(&name));
    world.folio.set_route(&world.caller, place, fields, (Onto::Nothing, None)).await.unwrap();
}

async fn site(world: &World, text: &str) {
    let content = sample::directory(&world.folio, &[("index.html", text), ("a/b.txt", "b")]).await;
    let fields = StaticFields {
        path: "/".to_owned(),
        content,
        index: None,
        fallback: None,
        error_page: None,
        headers: BTreeMap::new(),
        expires: None,
    };
    let name = "site".parse().unwrap();
    world.folio.set_static(&world.caller, (&app(), &name), fields, None).await.unwrap();
}

async fn secret(folio: &Folio, caller: &Caller, app: &AppName, value: &str) {
    let value = Plaintext::new(value.as_bytes().to_vec());
    let set = [("password".parse().unwrap(), value)].into();
    let fields = SecretFields { set, ..SecretFields::default() };
    let key = UnitKey { app: app.clone(), kind: Kind::Secret, name: "db".parse().unwrap() };
    folio.set_secret(caller, &key, fields, (Onto::Nothing, None)).await.unwrap();
}

/// An app with everything that a bundle can hold.
async fn filled(world: &World) {
    configure(world, "hi").await;
    for (version, text) in [("v1", "one"), ("v2", "two"), ("v3", "three"), ("v4", "four")] {
        let fields = Fields { configs: named("shop"), ..world.code(text).await };
        let publish =
            Publish { id: Some(id(version)), description: text.to_owned(), ..request(fields) };
        world.publish(&function("hello"), publish).await.unwrap();
    }
    world.point("hello", "stable", "v2").await;
    route(world, "hello", "hello").await;
    route(world, "stable", "hello@stable").await;
    route(world, "first", "hello@1").await;
    site(world, "page").await;
    let fields = world.code("drafted").await;
    world
        .folio
        .set_draft(&world.caller, &function("drafted"), fields, (Onto::Nothing, None))
        .await
        .unwrap();
    let members = vec!["hello@v2".parse().unwrap()];
    let group = (&app(), &id("group"));
    world.folio.tag(&world.caller, group, members, None).await.unwrap();
}

/// Every unit with its newest digest, and every version with its own.
async fn digests(folio: &Folio, app: &AppName) -> Vec<String> {
    let view = folio.app_at(app, Moment::Now).await.unwrap();
    let mut lines: Vec<_> = view
        .units
        .iter()
        .map(|unit| format!("{} {} {}", unit.kind, unit.name, unit.digest))
        .collect();
    for (kind, name) in [(Kind::Function, "hello"), (Kind::Package, "hello-pkg")] {
        let key = UnitKey { app: app.clone(), kind, name: name.parse().unwrap() };
        for version in folio.versions(&key, Page::ALL).await.unwrap() {
            lines.push(format!("{kind} {} {} {}", version.number, version.id, version.digest));
        }
    }
    lines
}

#[tokio::test]
async fn an_empty_server_has_the_same_digests_numbers_and_ids_afterwards() {
    let (here, there) = (world().await, world().await);
    filled(&here).await;
    let file = exported(&here.folio, &app(), Moment::Now).await;
    let done = import(&there.folio, &there.caller, (&app(), &file)).await.unwrap();
    assert!(!done.result.created && done.app_version.is_some() && done.release.is_some());
    let (was, is) = (digests(&here.folio, &app()).await, digests(&there.folio, &app()).await);
    // What nothing leads to stays behind: version 3 is neither latest nor named by anybody.
    let was: Vec<_> = was.into_iter().filter(|line| !line.contains(" v3 ")).collect();
    assert_eq!(is, was);
    let aliases = there.folio.aliases(&function("hello")).await.unwrap();
    assert_eq!(aliases[0].name, id("stable"));
    assert_eq!(there.folio.tags(&app()).await.unwrap().len(), 1);
    let before = here.folio.version(&function("hello"), &Qualifier::Named(id("v2"))).await.unwrap();
    let after = there.folio.version(&function("hello"), &Qualifier::Named(id("v2"))).await.unwrap();
    assert_eq!(
        (after.created_at, after.created_by, after.description),
        (before.created_at, before.created_by, before.description)
    );
    let next = there.version(&function("hello"), "five", "v5").await;
    assert_eq!(next.number.get(), 5, "numbers go on where they were");
    assert!(there.folio.check().await.unwrap().is_empty());
    let log = there.folio.log(&app(), None, 10).await.unwrap();
    assert!(log[1].entry.message.contains("import app version"), "{:?}", log[1].entry.message);
}

#[tokio::test]
async fn the_same_app_version_gives_the_same_bytes_here_and_where_it_was_imported() {
    let world = world().await;
    filled(&world).await;
    let one = exported(&world.folio, &app(), Moment::Now).await;
    assert!(exported(&world.folio, &app(), Moment::Now).await == one);
    let then = world.folio.app_at(&app(), Moment::Now).await.unwrap();
    // What happens later changes nothing of what an older app version was.
    world.version(&function("hello"), "five", "v5").await;
    world.point("hello", "stable", "v5").await;
    let target = alias_of(&world).await;
    assert_eq!(target, "v5");
    world.folio.delete_tag(&world.caller, (&app(), &id("group")), None).await.unwrap();
    let deleted = folio_core::request::Which::One(Qualifier::Named(id("v2")));
    world.folio.delete_versions(&world.caller, &function("hello"), deleted, None).await.unwrap();
    assert!(exported(&world.folio, &app(), Moment::Id(then.id)).await == one);
}

async fn alias_of(world: &World) -> String {
    let aliases: Vec<AliasView> = world.folio.aliases(&function("hello")).await.unwrap();
    aliases[0].targets[0].id.clone().unwrap().to_string()
}

#[tokio::test]
async fn two_apps_of_one_file_share_the_bytes() {
    let world = world().await;
    filled(&world).await;
    let file = exported(&world.folio, &app(), Moment::Now).await;
    let before = world.folio.usage().await.unwrap();
    for name in ["one", "two"] {
        let name: AppName = name.parse().unwrap();
        let done = import(&world.folio, &world.caller, (&name, &file)).await.unwrap();
        assert!(done.result.created);
        assert_eq!((done.result.units, done.result.versions), (9, 11));
    }
    let after = world.folio.usage().await.unwrap();
    assert_eq!((after.nodes, after.bytes), (before.nodes, before.bytes));
}

#[tokio::test]
async fn an_app_that_has_something_is_left_alone() {
    let world = world().await;
    filled(&world).await;
    let file = exported(&world.folio, &app(), Moment::Now).await;
    let head = *world.folio.head().borrow();
    let error = import(&world.folio, &world.caller, (&app(), &file)).await.unwrap_err();
    assert_eq!((error.code().0, error.referrers().len()), ("app_not_empty", 9));
    assert_eq!(*world.folio.head().borrow(), head);
}

#[tokio::test]
async fn values_of_secrets_stay_and_functions_read_those_of_their_new_app() {
    let (here, there) = (sealed().await, sealed().await);
    secret(&here.folio, &here.caller, &app(), "hunter2").await;
    let fields = Fields { secrets: named("db"), ..here.code("one").await };
    here.publish(&function("hello"), request(fields)).await.unwrap();
    let file = exported(&here.folio, &app(), Moment::Now).await;
    let holds = |text: &[u8]| file.windows(text.len()).any(|part| part == text);
    assert!(!holds(b"hunter2") && !holds(b"\"sealed\"") && !holds(b"fingerprint"));
    let (code, message) = refused(import(&there.folio, &there.caller, (&app(), &file)).await);
    assert_eq!(
        (code, message.contains("`db` with password")),
        ("secrets_required", true),
        "{message}"
    );
    secret(&there.folio, &there.caller, &app(), "other").await;
    let done = import(&there.folio, &there.caller, (&app(), &file)).await.unwrap();
    assert_eq!(done.result.renewed, ["hello".parse().unwrap()]);
    let units = there.folio.app_at(&app(), Moment::Now).await.unwrap().units;
    assert_eq!(units.len(), 3, "the function, its package, and the secret that was there");
}

#[tokio::test]
async fn it_is_released_unless_that_is_not_wanted() {
    let world = world().await;
    filled(&world).await;
    let file = exported(&world.folio, &app(), Moment::Now).await;
    let held = Caller { releasing: Releasing::Hold, ..world.caller.clone() };
    let name: AppName = "held".parse().unwrap();
    let done = import(&world.folio, &held, (&name, &file)).await.unwrap();
    assert!(done.release.is_none());
    assert_eq!(world.folio.releases(&name, None, 10).await.unwrap(), []);
    let released =
        world.folio.create_release(&world.caller, &name, Moment::Now, IfSame::Keep).await;
    assert!(released.unwrap().changed);
}

#[tokio::test]
async fn who_may_not_make_apps_imports_only_into_one_that_is_there() {
    let world = world().await;
    filled(&world).await;
    let file = exported(&world.folio, &app(), Moment::Now).await;
    let name: AppName = "mine".parse().unwrap();
    let grant = folio_model::Grant { role: folio_model::Role::Deployer, app: Some(name.clone()) };
    let caller = Caller { grant, ..world.caller.clone() };
    assert_eq!(refused(import(&world.folio, &caller, (&name, &file)).await).0, "forbidden");
    world.folio.create_app(&world.caller, &name).await.unwrap();
    import(&world.folio, &caller, (&name, &file)).await.unwrap();
}

#[tokio::test]
async fn a_name_that_was_used_is_not_given_again() {
    let world = world().await;
    filled(&world).await;
    let file = exported(&world.folio, &app(), Moment::Now).await;
    let name: AppName = "gone".parse().unwrap();
    world.folio.create_app(&world.caller, &name).await.unwrap();
    let cascade = folio_core::request::Cascade::Yes;
    world.folio.delete_app(&world.caller, &name, cascade).await.unwrap();
    assert_eq!(refused(import(&world.folio, &world.caller, (&name, &file)).await).0, "app_retired");
}

/// The entries of a bundle: name and bytes.
fn entries(file: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = tar::Archive::new(file);
    let entry = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        (name, bytes)
    };
    archive.entries().unwrap().map(entry).collect()
}

/// A bundle of entries, with a digest that fits, as a forger would make it.
fn forged(entries: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    let write = |file: &mut Vec<u8>, name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.set_path(name).unwrap();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        file.extend(header.as_bytes());
        file.extend(bytes);
        file.resize(file.len().next_multiple_of(512), 0);
    };
    for (name, bytes) in entries.iter().filter(|(name, _)| name != "digest") {
        write(&mut file, name, bytes);
    }
    let digest = Digest::from_bytes(Sha256::digest(&file).into());
    write(&mut file, "digest", format!("{digest}\n").as_bytes());
    file.resize(file.len() + 1024, 0);
    file
}

async fn check(file: Vec<u8>, code: &str, says: &str) {
    let world = world().await;
    let head = *world.folio.head().borrow();
    let name: AppName = "shop".parse().unwrap();
    let (found, message) = refused(import(&world.folio, &world.caller, (&name, &file)).await);
    assert_eq!(found, code, "{says}: {message}");
    assert!(message.contains(says), "{says}: {message}");
    assert_eq!(*world.folio.head().borrow(), head, "{says}");
    assert_eq!(world.folio.apps(&world.caller).await.unwrap().len(), 1, "{says}");
}

/// A bundle whose manifest says something else.
fn altered(file: &[u8], alter: impl Fn(&mut serde_json::Value)) -> Vec<u8> {
    let mut entries = entries(file);
    let mut manifest = serde_json::from_slice(&entries[0].1).unwrap();
    alter(&mut manifest);
    entries[0].1 = serde_json::to_vec(&manifest).unwrap();
    forged(&entries)
}

#[tokio::test]
async fn a_forged_file_is_told_apart_and_changes_nothing() {
    let world = world().await;
    filled(&world).await;
    let file = exported(&world.folio, &app(), Moment::Now).await;
    assert!(forged(&entries(&file)) == file, "a forger can write what folio writes");
    check(file[..file.len() - 1024].to_vec(), "bundle_damaged", "breaks off").await;
    check([&file[..], b"x"].concat(), "bundle_damaged", "follows its end").await;
    check(file[..700].to_vec(), "bundle_damaged", "breaks off").await;
    check(Vec::new(), "bundle_damaged", "breaks off").await;
    check(b"PK\x03\x04 a zip".repeat(100), "bundle_unknown", "not a bundle").await;

    let all = entries(&file);
    let raw = |text: &[u8]| (format!("raw/{}", Digest::of(text).hex()), text.to_vec());
    let foreign = [&all[..all.len() - 1], &[raw(b"foreign")]].concat();
    check(forged(&foreign), "bundle_damaged", "nothing in it needs").await;
    let mut lying = all.clone();
    let place = lying.iter().position(|(name, _)| name.starts_with("raw/")).unwrap();
    lying[place].1 = b"other bytes".to_vec();
    check(forged(&lying), "bundle_damaged", "").await;
    let mut lacking = all.clone();
    lacking.remove(place);
    check(forged(&lacking), "bundle_damaged", "did not come").await;
    let twice = [&all[..=place], &all[place..]].concat();
    check(forged(&twice), "bundle_damaged", "twice").await;
    let manifest_only = vec![all[0].clone()];
    check(forged(&manifest_only), "bundle_damaged", "lack").await;
}

#[tokio::test]
async fn a_manifest_that_does_not_fit_together_is_refused() {
    let world = world().await;
    filled(&world).await;
    let file = exported(&world.folio, &app(), Moment::Now).await;
    let check = async |code: &str, says: &str, alter: fn(&mut serde_json::Value)| {
        check(altered(&file, alter), code, says).await;
    };
    check("bundle_newer", "form 2", |manifest| manifest["format"] = 2.into()).await;
    check("bundle_damaged", "makes no sense", |manifest| manifest["more"] = 1.into()).await;
    check("bundle_damaged", "what its digest says", |manifest| {
        let (digest, value) = {
            let snapshots = manifest["snapshots"].as_object().unwrap();
            let found = snapshots.iter().find(|(_, said)| said["value"]["kind"] == "config");
            let (digest, value) = found.unwrap();
            (digest.clone(), value.clone())
        };
        let mut value = value;
        value["value"]["values"] = serde_json::json!({ "greeting": "forged" });
        manifest["snapshots"][digest] = value;
    })
    .await;
    check("bundle_damaged", "twice", |manifest| {
        let first = manifest["units"][0].clone();
        manifest["units"].as_array_mut().unwrap().push(first);
    })
    .await;
    check("bundle_damaged", "leads", |manifest| {
        let units = manifest["units"].as_array_mut().unwrap();
        units.iter_mut().for_each(|unit| unit["aliases"] = serde_json::json!({}));
    })
    .await;
    check("bundle_damaged", "out of order", |manifest| {
        let units = manifest["units"].as_array_mut().unwrap();
        let hello = units.iter_mut().find(|unit| unit["name"] == "hello").unwrap();
        hello["versions"].as_array_mut().unwrap().reverse();
    })
    .await;
}
