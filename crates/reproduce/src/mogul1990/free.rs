//! Open parameters of Mogul and Borg 1990: the distribution of time slices, the tags of the caches,
//! whether stores allocate lines, and the speed of write buffers.
//!
//! One trace of each set of programs is simulated with one parameter changed at a time. A claim is
//! judged over all parameters that the paper's own numbers allow: the interval of its number over
//! the trials is widened by the effect of each parameter on the trace.

use std::collections::BTreeSet;

use super::{DESIGNS, QUICK_SWITCHES, SETS, Set, step_name};
use crate::claims::Variants;
use crate::exhibit::Cell;
use crate::{Exhibit, Outcome, Records, Site, Step};

const SWITCHES: u64 = 800;
/// Seed of the traces. All results use the same traces, because a setting is not a random sample.
const TRACE_SEED: u64 = 300;

/// Variations of the paper's designs: a name, and the varied field of the model.
const DESIGN_SETTINGS: [(&str, &str); 4] = [
    ("physical-tags", "caches.addressing=pipt"),
    ("stores-allocate", "L1D.write_allocate=true"),
    ("fast-drain", "L1D.write_buffers.drain_cycles=2"),
    ("slow-drain", "L1D.write_buffers.drain_cycles=10"),
];

const USUAL: &str = "usual";

/// Settings that contradict the paper. With 10 cycles to drain a write buffer, the CPI of
/// Client-Server in private caches of 1a is 1.28, while the paper has "almost exactly 1.0" (section
/// 5.3). Constant time slices of 132,000 and 250,000 instructions never reach the 400,000
/// instructions at which the paper still detects effects of a switch (section 5.1).
const CONTRADICTED: [&str; 2] = ["slow-drain", "even-turns"];

fn free_step(set: &Set, setting: &str) -> String {
    format!("mogul1990-{}-free-{setting}", set.name)
}

/// Returns the names of the settings over which claims are judged, the usual setting first.
fn settings() -> impl Iterator<Item = &'static str> {
    let turns: BTreeSet<&str> = SETS
        .iter()
        .flat_map(|set| set.other_turns.iter().map(|(name, _)| *name))
        .collect();
    let designs = DESIGN_SETTINGS.iter().map(|(name, _)| *name);
    std::iter::once(USUAL)
        .chain(turns)
        .chain(designs)
        .filter(|setting| !CONTRADICTED.contains(setting))
}

fn steps_of_set(site: &Site<'_>, set: &'static Set) -> Vec<Step> {
    let switches = site.effort.choose(SWITCHES, QUICK_SWITCHES);
    let (name, turns) = (set.name, set.turns.flags());
    let usual = free_step(set, USUAL);
    let trace = format!(
        "workload {name} --seed {TRACE_SEED} {turns} --switches {switches} --trace records/{usual}.sct"
    );
    let replayed = |setting: &str, flags: &str| {
        let interval = if set.has_short_turns {
            "--interval 1000 "
        } else {
            ""
        };
        let line = format!("simulate records/{usual}.sct {interval}{flags}");
        Step::new(free_step(set, setting), &line)
    };
    let turns = set
        .other_turns
        .iter()
        .map(|(setting, turns)| replayed(setting, &turns.flags()));
    let designs = DESIGNS.map(|design| format!("mogul-{design}")).join(",");
    let of_design = |(setting, axis): &(&str, &str)| {
        replayed(setting, &format!("--design {designs} --vary {axis}"))
    };
    std::iter::once(Step::new(usual.clone(), &trace))
        .chain(turns)
        .chain(DESIGN_SETTINGS.iter().map(of_design))
        .collect()
}

pub(super) fn steps(site: &Site<'_>) -> Vec<Step> {
    SETS.iter()
        .flat_map(|set| steps_of_set(site, set))
        .collect()
}

/// Returns the names of the steps for a set of programs, one for each setting.
#[cfg(test)]
pub(super) fn all_steps(set: &Set) -> Vec<String> {
    let own = set.other_turns.iter().map(|(name, _)| *name);
    let designs = DESIGN_SETTINGS.iter().map(|(name, _)| *name);
    let names = std::iter::once(USUAL).chain(own).chain(designs);
    names.map(|setting| free_step(set, setting)).collect()
}

/// Returns one set of records for each setting, in which the traces with this setting replace the
/// first trials of all sets. The usual setting comes first.
pub(crate) fn variants(records: &Records) -> Outcome<Variants> {
    settings()
        .map(|setting| Ok((setting, variant(records, setting)?)))
        .collect()
}

fn variant(records: &Records, setting: &str) -> Outcome<Records> {
    let mut variant = Records::default();
    for set in &SETS {
        let has_turns = set.other_turns.iter().any(|(name, _)| *name == setting);
        let is_of_all = !SETS
            .iter()
            .any(|set| set.other_turns.iter().any(|(name, _)| *name == setting));
        // Client-Server's time slices end by its own system calls, so it has no settings with other
        // time slices.
        let step = free_step(
            set,
            if has_turns || is_of_all {
                setting
            } else {
                USUAL
            },
        );
        let (head, findings) = records.simulated(&step)?;
        let mut findings = findings.clone();
        for design in &mut findings.designs {
            if let Some((name, _)) = design.name.split_once('[') {
                design.name = name.to_owned();
            }
        }
        variant.add_simulated(&step_name(set, 1), head.clone(), findings);
    }
    Ok(variant)
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let title = "Average cost of a switch in cycles, with one open parameter changed at a time";
    let mut exhibit = Exhibit::new(
        "Open parameters",
        title,
        ["set", "setting", "time slices", "1a", "2a", "1b", "2b"],
    );
    for set in &SETS {
        let own = set.other_turns.iter().map(|(name, turns)| (*name, turns));
        let designs = DESIGN_SETTINGS.iter().map(|(name, _)| (*name, &set.turns));
        for (setting, turns) in std::iter::once((USUAL, &set.turns))
            .chain(own)
            .chain(designs)
        {
            let step = free_step(set, setting);
            let found = records.simulated(&step);
            let cost = |design: &str| {
                let cost = found
                    .as_ref()
                    .map_err(Clone::clone)
                    .and_then(|(_, findings)| {
                        let is_it =
                            |name: &str| name.split('[').next() == Some(&format!("mogul-{design}"));
                        let found = findings.designs.iter().find(|found| is_it(&found.name));
                        found
                            .and_then(|found| found.average_cost_cycles.estimate)
                            .ok_or_else(|| "the record has no cost".to_owned())
                    });
                Cell::new(&cost, 0, |cycles| *cycles)
            };
            let first = [set.published.into(), setting.into(), turns.words().into()];
            exhibit.row(first.into_iter().chain(DESIGNS.map(cost)).collect());
            exhibit.add_step(step);
        }
    }
    exhibit.add_note("The mean length of time slices is fitted to Table 4 (instructions over 5,000 switches), and a tenth of Timesharing's slices reach \
         the quantum, as in Figure 5. The quantum is the paper's 400,000 cycles, at the CPI of Table 4. Slices end there or earlier at \
         random, as by a wake-up; \"even\" slices have one length. Client-Server's programs end their slices themselves; the length of \
         their messages is fitted. Physical tags have random page frames. The claims are not judged over slow-drain and even-turns, because they \
         contradict the paper: Client-Server's CPI in private caches would be 1.28 on 1a, and the paper has almost exactly 1.0; even \
         slices never reach 400,000 instructions, where the paper still detects effects of a switch.");
    exhibit
}
