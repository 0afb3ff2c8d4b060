use crate::{Block, BlockFlags, Cause, Chunk, Mapping, Mark, ProcessId, Reference, SIZES, TaskId};

use super::Step;

const KERNEL_CODE: u64 = 0xffff_ffff_8100_0000;
const PAGE_BYTES: u64 = 4096;
const MOST_TASKS: usize = 40;

#[derive(Clone, Copy)]
struct Task {
    id: TaskId,
    process: ProcessId,
}

/// Turns steps into chunks that obey every rule.
pub struct Stream {
    done: Vec<Chunk>,
    open: Chunk,
    alive: Vec<Task>,
    running: TaskId,
    tasks: u32,
    processes: u32,
    blocks: usize,
}

impl Default for Stream {
    fn default() -> Self {
        Stream {
            done: Vec::new(),
            open: Chunk::default(),
            alive: Vec::new(),
            running: TaskId::NONE,
            tasks: 0,
            processes: 0,
            blocks: 0,
        }
    }
}

impl Stream {
    /// Returns the number of blocks so far.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Returns the chunks, none of them empty.
    pub fn finish(mut self) -> Vec<Chunk> {
        self.cut();
        self.done
    }

    /// Appends a step to the stream; does nothing if no task can execute the step.
    pub fn step(&mut self, step: &Step) {
        match *step {
            Step::Run {
                code,
                times,
                data,
                stride,
            } => self.run(code, times, data, stride),
            Step::Kernel { code } => self.kernel(code),
            Step::Command => self.birth(TaskId::NONE, None),
            Step::Fork => self.act_if_running(|stream, task| stream.birth(task.id, None)),
            Step::Thread => {
                self.act_if_running(|stream, task| stream.birth(task.id, Some(task.process)))
            }
            Step::Exec => self.act_if_running(Self::exec),
            Step::Exit => self.act_if_running(Self::exit),
            Step::Switch { to, cause } => self.switch(usize::from(to), cause),
            Step::Syscall { number, bytes } => {
                self.act_if_running(|stream, _| stream.syscall(number, bytes))
            }
            Step::Fault { page } => self.act_if_running(|stream, _| stream.fault(page)),
            Step::Map { file } => self.act_if_running(|stream, _| stream.map(file)),
            Step::Unmap { file } => self.act_if_running(|stream, _| {
                stream.open.mark(Mark::Unmap {
                    start: map_start(file),
                    bytes: PAGE_BYTES,
                });
            }),
            Step::Cut => self.cut(),
        }
    }

    fn cut(&mut self) {
        if !self.open.is_empty() {
            self.done.push(std::mem::take(&mut self.open));
        }
    }

    fn act_if_running(&mut self, act: impl FnOnce(&mut Self, Task)) {
        if let Some(&task) = self.alive.iter().find(|task| task.id == self.running) {
            act(self, task);
        }
    }

    fn run(&mut self, code: u16, times: u8, data: u32, stride: i16) {
        let data = if data.is_multiple_of(3) {
            0x7ffc_0000_0000
        } else {
            0x5555_0000_0000
        } + u64::from(data) * 8;
        self.act_if_running(|stream, _| {
            for turn in 0..i64::from(times) {
                let moved = data.wrapping_add_signed(turn * i64::from(stride));
                stream.block(
                    0x40_0000 + u64::from(code) * 24,
                    code,
                    moved,
                    BlockFlags::USER,
                );
            }
        });
    }

    fn kernel(&mut self, code: u16) {
        self.block(
            KERNEL_CODE + u64::from(code) * 32,
            code,
            0xffff_8880_0000_1000,
            BlockFlags::KERNEL,
        );
    }

    /// Creates a block whose shape follows from `code`: 1 to 9 instructions of 1 to 4 bytes, with up to 7 references.
    fn block(&mut self, address: u64, code: u16, data: u64, flags: BlockFlags) {
        let instructions = 1 + code % 9;
        let length = 1 + code % 4;
        let references = code % 8;
        let bytes = instructions * length;
        for slot in 0..references {
            let through = (slot * instructions / references) * length + length - 1;
            let size_code = (code + slot) as usize % SIZES.len();
            let at = data.wrapping_add(u64::from(slot) * 16);
            self.open
                .references
                .push(Reference::new(at, size_code as u8, through, slot % 3 == 1));
        }
        self.open.blocks.push(Block {
            address,
            bytes,
            instructions,
            references,
            first_bytes: length as u8,
            flags,
        });
        self.blocks += 1;
    }

