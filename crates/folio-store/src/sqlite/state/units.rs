//! Reads apps, tokens, answers and units.

use folio_core::ports::StoreError;
use folio_model::{
    Answer, AppName, Digest, Draft, Kind, Name, Origin, Owner, TokenRecord, Unit, UnitKey, UnitUid,
    VersionKey, canonical,
};
use rusqlite::{Connection, Row, params};

use crate::sqlite::query::{
    all, digest, digest_option, exists, json, key_option, number, number_option, one, seq, signed,
    text, uid,
};

/// Units with their drafts; what follows decides which.
macro_rules! select_units {
    ($rest:literal) => {
        concat!(
            "SELECT uid, units.app, kind, name, origin, next_number, latest, revision, newest, \
             snapshot, uses_unit, uses_number, archive, owner, owner_name \
             FROM units LEFT JOIN drafts ON drafts.unit = units.uid ",
            $rest
        )
    };
}
pub(super) use select_units;

pub(super) fn has_app(conn: &Connection, app: &AppName) -> Result<bool, StoreError> {
    exists(conn, "SELECT 1 FROM apps WHERE name = ?1 AND deleted = 0", [app.as_str()])
}

pub(super) fn apps(conn: &Connection) -> Result<Vec<AppName>, StoreError> {
    let sql = "SELECT name FROM apps WHERE deleted = 0 ORDER BY name";
    all(conn, sql, [], |row| text(row, 0))
}

pub(super) fn token(conn: &Connection, id: &str) -> Result<Option<TokenRecord>, StoreError> {
    let sql = "SELECT secret, actor, terms FROM tokens WHERE id = ?1";
    one(conn, sql, [id], |row| read_token(row, 0))
}

pub(super) fn tokens(conn: &Connection) -> Result<Vec<(String, TokenRecord)>, StoreError> {
    let sql = "SELECT id, secret, actor, terms FROM tokens ORDER BY id";
    all(conn, sql, [], |row| Ok((row.get(0)?, read_token(row, 1)?)))
}

fn read_token(row: &Row<'_>, at: usize) -> rusqlite::Result<TokenRecord> {
    Ok(TokenRecord {
        secret: digest(row, at)?,
        actor: text(row, at + 1)?,
        terms: json(row, at + 2)?,
    })
}

pub(super) fn answer(conn: &Connection, key: &str) -> Result<Option<Answer>, StoreError> {
    let sql = "SELECT key, request, body, checksum FROM answers WHERE key = ?1";
    one(conn, sql, [key], read_answer)?.map(check_answer).transpose()
}

/// Reads an answer and the digest it had when it was written.
pub(crate) fn read_answer(row: &Row<'_>) -> rusqlite::Result<(Answer, Digest)> {
    let answer = Answer { key: row.get(0)?, request: digest(row, 1)?, body: json(row, 2)? };
    Ok((answer, digest(row, 3)?))
}

/// Passes an answer on if it is the one that was written.
pub(crate) fn check_answer((answer, written): (Answer, Digest)) -> Result<Answer, StoreError> {
    let damaged = || StoreError::corrupt(format!("the answer to request `{}`", answer.key));
    if canonical::digest(&answer) == written { Ok(answer) } else { Err(damaged()) }
}

pub(super) fn by_key(conn: &Connection, key: &UnitKey) -> Result<Option<Unit>, StoreError> {
    let sql = select_units!("WHERE app = ?1 AND kind = ?2 AND name = ?3 AND deleted_in IS NULL");
    one(conn, sql, [key.app.as_str(), key.kind.as_str(), key.name.as_str()], read)
}

pub(super) fn by_uid(conn: &Connection, uid: UnitUid) -> Result<Option<Unit>, StoreError> {
    let sql = select_units!("WHERE uid = ?1 AND deleted_in IS NULL");
    one(conn, sql, [uid.0.as_bytes()], read)
}

