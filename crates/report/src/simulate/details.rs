//! Shows the details for which a terminal has no room: the trace, and the run of the simulator.

use switchcost_design::result::{PrivateBy, Simulation};
use switchcost_units::format_cpu_list;

use super::amount::ones;
use crate::quantity::count;
use crate::{Grid, Page};

/// Adds the trace, the run of the simulator, and the simulated designs.
pub(super) fn add(page: &mut Page, head: &Simulation) {
    if !page.has_figures() {
        return;
    }
    page.table("The trace and the simulation", "", facts(head));
    page.method(["simulation"]);
    page.heading("The designs as simulated", "");
    page.grid(designs(head));
}

fn facts(head: &Simulation) -> Grid {
    let trace = &head.trace;
    let mut rows = vec![
        ("source", trace.source.clone()),
        ("order of tasks", trace.order.clone()),
        (
            "quantum (instructions)",
            trace.quantum_instructions.map(count).unwrap_or_default(),
        ),
        ("instructions", count(trace.instructions)),
        ("loads", count(trace.loads)),
        ("stores", count(trace.stores)),
        ("voluntary switches", count(trace.voluntary_switches)),
        ("involuntary switches", count(trace.involuntary_switches)),
        (ones(head.private_by), count(head.processes.len() as u64)),
        ("counted as one", one(head.private_by).to_owned()),
        ("interval (instructions)", count(head.interval_instructions)),
        ("intervals recorded", head.intervals.to_string()),
        (
            "whole",
            trace
                .incomplete
                .clone()
                .map_or("yes".to_owned(), |why| format!("no: {why}")),
        ),
        ("command", head.command.join(" ")),
        ("started", head.started_at.clone()),
        ("program", format!("switchcost {}", head.program_version)),
        ("record", head.schema.clone()),
    ];
    rows.extend(
        trace
            .commands
            .iter()
            .map(|command| ("traced command", command.join(" "))),
    );
    if let Some(guest) = &trace.guest {
        rows.push(("kernel of the guest", guest.kernel.clone()));
        rows.push(("its command line", guest.command_line.clone()));
        rows.extend(guest.slice_ns.map(|slice| ("its slice (ns)", count(slice))));
        rows.push((
            "instructions per second",
            count(guest.instructions_per_second),
        ));
    }
    if let Some(host) = &head.host {
        rows.push((
            "simulated on",
            format!("{}, kernel {}", host.hostname, host.kernel),
        ));
        rows.push(("its CPUs", format_cpu_list(&host.cpus_online)));
    }
    Grid::facts("fact", rows)
}

fn one(private_by: PrivateBy) -> &'static str {
    match private_by {
        PrivateBy::Process => "a process, with all of its threads: it has one private hierarchy",
        PrivateBy::Task => {
            "a task (a thread, in its present program): each has a private hierarchy"
        }
    }
}

fn designs(head: &Simulation) -> Grid {
    let mut grid =
        Grid::new(2)
            .left(["design", "level"])
            .right(["size", "line", "hit cycles", "miss cycles"]);
    for result in &head.designs {
        for level in &result.design.levels {
            grid.row(entries![
                &result.design.name,
                &level.name,
                level.size.to_string(),
                level.line.to_string(),
                level.hit_cycles.to_string(),
                level.miss_cycles.to_string()
            ]);
        }
    }
    grid
}
