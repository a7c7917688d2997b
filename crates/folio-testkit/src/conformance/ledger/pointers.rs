//! Facts about aliases, tags, marks and domains.

use folio_core::ports::{Ledger, StandingDomain};
use folio_model::{
    AppName, Canary, CanaryPhase, CanaryPlan, CanarySubject, Digest, DomainName, Edit, Kind,
    Labels, Marks, Members, Name, Place, Pointer, Share, Target, Timestamp, Weights,
};

use super::world::{Named, World, number, version_id};

async fn with_versions(world: &World<'_>, versions: usize) -> Named {
    let unit = world.create(Kind::Function, "hello").await;
    for index in 1..=versions {
        world.publish(&unit, &format!("v{index}")).await;
    }
    unit
}

fn tag(world: &World<'_>) -> Pointer {
    Pointer::Tag { app: world.app.clone(), name: version_id("group") }
}

fn members(versions: &[(&Named, u64)]) -> Option<Place> {
    let members: Members = versions.iter().map(|(unit, n)| (unit.uid, number(*n))).collect();
    Some(Place::Members(members))
}

/// A move states where it leaves from; the wrong place refuses it.
pub async fn pointers_move_only_from_where_they_are(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = with_versions(&world, 2).await;
    world.refuses(vec![unit.point("stable", Some(1), Some(2))]).await;
    let made = world.must(vec![unit.point("stable", None, Some(1))]).await;
    let uid = unit.uid;
    let alias = || world.look(move |state| state.alias(uid, &version_id("stable")));
    let found = alias().await.expect("it was made");
    assert_eq!((found.weights.sole(), found.revision), (Some(number(1)), made.seq));
    assert_eq!(world.unit(&unit).await.revision, made.seq);
    world.refuses(vec![unit.point("stable", None, Some(2))]).await;
    world.refuses(vec![unit.point("stable", Some(2), None)]).await;

    let split =
        [Share { number: number(1), weight: 9_000 }, Share { number: number(2), weight: 1_000 }];
    let split = Place::Versions(Weights::new(split.to_vec()).expect("it sums up"));
    let only = Place::Versions(Weights::only(number(1)));
    let pointer = unit.alias("stable");
    let to_split = Edit::Move { pointer, from: Some(only), to: Some(split.clone()) };
    let moved = world.must(vec![to_split]).await;
    let found = alias().await.expect("it is there");
    assert_eq!((Place::Versions(found.weights), found.revision), (split.clone(), moved.seq));
    let pointer = unit.alias("stable");
    world.must(vec![Edit::Move { pointer, from: Some(split), to: None }]).await;
    assert_eq!(alias().await, None);
}

/// What is said about an object is a pointer of its app, whatever the object is.
pub async fn marks_move_as_pointers_do(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let pointer = Pointer::Marks { app: world.app.clone(), object: uuid::Uuid::from_u128(9) };
    let marks = |generation| {
        let place = Marks {
            of: Digest::of(b"said"),
            labels: [("tier".to_owned(), "web".to_owned())].into(),
            annotations: Labels::new(),
            managers: Vec::new(),
            generation,
            since: Timestamp::UNIX_EPOCH,
            made_in: Some(7),
        };
        Some(Place::Marks(Box::new(place)))
    };
    let to = |from, to| Edit::Move { pointer: pointer.clone(), from, to };
    world.refuses(vec![to(marks(1), marks(2))]).await;
    world.must(vec![to(None, marks(1))]).await;
    world.refuses(vec![to(None, marks(2))]).await;
    let moved = world.must(vec![to(marks(1), marks(2))]).await;
    let of = pointer.clone();
    let found = || {
        let of = of.clone();
        world.look(move |state| state.place(&of))
    };
    assert_eq!(found().await, marks(2).map(|place| (place, moved.seq)));
    let of = pointer.clone();
    assert_eq!(world.look(move |state| state.moves(&of)).await.len(), 2);
    world.must(vec![to(marks(2), None)]).await;
    assert_eq!(found().await, None);
}

