//! Generates random streams: several processes and threads, every kind of mark, addresses from a
//! small pool.

use crate::closed_forms::build::access_at;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::{bool::weighted, sample::select};
use switchcost_trace::{
    Block, BlockFlags, Cause, Chunk, Mapping, Mark, ProcessId, Reference, TaskId,
};

const MOST_TASKS: usize = 8;
/// Pages of the address pool; the last one is at the end of the address space.
const PAGES: [u64; 7] = [
    0x1_0000,
    0x1_1000,
    0x1_2000,
    0x4_0000,
    0x20_0000,
    0xffff_8000_0000_0000,
    0xffff_ffff_ffff_f000,
];

const CAUSES: [Cause; 10] = [
    Cause::Syscall(0),
    Cause::Syscall(1),
    Cause::Syscall(399),
    Cause::PageFault,
    Cause::Quantum,
    Cause::WakeUp,
    Cause::Interrupt,
    Cause::Unknown,
    Cause::Quantum,
    Cause::Exit,
];

/// A block: its place, bytes, instructions and bytes of the first one, and its references, each
/// with its place, last byte of the instruction, size code, and whether it is a store.
type RawBlock = (u16, u16, u16, u16, Vec<(u16, u16, u8, bool)>);
/// Loads or stores at equal distances, by one instruction: the place of the first, the distance,
/// their number, and whether they are stores.
type Walk = (u16, i16, u8, bool);
/// The running task, or the task at this place among those alive.
type Choice = (bool, usize);

/// An event of a stream, which applies to whichever process runs.
#[derive(Clone, Debug)]
enum Event {
    Block(RawBlock),
    Walk(Walk),
    /// A switch to a task, whether it is voluntary, and its cause.
    Switch((usize, bool, Cause)),
    Fork,
    Command,
    Thread,
    Exec(Choice),
    Exit(Choice),
    /// An existing task gets a new process.
    Rebirth(usize),
    SwitchToUnborn,
    Mark(Mark),
}

fn event() -> impl Strategy<Value = Event> {
    let code = prop_oneof![6 => 0..8_u8, 3 => 8..21_u8, 1 => 21..32_u8];
    let reference = (any::<u16>(), 0..200_u16, code, weighted(0.4));
    let block = (
        any::<u16>(),
        1..150_u16,
        1..20_u16,
        1..150_u16,
        vec(reference, 0..6),
    );
    let stride = prop_oneof![2 => 1..300_i16, 1 => -300..0_i16];
    let walk = (any::<u16>(), stride, 2..8_u8, weighted(0.3));
    let switch = (0..MOST_TASKS + 1, any::<bool>(), select(&CAUSES[..]));
    let task = || (weighted(0.8), 0..MOST_TASKS);
    prop_oneof![
        54 => block.prop_map(Event::Block),
        6 => walk.prop_map(Event::Walk),
        14 => switch.prop_map(Event::Switch),
        1 => Just(Event::Fork),
        1 => Just(Event::Command),
        1 => Just(Event::Thread),
        1 => task().prop_map(Event::Exec),
        1 => task().prop_map(Event::Exit),
        1 => (0..MOST_TASKS * 8).prop_map(Event::Rebirth),
        1 => Just(Event::SwitchToUnborn),
        15 => mark().prop_map(Event::Mark),
    ]
}

/// Generates a mark that does not depend on the events before it.
fn mark() -> impl Strategy<Value = Mark> {
    let syscall = || prop_oneof![4 => 0..2_u16, 1 => 398..400_u16];
    let page = || select(&PAGES[..]);
    let touch = (any::<u16>(), 0..300_u64, any::<bool>());
    let files = [&b"/lib/a"[..], b"/lib/\xffb", b"", b"/lib/a"];
    prop_oneof![
        2 => syscall().prop_map(|number| Mark::SyscallEnter { number }),
        2 => syscall().prop_map(|number| Mark::SyscallExit { number }),
        4 => touch.prop_map(|(place, bytes, is_store)| Mark::KernelTouch { address: address(place), bytes, is_store }),
        1 => any::<u16>().prop_map(|place| Mark::Fault { address: address(place) }),
        2 => (page(), 1..4_u64, 0..3_u64, 0..files.len()).prop_map(move |(start, pages, offset, file)| Mark::Map(Mapping {
            start,
            bytes: pages * 4096,
            offset: offset * 4096,
            path: files[file].to_vec(),
            build_id: vec![file as u8; file % 3],
            is_executable: file != 1,
        })),
        1 => (page(), 0..9000_u64).prop_map(|(start, bytes)| Mark::Unmap { start, bytes }),
        3 => (page(), 0..6_u64, 0..2_u32).prop_map(|(page, frame, bits)| {
            let bytes = 4096_u64 << bits;
            Mark::Page { virtual_address: page & !(bytes - 1), physical_address: frame * bytes, bytes }
        }),
    ]
}

