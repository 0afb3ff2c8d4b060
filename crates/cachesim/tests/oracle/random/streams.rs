//! Generates random streams: several processes and threads, every kind of mark, addresses from a
//! small pool.

use proptest::prelude::*;
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

/// An event of a stream, which applies to whichever process runs.
#[derive(Clone, Debug)]
enum Event {
    Block {
        place: u16,
        bytes: u16,
        instructions: u16,
        first: u16,
        references: Vec<(u16, u16, u8, bool)>,
    },
    /// Loads or stores at equal distances, by one instruction.
    Walk {
        place: u16,
        stride: i16,
        count: u8,
        is_store: bool,
    },
    Switch {
        to: usize,
        is_voluntary: bool,
        cause: u8,
    },
    Fork,
    Command,
    Thread,
    Exec {
        of_running: bool,
        task: usize,
    },
    Exit {
        of_running: bool,
        task: usize,
    },
    /// An existing task gets a new process.
    Rebirth {
        task: usize,
    },
    SwitchToUnborn,
    SyscallEnter(u16),
    SyscallExit(u16),
    Touch {
        place: u16,
        bytes: u64,
        is_store: bool,
    },
    Fault(u16),
    Map {
        page: usize,
        pages: u64,
        offset: u64,
        file: u8,
    },
    Unmap {
        page: usize,
        bytes: u64,
    },
    Page {
        page: usize,
        frame: u64,
        bits: u32,
    },
}

fn reference() -> impl Strategy<Value = (u16, u16, u8, bool)> {
    let size = prop_oneof![6 => 0..8_u8, 3 => 8..21_u8, 1 => 21..32_u8];
    (any::<u16>(), 0..200_u16, size, prop::bool::weighted(0.4))
}

fn syscall() -> impl Strategy<Value = u16> {
    prop_oneof![4 => 0..2_u16, 1 => 398..400_u16]
}

