//! What the generator cannot know: levels have other names in the second version.

use hub::{Convert, Result, Symbol};

use super::v1::{Level, change};

impl Convert for change::BookLevel {
    const WRITTEN_FOR: &'static str = "v2";

    fn up(value: Level) -> Result<Symbol> {
        Ok(match value {
            Level::Beginner => "easy".into(),
            Level::Expert => "hard".into(),
            Level::Unlisted(text) => text.into(),
        })
    }

    fn down(value: Symbol) -> Result<Level> {
        Ok(match &*value {
            "easy" => Level::Beginner,
            "hard" => Level::Expert,
            _ => Level::Unlisted(value.into_owned()),
        })
    }
}