    fn birth(&mut self, parent: TaskId, process: Option<ProcessId>) {
        if self.alive.len() >= MOST_TASKS {
            return;
        }
        self.tasks += 1;
        let process = process.unwrap_or_else(|| self.new_process());
        let task = Task {
            id: TaskId(self.tasks),
            process,
        };
        self.alive.push(task);
        let name = name_of(task.id);
        self.open.mark(Mark::Birth {
            task: task.id,
            process,
            parent,
            name,
        });
    }

    fn new_process(&mut self) -> ProcessId {
        self.processes += 1;
        ProcessId(self.processes)
    }

    fn exec(&mut self, task: Task) {
        let process = self.new_process();
        self.alive
            .iter_mut()
            .filter(|other| other.id == task.id)
            .for_each(|other| other.process = process);
        self.open.mark(Mark::Exec {
            task: task.id,
            process,
            name: b"other".to_vec(),
        });
    }

    fn exit(&mut self, task: Task) {
        self.alive.retain(|other| other.id != task.id);
        self.open.mark(Mark::Exit { task: task.id });
        let to = self.alive.first().map_or(TaskId::NONE, |task| task.id);
        self.switch_to(to, true, Cause::Exit);
    }

    fn switch(&mut self, to: usize, cause: u16) {
        let to = match to % (self.alive.len() + 1) {
            place if place < self.alive.len() => self.alive[place].id,
            _ => TaskId::NONE,
        };
        let (is_voluntary, cause) = match cause % 8 {
            0 | 1 => (true, Cause::Syscall(cause % 400)),
            2 => (false, Cause::Syscall(cause % 400)),
            3 => (true, Cause::PageFault),
            4 => (false, Cause::WakeUp),
            5 => (false, Cause::Interrupt),
            6 => (false, Cause::Unknown),
            _ => (false, Cause::Quantum),
        };
        if to != self.running {
            self.switch_to(to, is_voluntary, cause);
        }
    }

    fn switch_to(&mut self, to: TaskId, is_voluntary: bool, cause: Cause) {
        self.open.mark(Mark::Switch {
            from: self.running,
            to,
            is_voluntary,
            cause,
        });
        self.running = to;
    }

    fn syscall(&mut self, number: u16, bytes: u16) {
        self.open.mark(Mark::SyscallEnter { number });
        if bytes > 0 {
            let address = 0x5555_0000_0000 + u64::from(bytes) * 3;
            self.open.mark(Mark::KernelTouch {
                address,
                bytes: bytes.into(),
                is_store: number.is_multiple_of(2),
            });
        }
        self.open.mark(Mark::SyscallExit { number });
    }

    fn fault(&mut self, page: u32) {
        let virtual_address = u64::from(page) * PAGE_BYTES;
        self.open.mark(Mark::Fault {
            address: virtual_address + 8,
        });
        let physical_address = u64::from(page.reverse_bits()) * PAGE_BYTES;
        self.open.mark(Mark::Page {
            virtual_address,
            physical_address,
            bytes: PAGE_BYTES,
        });
    }

    fn map(&mut self, file: u8) {
        self.open.mark(Mark::Map(Mapping {
            start: map_start(file),
            bytes: PAGE_BYTES * (1 + u64::from(file)),
            offset: u64::from(file % 4) * PAGE_BYTES,
            path: format!("/usr/lib/file-{file}.so").into_bytes(),
            build_id: vec![file; usize::from(file % 3) * 10],
            is_executable: file.is_multiple_of(2),
        }));
    }
}

fn map_start(file: u8) -> u64 {
    0x7f00_0000_0000 + u64::from(file) * 0x10_0000
}

/// Returns a task's name: most names are harmless, some are such as a hostile program would have.
fn name_of(task: TaskId) -> Vec<u8> {
    match task.0 % 5 {
        0 => vec![0xff, 0x1b, b'[', b'3', b'1', b'm', 0],
        1 => Vec::new(),
        _ => format!("task-{task}").into_bytes(),
    }
}
