use switchcost_trace::{Cause, Chunk, Event, Mark, Reference, TaskId};

use super::{cause_text, syscall};
use crate::plain::plain;

/// Formats up to `most` events of a chunk in order, one per line. Returns the text and the number
/// of its lines.
pub fn render_events(chunk: &Chunk, most: u64) -> (String, u64) {
    let mut lines = Lines {
        text: String::new(),
        left: most,
    };
    for event in chunk.events() {
        if lines.left == 0 {
            break;
        }
        match event {
            Event::Mark(mark) => lines.add(&mark_text(mark)),
            Event::Block(block, own) => {
                let kind = if block.flags.is_kernel() {
                    "kernel code"
                } else {
                    "code"
                };
                let instructions = match block.instructions {
                    1 => "1 instruction".to_owned(),
                    several => format!("{several} instructions"),
                };
                lines.add(&format!(
                    "{kind} at {:#x}: {instructions}, {} B in total",
                    block.address, block.bytes
                ));
                own.iter().for_each(|reference| {
                    let end = block.address.wrapping_add(u64::from(reference.through()));
                    lines.add(&reference_text(*reference, end));
                });
            }
        }
    }
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

/// Describes a load or store by the instruction whose last byte is at address `end`.
fn reference_text(reference: Reference, end: u64) -> String {
    let kind = if reference.is_store() {
        "store"
    } else {
        "load"
    };
    format!(
        "  {kind} of {} B at {:#x}, by the instruction whose last byte is at {end:#x}",
        reference.bytes(),
        reference.address()
    )
}

/// Describes a switch, with its cause if known.
fn switch_text(from: TaskId, to: TaskId, is_voluntary: bool, cause: Cause) -> String {
    let tasks = match (from == TaskId::NONE, to == TaskId::NONE) {
        (true, _) => format!("switch to task {to}"),
        (false, true) => format!("switch from task {from} to none"),
        (false, false) => format!("switch from task {from} to task {to}"),
    };
    let kind = if is_voluntary {
        "voluntary"
    } else {
        "involuntary"
    };
    match cause {
        Cause::Unknown if from == TaskId::NONE => tasks,
        Cause::Unknown => format!("{tasks} ({kind})"),
        known => format!("{tasks} ({kind}, {})", cause_text(known)),
    }
}

fn mark_text(mark: &Mark) -> String {
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match mark {
        Mark::Birth {
            task,
            process,
            parent,
            name: called,
        } => {
            let parent = match *parent {
                TaskId::NONE => String::new(),
                parent => format!(", started by task {parent}"),
            };
            format!(
                "task {task} starts in process {process}{parent}: {}",
                name(called)
            )
        }
        Mark::Exec {
            task,
            process,
            name: called,
        } => format!(
            "task {task} runs a new program in process {process} (exec): {}",
            name(called)
        ),
        Mark::Exit { task } => format!("task {task} exits"),
        Mark::Switch {
            from,
            to,
            is_voluntary,
            cause,
        } => switch_text(*from, *to, *is_voluntary, *cause),
        Mark::SyscallEnter { number } => format!("enter {}", syscall(*number)),
        Mark::SyscallExit { number } => format!("return from {}", syscall(*number)),
        Mark::KernelTouch {
            address,
            bytes,
            is_store,
        } => {
            format!(
                "kernel {} {bytes} B at {address:#x}",
                if *is_store { "writes" } else { "reads" }
            )
        }
        Mark::Fault { address } => format!("page fault at {address:#x}"),
        Mark::Map(mapping) => {
            format!(
                "map {} B at {:#x}: {}",
                mapping.bytes,
                mapping.start,
                name(&mapping.path)
            )
        }
        Mark::Unmap { start, bytes } => format!("unmap {bytes} B at {start:#x}"),
        Mark::Page {
            virtual_address,
            physical_address,
            bytes,
        } => {
            format!("page {virtual_address:#x} at physical {physical_address:#x}, {bytes} B")
        }
    }
}

#[cfg(test)]
mod tests {
    use switchcost_trace::{Block, ProcessId};

    use super::*;
    use crate::text::is_harmless;

    #[test]
    fn shows_events_in_their_order_and_makes_names_harmless() {
        let mut chunk = Chunk::default();
        let name = b"a\x1b[31mb\n".to_vec();
        chunk.mark(Mark::Birth {
            task: TaskId(1),
            process: ProcessId(1),
            parent: TaskId::NONE,
            name,
        });
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
        let expected = [
            "code at 0x400: 1 instruction, 4 B in total",
            "  store of 8 B at 0x10, by the instruction whose last byte is at 0x403",
            "task 1 exits",
        ];
        assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), expected);
        is_harmless(&text);
        assert_eq!(render_events(&chunk, 2).1, 2);
    }
}
