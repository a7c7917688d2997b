//! Columns and details for people: no borders, no wrapping, one thing a line, so that `grep` works on them.

use std::fmt;

use comfy_table::{ContentArrangement, presets};
use folio_model::Timestamp;

/// Rows under headings.
pub(crate) struct Table(comfy_table::Table);

impl Table {
    /// A table with its headings.
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Self {
        let mut inner = comfy_table::Table::new();
        inner.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        inner.set_header(headings);
        Self(inner)
    }

    /// Adds a row. A cell without text shows a dash, so that every row has as many words.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        let cell = |cell: String| if cell.is_empty() { "-".to_owned() } else { one_line(&cell) };
        self.0.add_row(cells.map(cell));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.0.lines() {
            // The renderer pads both sides of a cell; only what separates columns is wanted.
            writeln!(f, "{}", line.strip_prefix(' ').unwrap_or(&line).trim_end())?;
        }
        Ok(())
    }
}

/// One thing, a line for each of its sides that has something to say.
#[derive(Default)]
pub(crate) struct Details(Vec<(&'static str, String)>);

impl Details {
    /// Adds a line, unless there is nothing to say.
    pub(crate) fn line(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        let value = value.to_string();
        if !value.is_empty() {
            self.0.push((name, value));
        }
        self
    }
}

impl fmt::Display for Details {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 1;
        for (name, value) in &self.0 {
            writeln!(f, "{:width$} {}", format!("{name}:"), one_line(value))?;
        }
        Ok(())
    }
}

/// Things in a row, with commas.
pub(crate) fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

/// A moment in UTC, to the second.
pub(crate) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Text that may come from anybody, with what could move the cursor taken out.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
