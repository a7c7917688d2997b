//! Where hooks can be, and which are written.

use hub::traits::*;
use hub::{Hook, Probe};

use super::{storage, v1, v2};

pub const HOOKS: &[Hook] = &[
    Hook::augment("v1", "Author", Probe::<(v1::Author, storage::Author)>::AUGMENT.is_some()),
    Hook::augment("v1", "Book", Probe::<(v1::Book, storage::Book)>::AUGMENT.is_some()),
    Hook::convert("v1", "Book.level", Probe::<v1::change::BookLevel>::CONVERT.is_some()),
    Hook::augment("v1", "Digital", Probe::<(v1::Digital, storage::Digital)>::AUGMENT.is_some()),
    Hook::augment("v2", "Author", Probe::<(v2::Author, storage::Author)>::AUGMENT.is_some()),
];
