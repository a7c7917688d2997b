//! The rules every state keeps, as queries that find what breaks them. References between tables that SQLite
//! checks by itself are not repeated here.

use folio_core::ports::StoreError;
use rusqlite::Connection;

use super::Found;
use crate::sqlite::query::all;

/// Each query lists what breaks one rule, in words.
const BREAKS: &[&str] = &[
    "SELECT printf('%s `%s` points at version %d of unit %s, which does not survive',
            kind, name, pointer_targets.number, hex(pointer_targets.unit))
     FROM pointer_targets LEFT JOIN versions
     ON versions.unit = pointer_targets.unit AND deleted = 0 AND versions.number = pointer_targets.number
     WHERE versions.id IS NULL",
    "SELECT printf('version `%s` of unit %s uses a package version that does not survive',
            users.id, hex(users.unit))
     FROM versions AS users LEFT JOIN versions AS used
     ON used.unit = users.uses_unit AND used.deleted = 0 AND used.number = users.uses_number
     WHERE users.deleted = 0 AND users.uses_unit IS NOT NULL AND used.id IS NULL",
    "SELECT printf('the draft of unit %s uses a package version that does not survive', hex(drafts.unit))
     FROM drafts LEFT JOIN versions AS used
     ON used.unit = drafts.uses_unit AND used.deleted = 0 AND used.number = drafts.uses_number
     WHERE drafts.uses_unit IS NOT NULL AND used.id IS NULL",
    "SELECT printf('unit %s says its latest version is %s', hex(uid), coalesce(latest, 'none'))
     FROM units WHERE latest IS NOT (
        SELECT max(number) FROM versions
        WHERE unit = uid AND deleted = 0 AND waits_for IS NULL
     )",
    "SELECT printf('unit %s says its newest version is %s', hex(uid), coalesce(newest, 'none'))
     FROM units WHERE newest IS NOT (
        SELECT max(number) FROM versions WHERE unit = uid AND deleted = 0
     )",
    "SELECT printf('version `%s` of unit %s waits for a build that is not its own', id, hex(unit))
     FROM versions JOIN snapshots AS own ON own.digest = versions.snapshot
     LEFT JOIN snapshots AS package ON package.digest = own.pin
     WHERE waits_for IS NOT NULL AND waits_for IS NOT coalesce(own.build, package.build)",
    "SELECT printf('the next version of unit %s has a number that was given before', hex(uid))
     FROM units WHERE next_number <= (SELECT max(number) FROM versions WHERE unit = uid)",
    "SELECT printf('unit %s is deleted and has a draft or a version', hex(uid))
     FROM units WHERE deleted_in IS NOT NULL
     AND (newest IS NOT NULL OR uid IN (SELECT unit FROM drafts))",
    "SELECT printf('unit %s is placed in app version %d, which does not exist', hex(unit), since)
     FROM placements JOIN units ON uid = unit
     WHERE NOT EXISTS (SELECT 1 FROM app_versions WHERE app = units.app AND number = since)",
    "SELECT printf('app version `%s` of app `%s` does not follow its parent', id, app)
     FROM (
        SELECT id, app, number, parent, lag(id) OVER history AS before, lag(number) OVER history AS last
        FROM app_versions WINDOW history AS (PARTITION BY app ORDER BY number)
     )
     WHERE parent IS NOT before OR number <> coalesce(last, 0) + 1",
    "SELECT printf('id `%s` in app `%s` leads to no version `%s`', ids.id, ids.app, ids.id)
     FROM ids LEFT JOIN versions
     ON versions.unit = owner AND deleted IN (0, 1) AND versions.number = ids.number AND versions.id = ids.id
     LEFT JOIN app_versions
     ON owner = x'' AND app_versions.app = ids.app AND app_versions.number = ids.number
     AND app_versions.id = ids.id
     WHERE versions.id IS NULL AND app_versions.id IS NULL",
];

pub(super) fn hold(conn: &Connection, found: &mut Found) -> Result<(), StoreError> {
    for breaks in BREAKS {
        for what in all(conn, breaks, [], |row| row.get::<_, String>(0))? {
            found.add(what);
        }
    }
    Ok(())
}
