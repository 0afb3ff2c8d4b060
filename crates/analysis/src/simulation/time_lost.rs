//! Computes the time that a design's lost lines cost, from the miss costs (prices) of a machine
//! (docs/method/simulated-cost.md).

use std::ops::Add;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_design::Level;
use switchcost_design::result::{DesignPrices, DesignResult, LostCycles, LostLines};
use switchcost_record::prices::{Kind, Prices};
use switchcost_record::{Cache, CacheKind};
use switchcost_units::Bytes;

use crate::prices::LinePrices;

/// Time per switch to reload the lines that were lost to other processes.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct TimeLost {
    /// Name of the CPU model whose miss costs are used; untrusted text that must be escaped before
    /// it is shown.
    pub cpu_model: Option<String>,
    /// Time per switch in nanoseconds, if the CPU hides as much of each miss as it can; `None` if no
    /// line has a known miss cost.
    pub low_ns: Option<f64>,
    /// Time per switch in nanoseconds, with the miss cost of each line's kind of access; `None` if
    /// no line has a known miss cost.
    pub likely_ns: Option<f64>,
    /// Time per switch in nanoseconds, if the CPU hides nothing of a miss; `None` if no line has a
    /// known miss cost.
    pub high_ns: Option<f64>,
    /// Cycles lost to other processes per switch, as a time in nanoseconds with the middle of the
    /// design's shortest and longest cycle; `None` if the design has no duration of a cycle.
    pub cycles_ns: Option<f64>,
    /// Number of lost lines without a known miss cost, as a share of lost lines. The times do not
    /// include these lines.
    #[serde(
        rename = "unpriced_percent",
        serialize_with = "super::rows::percentage"
    )]
    pub unpriced_share: Option<f64>,
    /// Lost lines by the levels that held and missed them, and by kind of access, with their miss
    /// costs.
    pub lines: Vec<PricedLines>,
}

/// Lost lines of one kind of access, in one combination of levels.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PricedLines {
    /// Name of the level in which the process would have found the lines if it had run alone.
    pub found_alone: String,
    /// Name of the farthest level that missed the lines.
    pub missed: String,
    /// Kind of access that requested the lines.
    pub kind: Kind,
    /// Number of lost lines per switch.
    pub lines: f64,
    /// Low, likely and high miss cost of one line in nanoseconds; `None` if unknown.
    pub line_ns: Option<[f64; 3]>,
}

/// Returns the time that lost lines cost; `None` if no miss costs apply to the design, or if lost
/// lines were not counted. `number` is the index of the design.
pub(super) fn time_lost(
    prices: Option<&DesignPrices>,
    number: usize,
    result: &DesignResult,
    switches: f64,
) -> Option<TimeLost> {
    let prices = prices.filter(|prices| prices.are_of.get(number) == Some(&true))?;
    let detail = result.detail.as_ref()?;
    if switches == 0.0 || detail.lost_lines.is_empty() {
        return None;
    }
    let of_lines = LinePrices::new(&prices.prices);
    let priced = |lost: &LostLines| PricedLines {
        found_alone: lost.found_alone.clone(),
        missed: lost.missed.clone(),
        kind: lost.kind,
        lines: lost.lines as f64 / switches,
        line_ns: distances(result, &prices.prices, lost)
            .map(|(own, away)| of_lines.ns(lost.kind, own, away)),
    };
    let lines: Vec<PricedLines> = detail.lost_lines.iter().map(priced).collect();
    let sum = |which: usize| {
        let costs = lines
            .iter()
            .filter_map(|row| Some(row.lines * row.line_ns?[which]));
        costs.reduce(f64::add)
    };
    let count = |rows: &mut dyn Iterator<Item = &PricedLines>| {
        rows.map(|row| row.lines).fold(0.0, f64::add)
    };
    let unpriced = count(&mut lines.iter().filter(|row| row.line_ns.is_none()));
    Some(TimeLost {
        cpu_model: prices.prices.cpu_model.clone(),
        low_ns: sum(0),
        likely_ns: sum(1),
        high_ns: sum(2),
        cycles_ns: result
            .design
            .cycle_ns
            .map(|cycle| lost_ns(&detail.lost_cycles, cycle) / switches),
        unpriced_share: Some(unpriced / count(&mut lines.iter())),
        lines,
    })
}

