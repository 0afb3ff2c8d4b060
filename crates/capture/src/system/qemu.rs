//! Runs QEMU with a guest: its start, its output, and its end.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use switchcost_host::own_environment::{FOLDER, tool};
use switchcost_host::shared_file::SharedFile;
use switchcost_host::supervisor::{Program, Report as Event, Setting, Supervisor};
use switchcost_record::trust::find_program;
use switchcost_trace::KernelSymbols;

use super::System;
use super::guest::Guest;
use super::parts::Version;
use super::report::Report;
use crate::guest_error::GuestError;
use crate::ring::Ring;

const QEMU: &str = "qemu-system-x86_64";
/// Kernel parameters of every guest. The plugin relies on `nokaslr`, with which the kernel's
/// addresses are the same each time. The other parameters make the guest faster and its time more
/// regular. QEMU translates code anew at each new address. With `norandmaps`, a program that starts
/// again has the same addresses. After a panic the guest restarts immediately, which ends QEMU;
/// otherwise it would loop.
pub(super) const COMMAND_LINE: &str = "console=ttyS0 quiet nokaslr norandmaps mitigations=off panic=-1 tsc=reliable \
     cryptomgr.notests";
/// Model of the CPU: no instructions with a random result, and page tables of four levels. Without
/// `erms` and `fsrm`, strings are copied by words, which takes about as long as on real processors.
const CPU: &str = "max,-rdrand,-rdseed,-la57,-erms,-fsrm";
const MEBIBYTE: u64 = 1 << 20;
/// Default memory of a guest in bytes. Three times the size of the archive is added, for the
/// archive itself, its unpacked files, and room to work.
const LEAST_MEMORY: u64 = 384 * MEBIBYTE;
const SAID_LINES: usize = 8;

/// A running QEMU. Dropping this value ends QEMU.
#[derive(Debug)]
pub(super) struct Machine {
    supervisor: Supervisor,
    report: SharedFile,
    console: SharedFile,
    status: Option<ExitStatus>,
    memory: SharedFile,
    _root: SharedFile,
}

impl Machine {
    pub(super) fn start(
        guest: &Guest,
        system: &System,
        ring: &Ring,
    ) -> Result<Machine, GuestError> {
        let (qemu, version) = find()?;
        let root = SharedFile::create("switchcost-root", 1)?;
        fs::write(root.path(), &guest.root)?;
        let megabytes = megabytes(guest, system);
        let memory = SharedFile::create("switchcost-guest", (megabytes * MEBIBYTE / 8) as usize)?;
        let (report, console) = (
            SharedFile::create("switchcost-report", 1)?,
            SharedFile::create("switchcost-console", 1)?,
        );
        let arguments = arguments(&qemu, version, system, megabytes, &memory, &root, ring);
        let program = Program::new(arguments, Vec::new(), Some(Path::new(FOLDER)))?;
        let of = |file: &SharedFile| -> io::Result<OwnedFd> {
            Ok(fs::OpenOptions::new()
                .write(true)
                .truncate(true)
                .open(file.path())?
                .into())
        };
        let setting = Setting {
            has_fixed_addresses: true,
            ..Setting::new(
                fs::File::open("/dev/null")?.into(),
                of(&report)?,
                of(&console)?,
            )
        };
        let mut supervisor = Supervisor::start(&[program], &setting)?;
        supervisor.launch(0)?;
        Ok(Machine {
            supervisor,
            report,
            console,
            status: None,
            memory,
            _root: root,
        })
    }

    /// Waits until QEMU has ended, at most for `timeout`. Returns whether QEMU has ended.
    pub(super) fn has_ended(&mut self, timeout: Duration) -> Result<bool, GuestError> {
        match self.supervisor.report(timeout)? {
            Some(Event::Ended { status, .. }) => self.status = Some(status),
            Some(Event::Refused { error, .. }) => {
                return Err(io::Error::from_raw_os_error(error).into());
            }
            Some(Event::Launched { .. }) | None => {}
        }
        Ok(self.status.is_some())
    }

    /// Kills QEMU and waits for its end.
    pub(super) fn dismiss(&mut self) {
        self.supervisor.dismiss();
    }

    /// Returns the number of bytes that QEMU has written so far to the report and the console.
    pub(super) fn written(&self) -> u64 {
        let length = |file: &SharedFile| fs::metadata(file.path()).map_or(0, |facts| facts.len());
        length(&self.report) + length(&self.console)
    }

