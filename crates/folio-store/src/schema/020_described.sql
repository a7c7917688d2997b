-- When a version was last described anew. What was described before this was kept has no time.
ALTER TABLE versions ADD COLUMN described_at TEXT;
