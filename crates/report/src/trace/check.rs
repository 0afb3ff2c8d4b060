use schemars::JsonSchema;
use serde::Serialize;
use switchcost_trace::CheckReport;

use super::add_notes;
use crate::for_programs::{self};
use crate::format::written;
use crate::plain::plain;
use crate::quantity::count;
use crate::{Document, Format, InEveryFormat, OutputFormat, Page, Style, Table, Tone};

/// Result of the check of a trace.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Checked<'a> {
    /// Whether the trace is complete and has no problem.
    is_sound: bool,
    /// Number of chunks read.
    chunks: u64,
    /// Number of blocks in the trace.
    blocks: u64,
    /// Number of instructions in the trace.
    instructions: u64,
    /// Number of loads and stores.
    references: u64,
    /// Number of marks in the trace.
    marks: u64,
    /// Number of problems, including those that are not listed.
    problem_count: u64,
    /// The first problems, in words.
    problems: Vec<String>,
    /// Notes on what the trace's source omitted or invented.
    notes: &'a [String],
    /// Why reading stopped before the end of the trace.
    loss: Option<String>,
}

impl OutputFormat for &Checked<'_> {
    /// Name of the JSON schema, with its version.
    const NAME: &'static str = "switchcost.trace-check/1";
}

/// Renders the result of a check as text that ends in a newline. CSV has a row for each problem.
pub fn render_check(report: &CheckReport, format: Format, style: Style) -> String {
    let checked = Checked {
        is_sound: report.is_sound(),
        chunks: report.chunks,
        blocks: report.blocks,
        instructions: report.instructions,
        references: report.references,
        marks: report.marks,
        problem_count: report.problem_count,
        problems: report.problems.iter().map(ToString::to_string).collect(),
        notes: &report.notes,
        loss: report.loss.as_ref().map(ToString::to_string),
    };
    written(&checked, format, style)
}

impl InEveryFormat for Checked<'_> {
    fn add_to(&self, page: &mut Page) {
        add_checked(page, self);
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(self)
    }

    fn tables(&self) -> Vec<Table> {
        let problems = self.problems.iter().chain(&self.loss);
        vec![for_programs::table(&[("problem", "")], problems)]
    }
}

const REMEDY: &str = "the trace violates its format; trace again, or report this to the author of the program that wrote it";

fn add_checked(page: &mut Page, report: &Checked<'_>) {
    for problem in &report.problems {
        page.toned_line(plain(problem), Tone::Bad);
    }
    let unsaid = report.problem_count - report.problems.len() as u64;
    if unsaid > 0 {
        page.toned_line(format!("and {unsaid} more problems"), Tone::Bad);
    }
    if report.problem_count > 0 {
        page.toned_line(REMEDY, Tone::Suspect);
    }
    if let Some(loss) = &report.loss {
        page.toned_line(format!("incomplete: {}", plain(loss)), Tone::Suspect);
    }
    let held = format!(
        "{} instructions in {} blocks, {} loads and stores",
        count(report.instructions),
        count(report.blocks),
        count(report.references),
    );
    if report.is_sound {
        page.toned_line(format!("Intact trace: {held}"), Tone::Good);
    } else {
        page.line(format!("read: {held}"));
    }
    page.line(format!(
        "{} marks (switches, system calls, starts and ends of tasks, ...), {} chunk{}",
        count(report.marks),
        count(report.chunks),
        if report.chunks == 1 { "" } else { "s" }
    ));
    add_notes(page, report.notes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{has, is_harmless};

    #[test]
    fn what_a_source_left_out_is_repeated_harmlessly() {
        let report = CheckReport {
            notes: vec!["no data\x1b[31m".to_owned()],
            ..CheckReport::default()
        };
        let text = render_check(&report, Format::Table, Style::default());
        has(&text, "\nnote: no data");
        is_harmless(&text);
        has(
            &render_check(&report, Format::Json, Style::default()),
            "no data",
        );
    }
}
