//! Imports traces of DynamoRIO's drmemtrace after its post-processing: the records of one core, of
//! one thread, or of all threads in separate files. The importer was written without DynamoRIO's
//! code, from its public documentation ("Trace Format", "DrCacheSim Offline Trace Debugging") and
//! the numbering in its public header `trace_entry.h`, versions 1 to 7. Numbers have only been
//! added at the end of that header since drmemtrace stores traces in files. If the first record of
//! a file is a header of type 25, the file has this numbering up to 25: in earlier versions the
//! header had another type.

mod file;
mod file_type;
mod numbers;
mod records;
mod threads;

use std::collections::BTreeSet;
use std::io::BufRead;

use super::assembler::Assembler;
use super::lines::harmless;
use super::{ImportError, Imported, Location, Source};
use file::File;
use file_type::{FIRST_PART, FileType};
use numbers::{kind, marker};
use records::Record;
use threads::Threads;

const NEEDED_RECORD: &str =
    "one that a trace of a 64-bit program holds, of type 0 to 29 or 31 to 49";

/// Note for threads in separate files, which the importer interleaves.
const INTERLEAVED: &str = "threads that may have run concurrently on several CPUs alternate in the trace, in the order of their \
    time stamps, so the switches are not the machine's; to import what one CPU ran, use --cpu";

const WINDOWS: &str =
    "the trace was taken in windows: what ran between two windows is missing, also from the caches";
const PHYSICAL: &str = "the trace also has physical addresses, which are ignored";
const WAITING: &str =
    "the trace has waits that keep the order of its scheduler; they do not count as idle time";
const LATER: &str = "the trace has markers that this version does not know, and ignores";

pub(super) struct Drmemtrace<R: BufRead> {
    files: Vec<File<R>>,
    /// Index in `files` of the current file.
    current: usize,
    /// CPU of the traced machine whose instructions are imported; `None` for all. `cpus` are all
    /// CPUs in the trace.
    cpu: Option<u64>,
    cpus: BTreeSet<u64>,
    file_type: Option<FileType>,
    threads: Threads,
    has_run: bool,
    was_idle: bool,
    /// Notes that markers in the trace imply.
    told: BTreeSet<&'static str>,
}

impl<R: BufRead> Source for Drmemtrace<R> {
    fn notes(&self) -> Vec<&'static str> {
        let interleaved = self.is_interleaved().then_some(INTERLEAVED);
        self.file_type
            .iter()
            .flat_map(|file_type| file_type.notes())
            .chain(interleaved)
            .chain(self.told.iter().copied())
            .collect()
    }

    fn arch(&self) -> Option<&'static str> {
        self.file_type.and_then(FileType::arch)
    }

    fn step(&mut self, into: &mut Assembler) -> Imported<bool> {
        let Some(file) = self.files.get_mut(self.current) else {
            return Ok(false);
        };
        let place = file.records.place();
        let is_core = self.file_type.is_some_and(FileType::is_core);
        let step = match file.next_record(is_core) {
            Ok(Some(record)) => self.follow(&record, place, into).map(|()| true),
            Ok(None) => return self.next_file(into),
            Err(why) => Err(why),
        };
        step.map_err(|why| name_file(self.files.len() == 1, &self.files[self.current].name, why))
    }
}

impl<R: BufRead> Drmemtrace<R> {
    pub(super) fn new(files: Vec<(String, R)>, cpu: Option<u64>) -> Imported<Self> {
        let is_one = files.len() == 1;
        let open = |(name, from): (String, R)| {
            let name = harmless(name.as_bytes());
            File::new(name.clone(), from).map_err(|why| name_file(is_one, &name, why))
        };
        Ok(Drmemtrace {
            files: files.into_iter().map(open).collect::<Result<_, _>>()?,
            current: 0,
            cpu,
            cpus: BTreeSet::new(),
            file_type: None,
            threads: Threads::default(),
            has_run: false,
            was_idle: false,
            told: BTreeSet::new(),
        })
    }

