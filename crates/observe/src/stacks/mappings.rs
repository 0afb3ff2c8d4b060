//! Finds the file and offset of an address in a process's memory.

use std::collections::BTreeMap;

/// A place in a mapped file, or in memory that is not mapped from a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Path and inode of the file. Memory without a file has the kernel's name for it, such as
    /// `[vdso]`, or [`ANONYMOUS`].
    pub(crate) module: (String, u64),
    pub(crate) offset: u64,
    /// Name that the program itself has published for generated code; otherwise `None`.
    pub(crate) function: Option<String>,
}

/// Name of memory that is not mapped from a file, such as generated code.
pub(crate) const ANONYMOUS: &str = "[anonymous memory]";

/// Executable mappings of a process, by end address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mappings {
    by_end: BTreeMap<u64, Mapping>,
}

#[derive(Clone, Debug)]
struct Mapping {
    start: u64,
    offset: u64,
    module: (String, u64),
}

impl Mappings {
    /// Parses the text of `/proc/PID/maps`.
    pub(crate) fn parse(text: &str) -> Mappings {
        Mappings {
            by_end: text.lines().filter_map(line).collect(),
        }
    }

    /// Returns the place of an address; `None` if no executable mapping contains it.
    pub(crate) fn find(&self, address: u64) -> Option<Place> {
        let (_, mapping) = self.by_end.range(address.saturating_add(1)..).next()?;
        let from = address.checked_sub(mapping.start)?;
        // An offset has no meaning in memory without a file.
        let offset = if mapping.module.0 == ANONYMOUS {
            0
        } else {
            from + mapping.offset
        };
        Some(Place {
            module: mapping.module.clone(),
            offset,
            function: None,
        })
    }

    /// Returns the path of a compiler's log, which a program maps as executable to announce it;
    /// `None` if there is none.
    pub(crate) fn compiler_log(&self) -> Option<&str> {
        let mut paths = self
            .by_end
            .values()
            .map(|mapping| mapping.module.0.as_str());
        paths.find(|path| {
            let name = path.rsplit('/').next().unwrap_or_default();
            name.strip_prefix("jit-")
                .and_then(|rest| rest.strip_suffix(".dump"))
                .is_some_and(|number| number.parse::<u32>().is_ok())
        })
    }
}

/// Whether a module may contain code generated at run time: memory without a file, or with a file
/// made for this purpose.
pub(crate) fn is_for_runtime_code(module: &(String, u64)) -> bool {
    let (path, inode) = module;
    let is_made = ["/memfd:", "/dev/zero", "/anon_hugepage", "/SYSV"]
        .iter()
        .any(|name| path.starts_with(name));
    is_made || *inode == 0 && path != "[vdso]" && path != "[vsyscall]"
}

/// Parses one line of `/proc/PID/maps`, such as `55d0c0000000-55d0c0002000 r-xp 00002000 fe:00 1234
/// /usr/bin/cat`. Returns the end address and the mapping; `None` unless it is executable.
fn line(line: &str) -> Option<(u64, Mapping)> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let is_code = fields.next()?.contains('x');
    let offset = hexadecimal(fields.next()?)?;
    let inode = fields.nth(1)?.parse().ok()?;
    let path = fields.next().map_or("", |path| path.trim_start());
    let module = if path.is_empty() {
        (ANONYMOUS.to_owned(), 0)
    } else {
        (path.to_owned(), inode)
    };
    is_code.then_some((
        hexadecimal(end)?,
        Mapping {
            start: hexadecimal(start)?,
            offset,
            module,
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
55d0c0000000-55d0c0002000 r--p 00000000 fe:00 1234                       /usr/bin/a name
55d0c0002000-55d0c0004000 r-xp 00002000 fe:00 1234                       /usr/bin/a name
7f0000000000-7f0000001000 rwxp 00000000 00:00 0 
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]
";

    #[test]
    fn an_address_is_of_the_file_that_is_mapped_there() {
        let mappings = Mappings::parse(TEXT);
        let at = |address| {
            mappings
                .find(address)
                .map(|place| (place.module.0, place.module.1, place.offset))
        };
        assert_eq!(
            at(0x55d0_c000_2010),
            Some(("/usr/bin/a name".to_owned(), 1234, 0x2010))
        );
        assert_eq!(at(0x55d0_c000_0010), None, "no code");
        assert_eq!(at(0x55d0_c000_4000), None, "behind its end");
        assert_eq!(at(0x7f00_0000_0010), Some((ANONYMOUS.to_owned(), 0, 0)));
        assert_eq!(at(0x7ffd_0000_0a10), Some(("[vdso]".to_owned(), 0, 0xa10)));
        assert_eq!(mappings.compiler_log(), None);
    }

    #[test]
    fn code_that_is_made_while_a_program_runs_is_in_no_file_that_is_kept() {
        let text = "\
7f0000000000-7f0000001000 r-xp 00000000 fe:00 99 /home/a/jit-x.dump
7f0000001000-7f0000002000 r-xp 00000000 fe:00 12 /home/a/jit-77.dump
7f0000003000-7f0000004000 r-xs 00000000 00:01 34 /memfd:doublemapper (deleted)
";
        let mappings = Mappings::parse(&(TEXT.to_owned() + text));
        assert_eq!(mappings.compiler_log(), Some("/home/a/jit-77.dump"));
        let is_made = |address| {
            let place = mappings.find(address).expect("it is mapped");
            is_for_runtime_code(&place.module)
        };
        assert!(is_made(0x7f00_0000_3000));
        assert!(!is_made(0x55d0_c000_2010) && !is_made(0x7ffd_0000_0a10));
        let anonymous = Mappings::parse("7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n");
        let place = anonymous.find(0x7f00_0000_0010).expect("it is mapped");
        assert!(is_for_runtime_code(&place.module));
    }
}
