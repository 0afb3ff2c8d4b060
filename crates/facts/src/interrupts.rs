//! Interrupt counts per CPU, read from the kernel's two tables.
//!
//! The input is the text of `/proc/interrupts` or `/proc/softirqs`, which has a column for each
//! online CPU. The output is the sum of one column. [`total`] and [`device_total`] allocate
//! nothing, because they run between timed batches.

use std::thread::sleep;
use std::time::{Duration, Instant};

use switchcost_record::InterruptLoad;
use switchcost_units::CpuId;

use super::Root;
use super::cpu_time::busy_per_mille;

/// Time over which the interrupt load is observed: 12 ticks of a 250 Hz timer, and 5 of the ticks
/// in which the kernel counts CPU time. The start of a run waits for this time.
const OBSERVED: Duration = Duration::from_millis(50);

/// Returns the number of all interrupts of `cpu` in the text of `/proc/interrupts`; `None` if the
/// text has no column for `cpu`, or an invalid number.
pub fn total(text: &str, cpu: CpuId) -> Option<u64> {
    sum(text, cpu, |_| true)
}

/// Returns the number of interrupts of `cpu` except timer interrupts, from the text of
/// `/proc/interrupts`.
pub fn device_total(text: &str, cpu: CpuId) -> Option<u64> {
    sum(text, cpu, |line| !is_own_timer(line))
}

/// Returns the interrupt load of each of `cpus` that has a column in `/proc/interrupts`, observed
/// for 50 ms; empty if there is no table. In a test's tree of files nothing changes, so the load is
/// not observed.
pub(super) fn load(root: &Root, cpus: &[CpuId]) -> Vec<InterruptLoad> {
    let times = || root.read("/proc/stat").unwrap_or_default();
    let (started, times_before) = (Instant::now(), times());
    let Ok(before) = root.read("/proc/interrupts") else {
        return Vec::new();
    };
    if root.is_system() {
        sleep(OBSERVED);
    }
    let (observed, times_after) = (started.elapsed(), times());
    let Ok(after) = root.read("/proc/interrupts") else {
        return Vec::new();
    };
    let busy = |load: InterruptLoad| InterruptLoad {
        busy_per_mille: busy_per_mille(&times_before, &times_after, load.cpu),
        ..load
    };
    cpus.iter()
        .filter_map(|cpu| load_of(&before, &after, *cpu, observed))
        .map(busy)
        .collect()
}

fn load_of(before: &str, after: &str, cpu: CpuId, observed: Duration) -> Option<InterruptLoad> {
    Some(InterruptLoad {
        cpu,
        since_boot: device_total(after, cpu)?,
        observed: total(after, cpu)?.checked_sub(total(before, cpu)?)?,
        observed_ms: u64::try_from(observed.as_millis()).unwrap_or(u64::MAX),
        busy_per_mille: None,
    })
}

fn sum(text: &str, cpu: CpuId, counts: impl Fn(&str) -> bool) -> Option<u64> {
    let (header, rows) = text.split_once('\n')?;
    let column = header
        .split_ascii_whitespace()
        .position(|name| is_column_of(name, cpu))?;
    let columns = header.split_ascii_whitespace().count();
    let wanted = rows
        .lines()
        .filter(|line| counts(line) && !is_machine_wide(line));
    let mut cells = wanted.filter_map(|line| cell(line, column, columns));
    cells.try_fold(0_u64, |sum, cell| sum.checked_add(cell.parse().ok()?))
}

fn is_column_of(name: &str, cpu: CpuId) -> bool {
    name.strip_prefix("CPU")
        .and_then(|number| number.parse().ok())
        == Some(cpu.0)
}

/// Returns the number in `column` of a table line; `None` unless the line has a number in each of
/// its `columns` columns.
fn cell(line: &str, column: usize, columns: usize) -> Option<&str> {
    let (_, row) = line.split_once(':')?;
    let numbers = row.split_ascii_whitespace().take(columns);
    let numbers = numbers.take_while(|cell| cell.bytes().all(|byte| byte.is_ascii_digit()));
    let mut found = None;
    let mut count = 0;
    for number in numbers {
        found = if count == column { Some(number) } else { found };
        count += 1;
    }
    found.filter(|_| count == columns)
}

