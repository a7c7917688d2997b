-- What has to be built before it can be called, how builds ended, and where triggers lead.

-- The key of what has to be built of a package. No two packages have the same.
ALTER TABLE snapshots ADD COLUMN build BLOB;

CREATE INDEX snapshots_by_build ON snapshots (build) WHERE build IS NOT NULL;

-- The build a version waits for; nothing if it can be called.
ALTER TABLE versions ADD COLUMN waits_for BLOB;

CREATE INDEX versions_waiting ON versions (waits_for, unit, number)
WHERE deleted_in IS NULL AND waits_for IS NOT NULL;

-- The last surviving version; `latest` is the last of them that can be called.
ALTER TABLE units ADD COLUMN newest INTEGER CHECK (newest < next_number);

UPDATE units SET newest = latest;

CREATE INDEX units_triggers ON units (app, name) WHERE kind = 'trigger' AND deleted_in IS NULL;

CREATE TABLE builds (
    key BLOB PRIMARY KEY CHECK (length(key) = 32),
    record TEXT NOT NULL,
    seq INTEGER NOT NULL REFERENCES entries (seq)
) STRICT, WITHOUT ROWID;

-- The functions that the latest version of each trigger names.
CREATE TABLE trigger_targets (
    app TEXT NOT NULL,
    function TEXT NOT NULL,
    unit BLOB NOT NULL REFERENCES units (uid),
    PRIMARY KEY (app, function, unit)
) STRICT, WITHOUT ROWID;

CREATE INDEX trigger_targets_by_unit ON trigger_targets (unit);
