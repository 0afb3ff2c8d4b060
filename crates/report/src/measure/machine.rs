use itertools::Itertools;
use switchcost_analysis::Findings;
use switchcost_record::{Control, ControlOutcome, Header, Plan};
use switchcost_units::format_cpu_list;

use super::conditions::{RUN, split};
use crate::quantity::time;
use crate::{Page, Tone};

/// Maximum number of refused controls that are listed. Further controls are only counted. `doctor`
/// and the JSON format list all controls.
const REFUSED_SHOWN: usize = 6;

/// Adds the machine, the run, and the controls that were refused.
pub(super) fn add(page: &mut Page, header: &Header, findings: &Findings) {
    page.gap();
    page.prose(machine(header));
    page.prose(run(header, findings));
    add_refused(page, &header.controls);
    let off: Vec<_> = header
        .controls
        .iter()
        .filter(|c| c.outcome == ControlOutcome::TurnedOff)
        .collect();
    if !off.is_empty() {
        let names = off.iter().map(|control| control.name.as_str()).join(", ");
        page.prose(format!("controls turned off: {names}"));
    }
}

fn machine(header: &Header) -> String {
    let host = &header.host;
    let hypervisor = match host.hypervisor.known().map(String::as_str) {
        Some("none") => "no hypervisor".to_owned(),
        Some(name) => format!("hypervisor {name}"),
        None => "hypervisor unknown".to_owned(),
    };
    let cpus = host.cpus_online.len();
    let model = host
        .cpu_model
        .known()
        .map_or("CPU model unknown", String::as_str);
    format!(
        "machine: {model}, {cpus} CPUs, kernel {}, {hypervisor}",
        host.kernel
    )
}

fn run(header: &Header, findings: &Findings) -> String {
    let parts = [
        conditions(&header.plan),
        clock(header),
        core(findings),
        format!("preset {}", header.plan.preset),
        format!("seed {}", header.seed),
        format!(
            "{} with switchcost {}",
            header.started_at, header.program_version
        ),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty()).join(", ");
    format!("run: {parts}")
}

/// Formats the usual core clock, at which costs are reported, and the fastest; empty if unknown.
fn core(findings: &Findings) -> String {
    let clocks = findings
        .core
        .and_then(|core| core.hertz.zip(core.fastest_hertz));
    clocks.map_or_else(String::new, |(usual, fastest)| {
        format!(
            "costs at {:.2} GHz of the core (at its fastest {:.2})",
            usual / 1e9,
            fastest / 1e9
        )
    })
}

/// Returns the CPUs and the policy of the cases. CPUs that differ are listed together, a policy
/// that differs is left out.
fn conditions(plan: &Plan) -> String {
    let cases: Vec<_> = plan.cases.iter().collect();
    let (varying, mut phrases) = split(&RUN[1..], &cases);
    if varying.iter().any(|condition| condition.name == "CPUs") {
        phrases.insert(0, format!("CPUs {}", format_cpu_list(&plan.cpus())));
    }
    phrases.join(", ")
}

fn clock(header: &Header) -> String {
    let rate = header.clock.ticks_per_second.0 as f64;
    let span = |ticks: u64| time(ticks as f64 / rate * 1e9);
    let read = match header.clock.read_cost.0 {
        0 => format!("less than {}", span(1)),
        ticks => span(ticks),
    };
    let rate = if rate < 1e9 {
        format!("{:.1} MHz", rate / 1e6)
    } else {
        format!("{:.3} GHz", rate / 1e9)
    };
    format!("clock {} at {rate} (read in {read})", header.clock.source)
}

fn add_refused(page: &mut Page, controls: &[Control]) {
    let refused: Vec<_> = controls.iter().filter_map(refusal).collect();
    for line in refused.iter().take(REFUSED_SHOWN) {
        page.toned_line(line, Tone::Suspect);
    }
    if refused.len() > REFUSED_SHOWN {
        page.prose(format!(
            "refused controls not shown: {} more",
            refused.len() - REFUSED_SHOWN
        ));
    }
}

fn refusal(control: &Control) -> Option<String> {
    let ControlOutcome::Refused {
        found,
        needed,
        fix,
        lasting_fix,
    } = &control.outcome
    else {
        return None;
    };
    let labelled = |label: &str, text: &str| {
        if text.is_empty() {
            String::new()
        } else {
            format!("; {label}: {text}")
        }
    };
    let (now, lasting) = (labelled("now", fix), labelled("lasting", lasting_fix));
    Some(format!(
        "control refused: {}: {found}, but {needed} is needed{now}{lasting}",
        control.name
    ))
}
