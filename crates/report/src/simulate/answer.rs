use analysis::simulation::{Cost, DesignFinding, Findings};
use simulation_result::Simulation;

use super::amount::{as_time, centre, count, ends, rounded, share};
use crate::page::Page;

/// The answer to the user's question, one sentence a design, three at most.
pub(super) fn add(page: &mut Page, head: &Simulation, findings: &Findings) {
    let sentences: Vec<String> = findings.designs.iter().take(3).map(sentence).collect();
    if sentences.is_empty() {
        page.paragraph("Nothing was simulated: the record holds no design.");
        return;
    }
    let switches = head.trace.voluntary_switches.saturating_add(head.trace.involuntary_switches);
    let mut text = sentences.join(" ");
    if head.processes.iter().filter(|process| process.segments > 0).count() == 1 {
        text = "One process ran alone: nobody else used its caches, so no switch cost it anything. Trace two or more \
                together to see what they cost each other."
            .to_owned();
    } else if switches == 0 {
        text = "Nothing can be said about switches: the trace holds none.".to_owned();
    } else if findings.designs.len() > 3 {
        text += &format!(" The table has {} more.", count(findings.designs.len() as u64 - 3));
    }
    page.paragraph(&text);
}

fn sentence(design: &DesignFinding) -> String {
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
            "On {name} no cost of switches shows: together the processes need {better} cycles a switch less than each with \
             caches of its own{}, since they bring in lines that others use.",
            without_interval(cost)
        );
    }
    let interval = if ends(cost).is_empty() { without_interval(cost).to_owned() } else { format!(" ({})", ends(cost)) };
    let time = as_time(estimate, design.cycle_ns);
    let time = if time.is_empty() { time } else { format!(", {time}") };
    let overhead = share(design.overhead);
    format!(
        "A switch costs {} cycles{interval} of cache reloading on {name}{time}: {overhead} of all cycles.",
        centre(cost)
    )
}

/// A number alone looks surer than it is; the notes say why it is alone.
fn without_interval(cost: &Cost) -> &'static str {
    if ends(cost).is_empty() { " (no interval)" } else { "" }
}
