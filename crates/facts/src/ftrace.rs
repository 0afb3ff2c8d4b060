//! Tracers, traced functions and probes that are active in the kernel (ftrace, kprobes).

use switchcost_record::Fact;

use super::Root;

/// Mount points of tracefs: the present one, and the one before Linux 4.1.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Largest number of traced functions that are reported by name; of more, only the number is
/// reported.
const FUNCTIONS_NAMED: usize = 16;

/// Returns the active tracers and events of all ftrace instances, traced functions, and probes.
pub(super) fn active_tracers(root: &Root) -> Fact<Vec<String>> {
    let Some(folder) = TRACEFS
        .into_iter()
        .find(|folder| root.line(&format!("{folder}/current_tracer")).is_ok())
    else {
        return Fact::unknown(format!(
            "neither {} nor {} can be read",
            TRACEFS[0], TRACEFS[1]
        ));
    };
    let instances = root.names(&format!("{folder}/instances"));
    let instances = instances
        .into_iter()
        .map(|name| format!("{folder}/instances/{name}"));
    let mut found: Vec<String> = std::iter::once(folder.to_owned())
        .chain(instances)
        .flat_map(|instance| instance_tracers(root, &instance))
        .collect();
    found.extend(functions(root, folder));
    found.extend(probes(root));
    found.sort();
    found.dedup();
    Fact::Known(found)
}

fn instance_tracers(root: &Root, folder: &str) -> Vec<String> {
    let tracer = root
        .line(&format!("{folder}/current_tracer"))
        .ok()
        .filter(|tracer| tracer != "nop");
    let events = root
        .read(&format!("{folder}/set_event"))
        .unwrap_or_default();
    let events = events
        .lines()
        .map(|event| format!("event {}", event.trim()));
    tracer
        .map(|tracer| format!("tracer {tracer}"))
        .into_iter()
        .chain(events)
        .collect()
}

/// Returns the names of traced functions from lines such as `schedule (1) R`, or only their number
/// if there are more than [`FUNCTIONS_NAMED`].
fn functions(root: &Root, folder: &str) -> Vec<String> {
    let text = root
        .read(&format!("{folder}/enabled_functions"))
        .unwrap_or_default();
    // An indented line continues the function above.
    let names = text
        .lines()
        .filter(|line| !line.starts_with(char::is_whitespace));
    let names: Vec<&str> = names
        .filter_map(|line| line.split_ascii_whitespace().next())
        .collect();
    match names.len() > FUNCTIONS_NAMED {
        true => vec![format!("{} functions", names.len())],
        false => names
            .into_iter()
            .map(|name| format!("function {name}"))
            .collect(),
    }
}

/// Returns the names of probes from lines such as `ffffffff81c0 k schedule+0x0 [FTRACE]`.
fn probes(root: &Root) -> Vec<String> {
    let text = root
        .read("/sys/kernel/debug/kprobes/list")
        .unwrap_or_default();
    let name = |line: &str| {
        line.split_ascii_whitespace()
            .nth(2)
            .map(|place| format!("probe {place}"))
    };
    text.lines().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn tracers_events_functions_and_probes_are_named() {
        let quiet = Fixture::new().file("/sys/kernel/tracing/current_tracer", "nop\n");
        assert_eq!(active_tracers(&quiet.root()), Fact::Known(Vec::new()));
        let busy = quiet
            .file(
                "/sys/kernel/tracing/set_event",
                "sched:sched_switch\nsched:sched_wakeup\n",
            )
            .file(
                "/sys/kernel/tracing/instances/other/current_tracer",
                "function\n",
            )
            .file(
                "/sys/kernel/tracing/instances/other/set_event",
                "sched:sched_switch\n",
            )
            .file(
                "/sys/kernel/tracing/enabled_functions",
                "schedule (1) R\n\ttramp: 0x1\n",
            )
            .file(
                "/sys/kernel/debug/kprobes/list",
                "ffffffff81c0  k  finish_task_switch.isra.0+0x0    [FTRACE]\n",
            );
        let expected = [
            "event sched:sched_switch",
            "event sched:sched_wakeup",
            "function schedule",
            "probe finish_task_switch.isra.0+0x0",
            "tracer function",
        ];
        assert_eq!(
            active_tracers(&busy.root()),
            Fact::Known(expected.map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn many_functions_are_counted() {
        let names: String = (0..20).map(|number| format!("f{number} (1)\n")).collect();
        let fixture = Fixture::new()
            .file("/sys/kernel/debug/tracing/current_tracer", "nop\n")
            .file("/sys/kernel/debug/tracing/enabled_functions", &names);
        assert_eq!(
            active_tracers(&fixture.root()),
            Fact::Known(vec!["20 functions".to_owned()])
        );
    }
}
