-- Runs of functions. What is asked for is one value; what is looked for has columns.
CREATE TABLE executions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    app TEXT NOT NULL,
    unit BLOB NOT NULL CHECK (length(unit) = 16),
    number INTEGER,
    asked TEXT NOT NULL,
    input TEXT,
    -- How often it was begun.
    begun INTEGER NOT NULL DEFAULT 0,
    status TEXT NOT NULL CHECK (status IN ('running', 'success', 'failed', 'error', 'cancelled')),
    output TEXT,
    log TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    ended_at TEXT,
    duration_ms INTEGER
) STRICT;

CREATE INDEX executions_by_app ON executions (app, seq);

CREATE INDEX executions_by_unit ON executions (unit, seq);

CREATE INDEX executions_running ON executions (unit, number) WHERE status = 'running';

CREATE INDEX executions_by_end ON executions (ended_at) WHERE ended_at IS NOT NULL;

-- How often each version was run; number 0 is whatever was newest.
CREATE TABLE execution_counts (
    unit BLOB NOT NULL CHECK (length(unit) = 16),
    number INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (unit, number)
) STRICT, WITHOUT ROWID;

-- Jobs and webhooks of an app are pointers, too. What a pointer can be, the program knows.
DROP VIEW held;

DROP VIEW released;

CREATE TABLE pointers_rebuilt (
    kind TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    place TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (kind, owner, name)
) STRICT, WITHOUT ROWID;

INSERT INTO pointers_rebuilt SELECT kind, owner, name, place, revision FROM pointers;

CREATE TABLE pointer_targets_rebuilt (
    unit BLOB NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (unit, number, kind, owner, name),
    FOREIGN KEY (kind, owner, name) REFERENCES pointers_rebuilt (kind, owner, name)
) STRICT, WITHOUT ROWID;

INSERT INTO pointer_targets_rebuilt SELECT unit, number, kind, owner, name FROM pointer_targets;

DROP TABLE pointer_targets;

DROP TABLE pointers;

ALTER TABLE pointers_rebuilt RENAME TO pointers;

ALTER TABLE pointer_targets_rebuilt RENAME TO pointer_targets;

CREATE INDEX pointer_targets_by_pointer ON pointer_targets (kind, owner, name);

CREATE INDEX releases_by_state ON pointers (
    owner, json_extract(place, '$.release.state'), json_extract(place, '$.release.entry')
) WHERE kind = 'release';

CREATE INDEX releases_by_app_version ON pointers (
    owner, json_extract(place, '$.release.appVersion')
) WHERE kind = 'release';

CREATE VIEW released (latest, draft) AS
SELECT latest_snapshot, draft
FROM pointers
JOIN ids ON ids.app = pointers.owner AND ids.id = json_extract(place, '$.release.appVersion') AND ids.owner = x''
JOIN units ON units.app = ids.app
JOIN placements ON unit = uid AND stands AND since = (
    SELECT max(earlier.since) FROM placements AS earlier
    WHERE earlier.unit = uid AND earlier.since <= ids.number
)
WHERE pointers.kind = 'release' AND json_extract(place, '$.release.state') = 'accessible';

CREATE VIEW held (snapshot) AS
SELECT snapshot FROM versions WHERE deleted = 0
UNION SELECT snapshot FROM drafts
UNION SELECT latest FROM released WHERE latest IS NOT NULL
UNION SELECT draft FROM released WHERE draft IS NOT NULL;