    /// Whether the guest has booted, so that its first process has begun its report.
    pub(super) fn is_ready(&self) -> bool {
        fs::read(self.report.path()).is_ok_and(|bytes| !bytes.is_empty())
    }

    /// Returns the guest's report. Must be called after the guest's end.
    pub(super) fn report(&self) -> Result<Report, GuestError> {
        let report = Report::read(&fs::read(self.report.path())?)?;
        let status = self.status.unwrap_or_default();
        report.ok_or_else(|| match refusal(&self.console()) {
            Some(why) => GuestError::Interface(why.to_owned()),
            None => GuestError::Died {
                status,
                said: self.said(),
            },
        })
    }

    /// Returns the symbols of the guest's kernel; empty if the guest has not listed them.
    pub(super) fn symbols(&self) -> KernelSymbols {
        let said = fs::read(self.report.path()).unwrap_or_default();
        let words = self.memory.u64s();
        let word = |address: u64| {
            let place = place_of(address, words.len() as u64 * 8)? / 8;
            words
                .get(usize::try_from(place).ok()?)
                .map(|word| u64::from_le(word.load(Relaxed)))
        };
        Report::symbols(&said, word)
    }

    /// Returns the preemption models that the guest's kernel offers; `None` if the guest has not
    /// reported them.
    pub(super) fn preemption(&self) -> Option<String> {
        Report::preemption(&fs::read(self.report.path()).unwrap_or_default())
    }

    pub(super) fn hung(&self, is_ready: bool) -> GuestError {
        if is_ready {
            GuestError::Hung(self.said())
        } else {
            GuestError::SlowBoot(self.said())
        }
    }

    fn said(&self) -> String {
        last_words(&self.console())
    }

    fn console(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.console.path()).unwrap_or_default()).into_owned()
    }
}

