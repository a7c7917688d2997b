//! Turns a change into rows, inside the writer's transaction. Every edit is compared with what is there before
//! it is written; the first that does not fit refuses the whole change, and the savepoint undoes the rest.
//! Start at [`append`].

use folio_core::crash;
use folio_core::ports::{Plan, StoreError};
use folio_kinds::HUB_VERSION;
use folio_model::{Answer, Change, Digest, Entry, EntryHash, Snapshot, VersionId, canonical};
use rusqlite::{Connection, params};

use super::index;
use super::newest::Newest;
use super::query::{exists, run, signed, to_json};
use super::session::Session;
use super::state::builds::own_key;

mod builds;
mod edits;
mod names;
mod places;
mod pointers;
mod releases;
mod triggers;
mod versions;

/// Runs a plan against the newest state and writes what it wants.
pub(crate) fn append(session: &Session, plan: &mut Plan) -> Result<Option<Entry>, StoreError> {
    let newest = Newest(session);
    let Some(change) = plan(&newest)? else { return Ok(None) };
    crash::point("ledger.planned");
    let (head, last) = newest.tip()?;
    let entry = Entry::of(&change, head + 1);
    let app_version = change.app_version.as_ref();
    let writing = Writing { conn: session, session, seq: entry.seq, app_version };
    writing.change(&change, &entry, last)?;
    crash::point("ledger.applied");
    Ok(Some(entry))
}

/// One change on its way into the database.
struct Writing<'a> {
    conn: &'a Connection,
    /// The connection with what is known of the rows behind it.
    session: &'a Session,
    /// The entry's place.
    seq: u64,
    /// The app version that the change makes.
    app_version: Option<&'a VersionId>,
}

impl Writing<'_> {
    fn change(&self, change: &Change, entry: &Entry, last: EntryHash) -> Result<(), StoreError> {
        self.entry(entry, last)?;
        self.snapshots(&change.snapshots)?;
        change.edits.iter().try_for_each(|edit| self.edit(&change.app, edit))?;
        change.edits.iter().try_for_each(|edit| self.nothing_dangles(edit))?;
        self.names(change)?;
        self.app_version(change)?;
        change.answer.iter().try_for_each(|answer| self.answer(answer))?;
        index::require(self.session, &change.requires, change.at)?;
        index::free(self.session, &change.frees, change.at)
    }

    fn entry(&self, entry: &Entry, last: EntryHash) -> Result<(), StoreError> {
        let body = canonical::encode(entry);
        let hash = Entry::hash_of(&body, last);
        let body = String::from_utf8(body).expect("JSON is UTF-8");
        let sql = "INSERT INTO entries (seq, app, undoes, body, hash) VALUES (?1, ?2, ?3, ?4, ?5)";
        let undoes = entry.undoes.map(signed);
        let values = params![signed(self.seq), entry.app.as_str(), undoes, body, hash.as_bytes()];
        run(self.conn, sql, values)?;
        self.session.known(|known| known.tip = Some((self.seq, hash)));
        Ok(())
    }

    /// Stores snapshots, in whatever order. What those that are new stand on must be stored, too.
    fn snapshots(&self, snapshots: &[Snapshot]) -> Result<(), StoreError> {
        let mut pins = Vec::new();
        for snapshot in snapshots {
            if self.snapshot(snapshot)? {
                pins.extend(snapshot.pins());
            }
        }
        pins.into_iter().try_for_each(|pin| self.has_snapshot(pin))
    }

    /// Stores a snapshot and says whether it is new.
    fn snapshot(&self, snapshot: &Snapshot) -> Result<bool, StoreError> {
        let body = canonical::encode(snapshot);
        let digest = Digest::of(&body);
        if self.session.known(|known| known.snapshots.get(&digest).is_some()) {
            return Ok(false);
        }
        let sql = "INSERT INTO snapshots (digest, encoding, body, pin, build, hub) \
                   VALUES (?1, 1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
        let (pin, build) = (package_pin(snapshot), own_key(snapshot));
        let (pin, build) =
            (pin.as_ref().map(Digest::as_bytes), build.as_ref().map(Digest::as_bytes));
        let added = run(self.conn, sql, params![digest.as_bytes(), body, pin, build, HUB_VERSION])?;
        let sql =
            "INSERT INTO snapshot_trees (snapshot, tree) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        for content in snapshot.contents() {
            run(self.conn, sql, params![digest.as_bytes(), content.tree.as_bytes()])?;
        }
        self.snapshot_names(digest, snapshot)?;
        self.session.known(|known| known.snapshots.put(digest, ()));
        Ok(added == 1)
    }

    fn has_snapshot(&self, digest: Digest) -> Result<(), StoreError> {
        let sql = "SELECT 1 FROM snapshots WHERE digest = ?1";
        let found = exists(self.conn, sql, [digest.as_bytes()])?;
        ensure(found, || format!("snapshot {digest}"))
    }

    fn answer(&self, answer: &Answer) -> Result<(), StoreError> {
        let sql = "INSERT INTO answers (key, request, body, checksum, seq) \
                   VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
        let (request, body) = (answer.request.as_bytes(), to_json(&answer.body));
        let checksum = canonical::digest(answer);
        let values = params![answer.key, request, body, checksum.as_bytes(), signed(self.seq)];
        let added = run(self.conn, sql, values)?;
        ensure(added == 1, || format!("the answer to request `{}`", answer.key))
    }
}

/// The package a function froze.
pub(super) fn package_pin(snapshot: &Snapshot) -> Option<Digest> {
    match snapshot {
        Snapshot::Function(spec) => Some(spec.package.snapshot),
        Snapshot::Package(_)
        | Snapshot::Environment(_)
        | Snapshot::Trigger(_)
        | Snapshot::Config(_)
        | Snapshot::Secret(_)
        | Snapshot::Static(_) => None,
    }
}

/// Refuses a change that does not fit what is there.
fn ensure(fits: bool, what: impl FnOnce() -> String) -> Result<(), StoreError> {
    if fits { Ok(()) } else { Err(StoreError::Conflict { what: what() }) }
}
