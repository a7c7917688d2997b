-- What is said about objects: labels, annotations, and who wrote which field. Pointers like the others, in a table of their
-- own because there may be one for every object.
CREATE TABLE marks (
    kind TEXT NOT NULL CHECK (kind = 'marks'),
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    place TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
