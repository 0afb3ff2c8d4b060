//! Computes the work of the kernel per switch and per system call.

use switchcost_design::result::{Detail, FunctionUse, HierarchyCounts, KernelBatch};

use super::cost::with_interval;
use super::findings::{Cost, FunctionFinding, FunctionMisses, KernelFills, KernelFinding};
use crate::lists::saturating_sum;

/// Least share of the kernel's instructions that a function must execute in order to be listed.
const LEAST_SHARE: f64 = 0.001;

/// Returns the findings for the kernel; `None` if the trace has no kernel instructions. `switches`
/// is the number of switches of the whole trace.
pub(crate) fn kernel(
    shared: &HierarchyCounts,
    detail: &Detail,
    switches: f64,
    confidence: f64,
) -> Option<KernelFinding> {
    let batches = detail.kernel_batches.as_slice();
    if batches.is_empty() {
        return None;
    }
    let over = |part: &dyn Fn(&KernelBatch) -> u64, events: fn(&KernelBatch) -> u64| {
        ratio(batches, part, events, confidence)
    };
    let functions = functions(shared, &detail.kernel_functions, switches);
    let switches: fn(&KernelBatch) -> u64 = |batch| batch.switches;
    let names = shared
        .levels
        .iter()
        .chain(&shared.tlbs)
        .map(|level| &level.name);
    let fills = names.enumerate().map(|(place, name)| KernelFills {
        level: name.clone(),
        fills: over(
            &|batch| batch.fills.get(place).copied().unwrap_or(0),
            switches,
        ),
    });
    Some(KernelFinding {
        instructions_per_switch: over(&|batch| batch.instructions, switches),
        lost_to_processes_cycles: over(&|batch| batch.lost_to_processes, switches),
        lost_to_kernel_cycles: over(&|batch| batch.lost_to_kernel, switches),
        instructions_per_call: over(&|batch| batch.call_instructions, |batch| batch.calls),
        cycles_per_call: over(&|batch| batch.call_cycles, |batch| batch.calls),
        fills_per_switch: fills.collect(),
        functions,
    })
}

fn functions(
    shared: &HierarchyCounts,
    uses: &[FunctionUse],
    switches: f64,
) -> Vec<FunctionFinding> {
    let all: u64 = uses.iter().map(|function| function.instructions).sum();
    let is_large =
        |function: &&FunctionUse| function.instructions as f64 >= LEAST_SHARE * all as f64;
    let names = || {
        shared
            .levels
            .iter()
            .chain(&shared.tlbs)
            .map(|level| level.name.clone())
    };
    let finding = |function: &FunctionUse| FunctionFinding {
        function: function.function.clone(),
        instructions_per_switch: function.instructions as f64 / switches,
        misses_per_switch: names()
            .zip(&function.misses)
            .map(|(level, misses)| FunctionMisses {
                level,
                misses: *misses as f64 / switches,
            })
            .collect(),
    };
    if switches > 0.0 {
        uses.iter().filter(is_large).map(finding).collect()
    } else {
        Vec::new()
    }
}

/// Returns the sum of `part` over all batches divided by the sum of `events`. The interval comes
/// from the ratios that result if each batch is left out once (jackknife).
fn ratio(
    batches: &[KernelBatch],
    part: &dyn Fn(&KernelBatch) -> u64,
    events: fn(&KernelBatch) -> u64,
    confidence: f64,
) -> Cost {
    let sum = |of: &dyn Fn(&KernelBatch) -> u64| saturating_sum(batches.iter().map(of));
    let (parts, all) = (sum(part), sum(&events));
    if all == 0 {
        return Cost::none("found no such event in whole batches of switches");
    }
    let without = |batch: &KernelBatch| {
        let left = all.checked_sub(events(batch)).filter(|left| *left > 0)?;
        Some(parts.saturating_sub(part(batch)) as f64 / left as f64)
    };
    let switches = sum(&|batch| batch.switches);
    with_interval(
        parts as f64 / all as f64,
        switches,
        batches,
        without,
        confidence,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::interval::mean_interval;
    use crate::testing::assert_within;

    /// Shows that a ratio has Student's interval of the mean of the batches, if all batches have
    /// the same number of switches.
    #[test]
    fn a_ratio_has_the_interval_of_batch_means() {
        let batch = |i: u64| KernelBatch {
            switches: 10,
            instructions: 1000 + 70 * (i * i % 13),
            ..KernelBatch::default()
        };
        let batches: Vec<KernelBatch> = (0..40).map(batch).collect();
        let found = ratio(
            &batches,
            &|batch| batch.instructions,
            |batch| batch.switches,
            0.9,
        );
        let means: Vec<f64> = batches
            .iter()
            .map(|batch| batch.instructions as f64 / 10.0)
            .collect();
        let wanted = mean_interval(&means, 0.9).expect("forty");
        let (low, high) = found.interval.expect("an interval");
        assert_within(low, wanted.low, 1e-9);
        assert_within(high, wanted.high, 1e-9);
        assert_eq!(found.n, Some(40));
        let none = ratio(
            &batches,
            &|batch| batch.call_cycles,
            |batch| batch.calls,
            0.9,
        );
        assert_eq!(none.estimate, None);
        let few = ratio(
            &batches[..3],
            &|batch| batch.instructions,
            |batch| batch.switches,
            0.9,
        );
        assert!(
            few.estimate.is_some() && few.interval.is_none() && few.why.is_some(),
            "{few:?}"
        );
    }
}
