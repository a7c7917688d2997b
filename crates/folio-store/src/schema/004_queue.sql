-- Work to be done later. A task can be leased from `free_from` on: when it is due, or when the lease on it ends.

CREATE TABLE tasks (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    topic TEXT NOT NULL,
    body TEXT NOT NULL,
    due TEXT NOT NULL,
    free_from TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    token BLOB CHECK (length(token) = 16)
) STRICT;

CREATE INDEX tasks_by_due ON tasks (topic, due, place);

CREATE INDEX tasks_by_freedom ON tasks (topic, free_from);

CREATE UNIQUE INDEX tasks_by_token ON tasks (token) WHERE token IS NOT NULL;
