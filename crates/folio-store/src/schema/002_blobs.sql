-- Where every node lies, and when it was last used. Objects are written before their rows and removed after
-- them, so a row's bytes are always there.

CREATE TABLE blob_meta (
    key   TEXT PRIMARY KEY NOT NULL,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE packs (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT NOT NULL UNIQUE,
    bytes     INTEGER NOT NULL,
    raw_bytes INTEGER NOT NULL
) STRICT;

CREATE TABLE blobs (
    digest      BLOB PRIMARY KEY NOT NULL CHECK (length(digest) = 32),
    kind        INTEGER NOT NULL,
    pack        INTEGER NOT NULL,
    block_at    INTEGER NOT NULL,
    block_bytes INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    files_total INTEGER NOT NULL,
    bytes_total INTEGER NOT NULL,
    checksum    BLOB,
    touched     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE unpacked (
    archive BLOB PRIMARY KEY NOT NULL,
    tree    BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX unpacked_tree ON unpacked (tree);
