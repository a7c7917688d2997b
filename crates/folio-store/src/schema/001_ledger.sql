-- The ledger and the state it adds up to. Moments are texts with nine digits after the point, so that they
-- sort; digests and identities are their bytes; kinds and origins are the model's words.

CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    app TEXT NOT NULL,
    undoes INTEGER,
    body TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

CREATE INDEX entries_of_app ON entries (app, seq);

CREATE INDEX entries_undoing ON entries (undoes, seq) WHERE undoes IS NOT NULL;

CREATE TRIGGER entries_are_never_altered BEFORE UPDATE ON entries
BEGIN
    SELECT RAISE(ABORT, 'an entry is never altered');
END;

CREATE TRIGGER entries_are_never_removed BEFORE DELETE ON entries
BEGIN
    SELECT RAISE(ABORT, 'an entry is never removed');
END;

CREATE TABLE apps (
    name TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    secret BLOB NOT NULL CHECK (length(secret) = 32),
    actor TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE answers (
    key TEXT PRIMARY KEY,
    request BLOB NOT NULL CHECK (length(request) = 32),
    body TEXT NOT NULL,
    checksum BLOB NOT NULL CHECK (length(checksum) = 32),
    seq INTEGER NOT NULL REFERENCES entries (seq)
) STRICT, WITHOUT ROWID;

-- Encoding 1 is canonical JSON. A package that a function froze is its pin.
CREATE TABLE snapshots (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    encoding INTEGER NOT NULL CHECK (encoding = 1),
    body BLOB NOT NULL,
    pin BLOB
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshot_trees (
    snapshot BLOB NOT NULL REFERENCES snapshots (digest),
    tree BLOB NOT NULL CHECK (length(tree) = 32),
    PRIMARY KEY (snapshot, tree)
) STRICT, WITHOUT ROWID;

-- Deleted units stay, so that they can return and their identity and counter are never given to another.
CREATE TABLE units (
    uid BLOB PRIMARY KEY CHECK (length(uid) = 16),
    app TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    origin TEXT NOT NULL,
    next_number INTEGER NOT NULL DEFAULT 1 CHECK (next_number >= 1),
    latest INTEGER CHECK (latest < next_number),
    revision INTEGER NOT NULL,
    deleted_in INTEGER REFERENCES entries (seq)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX units_living ON units (app, kind, name) WHERE deleted_in IS NULL;

CREATE INDEX units_of_app ON units (app, uid);

CREATE TABLE drafts (
    unit BLOB PRIMARY KEY REFERENCES units (uid),
    snapshot BLOB NOT NULL REFERENCES snapshots (digest),
    uses_unit BLOB,
    uses_number INTEGER,
    archive BLOB
) STRICT, WITHOUT ROWID;

CREATE INDEX drafts_using ON drafts (uses_unit, uses_number) WHERE uses_unit IS NOT NULL;

-- Deleted versions stay with the entry that deleted them: numbers and ids are never reused.
CREATE TABLE versions (
    unit BLOB NOT NULL REFERENCES units (uid),
    number INTEGER NOT NULL CHECK (number >= 1),
    id TEXT NOT NULL,
    snapshot BLOB NOT NULL REFERENCES snapshots (digest),
    uses_unit BLOB,
    uses_number INTEGER,
    archive BLOB,
    created_at TEXT NOT NULL,
    created_by TEXT NOT NULL,
    description TEXT NOT NULL,
    deleted_in INTEGER,
    PRIMARY KEY (unit, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX versions_by_id ON versions (unit, id);

CREATE INDEX versions_surviving ON versions (unit, number) WHERE deleted_in IS NULL;

CREATE INDEX versions_using ON versions (uses_unit, uses_number, unit, number)
WHERE deleted_in IS NULL AND uses_unit IS NOT NULL;

-- Every id a version or an app version ever had.
CREATE TABLE taken_ids (
    app TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (app, id)
) STRICT, WITHOUT ROWID;

-- An alias's owner is its function's identity, a tag's is its app.
CREATE TABLE pointers (
    kind TEXT NOT NULL CHECK (kind IN ('alias', 'tag')),
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    place TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (kind, owner, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE pointer_targets (
    unit BLOB NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (unit, number, kind, owner, name),
    FOREIGN KEY (kind, owner, name) REFERENCES pointers (kind, owner, name),
    FOREIGN KEY (unit, number) REFERENCES versions (unit, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX pointer_targets_by_pointer ON pointer_targets (kind, owner, name);

CREATE TABLE pointer_moves (
    kind TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    seq INTEGER NOT NULL REFERENCES entries (seq),
    PRIMARY KEY (kind, owner, name, seq)
) STRICT, WITHOUT ROWID;

-- `placed` is the digest of the intervals that begin or end with the app version.
CREATE TABLE app_versions (
    app TEXT NOT NULL,
    number INTEGER NOT NULL CHECK (number >= 1),
    id TEXT NOT NULL,
    parent TEXT,
    seq INTEGER NOT NULL UNIQUE REFERENCES entries (seq),
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    message TEXT NOT NULL,
    git TEXT,
    placed BLOB NOT NULL CHECK (length(placed) = 32),
    PRIMARY KEY (app, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX app_versions_by_id ON app_versions (app, id);

CREATE INDEX app_versions_by_time ON app_versions (app, at, number);

-- What a unit is from app version `since` up to, but not in, app version `until`. The unit's own history of
-- intervals is one stretch of the table, so the state at any app version is one step per unit.
CREATE TABLE placements (
    unit BLOB NOT NULL REFERENCES units (uid),
    since INTEGER NOT NULL CHECK (since >= 1),
    until INTEGER CHECK (until > since),
    latest_number INTEGER,
    latest_id TEXT,
    latest_snapshot BLOB REFERENCES snapshots (digest),
    draft BLOB REFERENCES snapshots (digest),
    PRIMARY KEY (unit, since)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX placements_standing ON placements (unit) WHERE until IS NULL;
