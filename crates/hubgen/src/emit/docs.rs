//! Doc comments from what schemas say, which is not Markdown: names are put in backticks, and what
//! Markdown or rustdoc would take for markup is escaped.

use super::code::Code;

/// Characters the first paragraph may have; a longer one gets the name in front of it.
const FIRST_PARAGRAPH_MAX: usize = 180;

/// Writes what a schema says about `name`, or only the name.
pub(super) fn write(code: &mut Code, name: &str, doc: &str) {
    let paragraphs: Vec<_> =
        doc.split("\n\n").map(paragraph).filter(|text| !text.is_empty()).collect();
    let is_short = paragraphs.first().is_some_and(|it| it.chars().count() <= FIRST_PARAGRAPH_MAX);
    if !is_short {
        code.line(&format!("/// {}.", quoted(name)));
    }
    for (at, text) in paragraphs.iter().enumerate() {
        if at > 0 || !is_short {
            code.line("///");
        }
        wrap(code, text);
    }
}

/// A name from a schema as code, in one line whatever is in it.
pub(super) fn quoted(name: &str) -> String {
    let name = name.replace(char::is_control, " ");
    if name.contains('`') { format!("`` {name} ``") } else { format!("`{name}`") }
}

fn wrap(code: &mut Code, text: &str) {
    let columns = code.columns_left() - "/// ".len();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > columns {
            code.line(&format!("/// {line}"));
            line.clear();
        }
        // What starts a list or a heading in Markdown does so only at the start of a line.
        let is_marker = line.is_empty() && starts_markup(word);
        if !line.is_empty() {
            line.push(' ');
        } else if is_marker {
            line.push('\\');
        }
        line.push_str(word);
    }
    code.line(&format!("/// {line}"));
}

fn starts_markup(word: &str) -> bool {
    let is_number = word
        .strip_suffix(['.', ')'])
        .is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()));
    matches!(word, "-" | "+" | "=" | ">")
        || word.starts_with(['#', '=', '-', '+', '>'])
        || is_number
}

fn paragraph(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().map(word).collect();
    words.join(" ")
}

fn word(word: &str) -> String {
    if word.starts_with("http://") || word.starts_with("https://") {
        let end = word.trim_end_matches(['.', ',', ')', ';', '\'', '"']).len();
        return format!("<{}>{}", &word[..end], escape(&word[end..]));
    }
    let is_name = |letter: char| letter.is_alphanumeric() || "_.:/".contains(letter);
    let start = word.find(is_name).unwrap_or(word.len());
    let (before, rest) = word.split_at(start);
    let end = rest.trim_end_matches(|letter| !is_name(letter) || ".:/".contains(letter)).len();
    let (middle, after) = rest.split_at(end);
    if middle.chars().all(is_name) && needs_backticks(middle) {
        return format!("{}`{middle}`{}", escape(before), escape(after));
    }
    escape(word)
}

/// Words that Clippy takes for code: capitals inside, underscores, paths.
fn needs_backticks(word: &str) -> bool {
    let inner_capital = word.chars().zip(word.chars().skip(1)).any(|(before, after)| {
        before.is_lowercase() && after.is_uppercase()
            || before.is_ascii_digit() && after.is_uppercase()
    });
    inner_capital || word.contains('_') || word.contains("::")
}

fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if "\\`*_[]<>#|~&$".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(doc: &str, expected: &str) {
        let mut code = Code::default();
        write(&mut code, "vmSize", doc);
        assert_eq!(code.into_text(), expected);
    }

    #[test]
    fn a_name_stands_in_for_no_words() {
        check("", "/// `vmSize`.\n");
        check("  \n\n ", "/// `vmSize`.\n");
    }

    #[test]
    fn a_name_stays_in_its_line() {
        assert_eq!(quoted("a\nb"), "`a b`");
        assert_eq!(quoted("a`b"), "`` a`b ``");
    }

    #[test]
    fn names_are_code_and_markup_is_text() {
        check("The nodeType of a_b.", "/// The `nodeType` of `a_b`.\n");
        check("See [here](x) <b>*now*</b>", "/// See \\[here\\](x) \\<b\\>\\*now\\*\\</b\\>\n");
        check("See https://a.example/b_c.", "/// See <https://a.example/b_c>.\n");
        check("- a", "/// \\- a\n");
    }

    #[test]
    fn long_words_are_wrapped_and_introduced() {
        let doc = "word ".repeat(40);
        let line = |count| format!("/// {}\n", ["word"; 19][..count].join(" "));
        check(&doc, &format!("/// `vmSize`.\n///\n{}{}{}", line(19), line(19), line(2)));
    }
}
