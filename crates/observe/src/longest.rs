//! Selects the longest waits for a CPU from those of each CPU.

use switchcost_record::observation::{Behind, LongWait};
use switchcost_units::Nanos;

use crate::layout::{Wait, process};
use crate::sums::trim_at_zero;

/// Number of waits that are reported.
const LONGEST: usize = 3;

/// Returns the [`LONGEST`] longest waits, the longest first.
pub(crate) fn longest_waits(waits: impl Iterator<Item = Wait>) -> Vec<LongWait> {
    let mut waits: Vec<Wait> = waits.filter(|wait| wait.ns > 0).collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.ns));
    waits.iter().take(LONGEST).map(long_wait).collect()
}

fn long_wait(wait: &Wait) -> LongWait {
    let text = |name: &[u8]| String::from_utf8_lossy(trim_at_zero(name)).into_owned();
    let (behind, behind_process) = match wait.behind {
        process::KERNEL => (Behind::Kernel, None),
        process::NOBODY => (Behind::Nobody, None),
        process::MOVED => (Behind::Moved, None),
        process::OTHERS => (Behind::Others, None),
        process => (Behind::Process(text(&wait.behind_name)), Some(process)),
    };
    LongWait {
        process: wait.tgid,
        thread: wait.pid,
        name: text(&wait.name),
        since_ns: Nanos(wait.since),
        wait_ns: Nanos(wait.ns),
        behind,
        behind_process,
        behind_ns: Nanos(wait.behind_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_all_cpus_are_reported_with_what_they_were_behind() {
        let name = |name: &str| {
            let mut bytes = [0; 16];
            bytes[..name.len()].copy_from_slice(name.as_bytes());
            bytes
        };
        let wait = |ns, behind| {
            let mut wait = Wait::default();
            (wait.since, wait.ns, wait.behind_ns) = (1000 - ns, ns, ns / 2);
            (wait.behind, wait.behind_name) = (behind, name("loop"));
            wait
        };
        let waits = [
            wait(0, 0),
            wait(70, process::NOBODY),
            wait(900, 9),
            wait(80, process::OTHERS),
            wait(800, process::KERNEL),
        ];
        let reported = longest_waits(waits.into_iter());
        let parts: Vec<_> = reported
            .iter()
            .map(|wait| {
                (
                    wait.since_ns.0,
                    wait.wait_ns.0,
                    wait.behind.clone(),
                    wait.behind_process,
                )
            })
            .collect();
        let behind = Behind::Process("loop".to_owned());
        assert_eq!(
            parts,
            [
                (100, 900, behind, Some(9)),
                (200, 800, Behind::Kernel, None),
                (920, 80, Behind::Others, None)
            ]
        );
    }
}
