//! Internal to switchcost: functions and source lines for places in object files.
//!
//! The input is a path, the build ID that the file had when it was traced, and an offset in the
//! file; the output is the function and the source line. The sources are the file's own debugging
//! information or symbols (with their sizes), or the debugging information that the system stores
//! for the build ID. Paths come from traced programs and are not trusted: only regular files are
//! opened, and only if they are still the traced files.

mod table;

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use object::read::{Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache};
use rustix::fs::{Mode, OFlags};
use table::Table;

/// Function and source line of a place in an object file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLocation {
    /// Name of the function, demangled; for inlined code, the function into which it was inlined.
    /// `None` if unknown.
    pub function: Option<String>,
    /// Source line of the code itself, inlined or not, as `file:line`; `None` if unknown.
    pub line: Option<String>,
}

/// A cache of opened object files.
#[derive(Default)]
pub struct Symbols {
    objects: HashMap<(PathBuf, Option<String>), Option<Opened>>,
}

struct Opened {
    /// Segments of the file, each with its offset in the file, its length, and its first address.
    segments: Vec<(u64, u64, u64)>,
    /// Sections of the file, each with its offset in the file, its length, and its name.
    sections: Vec<(u64, u64, String)>,
    table: Table,
    loader: Loader,
    /// Separate debugging information for the file's build ID; `None` if the system has none.
    debug: Option<Debug>,
}

struct Debug {
    table: Table,
    loader: Loader,
}

/// Largest file, in bytes, that is opened. Debugging information of browsers has a few GiB.
const LARGEST_OBJECT: u64 = 4 << 30;
/// Maximum number of object files that are open at the same time.
const MOST_OBJECTS: usize = 256;

impl Symbols {
    /// Returns the function and the line at `offset` of the file at `path`. Both are `None` if the
    /// file is gone, has another build ID (in hexadecimal) than `build_id`, or does not describe
    /// the place.
    pub fn resolve(&mut self, path: &Path, build_id: Option<&str>, offset: u64) -> SourceLocation {
        self.opened(path, build_id)
            .map(|opened| opened.place(offset))
            .unwrap_or_default()
    }

    /// Returns the function or variable at `offset` of the file at `path`, by the symbol table
    /// alone. If no symbol contains the offset, returns the file's name and the section: `libc.so.6
    /// .dynsym`. `None` if the file is gone, has another build ID than `build_id`, or has no
    /// section there.
    pub fn symbol_or_section(
        &mut self,
        path: &Path,
        build_id: Option<&str>,
        offset: u64,
    ) -> Option<String> {
        let opened = self.opened(path, build_id)?;
        let section = || {
            Some(format!(
                "{} {}",
                path.file_name()?.to_string_lossy(),
                opened.section(offset)?
            ))
        };
        opened.symbol(offset).or_else(section)
    }

    fn opened(&mut self, path: &Path, build_id: Option<&str>) -> Option<&Opened> {
        let key = (path.to_owned(), build_id.map(str::to_owned));
        if self.objects.len() >= MOST_OBJECTS && !self.objects.contains_key(&key) {
            self.objects.clear();
        }
        self.objects
            .entry(key)
            .or_insert_with(|| Opened::open(path, build_id))
            .as_ref()
    }
}

/// Returns the build ID of the file at `path` in hexadecimal; `None` if it has none.
pub fn build_id(path: &Path) -> Option<String> {
    let contents = ReadCache::new(open_regular(path)?);
    let file = object::File::parse(&contents).ok()?;
    file.build_id().ok().flatten().map(hexadecimal)
}

impl Opened {
    fn open(path: &Path, wanted: Option<&str>) -> Option<Opened> {
        // Only a small part of the file is read.
        let contents = ReadCache::new(open_regular(path)?);
        let file = object::File::parse(&contents).ok()?;
        let found = file.build_id().ok().flatten().map(hexadecimal);
        if wanted.is_some() && found.as_deref() != wanted {
            return None;
        }
        let segments = file
            .segments()
            .map(|segment| (segment.file_range(), segment.address()));
        let segments = segments
            .map(|((offset, length), address)| (offset, length, address))
            .collect();
        let debug = found
            .as_deref()
            .and_then(debug_file)
            .and_then(|path| Debug::open(&path));
        let sections = file.sections().filter_map(|section| {
            let (offset, length) = section.file_range()?;
            Some((offset, length, section.name().ok()?.to_owned()))
        });
        let sections = sections.collect();
        Some(Opened {
            segments,
            sections,
            table: Table::read(&file),
            loader: load(path)?,
            debug,
        })
    }

    /// Returns the address, before relocation, at which an offset of the file is loaded; `None` if
    /// it is in no segment.
    fn address(&self, offset: u64) -> Option<u64> {
        let inside = |&&(first, length, _): &&(u64, u64, u64)| {
            offset.checked_sub(first).is_some_and(|from| from < length)
        };
        let &(first, _, start) = self.segments.iter().find(inside)?;
        Some(start.wrapping_add(offset - first))
    }