/// Returns at most [`SAID_LINES`] lines of the console's output: the first ones from a kernel panic
/// on, or without a panic the last ones.
fn last_words(console: &str) -> String {
    let lines: Vec<&str> = console
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let panic = lines.iter().position(|line| line.contains("Kernel panic"));
    let first = panic.unwrap_or(lines.len().saturating_sub(SAID_LINES));
    lines[first..]
        .iter()
        .take(SAID_LINES)
        .copied()
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns QEMU's message if it refuses the plugin because of its interface version; otherwise
/// `None`.
fn refusal(console: &str) -> Option<&str> {
    let line = console
        .lines()
        .find(|line| line.contains("plugin requires API version"))?;
    line.find("plugin requires")
        .map(|start| line[start..].trim_end())
}

/// Finds QEMU in PATH. Returns the path and version of QEMU.
fn find() -> Result<(PathBuf, Version), GuestError> {
    let missing = |error: io::Error| GuestError::NoQemu {
        program: QEMU.to_owned(),
        error,
    };
    let found = find_program(QEMU).map_err(missing)?;
    let output = tool(&found).arg("--version").output().map_err(missing)?;
    match version(&String::from_utf8_lossy(&output.stdout)) {
        // Version 8 has the same interface number as 7.2, but needs the plugin for version 9.
        Some((8, _)) => Err(missing(io::Error::other(
            "QEMU 8 gives plugins other processes' addresses of libraries",
        ))),
        Some(version) => Ok((found, version)),
        None => Err(missing(io::Error::other("it does not say its version"))),
    }
}

/// Parses the version in the output of `qemu-system-x86_64 --version`: `QEMU emulator version
/// 7.2.22 (...)`.
fn version(said: &str) -> Option<Version> {
    let mut numbers = said.split_once("version ")?.1.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Returns the offset of a physical address in the file of the guest's memory; `None` if the
/// address is not in memory. With 3.5 GiB or more, memory beyond 3 GiB begins at address 4 GiB,
/// because QEMU's pc reserves the addresses below for devices (hw/i386/pc_piix.c).
fn place_of(address: u64, size: u64) -> Option<u64> {
    const GIBIBYTE: u64 = 1024 * MEBIBYTE;
    let gap = if size < 7 * GIBIBYTE / 2 {
        size..4 * GIBIBYTE
    } else {
        3 * GIBIBYTE..4 * GIBIBYTE
    };
    match address {
        _ if address < gap.start => Some(address),
        _ if address < gap.end => None,
        _ => Some(address - (gap.end - gap.start)),
    }
}

fn megabytes(guest: &Guest, system: &System) -> u64 {
    let needed = LEAST_MEMORY + 3 * guest.root.len() as u64;
    let bytes = system.memory.map_or(needed, |memory| memory.0);
    bytes.div_ceil(MEBIBYTE).next_multiple_of(64)
}

fn arguments(
    qemu: &Path,
    version: Version,
    system: &System,
    megabytes: u64,
    memory: &SharedFile,
    root: &SharedFile,
    ring: &Ring,
) -> Vec<String> {
    let path = |file: &SharedFile| file.path().display().to_string();
    // QEMU runs in another working directory.
    let absolute = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        path.display().to_string()
    };
    let plugin = absolute(&system.parts.plugin(version));
    let pages = if system.has_pages { ",physical=on" } else { "" };
    let options = [
        (
            "-machine",
            "pc,accel=tcg,hpet=off,memory-backend=memory".to_owned(),
        ),
        ("-cpu", CPU.to_owned()),
        ("-smp", "1".to_owned()),
        ("-m", megabytes.to_string()),
        (
            "-object",
            format!(
                "memory-backend-file,id=memory,size={megabytes}M,mem-path={},share=on",
                path(memory)
            ),
        ),
        (
            "-icount",
            format!("shift={},sleep=off", system.icount_shift),
        ),
        ("-rtc", "clock=vm,base=2026-01-01".to_owned()),
        ("-seed", "1".to_owned()),
        ("-display", "none".to_owned()),
        (
            "-chardev",
            "file,id=console,path=/dev/stderr,append=on".to_owned(),
        ),
        ("-serial", "chardev:console".to_owned()),
        ("-kernel", absolute(&system.kernel.image)),
        ("-initrd", path(root)),
        ("-append", system.command_line()),
        (
            "-plugin",
            format!(
                "{},ring={},memory={}{pages}",
                plugin,
                path(ring.shared()),
                path(memory)
            ),
        ),
    ];
    let alone = ["-no-reboot", "-nodefaults", "-no-user-config"].map(str::to_owned);
    let options = options
        .into_iter()
        .flat_map(|(name, value)| [name.to_owned(), value]);
    [qemu.display().to_string()]
        .into_iter()
        .chain(alone)
        .chain(options)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_a_gap_below_4_gib_where_it_is_that_large() {
        const GIBIBYTE: u64 = 1 << 30;
        assert_eq!(place_of(5000, GIBIBYTE), Some(5000));
        assert_eq!(place_of(GIBIBYTE, GIBIBYTE), None);
        assert_eq!(
            place_of(3 * GIBIBYTE + 5, 7 * GIBIBYTE / 2 - 1),
            Some(3 * GIBIBYTE + 5)
        );
        assert_eq!(place_of(3 * GIBIBYTE, 7 * GIBIBYTE / 2), None);
        assert_eq!(
            place_of(4 * GIBIBYTE + 5, 7 * GIBIBYTE / 2),
            Some(3 * GIBIBYTE + 5)
        );
    }

    #[test]
    fn of_a_panic_its_reason_is_reported_and_of_any_other_end_the_last_lines() {
        let trace = "\r\n[ 1.4]  kernel_init+0x16/0x130".repeat(20);
        let console = format!(
            "[ 1.3] md: Waiting\r\n[ 1.4] Kernel panic - not syncing: VFS: Unable to mount root{trace}"
        );
        let said = last_words(&console);
        assert!(
            said.starts_with("[ 1.4] Kernel panic - not syncing: VFS: Unable to mount root\n"),
            "{said}"
        );
        assert_eq!(said.lines().count(), SAID_LINES);
        assert_eq!(last_words("one\n\ntwo\n"), "one\ntwo");
        let lines: String = (1..20).map(|number| format!("{number}\n")).collect();
        assert_eq!(last_words(&lines), "12\n13\n14\n15\n16\n17\n18\n19");
    }

    #[test]
    fn a_plugin_of_another_interface_is_known_from_what_qemu_says() {
        let said = "qemu-system-x86_64: Could not load plugin /q/switchcost-7.so: plugin requires API version 7, but this QEMU supports only a \
                    minimum version of 8\n";
        assert_eq!(
            refusal(said),
            Some(
                "plugin requires API version 7, but this QEMU supports only a minimum version of 8"
            )
        );
        assert_eq!(
            refusal("qemu-system-x86_64: cannot set up guest memory\n"),
            None
        );
    }

    #[test]
    fn the_version_is_read_from_what_qemu_says() {
        assert_eq!(
            version("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\nCopyright"),
            Some((7, 2))
        );
        assert_eq!(
            version("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)"),
            Some((10, 0))
        );
        assert_eq!(version("something else"), None);
    }
}
