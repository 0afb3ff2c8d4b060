//! What the guest's first process says at the end, as capture/qemu/init.c writes it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::error::GuestError;

/// How it went, by the guest itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// Switches that its kernel counted while they were recorded.
    pub(super) switches: u64,
    /// Of the guest's time while they were recorded: by QEMU's count of instructions, and what all tasks slept.
    pub(super) nanoseconds: u64,
    /// Whether the programs were ended because their time was up.
    pub(super) is_late: bool,
    pub(super) statuses: Vec<ExitStatus>,
    pub(super) outputs: Vec<Vec<u8>>,
}

impl Report {
    /// None where it is not whole.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Report>, GuestError> {
        let mut report = Report::default();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let line = String::from_utf8_lossy(&rest[..end]).into_owned();
            rest = &rest[end + 1..];
            let (what, said) = line.split_once(' ').unwrap_or((&line, ""));
            let mut numbers = said.split(' ').filter_map(|number| number.parse::<i64>().ok());
            match what {
                "error" => return Err(GuestError::Kernel(said.to_owned())),
                "switches" => report.switches = numbers.next().unwrap_or(0) as u64,
                "nanoseconds" => report.nanoseconds = numbers.next().unwrap_or(0) as u64,
                "late" => report.is_late = true,
                "status" => report.statuses.extend(numbers.nth(1).map(|status| ExitStatus::from_raw(status as i32))),
                "output" => {
                    let length = numbers.nth(1).unwrap_or(0) as usize;
                    let Some((output, behind)) = rest.split_at_checked(length) else { return Ok(None) };
                    report.outputs.push(output.to_vec());
                    rest = behind;
                }
                "end" => return Ok(Some(report)),
                _ => {}
            }
        }
        Ok(None)
    }

    /// What the reader of the trace should know. `seen` is how many switches are in the trace.
    pub(super) fn warnings(&self, seen: u64, seconds: u64) -> Vec<String> {
        let counted = self.switches;
        let differs = (counted != seen).then(|| {
            format!("the guest's kernel counted {counted} switches (ctxt of /proc/stat), and the trace has {seen}")
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
        let text = b"ready\nswitches 12\nstatus 0 256\nstatus 1 0\noutput 0 4\na\nb\noutput 1 0\nend\n";
        let report = Report::read(text).expect("no error in it").expect("it is whole");
        assert_eq!(report.switches, 12);
        assert_eq!(report.statuses, [ExitStatus::from_raw(256), ExitStatus::from_raw(0)]);
        assert_eq!(report.outputs, [b"a\nb\n".to_vec(), Vec::new()]);
        assert_eq!(report.warnings(12, 60), [""; 0]);
        assert_eq!(report.warnings(11, 60).len(), 1);
        for length in 0..text.len() {
            assert_eq!(Report::read(&text[..length]).expect("no error in it"), None, "{length}");
        }
    }

    #[test]
    fn an_error_of_the_guest_is_told() {
        let error = Report::read(b"error a kernel without BTF\n").expect_err("it says so");
        assert!(error.to_string().contains("a kernel without BTF"), "{error}");
    }
}
