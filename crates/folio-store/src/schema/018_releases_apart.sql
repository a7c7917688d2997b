-- Releases in a table of their own, in the order in which they were made: every deploy makes one and ends another, and both
-- lie side by side. `moves` are the entries that moved the pointer. A release is `later` if the entry that made it made no
-- app version for it, so that those of an app version are found by its entry, or among the few that came later.
CREATE TABLE releases (
    app TEXT NOT NULL,
    made_in INTEGER NOT NULL,
    id TEXT NOT NULL,
    app_version TEXT NOT NULL,
    later INTEGER NOT NULL CHECK (later IN (0, 1)),
    accessible INTEGER NOT NULL CHECK (accessible IN (0, 1)),
    place TEXT NOT NULL,
    revision INTEGER NOT NULL,
    moves TEXT NOT NULL,
    PRIMARY KEY (app, made_in, id)
) STRICT, WITHOUT ROWID;

INSERT INTO releases
SELECT
    owner,
    json_extract(place, '$.release.entry'),
    name,
    json_extract(place, '$.release.appVersion'),
    NOT EXISTS (
        SELECT 1 FROM ids
        JOIN app_versions ON app_versions.app = ids.app AND app_versions.number = ids.number
        WHERE ids.owner = x'' AND ids.app = pointers.owner
            AND ids.id = json_extract(place, '$.release.appVersion')
            AND app_versions.seq = json_extract(place, '$.release.entry')
    ),
    json_extract(place, '$.release.state') = 'accessible',
    place,
    revision,
    (
        SELECT json_group_array(seq) FROM (
            SELECT seq FROM pointer_moves AS moves
            WHERE moves.kind = 'release' AND moves.owner = pointers.owner AND moves.name = pointers.name
            ORDER BY seq
        )
    )
FROM pointers WHERE kind = 'release';

CREATE UNIQUE INDEX releases_by_id ON releases (id, app);

CREATE INDEX releases_accessible ON releases (app, made_in) WHERE accessible = 1;

CREATE INDEX releases_later ON releases (app, app_version, made_in) WHERE later = 1;

DROP VIEW held;

DROP VIEW released;

DROP INDEX releases_by_state;

DROP INDEX releases_by_app_version;

DELETE FROM pointers WHERE kind = 'release';

DELETE FROM pointer_moves WHERE kind = 'release';

-- What every unit is in the releases that can be reached.
CREATE VIEW released (latest, draft) AS
SELECT latest_snapshot, draft
FROM releases
JOIN ids ON ids.app = releases.app AND ids.id = releases.app_version AND ids.owner = x''
JOIN units ON units.app = ids.app
JOIN placements ON unit = uid AND stands AND since = (
    SELECT max(earlier.since) FROM placements AS earlier
    WHERE earlier.unit = uid AND earlier.since <= ids.number
)
WHERE releases.accessible = 1;

-- Every snapshot whose content is kept.
CREATE VIEW held (snapshot) AS
SELECT snapshot FROM versions WHERE deleted = 0
UNION SELECT snapshot FROM drafts
UNION SELECT latest FROM released WHERE latest IS NOT NULL
UNION SELECT draft FROM released WHERE draft IS NOT NULL;