fn event() -> impl Strategy<Value = Event> {
    let block = (
        any::<u16>(),
        1..150_u16,
        1..20_u16,
        1..150_u16,
        prop::collection::vec(reference(), 0..6),
    )
        .prop_map(
            |(place, bytes, instructions, first, references)| Event::Block {
                place,
                bytes,
                instructions,
                first,
                references,
            },
        );
    let stride = prop_oneof![2 => 1..300_i16, 1 => -300..0_i16];
    let walk = (any::<u16>(), stride, 2..8_u8, prop::bool::weighted(0.3)).prop_map(
        |(place, stride, count, is_store)| Event::Walk {
            place,
            stride,
            count,
            is_store,
        },
    );
    let switch =
        (0..MOST_TASKS + 1, any::<bool>(), 0..10_u8).prop_map(|(to, is_voluntary, cause)| {
            Event::Switch {
                to,
                is_voluntary,
                cause,
            }
        });
    let touch = (any::<u16>(), 0..300_u64, any::<bool>()).prop_map(|(place, bytes, is_store)| {
        Event::Touch {
            place,
            bytes,
            is_store,
        }
    });
    let map =
        (0..PAGES.len(), 1..4_u64, 0..3_u64, 0..4_u8).prop_map(|(page, pages, offset, file)| {
            Event::Map {
                page,
                pages,
                offset,
                file,
            }
        });
    let page = (0..PAGES.len(), 0..6_u64, 0..2_u32).prop_map(|(page, frame, bits)| Event::Page {
        page,
        frame,
        bits,
    });
    prop_oneof![
        54 => block,
        6 => walk,
        14 => switch,
        1 => Just(Event::Fork),
        1 => Just(Event::Command),
        1 => Just(Event::Thread),
        1 => (prop::bool::weighted(0.8), 0..MOST_TASKS).prop_map(|(of_running, task)| Event::Exec { of_running, task }),
        1 => (prop::bool::weighted(0.8), 0..MOST_TASKS).prop_map(|(of_running, task)| Event::Exit { of_running, task }),
        1 => (0..MOST_TASKS * 8).prop_map(|task| Event::Rebirth { task }),
        1 => Just(Event::SwitchToUnborn),
        2 => syscall().prop_map(Event::SyscallEnter),
        2 => syscall().prop_map(Event::SyscallExit),
        4 => touch,
        1 => any::<u16>().prop_map(Event::Fault),
        2 => map,
        1 => (0..PAGES.len(), 0..9000_u64).prop_map(|(page, bytes)| Event::Unmap { page, bytes }),
        3 => page,
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
    let starts_at_once = prop::bool::weighted(0.9);
    (
        starts_at_once,
        prop::collection::vec(event(), 0..most_events),
    )
        .prop_map(|(starts, events)| {
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
    ends.push(length);
    let mut chunks = vec![Chunk::default()];
    let (mut references, mut marks, mut done) =
        (&whole.references[..], whole.marks.iter().peekable(), 0);
    let mut ends = ends.into_iter();
    let mut end = ends.next();
    let mut take = |chunks: &mut Vec<Chunk>, add: &mut dyn FnMut(&mut Chunk)| {
        while end == Some(done) && done < length {
            chunks.push(Chunk::default());
            end = ends.next();
        }
        add(chunks.last_mut().expect("one is there"));
        done += 1;
    };
    for index in 0..=whole.blocks.len() {
        while let Some(placed) = marks.next_if(|placed| placed.before_block as usize <= index) {
            take(&mut chunks, &mut |chunk| chunk.mark(placed.mark.clone()));
        }
        let Some(block) = whole.blocks.get(index) else {
            break;
        };
        let (now, later) = references.split_at(block.references.into());
        references = later;
        take(&mut chunks, &mut |chunk| {
            chunk.blocks.push(*block);
            chunk.references.extend_from_slice(now);
        });
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
            Event::Block {
                place,
                bytes,
                instructions,
                first,
                references,
            } => {
                self.block(*place, *bytes, *instructions, *first, references);
            }
            &Event::Walk {
                place,
                stride,
                count,
                is_store,
            } => self.walk(place, stride, count, is_store),
            &Event::Switch {
                to,
                is_voluntary,
                cause,
            } => self.switch_to_some(to, is_voluntary, cause),
            Event::Fork if self.running_process().is_some() => self.birth(None, self.running),
            Event::Fork => {}
            Event::Command => self.birth(None, TaskId::NONE),
            Event::Thread => {
                let process = self.running_process();
                if process.is_some() {
                    self.birth(process, self.running);
                }
            }
            &Event::Exec { of_running, task } => self.exec(of_running, task),
            &Event::Exit { of_running, task } => self.exit(of_running, task),
            &Event::Rebirth { task } => self.rebirth(task),
            Event::SwitchToUnborn => self.switch(TaskId(1000), true, Cause::WakeUp),
            &Event::SyscallEnter(number) => self.chunk.mark(Mark::SyscallEnter { number }),
            &Event::SyscallExit(number) => self.chunk.mark(Mark::SyscallExit { number }),
            &Event::Touch {
                place,
                bytes,
                is_store,
            } => {
                self.chunk.mark(Mark::KernelTouch {
                    address: address(place),
                    bytes,
                    is_store,
                });
            }
            &Event::Fault(place) => self.chunk.mark(Mark::Fault {
                address: address(place),
            }),
            &Event::Map {
                page,
                pages,
                offset,
                file,
            } => self.chunk.mark(Mark::Map(Mapping {
                start: PAGES[page],
                bytes: pages * 4096,
                offset: offset * 4096,
                path: [&b"/lib/a"[..], b"/lib/\xffb", b"", b"/lib/a"][usize::from(file)].to_vec(),
                build_id: vec![file; usize::from(file % 3)],
                is_executable: file != 1,
            })),
            &Event::Unmap { page, bytes } => self.chunk.mark(Mark::Unmap {
                start: PAGES[page],
                bytes,
            }),
            &Event::Page { page, frame, bits } => {
                let bytes = 4096_u64 << bits;
                let virtual_address = PAGES[page] & !(bytes - 1);
                self.chunk.mark(Mark::Page {
                    virtual_address,
                    physical_address: frame * bytes,
                    bytes,
                });
            }
        }
    }

    fn block(
        &mut self,
        place: u16,
        bytes: u16,
        instructions: u16,
        first: u16,
        raw: &[(u16, u16, u8, bool)],
    ) {
        let instructions = instructions.min(bytes);
        let first_bytes = if instructions == 1 {
            bytes
        } else {
            first.min(bytes).min(15)
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

    fn walk(&mut self, place: u16, stride: i16, count: u8, is_store: bool) {
        let start = address(place);
        for step in 0..i64::from(count) {
            let offset = (start as i64 % 4096 + step * i64::from(stride)).rem_euclid(4096) as u64;
            let data = start / 4096 * 4096 + offset;
            let block = Block {
                address: address(place.rotate_left(3)),
                bytes: 4,
                instructions: 1,
                references: 1,
                first_bytes: 4,
                flags: BlockFlags::USER,
            };
            self.chunk.blocks.push(block);
            self.chunk
                .references
                .push(Reference::new(data, 3, 3, is_store));
        }
    }

    fn switch_to_some(&mut self, to: usize, is_voluntary: bool, cause: u8) {
        let to = match to % (self.tasks.len() + 1) {
            place if place < self.tasks.len() => self.tasks[place].0,
            _ => TaskId::NONE,
        };
        let causes = [
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
        self.switch(to, is_voluntary, causes[usize::from(cause)]);
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
    fn chosen(&self, of_running: bool, task: usize) -> Option<TaskId> {
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

    fn exec(&mut self, of_running: bool, task: usize) {
        let Some(task) = self.chosen(of_running, task) else {
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
    fn exit(&mut self, of_running: bool, task: usize) {
        let Some(ended) = self.chosen(of_running, task) else {
            return;
        };
        self.tasks.retain(|&(task, _)| task != ended);
        self.chunk.mark(Mark::Exit { task: ended });
    }

    /// Gives an existing task a new process, which no valid trace does.
    fn rebirth(&mut self, task: usize) {
        let Some(task) = self.chosen(false, task) else {
            return;
        };
        let process = self.new_process();
        self.move_task(task, process);
        let parent = self.running;
        self.chunk.mark(Mark::Birth {
            task,
            process,
            parent,
            name: b"again".to_vec(),
        });
    }
}
