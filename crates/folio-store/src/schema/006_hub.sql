-- Which version of the hub a snapshot's body is in. A snapshot's digest is that of the body it was published with;
-- a body that was rewritten since has a digest of its own.

ALTER TABLE snapshots ADD COLUMN hub TEXT NOT NULL DEFAULT 'folio.dev/v1';

ALTER TABLE snapshots ADD COLUMN rewritten BLOB CHECK (length(rewritten) = 32);

CREATE INDEX snapshots_by_hub ON snapshots (hub) WHERE hub <> 'folio.dev/v1';

-- The versions of the hub that everything stored was brought to, and when.
CREATE TABLE storage_versions (
    hub TEXT PRIMARY KEY,
    at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
