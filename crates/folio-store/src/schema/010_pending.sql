-- The newest version of a unit beside its latest, where it could not be called when the app version was made.
ALTER TABLE placements ADD COLUMN pending_number INTEGER;

ALTER TABLE placements ADD COLUMN pending_id TEXT;

ALTER TABLE placements ADD COLUMN pending_snapshot BLOB REFERENCES snapshots (digest);
