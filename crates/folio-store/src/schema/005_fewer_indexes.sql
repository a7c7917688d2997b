-- Fewer b-trees for a publish to write. One table finds every id, whether a version's or an app version's, where
-- there were three indexes; a unit's standing place is its last, so it needs no index.

-- Every id a version or an app version ever had, and its number. The owner is the unit, or nothing for an app
-- version.
CREATE TABLE ids (
    app TEXT NOT NULL,
    id TEXT NOT NULL,
    owner BLOB NOT NULL,
    number INTEGER NOT NULL CHECK (number >= 1),
    PRIMARY KEY (id, app, owner)
) STRICT, WITHOUT ROWID;

INSERT INTO ids SELECT app, id, unit, number FROM versions JOIN units ON uid = unit;

INSERT INTO ids SELECT app, id, x'', number FROM app_versions;

DROP TABLE taken_ids;

DROP INDEX versions_by_id;

DROP INDEX placements_standing;

-- `placed` is the digest of the intervals that begin or end with the app version.
CREATE TABLE app_versions_rebuilt (
    app TEXT NOT NULL,
    number INTEGER NOT NULL CHECK (number >= 1),
    id TEXT NOT NULL,
    parent TEXT,
    seq INTEGER NOT NULL,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    message TEXT NOT NULL,
    git TEXT,
    placed BLOB NOT NULL CHECK (length(placed) = 32),
    PRIMARY KEY (app, number)
) STRICT, WITHOUT ROWID;

INSERT INTO app_versions_rebuilt
SELECT app, number, id, parent, seq, at, by, message, git, placed FROM app_versions;

DROP TABLE app_versions;

ALTER TABLE app_versions_rebuilt RENAME TO app_versions;

CREATE INDEX app_versions_by_time ON app_versions (app, at, number);
