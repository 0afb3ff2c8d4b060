//! Parses the report that the guest's first process writes (capture/qemu/init.c).

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use switchcost_trace::KernelSymbols;

use crate::guest_error::GuestError;

/// Report of a guest about its run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// Number of switches that the guest's kernel counted during the recording; `None` if the count
    /// could not be read at the end.
    pub(super) switches: Option<u64>,
    /// Time of the guest during the recording, in nanoseconds: QEMU's count of instructions, plus
    /// the time for which all tasks slept.
    pub(super) nanoseconds: u64,
    /// Whether the programs were ended because their time was over.
    pub(super) is_late: bool,
    pub(super) statuses: Vec<ExitStatus>,
    pub(super) outputs: Vec<Vec<u8>>,
}

/// Position of a list of symbols in the guest's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listed {
    bytes: usize,
    checksum: u64,
    /// Numbers of the physical pages that contain the list.
    frames: Vec<u64>,
}

const PAGE: usize = 4096;

impl Listed {
    fn parse(mut numbers: impl Iterator<Item = i64>) -> Listed {
        let mut number = || numbers.next().unwrap_or(0) as u64;
        let (bytes, checksum) = (number() as usize, number());
        Listed {
            bytes,
            checksum,
            frames: numbers.map(|number| number as u64).collect(),
        }
    }

    /// Reads the list. `word` returns a word of the guest's memory by its physical address. Returns
    /// `None` if the list is no longer there.
    fn read(&self, word: impl Fn(u64) -> Option<u64>) -> Option<Vec<u8>> {
        if self.frames.len() != self.bytes.div_ceil(PAGE) {
            return None;
        }
        let mut text = Vec::new();
        for frame in &self.frames {
            let start = frame.checked_mul(PAGE as u64)?;
            for offset in (0..PAGE as u64).step_by(8) {
                text.extend_from_slice(&word(start + offset)?.to_le_bytes());
            }
        }
        text.truncate(self.bytes);
        (fnv_1a(&text) == self.checksum).then_some(text)
    }
}

/// Returns the rest of each line that begins with `what`. Only lines before the guest starts its
/// programs count.
fn said_before<'a>(bytes: &'a [u8], what: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = bytes
        .split(|&byte| byte == b'\n')
        .take_while(|line| *line != b"ready");
    lines.filter_map(move |line| std::str::from_utf8(line).ok()?.strip_prefix(what))
}

/// Computes the FNV-1a hash (Fowler, Noll, Vo), as capture/qemu/init.c does.
fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

impl Report {
    /// Returns the symbols of the guest's kernel: its functions and variables, which the guest
    /// lists before it starts its programs, and the contents of pages, which it lists at the end.
    /// `word` returns a word of the guest's memory by its physical address. Missing lists are left
    /// out.
    pub(super) fn symbols(bytes: &[u8], word: impl Fn(u64) -> Option<u64>) -> KernelSymbols {
        // The output of the programs follows these lines.
        let lines = bytes
            .split(|&byte| byte == b'\n')
            .take_while(|line| !line.starts_with(b"output "));
        let said = lines.filter_map(|line| {
            let line = std::str::from_utf8(line).ok()?;
            line.strip_prefix("symbols ")
                .or_else(|| line.strip_prefix("contents "))
        });
        let listed = said
            .map(|said| Listed::parse(said.split(' ').filter_map(|number| number.parse().ok())));
        let text: Vec<u8> = listed
            .filter_map(|listed| listed.read(&word))
            .flatten()
            .collect();
        KernelSymbols::parse_unsorted_lines(&text).unwrap_or_default()
    }

    /// Returns the preemption models that the kernel offers, with the active one in brackets: `none
    /// (voluntary) full`. Empty if none can be chosen; `None` if the guest has not reported them.
    pub(super) fn preemption(bytes: &[u8]) -> Option<String> {
        said_before(bytes, "preempt ")
            .next()
            .map(|said| said.trim_end().to_owned())
    }

