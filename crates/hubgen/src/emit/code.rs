//! A text that grows by lines, each indented as deep as the blocks that are open.

/// Columns a line may have if it can be broken.
const COLUMNS: usize = 100;

const INDENT: &str = "    ";

/// Rust text under construction.
#[derive(Default)]
pub(super) struct Code {
    text: String,
    depth: usize,
}

impl Code {
    pub(super) fn line(&mut self, line: &str) {
        if !line.is_empty() {
            self.text.push_str(&INDENT.repeat(self.depth));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Writes a line and the lines of a block one step deeper, then `end`.
    pub(super) fn block(&mut self, start: &str, end: &str, write: impl FnOnce(&mut Self)) {
        self.line(start);
        self.depth += 1;
        write(self);
        self.depth -= 1;
        self.line(end);
    }

    /// Writes `start`, items separated by commas, and `end`, in one line if they fit.
    pub(super) fn list(&mut self, start: &str, items: &[String], end: &str) {
        let line = format!("{start}{}{end}", items.join(", "));
        if INDENT.len() * self.depth + line.len() <= COLUMNS {
            self.line(&line);
            return;
        }
        self.block(start.trim_end(), end.trim_start(), |code| {
            let columns = COLUMNS - INDENT.len() * code.depth;
            let mut line = String::new();
            for item in items {
                if !line.is_empty() && line.len() + item.len() + 2 > columns {
                    code.line(&std::mem::take(&mut line));
                }
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(item);
                line.push(',');
            }
            code.line(&line);
        });
    }

    /// Writes `left` and `right` in one line, or in two if they do not fit.
    pub(super) fn pair(&mut self, left: &str, right: &str) {
        let line = format!("{left} {right}");
        if INDENT.len() * self.depth + line.len() <= COLUMNS {
            self.line(&line);
            return;
        }
        self.line(left);
        self.depth += 1;
        self.line(right);
        self.depth -= 1;
    }

    pub(super) fn columns_left(&self) -> usize {
        COLUMNS - INDENT.len() * self.depth
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// Whether a word occurs in Rust text by itself: not as part of a path, in a literal or a comment,
/// nor as the name of a variant.
pub(super) fn mentions(text: &str, word: &str) -> bool {
    occurs(text, word, |after| !after.starts_with(is_inside))
}

/// Whether something in a module is named by its path.
pub(super) fn mentions_module(text: &str, module: &str) -> bool {
    occurs(text, module, |after| after.starts_with("::"))
}

fn occurs(text: &str, word: &str, is_followed: impl Fn(&str) -> bool) -> bool {
    let occurs = |line: &str| {
        let line = without_literals(without_variant(line.trim_start()));
        line.match_indices(word).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + word.len()..]);
            !before.ends_with(is_inside) && !before.ends_with("::") && is_followed(after)
        })
    };
    text.lines().filter(|line| line.contains(word)).filter(|line| !is_comment(line)).any(occurs)
}

fn is_inside(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// A line of an enum or union without the variant's name: `Oil(Oil) = "oil"`.
fn without_variant(line: &str) -> &str {
    let rest = line.trim_start_matches(is_inside);
    let is_variant = rest.starts_with(" = ") || (rest.starts_with('(') && rest.contains(") = "));
    if is_variant { rest } else { line }
}

/// A line with nothing in its string literals.
fn without_literals(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        text.push(letter);
        if letter != '"' {
            continue;
        }
        while let Some(inside) = letters.next() {
            match inside {
                '\\' => drop(letters.next()),
                '"' => break,
                _ => {}
            }
        }
        text.push('"');
    }
    text
}

/// A Rust string literal.
pub(super) fn literal(text: &str) -> String {
    format!("{text:?}")
}

#[cfg(test)]
mod tests {
    use super::{mentions, mentions_module};

    #[test]
    fn only_code_mentions_a_name() {
        for (text, expected) in [
            ("pub any: Field<Value>,", true),
            ("Value(Value) = \"v\",", true),
            ("Field::Value(self.a)", false),
            ("    Value = \"v\",", false),
            ("    Value(Lamp) = \"v\",", false),
            ("check(\"a \\\" Value\");", false),
            ("/// A Value.", false),
            ("MyValue", false),
        ] {
            assert_eq!(mentions(text, "Value"), expected, "{text}");
        }
        assert!(mentions_module("v1::Book", "v1"));
        assert!(!mentions_module("{ v1, title }", "v1"));
    }
}
