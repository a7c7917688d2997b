//! Asking and telling SQLite, with statements kept prepared, and reading the model's types out of columns.
//! A column that does not read as its type was not written by this crate: the row is damaged.

use std::error::Error;
use std::fmt::Display;
use std::str::FromStr;

use folio_core::ports::StoreError;
use folio_model::{Digest, Number, Timestamp, UnitUid, VersionKey};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Params, Row};
use uuid::Uuid;

use super::error::failure;

/// Reads at most one row.
pub(crate) fn one<T>(
    conn: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>, StoreError> {
    let find = || conn.prepare_cached(sql)?.query_row(values, read).optional();
    find().map_err(failure("read from the ledger"))
}

/// Reads every row.
pub(crate) fn all<T>(
    conn: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    let list = || conn.prepare_cached(sql)?.query_map(values, read)?.collect::<Result<_, _>>();
    list().map_err(failure("list from the ledger"))
}

/// Says whether there is a row.
pub(crate) fn exists(
    conn: &Connection,
    sql: &str,
    values: impl Params,
) -> Result<bool, StoreError> {
    let find = || conn.prepare_cached(sql)?.exists(values);
    find().map_err(failure("read from the ledger"))
}

/// Changes rows and says how many.
pub(crate) fn run(conn: &Connection, sql: &str, values: impl Params) -> Result<usize, StoreError> {
    let change = || conn.prepare_cached(sql)?.execute(values);
    change().map_err(failure("write to the ledger"))
}

/// A number as SQLite holds it. The model keeps numbers within its range.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// How many rows a caller wants, as SQLite counts them.
pub(crate) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// A moment as a text that sorts.
pub(crate) fn moment(at: Timestamp) -> String {
    format!("{at:.9}")
}

/// Reads a text as one of the model's types.
pub(crate) fn text<T: FromStr<Err: Display>>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error: T::Err| damaged(column, error.to_string()))
}

/// Reads a text that may be missing.
pub(crate) fn text_option<T: FromStr<Err: Display>>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    let parse = |text: String| text.parse().map_err(|e: T::Err| damaged(column, e.to_string()));
    text.map(parse).transpose()
}

/// Reads a value kept as JSON.
pub(crate) fn json<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|error| damaged(column, error))
}

/// Reads a value kept as JSON that may be missing.
pub(crate) fn json_option<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<T>> {
    let missing = row.get_ref(column)?.data_type() == Type::Null;
    if missing { Ok(None) } else { json(row, column).map(Some) }
}

/// Writes a value as JSON.
pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("folio values have string keys")
}

/// Reads a digest.
pub(crate) fn digest(row: &Row<'_>, column: usize) -> rusqlite::Result<Digest> {
    row.get(column).map(Digest::from_bytes)
}

/// Reads a digest that may be missing.
pub(crate) fn digest_option(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Digest>> {
    Ok(row.get::<_, Option<[u8; 32]>>(column)?.map(Digest::from_bytes))
}

/// Reads a unit's identity.
pub(crate) fn uid(row: &Row<'_>, column: usize) -> rusqlite::Result<UnitUid> {
    row.get(column).map(|bytes| UnitUid(Uuid::from_bytes(bytes)))
}

/// Reads a place in the ledger.
pub(crate) fn seq(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

/// Reads a version's number.
pub(crate) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<Number> {
    let value = seq(row, column)?;
    Number::new(value).ok_or_else(|| damaged(column, "a version has the number 0"))
}

/// Reads a number that may be missing.
pub(crate) fn number_option(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Number>> {
    let missing = row.get_ref(column)?.data_type() == Type::Null;
    if missing { Ok(None) } else { number(row, column).map(Some) }
}

/// Reads a version's key from two columns that may both be missing.
pub(crate) fn key_option(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<VersionKey>> {
    if row.get_ref(column)?.data_type() == Type::Null {
        return Ok(None);
    }
    Ok(Some(VersionKey { unit: uid(row, column)?, number: number(row, column + 1)? }))
}

fn damaged(column: usize, error: impl Into<Box<dyn Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
}
