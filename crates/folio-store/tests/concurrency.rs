//! Eight writers on one function and one alias: nothing is given twice, nothing is lost, and whoever comes too
//! late is told so.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use folio_core::ports::{Page, SystemClock};
use folio_core::request::{AliasTarget, Caller, Expect, Fields, Publish};
use folio_core::{Class, Explain as _, Folio, Settings};
use folio_model::{AppName, FULL_WEIGHT, Kind, Qualifier, UnitKey, VersionId};
use folio_store::DataDirectory;
use folio_testkit::sample;
use tokio::task::JoinSet;

const WRITERS: usize = 8;
const ROUNDS: usize = 40;

/// What one writer was told.
#[derive(Default)]
struct Told {
    numbers: Vec<u64>,
    /// The revisions its successful moves expected.
    won: Vec<u64>,
    lost: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn eight_writers_never_share_a_number_or_a_move() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let clock = Arc::new(SystemClock);
    let data = DataDirectory::open(directory.path(), clock.clone(), Duration::from_secs(60))
        .await
        .unwrap();
    let folio = Folio::new(data.ledger.clone(), data.blobs.clone(), clock, Settings::default());
    folio.admit(&"admin".parse().unwrap(), &folio.draw_token()).await.unwrap();
    publish(&folio, "first").await;
    point(&folio, 1, Expect::Absent).await.unwrap();

    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(folio.clone(), writer));
    }
    let told = writers.join_all().await;

    let numbers: Vec<_> = told.iter().flat_map(|told| &told.numbers).copied().collect();
    let distinct: BTreeSet<_> = numbers.iter().copied().collect();
    assert_eq!(distinct.len(), WRITERS * ROUNDS, "a number was given twice");
    assert_eq!(distinct.last(), Some(&(1 + (WRITERS * ROUNDS) as u64)), "a number was skipped");
    let versions = folio.versions(&function(), Page::ALL).await.unwrap();
    assert_eq!(versions.len(), 1 + WRITERS * ROUNDS, "a version was lost");

    let won: Vec<_> = told.iter().flat_map(|told| &told.won).copied().collect();
    let lost: usize = told.iter().map(|told| told.lost).sum();
    assert_eq!(
        won.iter().collect::<BTreeSet<_>>().len(),
        won.len(),
        "two moves left from one place"
    );
    assert_eq!(won.len() + lost, WRITERS * ROUNDS);
    assert!(lost > 0, "the writers never met, so this proves nothing");
    check_history(&folio, won.len()).await;
    assert_eq!(folio.check().await.unwrap(), []);
}

/// Publishes and moves the alias from where it was seen, again and again.
async fn write(folio: Folio, writer: usize) -> Told {
    let mut told = Told::default();
    for round in 0..ROUNDS {
        let seen = folio.aliases(&function()).await.unwrap()[0].revision;
        let number = publish(&folio, &format!("{writer} {round}")).await;
        told.numbers.push(number);
        match point(&folio, number, Expect::Revision(seen)).await {
            Ok(()) => told.won.push(seen),
            Err(class) => {
                assert_eq!(class, Class::Conflict);
                told.lost += 1;
            }
        }
    }
    told
}

/// The history of the alias is one line: every move starts where the one before ended.
async fn check_history(folio: &Folio, won: usize) {
    let mut moves = folio.alias_history(&function(), &alias()).await.unwrap();
    moves.reverse();
    assert_eq!(moves.len(), 1 + won);
    for pair in moves.windows(2) {
        assert_eq!(pair[0].to, pair[1].from, "the history branches at entry {}", pair[1].entry);
    }
}

async fn publish(folio: &Folio, text: &str) -> u64 {
    let fields = Fields {
        environment: Some("nodejs".parse().unwrap()),
        deployment: Some(sample::file(folio, "main.js", text).await),
        ..Fields::default()
    };
    let request = Publish::fresh(fields);
    let done = folio.publish(&caller(), &function(), request).await.unwrap();
    done.result.version.number.get()
}

async fn point(folio: &Folio, number: u64, expect: Expect) -> Result<(), Class> {
    let version: Qualifier = number.to_string().parse().unwrap();
    let targets = vec![AliasTarget { version, weight: FULL_WEIGHT }];
    let moved = folio.point(&caller(), (&function(), &alias()), targets, expect).await;
    moved.map(|_| ()).map_err(|error| error.class())
}

fn caller() -> Caller {
    Caller::new("ada".parse().unwrap())
}

fn alias() -> VersionId {
    "prod".parse().unwrap()
}

fn function() -> UnitKey {
    UnitKey { app: AppName::default_app(), kind: Kind::Function, name: "hello".parse().unwrap() }
}