/// Returns an address of the pool: mostly in the first lines of a page, sometimes at its end.
fn address(place: u16) -> u64 {
    let place = u64::from(place);
    let page = PAGES[[0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 1, 1, 2, 3][(place % 16) as usize]];
    let within = place / 16;
    let offset = match within % 8 {
        0 => 4096 - within / 8 % 128 - 1,
        1 => within / 8 * 8 % 4096,
        _ => within / 8 % 320,
    };
    page + offset
}

/// Generates a whole stream in one chunk.
pub(crate) fn stream(most_events: usize) -> impl Strategy<Value = Chunk> {
    let starts_at_once = weighted(0.9);
    (starts_at_once, vec(event(), 0..most_events)).prop_map(|(starts, events)| {
        let mut writer = Writer::default();
        if starts {
            writer.event(&Event::Command);
            writer.event(&Event::Command);
            writer.switch(TaskId(1), true, Cause::Unknown);
        }
        events.iter().for_each(|event| writer.event(event));
        writer.chunk
    })
}

/// Cuts a stream into chunks; `places` are shares of its length in 1/65536.
pub(crate) fn cut(whole: &Chunk, places: &[u16]) -> Vec<Chunk> {
    let length = whole.blocks.len() + whole.marks.len();
    let mut ends: Vec<usize> = places
        .iter()
        .map(|&place| (usize::from(place) * (length + 1)) >> 16)
        .collect();
    ends.sort_unstable();
    let mut chunks = vec![Chunk::default()];
    let mut ends = ends.into_iter().peekable();
    for (done, event) in whole.events().enumerate() {
        while ends.next_if_eq(&done).is_some() {
            chunks.push(Chunk::default());
        }
        let chunk = chunks.last_mut().expect("one is there");
        match event {
            switchcost_trace::Event::Mark(mark) => chunk.mark(mark.clone()),
            switchcost_trace::Event::Block(block, own) => {
                chunk.blocks.push(*block);
                chunk.references.extend_from_slice(own);
            }
        }
    }
    chunks
}

#[derive(Default)]
struct Writer {
    chunk: Chunk,
    tasks: Vec<(TaskId, ProcessId)>,
    births: u32,
    processes: u32,
    running: TaskId,
}

