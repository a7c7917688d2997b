//! The generated groups, one for each language of schemas.

pub mod books;
pub mod library;
pub mod readers;