    /// Parses a report; returns `None` if it is incomplete.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Report>, GuestError> {
        let mut report = Report::default();
        let (mut rest, mut is_unready) = (bytes, false);
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let line = String::from_utf8_lossy(&rest[..end]).into_owned();
            rest = &rest[end + 1..];
            let (what, said) = line.split_once(' ').unwrap_or((&line, ""));
            let mut numbers = said
                .split(' ')
                .filter_map(|number| number.parse::<i64>().ok());
            match what {
                "error" => return Err(GuestError::Kernel(said.to_owned())),
                "unready" => is_unready = true,
                "switches" => {
                    report.switches = numbers.next().and_then(|number| number.try_into().ok())
                }
                "nanoseconds" => report.nanoseconds = numbers.next().unwrap_or(0) as u64,
                "late" => report.is_late = true,
                "status" => report.statuses.extend(
                    numbers
                        .nth(1)
                        .map(|status| ExitStatus::from_raw(status as i32)),
                ),
                "output" => {
                    let length = numbers.nth(1).unwrap_or(0) as usize;
                    let Some((output, behind)) = rest.split_at_checked(length) else {
                        return Ok(None);
                    };
                    report.outputs.push(output.to_vec());
                    rest = behind;
                }
                "end" if is_unready => return Err(GuestError::NotStopped(report.said())),
                "end" => return Ok(Some(report)),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Returns the output of all programs, as lines of text.
    fn said(&self) -> String {
        String::from_utf8_lossy(&self.outputs.concat())
            .trim_end()
            .to_owned()
    }

    /// Returns warnings about the trace. `seen` is the number of switches in the trace, including
    /// those from the idle task, `seconds` the time limit of the guest.
    pub(super) fn warnings(&self, seen: u64, seconds: u64) -> Vec<String> {
        let differs = self.switches.filter(|counted| *counted != seen).map(|counted| {
            format!("the guest's kernel counted {counted} switches (ctxt of /proc/stat), and the trace has {seen} with those from the idle task")
        });
        let late = self.is_late.then(|| {
            format!("the programs were ended after {seconds} s of the guest's time; give them more with --seconds")
        });
        differs.into_iter().chain(late).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_report_is_read_and_a_cut_one_is_none() {
        let text =
            b"ready\nswitches 12\nstatus 0 256\nstatus 1 0\noutput 0 4\na\nb\noutput 1 0\nend\n";
        let report = Report::read(text)
            .expect("no error in it")
            .expect("it is whole");
        assert_eq!(report.switches, Some(12));
        assert_eq!(
            report.statuses,
            [ExitStatus::from_raw(256), ExitStatus::from_raw(0)]
        );
        assert_eq!(report.outputs, [b"a\nb\n".to_vec(), Vec::new()]);
        assert_eq!(report.warnings(12, 60), [""; 0]);
        assert_eq!(report.warnings(11, 60).len(), 1);
        let unknown = Report {
            switches: None,
            ..report.clone()
        };
        assert_eq!(unknown.warnings(11, 60), [""; 0]);
        for length in 0..text.len() {
            assert_eq!(
                Report::read(&text[..length]).expect("no error in it"),
                None,
                "{length}"
            );
        }
    }

    #[test]
    fn names_are_read_from_the_pages_that_hold_them() {
        let text = format!("1000 first\n{}2000 last\n", "1000 again\n".repeat(400));
        let mut memory = vec![0_u64; 4 * PAGE / 8];
        let mut pages = text.as_bytes().to_vec();
        pages.resize(2 * PAGE, 0);
        for (page, frame) in pages.chunks(PAGE).zip([3, 1]) {
            for (number, word) in page.chunks(8).enumerate() {
                memory[frame * PAGE / 8 + number] =
                    u64::from_le_bytes(word.try_into().expect("8 bytes"));
            }
        }
        let pages = "1800 slab\n1000 unknown\n1900 -\n";
        memory.extend(pages.as_bytes().chunks(8).map(|word| {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            u64::from_le_bytes(bytes)
        }));
        memory.resize(5 * PAGE / 8, 0);
        let listed = |what: &str, text: &str, frames: &str| {
            format!(
                "{what} {} {} {frames}\n",
                text.len(),
                fnv_1a(text.as_bytes()) as i64
            )
        };
        let word = |address: u64| memory.get(usize::try_from(address / 8).ok()?).copied();
        let read = |said: &str| Report::symbols(said.as_bytes(), word);
        let symbols = read(&(listed("symbols", &text, "3 1") + "ready\n"));
        assert_eq!(
            (symbols.name_at(0x1fff), symbols.name_at(0x2000)),
            (Some("first"), Some("last"))
        );
        let of_both = listed("symbols", &text, "3 1")
            + "ready\n"
            + &listed("contents", pages, "4")
            + "switches 1\n";
        assert_eq!(
            read(&of_both).format_lines(),
            "1000 first\n1800 slab\n1900 -\n2000 last\n"
        );
        for frames in ["1 3", "3", "3 9", "3 -1", "3 1 1", ""] {
            assert!(
                read(&listed("symbols", &text, frames)).is_empty(),
                "{frames}"
            );
        }
        assert!(read("ready\n").is_empty());
        // A program's own output is not taken for words of the guest's first process.
        assert!(read(&("output 0 99\n".to_owned() + &listed("contents", pages, "4"))).is_empty());
    }

    #[test]
    fn what_preemption_there_is_is_named_before_the_programs_begin() {
        let text =
            b"preempt none (voluntary) full \nsymbols 0 0\nready\npreempt of a program\nend\n";
        assert_eq!(
            Report::preemption(text).as_deref(),
            Some("none (voluntary) full")
        );
        assert_eq!(
            Report::preemption(b"preempt \nready\n").as_deref(),
            Some("")
        );
        assert_eq!(Report::preemption(b"ready\npreempt full\n"), None);
    }

    #[test]
    fn an_error_of_the_guest_is_reported() {
        let error = Report::read(b"error a kernel without BTF\n").expect_err("it says so");
        assert!(
            error.to_string().contains("a kernel without BTF"),
            "{error}"
        );
        let error = Report::read(b"unready\nswitches 0\nstatus 0 256\noutput 0 9\nno such.\nend\n")
            .expect_err("it says so");
        assert_eq!(
            error.to_string(),
            "a program ended before it had stopped itself; what they wrote: no such.; let each stop itself when it is ready \
             (kill -STOP $$), or use --seconds"
        );
    }
}