    fn section(&self, offset: u64) -> Option<&str> {
        let is_inside = |(first, length, _): &&(u64, u64, String)| {
            offset
                .checked_sub(*first)
                .is_some_and(|from| from < *length)
        };
        self.sections
            .iter()
            .find(is_inside)
            .map(|(_, _, name)| name.as_str())
    }

    fn symbol(&self, offset: u64) -> Option<String> {
        let address = self.address(offset)?;
        self.debug
            .as_ref()
            .and_then(|debug| debug.table.symbol_at(address))
            .or_else(|| self.table.symbol_at(address))
    }

    fn place(&self, offset: u64) -> SourceLocation {
        let Some(address) = self.address(offset) else {
            return SourceLocation::default();
        };
        let mut place = self
            .debug
            .as_ref()
            .map(|debug| look_up(&debug.loader, &debug.table, address))
            .unwrap_or_default();
        if place.function.is_none() || place.line.is_none() {
            let own = look_up(&self.loader, &self.table, address);
            place.function = place.function.or(own.function);
            place.line = place.line.or(own.line);
        }
        place
    }
}

impl Debug {
    fn open(path: &Path) -> Option<Debug> {
        let contents = ReadCache::new(open_regular(path)?);
        let table = Table::read(&object::File::parse(&contents).ok()?);
        Some(Debug {
            table,
            loader: load(path)?,
        })
    }
}

fn look_up(loader: &Loader, table: &Table, address: u64) -> SourceLocation {
    let line = loader
        .find_location(address)
        .ok()
        .flatten()
        .and_then(|location| {
            let file = location.file?;
            Some(
                location
                    .line
                    .map_or(file.to_owned(), |line| format!("{file}:{line}")),
            )
        });
    let function = loader.find_frames(address).ok().and_then(|mut frames| {
        // The last frame is that of the function that was called. The frames before it are inlined
        // into it.
        let mut outermost = None;
        while let Ok(Some(frame)) = frames.next() {
            outermost = frame.function.or(outermost);
        }
        Some(outermost?.demangle().ok()?.into_owned())
    });
    SourceLocation {
        function: function.or_else(|| table.symbol_at(address)),
        line,
    }
}

/// Returns the offset of a function in the file at `path`; `function` is any of the function's
/// symbol names. `None` if no symbol has the name: strip(1) removes the names of functions that are
/// not exported.
pub fn offset_of_function(path: &Path, function: &str) -> Option<u64> {
    let contents = ReadCache::new(open_regular(path)?);
    let file = object::File::parse(&contents).ok()?;
    let mut symbols = file.symbols().chain(file.dynamic_symbols());
    let is_it = |symbol: &object::Symbol<'_, '_, _>| {
        symbol.is_definition() && symbol.name() == Ok(function)
    };
    let address = symbols.find(is_it)?.address();
    file.segments().find_map(|segment| {
        let (offset, length) = segment.file_range();
        address
            .checked_sub(segment.address())
            .filter(|from| *from < length)
            .map(|from| offset + from)
    })
}

fn load(path: &Path) -> Option<Loader> {
    // The loader also opens the package of debugging information beside the file.
    let mut package = path.as_os_str().to_owned();
    package.push(".dwp");
    let package = Path::new(&package);
    let is_safe = package.symlink_metadata().is_err() || open_regular(package).is_some();
    is_safe.then(|| Loader::new(path).ok()).flatten()
}

fn open_regular(path: &Path) -> Option<File> {
    // Another user may have put a FIFO or a device there, for which opening has effects. A
    // descriptor with O_PATH has none, and opening it again cannot lead to another file.
    let named = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let named = File::from(named);
    let facts = named.metadata().ok()?;
    let is_wanted = path.is_absolute() && facts.is_file() && facts.len() <= LARGEST_OBJECT;
    is_wanted
        .then(|| File::open(format!("/proc/self/fd/{}", named.as_raw_fd())).ok())
        .flatten()
}

/// Returns the path of the separate debugging information for a build ID, as distributions install
/// it; `None` if it is not installed.
fn debug_file(build_id: &str) -> Option<PathBuf> {
    let (first, rest) = build_id.split_at_checked(2)?;
    let path = Path::new("/usr/lib/debug/.build-id")
        .join(first)
        .join(format!("{rest}.debug"));
    path.is_file().then_some(path)
}

