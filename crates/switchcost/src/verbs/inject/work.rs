//! Parses the unit of work of a service, as given on the command line.

use std::path::{Path, PathBuf};

use switchcost_facts::Root;
use switchcost_host::perf::Called;
use switchcost_inject::service::Work;
use switchcost_record::printable;
use switchcost_symbols::offset_of_function;

use crate::exit::{Failure, Outcome};

/// Parses a unit of work: `syscall:NAME`, `uprobe:LIBRARY:FUNCTION`, or a command.
pub(super) fn parse(text: &str, process: u32) -> Outcome<Work> {
    if let Some(name) = text.strip_prefix("syscall:") {
        return Ok(Work::Called(Called::SystemCall(name.to_owned())));
    }
    match text.strip_prefix("uprobe:") {
        Some(rest) => function(rest, process).map(Work::Called),
        None => Ok(Work::Command(text.to_owned())),
    }
}

fn function(text: &str, process: u32) -> Outcome<Called> {
    let (library, function) = text
        .rsplit_once(':')
        .filter(|(library, function)| !library.is_empty() && !function.is_empty())
        .ok_or_else(|| {
            Failure::broken(format!(
                "uprobe:{} does not name a library or program and its function; write uprobe:libc.so.6:malloc",
                printable(text)
            ))
        })?;
    let maps = Root::system()
        .read(&format!("/proc/{process}/maps"))
        .unwrap_or_default();
    let path = mapped(&maps, library).ok_or_else(|| {
        Failure::broken(format!(
            "process {process} has not mapped {}; /proc/{process}/maps lists what it has",
            printable(library)
        ))
    })?;
    // The path is that within the process' root.
    let file = PathBuf::from(format!("/proc/{process}/root{}", path.display()));
    let offset = offset_of_function(&file, function).ok_or_else(|| {
        Failure::broken(format!(
            "{} has no function {}; nm -D --defined-only lists what a stripped file has",
            printable(&path.to_string_lossy()),
            printable(function)
        ))
    })?;
    Ok(Called::Function { file, offset })
}

/// Returns the mapped file whose path or name is `wanted`, or else a file of the library `wanted`
/// with a longer version; `None` if there is none.
fn mapped(maps: &str, wanted: &str) -> Option<PathBuf> {
    let paths = maps
        .lines()
        .filter_map(|line| Some(Path::new(&line[line.find('/')?..])));
    let is_it = |path: &&Path| {
        *path == Path::new(wanted) || path.file_name().is_some_and(|name| name == wanted)
    };
    let is_longer = |path: &&Path| {
        path.file_name()
            .is_some_and(|name| is_version_of(wanted, &name.to_string_lossy()))
    };
    paths
        .clone()
        .find(is_it)
        .or_else(|| paths.clone().find(is_longer))
        .map(Path::to_owned)
}

/// Returns true if a file's name is the library's name with a longer version, as `libz.so.1.2.13`
/// for `libz.so.1`.
fn is_version_of(library: &str, file: &str) -> bool {
    library.contains(".so")
        && file
            .strip_prefix(library)
            .is_some_and(|version| version.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_its_path_or_name() {
        let maps = "55 r-xp 0 fd:00 7   /usr/bin/server\n7f rw-p 0 00:00 0\n7f r-xp 0 fd:00 9  /usr/lib/libc.so.6\n7f rw-p 0 00:00 0 [heap]\n";
        let linked =
            "7f r-xp 0 fd:00 9  /usr/lib/libz.so.1.2.13\n7f r-xp 0 fd:00 9  /usr/lib/libz.so.12\n";
        for (maps, name, file) in [
            (maps, "libc.so.6", Some("/usr/lib/libc.so.6")),
            (maps, "/usr/bin/server", Some("/usr/bin/server")),
            (linked, "libz.so", Some("/usr/lib/libz.so.1.2.13")),
            (linked, "libz.so.1", Some("/usr/lib/libz.so.1.2.13")),
            (linked, "libz.so.1.2.13", Some("/usr/lib/libz.so.1.2.13")),
            (linked, "libz.so.12", Some("/usr/lib/libz.so.12")),
            (linked, "libz", None),
            (maps, "libc", None),
            (maps, "[heap]", None),
            ("", "x", None),
        ] {
            assert_eq!(mapped(maps, name), file.map(Into::into), "{name}");
        }
    }

    #[test]
    fn what_is_counted_is_named() {
        let own = std::process::id();
        let parsed = |text: &str| parse(text, own).map_err(|failure| failure.to_string());
        assert_eq!(
            parsed("syscall:write").expect("a call"),
            Work::Called(Called::SystemCall("write".to_owned()))
        );
        assert_eq!(
            parsed("cat count").expect("a command"),
            Work::Command("cat count".to_owned())
        );
        let Ok(Work::Called(Called::Function { offset, .. })) = parsed("uprobe:libc.so.6:write")
        else {
            panic!("libc is mapped and exports it")
        };
        assert!(offset > 0);
        for (text, why) in [
            (
                "uprobe:malloc",
                "uprobe:malloc does not name a library or program",
            ),
            (
                "uprobe:libx\u{1b}.so:malloc",
                "has not mapped libx\\u{1b}.so",
            ),
            ("uprobe:libc.so.6:no_such", "has no function no_such"),
        ] {
            let said = parsed(text).expect_err("refused");
            assert!(said.contains(why), "{said}");
        }
    }
}
