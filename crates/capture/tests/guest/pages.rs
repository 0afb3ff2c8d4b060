//! Tests the physical addresses of pages in the marks: they equal those that the guest's kernel
//! reports (/proc/self/pagemap), and cover every reference.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use switchcost_capture::Command;
use switchcost_trace::{Event, Mark, ProcessId, ProcessTable, TraceReader, check};

use crate::{assert_all_succeeded, each_chunk, record, system};

const PAGE: u64 = 4096;
/// Range in which Linux maps all memory, if it is not moved (Documentation/arch/x86/x86_64/mm.rst).
const DIRECT_MAP: std::ops::Range<u64> = 0xffff_8880_0000_0000..0xffff_c880_0000_0000;
const IMAGE: std::ops::Range<u64> = 0xffff_ffff_8000_0000..0xffff_ffff_a000_0000;

/// All pages of the marks so far, as a reader of the trace stores them: the latest page that covers
/// an address counts.
#[derive(Default)]
struct Pages {
    /// Reported pages by process (`None` for the kernel's half), size, and number.
    reported: HashMap<(Option<ProcessId>, u64, u64), (usize, u64)>,
    marks: usize,
}

fn owner(process: ProcessId, address: u64) -> Option<ProcessId> {
    (address >> 63 == 0).then_some(process)
}

impl Pages {
    fn tell(
        &mut self,
        process: ProcessId,
        virtual_address: u64,
        physical_address: u64,
        bytes: u64,
    ) {
        self.marks += 1;
        let key = (
            owner(process, virtual_address),
            bytes,
            virtual_address / bytes,
        );
        self.reported.insert(key, (self.marks, physical_address));
    }

    fn physical(&self, process: ProcessId, address: u64) -> Option<u64> {
        let sizes = [PAGE, 2 << 20, 1 << 30];
        let covering = sizes.iter().filter_map(|&bytes| {
            let &(order, physical) =
                self.reported
                    .get(&(owner(process, address), bytes, address / bytes))?;
            Some((order, physical + address % bytes))
        });
        covering.max().map(|(_, physical)| physical)
    }
}

/// The pages of a trace, as its marks and references show them.
#[derive(Default)]
struct Shown {
    /// Frames of each page of user space when it was used, by process, in order.
    frames: BTreeMap<(ProcessId, u64), Vec<u64>>,
    /// Processes of the program, in the order of their births.
    processes: Vec<ProcessId>,
    marks: usize,
    /// Addresses of pages larger than 4 KiB.
    large: Vec<u64>,
    /// Number of used addresses that a mark covers.
    used: usize,
    unreported: Vec<u64>,
}

impl Shown {
    fn see_mark(&mut self, mark: &Mark, program: &[u8], running: ProcessId, pages: &mut Pages) {
        match mark {
            &Mark::Page {
                virtual_address,
                physical_address,
                bytes,
            } => {
                self.large.extend((bytes > PAGE).then_some(virtual_address));
                pages.tell(running, virtual_address, physical_address, bytes);
                for range in [DIRECT_MAP, IMAGE] {
                    if range.contains(&virtual_address) {
                        let offset = virtual_address - range.start;
                        assert_eq!(offset, physical_address, "{mark:?}");
                    }
                }
            }
            Mark::Birth { process, name, .. } | Mark::Exec { process, name, .. }
                if name == program =>
            {
                self.processes.push(*process);
            }
            _ => {}
        }
    }

    fn see_use(&mut self, process: ProcessId, address: u64, pages: &Pages) {
        let page = address & !(PAGE - 1);
        let Some(frame) = pages.physical(process, page) else {
            return self.unreported.push(address);
        };
        self.used += 1;
        if owner(process, page).is_some() {
            push_new(self.frames.entry((process, page)).or_default(), frame);
        }
    }
}

/// Appends a frame, unless it is the last one already.
fn push_new(frames: &mut Vec<u64>, frame: u64) {
    if frames.last() != Some(&frame) {
        frames.push(frame);
    }
}

/// Follows the marks, and looks up the pages of every block and reference.
fn reported(trace: &[u8], program: &[u8]) -> Shown {
    let (mut table, mut pages) = (ProcessTable::default(), Pages::default());
    let mut shown = Shown::default();
    each_chunk(trace, |chunk| {
        for event in chunk.events() {
            let (block, own) = match event {
                Event::Block(block, own) => (block, own),
                Event::Mark(mark) => {
                    table.follow(mark);
                    shown.see_mark(mark, program, table.running_process(), &mut pages);
                    continue;
                }
            };
            let process = table.running_process();
            let data = own
                .iter()
                .flat_map(|it| [it.address(), it.address() + u64::from(it.bytes()) - 1]);
            let code = [block.address, block.address + u64::from(block.bytes) - 1];
            data.chain(code)
                .for_each(|address| shown.see_use(process, address, &pages));
        }
    });
    shown.marks = pages.marks;
    shown
}

