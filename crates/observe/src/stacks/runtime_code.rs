//! Names of code generated at run time, which programs publish for profilers: in a map with one
//! line per function (`/tmp/perf-PID.map`, as of Node.js, Python, and JVMs with an agent), or in
//! the log of a just-in-time compiler (`jit-PID.dump`, which the program maps to announce it).
//!
//! Both files grow while the program runs, and are read from the last position on. If two functions
//! have the same address, the later one counts. The content of the files comes from the observed
//! program, and is not trusted.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use switchcost_facts::Root;
use switchcost_host::foreign_file::open_seen_by;

use super::mappings::Mappings;

/// Shortest time between two reads of the files.
const EACH: Duration = Duration::from_millis(10);

/// Maximum number of functions that are stored for a process.
const MOST_FUNCTIONS: usize = 1 << 19;
/// Maximum number of bytes that are read of a map, and of one record of a log.
const MOST_BYTES: u64 = 64 << 20;
/// Maximum length of a name in bytes. Longer names are cut.
const LONGEST_NAME: usize = 512;

/// Generated code of one process.
#[derive(Debug, Default)]
pub(crate) struct RuntimeCode {
    functions: Functions,
    map: Option<MapFile>,
    log: Option<CompilerLog>,
    read: Option<Instant>,
}

impl RuntimeCode {
    /// Returns the name of the function at an address; `None` if the program has not published one.
    pub(crate) fn name_at(
        &mut self,
        process: u32,
        mappings: &Mappings,
        address: u64,
    ) -> Option<&str> {
        if self.read.is_none_or(|read| read.elapsed() >= EACH) {
            self.read_on(process, mappings);
            self.read = Some(Instant::now());
        }
        self.functions.find(address)
    }

    fn read_on(&mut self, process: u32, mappings: &Mappings) {
        if self.map.is_none()
            && let Some(number) = own_number(process)
        {
            let path = format!("/tmp/perf-{number}.map");
            self.map = open_seen_by(process, Path::new(&path))
                .ok()
                .map(MapFile::new);
        }
        if self.log.is_none()
            && let Some(path) = mappings.compiler_log()
        {
            self.log = open_seen_by(process, Path::new(path))
                .ok()
                .map(CompilerLog::new);
        }
        if let Some(map) = &mut self.map {
            map.read_on(&mut self.functions);
        }
        if let Some(log) = &mut self.log {
            log.read_on(&mut self.functions);
        }
    }
}

/// Returns the process ID in the innermost PID namespace, which the process uses in the names of
/// its files.
fn own_number(process: u32) -> Option<u32> {
    let status = Root::system()
        .read(&format!("/proc/{process}/status"))
        .ok()?;
    let numbers = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_whitespace().last()?.parse().ok()
}

/// Names of functions by their first address. Functions do not overlap.
#[derive(Debug, Default)]
struct Functions {
    by_start: BTreeMap<u64, (u64, Box<str>)>,
}

impl Functions {
    fn find(&self, address: u64) -> Option<&str> {
        let (_, (end, name)) = self.by_start.range(..=address).next_back()?;
        (address < *end).then_some(name)
    }

    /// Inserts a function. Removes the functions that it overlaps, and cuts those that begin before
    /// it.
    fn insert(&mut self, start: u64, size: u64, name: &[u8]) {
        let Some(end) = start.checked_add(size).filter(|end| *end > start) else {
            return;
        };
        while let Some((&other, (others_end, _))) = self.by_start.range_mut(..end).next_back()
            && *others_end > start
        {
            if other < start {
                *others_end = start;
            } else {
                self.by_start.remove(&other);
            }
        }
        if self.by_start.len() < MOST_FUNCTIONS {
            let name = String::from_utf8_lossy(&name[..name.len().min(LONGEST_NAME)]);
            self.by_start.insert(start, (end, name.into()));
        }
    }

    fn move_function(&mut self, from: u64, to: u64, size: u64) {
        if let Some((_, name)) = self.by_start.remove(&from) {
            self.insert(to, size, name.as_bytes());
        }
    }
}

