//! The hand-written parts of the conversions: what the generator cannot know of two spellings of
//! one thing. Start at [`lens`], which is how most of them are written.

mod environment;
mod function;
mod lens;
mod package;
mod path;
mod reference;
mod route;
mod targets;
