//! Computes curves of cost against size, from cases that differ only in size, with knees and
//! regions.

use switchcost_record::{Case, HostManifest, Policy, Relation};
use switchcost_units::{Bytes, format_cpu_list};
use switchcost_workload::{Pattern, WorkingSet};

use crate::lists::find_or_add;
use crate::measurement::causes::{cause, region_name};
use crate::measurement::findings::{CaseFinding, Curve, CurvePoint, Knee, Region};
use crate::measurement::knees::{KneePosition, Measured, places};
use crate::measurement::repetition::Quantities;
use crate::statistics::quantiles::normal;

/// Least number of sizes for which a curve is computed.
const FEWEST_SIZES: usize = 4;

/// Returns one curve for each group of at least [`FEWEST_SIZES`] cases that differ only in size, in
/// the order of the plan.
pub(crate) fn curves(
    results: &[CaseFinding],
    quantities: &[Quantities],
    host: &HostManifest,
    seed: u64,
) -> Vec<Curve> {
    let several = has_several_placements(results);
    let groups = groups(results)
        .into_iter()
        .filter(|(_, members)| members.len() >= FEWEST_SIZES);
    let draw = |(number, (case, members)): (usize, (Case, Vec<usize>))| {
        let sizes: Vec<_> = members
            .iter()
            .filter_map(|result| size(&results[*result], &quantities[*result]))
            .collect();
        let places = places(&sizes, seed.wrapping_add(number as u64));
        Curve {
            title: title(&case, several),
            points: members
                .iter()
                .filter_map(|result| point(*result, &results[*result]))
                .collect(),
            knees: places
                .iter()
                .map(|place| knee(host, &case, &sizes, *place))
                .collect(),
            regions: regions(host, &case, &sizes, &places),
        }
    };
    groups.enumerate().map(draw).collect()
}

fn point(result: usize, found: &CaseFinding) -> Option<CurvePoint> {
    let total_ns = found.total_ns.as_ref()?.estimate;
    Some(CurvePoint {
        size_bytes: found.case.working_set.size_bytes.0,
        result,
        total_ns,
    })
}

/// Groups results by case without size. Only results with a total cost are used. Each group is
/// sorted by size and has each size once.
fn groups(results: &[CaseFinding]) -> Vec<(Case, Vec<usize>)> {
    let mut groups: Vec<(Case, Vec<usize>)> = Vec::new();
    for (index, result) in results.iter().enumerate() {
        if result.case.working_set.is_empty()
            || !result.case.mechanism.hands_over()
            || result.total_ns.is_none()
        {
            continue;
        }
        let key = case_of_curve(&result.case);
        let is_it = |group: &(Case, Vec<usize>)| group.0 == key;
        let (_, members) = find_or_add(&mut groups, is_it, || (key.clone(), Vec::new()));
        members.push(index);
    }
    for (_, members) in &mut groups {
        members.sort_by_key(|index| results[*index].case.working_set.size_bytes);
        members.dedup_by_key(|index| results[*index].case.working_set.size_bytes);
    }
    groups
}

fn case_of_curve(case: &Case) -> Case {
    Case {
        working_set: WorkingSet {
            size_bytes: Bytes(0),
            ..case.working_set
        },
        ..case.clone()
    }
}

/// Returns a size with its total cost, relative standard error and repetitions; `None` if the total
/// is not distinguishable from 0.
fn size<'a>(found: &CaseFinding, quantities: &'a Quantities) -> Option<Measured<'a>> {
    let total = found.total_ns.as_ref().filter(|total| total.low > 0.0)?;
    Some(Measured {
        size_bytes: found.case.working_set.size_bytes.0,
        total_ns: total.estimate,
        relative_error: total.relative_half_width_within_run() / normal(total.confidence),
        repetitions: &quantities.total,
    })
}

fn knee(host: &HostManifest, case: &Case, sizes: &[Measured<'_>], place: KneePosition) -> Knee {
    let (after_bytes, before_bytes) = (
        sizes[place.after].size_bytes,
        sizes[place.after + 1].size_bytes,
    );
    let cause = cause(host, case, after_bytes, before_bytes);
    Knee {
        after_bytes,
        before_bytes,
        confidence: place.confidence,
        cause,
    }
}

fn regions(
    host: &HostManifest,
    case: &Case,
    sizes: &[Measured<'_>],
    places: &[KneePosition],
) -> Vec<Region> {
    let mut regions = Vec::new();
    let mut rest = sizes;
    let mut taken = 0;
    for place in places {
        let (region, others) = rest.split_at(place.after + 1 - taken);
        taken = place.after + 1;
        rest = others;
        regions.extend(self::region(host, case, region));
    }
    regions.extend(region(host, case, rest));
    regions
}

fn region(host: &HostManifest, case: &Case, sizes: &[Measured<'_>]) -> Option<Region> {
    let (from_bytes, to_bytes) = (sizes.first()?.size_bytes, sizes.last()?.size_bytes);
    let totals = || sizes.iter().map(|size| size.total_ns);
    Some(Region {
        from_bytes,
        to_bytes,
        low_ns: totals().fold(f64::INFINITY, f64::min),
        high_ns: totals().fold(f64::NEG_INFINITY, f64::max),
        name: region_name(host, case, from_bytes, to_bytes),
    })
}

fn has_several_placements(results: &[CaseFinding]) -> bool {
    results
        .windows(2)
        .any(|pair| pair[0].case.placement != pair[1].case.placement)
}

/// Returns a text with the conditions that all points of a curve share. Mechanism, tasks, pattern
/// and access are always included, other conditions only if they are not the usual ones.
fn title(case: &Case, names_placement: bool) -> String {
    let set = &case.working_set;
    let mut parts = vec![
        case.mechanism.to_string(),
        case.between.to_string(),
        format!("{} tasks", case.tasks),
    ];
    parts.push(match set.pattern {
        Pattern::Strided => format!("stride {}", set.stride_bytes),
        Pattern::Chase => format!("chase of {} nodes", set.stride_bytes),
    });
    parts.push(set.access.to_string());
    parts.extend(set.unusual());
    if let Some(away) = case.away {
        parts.push(format!("away while {away} are touched"));
    }
    if case.policy != Policy::Fifo {
        parts.push(format!("policy {}", case.policy));
    }
    if case.placement.relation == Relation::Unpinned || case.placement.cpus.is_empty() {
        parts.push("not pinned".to_owned());
    } else if names_placement || !case.placement.is_one_cpu() {
        parts.push(format!("CPU {}", format_cpu_list(&case.placement.cpus)));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests;
