//! Counts the content of a trace.

use std::collections::BTreeMap;
use std::io::Read;

use crate::{
    Cause, ChainCounts, Chains, Chunk, Dependences, Mark, ProcessId, ProcessTable, ReadTraceError,
    TaskId, TraceHeader, TraceReader,
};

/// Totals of a trace; of its readable part if the trace is cut or damaged.
#[derive(Debug)]
pub struct TraceSummary {
    /// Header of the trace.
    pub header: TraceHeader,
    /// Number of chunks in the trace.
    pub chunks: u64,
    /// Size of the file in bytes, up to the last complete record.
    pub bytes: u64,
    /// Number of blocks in the trace.
    pub blocks: u64,
    /// Number of instructions in the trace.
    pub instructions: u64,
    /// Number of instructions that the kernel executed.
    pub kernel_instructions: u64,
    /// Number of loads in the trace.
    pub loads: u64,
    /// Number of stores in the trace.
    pub stores: u64,
    /// Number of switches by cause, and by whether they were voluntary.
    pub switches: BTreeMap<(Cause, bool), u64>,
    /// Number of system calls entered.
    pub syscalls: u64,
    /// Number of page faults in the trace.
    pub faults: u64,
    /// Number of marks that give the physical address of a page.
    pub pages: u64,
    /// Chains of loads; `None` if no dependences are known.
    pub chains: Option<ChainCounts>,
    /// Number of tasks in the trace.
    pub tasks: u64,
    /// Totals of each address space. Number 0 has the instructions that ran in no task.
    pub processes: BTreeMap<ProcessId, ProcessSummary>,
    /// Why reading stopped before the end of the trace; `None` if the whole trace was read.
    pub loss: Option<ReadTraceError>,
}

/// Totals of one address space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessSummary {
    /// Name of the first task. Untrusted: escape it before display.
    pub name: Vec<u8>,
    /// Task that started the first task; if an exec made the address space, the task of the exec.
    pub parent: TaskId,
    /// Number of tasks that were born in the address space or entered it by an exec.
    pub tasks: u64,
    /// Number of instructions executed in the address space.
    pub instructions: u64,
    /// Number of data references made in the address space.
    pub references: u64,
}

impl TraceSummary {
    /// Returns the number of data references.
    pub fn references(&self) -> u64 {
        self.loads + self.stores
    }

    /// Returns the size of the file per instruction, in bytes; `None` without instructions.
    pub fn bytes_per_instruction(&self) -> Option<f64> {
        (self.instructions > 0).then(|| self.bytes as f64 / self.instructions as f64)
    }

    fn new(header: TraceHeader) -> Self {
        TraceSummary {
            header,
            chunks: 0,
            bytes: 0,
            blocks: 0,
            instructions: 0,
            kernel_instructions: 0,
            loads: 0,
            stores: 0,
            switches: BTreeMap::new(),
            syscalls: 0,
            faults: 0,
            pages: 0,
            chains: None,
            tasks: 0,
            processes: BTreeMap::new(),
            loss: None,
        }
    }
}

/// Reads a trace to its end or to a damaged record, and counts everything. Chains are counted if
/// any block's dependences are known.
pub fn summarize<R: Read>(mut reader: TraceReader<R>, dependences: &Dependences) -> TraceSummary {
    let mut chains = (!dependences.is_empty()).then(Chains::default);
    let mut summary = TraceSummary::new(reader.header().clone());
    let mut table = ProcessTable::default();
    let mut chunk = Chunk::default();
    loop {
        match reader.next_into(&mut chunk) {
            Ok(true) => {
                summary.add(&chunk, &mut table);
                if let Some(chains) = &mut chains {
                    chains.add(&chunk, dependences);
                }
            }
            Ok(false) => break,
            Err(error) => {
                summary.loss = Some(error);
                break;
            }
        }
    }
    summary.bytes = reader.bytes();
    summary.chains = chains.map(Chains::finish);
    summary
}

impl TraceSummary {
    fn add(&mut self, chunk: &Chunk, table: &mut ProcessTable) {
        self.chunks += 1;
        self.blocks += chunk.blocks.len() as u64;
        let stores = chunk
            .references
            .iter()
            .filter(|reference| reference.is_store())
            .count() as u64;
        self.stores += stores;
        self.loads += chunk.references.len() as u64 - stores;
        let blocks = chunk.blocks.run();
        let mut from = 0;
        for placed in &chunk.marks {
            let to = placed.before_block as usize;
            self.run(blocks.slice(from..to), table);
            from = to;
            self.mark(&placed.mark);
            table.follow(&placed.mark);
        }
        self.run(blocks.slice(from..blocks.len()), table);
    }

    fn run(&mut self, blocks: crate::BlockRun<'_>, table: &ProcessTable) {
        if blocks.is_empty() {
            return;
        }
        let process = table.running_process();
        let counts = self.processes.entry(process).or_default();
        for block in blocks.iter() {
            let instructions = u64::from(block.instructions);
            counts.instructions += instructions;
            counts.references += u64::from(block.references);
            self.instructions += instructions;
            self.kernel_instructions += if block.flags.is_kernel() {
                instructions
            } else {
                0
            };
        }
    }

    fn mark(&mut self, mark: &Mark) {
        match mark {
            Mark::Birth {
                process,
                parent,
                name,
                ..
            } => {
                self.tasks += 1;
                self.enter(*process, *parent, name);
            }
            Mark::Exec {
                task,
                process,
                name,
            } => self.enter(*process, *task, name),
            Mark::Switch {
                is_voluntary,
                cause,
                ..
            } if mark.is_switch() => {
                *self.switches.entry((*cause, *is_voluntary)).or_default() += 1;
            }
            Mark::SyscallEnter { .. } => self.syscalls += 1,
            Mark::Fault { .. } => self.faults += 1,
            Mark::Page { .. } => self.pages += 1,
            Mark::Switch { .. }
            | Mark::Exit { .. }
            | Mark::SyscallExit { .. }
            | Mark::KernelTouch { .. }
            | Mark::Map(_)
            | Mark::Unmap { .. } => {}
        }
    }

    fn enter(&mut self, process: ProcessId, parent: TaskId, name: &[u8]) {
        let counts = self.processes.entry(process).or_default();
        if counts.tasks == 0 {
            counts.name = name.to_vec();
            counts.parent = parent;
        }
        counts.tasks += 1;
    }
}
