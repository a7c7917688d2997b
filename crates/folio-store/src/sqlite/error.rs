//! What SQLite's failures mean to a caller. The only place that looks at result codes.

use folio_core::ports::StoreError;
use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY;

/// Turns a failure of SQLite into what a caller can decide on.
pub(crate) fn failure(context: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError {
    move |error| translate(context, error)
}

fn translate(context: &'static str, error: rusqlite::Error) -> StoreError {
    use rusqlite::Error as E;
    match &error {
        E::SqliteFailure(code, _) => match code.code {
            ErrorCode::DiskFull => StoreError::Full,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
                StoreError::corrupt(format!("the database ({context}: {error})"))
            }
            // Whatever a change names must be there; foreign keys say so where no comparison does.
            _ if code.extended_code == SQLITE_CONSTRAINT_FOREIGNKEY => {
                StoreError::Conflict { what: "something the change names".to_owned() }
            }
            _ => StoreError::failed(context, error),
        },
        // The columns are written by this crate only: a value that does not read back was altered.
        E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::Utf8Error(..)
        | E::InvalidColumnType(..) => {
            StoreError::corrupt(format!("a row of the database ({context}: {error})"))
        }
        _ => StoreError::failed(context, error),
    }
}

/// Whether the disk failed to read, write or sync.
pub(crate) fn is_io(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}
