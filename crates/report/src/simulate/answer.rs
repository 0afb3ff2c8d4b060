use analysis::simulation::{DesignFinding, Findings};
use simulation_result::{LostCycles, Simulation};

use super::amount::{as_time, count, cycles, ends, filled, rounded, share};
use crate::page::Page;

/// The answer to the user's question, one sentence a design, three at most.
pub(super) fn add(page: &mut Page, head: &Simulation, findings: &Findings) {
    let Some((first, others)) = findings.designs.split_first() else {
        page.paragraph("Nothing was simulated: the record holds no design.");
        return;
    };
    let switches = head.trace.voluntary_switches.saturating_add(head.trace.involuntary_switches);
    if head.processes.iter().filter(|process| process.segments > 0).count() == 1 {
        return page.paragraph(
            "One process ran alone: nobody else used its caches, so no switch cost it anything. Trace two or more together to \
             see what they cost each other.",
        );
    }
    if switches == 0 {
        return page.paragraph("Nothing can be said about switches: the trace holds none.");
    }
    // What the others gain is in the table.
    let mut text = sentence(first) + &lost_to(first) + &gained(first);
    // A kernel takes the room of one.
    let told = others.len().min(if lost_to(first).is_empty() { 2 } else { 1 });
    others[..told].iter().for_each(|design| text += &format!(" {}", sentence(design)));
    if others.len() > told {
        text += &format!(" The table has {} more.", count((others.len() - told) as u64));
    }
    page.paragraph(&text);
    if let Some(text) = too_short(findings) {
        page.paragraph(&text);
    }
}

/// Levels that the trace never filled: a switch can take nothing from them that a longer trace would tell.
fn too_short(findings: &Findings) -> Option<String> {
    let of_design = |design: &DesignFinding| {
        let levels = design.levels.iter().filter(|level| !level.was_full());
        let levels: Vec<String> = levels.map(|level| format!("{} ({})", level.level, filled(level))).collect();
        (!levels.is_empty()).then(|| format!("{} of {}", listed(&levels), design.name))
    };
    let designs: Vec<String> = findings.designs.iter().take(3).filter_map(of_design).collect();
    (!designs.is_empty()).then(|| {
        format!(
            "The trace is too short to fill {}: what switches cost there cannot be told; trace for longer.",
            designs.join("; ")
        )
    })
}

/// `L2, L3 and STLB`.
fn listed(names: &[String]) -> String {
    match names {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => names.concat(),
    }
}

fn sentence(design: &DesignFinding) -> String {
    match design.lost_cycles.estimate {
        Some(estimate) => of_lost(design, estimate),
        None => of_net(design),
    }
}

/// Lines that a switch flushes are lost, too, not to others alone.
fn of_lost(design: &DesignFinding, estimate: f64) -> String {
    let time = as_time(estimate, design.cycle_ns);
    let time = if time.is_empty() { time } else { format!(", {time}") };
    format!(
        "A switch on {} costs {} to reload what was lost meanwhile{time}: {} of all cycles.",
        design.name,
        cycles(&design.lost_cycles),
        share(design.lost_share),
    )
}

/// Who took what is lost, where the trace has a kernel.
fn lost_to(design: &DesignFinding) -> String {
    let Some(lost) = design.lost_to.filter(LostCycles::has_kernel) else { return String::new() };
    let of_all = |cycles: [u64; 2]| share(Some((cycles[0] as f64 + cycles[1] as f64) / lost.all() as f64));
    let LostCycles { programs, kernel } = lost;
    format!(
        " Other processes drove out {} of all that is lost, the kernel {} while they ran; {} of all are its own lines.",
        of_all([programs.processes, kernel.processes]),
        of_all([programs.kernel, kernel.kernel]),
        of_all([kernel.all(), 0]),
    )
}

/// What is gained, and what is left of what is lost; nothing where there is none, or it was not counted.
fn gained(design: &DesignFinding) -> String {
    let (gained, net) = (&design.gained_cycles, &design.average_cost_cycles);
    if gained.estimate.is_none_or(|cycles| cycles == 0.0) {
        return String::new();
    }
    let is_gain = net.is_distinguishable_from_zero() && net.estimate < Some(0.0);
    let net = if is_gain { format!("a gain of {}", cycles(&net.as_gain())) } else { cycles(net) };
    format!(" Lines that others bring in save {}. Net: {net}.", cycles(gained))
}

/// The same of a record in which lookups were not compared.
fn of_net(design: &DesignFinding) -> String {
    let cost = &design.average_cost_cycles;
    let name = &design.name;
    let Some(estimate) = cost.estimate else {
        return format!("No cost is known on {name}: {}.", cost.why.as_deref().unwrap_or("no reason is known"));
    };
    if let Some(high) = cost.high.filter(|_| cost.is_covering_zero()) {
        let most = rounded(high);
        return format!("A switch costs less than {most} cycles of cache reloading on {name}, and perhaps nothing.");
    }
    if estimate < 0.0 {
        let better = rounded(-estimate);
        return format!(
            "On {name} no cost of switches shows: together the processes need {better} cycles a switch{} less than each with \
             caches of its own, since they bring in lines that others use.",
            if ends(cost).is_empty() { " (no interval)" } else { "" }
        );
    }
    let time = as_time(estimate, design.cycle_ns);
    let time = if time.is_empty() { time } else { format!(", {time}") };
    let overhead = share(design.overhead);
    format!("A switch costs {} of cache reloading on {name}{time}: {overhead} of all cycles.", cycles(cost))
}
