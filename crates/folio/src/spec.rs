//! A directory of manifests as Fission writes them: what its files ask for, the archives they name, and whose the
//! deployment is. Everything that is wrong is said at once, each with file, line and column.

mod again;
mod app;
mod archives;
mod batch;
mod directory;
mod fetch;
mod files;
mod git;
mod manifest;
mod memory;
mod pinpoint;
mod save;
mod send;
mod walk;

pub(crate) use self::again::{News, Whose, look};
pub(crate) use self::app::{APP_FILE, AppManifest, STARTER, static_name};
pub(crate) use self::directory::{CONFIG_FILE, Recall, Spec};
pub(crate) use self::git::{Labels, provenance};
pub(crate) use self::manifest::Manifest;
pub(crate) use self::save::{Sheet, save};
pub(crate) use self::send::{Prepared, Wanted, is_forgotten, prepare, send};
