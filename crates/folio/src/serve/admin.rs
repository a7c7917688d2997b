//! The first token. The file comes before the ledger entry: whatever crashes when, the next start finds either
//! no file and a new store, or a file whose token it can still make valid, or both done.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use folio_core::token::Token;
use folio_core::{Folio, crash};
use folio_model::Actor;

use crate::config;
use crate::problem::{Problem, explained};

const PRIVATE: u32 = 0o600;

/// Makes the admin token of a store in which nothing has happened yet, and says where it is.
pub(super) async fn admit(folio: &Folio, data: &Path) -> Result<Option<PathBuf>> {
    if !folio.is_new().await.map_err(explained)? {
        return Ok(None);
    }
    let path = config::admin_token(data);
    let token = match config::read_token(&path)? {
        Some(text) => reuse(&text, &path)?,
        None => {
            let token = folio.draw_token();
            write(&token, &path).with_context(|| format!("cannot write `{}`", path.display()))?;
            token
        }
    };
    crash::point("token.written");
    folio.admit(&actor(), &token).await.map_err(explained)?;
    Ok(Some(path))
}

/// Who may do everything.
pub(super) fn actor() -> Actor {
    "admin".parse().expect("a word is an actor")
}

/// A token that a start wrote before it was killed.
fn reuse(text: &str, path: &Path) -> Result<Token> {
    let token = Token::parse(text).ok_or_else(|| {
        let problem = Problem::new(format!("`{}` does not hold a token", path.display()));
        problem.hint("remove the file; the next start makes a new token")
    })?;
    fs::set_permissions(path, Permissions::from_mode(PRIVATE))?;
    Ok(token)
}

fn write(token: &Token, path: &Path) -> Result<()> {
    let unfinished = path.with_extension("token.unfinished");
    // What a killed start left here was never used.
    if unfinished.exists() {
        fs::remove_file(&unfinished)?;
    }
    let mut file = File::options().write(true).create_new(true).mode(PRIVATE).open(&unfinished)?;
    writeln!(file, "{}", token.reveal())?;
    file.sync_all()?;
    fs::rename(&unfinished, path)?;
    let directory = path.parent().context("the token lies in a directory")?;
    File::open(directory)?.sync_all()?;
    Ok(())
}
