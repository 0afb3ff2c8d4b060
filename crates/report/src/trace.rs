//! What is in a trace, whether it is sound, and its first events.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_trace::{Cause, CheckReport, Chunk, Mark, TraceSummary, syscall_name};

use crate::entry::Tone;
use crate::for_programs::{self, Column, Document, OutputFormat, Table};
use crate::format::{InEveryFormat, written};
use crate::grid::Grid;
use crate::page::Page;
use crate::plain::plain;
use crate::{Format, Style};

/// What is in a trace.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Info<'a> {
    /// What the trace says of itself.
    header: &'a switchcost_trace::TraceHeader,
    /// Chunks.
    chunks: u64,
    /// Bytes of the file up to the last whole record.
    bytes: u64,
    /// Of the file; null without instructions.
    bytes_per_instruction: Option<f64>,
    /// Blocks.
    blocks: u64,
    /// Instructions.
    instructions: u64,
    /// Those of them that are the kernel's.
    kernel_instructions: u64,
    /// Loads.
    loads: u64,
    /// Stores.
    stores: u64,
    /// System calls entered.
    syscalls: u64,
    /// Faults.
    faults: u64,
    /// Physical pages recorded.
    pages: u64,
    /// Tasks.
    tasks: u64,
    /// Switches by cause.
    switches: Vec<SwitchCount>,
    /// Address spaces, by number; what no task ran is in process 0.
    processes: Vec<ProcessRow>,
    /// Why reading ended before the end of the trace.
    loss: Option<String>,
}

impl OutputFormat for &Info<'_> {
    /// Version 1: the first.
    const NAME: &'static str = "switchcost.trace-info/1";
}

/// Switches of one cause.
#[derive(JsonSchema, Serialize)]
struct SwitchCount {
    /// Why the task left the CPU.
    cause: String,
    /// Whether it gave it up by itself.
    is_voluntary: bool,
    /// How often.
    switches: u64,
}

/// What one address space did.
#[derive(JsonSchema, Serialize)]
struct ProcessRow {
    /// Its number in the trace.
    process: u32,
    /// The name of its first task; hostile data.
    name: String,
    /// The task that started its first task.
    parent_task: u32,
    /// Tasks that were born in it or came into it by an exec.
    tasks: u64,
    /// Its instructions.
    instructions: u64,
    /// Its loads and stores.
    references: u64,
}

/// What is in a trace, as text that ends in a newline. As CSV: one row for each process.
pub fn render_info(summary: &TraceSummary, format: Format, style: Style) -> String {
    written(&info(summary), format, style)
}

impl InEveryFormat for Info<'_> {
    fn add_to(&self, page: &mut Page, _: Style) {
        add_info(page, self);
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::of(self)
    }

    fn tables(&self) -> Vec<Table> {
        vec![for_programs::table(&PROCESS_COLUMNS, &self.processes)]
    }
}

fn info(summary: &TraceSummary) -> Info<'_> {
    let switches = summary.switches.iter().map(|((cause, is_voluntary), &switches)| SwitchCount {
        cause: cause_text(*cause),
        is_voluntary: *is_voluntary,
        switches,
    });
    let processes = summary.processes.iter().map(|(id, process)| ProcessRow {
        process: id.0,
        name: String::from_utf8_lossy(&process.name).into_owned(),
        parent_task: process.parent.0,
        tasks: process.tasks,
        instructions: process.instructions,
        references: process.references,
    });
    Info {
        header: &summary.header,
        chunks: summary.chunks,
        bytes: summary.bytes,
        bytes_per_instruction: summary.bytes_per_instruction(),
        blocks: summary.blocks,
        instructions: summary.instructions,
        kernel_instructions: summary.kernel_instructions,
        loads: summary.loads,
        stores: summary.stores,
        syscalls: summary.syscalls,
        faults: summary.faults,
        pages: summary.pages,
        tasks: summary.tasks,
        switches: switches.collect(),
        processes: processes.collect(),
        loss: summary.loss.as_ref().map(ToString::to_string),
    }
}

/// `syscall read (0)`.
fn syscall(number: u16) -> String {
    syscall_name(number).map_or_else(|| format!("syscall {number}"), |name| format!("syscall {name} ({number})"))
}

fn cause_text(cause: Cause) -> String {
    match cause {
        Cause::Syscall(number) => syscall(number),
        Cause::PageFault => "page-fault".to_owned(),
        Cause::Quantum => "quantum".to_owned(),
        Cause::WakeUp => "wake-up".to_owned(),
        Cause::Interrupt => "interrupt".to_owned(),
        Cause::Exit => "exit".to_owned(),
        Cause::Unknown => "unknown".to_owned(),
    }
}

