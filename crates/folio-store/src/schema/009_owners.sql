-- Units belong to deployments, or to none. A deployment finds its own without looking at the others.
ALTER TABLE units ADD COLUMN owner TEXT;

ALTER TABLE units ADD COLUMN owner_name TEXT;

CREATE INDEX units_owned ON units (app, owner) WHERE owner IS NOT NULL;
