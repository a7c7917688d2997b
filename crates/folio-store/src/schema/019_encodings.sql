-- The node that holds a file in other encodings, made when the file was first released. It goes with either of the two, and
-- can be made again.
CREATE TABLE encodings (
    file BLOB PRIMARY KEY NOT NULL CHECK (length(file) = 32),
    node BLOB NOT NULL CHECK (length(node) = 32)
) STRICT, WITHOUT ROWID;

CREATE INDEX encodings_node ON encodings (node);