const PROCESS_COLUMNS: [Column<ProcessRow>; 6] = [
    ("process", |row| row.process.to_string()),
    ("name", |row| row.name.clone()),
    ("parent_task", |row| row.parent_task.to_string()),
    ("tasks", |row| row.tasks.to_string()),
    ("instructions", |row| row.instructions.to_string()),
    ("references", |row| row.references.to_string()),
];

fn add_info(page: &mut Page, info: &Info<'_>) {
    let order = serde_json::to_value(info.header.order).ok();
    let order = order.as_ref().and_then(|order| order.as_str()).unwrap_or_default();
    let size = info.bytes_per_instruction.map_or(String::new(), |size| format!(", {size:.3} B an instruction"));
    page.line(
        &format!(
            "{} instructions, {} loads, {} stores in {} chunks, {} B{size}",
            info.instructions, info.loads, info.stores, info.chunks, info.bytes
        ),
        Tone::Usual,
    );
    if info.kernel_instructions > 0 {
        let share = 100.0 * info.kernel_instructions as f64 / info.instructions as f64;
        page.line(&format!("{share:.1} % of the instructions are the kernel's"), Tone::Usual);
    }
    if info.pages > 0 {
        page.line(&format!("{} marks say where in physical memory pages lie", info.pages), Tone::Usual);
    }
    page.line(&format!("from {}, order {order}, {}", plain(&info.header.source), info.header.arch), Tone::Usual);
    if let Some(guest) = &info.header.guest {
        let slice = guest.slice_ns.map_or(String::new(), |ns| format!(", slice {} ms", ns as f64 / 1e6));
        page.line(
            &format!("guest: {}, {} instructions a second{slice}", plain(&guest.kernel), guest.instructions_per_second),
            Tone::Usual,
        );
        page.line(&format!("  started with {}", plain(&guest.command_line)), Tone::Usual);
    }
    for command in &info.header.commands {
        page.line(&format!("  {}", plain(&command.join(" "))), Tone::Usual);
    }
    page.heading("Switches", if info.switches.is_empty() { "none" } else { "" });
    if !info.switches.is_empty() {
        page.grid(&switches(info));
    }
    page.heading("Processes", "");
    page.grid(&processes(info));
    if !info.header.notes.is_empty() {
        page.gap();
    }
    add_notes(page, &info.header.notes);
    if let Some(loss) = &info.loss {
        page.gap();
        page.line(&format!("not whole: {}", plain(loss)), Tone::Suspect);
    }
}

fn switches(info: &Info<'_>) -> Grid {
    let mut grid = Grid::new(2).left(["cause", ""]).right(["switches"]);
    for count in &info.switches {
        let will = if count.is_voluntary { "voluntary" } else { "involuntary" };
        grid.row(vec![(&count.cause).into(), will.into(), count.switches.to_string().into()]);
    }
    grid
}

fn processes(info: &Info<'_>) -> Grid {
    let mut grid = Grid::new(2).right(["process"]).left(["name"]).right(["tasks", "instructions", "references"]);
    for row in &info.processes {
        let numbers = [row.tasks, row.instructions, row.references].map(|number| number.to_string().into());
        let mut entries = vec![row.process.to_string().into(), (&row.name).into()];
        entries.extend(numbers);
        grid.row(entries);
    }
    grid
}

/// Whether a trace is sound.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Checked<'a> {
    /// Whether the trace is whole and without a problem.
    is_sound: bool,
    /// Chunks read.
    chunks: u64,
    /// Blocks.
    blocks: u64,
    /// Instructions.
    instructions: u64,
    /// Loads and stores.
    references: u64,
    /// Marks.
    marks: u64,
    /// How many problems there are; not all are listed.
    problem_count: u64,
    /// The first of them, in words.
    problems: Vec<String>,
    /// What its source left out, or had to make up.
    notes: &'a [String],
    /// Why reading ended before the end of the trace.
    loss: Option<String>,
}

impl OutputFormat for &Checked<'_> {
    /// Version 1: the first.
    const NAME: &'static str = "switchcost.trace-check/1";
}

/// What a check found, as text that ends in a newline. As CSV: one row for each problem.
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
    fn add_to(&self, page: &mut Page, _: Style) {
        add_checked(page, self);
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::of(self)
    }

    fn tables(&self) -> Vec<Table> {
        let column: Column<String> = ("problem", String::clone);
        vec![for_programs::table(&[column], self.problems.iter().chain(&self.loss))]
    }
}

fn add_checked(page: &mut Page, report: &Checked<'_>) {
    for problem in &report.problems {
        page.line(&plain(problem), Tone::Bad);
    }
    let unsaid = report.problem_count - report.problems.len() as u64;
    if unsaid > 0 {
        page.line(&format!("and {unsaid} more problems"), Tone::Bad);
    }
    if let Some(loss) = &report.loss {
        page.line(&format!("not whole: {}", plain(loss)), Tone::Suspect);
    }
    let held = format!(
        "{} chunks with {} blocks, {} instructions, {} references and {} marks",
        report.chunks, report.blocks, report.instructions, report.references, report.marks
    );
    if report.is_sound {
        page.line(&format!("sound: {held}"), Tone::Good);
    } else {
        page.line(&format!("read: {held}"), Tone::Usual);
    }
    add_notes(page, report.notes);
}

