-- Of an app, pointers are also its releases, the tags on them, what is live and its plan.
CREATE TABLE pointers_rebuilt (
    kind TEXT NOT NULL CHECK (
        kind IN ('alias', 'tag', 'split', 'canary', 'release', 'release-tag', 'live', 'plan')
    ),
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

-- An app that was deleted keeps its name.
ALTER TABLE apps ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1));

-- What every unit is in the releases that can be reached.
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

-- Every snapshot whose content is kept.
CREATE VIEW held (snapshot) AS
SELECT snapshot FROM versions WHERE deleted = 0
UNION SELECT snapshot FROM drafts
UNION SELECT latest FROM released WHERE latest IS NOT NULL
UNION SELECT draft FROM released WHERE draft IS NOT NULL;
