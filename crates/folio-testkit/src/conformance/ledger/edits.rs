//! Facts about apps, tokens, units and drafts.

use folio_core::ports::{Ledger, State};
use folio_model::{
    Change, Digest, Edit, Kind, Name, Number, Origin, Owner, Role, TokenRecord, Unit, UnitKey,
};

use super::world::{Named, World, actor, draft, package};

/// Apps and tokens cannot be made twice, and tokens read back.
pub async fn apps_and_tokens_are_made_once(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let app = world.app.clone();
    world.refuses(vec![Edit::CreateApp { app: app.clone() }]).await;
    assert!(world.look(move |state| state.has_app(&app)).await);
    let missing = "no-such-app".parse().expect("an app");
    assert!(!world.look(move |state| state.has_app(&missing)).await);

    let id = format!("token-{}", world.app);
    let secret = Digest::of(b"secret");
    let mut token = TokenRecord { secret, actor: actor(), terms: Default::default() };
    token.terms.grant.role = Role::Viewer;
    token.terms.grant.app = Some(world.app.clone());
    let add = Edit::AddToken { id: id.clone(), token: token.clone() };
    world.must(vec![add.clone()]).await;
    world.refuses(vec![add]).await;
    let wanted = id.clone();
    let found = world.look(move |state| state.token(&wanted)).await;
    assert_eq!(found, Some(token.clone()));
    let other = TokenRecord { secret: Digest::of(b"other"), ..token.clone() };
    world.refuses(vec![Edit::RevokeToken { id: id.clone(), token: other }]).await;
    let all = world.look(|state| state.tokens()).await;
    assert!(all.contains(&(id.clone(), token.clone())));
    world.must(vec![Edit::RevokeToken { id: id.clone(), token: token.clone() }]).await;
    world.refuses(vec![Edit::RevokeToken { id: id.clone(), token }]).await;
    let wanted = id.clone();
    assert_eq!(world.look(move |state| state.token(&wanted)).await, None);
    assert_eq!(world.look(move |state| state.token(&id[1..])).await, None);
}

/// Two living units never share a name, and an identity is never given again.
pub async fn a_unit_needs_a_free_name_and_a_new_identity(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Function, "hello").await;
    let found = world.unit(&unit).await;
    assert_eq!((found.uid, &found.key, found.origin), (unit.uid, &unit.key, Origin::User));
    assert_eq!((found.next_number, found.latest, found.draft), (Number::FIRST, None, None));
    assert_eq!(found.revision, *ledger.head().borrow());

    world.refuses(vec![world.named(Kind::Function, "hello").create()]).await;
    let package = world.create(Kind::Package, "hello").await;
    assert_ne!(package.uid, unit.uid);
    let elsewhere = UnitKey { name: "other".parse().expect("a name"), ..unit.key.clone() };
    let again = Named { uid: unit.uid, key: elsewhere };
    world.refuses(vec![again.create()]).await;

    world.must(vec![unit.remove()]).await;
    world.refuses(vec![again.create()]).await;
    let successor = world.create(Kind::Function, "hello").await;
    let key = unit.key.clone();
    let by_name = world.look(move |state| state.unit(&key)).await.expect("it was made");
    assert_eq!(by_name.uid, successor.uid);
    let old = unit.uid;
    assert_eq!(world.look(move |state| state.unit_by_uid(old)).await, None);
}

/// A unit belongs to one deployment at a time, also when it returns, and the deployment finds it.
pub async fn a_unit_belongs_to_one_deployment(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Function, "hello").await;
    let other = world.create(Kind::Package, "code").await;
    let owner = |uid: &str| Some(Owner { uid: uid.to_owned(), name: format!("the {uid}") });
    let own = |named: &Named, from, to| Edit::Own { uid: named.uid, from, to };
    world.refuses(vec![own(&unit, owner("a"), owner("b"))]).await;
    world.must(vec![own(&unit, None, owner("a")), own(&other, None, owner("a"))]).await;
    world.refuses(vec![own(&unit, None, owner("b"))]).await;
    let app = world.app.clone();
    let owned = |deployment: &'static str| {
        let app = app.clone();
        world.look(move |state| state.owned(&app, deployment))
    };
    let names = |units: Vec<Unit>| units.into_iter().map(|unit| unit.key).collect::<Vec<_>>();
    assert_eq!(names(owned("a").await), [unit.key.clone(), other.key.clone()]);
    world.must(vec![own(&other, owner("a"), owner("b"))]).await;
    assert_eq!(names(owned("b").await), std::slice::from_ref(&other.key));
    world.must(vec![unit.remove()]).await;
    assert_eq!(owned("a").await, []);
    let gone = unit.uid;
    let whose = world.look(move |state| state.owner(gone)).await;
    assert_eq!(whose, owner("a"), "what is gone was somebody's");
    world.must(vec![Edit::RestoreUnit { uid: unit.uid, key: unit.key.clone() }]).await;
    assert_eq!(owned("a").await.first().and_then(|unit| unit.owner.clone()), owner("a"));
}