pub(super) fn of_kind(
    conn: &Connection,
    app: &AppName,
    kind: Kind,
) -> Result<Vec<Unit>, StoreError> {
    let sql = select_units!("WHERE app = ?1 AND kind = ?2 AND deleted_in IS NULL ORDER BY name");
    all(conn, sql, [app.as_str(), kind.as_str()], read)
}

pub(super) fn after(
    conn: &Connection,
    app: &AppName,
    kind: Kind,
    (after, limit): (Option<&Name>, usize),
) -> Result<Vec<Unit>, StoreError> {
    let sql = select_units!(
        "WHERE app = ?1 AND kind = ?2 AND name > ?3 AND deleted_in IS NULL ORDER BY name LIMIT ?4"
    );
    // Every name comes after the empty one.
    let after = after.map_or("", Name::as_str);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    all(conn, sql, params![app.as_str(), kind.as_str(), after, limit], read)
}

pub(super) fn owner_of(conn: &Connection, uid: UnitUid) -> Result<Option<Owner>, StoreError> {
    let sql = "SELECT owner, owner_name FROM units WHERE uid = ?1";
    Ok(one(conn, sql, [uid.0.as_bytes()], |row| owner(row, 0))?.flatten())
}

pub(super) fn owned(
    conn: &Connection,
    app: &AppName,
    deployment: &str,
) -> Result<Vec<Unit>, StoreError> {
    let sql = select_units!("WHERE app = ?1 AND owner = ?2 AND deleted_in IS NULL ");
    let mut units = all(conn, sql, [app.as_str(), deployment], read)?;
    units.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(units)
}

pub(super) fn with_draft_using(
    conn: &Connection,
    package: VersionKey,
) -> Result<Vec<UnitUid>, StoreError> {
    let sql = "SELECT unit FROM drafts WHERE uses_unit = ?1 AND uses_number = ?2 ORDER BY unit";
    let key = params![package.unit.0.as_bytes(), signed(package.number.get())];
    all(conn, sql, key, |row| uid(row, 0))
}

/// Reads a unit and its draft from the first columns of a row.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Unit> {
    let key = UnitKey { app: text(row, 1)?, kind: kind(row, 2)?, name: text(row, 3)? };
    Ok(Unit {
        uid: uid(row, 0)?,
        key,
        origin: origin(row, 4)?,
        owner: owner(row, 13)?,
        next_number: number(row, 5)?,
        latest: number_option(row, 6)?,
        revision: seq(row, 7)?,
        newest: number_option(row, 8)?,
        draft: draft(row, 9)?,
    })
}

fn owner(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Owner>> {
    let Some(uid) = row.get(column)? else { return Ok(None) };
    Ok(Some(Owner { uid, name: row.get(column + 1)? }))
}

fn draft(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Draft>> {
    let Some(snapshot) = digest_option(row, column)? else { return Ok(None) };
    let uses = key_option(row, column + 1)?;
    Ok(Some(Draft { snapshot, uses, archive: digest_option(row, column + 3)? }))
}

/// Reads the kind of a unit.
pub(crate) fn kind(row: &Row<'_>, column: usize) -> rusqlite::Result<Kind> {
    let word: String = row.get(column)?;
    let found = Kind::ALL.into_iter().find(|kind| kind.as_str() == word);
    found.ok_or_else(|| unknown(column, &word))
}

fn origin(row: &Row<'_>, column: usize) -> rusqlite::Result<Origin> {
    let word: String = row.get(column)?;
    let found = [Origin::User, Origin::Implied].into_iter().find(|o| origin_word(*o) == word);
    found.ok_or_else(|| unknown(column, &word))
}

/// The word an origin is stored as.
pub(crate) fn origin_word(origin: Origin) -> &'static str {
    match origin {
        Origin::User => "user",
        Origin::Implied => "implied",
    }
}

fn unknown(column: usize, word: &str) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnType(column, word.to_owned(), rusqlite::types::Type::Text)
}