    fn follow(&mut self, record: &Record, place: Location, into: &mut Assembler) -> Imported {
        match record.kind {
            kind::THREAD => self.belongs_to(Some(record.address), None),
            kind::PROCESS => self.belongs_to(self.files[self.current].thread, Some(record.address)),
            kind::THREAD_EXIT => self
                .threads
                .exit(record.address, !self.is_elsewhere(), into),
            kind::HEADER => self.was_idle |= record.address == 0,
            kind::MARKER => return self.marker(record, place, into),
            kind::FOOTER | kind::ENCODING => {}
            _ if self.is_elsewhere() => {}
            _ => return self.executed(record, place, into),
        }
        Ok(())
    }

    /// Adds the instruction, the instructions (of a bundle) or the data reference of a record.
    /// Prefetches and flushes are ignored and counted.
    fn executed(&mut self, record: &Record, place: Location, into: &mut Assembler) -> Imported {
        let Record {
            kind,
            size,
            address,
        } = *record;
        match kind {
            // The tracer does not know the size of some accesses, such as those of XSAVE.
            kind::READ | kind::WRITE if size == 0 => {
                into.reference_of_unknown_size(place, address, kind == kind::WRITE)?;
            }
            kind::READ | kind::WRITE => {
                into.reference(place, address, size.into(), kind == kind::WRITE)?
            }
            // An instruction without a fetch is a further iteration of a repeated string
            // instruction. The iteration counts as one more instruction.
            kind::FIRST_INSTRUCTION..=kind::LAST_INSTRUCTION
            | kind::NOT_FETCHED
            | kind::SYSENTER
            | kind::TAKEN_JUMP
            | kind::UNTAKEN_JUMP => self.instruction(place, address, size.into(), into)?,
            kind::BUNDLE => self.bundle(record, place, into)?,
            kind::FIRST_PREFETCH..=kind::LAST_PREFETCH
            | kind::FIRST_FLUSH..=kind::LAST_FLUSH
            | kind::HARDWARE_PREFETCH
            | kind::FIRST_LATER_PREFETCH..=kind::LAST_LATER_PREFETCH => into.ignored += 1,
            _ => {
                return Err(ImportError::Unknown {
                    place,
                    found: record.described(),
                    needed: NEEDED_RECORD,
                });
            }
        }
        Ok(())
    }

    fn instruction(
        &mut self,
        place: Location,
        address: u64,
        bytes: u64,
        into: &mut Assembler,
    ) -> Imported {
        self.has_run = true;
        self.threads.run(place, into)?;
        into.set_flags(self.threads.flags(address));
        into.instruction(place, address, bytes)
    }

    /// Adds up to eight instructions that follow the last one. The record has the instructions'
    /// lengths instead of an address.
    fn bundle(&mut self, record: &Record, place: Location, into: &mut Assembler) -> Imported {
        let lengths = record.address.to_le_bytes();
        let lengths = lengths
            .get(..record.size.into())
            .filter(|lengths| !lengths.is_empty())
            .ok_or_else(|| {
                let needed = "a bundle of 1 to 8 instructions";
                ImportError::Unknown {
                    place,
                    found: record.described(),
                    needed,
                }
            })?;
        for &length in lengths {
            let address = into
                .next_address()
                .ok_or(ImportError::NoInstruction { place })?;
            self.instruction(place, address, length.into(), into)?;
        }
        Ok(())
    }

    fn marker(&mut self, record: &Record, place: Location, into: &mut Assembler) -> Imported {
        let value = record.address;
        match record.size {
            marker::FILE_TYPE => return self.file_type(FileType::new(value, place)?, place),
            marker::TIMESTAMP => self.stamp(value, into),
            marker::CPU => self.cpu(value, into),
            marker::SYSCALL_TRACE_BEGINS => self.threads.set_in_kernel(true),
            marker::SYSCALL_TRACE_ENDS => self.threads.set_in_kernel(false),
            marker::SWITCH_TRACE_BEGINS => self.threads.switching(true),
            marker::SWITCH_TRACE_ENDS => self.threads.switching(false),
            marker::FILTER_ENDS => {
                return Err(ImportError::Filtered {
                    place,
                    until: FIRST_PART,
                });
            }
            marker::WINDOW
            | marker::PHYSICAL_ADDRESS
            | marker::CORE_WAITS
            | marker::FIRST_LATER..=marker::LAST_RESERVED => {
                self.told.insert(note_of(record.size));
            }
            _ if self.is_elsewhere() || self.is_interleaved() => {}
            marker::SYSCALL => self.threads.call(value),
            marker::MAY_BLOCK => self.threads.may_block(),
            marker::CORE_IDLE => {
                self.was_idle = true;
                self.threads.idle();
            }
            _ => {}
        }
        Ok(())
    }

