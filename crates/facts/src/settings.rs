//! Values of the kernel's settings that affect the scheduler, or add work to switches and ticks.

use std::collections::BTreeMap;

use super::Root;

/// Settings in `/proc/sys/kernel` that affect switches or ticks although their names do not begin
/// with `sched_`: accounting, scanning and tracing.
const OTHERS: [&str; 6] = [
    "ftrace_enabled",
    "nmi_watchdog",
    "numa_balancing",
    "stack_tracer_enabled",
    "task_delayacct",
    "timer_migration",
];

/// Names of the scheduler's numeric settings in debugfs, in current and earlier kernels.
const IN_DEBUGFS: [&str; 7] = [
    "base_slice_ns",
    "latency_ns",
    "migration_cost_ns",
    "min_granularity_ns",
    "nr_migrate",
    "tunable_scaling",
    "wakeup_granularity_ns",
];

/// Returns the values of the settings by name, such as `kernel/sched_rt_runtime_us` or
/// `sched/features/PLACE_LAG`. Settings that cannot be read are left out.
pub fn settings(root: &Root) -> BTreeMap<String, String> {
    let names = root
        .names("/proc/sys/kernel")
        .into_iter()
        .filter(|name| name.starts_with("sched_") || OTHERS.contains(&name.as_str()));
    let sysctl = names.filter_map(|name| {
        Some((
            format!("kernel/{name}"),
            root.line(&format!("/proc/sys/kernel/{name}")).ok()?,
        ))
    });
    let debug = IN_DEBUGFS.into_iter().filter_map(|name| {
        Some((
            format!("sched/{name}"),
            root.line(&format!("/sys/kernel/debug/sched/{name}")).ok()?,
        ))
    });
    sysctl.chain(debug).chain(features(root)).collect()
}

/// Returns the scheduler's features in debugfs by name, with the value `on` or `off`. The file's
/// text is like `PLACE_LAG NO_HRTICK`.
fn features(root: &Root) -> impl Iterator<Item = (String, String)> {
    let text = root
        .line("/sys/kernel/debug/sched/features")
        .unwrap_or_default();
    let feature = |word: &str| match word.strip_prefix("NO_") {
        Some(name) => (format!("sched/features/{name}"), "off".to_owned()),
        None => (format!("sched/features/{word}"), "on".to_owned()),
    };
    text.split_ascii_whitespace()
        .map(feature)
        .collect::<Vec<_>>()
        .into_iter()
}

/// Returns the path of the file of the setting `name`, and the text whose writing sets it to
/// `value`.
pub fn assignment(name: &str, value: &str) -> (String, String) {
    match (
        name.strip_prefix("kernel/"),
        name.strip_prefix("sched/features/"),
    ) {
        (Some(_), _) => (format!("/proc/sys/{name}"), value.to_owned()),
        (_, Some(feature)) => {
            let off = if value == "off" { "NO_" } else { "" };
            (
                "/sys/kernel/debug/sched/features".to_owned(),
                format!("{off}{feature}"),
            )
        }
        _ => (format!("/sys/kernel/debug/{name}"), value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn settings_have_the_names_of_their_files() {
        let fixture = Fixture::workstation()
            .file("/proc/sys/kernel/sched_schedstats", "1\n")
            .file("/proc/sys/kernel/task_delayacct", "0\n")
            .file("/sys/kernel/debug/sched/base_slice_ns", "3000000\n")
            .file("/sys/kernel/debug/sched/features", "PLACE_LAG NO_HRTICK \n");
        let settings = settings(&fixture.root());
        for (name, value) in [
            ("kernel/sched_schedstats", "1"),
            ("kernel/task_delayacct", "0"),
            ("sched/base_slice_ns", "3000000"),
            ("sched/features/PLACE_LAG", "on"),
            ("sched/features/HRTICK", "off"),
        ] {
            assert_eq!(
                settings.get(name).map(String::as_str),
                Some(value),
                "{name} in {settings:?}"
            );
        }
        assert!(!settings.contains_key("kernel/hostname"));
    }

    #[test]
    fn each_setting_is_written_where_it_is_read() {
        for (name, value, file, text) in [
            (
                "kernel/sched_schedstats",
                "1",
                "/proc/sys/kernel/sched_schedstats",
                "1",
            ),
            (
                "sched/base_slice_ns",
                "7",
                "/sys/kernel/debug/sched/base_slice_ns",
                "7",
            ),
            (
                "sched/features/HRTICK",
                "off",
                "/sys/kernel/debug/sched/features",
                "NO_HRTICK",
            ),
            (
                "sched/features/HRTICK",
                "on",
                "/sys/kernel/debug/sched/features",
                "HRTICK",
            ),
        ] {
            assert_eq!(assignment(name, value), (file.to_owned(), text.to_owned()));
        }
    }
}
