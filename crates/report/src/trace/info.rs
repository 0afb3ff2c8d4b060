use schemars::JsonSchema;
use serde::Serialize;
use switchcost_trace::{CHAIN_WINDOW, ChainCounts, TraceHeader, TraceOrder, TraceSummary};

use super::{add_notes, cause_text};
use crate::for_programs::table_of_names;
use crate::format::written;
use crate::plain::plain;
use crate::quantity::count;
use crate::{Document, Format, Grid, InEveryFormat, OutputFormat, Page, Style, Table, Tone};

/// A summary of a trace.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Info<'a> {
    /// Header of the trace.
    header: &'a TraceHeader,
    /// Number of chunks in the trace.
    chunks: u64,
    /// Bytes of the file up to the last whole record.
    bytes: u64,
    /// Bytes of the file per instruction; null without instructions.
    bytes_per_instruction: Option<f64>,
    /// Number of blocks in the trace.
    blocks: u64,
    /// Number of instructions in the trace.
    instructions: u64,
    /// Number of instructions of the kernel.
    kernel_instructions: u64,
    /// Number of loads in the trace.
    loads: u64,
    /// Number of stores in the trace.
    stores: u64,
    /// Number of system calls entered.
    syscalls: u64,
    /// Number of page faults in the trace.
    faults: u64,
    /// Number of physical pages recorded.
    pages: u64,
    /// Whether it is known of any load on which loads its address depends.
    has_dependences: bool,
    /// Loads whose address depends on another load; null if dependences are unknown.
    load_chains: Option<LoadChains>,
    /// Number of tasks in the trace.
    tasks: u64,
    /// Numbers of switches, by cause.
    switches: Vec<SwitchCount>,
    /// Address spaces by number; process 0 has the instructions that ran outside any task.
    processes: Vec<ProcessRow>,
    /// Why reading stopped before the end of the trace.
    loss: Option<String>,
}

impl OutputFormat for &Info<'_> {
    /// Name of the JSON schema, with its version.
    const NAME: &'static str = "switchcost.trace-info/1";
}

/// Chains of loads of which each takes its address from the one before, in windows of consecutive instructions.
#[derive(JsonSchema, Serialize)]
struct LoadChains {
    /// Length of the windows in which chains of loads are counted, in instructions.
    window_instructions: u64,
    /// Loads whose dependences are known.
    loads: u64,
    /// Loads whose address depends on a load in the same window.
    dependent_loads: u64,
    /// Loads whose dependences are unknown.
    unknown_loads: u64,
    /// Mean number of loads in the longest chain of a window, over windows that have a load with
    /// known dependences; null if none has.
    mean_longest_chain: Option<f64>,
    /// Mean number of loads with known dependences in a window, over windows that have such a load;
    /// null if none has.
    mean_loads: Option<f64>,
}

impl LoadChains {
    fn new(counts: &ChainCounts) -> LoadChains {
        let mean = |sum: u64| (counts.windows > 0).then(|| sum as f64 / counts.windows as f64);
        LoadChains {
            window_instructions: CHAIN_WINDOW,
            loads: counts.loads,
            dependent_loads: counts.dependent,
            unknown_loads: counts.unknown,
            mean_longest_chain: mean(counts.longest),
            mean_loads: mean(counts.loads),
        }
    }

    fn text(&self) -> Option<String> {
        let (longest, loads) = (self.mean_longest_chain?, self.mean_loads?);
        let share = 100.0 * self.dependent_loads as f64 / self.loads as f64;
        Some(format!(
            "{share:.1} % of the loads depend on another load (longest chain in {} instructions: {longest:.1} of {loads:.1} loads)",
            self.window_instructions
        ))
    }
}

/// Switches of one cause.
#[derive(JsonSchema, Serialize)]
struct SwitchCount {
    /// Why the task left the CPU.
    cause: String,
    /// Whether the task gave up the CPU voluntarily.
    is_voluntary: bool,
    /// Number of switches with this cause.
    switches: u64,
}

/// Activity in one address space.
#[derive(JsonSchema, Serialize)]
struct ProcessRow {
    /// Number of the address space in the trace.
    process: u32,
    /// Name of the first task; untrusted: escape it before display.
    name: String,
    /// Task that started the first task.
    parent_task: u32,
    /// Number of tasks that were born in the address space or entered it by an exec.
    tasks: u64,
    /// Number of instructions.
    instructions: u64,
    /// Number of loads and stores.
    references: u64,
}

/// Renders the totals of a trace as text that ends in a newline. CSV has a row for each process.
pub fn render_info(summary: &TraceSummary, format: Format, style: Style) -> String {
    written(&info(summary), format, style)
}