fn label(line: &str) -> &str {
    line.split(':').next().unwrap_or_default().trim()
}

/// Whether a table line has a single number for the whole machine, such as an error counter. On a
/// machine with one CPU this number looks like a column.
fn is_machine_wide(line: &str) -> bool {
    ["ERR", "MIS"]
        .iter()
        .any(|name| label(line).eq_ignore_ascii_case(name))
}

/// Whether a table line counts the CPU's own timer interrupts: `LOC` on x86 (`HVS` under Hyper-V),
/// and the architected timers of Arm and RISC-V.
fn is_own_timer(line: &str) -> bool {
    matches!(label(line), "LOC" | "HVS")
        || ["arch_timer", "riscv-timer"]
            .iter()
            .any(|name| line.trim_end().ends_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, INTERRUPTS};

    #[test]
    fn sums_a_column_without_the_machine_wide_rows() {
        let with_offline =
            "  CPU0 CPU2\n 24: 1 20 IO-APIC 5-edge\nIPI0: 3 40 Rescheduling interrupts\nErr: 9\n";
        let softirqs = "                    CPU0       CPU1\n          HI:          1          2\n       TIMER:      14567       8814\n";
        let overflow = format!(" CPU0\n 1: {0} x\n 2: {0} x\n", u64::MAX);
        for (name, text, cpu, expected) in [
            ("all", INTERRUPTS, 0, Some(90_100)),
            ("no such CPU", INTERRUPTS, 4, None),
            ("beside an offline CPU", with_offline, 2, Some(60)),
            ("an offline CPU", with_offline, 1, None),
            (
                "an error counter",
                "  CPU0\n 24: 5 dev\nERR: 7\nMIS: 8\n",
                0,
                Some(5),
            ),
            (
                "a description that begins with a number",
                " CPU0 CPU1\n 24: 5 6 7-edge 8\n",
                1,
                Some(6),
            ),
            ("softirqs", softirqs, 1, Some(8_816)),
            ("nothing", "", 0, None),
            ("no newline", "CPU0", 0, None),
            ("no header", "\n\n", 0, None),
            (
                "a long number",
                " CPU0\n 1: 99999999999999999999999 x\n",
                0,
                None,
            ),
            ("a long sum", overflow.as_str(), 0, None),
        ] {
            assert_eq!(total(text, CpuId(cpu)), expected, "{name}");
        }
    }

    #[test]
    fn timers_of_all_architectures_are_no_devices() {
        assert_eq!(device_total(INTERRUPTS, CpuId(0)), Some(100));
        assert_eq!(device_total(INTERRUPTS, CpuId(3)), Some(5));
        let text = " CPU0\n 11: 500 GICv3 27 Level arch_timer\n 12: 3 GICv3 30 Level eth0\nHVS: 4 Hyper-V stimer0 interrupts\n";
        assert_eq!(device_total(text, CpuId(0)), Some(3));
    }

    #[test]
    fn the_load_is_the_difference_of_two_readings() {
        let after = INTERRUPTS.replace("90000", "90012");
        let load = load_of(INTERRUPTS, &after, CpuId(0), OBSERVED);
        let expected = InterruptLoad {
            cpu: CpuId(0),
            since_boot: 100,
            observed: 12,
            observed_ms: 50,
            busy_per_mille: None,
        };
        assert_eq!(load, Some(expected));
        assert_eq!(
            load_of(&after, INTERRUPTS, CpuId(0), OBSERVED),
            None,
            "counters do not run backwards"
        );
    }

    #[test]
    fn a_still_table_shows_a_still_machine() {
        let fixture = Fixture::workstation();
        let loads = load(&fixture.root(), &[CpuId(1), CpuId(9)]);
        assert_eq!(loads.len(), 1);
        assert_eq!(
            (loads[0].cpu, loads[0].since_boot, loads[0].observed),
            (CpuId(1), 10, 0)
        );
    }
}
