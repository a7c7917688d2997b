-- What a token is good for: its role, where that holds, and until when. A token that says nothing may do everything.
ALTER TABLE tokens ADD COLUMN terms TEXT NOT NULL DEFAULT '{}';
