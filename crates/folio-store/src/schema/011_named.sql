-- Which configs and secrets snapshots name, and which units stand on a snapshot that does: as their latest or newest
-- version or as their draft.

CREATE TABLE snapshot_names (
    snapshot BLOB NOT NULL REFERENCES snapshots (digest),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (snapshot, kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE named (
    app TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    unit BLOB NOT NULL REFERENCES units (uid),
    PRIMARY KEY (app, kind, name, unit)
) STRICT, WITHOUT ROWID;

CREATE INDEX named_by_unit ON named (unit);

CREATE INDEX units_secrets ON units (uid) WHERE kind = 'secret';