impl Writer {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Block(block) => self.block(block),
            Event::Walk(walk) => self.walk(*walk),
            &Event::Switch((to, is_voluntary, cause)) => {
                let to = match to % (self.tasks.len() + 1) {
                    place if place < self.tasks.len() => self.tasks[place].0,
                    _ => TaskId::NONE,
                };
                self.switch(to, is_voluntary, cause);
            }
            Event::Fork if self.running_process().is_some() => self.birth(None, self.running),
            Event::Fork => {}
            Event::Command => self.birth(None, TaskId::NONE),
            Event::Thread => {
                let process = self.running_process();
                if process.is_some() {
                    self.birth(process, self.running);
                }
            }
            &Event::Exec(task) => self.exec(task),
            &Event::Exit(task) => self.exit(task),
            &Event::Rebirth(task) => self.rebirth(task),
            Event::SwitchToUnborn => self.switch(TaskId(1000), true, Cause::WakeUp),
            Event::Mark(mark) => self.chunk.mark(mark.clone()),
        }
    }

    fn block(&mut self, (place, bytes, instructions, first, raw): &RawBlock) {
        let bytes = *bytes;
        let instructions = bytes.min(*instructions);
        let first_bytes = if instructions == 1 {
            bytes
        } else {
            bytes.min(*first).min(15)
        };
        let mut throughs: Vec<u16> = raw
            .iter()
            .map(|&(_, through, ..)| through.clamp(first_bytes - 1, bytes - 1))
            .collect();
        throughs.sort_unstable();
        let references: Vec<Reference> = raw
            .iter()
            .zip(&throughs)
            .map(|(&(place, _, code, is_store), &through)| {
                Reference::new(address(place), code, through, is_store)
            })
            .collect();
        let block = Block {
            address: address(place.rotate_left(5)),
            bytes,
            instructions,
            references: references.len() as u16,
            first_bytes: first_bytes as u8,
            flags: if place.is_multiple_of(7) {
                BlockFlags::KERNEL
            } else {
                BlockFlags::USER
            },
        };
        block
            .check(&references)
            .expect("a block that cannot be was made");
        self.chunk.blocks.push(block);
        self.chunk.references.extend(references);
    }

    fn walk(&mut self, (place, stride, count, is_store): Walk) {
        let start = address(place);
        for step in 0..i64::from(count) {
            let offset = (start as i64 % 4096 + step * i64::from(stride)).rem_euclid(4096) as u64;
            let data = start / 4096 * 4096 + offset;
            let block = access_at(address(place.rotate_left(3)));
            self.chunk.blocks.push(block);
            self.chunk
                .references
                .push(Reference::new(data, 3, 3, is_store));
        }
    }

    fn switch(&mut self, to: TaskId, is_voluntary: bool, cause: Cause) {
        self.chunk.mark(Mark::Switch {
            from: self.running,
            to,
            is_voluntary,
            cause,
        });
        self.running = to;
    }

    fn running_process(&self) -> Option<ProcessId> {
        self.tasks
            .iter()
            .find(|&&(task, _)| task == self.running)
            .map(|&(_, process)| process)
    }

    fn new_process(&mut self) -> ProcessId {
        self.processes += 1;
        ProcessId(self.processes)
    }

    fn birth(&mut self, process: Option<ProcessId>, parent: TaskId) {
        if self.tasks.len() >= MOST_TASKS {
            return;
        }
        self.births += 1;
        let process = process.unwrap_or_else(|| self.new_process());
        let task = TaskId(self.births);
        self.tasks.push((task, process));
        let name = format!("p{}", self.births % 3).into_bytes();
        self.chunk.mark(Mark::Birth {
            task,
            process,
            parent,
            name,
        });
    }

    /// Returns the running task or any other; `None` if that task is not alive.
    fn chosen(&self, (of_running, task): Choice) -> Option<TaskId> {
        let running = self.running_process().map(|_| self.running);
        if of_running {
            running
        } else {
            self.tasks.get(task).map(|&(task, _)| task)
        }
    }

    fn move_task(&mut self, moved: TaskId, process: ProcessId) {
        self.tasks
            .iter_mut()
            .filter(|(task, _)| *task == moved)
            .for_each(|(_, old)| *old = process);
    }

    fn exec(&mut self, task: Choice) {
        let Some(task) = self.chosen(task) else {
            return;
        };
        let process = self.new_process();
        self.move_task(task, process);
        self.chunk.mark(Mark::Exec {
            task,
            process,
            name: b"\xfenew".to_vec(),
        });
    }

    /// Ends a task. If it was the running one, the instructions until the next switch are the
    /// kernel's work for it.
    fn exit(&mut self, task: Choice) {
        let Some(ended) = self.chosen(task) else {
            return;
        };
        self.tasks.retain(|&(task, _)| task != ended);
        self.chunk.mark(Mark::Exit { task: ended });
    }

    /// Gives an existing task a new process, which no valid trace does.
    fn rebirth(&mut self, task: usize) {
        let Some(task) = self.chosen((false, task)) else {
            return;
        };
        let process = self.new_process();
        self.move_task(task, process);
        self.chunk.mark(Mark::Birth {
            task,
            process,
            parent: self.running,
            name: b"again".to_vec(),
        });
    }
}