/// What a route's targets get and how far a canary is are pointers: found by name, moved from where they are.
pub async fn routes_and_canaries_move_as_pointers_do(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Trigger, "route").await;
    let pointer = Pointer::Split { unit: unit.uid };
    let shares = |weight| {
        let target = |name: &str, weight| {
            let function = name.parse().expect("a reference");
            Target { function, weight }
        };
        vec![target("a", 10_000 - weight), target("b", weight)]
    };
    let to_shares = |from: Option<u32>, to: Option<u32>| {
        let place = |weight: Option<u32>| weight.map(|weight| Place::Targets(shares(weight)));
        Edit::Move { pointer: pointer.clone(), from: place(from), to: place(to) }
    };
    world.refuses(vec![to_shares(Some(0), Some(1))]).await;
    world.must(vec![to_shares(None, Some(1))]).await;
    world.refuses(vec![to_shares(None, Some(2))]).await;
    let moved = world.must(vec![to_shares(Some(1), Some(2))]).await;
    let uid = unit.uid;
    let split = || world.look(move |state| state.split(uid));
    assert_eq!(split().await, Some(shares(2)));
    assert_eq!(world.unit(&unit).await.revision, moved.seq);
    let of = pointer.clone();
    assert_eq!(world.look(move |state| state.moves(&of)).await.len(), 2);
    world.must(vec![to_shares(Some(2), None)]).await;
    assert_eq!(split().await, None);
    let nobody = world.named(Kind::Trigger, "nobody");
    let place = Some(Place::Targets(shares(1)));
    let pointer = Pointer::Split { unit: nobody.uid };
    world.refuses(vec![Edit::Move { pointer, from: None, to: place.clone() }]).await;

    let name: Name = "rollout".parse().expect("a name");
    let pointer = Pointer::Canary { app: world.app.clone(), name: name.clone() };
    let canary = |weight| Canary {
        subject: CanarySubject::Route {
            unit: uid,
            route: "route".parse().expect("a name"),
            old: "a".parse().expect("a reference"),
            new: "b".parse().expect("a reference"),
        },
        plan: CanaryPlan::default(),
        weight,
        phase: CanaryPhase::Running,
        owner: None,
    };
    let to_weight = |from: Option<u32>, to: Option<u32>| {
        let place = |weight: Option<u32>| weight.map(|at| Place::Canary(Box::new(canary(at))));
        Edit::Move { pointer: pointer.clone(), from: place(from), to: place(to) }
    };
    world.refuses(vec![Edit::Move { pointer: pointer.clone(), from: None, to: place }]).await;
    world.must(vec![to_weight(None, Some(1))]).await;
    world.refuses(vec![to_weight(None, Some(1))]).await;
    let stepped = world.must(vec![to_weight(Some(1), Some(2))]).await;
    let app = world.app.clone();
    let found = || {
        let (app, name) = (app.clone(), name.clone());
        world.look(move |state| {
            Ok((state.canary(&app, &name)?, state.canaries(Some(&app))?, state.canaries(None)?))
        })
    };
    let (one, of_app, all) = found().await;
    let one = one.expect("it was made");
    assert_eq!((one.canary.clone(), one.revision), (canary(2), stepped.seq));
    assert_eq!((of_app, all.contains(&one)), (vec![one.clone()], true));
    world.must(vec![to_weight(Some(2), None)]).await;
    assert_eq!(found().await.0, None);
}

/// A domain is of one app at a time, is found by app, and moves as other pointers do.
pub async fn domains_are_of_one_app(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let app = world.app.clone();
    let name: DomainName = format!("{app}.example").parse().expect("a domain");
    let pointer = Pointer::Domain { name: name.clone() };
    let to = |from: Option<&AppName>, to: Option<&AppName>| {
        let place = |app: Option<&AppName>| app.cloned().map(Place::App);
        Edit::Move { pointer: pointer.clone(), from: place(from), to: place(to) }
    };
    let wrong = Some(Place::Members(Members::new()));
    world.refuses(vec![Edit::Move { pointer: pointer.clone(), from: None, to: wrong }]).await;
    let made = world.must(vec![to(None, Some(&app))]).await;
    world.refuses(vec![to(None, Some(&app))]).await;
    let found = || {
        let app = app.clone();
        world.look(move |state| Ok((state.domains(Some(&app))?, state.domains(None)?)))
    };
    let (own, all) = found().await;
    let standing = StandingDomain { domain: name, app: app.clone(), revision: made.seq };
    assert_eq!((own.as_slice(), all.contains(&standing)), (&[standing.clone()][..], true));
    let removed = world.must(vec![to(Some(&app), None)]).await;
    assert_eq!(found().await.0, []);
    let moves = world.look(move |state| state.moves(&pointer)).await;
    assert_eq!(moves, [made, removed]);
}