impl InEveryFormat for Info<'_> {
    fn add_to(&self, page: &mut Page) {
        add_info(page, self);
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(self)
    }

    fn tables(&self) -> Vec<Table> {
        vec![table_of_names(&PROCESS_COLUMNS, &self.processes)]
    }
}

fn info(summary: &TraceSummary) -> Info<'_> {
    let switches = summary
        .switches
        .iter()
        .map(|((cause, is_voluntary), &switches)| SwitchCount {
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
        has_dependences: summary.chains.is_some_and(|counts| counts.loads > 0),
        load_chains: summary.chains.as_ref().map(LoadChains::new),
        tasks: summary.tasks,
        switches: switches.collect(),
        processes: processes.collect(),
        loss: summary.loss.as_ref().map(ToString::to_string),
    }
}

const PROCESS_COLUMNS: [&str; 6] = [
    "process",
    "name",
    "parent_task",
    "tasks",
    "instructions",
    "references",
];

fn add_info(page: &mut Page, info: &Info<'_>) {
    let size = info.bytes_per_instruction.map_or(String::new(), |size| {
        format!(", {size:.3} B per instruction")
    });
    page.line(format!(
        "{} instructions ({}), {} loads, {} stores",
        count(info.instructions),
        info.header.arch,
        count(info.loads),
        count(info.stores)
    ));
    if info.kernel_instructions > 0 {
        let share = 100.0 * info.kernel_instructions as f64 / info.instructions as f64;
        page.line(format!(
            "{share:.1} % of the instructions are in the kernel"
        ));
    }
    if info.pages > 0 {
        page.line(format!(
            "{} pages with physical addresses",
            count(info.pages)
        ));
    }
    if let Some(text) = info.load_chains.as_ref().and_then(LoadChains::text) {
        page.prose(&text);
    }
    if info.loads > 0 && !info.has_dependences {
        page.line("It is unknown on which loads the addresses of other loads depend.");
    }
    page.line(origin(info.header));
    page.line(format!(
        "file: {} B in {} chunk{}{size}",
        count(info.bytes),
        count(info.chunks),
        if info.chunks == 1 { "" } else { "s" }
    ));
    if let Some(guest) = &info.header.guest {
        let slice = guest.slice_ns.map_or(String::new(), |ns| {
            format!(", time slice {} ms", ns as f64 / 1e6)
        });
        page.line(format!(
            "guest: {}, {} instructions per second{slice}",
            plain(&guest.kernel),
            count(guest.instructions_per_second)
        ));
        page.line(format!("  command line: {}", plain(&guest.command_line)));
    }
    for command in &info.header.commands {
        page.line(format!("  {}", plain(&command.join(" "))));
    }
    page.heading(
        "Switches",
        if info.switches.is_empty() { "none" } else { "" },
    );
    if !info.switches.is_empty() {
        page.grid(switches(info));
    }
    page.heading("Processes", "");
    page.grid(processes(info));
    if !info.header.notes.is_empty() {
        page.gap();
    }
    add_notes(page, &info.header.notes);
    if let Some(loss) = &info.loss {
        page.gap();
        page.toned_line(format!("incomplete: {}", plain(loss)), Tone::Suspect);
    }
}

/// Describes the source of the trace, and the order of its tasks.
fn origin(header: &TraceHeader) -> String {
    let source = plain(&header.source);
    let slices = header
        .quantum_instructions
        .map_or(String::new(), |quantum| {
            format!(", time slices of up to {} instructions", count(quantum))
        });
    match header.order {
        TraceOrder::Scheduled => format!("recorded by {source}{slices}"),
        TraceOrder::AsRun => format!("recorded by {source}, as scheduled by the kernel{slices}"),
        TraceOrder::Imported => format!("imported from {source}{slices}"),
        TraceOrder::Synthetic => format!("generated by {source}{slices}"),
    }
}

fn switches(info: &Info<'_>) -> Grid {
    let mut grid = Grid::new(2).left(["cause", "kind"]).right(["switches"]);
    for of in &info.switches {
        let will = if of.is_voluntary {
            "voluntary"
        } else {
            "involuntary"
        };
        grid.row(entries![&of.cause, will, count(of.switches)]);
    }
    grid
}

fn processes(info: &Info<'_>) -> Grid {
    let mut grid = Grid::new(2).right(["process"]).left(["name"]).right([
        "tasks",
        "instructions",
        "references",
    ]);
    for row in &info.processes {
        let numbers =
            [row.tasks, row.instructions, row.references].map(|number| count(number).into());
        let mut entries = entries![row.process.to_string(), &row.name];
        entries.extend(numbers);
        grid.row(entries);
    }
    grid
}
