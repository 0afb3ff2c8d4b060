use switchcost_record::observation::Why;

use super::processes::NO_BOUND;
use super::{Findings, ProcessFinding, Range};

/// Cost of the switches of one program, divided into parts, in nanoseconds of CPU time per second.
#[derive(Clone, Debug, PartialEq)]
pub struct Payer<'a> {
    /// Findings for the program whose cost is divided.
    pub found: &'a ProcessFinding,
    /// Parts of the cost: the direct cost of each cause, most frequent first, then the cost of
    /// reloading caches if known.
    pub parts: Vec<Part>,
    /// Cost of all parts together, in nanoseconds of CPU time per second.
    pub cost: Range,
}

/// One part of the cost of a program's switches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Kind of this part of the cost.
    pub of: Of,
    /// Number of switches of this part.
    pub switches: u64,
    /// Cost of this part, in nanoseconds of CPU time per second.
    pub cost: Range,
}

/// Kind of a part of the cost of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Of {
    /// Direct cost of the switches with one reason.
    Cause(Why),
    /// Direct cost of all switches, if reasons are unknown.
    AnyCause,
    /// Cost of reloading caches, which has no single reason.
    Reloading,
}

/// Returns the cost of each program whose cost of switches is known, in the order of
/// [`Findings::names`].
pub fn payers(findings: &Findings) -> Vec<Payer<'_>> {
    findings
        .names
        .iter()
        .filter_map(|found| payer(found, findings.seconds))
        .collect()
}

fn payer(found: &ProcessFinding, seconds: f64) -> Option<Payer<'_>> {
    let most = found.cpu_ns.map(|cpu| cpu / seconds);
    let bounds = |range: Range| drop_trivial_end(range.over(seconds), most);
    let direct = found.causes.iter().filter_map(|cause| {
        let of = cause.why.map_or(Of::AnyCause, Of::Cause);
        Some(Part {
            of,
            switches: cause.switches,
            cost: bounds(cause.direct_ns?),
        })
    });
    let reloading = found.indirect_ns.map(|range| Part {
        of: Of::Reloading,
        switches: found.switches,
        cost: bounds(range),
    });
    let cost = bounds(found.cost_ns.or(found.direct_ns)?);
    Some(Payer {
        found,
        parts: direct.chain(reloading).collect(),
        cost,
    })
}

/// Returns the cost without an upper end, and without a likely value, if only the CPU time bounds
/// the cost.
fn drop_trivial_end(cost: Range, most: Option<f64>) -> Range {
    match most {
        Some(most) if cost.high >= NO_BOUND * most => Range {
            likely: None,
            high: f64::INFINITY,
            ..cost
        },
        _ => cost,
    }
}

#[cfg(test)]
mod tests {
    use switchcost_record::observation::KnownBy;
    use switchcost_units::Nanos;

    use super::super::analyse;
    use super::super::tests::{blocked, known, observation};
    use super::*;

    #[test]
    fn a_program_pays_for_its_causes_and_for_cold_caches_a_second() {
        // The observation has 100 switches of 900 to 1,100 ns in two seconds.
        let mut observed = observation(blocked(100));
        let direct = Range {
            low: 45_000.0,
            likely: Some(50_000.0),
            high: 55_000.0,
        };
        let findings = analyse(&observed);
        let [one] = payers(&findings).try_into().expect("one program");
        let parts: Vec<_> = one.parts.iter().map(|part| (part.of, part.cost)).collect();
        assert_eq!(parts, [(Of::Cause(Why::Blocked), direct)]);
        assert_eq!(one.cost, direct);
        // Of 130 us run time, at least 90 us are the switches themselves, and all of the rest may
        // be due to cold caches. At least these are the costs after 512 ns of other tasks, and for
        // time slices of 300 ns.
        observed.known = vec![known(KnownBy::Inject, 7, 900.0)];
        observed.tasks[0].run_ns = Nanos(130_000);
        let findings = analyse(&observed);
        let [one] = payers(&findings).try_into().expect("one program");
        assert_eq!((one.parts.len(), one.parts[1].of), (2, Of::Reloading));
        assert_eq!(
            (one.cost.low, one.cost.high),
            (45_000.0 + 10_800.0, f64::INFINITY)
        );
    }
}
