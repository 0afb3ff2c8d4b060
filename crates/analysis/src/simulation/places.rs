//! Findings about places in code and data: their excess cycles, and the lines of other owners that
//! they evict.

use switchcost_design::result::{Detail, EvictorPlace, PlaceCost, Simulation};

use super::context::THE_KERNEL;
use super::findings::{EvictorFinding, PlaceFinding, cause_name};

/// Returns the findings for the places `costs`, with their shares of `excess_cycles`.
pub(crate) fn places(
    head: &Simulation,
    costs: &[PlaceCost],
    excess_cycles: f64,
) -> Vec<PlaceFinding> {
    let finding = |cost: &PlaceCost| PlaceFinding {
        program: cost.program.clone(),
        cause: head
            .causes
            .get(cost.cause as usize)
            .map_or("unknown".to_owned(), cause_name),
        place: place(cost.symbol.as_ref(), cost.object.as_ref(), cost.offset),
        line: cost.line.clone(),
        excess_cycles: cost.excess_cycles,
        share: (excess_cycles > 0.0).then(|| cost.excess_cycles as f64 / excess_cycles),
    };
    costs.iter().map(finding).collect()
}

pub(crate) fn evictors(detail: &Detail) -> Vec<EvictorFinding> {
    let of_level = |level: &str| {
        let pairs = detail
            .evictions
            .iter()
            .filter(|pair| pair.level == level && pair.evictor != pair.victim);
        pairs.map(|pair| pair.lines as f64).sum::<f64>()
    };
    let finding = |evictor: &EvictorPlace| EvictorFinding {
        level: evictor.level.clone(),
        whose: evictor
            .program
            .clone()
            .unwrap_or_else(|| THE_KERNEL.to_owned()),
        is_code: evictor.is_code,
        place: place(
            evictor.symbol.as_ref(),
            evictor.object.as_ref(),
            evictor.offset,
        ),
        lines: evictor.lines,
        share: Some(of_level(&evictor.level))
            .filter(|all| *all > 0.0)
            .map(|all| evictor.lines as f64 / all),
    };
    detail.evictors.iter().map(finding).collect()
}

fn place(symbol: Option<&String>, object: Option<&String>, offset: u64) -> String {
    match (symbol, object) {
        (Some(symbol), _) => symbol.clone(),
        (None, Some(object)) => format!(
            "{}+{offset:#x}",
            object.rsplit('/').next().unwrap_or(object)
        ),
        (None, None) if offset == 0 => "memory of no known file".to_owned(),
        (None, None) => format!("{offset:#x}"),
    }
}
