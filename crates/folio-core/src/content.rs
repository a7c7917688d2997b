//! Content: files and directories as nodes. Splits files into chunks, builds directories, unpacks archives,
//! and reads it all back. The command and the server share it, so both name the same bytes alike.
//!
//! Knows no versions and no names of units; start at [`chunk`], [`TreeBuilder`] and [`unpack`].

mod chunk;
mod file;
mod tree;
mod unpack;
mod walk;
mod zip;

pub use chunk::{Chunked, chunk};
pub use file::{FileStream, read_file, read_file_from, read_whole};
pub use tree::{Built, Clash, FileEntry, TreeBuilder};
pub use unpack::unpack;
pub use walk::{has_file, list_files, walk};
pub use zip::{pack_zip, zip_stream};
