-- A small pack is kept in its row, which makes it durable together with the rows that name it; a large one is an object.

ALTER TABLE packs ADD COLUMN body BLOB;