/// A unit with a draft, a version or an alias stays.
pub async fn a_unit_leaves_only_when_it_is_bare(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Function, "hello").await;
    let snapshot = package("draft");
    let to = Some(draft(&snapshot));
    let set = Edit::SetDraft { uid: unit.uid, from: None, to: to.clone() };
    let change = Change { snapshots: vec![snapshot], ..world.change(vec![set]) };
    world.append(change).await.expect("it fits");
    world.refuses(vec![unit.remove()]).await;
    world.must(vec![Edit::SetDraft { uid: unit.uid, from: to, to: None }]).await;

    let version = world.publish(&unit, "v1").await;
    world.refuses(vec![unit.remove()]).await;
    world.must(vec![unit.point("stable", None, Some(1))]).await;
    let last = unit.point("stable", Some(1), None);
    world.refuses(vec![unit.delete(&version), unit.remove(), last.clone()]).await;

    let wrong = UnitKey { kind: Kind::Package, ..unit.key.clone() };
    let misnamed = Edit::DeleteUnit { uid: unit.uid, key: wrong };
    world.refuses(vec![last.clone(), unit.delete(&version), misnamed]).await;
    world.must(vec![last, unit.delete(&version), unit.remove()]).await;
    world.refuses(vec![unit.remove()]).await;
}

/// A deleted unit comes back with its counter, if its name is free.
pub async fn a_deleted_unit_returns_to_its_name(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Function, "hello").await;
    let restore = Edit::RestoreUnit { uid: unit.uid, key: unit.key.clone() };
    world.refuses(vec![restore.clone()]).await;
    let version = world.publish(&unit, "v1").await;
    world.must(vec![unit.delete(&version), unit.remove()]).await;
    world.refuses(vec![unit.restore(&version)]).await;

    let successor = world.create(Kind::Function, "hello").await;
    world.refuses(vec![restore.clone()]).await;
    world.must(vec![successor.remove()]).await;
    let elsewhere = UnitKey { name: "other".parse().expect("a name"), ..unit.key.clone() };
    world.refuses(vec![Edit::RestoreUnit { uid: unit.uid, key: elsewhere }]).await;

    let entry = world.must(vec![restore, unit.restore(&version)]).await;
    let found = world.unit(&unit).await;
    assert_eq!((found.next_number.get(), found.latest), (2, Some(Number::FIRST)));
    assert_eq!(found.revision, entry.seq);
}

/// A draft is compared as a whole before it is replaced, and needs its snapshot.
pub async fn a_draft_is_replaced_only_if_it_is_as_expected(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Function, "hello").await;
    let (one, two) = (package("one"), package("two"));
    let set = |from: Option<&_>, to: Option<&_>| Edit::SetDraft {
        uid: unit.uid,
        from: from.map(draft),
        to: to.map(draft),
    };
    world.refuses(vec![set(None, Some(&package("unknown of a draft")))]).await;
    let snapshots = vec![one.clone(), two.clone()];
    let change = Change { snapshots, ..world.change(vec![set(None, Some(&one))]) };
    world.append(change).await.expect("it fits");
    world.refuses(vec![set(None, Some(&two))]).await;
    world.refuses(vec![set(Some(&two), None)]).await;
    world.must(vec![set(Some(&one), Some(&two))]).await;
    assert_eq!(world.unit(&unit).await.draft, Some(draft(&two)));
    let mut other_archive = draft(&two);
    other_archive.archive = Some(Digest::of(b"archive"));
    let from = Some(other_archive);
    world.refuses(vec![Edit::SetDraft { uid: unit.uid, from, to: None }]).await;
    world.must(vec![set(Some(&two), None)]).await;
    assert_eq!(world.unit(&unit).await.draft, None);
}

/// Lists of units are by name, of one kind, of one app, and only of the living.
pub async fn units_are_listed_by_kind_and_name(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let other = World::new(ledger).await;
    for name in ["b", "a-1", "0", "B", "a"] {
        world.create(Kind::Function, name).await;
        other.create(Kind::Function, name).await;
    }
    world.create(Kind::Package, "c").await;
    let gone = world.create(Kind::Function, "gone").await;
    world.must(vec![gone.remove()]).await;
    let names = |units: Vec<Unit>| -> Vec<_> {
        units.into_iter().map(|unit| unit.key.name.to_string()).collect()
    };
    let app = world.app.clone();
    let units = world.look(move |state| state.units(&app, Kind::Function)).await;
    assert_eq!(names(units), ["0", "B", "a", "a-1", "b"]);
    let pages: [(Option<&str>, usize, &[&str]); 4] = [
        (None, 2, &["0", "B"]),
        (Some("B"), 2, &["a", "a-1"]),
        (Some("a-0"), 9, &["a-1", "b"]),
        (Some("b"), 9, &[]),
    ];
    for (after, limit, expected) in pages {
        let app = world.app.clone();
        let after: Option<Name> = after.map(|after| after.parse().expect("a name"));
        let page = move |state: &dyn State| {
            state.units_after(&app, Kind::Function, (after.as_ref(), limit))
        };
        assert_eq!(names(world.look(page).await), expected);
    }
}

/// A change of one app cannot touch a unit of another.
pub async fn a_change_stays_within_its_app(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let other = World::new(ledger).await;
    let theirs = other.create(Kind::Function, "hello").await;
    let before = other.dump().await;
    world.refuses(vec![theirs.remove()]).await;
    world.refuses(vec![other.named(Kind::Function, "second").create()]).await;
    assert_eq!(other.dump().await, before);
}
