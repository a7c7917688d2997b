//! Facts about entries: their order, their text, what refuses one.

use folio_core::ports::{Ledger, Page, State, StoreError};
use folio_model::{Answer, AppName, AppVersion, Change, Digest, Edit, Entry, Git, Kind};
use serde_json::json;

use super::world::{World, package};

/// Places go up by one, the head follows, and an entry reads back exactly.
pub async fn entries_are_numbered_and_kept_as_they_were(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let before = *ledger.head().borrow();
    let unit = world.named(Kind::Function, "hello");
    let change = Change {
        reason: Some("because".to_owned()),
        git: Some(Git { commit: "abc".to_owned(), branch: "main".to_owned(), clean: false }),
        ..world.change(vec![unit.create()])
    };
    let first = world.append(change.clone()).await.expect("it fits");
    let second = world.must(vec![unit.remove()]).await;
    assert_eq!((first.seq, second.seq), (before + 1, before + 2));
    assert_eq!(first, Entry::of(&change, first.seq));
    let seq = first.seq;
    assert_eq!(world.look(move |state| state.entry(seq)).await, Some(first));
    assert_eq!(world.look(|state| state.head()).await, second.seq);
    assert_eq!(*ledger.head().borrow(), second.seq);
    let beyond = second.seq + 1;
    assert_eq!(world.look(move |state| state.entry(beyond)).await, None);
}

/// Lists of entries are of one app or of all, in pages, both ways.
pub async fn entries_are_read_forwards_and_backwards(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let other = World::new(ledger).await;
    let unit = world.named(Kind::Function, "hello");
    let mut seqs = Vec::new();
    for round in 0..5 {
        let edit = if round % 2 == 0 { unit.create() } else { unit.remove() };
        let again = world.named(Kind::Function, &format!("hello-{round}"));
        seqs.push(world.must(vec![if round < 2 { edit } else { again.create() }]).await.seq);
        other.create(Kind::Package, &format!("noise-{round}")).await;
    }
    let app = world.app.clone();
    let (after, below) = (seqs[0], seqs[4]);
    let page = Page { after, limit: 2 };
    let places = |entries: Vec<Entry>| entries.iter().map(|e| e.seq).collect::<Vec<_>>();
    let forwards = world.look(move |state| state.entries(Some(&app), page)).await;
    assert_eq!(places(forwards), seqs[1..3]);
    let app = world.app.clone();
    let backwards = world.look(move |state| state.entries_before(&app, below, 3)).await;
    assert_eq!(places(backwards), [seqs[3], seqs[2], seqs[1]]);
    let app = world.app.clone();
    assert_eq!(world.look(move |state| state.last_entry(&app)).await, seqs[4]);
    let nowhere: AppName = "nowhere".parse().expect("a name");
    assert_eq!(world.look(move |state| state.last_entry(&nowhere)).await, 0);
    let of_all = world.look(move |state| state.entries(None, Page { after, limit: 3 })).await;
    assert_eq!(places(of_all), [after + 1, after + 2, after + 3]);
    let end = Page { after: u64::MAX, limit: 3 };
    assert_eq!(world.look(move |state| state.entries(None, end)).await, []);
}

/// A plan that returns nothing leaves no entry.
pub async fn a_plan_that_refuses_appends_nothing(ledger: &dyn Ledger) {
    let before = *ledger.head().borrow();
    let appended = ledger.append(Box::new(|_| Ok(None))).await.expect("refusing is no failure");
    assert_eq!(appended, None);
    assert_eq!(*ledger.head().borrow(), before);
}

/// A plan that fails leaves no entry, and its own error comes back.
pub async fn a_plan_that_fails_appends_nothing(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let before = world.dump().await;
    let plan = |_: &dyn State| Err(StoreError::Refused { what: "on purpose".to_owned() });
    let failed = ledger.append(Box::new(plan)).await;
    assert!(matches!(failed, Err(StoreError::Refused { .. })), "{failed:?}");
    assert_eq!(world.dump().await, before);
}

/// An entry is undone while the last entry that took it back stands.
pub async fn an_undo_counts_until_it_is_undone(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.named(Kind::Function, "hello");
    let first = world.must(vec![unit.create()]).await.seq;
    let undone = |seq| world.look(move |state| state.undone_by(seq));
    assert_eq!(undone(first).await, None);
    let undo = |seq, edit| Change { undoes: Some(seq), ..world.change(vec![edit]) };
    let restore = Edit::RestoreUnit { uid: unit.uid, key: unit.key.clone() };
    let second = world.append(undo(first, unit.remove())).await.expect("it fits").seq;
    assert_eq!(undone(first).await, Some(second));
    let third = world.append(undo(second, restore)).await.expect("it fits").seq;
    assert_eq!((undone(first).await, undone(second).await), (None, Some(third)));
    let fourth = world.append(undo(first, unit.remove())).await.expect("it fits").seq;
    assert_eq!(undone(first).await, Some(fourth));
}

