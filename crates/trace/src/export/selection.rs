use std::collections::BTreeSet;

use crate::{Block, Chunk, ProcessId, ProcessTable, Reference};

/// The blocks of one process, or of all of them one after another.
pub(super) struct Selection {
    only: Option<ProcessId>,
    table: ProcessTable,
    /// Those whose blocks were chosen.
    processes: BTreeSet<ProcessId>,
}

impl Selection {
    pub(super) fn new(only: Option<ProcessId>) -> Self {
        Selection { only, table: ProcessTable::default(), processes: BTreeSet::new() }
    }

    /// Hands each chosen block of the next chunk with its references to `take`, until that fails.
    pub(super) fn blocks<E>(
        &mut self,
        chunk: &Chunk,
        mut take: impl FnMut(&Block, &[Reference]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut marks = chunk.marks.iter().peekable();
        let mut references = chunk.references.as_slice();
        for (index, block) in chunk.blocks.iter().enumerate() {
            while let Some(placed) = marks.next_if(|placed| placed.before_block as usize <= index) {
                self.table.follow(&placed.mark);
            }
            let (own, rest) = references.split_at(usize::from(block.references).min(references.len()));
            references = rest;
            let process = self.table.running_process();
            if self.only.is_none_or(|only| only == process) {
                self.processes.insert(process);
                take(block, own)?;
            }
        }
        marks.for_each(|placed| {
            self.table.follow(&placed.mark);
        });
        Ok(())
    }

    /// How many processes the chosen blocks are of.
    pub(super) fn processes(&self) -> usize {
        self.processes.len()
    }
}