/// A pointer needs living units, surviving versions, and a place of its own kind.
pub async fn pointers_point_at_surviving_versions_only(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = with_versions(&world, 1).await;
    let version = world.publish(&unit, "gone").await;
    world.delete(&unit, &version).await;
    world.refuses(vec![unit.point("stable", None, Some(2))]).await;
    world.refuses(vec![unit.point("stable", None, Some(3))]).await;
    let nobody = world.named(Kind::Function, "nobody");
    world.refuses(vec![nobody.point("stable", None, Some(1))]).await;
    let put = |pointer, to| Edit::Move { pointer, from: None, to };
    world.refuses(vec![put(tag(&world), members(&[(&unit, 1), (&nobody, 1)]))]).await;
    let weights = Some(Place::Versions(Weights::only(number(1))));
    world.refuses(vec![put(tag(&world), weights)]).await;
    world.refuses(vec![put(unit.alias("stable"), members(&[(&unit, 1)]))]).await;
    world.must(vec![put(tag(&world), members(&[]))]).await;
}

/// Aliases and tags are found by name, in order, and from the version they point at.
pub async fn a_version_knows_what_points_at_it(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = with_versions(&world, 2).await;
    let to = members(&[(&unit, 2)]);
    let made = world
        .must(vec![
            unit.point("b", None, Some(2)),
            unit.point("a", None, Some(2)),
            unit.point("c", None, Some(1)),
            Edit::Move { pointer: tag(&world), from: None, to: to.clone() },
        ])
        .await;
    let (key, uid, app) = (unit.at(2), unit.uid, world.app.clone());
    let pointers = || world.look(move |state| state.pointers_to(key));
    assert_eq!(pointers().await, [unit.alias("a"), unit.alias("b"), tag(&world)]);
    let aliases = world.look(move |state| state.aliases(uid)).await;
    let names: Vec<_> = aliases.iter().map(|alias| alias.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let tags = world.look(move |state| state.tags(&app)).await;
    assert_eq!((tags.len(), tags[0].revision), (1, made.seq));
    let app = world.app.clone();
    let group = world.look(move |state| state.tag(&app, &version_id("group"))).await;
    assert_eq!(group.as_ref(), tags.first());

    world.must(vec![unit.point("b", Some(2), Some(1))]).await;
    world
        .must(vec![Edit::Move { pointer: tag(&world), from: to, to: members(&[(&unit, 1)]) }])
        .await;
    assert_eq!(pointers().await, [unit.alias("a")]);
    let key = unit.at(1);
    let others = world.look(move |state| state.pointers_to(key)).await;
    assert_eq!(others, [unit.alias("b"), unit.alias("c"), tag(&world)]);
}

/// The history of a pointer is the entries that moved it, also once it is gone.
pub async fn moves_are_remembered_after_a_pointer_is_gone(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = with_versions(&world, 2).await;
    let made = world.must(vec![unit.point("stable", None, Some(1))]).await;
    world.must(vec![unit.point("other", None, Some(1))]).await;
    let twice = world
        .must(vec![unit.point("stable", Some(1), Some(2)), unit.point("stable", Some(2), Some(1))]);
    let twice = twice.await;
    let removed = world.must(vec![unit.point("stable", Some(1), None)]).await;
    let pointer = unit.alias("stable");
    let moves = world.look(move |state| state.moves(&pointer)).await;
    let seq = removed.seq;
    let before = async |below: u64, limit: usize| {
        let pointer = unit.alias("stable");
        world.look(move |state| state.moves_before(&pointer, below, limit)).await
    };
    assert_eq!(before(u64::MAX, 2).await, [removed.clone(), twice.clone()]);
    assert_eq!(before(seq, 9).await, [twice.clone(), made.clone()]);
    assert_eq!(before(seq, 0).await, []);
    assert_eq!(moves, [made, twice, removed]);
    let unknown = unit.alias("unknown");
    assert_eq!(world.look(move |state| state.moves(&unknown)).await, []);
}
