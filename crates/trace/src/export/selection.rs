use std::collections::BTreeSet;

use crate::{Block, Chunk, Event, ProcessId, ProcessTable, Reference};

/// Selection of the blocks of one process, or of the blocks of all processes in their order.
pub(super) struct Selection {
    only: Option<ProcessId>,
    table: ProcessTable,
    /// Processes of the selected blocks.
    processes: BTreeSet<ProcessId>,
}

impl Selection {
    pub(super) fn new(only: Option<ProcessId>) -> Self {
        Selection {
            only,
            table: ProcessTable::default(),
            processes: BTreeSet::new(),
        }
    }

    /// Calls `take` with each selected block of the next chunk and its references, until a call
    /// fails.
    pub(super) fn blocks<E>(
        &mut self,
        chunk: &Chunk,
        mut take: impl FnMut(&Block, &[Reference]) -> Result<(), E>,
    ) -> Result<(), E> {
        for event in chunk.events() {
            match event {
                Event::Mark(mark) => drop(self.table.follow(mark)),
                Event::Block(block, own) => {
                    let process = self.table.running_process();
                    if self.only.is_none_or(|only| only == process) {
                        self.processes.insert(process);
                        take(block, own)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the number of processes of the selected blocks.
    pub(super) fn processes(&self) -> usize {
        self.processes.len()
    }
}