/// A map with lines `START SIZE NAME`, whose numbers are hexadecimal.
#[derive(Debug)]
struct MapFile {
    file: File,
    /// Number of bytes in the complete lines that were read.
    read: u64,
}

impl MapFile {
    fn new(file: File) -> MapFile {
        MapFile { file, read: 0 }
    }

    fn read_on(&mut self, functions: &mut Functions) {
        let Ok(length) = self.file.metadata().map(|facts| facts.len()) else {
            return;
        };
        if length < self.read {
            // The file has become shorter, so the program has rewritten it.
            self.read = 0;
        }
        let mut text = vec![0; length.min(MOST_BYTES).saturating_sub(self.read) as usize];
        let Ok(count) = self.file.read_at(&mut text, self.read) else {
            return;
        };
        let lines = &text[..count];
        let whole = lines
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        self.read += whole as u64;
        for line in lines[..whole].split(|byte| *byte == b'\n') {
            if let Some((start, size, name)) = parse(line) {
                functions.insert(start, size, name);
            }
        }
    }
}

fn parse(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let mut fields = line.splitn(3, |byte| *byte == b' ');
    let mut number = || {
        let text = std::str::from_utf8(fields.next()?).ok()?;
        u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
    };
    let (start, size) = (number()?, number()?);
    Some((start, size, fields.next()?.trim_ascii()))
}

/// Log of a just-in-time compiler (format: tools/perf/Documentation/jitdump-specification.txt of
/// the kernel).
#[derive(Debug)]
struct CompilerLog {
    file: File,
    /// Number of bytes in the complete records that were read; `None` if the file is not a log, or
    /// is damaged.
    read: Option<u64>,
}

/// Magic number "JiTD" in the byte order of this machine.
const MAGIC: u32 = 0x4a69_5444;
const RECORD_HEAD: u64 = 16;
const LOADED: u32 = 0;
const MOVED: u32 = 1;
/// Length in bytes of the fields before the name in a record: process, thread, virtual address,
/// code address, size and index.
const LOADED_HEAD: usize = 40;

impl CompilerLog {
    fn new(file: File) -> CompilerLog {
        let mut head = [0; 12];
        let is_log = file.read_exact_at(&mut head, 0).is_ok() && number(&head, 0) == MAGIC;
        let read = is_log.then(|| u64::from(number(&head, 8)));
        CompilerLog { file, read }
    }

    fn read_on(&mut self, functions: &mut Functions) {
        let Ok(length) = self.file.metadata().map(|facts| facts.len()) else {
            return;
        };
        while let Some(at) = self.read.filter(|at| at + RECORD_HEAD <= length) {
            let mut head = [0; RECORD_HEAD as usize];
            if self.file.read_exact_at(&mut head, at).is_err() {
                return;
            }
            let (kind, size) = (number(&head, 0), u64::from(number(&head, 4)));
            if !(RECORD_HEAD..=MOST_BYTES).contains(&size) {
                self.read = None;
                return;
            }
            // The rest of the record is not written yet.
            if at + size > length {
                return;
            }
            let mut body =
                vec![0; (size - RECORD_HEAD).min((LOADED_HEAD + LONGEST_NAME) as u64) as usize];
            if self
                .file
                .read_exact_at(&mut body, at + RECORD_HEAD)
                .is_err()
            {
                return;
            }
            take(kind, &body, functions);
            self.read = Some(at + size);
        }
    }
}