fn lost_ns(lost: &LostCycles, [shortest, longest]: [f64; 2]) -> f64 {
    lost.to_others() as f64 * f64::midpoint(shortest, longest)
}

/// Returns an array size and a footprint in bytes whose lines the machine would find and lose in
/// the same levels as the lost lines. `None` if a level has no counterpart, if line sizes differ,
/// or if no footprint of that size was measured.
fn distances(result: &DesignResult, prices: &Prices, lost: &LostLines) -> Option<(f64, Bytes)> {
    let is_code = matches!(lost.kind, Kind::Code | Kind::CodeAlone);
    let place = |name: &str| {
        let mut path = result
            .design
            .levels
            .iter()
            .filter(|level| is_on_path(level, is_code));
        let at = path.position(|level| level.name == name && level.line == prices.line_bytes)?;
        u32::try_from(at + 1).ok()
    };
    let size = |level: u32| Some(cache(prices, level, is_code)?.size_bytes.0 as f64);
    let (found, missed) = (place(&lost.found_alone)?, place(&lost.missed)?);
    let least = if found > 1 { size(found - 1)? } else { 0.0 };
    let kept = kept_bytes(result, prices, &lost.found_alone)?;
    let own = kept.max(least).min(size(found)?);
    let (held, most) = (
        size(missed)?,
        prices.lines.iter().map(|price| price.away_bytes.0).max()? as f64,
    );
    let away = match size(missed + 1) {
        Some(next) => (held * next).sqrt(),
        None if most > held => most,
        None => return None,
    };
    Some((own, Bytes(away as u64)))
}

/// Returns the mean number of bytes that a process has in a level when it leaves the CPU; `None` if
/// no process has returned.
fn kept_bytes(result: &DesignResult, prices: &Prices, level: &str) -> Option<f64> {
    let losses = &result.detail.as_ref()?.losses;
    let kept = losses.iter().find(|kept| kept.level == level)?;
    (kept.returns > 0).then(|| {
        kept.resident_at_departure as f64 / kept.returns as f64 * prices.line_bytes.0 as f64
    })
}

fn is_on_path(level: &Level, is_code: bool) -> bool {
    if is_code {
        level.holds.instructions()
    } else {
        level.holds.data()
    }
}

fn cache(prices: &Prices, level: u32, is_code: bool) -> Option<&Cache> {
    let other = if is_code {
        CacheKind::Data
    } else {
        CacheKind::Instruction
    };
    prices
        .caches
        .iter()
        .find(|cache| cache.level == level && cache.kind != other)
}

#[cfg(test)]
mod tests {
    use switchcost_design::Holds;
    use switchcost_record::CacheKind::{Data, Instruction, Unified};
    use switchcost_record::prices::Price;

    use super::*;
    use crate::simulation::testing::head;
    use crate::testing::assert_within;
    use switchcost_design::result::{DetailLevel, WorkingSetLoss};

    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;

    /// Makes prices of a machine with caches of 32 KiB, 1 MiB and 16 MiB. After 4 MiB, a line of an
    /// array of 181 KiB to 1 MiB costs 8 ns for a dependent load, and 0.5 ns for sequential access.
    fn prices() -> Prices {
        let cache = |level, kind, size| Cache {
            level,
            kind,
            size_bytes: Bytes(size),
            line_bytes: Bytes(64),
            ways: None,
            shared_by: Vec::new(),
        };
        let price = |kind, own: u64, away: u64, ns: f64| Price {
            kind,
            own_bytes: Bytes(own),
            away_bytes: Bytes(away),
            ns,
            low_ns: ns * 0.9,
            high_ns: ns * 1.1,
            n: 8,
        };
        let lines = [
            (Kind::Sequential, 0.5),
            (Kind::Gathered, 1.0),
            (Kind::Dependent, 8.0),
        ];
        let lines = lines.map(|(kind, ns)| {
            [
                price(kind, 16 * KIB, 4 * MIB, ns / 2.0),
                price(kind, 181 * KIB, 4 * MIB, ns),
                price(kind, MIB, 4 * MIB, ns),
            ]
        });
        let caches = [
            (1, Data, 32 * KIB),
            (1, Instruction, 32 * KIB),
            (2, Unified, MIB),
            (3, Unified, 16 * MIB),
        ]
        .map(|(l, k, s)| cache(l, k, s));
        Prices {
            caches: caches.into(),
            ..Prices::new(lines.concat())
        }
    }

