//! Placeholders of paths as compiled patterns. A pattern is compiled once, however many routes and however many
//! tables have it.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use folio_model::Part;
use regex::{Regex, RegexBuilder};

/// The most memory one compiled pattern may take.
const PATTERN_SIZE_MAX: usize = 256 * 1024;
/// How many compiled patterns are remembered.
const PATTERNS_MAX: usize = 10_000;

/// Everything that was compiled; nothing for what is no regular expression. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Patterns(Arc<Mutex<HashMap<String, Option<Arc<Regex>>>>>);

/// What a segment with placeholders has to be.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    /// One placeholder with a regular expression.
    Whole(Arc<Regex>),
    /// Several, or with text around; one named group for each.
    Mixed(Arc<Regex>),
    /// One placeholder, anything but nothing.
    Any,
}

impl Patterns {
    /// Compiles a segment; nothing if one of its patterns is no regular expression, or a huge one.
    pub(super) fn compile(&self, parts: &[Part]) -> Option<Pattern> {
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

    fn mixed(&self, parts: &[Part]) -> Option<Pattern> {
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

    fn build(&self, text: &str) -> Option<Arc<Regex>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(text) {
            return known.clone();
        }
        let mut builder = RegexBuilder::new(text);
        let builder = builder.size_limit(PATTERN_SIZE_MAX).dfa_size_limit(PATTERN_SIZE_MAX);
        let built = builder.build().ok().map(Arc::new);
        if known.len() >= PATTERNS_MAX {
            known.clear();
        }
        known.insert(text.to_owned(), built.clone());
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

    /// The order in which patterns are tried: those that say more first, so that it does not depend on the order
    /// in which routes were made.
    pub(super) fn cmp(&self, other: &Self) -> Ordering {
        let key = |pattern: &Self| match pattern {
            Self::Whole(_) => 0,
            Self::Mixed(_) => 1,
            Self::Any => 2,
        };
        key(self).cmp(&key(other)).then_with(|| self.as_str().cmp(other.as_str()))
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Whole(regex) | Self::Mixed(regex) => regex.as_str(),
            Self::Any => "",
        }
    }
}

/// A route's path as requests are compared with it: escapes undone. What is no text stays as written.
pub(super) fn decoded(text: &str) -> String {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded.map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned)
}
