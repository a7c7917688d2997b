//! A directory of manifests as Fission writes them: what its files ask for, the archives they name, and whose the
//! deployment is. Everything that is wrong is said at once, each with file, line and column.

mod again;
mod app;
mod archives;
mod directory;
mod fetch;
mod files;
mod git;
mod memory;
mod save;
mod send;

pub(crate) use self::again::{News, Whose, look};
pub(crate) use self::app::{APP_FILE, AppManifest, STARTER, static_name};
pub(crate) use self::directory::{CONFIG_FILE, Manifest, Recall, Spec};
pub(crate) use self::git::{Labels, provenance};
pub(crate) use self::save::{Sheet, save};
pub(crate) use self::send::{Uploaded, Wanted, is_forgotten, send, upload};