fn compile(folder: &Path) -> PathBuf {
    let path = folder.join("pages");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guest/pages.c");
    let mut compiler = std::process::Command::new("cc");
    compiler
        .args(["-O1", "-static", "-o"])
        .arg(&path)
        .arg(source);
    assert!(compiler.status().expect("cc runs").success(), "it compiles");
    path
}

/// Returns the trace without the marks of pages, in one sequence.
pub(crate) fn without_pages(trace: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    each_chunk(trace, |chunk| {
        for event in chunk.events() {
            match event {
                Event::Mark(Mark::Page { .. }) => {}
                Event::Mark(mark) => all.extend_from_slice(format!("{mark:?}").as_bytes()),
                Event::Block(block, own) => {
                    let data = own.iter().map(|reference| reference.address());
                    let addresses = std::iter::once(block.address).chain(data);
                    all.extend(addresses.flat_map(u64::to_le_bytes));
                }
            }
        }
    });
    all
}

#[test]
fn marks_say_where_pages_lie_as_the_guests_kernel_does() {
    let Some(mut system) = system() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let commands = [Command::new([compile(folder.path()).as_os_str()])];
    // With less than 512 MiB, Linux has no large pages for programs; with 3.5 GiB or more, it has
    // memory after a gap, and uses that first.
    system.memory = Some(switchcost_units::Bytes(4 << 30));
    system.icount_shift = 4;
    system.has_pages = true;
    let (summary, trace) = record(&commands, &system);
    assert_all_succeeded(&summary);
    assert!(
        summary.symbols.count() > 10_000,
        "{} symbols of the kernel",
        summary.symbols.count()
    );
    assert!(check(TraceReader::new(&trace[..]).expect("a trace")).is_sound());

    let reported = reported(&trace, b"pages");
    let text = String::from_utf8(summary.outputs[0].clone()).expect("text");
    println!(
        "{text}{} marks, {} of large pages",
        reported.marks,
        reported.large.len()
    );
    assert!(
        reported.used > 100_000 && reported.unreported.is_empty(),
        "{} of {}: {:x?}",
        reported.unreported.len(),
        reported.used,
        reported.unreported
    );
    let lines: Vec<(&str, u64, u64)> = text.lines().map(said).collect();
    let frames = |name: &str| {
        lines
            .iter()
            .filter(|line| line.0 == name)
            .map(|line| line.2)
            .collect::<Vec<_>>()
    };
    let frame = |name: &str| frames(name)[0];
    // The kernel's own account contains the expected contents.
    assert!(
        frame("alone") >= 4 << 30,
        "{:#x} is behind the gap",
        frame("alone")
    );
    assert_eq!([frame("there"), frame("child-there")], [frame("here"); 2]);
    assert_eq!(
        (frames("child-before"), frames("parent-after")),
        (frames("alone"), frames("alone"))
    );
    for (before, after) in [("child-before", "child-after"), ("parent-after", "again")] {
        assert!(
            frames(before)
                .iter()
                .all(|frame| !frames(after).contains(frame)),
            "each page is elsewhere"
        );
    }
    assert_eq!(
        frame("executed-code"),
        frame("code"),
        "one file, in one place for all"
    );
    assert_eq!(frame("large-last") - frame("large-first"), (2 << 20) - PAGE);
    assert_eq!(frame("large-first") % (2 << 20), 0);

    check_processes(&reported, &lines);
}

/// Checks that the marks of each process name the frames that the guest's kernel reported.
fn check_processes(reported: &Shown, lines: &[(&str, u64, u64)]) {
    let [first, child, executed] = reported.processes[..] else {
        panic!("three processes: {:?}", reported.processes)
    };
    let of = |name: &str| match name {
        _ if name.starts_with("child-") => child,
        _ if name.starts_with("executed-") => executed,
        _ => first,
    };
    let mut wanted: BTreeMap<(ProcessId, u64), Vec<u64>> = BTreeMap::new();
    for &(name, page, frame) in lines {
        assert_ne!(frame, 0, "{name}");
        push_new(wanted.entry((of(name), page)).or_default(), frame);
    }
    assert_eq!(wanted.len(), 8 + 2 * 16, "{wanted:x?}");
    for (page, frames) in &wanted {
        // A page of the program's file may have been copied before the report.
        let of_page = &reported.frames[page];
        assert!(
            of_page.ends_with(frames),
            "{page:x?}: {of_page:x?}, need {frames:x?} at the end"
        );
    }
    let (first_of_large, is_kernels) = (
        lines.iter().find(|line| line.0 == "large-first"),
        |page: &u64| page >> 63 != 0,
    );
    assert!(
        reported
            .large
            .contains(&first_of_large.expect("it says so").1),
        "{:x?}",
        reported.large
    );
    assert!(
        reported.large.iter().any(is_kernels),
        "{:x?}",
        reported.large
    );
}

fn said(line: &str) -> (&str, u64, u64) {
    let mut words = line.split(' ');
    let name = words.next().expect("a name");
    let mut address =
        || u64::from_str_radix(words.next().expect("an address"), 16).expect("hexadecimal");
    (name, address(), address())
}