    fn result(lines: Vec<LostLines>) -> DesignResult {
        let mut result = head(DetailLevel::Full).designs.remove(0);
        let level = |name: &str, size: u64| switchcost_design::Level {
            name: name.to_owned(),
            size: Bytes(size),
            line: Bytes(64),
            holds: Holds::Both,
            ..result.design.levels[0].clone()
        };
        result.design.levels = vec![
            level("L1", 32 * KIB),
            level("L2", MIB),
            level("L3", 16 * MIB),
        ];
        result.design.cycle_ns = Some([0.5, 0.5]);
        let detail = result.detail.get_or_insert_default();
        detail.lost_lines = lines;
        let kept = |(level, lines): (&str, u64)| WorkingSetLoss {
            level: level.to_owned(),
            returns: 10,
            resident_at_departure: 10 * lines,
            lost: 0,
            restored: 0,
        };
        detail.losses = [("L1", 256), ("L2", 181 * 16), ("L3", 4096)]
            .map(kept)
            .into();
        detail.lost_cycles.programs.processes = 40_000;
        result
    }

    fn lost(found_alone: &str, missed: &str, kind: Kind, lines: u64) -> LostLines {
        LostLines {
            found_alone: found_alone.to_owned(),
            missed: missed.to_owned(),
            kind,
            instruction: None,
            lines,
        }
    }

    #[test]
    fn lines_cost_what_arrays_between_the_same_levels_do() {
        let prices = DesignPrices {
            prices: prices(),
            are_of: vec![true],
        };
        let found = |line| time_lost(Some(&prices), 0, &result(vec![line]), 100.0).expect("priced");
        let near = |found: f64, wanted: f64| {
            assert!(
                (found - wanted).abs() < 0.01 * wanted,
                "{found} for {wanted}"
            )
        };
        // Ten lines per switch move from the second level to the third; half of the loads that come
        // alone wait.
        let chase = found(lost("L2", "L2", Kind::Dependent, 1000));
        near(chase.low_ns.expect("priced"), 9.0);
        near(chase.likely_ns.expect("priced"), 45.0);
        near(chase.high_ns.expect("priced"), 88.0);
        near(chase.cycles_ns.expect("a clock"), 200.0);
        assert_eq!(chase.unpriced_share, Some(0.0));
        // Lines that were lost from the first level cost the price at 16 KiB.
        let first_level = found(lost("L1", "L2", Kind::Sequential, 1000));
        near(first_level.likely_ns.expect("priced"), 2.5);
    }

    #[test]
    fn lines_from_memory_have_no_price_where_nothing_so_large_was_touched() {
        let prices = DesignPrices {
            prices: prices(),
            are_of: vec![true],
        };
        let lines = vec![
            lost("L2", "L3", Kind::Dependent, 300),
            lost("L2", "L2", Kind::Sequential, 100),
        ];
        let found =
            time_lost(Some(&prices), 0, &result(lines.clone()), 100.0).expect("some are priced");
        assert_eq!(
            (found.unpriced_share, found.lines[0].line_ns),
            (Some(0.75), None)
        );
        assert_within(found.likely_ns.expect("priced"), 0.5, 0.01);
        let none = time_lost(Some(&prices), 0, &result(lines[..1].to_vec()), 100.0);
        let none = none.expect("prices of this machine");
        assert_eq!(
            (none.low_ns, none.likely_ns, none.high_ns),
            (None, None, None)
        );
        assert_eq!(none.unpriced_share, Some(1.0));
        let of_another = DesignPrices {
            are_of: vec![false],
            ..prices
        };
        assert_eq!(time_lost(Some(&of_another), 0, &result(lines), 100.0), None);
    }
}