/// Formats bytes as lower-case hexadecimal digits, as in build IDs.
pub fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use object::read::ObjectSymbol;
    use rustix::fs::FileType;

    use super::*;

    static A_VARIABLE_TO_BE_FOUND: [u32; 16] = [7; 16];

    #[inline(never)]
    fn a_place_to_be_found() -> u32 {
        std::hint::black_box(7)
    }

    /// Returns the path and the build ID of this test program (empty if it has none), and the
    /// offset of the first symbol whose name contains `name`.
    fn offset_of(name: &str) -> (PathBuf, String, u64) {
        let path = std::env::current_exe().expect("this program is a file");
        let contents = fs::read(&path).expect("readable");
        let file = object::File::parse(contents.as_slice()).expect("an ELF file");
        let symbol = file
            .symbols()
            .find(|symbol| symbol.name().is_ok_and(|found| found.contains(name)))
            .expect("kept");
        let inside = |segment: &object::Segment<'_, '_>| {
            (segment.address()..segment.address() + segment.size()).contains(&symbol.address())
        };
        let segment = file.segments().find(inside).expect("code is loaded");
        let build_id = file
            .build_id()
            .expect("well-formed")
            .map(hexadecimal)
            .unwrap_or_default();
        (
            path,
            build_id,
            symbol.address() - segment.address() + segment.file_range().0,
        )
    }

    #[test]
    fn finds_function_and_line_of_a_place() {
        assert_eq!(a_place_to_be_found(), 7);
        let (path, build_id, offset) = offset_of("a_place_to_be_found");
        let build_id = Some(build_id.as_str()).filter(|id| !id.is_empty());
        let place = Symbols::default().resolve(&path, build_id, offset);
        let has =
            |part: &Option<String>, text| part.as_ref().is_some_and(|part| part.contains(text));
        assert!(
            has(&place.function, "a_place_to_be_found") && has(&place.line, ".rs:"),
            "{place:?}"
        );
    }

    #[test]
    fn finds_a_variable_by_the_table_of_symbols() {
        let (path, build_id, offset) = offset_of("A_VARIABLE_TO_BE_FOUND");
        let build_id = Some(build_id.as_str()).filter(|id| !id.is_empty());
        assert_eq!(std::hint::black_box(&A_VARIABLE_TO_BE_FOUND)[0], 7);
        let symbol = Symbols::default().symbol_or_section(&path, build_id, offset + 9);
        assert!(
            symbol
                .as_deref()
                .is_some_and(|name| name.contains("A_VARIABLE_TO_BE_FOUND")),
            "{symbol:?}"
        );
        assert_eq!(
            Symbols::default().symbol_or_section(&path, Some("00ff"), offset),
            None
        );
        let contents = fs::read(&path).expect("readable");
        let file = object::File::parse(contents.as_slice()).expect("an ELF file");
        let strings = file
            .section_by_name(".dynstr")
            .and_then(|section| section.file_range())
            .expect("it is linked");
        let found = Symbols::default()
            .symbol_or_section(&path, build_id, strings.0)
            .expect("a section");
        assert!(found.ends_with(" .dynstr"), "{found}");
    }

    #[test]
    fn says_nothing_about_another_build_a_pipe_or_nothing() {
        let (path, _, offset) = offset_of("a_place_to_be_found");
        let mut symbols = Symbols::default();
        for (path, build_id, offset) in [
            (path.as_path(), Some("00ff"), offset),
            (Path::new("/dev/zero"), None, 0),
            (Path::new("/nonexistent"), None, 0),
            (Path::new("relative"), None, 0),
            (&path, None, u64::MAX),
        ] {
            let found = symbols.resolve(path, build_id, offset);
            assert_eq!(found, SourceLocation::default(), "{path:?}");
        }
    }
    #[test]
    fn a_fifo_beside_an_object_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let (program, _, offset) = offset_of("a_place_to_be_found");
        let [object, package] = ["object", "object.dwp"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink(program, &object).expect("a link");
        make_fifo(&package);
        let (resolved, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            resolved.send(Symbols::default().resolve(&object, None, offset))
        });
        let found = receiver.recv_timeout(std::time::Duration::from_secs(60));
        assert_eq!(found, Ok(SourceLocation::default()));
    }

    fn make_fifo(path: &Path) {
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, mode, 0).expect("a FIFO");
    }

    #[test]
    fn only_regular_files_are_opened() {
        use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
        let folder = tempfile::tempdir().expect("a folder");
        let [fifo, object] = ["fifo", "object"].map(|name| folder.path().join(name));
        make_fifo(&fifo);
        fs::write(&object, "no object").expect("a file");
        let opened = |path: &Path| {
            let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
            let events = inotify::init(flags).expect("a queue");
            inotify::add_watch(&events, path, WatchFlags::OPEN).expect("a watch");
            assert_eq!(build_id(path), None);
            rustix::io::read(&events, &mut [0; 256]).is_ok()
        };
        assert_eq!([&fifo, &object].map(|path| opened(path)), [false, true]);
    }
}