/// What its source left out, or had to make up.
fn add_notes(page: &mut Page, notes: &[String]) {
    notes.iter().for_each(|note| page.line(&format!("note: {}", plain(note)), Tone::Suspect));
}

/// Up to `most` events of a chunk, one a line, in their order; how many lines there are is the second value.
pub fn render_events(chunk: &Chunk, most: u64) -> (String, u64) {
    let mut lines = Lines { text: String::new(), left: most };
    let mut marks = chunk.marks.iter().peekable();
    let mut references = chunk.references.as_slice();
    for (index, block) in chunk.blocks.iter().enumerate() {
        while let Some(placed) = marks.next_if(|placed| placed.before_block as usize <= index) {
            lines.add(&mark_text(&placed.mark));
        }
        let kind = if block.flags.is_kernel() { "kernel block" } else { "block" };
        lines.add(&format!("{kind} {:#x} {} B, {} instructions", block.address, block.bytes, block.instructions));
        let (own, rest) = references.split_at(usize::from(block.references).min(references.len()));
        references = rest;
        for reference in own {
            lines.add(&format!("  {reference:?}"));
        }
        if lines.left == 0 {
            break;
        }
    }
    marks.for_each(|placed| lines.add(&mark_text(&placed.mark)));
    let written = most - lines.left;
    (lines.text, written)
}

struct Lines {
    text: String,
    left: u64,
}

impl Lines {
    fn add(&mut self, line: &str) {
        if self.left > 0 {
            self.left -= 1;
            self.text.push_str(&plain(line));
            self.text.push('\n');
        }
    }
}

fn mark_text(mark: &Mark) -> String {
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match mark {
        Mark::Birth { task, process, parent, name: called } => {
            format!("birth of task {task} in process {process}, parent {parent}: {}", name(called))
        }
        Mark::Exec { task, process, name: called } => format!("task {task} runs {} in process {process}", name(called)),
        Mark::Exit { task } => format!("task {task} ends"),
        Mark::Switch { from, to, is_voluntary, cause } => {
            let will = if *is_voluntary { "voluntary" } else { "involuntary" };
            format!("switch from {from} to {to}, {will}, {}", cause_text(*cause))
        }
        Mark::SyscallEnter { number } => format!("{} begins", syscall(*number)),
        Mark::SyscallExit { number } => format!("{} ends", syscall(*number)),
        Mark::KernelTouch { address, bytes, is_store } => {
            format!("kernel {} {bytes} B at {address:#x}", if *is_store { "writes" } else { "reads" })
        }
        Mark::Fault { address } => format!("fault at {address:#x}"),
        Mark::Map(mapping) => {
            format!("map {} B at {:#x}: {}", mapping.bytes, mapping.start, name(&mapping.path))
        }
        Mark::Unmap { start, bytes } => format!("unmap {bytes} B at {start:#x}"),
        Mark::Page { virtual_address, physical_address, bytes } => {
            format!("page {virtual_address:#x} is {physical_address:#x}, {bytes} B")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchcost_trace::{Block, ProcessId, Reference, TaskId};

    #[test]
    fn what_a_source_left_out_is_repeated_harmlessly() {
        let report = CheckReport { notes: vec!["no data\x1b[31m".to_owned()], ..CheckReport::default() };
        let text = render_check(&report, Format::Table, Style::default());
        assert!(text.lines().any(|line| line.starts_with("note: no data")) && !text.contains('\x1b'), "{text:?}");
        assert!(render_check(&report, Format::Json, Style::default()).contains("no data"));
    }

    #[test]
    fn shows_events_in_their_order_and_makes_names_harmless() {
        let mut chunk = Chunk::default();
        let name = b"a\x1b[31mb\n".to_vec();
        chunk.mark(Mark::Birth { task: TaskId(1), process: ProcessId(1), parent: TaskId::NONE, name });
        chunk.blocks.push(Block {
            address: 0x400,
            bytes: 4,
            instructions: 1,
            first_bytes: 4,
            references: 1,
            ..Block::default()
        });
        chunk.references.push(Reference::new(0x10, 7, 3, true));
        chunk.mark(Mark::Exit { task: TaskId(1) });
        let (text, lines) = render_events(&chunk, 10);
        assert_eq!(lines, 4);
        let expected = ["block 0x400 4 B, 1 instructions", "  store 0x10 8 B @3", "task 1 ends"];
        assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), expected);
        assert!(!text.contains('\x1b'), "{text:?}");
        assert_eq!(render_events(&chunk, 2).1, 2);
    }
}
