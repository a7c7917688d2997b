//! The paths of routes, taken apart: literal segments and `{name}` or `{name:pattern}` placeholders. The only
//! parser of this syntax. Patterns are kept as text; whoever matches compiles them.

use std::sync::Arc;

/// A path split at its slashes, the leading one left out: `/a/{id}` has two segments, `/` one empty one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathTemplate {
    segments: Vec<Segment>,
}

/// What stands between two slashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Segment {
    /// Text that has to be there as it is.
    Literal(String),
    /// Text with placeholders in it, or one placeholder alone.
    Pattern(Vec<Part>),
    /// The last segment `{name:.*}` or `{name:.+}`: everything that is left, slashes included.
    Rest {
        /// What the placeholder is called.
        name: Arc<str>,
        /// Whether there has to be something left.
        some: bool,
    },
}

/// A piece of a segment with placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Part {
    /// Text that has to be there as it is.
    Literal(String),
    /// A placeholder.
    Parameter {
        /// What it is called.
        name: Arc<str>,
        /// The regular expression that all of it has to match; anything but nothing if absent.
        pattern: Option<String>,
    },
}

/// The longest regular expression of a placeholder.
const PATTERN_BYTES_MAX: usize = 256;
/// The most placeholders of one path.
const PARAMETERS_MAX: usize = 32;

impl PathTemplate {
    /// Takes a path apart. Fails with what is wrong, as the end of a sentence about the path.
    pub fn parse(path: &str) -> Result<Self, &'static str> {
        let path = path.strip_prefix('/').ok_or("must start with `/`")?;
        let mut segments = split(path)?.into_iter().map(segment).collect::<Result<Vec<_>, _>>()?;
        if let Some(last) = segments.last_mut()
            && let Some(rest) = rest(last)
        {
            *last = rest;
        }
        let template = Self { segments };
        let mut names: Vec<_> = template.parameters().collect();
        if names.len() > PARAMETERS_MAX {
            return Err("has more than 32 placeholders");
        }
        names.sort_unstable();
        match names.windows(2).any(|pair| pair[0] == pair[1]) {
            true => Err("has two placeholders of the same name"),
            false => Ok(template),
        }
    }

    /// What stands between the slashes.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Whether the path has no placeholders.
    pub fn is_literal(&self) -> bool {
        self.segments.iter().all(|segment| matches!(segment, Segment::Literal(_)))
    }

    /// The names of the placeholders, in the order of the path.
    pub fn parameters(&self) -> impl Iterator<Item = &Arc<str>> {
        self.segments.iter().flat_map(Segment::parameters)
    }

    /// The regular expressions of the placeholders, for whoever can tell whether they are well formed.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        let parts = self.segments.iter().flat_map(|segment| match segment {
            Segment::Pattern(parts) => parts.as_slice(),
            Segment::Literal(_) | Segment::Rest { .. } => &[],
        });
        parts.filter_map(|part| match part {
            Part::Parameter { pattern, .. } => pattern.as_deref(),
            Part::Literal(_) => None,
        })
    }
}

impl Segment {
    fn parameters(&self) -> impl Iterator<Item = &Arc<str>> {
        let (parts, rest) = match self {
            Self::Literal(_) => (&[][..], None),
            Self::Pattern(parts) => (parts.as_slice(), None),
            Self::Rest { name, .. } => (&[][..], Some(name)),
        };
        let named = |part: &'_ Part| matches!(part, Part::Parameter { .. });
        let parts = parts.iter().filter(move |part| named(part)).filter_map(|part| match part {
            Part::Parameter { name, .. } => Some(name),
            Part::Literal(_) => None,
        });
        parts.chain(rest)
    }
}

/// Splits at the slashes that are outside of braces.
fn split(path: &str) -> Result<Vec<&str>, &'static str> {
    let (mut segments, mut start, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, byte) in path.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.checked_sub(1).ok_or("has a `}` without its `{`")?,
            b'/' if depth > 0 => return Err("has a `/` inside of a placeholder"),
            b'/' => {
                segments.push(&path[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err("has a `{` without its `}`");
    }
    segments.push(&path[start..]);
    Ok(segments)
}

fn segment(text: &str) -> Result<Segment, &'static str> {
    if !text.contains('{') {
        return Ok(Segment::Literal(text.to_owned()));
    }
    let (mut parts, mut left) = (Vec::new(), text);
    while let Some(open) = left.find('{') {
        if open > 0 {
            parts.push(Part::Literal(left[..open].to_owned()));
        }
        let close = open + closing(&left[open..]);
        parts.push(parameter(&left[open + 1..close])?);
        left = &left[close + 1..];
    }
    if !left.is_empty() {
        parts.push(Part::Literal(left.to_owned()));
    }
    Ok(Segment::Pattern(parts))
}

