//! Prints a report as Markdown tables, aligned so that they also read well as they are.

use std::fmt::Write;

use super::{Report, ResourceReport, Row, TypeReport};

/// What the names and signs in the tables mean.
const LEGEND: &str = "Properties are named as documents name them; objects, enums and unions as in \
                      Rust. `*`: may be absent; `?`: may be null.";

/// The report as text.
pub fn text(report: &Report) -> String {
    let mut text = format!("# Changes of {}\n\n{LEGEND}\n", report.group);
    for resource in &report.resources {
        let line = match resource {
            ResourceReport::Stored { kind, hub, spokes } => {
                format!("`{kind}`: stored as {hub}, converts {}", spokes.join(", "))
            }
            ResourceReport::Compared { kind, from, to } => format!("`{kind}`: from {from} to {to}"),
            ResourceReport::Alone { kind, only } => format!("`{kind}`: only in {only}"),
        };
        let _ = write!(text, "\n- {line}");
    }
    text.push('\n');
    let compared = report.resources.iter().find_map(|resource| match resource {
        ResourceReport::Compared { from, to, .. } => Some((from.as_str(), to.as_str())),
        ResourceReport::Stored { .. } | ResourceReport::Alone { .. } => None,
    });
    for own in &report.types {
        type_text(&mut text, own, compared);
    }
    if !report.notes.is_empty() {
        text.push_str("\n## Not taken as it stands\n\n");
        for note in &report.notes {
            let (version, place) = (&note.version, &note.place);
            let _ = writeln!(text, "- {version} `{}`: {} ({place})", note.subject(), note.text);
        }
    }
    text
}

/// Prints one pair of types. Where two versions are compared, their names head the columns and
/// nothing is said about storing.
fn type_text(text: &mut String, own: &TypeReport, compared: Option<(&str, &str)>) {
    let TypeReport { spoke, since, hub, hub_since, rows } = own;
    let (title, header) = match compared {
        None => (
            format!("{spoke} ({since}) → {hub} ({hub_since})"),
            vec!["Property", since, "Hub", "Change", "Handler"],
        ),
        Some((from, to)) if spoke == hub => (spoke.clone(), vec!["Property", from, to, "Change"]),
        Some((from, to)) => (format!("{spoke} → {hub}"), vec!["Property", from, to, "Change"]),
    };
    let _ = writeln!(text, "\n## {title}\n");
    let columns = header.len();
    let mut lines = vec![header.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    lines.extend(rows.iter().map(|row| cells(row)[..columns].to_vec()));
    let widths: Vec<usize> = (0..columns)
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
    let Row { property, spoke, hub, change, handler, .. } = row;
    [property, spoke, hub, change, handler].map(|cell| cell.replace('|', "\\|"))
}