fn take(kind: u32, body: &[u8], functions: &mut Functions) {
    let long = |at: usize| {
        let bytes = body.get(at..at + 8)?.try_into().ok()?;
        Some(u64::from_ne_bytes(bytes))
    };
    match kind {
        LOADED => {
            if let (Some(start), Some(size), Some(rest)) =
                (long(16), long(24), body.get(LOADED_HEAD..))
            {
                let name = rest.split(|byte| *byte == 0).next().unwrap_or_default();
                functions.insert(start, size, name);
            }
        }
        MOVED => {
            if let (Some(from), Some(to), Some(size)) = (long(16), long(24), long(32)) {
                functions.move_function(from, to, size);
            }
        }
        _ => {}
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let four = bytes[at..at + 4].try_into().expect("four bytes");
    u32::from_ne_bytes(four)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_map_is_read_as_it_grows_and_the_last_name_of_an_address_holds() {
        let mut file = tempfile::tempfile().expect("room");
        let mut map = MapFile::new(file.try_clone().expect("ours"));
        let mut functions = Functions::default();
        let text = "1000 100 LazyCompile:~a b.js:1\n0x2000 0x80 py::f:/x.py\nbad\n3000 0 empty\n4000 10 cu";
        file.write_all(text.as_bytes()).expect("room");
        map.read_on(&mut functions);
        assert_eq!(functions.find(0x10ff), Some("LazyCompile:~a b.js:1"));
        assert_eq!(functions.find(0x2000), Some("py::f:/x.py"));
        for address in [0, 0xfff, 0x1100, 0x3000, 0x4000, u64::MAX] {
            assert_eq!(functions.find(address), None, "{address:x}");
        }
        file.write_all(b"t off\n1040 20 newer\n1f00 200 over\nffffffffffffffff 10 end\n")
            .expect("room");
        map.read_on(&mut functions);
        assert_eq!(functions.find(0x4000), Some("cut off"));
        assert_eq!(functions.find(0x1030), Some("LazyCompile:~a b.js:1"));
        assert_eq!(functions.find(0x1050), Some("newer"));
        assert_eq!(functions.find(0x1060), None, "its end is overwritten");
        assert_eq!(functions.find(0x2000), Some("over"));
        file.set_len(0).expect("ours");
        file.write_at(b"9000 10 anew\n", 0).expect("room");
        map.read_on(&mut functions);
        assert_eq!(functions.find(0x9000), Some("anew"));
    }

    fn record(kind: u32, numbers: &[u64], rest: &[u8]) -> Vec<u8> {
        let size = 16 + 8 + 8 * numbers.len() + rest.len();
        let mut bytes = [kind, size as u32].map(u32::to_ne_bytes).concat();
        // Time stamp, process and thread.
        bytes.extend([1_u64, 7].map(u64::to_ne_bytes).concat());
        numbers
            .iter()
            .for_each(|number| bytes.extend(number.to_ne_bytes()));
        bytes.extend(rest);
        bytes
    }

    #[test]
    fn a_log_of_a_compiler_is_read_as_it_grows() {
        let mut file = tempfile::tempfile().expect("room");
        let head = [MAGIC, 1, 40].map(u32::to_ne_bytes).concat();
        file.write_all(&head).expect("room");
        file.write_all(&[0; 28]).expect("room");
        let loaded = record(LOADED, &[0x9000, 0x1000, 0x40, 1], b"f(int)\0\x90\x90");
        file.write_all(&loaded).expect("room");
        file.write_all(&record(2, &[1, 2], &[])).expect("room");
        let moved = record(MOVED, &[0x9000, 0x1000, 0x5000, 0x40, 1], &[]);
        file.write_all(&moved[..20]).expect("room");
        let mut log = CompilerLog::new(file.try_clone().expect("ours"));
        let mut functions = Functions::default();
        log.read_on(&mut functions);
        assert_eq!(functions.find(0x103f), Some("f(int)"));
        file.write_all(&moved[20..]).expect("room");
        log.read_on(&mut functions);
        assert_eq!(
            (functions.find(0x1000), functions.find(0x5000)),
            (None, Some("f(int)"))
        );
        // A record without a length would be read forever.
        file.write_all(&[0; 64]).expect("room");
        log.read_on(&mut functions);
        assert_eq!(log.read, None);
        let other = tempfile::tempfile().expect("room");
        assert_eq!(CompilerLog::new(other).read, None);
    }
}
