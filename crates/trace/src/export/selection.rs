use std::collections::BTreeSet;

use crate::{Block, Chunk, Event, ProcessId, ProcessTable, Reference};

/// The blocks of one process, or of all of them one after another.
pub(super) struct Selection {
    only: Option<ProcessId>,
    table: ProcessTable,
    /// Those whose blocks were chosen.
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

    /// Hands each chosen block of the next chunk with its references to `take`, until that fails.
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

    /// How many processes the chosen blocks are of.
    pub(super) fn processes(&self) -> usize {
        self.processes.len()
    }
}