    fn file_type(&mut self, found: FileType, place: Location) -> Imported {
        let core = |needed| Err(ImportError::Core { place, needed });
        if found.is_core() && self.files.len() > 1 {
            return core("the trace of this core alone");
        }
        if found.is_core() && self.cpu.is_some() {
            return core("no --cpu");
        }
        let before = self
            .file_type
            .or_else(|| self.has_run.then(FileType::default));
        FileType::agree(before, found, place)?;
        self.file_type = Some(found);
        Ok(())
    }

    /// Whether threads are interleaved by this importer. A thread's last records then do not show
    /// why another thread follows.
    fn is_interleaved(&self) -> bool {
        self.files.len() > 1 && self.cpu.is_none()
    }

    /// Whether the records that follow belong to a CPU other than the requested one.
    fn is_elsewhere(&self) -> bool {
        self.cpu.is_some() && self.cpu != self.files[self.current].cpu
    }

    fn present(&mut self) -> &mut File<R> {
        &mut self.files[self.current]
    }

    /// Sets the thread of the following records in the current file. The file may not repeat the
    /// thread's process.
    fn belongs_to(&mut self, thread: Option<u64>, process: Option<u64>) {
        let file = self.present();
        (file.thread, file.process) = (thread, process);
        self.present_thread();
    }

    /// Makes the thread of the current file the current thread.
    fn present_thread(&mut self) {
        let file = &self.files[self.current];
        self.threads.thread(file.thread.unwrap_or_default());
        if let Some(process) = file.process {
            self.threads.process(process);
        }
    }

    /// Records the time of the next records in the current file. Another file may now have earlier
    /// records.
    fn stamp(&mut self, microseconds: u64, into: &mut Assembler) {
        self.present().now = microseconds;
        self.choose(into);
    }

    /// Records the CPU of the records that follow. The lower 12 bits are the CPU's number, if the
    /// tracer knew it.
    fn cpu(&mut self, value: u64, into: &mut Assembler) {
        let cpu = (value != u64::MAX).then_some(value & 0xfff);
        if self.cpu.is_some() && self.present().cpu != cpu {
            into.end();
        }
        self.present().cpu = cpu;
        self.cpus.extend(cpu);
    }

    /// Selects the file with the earliest record. Returns false if all files have been read.
    fn choose(&mut self, into: &mut Assembler) -> bool {
        let unread = self
            .files
            .iter()
            .enumerate()
            .filter(|(_, file)| !file.is_read);
        let Some((first, _)) =
            unread.min_by_key(|(number, file)| (file.now, *number != self.current))
        else {
            return false;
        };
        if first != self.current {
            self.current = first;
            self.present_thread();
            // Instructions of two files never form one block.
            into.end();
        }
        true
    }

    fn next_file(&mut self, into: &mut Assembler) -> Imported<bool> {
        self.present().is_read = true;
        if self.choose(into) {
            return Ok(true);
        }
        self.threads.end(into);
        match self.cpu {
            _ if self.has_run => Ok(false),
            Some(cpu) => Err(ImportError::NothingOnCpu {
                cpu,
                seen: self.cpus.iter().copied().collect(),
            }),
            None if self.was_idle => Err(ImportError::Idle),
            None => Ok(false),
        }
    }
}

/// Returns the note on results that a marker requires.
fn note_of(marker: u16) -> &'static str {
    match marker {
        marker::WINDOW => WINDOWS,
        marker::PHYSICAL_ADDRESS => PHYSICAL,
        marker::CORE_WAITS => WAITING,
        _ => LATER,
    }
}

/// Adds the file's name to an error, unless there is only one file.
fn name_file(is_one: bool, name: &str, why: ImportError) -> ImportError {
    if is_one {
        why
    } else {
        ImportError::OfFile {
            file: name.to_owned(),
            source: Box::new(why),
        }
    }
}

#[cfg(test)]
mod tests;
