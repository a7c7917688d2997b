//! Placeholders of paths as compiled patterns. A pattern is compiled once, however many routes and however many
//! tables have it.

use std::collections::HashMap;

use folio_model::Part;
use regex::{Regex, RegexBuilder};

/// The most memory one compiled pattern may take.
const PATTERN_SIZE_MAX: usize = 256 * 1024;

/// Everything that was compiled; nothing for what is no regular expression.
#[derive(Debug, Clone, Default)]
pub struct Patterns(HashMap<String, Option<Regex>>);

/// What a segment with placeholders has to be.
#[derive(Debug)]
pub(super) enum Pattern {
    /// One placeholder, anything but nothing.
    Any,
    /// One placeholder with a regular expression.
    Whole(Regex),
    /// Several, or with text around; one named group for each.
    Mixed(Regex),
}

impl Patterns {
    /// Forgets what no table has used for long, by starting anew when there is too much.
    pub(super) fn kept(&self) -> Self {
        if self.0.len() > 10_000 { Self::default() } else { self.clone() }
    }

    /// Compiles a segment; nothing if one of its patterns is no regular expression, or a huge one.
    pub(super) fn compile(&mut self, parts: &[Part]) -> Option<Pattern> {
        match parts {
            [Part::Parameter { pattern: None, .. }] => Some(Pattern::Any),
            [Part::Parameter { pattern: Some(pattern), .. }] => {
                // Compiled alone first: `a)|(b` must not close the group it is put in.
                self.build(pattern)?;
                self.build(&format!("^(?:{pattern})$")).map(Pattern::Whole)
            }
            parts => self.mixed(parts),
        }
    }

    fn mixed(&mut self, parts: &[Part]) -> Option<Pattern> {
        let (mut text, mut groups) = ("^".to_owned(), 0);
        for part in parts {
            match part {
                Part::Literal(literal) => text.push_str(&regex::escape(&decoded(literal))),
                Part::Parameter { pattern, .. } => {
                    let pattern = pattern.as_deref().unwrap_or(".+?");
                    self.build(pattern)?;
                    text.push_str(&format!("(?P<folio{groups}>{pattern})"));
                    groups += 1;
                }
            }
        }
        text.push('$');
        self.build(&text).map(Pattern::Mixed)
    }

    fn build(&mut self, text: &str) -> Option<Regex> {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        let mut builder = RegexBuilder::new(text);
        let builder = builder.size_limit(PATTERN_SIZE_MAX).dfa_size_limit(PATTERN_SIZE_MAX);
        let built = builder.build().ok();
        self.0.insert(text.to_owned(), built.clone());
        built
    }
}

impl Pattern {
    /// Whether a segment is one; if so, adds what the placeholders matched.
    pub(super) fn matches<'p>(&self, segment: &'p str, values: &mut Vec<&'p str>) -> bool {
        match self {
            Self::Any if segment.is_empty() => false,
            Self::Whole(regex) if !regex.is_match(segment) => false,
            Self::Any | Self::Whole(_) => {
                values.push(segment);
                true
            }
            Self::Mixed(regex) => {
                let Some(captures) = regex.captures(segment) else { return false };
                let groups = (0..).map_while(|at| captures.name(&format!("folio{at}")));
                values.extend(groups.map(|group| group.as_str()));
                true
            }
        }
    }

    /// Whether both are the same.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, Self::Any) => true,
            (Self::Whole(one), Self::Whole(two)) | (Self::Mixed(one), Self::Mixed(two)) => {
                one.as_str() == two.as_str()
            }
            _ => false,
        }
    }
}

/// A route's path as requests are compared with it: escapes undone. What is no text stays as written.
pub(super) fn decoded(text: &str) -> String {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded.map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned)
}
