//! Prints a report as Markdown tables, aligned so that they also read well as they are.

use std::fmt::Write;

use super::{Report, Row, TypeReport};

/// The report as text.
pub fn text(report: &Report) -> String {
    let mut text = format!("# Changes of {}\n", report.group);
    for resource in &report.resources {
        let _ = write!(
            text,
            "\n- `{}`: stored as {}, converts {}",
            resource.kind,
            resource.hub,
            resource.spokes.join(", ")
        );
    }
    text.push('\n');
    for own in &report.types {
        type_text(&mut text, own);
    }
    if !report.notes.is_empty() {
        text.push_str("\n## Not taken as it stands\n\n");
        for note in &report.notes {
            let _ = writeln!(text, "- {note}");
        }
    }
    text
}

fn type_text(text: &mut String, own: &TypeReport) {
    let TypeReport { spoke, since, hub, hub_since, rows } = own;
    let _ = writeln!(text, "\n## {spoke} ({since}) → {hub} ({hub_since})\n");
    let header = ["Property", since, "Hub", "Change", "Handler"].map(str::to_owned);
    let mut lines = vec![header];
    lines.extend(rows.iter().map(cells));
    let widths: Vec<usize> = (0..lines[0].len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    for (number, line) in lines.iter().enumerate() {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let _ = writeln!(text, "| {} |", cells.collect::<Vec<_>>().join(" | "));
        if number == 0 {
            let rules: Vec<_> = widths.iter().map(|width| "-".repeat(*width)).collect();
            let _ = writeln!(text, "| {} |", rules.join(" | "));
        }
    }
}

fn cells(row: &Row) -> [String; 5] {
    let Row { property, spoke, hub, change, handler, unreviewed: _ } = row;
    [property.clone(), spoke.clone(), hub.clone(), (*change).to_owned(), handler.clone()]
}