/// The answer to a request is kept with its change, once.
pub async fn answers_are_remembered_once(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.named(Kind::Function, "hello");
    let key = format!("key of {}", world.app);
    let body = json!({"b": 1, "a": ["é", null]});
    let answer = Answer { key: key.clone(), request: Digest::of(b"request"), body };
    let change = |edit| Change { answer: Some(answer.clone()), ..world.change(vec![edit]) };
    world.append(change(unit.create())).await.expect("it fits");
    let wanted = key.clone();
    assert_eq!(world.look(move |state| state.answer(&wanted)).await, Some(answer.clone()));
    world.refuses_change(change(unit.remove())).await;
    let other = format!("{key}!");
    assert_eq!(world.look(move |state| state.answer(&other)).await, None);
}

/// A change that requires bytes nobody stored does not happen.
pub async fn a_missing_blob_refuses_the_change(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.named(Kind::Function, "hello");
    let before = world.dump().await;
    let wanted = Digest::of(b"never stored");
    let change = Change { requires: vec![wanted], ..world.change(vec![unit.create()]) };
    match world.append(change).await {
        Err(StoreError::MissingBlob { digest }) => assert_eq!(digest, wanted),
        other => panic!("{other:?}"),
    }
    assert_eq!(world.dump().await, before);
    let change = Change { frees: vec![wanted], ..world.change(vec![unit.create()]) };
    world.append(change).await.expect("what is freed need not be stored");
}

/// Text that hurts weaker stores comes back byte for byte.
pub async fn unusual_text_comes_back_as_it_was(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let text = "a\0b'\";--\n\u{202e}\u{1F600}e\u{301}\u{fffd}\\u0000%_";
    let unit = world.create(Kind::Package, "code").await;
    let version = world.publish(&unit, "v1").await;
    let describe = Edit::Describe {
        uid: unit.uid,
        number: version.number,
        from: String::new(),
        to: text.to_owned(),
        from_at: None,
        to_at: None,
    };
    let change = Change {
        message: text.to_owned(),
        reason: Some(text.to_owned()),
        app_version: Some(super::world::version_id("odd")),
        git: Some(Git { commit: text.to_owned(), branch: text.to_owned(), clean: true }),
        ..world.change(vec![describe])
    };
    let entry = world.append(change).await.expect("it fits");
    let key = unit.at(1);
    let found = world.look(move |state| state.version(key)).await.expect("it survives");
    assert_eq!(found.description, text);
    let seq = entry.seq;
    assert_eq!(world.look(move |state| state.entry(seq)).await, Some(entry));
    let app = world.app.clone();
    let made: Option<AppVersion> = world.look(move |state| state.app_version_at(&app, None)).await;
    let made = made.expect("it made an app version");
    assert_eq!((made.message.as_str(), made.git.expect("given").commit.as_str()), (text, text));
}

/// Edits before the one that does not fit are taken back with everything else the change wrote.
pub async fn a_conflict_in_the_middle_changes_nothing(ledger: &dyn Ledger) {
    let world = World::new(ledger).await;
    let unit = world.create(Kind::Package, "code").await;
    let first = world.publish(&unit, "v1").await;
    let snapshot = package("new");
    let second = world.version(super::world::number(2), "v2", &snapshot);
    let made = world.named(Kind::Function, "made");
    let edits = vec![
        made.create(),
        Edit::Publish { uid: unit.uid, version: second, waits: false },
        unit.point("stable", None, Some(2)),
        unit.delete(&first),
        unit.point("stable", Some(7), Some(2)),
    ];
    let change = Change {
        snapshots: vec![snapshot.clone()],
        app_version: Some(super::world::version_id("lost")),
        answer: Some(Answer {
            key: format!("lost in {}", world.app),
            request: Digest::of(b""),
            body: json!(null),
        }),
        ..world.change(edits)
    };
    world.refuses_change(change).await;
    let (app, digest) = (world.app.clone(), snapshot.digest());
    let lost = world.look(move |state| {
        let key = format!("lost in {app}");
        Ok((
            state.answer(&key)?,
            state.snapshot(digest)?,
            state.id_taken(&app, &super::world::version_id("v2"))?,
        ))
    });
    let (answer, _, taken) = lost.await;
    assert_eq!((answer, taken), (None, false));
    world.publish(&unit, "v2").await;
}