/// Where the brace closes that the text opens with. [`split`] made sure that it does.
fn closing(text: &str) -> usize {
    let mut depth = 0_u32;
    let closes = |byte: u8| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        depth == 0
    };
    text.bytes().position(closes).expect("braces are balanced")
}

fn parameter(text: &str) -> Result<Part, &'static str> {
    let (name, pattern) = match text.split_once(':') {
        Some((name, pattern)) => (name, Some(pattern)),
        None => (text, None),
    };
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || name.len() > 64 || !name.bytes().all(word) {
        return Err("has a placeholder whose name is not 1 to 64 letters, digits, `_` or `-`");
    }
    match pattern {
        Some("") => Err("has a placeholder with an empty pattern"),
        Some(pattern) if pattern.len() > PATTERN_BYTES_MAX => {
            Err("has a placeholder with a pattern of more than 256 bytes")
        }
        pattern => Ok(Part::Parameter { name: name.into(), pattern: pattern.map(str::to_owned) }),
    }
}

/// The placeholder of a last segment that takes everything.
fn rest(segment: &Segment) -> Option<Segment> {
    let Segment::Pattern(parts) = segment else { return None };
    let [Part::Parameter { name, pattern: Some(pattern) }] = parts.as_slice() else { return None };
    match pattern.as_str() {
        ".*" => Some(Segment::Rest { name: Arc::clone(name), some: false }),
        ".+" => Some(Segment::Rest { name: Arc::clone(name), some: true }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: &str) {
        let shown = match PathTemplate::parse(path) {
            Ok(template) => template.segments().iter().map(show).collect::<Vec<_>>().join(" / "),
            Err(why) => why.to_owned(),
        };
        assert_eq!(shown, expected, "{path}");
    }

    fn show(segment: &Segment) -> String {
        match segment {
            Segment::Literal(text) => format!("'{text}'"),
            Segment::Rest { name, some } => format!("{name}=rest{}", if *some { "+" } else { "" }),
            Segment::Pattern(parts) => parts.iter().map(show_part).collect(),
        }
    }

    fn show_part(part: &Part) -> String {
        match part {
            Part::Literal(text) => format!("'{text}'"),
            Part::Parameter { name, pattern: None } => format!("<{name}>"),
            Part::Parameter { name, pattern: Some(pattern) } => format!("<{name}~{pattern}>"),
        }
    }

    #[test]
    fn slashes_and_braces_decide() {
        check("/", "''");
        check("/a/b/", "'a' / 'b' / ''");
        check("/u/{id}/{n:[0-9]{2,3}}", "'u' / <id> / <n~[0-9]{2,3}>");
        check("/{x}-{y:[a-z]+}.json", "<x>'-'<y~[a-z]+>'.json'");
        check("/f/{path:.*}", "'f' / path=rest");
        check("/f/{path:.+}", "'f' / path=rest+");
        check("/f/{path:.*}/x", "'f' / <path~.*> / 'x'");
    }

    #[test]
    fn what_is_wrong_is_said() {
        check("a", "must start with `/`");
        check("/{a", "has a `{` without its `}`");
        check("/a}", "has a `}` without its `{`");
        check("/{a:x/y}", "has a `/` inside of a placeholder");
        check("/{a}/{a}", "has two placeholders of the same name");
        check("/{a:}", "has a placeholder with an empty pattern");
        for path in ["/{}", "/{a b}", "/{:x}", "/{é}"] {
            check(path, "has a placeholder whose name is not 1 to 64 letters, digits, `_` or `-`");
        }
    }

    #[test]
    fn patterns_are_told() {
        let template = PathTemplate::parse("/{a}/{b:x+}-{c:y}/{d:.*}").unwrap();
        assert_eq!(template.patterns().collect::<Vec<_>>(), ["x+", "y"]);
        let names: Vec<_> = template.parameters().map(|name| &**name).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
    }
}
