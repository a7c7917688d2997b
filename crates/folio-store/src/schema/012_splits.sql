-- Besides aliases and tags, the shares of routes (of the trigger, without a name) and canaries (of the app) are pointers.
CREATE TABLE pointers_rebuilt (
    kind TEXT NOT NULL CHECK (kind IN ('alias', 'tag', 'split', 'canary')),
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
