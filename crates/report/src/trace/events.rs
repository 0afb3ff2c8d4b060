use switchcost_trace::{Chunk, Event, Mark};

use super::{cause_text, syscall};
use crate::plain::plain;

/// Formats up to `most` events of a chunk in order, one per line; also returns the number of lines.
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
                    "kernel block"
                } else {
                    "block"
                };
                lines.add(&format!(
                    "{kind} {:#x} {} B, {} instructions",
                    block.address, block.bytes, block.instructions
                ));
                own.iter()
                    .for_each(|reference| lines.add(&format!("  {reference:?}")));
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

fn mark_text(mark: &Mark) -> String {
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match mark {
        Mark::Birth {
            task,
            process,
            parent,
            name: called,
        } => {
            format!(
                "birth of task {task} in process {process}, parent {parent}: {}",
                name(called)
            )
        }
        Mark::Exec {
            task,
            process,
            name: called,
        } => format!("exec by task {task} in process {process}: {}", name(called)),
        Mark::Exit { task } => format!("task {task} exits"),
        Mark::Switch {
            from,
            to,
            is_voluntary,
            cause,
        } => {
            let will = if *is_voluntary {
                "voluntary"
            } else {
                "involuntary"
            };
            format!("switch from {from} to {to}, {will}, {}", cause_text(*cause))
        }
        Mark::SyscallEnter { number } => format!("enter {}", syscall(*number)),
        Mark::SyscallExit { number } => format!("leave {}", syscall(*number)),
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
        Mark::Fault { address } => format!("fault at {address:#x}"),
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
    use switchcost_trace::{Block, ProcessId, Reference, TaskId};

    use super::*;

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
            "block 0x400 4 B, 1 instructions",
            "  store 0x10 8 B @3",
            "task 1 exits",
        ];
        assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), expected);
        assert!(!text.contains('\x1b'), "{text:?}");
        assert_eq!(render_events(&chunk, 2).1, 2);
    }
}
