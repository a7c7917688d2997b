-- The app that each domain is of. Pointers like the others, in a table of their own because none belongs to an app: no two can
-- have the same domain.
CREATE TABLE domains (
    kind TEXT NOT NULL CHECK (kind = 'domain'),
    owner TEXT NOT NULL CHECK (owner = ''),
    name TEXT NOT NULL PRIMARY KEY,
    place TEXT NOT NULL,
    revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX domains_by_app ON domains (json_extract(place, '$.app'));
