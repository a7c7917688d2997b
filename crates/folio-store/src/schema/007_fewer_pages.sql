-- Fewer pages for a publish to write. Deleted versions lie apart from the others, so that those need no index of
-- their own to be walked; a place ends where the unit's next begins, so that nothing has to be written about its end.

-- A target is held by the rules, since whether its version survives is part of that version's key.
CREATE TABLE pointer_targets_rebuilt (
    unit BLOB NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (unit, number, kind, owner, name),
    FOREIGN KEY (kind, owner, name) REFERENCES pointers (kind, owner, name)
) STRICT, WITHOUT ROWID;

INSERT INTO pointer_targets_rebuilt SELECT unit, number, kind, owner, name FROM pointer_targets;

DROP TABLE pointer_targets;

ALTER TABLE pointer_targets_rebuilt RENAME TO pointer_targets;

CREATE INDEX pointer_targets_by_pointer ON pointer_targets (kind, owner, name);

-- Deleted versions stay: numbers and ids are never reused.
CREATE TABLE versions_rebuilt (
    unit BLOB NOT NULL REFERENCES units (uid),
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
    number INTEGER NOT NULL CHECK (number >= 1),
    id TEXT NOT NULL,
    snapshot BLOB NOT NULL REFERENCES snapshots (digest),
    uses_unit BLOB,
    uses_number INTEGER,
    archive BLOB,
    created_at TEXT NOT NULL,
    created_by TEXT NOT NULL,
    description TEXT NOT NULL,
    waits_for BLOB,
    PRIMARY KEY (unit, deleted, number)
) STRICT, WITHOUT ROWID;

INSERT INTO versions_rebuilt
SELECT unit, deleted_in IS NOT NULL, number, id, snapshot, uses_unit, uses_number, archive, created_at, created_by,
    description, waits_for
FROM versions;

DROP TABLE versions;

ALTER TABLE versions_rebuilt RENAME TO versions;

CREATE INDEX versions_using ON versions (uses_unit, uses_number, unit, number)
WHERE deleted = 0 AND uses_unit IS NOT NULL;

CREATE INDEX versions_waiting ON versions (waits_for, unit, number)
WHERE deleted = 0 AND waits_for IS NOT NULL;

-- What a unit is from app version `since` on, up to its next row; it does not stand in those that it is missing from.
-- The unit's rows are one stretch of the table, so the state at any app version is one step per unit.
CREATE TABLE placements_rebuilt (
    unit BLOB NOT NULL REFERENCES units (uid),
    since INTEGER NOT NULL CHECK (since >= 1),
    stands INTEGER NOT NULL CHECK (stands IN (0, 1)),
    latest_number INTEGER,
    latest_id TEXT,
    latest_snapshot BLOB REFERENCES snapshots (digest),
    draft BLOB REFERENCES snapshots (digest),
    PRIMARY KEY (unit, since)
) STRICT, WITHOUT ROWID;

INSERT INTO placements_rebuilt
SELECT unit, since, 1, latest_number, latest_id, latest_snapshot, draft FROM placements;

INSERT INTO placements_rebuilt (unit, since, stands)
SELECT unit, until, 0 FROM placements WHERE until IS NOT NULL
ON CONFLICT DO NOTHING;

DROP TABLE placements;

ALTER TABLE placements_rebuilt RENAME TO placements;
