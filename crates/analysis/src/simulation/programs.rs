//! Computes the cost of switches for each program.

use switchcost_design::result::{ByView, DesignResult, ProcessMisses};

use super::context::Context;
use super::cost::{SUMS_ONLY, with_interval};
use super::design_sums::DesignSums;
use super::findings::{Cost, ProcessFinding, ProcessLevel};
use super::sums::Sum;
use crate::lists::saturating_sum;

/// Returns the findings for each program, most instructions first.
pub(crate) fn processes(
    context: &Context<'_>,
    result: &DesignResult,
    sums: &DesignSums,
) -> Vec<ProcessFinding> {
    let rows = sums
        .programs
        .iter()
        .enumerate()
        .filter_map(|(program, sums)| Some((program, sums.as_deref()?)));
    let batches = |program: usize| sums.program_batches[program].as_deref();
    let finding = |(program, sums): (usize, &[Sum])| {
        let mut all = Sum::default();
        sums.iter().for_each(|sum| all.add(sum));
        let segments = turns(context, program, sums);
        let instructions = all.instructions as f64;
        let intervals = sums.len() - 1;
        ProcessFinding {
            name: context.names.names[program].clone(),
            processes: context
                .names
                .programs
                .iter()
                .filter(|other| **other == program)
                .count() as u64,
            segments,
            instructions: all.instructions,
            shared_cpi: all.shared as f64 / instructions,
            private_cpi: all.private as f64 / instructions,
            excess_cycles_per_switch: all.excess() / segments as f64,
            excess: excess(
                &Sum { segments, ..all },
                batches(program),
                context.options.confidence,
            ),
            excess_cpi: sums[..intervals]
                .iter()
                .map(|sum| sum.cpi(Sum::excess))
                .collect(),
            levels: levels(context, result, program),
        }
    };
    let mut found: Vec<ProcessFinding> = rows
        .map(finding)
        .filter(|process| process.instructions > 0)
        .collect();
    found.sort_by_key(|process| std::cmp::Reverse(process.instructions));
    found
}

/// Returns the misses of all processes of a program, for each cache and then each TLB. Empty if
/// misses were not counted by process.
fn levels(context: &Context<'_>, result: &DesignResult, program: usize) -> Vec<ProcessLevel> {
    let is_own = |process: u32| context.names.program(process) == Some(program);
    let own: Vec<&ProcessMisses> = result
        .by_process
        .iter()
        .filter(|one| is_own(one.process))
        .collect();
    let facts = context
        .head
        .processes
        .iter()
        .zip(&context.names.programs)
        .filter(|(_, of)| **of == program);
    let instructions = saturating_sum(facts.map(|(process, _)| process.instructions));
    if result.by_process.is_empty() || instructions == 0 {
        return Vec::new();
    }
    let shared = &result.hierarchies.shared;
    let names = shared
        .levels
        .iter()
        .chain(&shared.tlbs)
        .map(|level| &level.name);
    let level = |(place, name): (usize, &String)| {
        let misses = sum(own.iter().filter_map(|one| one.misses.get(place)));
        let mpki = |misses: u64| misses as f64 * 1000.0 / instructions as f64;
        let mpki = ByView {
            shared: mpki(misses.shared),
            private: mpki(misses.private),
            flushed: mpki(misses.flushed),
        };
        ProcessLevel {
            level: name.clone(),
            misses,
            mpki,
        }
    };
    names.enumerate().map(level).collect()
}

fn sum<'a>(all: impl Iterator<Item = &'a ByView<u64>>) -> ByView<u64> {
    all.fold(ByView::default(), |sum, more| ByView {
        shared: sum.shared.saturating_add(more.shared),
        private: sum.private.saturating_add(more.private),
        flushed: sum.flushed.saturating_add(more.flushed),
    })
}

/// Returns the number of segments of a program, including rests of segments after an exec. In a
/// record with sums over segments, this is the largest number of segments in any interval.
fn turns(context: &Context<'_>, program: usize, sums: &[Sum]) -> u64 {
    let most = || sums.iter().map(|sum| sum.segments).max().unwrap_or(0);
    context
        .program_turns
        .get(program)
        .copied()
        .unwrap_or_else(most)
}

/// Returns the excess cycles per switch of one program. `all` has the program's sums, and `batches`
/// its sums by batch.
fn excess(all: &Sum, batches: Option<&[Sum]>, confidence: f64) -> Cost {
    let a_switch = |sum: &Sum| (sum.segments > 0).then(|| sum.excess() / sum.segments as f64);
    let Some(estimate) = a_switch(all) else {
        return Cost::none("the program begins no segment");
    };
    let Some(batches) = batches else {
        return Cost::estimate_only(estimate, SUMS_ONLY);
    };
    let used: Vec<&Sum> = batches.iter().filter(|batch| batch.segments > 0).collect();
    with_interval(
        estimate,
        all.segments,
        &used,
        |batch| a_switch(&all.less(batch)),
        confidence,
    )
}

#[cfg(test)]
mod tests {
    use switchcost_design::result::{ByView, ProcessMisses};

    use super::super::findings::ProcessLevel;
    use super::super::testing::Run;

    #[test]
    fn misses_of_all_processes_of_a_name_are_over_all_their_instructions() {
        let mut run = Run::turns(&[0, 1, 0, 1]);
        run.head.processes[1].name = run.head.processes[0].name.clone();
        assert!(
            run.design().processes[0].levels.is_empty(),
            "an older record"
        );
        let of = |process, shared| {
            let misses = ByView {
                shared,
                private: 40,
                flushed: 80,
            };
            ProcessMisses {
                process,
                misses: vec![misses, ByView::default()],
            }
        };
        // The last entry belongs to no process of the record.
        run.head.designs[0].by_process = vec![of(0, 300), of(1, 100), of(7, 1)];
        let levels = run.design().processes.swap_remove(0).levels;
        // There are 400, 80 and 160 misses in 40,000 instructions.
        let misses = ByView {
            shared: 400,
            private: 80,
            flushed: 160,
        };
        let mpki = ByView {
            shared: 10.0,
            private: 2.0,
            flushed: 4.0,
        };
        let nothing = ProcessLevel {
            level: "L1D".into(),
            misses: ByView::default(),
            mpki: ByView::default(),
        };
        assert_eq!(
            levels,
            [
                ProcessLevel {
                    level: "L1I".into(),
                    misses,
                    mpki
                },
                nothing
            ]
        );
    }
}
