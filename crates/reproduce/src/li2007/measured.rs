//! Claims of Li et al. on the direct cost and on Figures 1 and 2, measured on this machine.

use switchcost_analysis::{CaseFinding, Curve, Estimate, Findings, Knee};
use switchcost_record::{Between, CacheKind, Case, Mechanism};
use switchcost_units::Bytes;
use switchcost_workload::{Access, Pattern};

use super::steps::{ACCESSES, GRID};
use crate::claims::{Found, Quantities, Term, ratio};
use crate::exhibit::Cell;
use crate::interval::{Interval, largest, smallest};
use crate::records::require;
use crate::text::microseconds;
use crate::{Axis, Chart, Exhibit, Outcome, Records, Series, Style};

/// Strides of the measured grid, in bytes.
const STRIDES: [u64; 5] = [8, 64, 128, 512, 4096];

/// Direct cost in section 3.1 of Li et al., in ns.
const DIRECT_NS: f64 = 3800.0;
/// Clock of the processors of Li et al. (section 3.1), in GHz.
const GHZ: f64 = 2.0;

/// Returns true if a result has the conditions of Li et al.: two processes that alternate through a
/// pipe.
fn is_theirs(finding: &CaseFinding) -> bool {
    is_their_case(&finding.case)
}

fn is_their_case(case: &Case) -> bool {
    case.mechanism == Mechanism::Pipe
        && case.between == Between::Process
        && case.tasks == 2
        && case.working_set.pattern == Pattern::Strided
}

/// Costs of a switch by array size or stride.
type Points = Vec<Point>;
type Point = (u64, Interval);

/// Returns points whose intervals also cover the differences between runs.
fn points(findings: &Findings, access: Access, stride: u64) -> Points {
    points_with(findings, access, stride, |total| total.into())
}

/// Returns points whose intervals cover the variation within a run only, for comparisons among
/// points of the same run.
fn points_of_one_run(findings: &Findings, access: Access, stride: u64) -> Points {
    points_with(findings, access, stride, Estimate::estimate_within_run)
}

fn points_with(
    findings: &Findings,
    access: Access,
    stride: u64,
    held: fn(&Estimate) -> Interval,
) -> Points {
    let is_wanted = |finding: &&CaseFinding| {
        let set = &finding.case.working_set;
        is_theirs(finding)
            && !set.is_empty()
            && set.access == access
            && set.stride_bytes == Bytes(stride)
    };
    let mut points: Points = findings
        .results
        .iter()
        .filter(is_wanted)
        .filter_map(|finding| {
            let total = held(finding.total_ns.as_ref()?);
            Some((finding.case.working_set.size_bytes.0, total))
        })
        .collect();
    points.sort_by_key(|(size, ..)| *size);
    points.dedup_by_key(|(size, ..)| *size);
    points
}

/// Keeps the points whose intervals lie above 0. Other points have no cost to draw or judge.
fn clear(mut points: Points) -> Points {
    points.retain(|(_, cost)| cost.low > 0.0);
    points
}

/// Returns the series of costs over the array size or stride, and of upper limits for costs whose
/// intervals cover 0.
fn curve(name: &str, points: &Points) -> Vec<Series> {
    let points: Vec<(f64, Interval)> = points.iter().map(|(x, cost)| (*x as f64, *cost)).collect();
    Series::measured(name, &points)
}

/// Returns the cells of a cost and of its interval's ends in microseconds. The cost is missing
/// unless the interval lies above 0.
fn cells(cost: Interval) -> [Cell; 3] {
    let centre = if cost.low > 0.0 || cost.high < 0.0 {
        cost.estimate / 1e3
    } else {
        f64::NAN
    };
    [
        Cell::or_missing(
            Some(centre).filter(|centre| *centre > 0.0),
            3,
            "not distinguishable from 0",
        ),
        Cell::number(cost.low / 1e3, 3),
        Cell::number(cost.high / 1e3, 3),
    ]
}

fn direct_finding(records: &Records) -> Outcome<&CaseFinding> {
    let (_, findings) = records.measured(GRID)?;
    let is_direct =
        |finding: &&CaseFinding| is_theirs(finding) && finding.case.working_set.is_empty();
    findings
        .results
        .iter()
        .find(is_direct)
        .ok_or_else(|| "the record has no direct cost of the pipe".to_owned())
}

fn direct_cost(records: &Records) -> Outcome<Estimate> {
    let finding = direct_finding(records)?;
    finding
        .direct_ns
        .clone()
        .ok_or_else(|| "the direct cost could not be measured: see the record".to_owned())
}

fn direct_cycles(records: &Records) -> Outcome<Estimate> {
    let finding = direct_finding(records)?;
    finding
        .direct_cycles
        .clone()
        .ok_or_else(|| "the cycles of a multiplication are not known for this core".to_owned())
}

/// Returns a row with a published value, the value found, and the ends of its interval. Values
/// found are divided by `unit`.
fn row(
    what: &str,
    published: Cell,
    (found, unit): (Outcome<Estimate>, f64),
    decimals: usize,
) -> Vec<Cell> {
    let missing = found.as_ref().err().cloned().unwrap_or_default();
    let of = |get: fn(&Estimate) -> f64| {
        Cell::or_missing(
            found.as_ref().ok().map(|estimate| get(estimate) / unit),
            decimals,
            &missing,
        )
    };
    vec![
        what.into(),
        published,
        of(|e| e.estimate),
        of(|e| e.low),
        of(|e| e.high),
    ]
}

pub(super) fn direct(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "section 3.1",
        "The direct cost of a switch",
        ["what", "published", "here", "low", "high"],
    );
    exhibit.add_step(GRID);
    let published = Cell::number(DIRECT_NS / 1e3, 1);
    exhibit.row(row("c1, us", published, (direct_cost(records), 1e3), 3));
    let published = Cell::number(DIRECT_NS * GHZ, 0);
    exhibit.row(row(
        "c1, core cycles (published: at 2.0 GHz)",
        published,
        (direct_cycles(records), 1.0),
        0,
    ));
    exhibit
}

pub(super) fn figure_1(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Figure 1",
        "Cost of a switch by size of the data and access",
        ["size", "access", "total us", "low", "high"],
    );
    exhibit.add_step(GRID);
    let found = records.measured(GRID).map(|(_, findings)| {
        let mut lines = Vec::new();
        for access in ACCESSES {
            let points = points(findings, access, 8);
            for (size, cost) in &points {
                let mut row: Vec<Cell> = vec![Bytes(*size).into(), access.to_string().into()];
                row.extend(cells(*cost));
                exhibit.row(row);
            }
            lines.extend(curve(&access.to_string(), &points));
        }
        lines
    });
    if let Ok(lines) = found {
        let published = Series::new(
            "all accesses, published",
            Style::Published,
            // The marks are the ends of the paper's regions 1 and 2, given in its text.
            [
                (1024.0, 4200.0),
                (200.0 * 1024.0, 8700.0),
                (256.0 * 1024.0, 38_600.0),
                (512.0 * 1024.0, 203_200.0),
            ],
        );
        let lines = lines.into_iter().chain([published]).collect();
        exhibit.chart = Some(Chart::new(
            "size of each process's array",
            Axis::Size,
            "cost of a switch",
            Axis::Time,
            lines,
        ));
    }
    exhibit.add_note("Dashed: the ends of the paper's first two regions, from its text. Open triangles: upper limits, because the \
         interval covers 0. The paper's machine had 512 KB of cache in its last level.");
    exhibit
}

pub(super) fn figure_2(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Figure 2",
        "Cost of a switch by stride",
        ["size", "stride B", "total us", "low", "high"],
    );
    exhibit.add_step(GRID);
    let found = records.measured(GRID).map(|(_, findings)| {
        // Only sizes that were measured with several strides are included.
        let by_stride = STRIDES.map(|stride| points(findings, Access::Rmw, stride));
        let sizes: Vec<u64> = by_stride[1].iter().map(|(size, ..)| *size).collect();
        let mut lines = Vec::new();
        for size in sizes {
            let mut line = Points::new();
            for (stride, points) in STRIDES.iter().zip(&by_stride) {
                let Some((_, cost)) = points.iter().find(|(s, ..)| *s == size) else {
                    continue;
                };
                line.push((*stride, *cost));
                let mut row: Vec<Cell> = vec![Bytes(size).into(), Cell::number(*stride as f64, 0)];
                row.extend(cells(*cost));
                exhibit.row(row);
            }
            lines.extend(curve(&Bytes(size).to_string(), &line));
        }
        lines
    });
    if let Ok(lines) = found {
        // Section 3.2 of Li et al. gives means over the arrays that do not fit in the cache.
        let means = Series::new(
            "arrays that do not fit, published mean",
            Style::Published,
            [(8.0, 116_500.0), (128.0, 825_300.0)],
        );
        let lines = lines.into_iter().chain([means]).collect();
        exhibit.chart = Some(Chart::new(
            "stride",
            Axis::Size,
            "cost of a switch",
            Axis::Time,
            lines,
        ));
    }
    exhibit.add_note("Published for arrays that do not fit: 44.1 to 183.8 us at a stride of 8 B, and 133.8 to 1496.1 us at 128 B.");
    exhibit
}

/// Returns the costs of read-modify-writes at a stride of 8 B that lie above 0, by array size; an
/// error with fewer than four sizes.
fn rmw(records: &Records) -> Outcome<Points> {
    let (_, findings) = records.measured(GRID)?;
    let points = clear(points_of_one_run(findings, Access::Rmw, 8));
    require(
        points,
        4,
        "fewer than four sizes have a cost that is clear of 0",
    )
}

/// Returns the capacities of the machine's data caches in bytes, in ascending order.
fn capacities(records: &Records) -> Outcome<Vec<u64>> {
    let (record, _) = records.measured(GRID)?;
    let caches = record
        .header
        .host
        .caches
        .iter()
        .filter(|cache| cache.kind != CacheKind::Instruction);
    let mut sizes: Vec<u64> = caches.map(|cache| cache.size_bytes.0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    require(sizes, 1, "the machine does not report its caches")
}

fn dearest(points: &[Point]) -> Option<&Point> {
    points
        .iter()
        .max_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate))
}

/// Returns an error if the largest cost is uncertain, because another cost, whose interval covers
/// 0, may be larger.
fn check_largest(all: &[Point], most: &Point) -> Outcome<()> {
    let hidden = all
        .iter()
        .find(|(_, cost)| cost.low <= 0.0 && cost.high > most.1.estimate);
    hidden.map_or(Ok(()), |(size, ..)| {
        Err(format!(
            "the cost at {} is not clear of 0, and may be larger than all that are",
            Bytes(*size)
        ))
    })
}

fn cheapest(points: &[Point]) -> Option<&Point> {
    points
        .iter()
        .min_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate))
}

fn costs(points: &[Point]) -> Vec<Interval> {
    points.iter().map(|(_, cost)| *cost).collect()
}

/// Returns the largest of some costs. Which cost is the largest was not known in advance, so its
/// interval is widened.
fn most_of(points: &[Point]) -> Outcome<Interval> {
    largest(&costs(points)).ok_or_else(|| "no size has a cost that is clear of 0".to_owned())
}

/// Returns the smallest of some costs, with a widened interval.
fn least_of(points: &[Point]) -> Outcome<Interval> {
    smallest(&costs(points)).ok_or_else(|| "no size has a cost that is clear of 0".to_owned())
}

/// Returns the points of region 1 (two arrays fit in the first-level cache), and the size of that
/// cache in bytes.
fn region_1(records: &Records) -> Outcome<(Points, u64)> {
    let first = capacities(records)?[0];
    let fit: Points = rmw(records)?
        .into_iter()
        .filter(|(size, ..)| 2 * size <= first)
        .collect();
    Ok((
        require(
            fit,
            2,
            format!(
                "fewer than two sizes up to half of {} have a cost that is clear of 0",
                Bytes(first)
            ),
        )?,
        first,
    ))
}

/// Returns the ratio of the largest to the smallest cost in region 1, where both arrays fit in the
/// first-level cache.
fn flat(records: &Records) -> Outcome {
    let (fit, first) = region_1(records)?;
    let note = format!(
        "up to {}, first level {}",
        Bytes(fit[fit.len() - 1].0),
        Bytes(first)
    );
    Ok(Found::number(
        ratio(
            "largest over smallest cost",
            most_of(&fit)?,
            least_of(&fit)?,
        ),
        note,
    ))
}

/// Returns the first knee of the curve of sequential read-modify-writes.
fn knee_of(records: &Records) -> Outcome<&Knee> {
    let (_, findings) = records.measured(GRID)?;
    let is_theirs = |curve: &&Curve| {
        curve
            .points
            .first()
            .and_then(|point| findings.results.get(point.result))
            .is_some_and(|finding| {
                let set = &finding.case.working_set;
                is_theirs(finding) && set.access == Access::Rmw && set.stride_bytes == Bytes(8)
            })
    };
    let curve = findings
        .curves
        .iter()
        .find(is_theirs)
        .ok_or("too few sizes were measured for a curve")?;
    curve
        .knees
        .first()
        .ok_or_else(|| "no knee was found in the curve".to_owned())
}

/// Returns the ratio of the knee's array size to the capacity of the smallest cache that is at
/// least as large, or of the largest cache.
fn knee(records: &Records) -> Outcome {
    let knee = knee_of(records)?;
    let (after, before) = (knee.after_bytes as f64, knee.before_bytes as f64);
    let (all, middle) = (capacities(records)?, (after * before).sqrt());
    let reaching = all
        .iter()
        .find(|capacity| **capacity as f64 >= middle)
        .or(all.last());
    let capacity = *reaching.ok_or("the machine does not report its caches")?;
    let [after, before] = [after, before].map(|size| size / capacity as f64);
    let term = Term::new(
        format!("knee over {}", Bytes(capacity)),
        Interval::new((after * before).sqrt(), after, before),
    );
    let note = format!(
        "first knee between {} and {}",
        Bytes(knee.after_bytes),
        Bytes(knee.before_bytes)
    );
    Ok(Found::number(term, note))
}

/// Stride in bytes that skips lines, so that the lines prefetched by a sequential prefetcher are
/// not used next.
const SKIPPING_BYTES: u64 = 512;

/// Returns the ratio of the cost at a stride that skips lines to the cost of a sequential
/// traversal, at sizes from half of the second-level cache to the knee.
fn prefetched(records: &Records) -> Outcome {
    let end = knee_of(records)?.after_bytes;
    let second = *capacities(records)?
        .get(1)
        .ok_or("the machine does not report a second level")?;
    let (all, sizes) = points_by_stride(records, &[8, SKIPPING_BYTES])?;
    let ratio = |size: u64| {
        let (near, far) = cost_at(&all[0], size).zip(cost_at(&all[1], size))?;
        Some(ratio(
            format!("{SKIPPING_BYTES} B over 8 B at {}", Bytes(size)),
            far,
            near,
        ))
    };
    let before = sizes
        .into_iter()
        .filter(|size| second / 2 <= *size && *size <= end);
    let terms: Vec<Term> = before.filter_map(ratio).collect();
    Ok(Found::new(
        require(
            terms,
            1,
            "no size from half of the second level to the knee has a cost clear of 0 at both strides",
        )?,
        "",
    ))
}

/// Returns the ratio of the largest cost to the cost of the smallest array, at a stride that is not
/// prefetched, for the claim on region 2. With a sequential traversal, the cost of a reload is
/// small compared with the noise.
fn rise(records: &Records) -> Outcome {
    let all = points_of_one_run(records.measured(GRID)?.1, Access::Rmw, STRIDES[2]);
    let points = clear(all.clone());
    let most = dearest(&points).ok_or("no size has a cost that is clear of 0")?;
    check_largest(&all, most)?;
    let note = format!(
        "{} at {}, {} at {}",
        microseconds(points[0].1.estimate),
        Bytes(points[0].0),
        microseconds(most.1.estimate),
        Bytes(most.0)
    );
    Ok(Found::number(
        ratio(
            "largest cost over that of the smallest size",
            most_of(&points)?,
            points[0].1,
        ),
        note,
    ))
}

/// Returns the ratio of the cost at each array size to the cost at the next smaller size, from half
/// of the last-level cache to its full size, for the claim on region 2.
fn grows(records: &Records) -> Outcome {
    let last = capacities(records)?.pop().unwrap_or_default();
    let mut points = rmw(records)?;
    points.retain(|(size, ..)| last / 2 <= *size && *size <= last);
    if points.len() < 2 {
        return Err(format!(
            "too few costs at sizes from {} to {} are clear of 0",
            Bytes(last / 2),
            Bytes(last)
        ));
    }
    Ok(Found::new(steps_up(&points), ""))
}

/// Returns the ratio of the cost at each array size to the cost at the next smaller size.
fn steps_up(points: &[Point]) -> Vec<Term> {
    let step = |pair: &[Point]| {
        ratio(
            format!("{} over {}", Bytes(pair[1].0), Bytes(pair[0].0)),
            pair[1].1,
            pair[0].1,
        )
    };
    points.windows(2).map(step).collect()
}

/// Returns the ratio of the largest indirect cost (total minus direct cost) to the direct cost.
fn indirect_range(records: &Records) -> Outcome {
    let direct = direct_cost(records)?.estimate_within_run();
    let all = points_of_strides(records)?;
    let most = most_of(&clear(all.clone()))?;
    let dearest = dearest(&all).ok_or("no size was measured")?;
    check_largest(&all, dearest)?;
    let indirect = most - direct;
    let note = format!(
        "{}; direct cost {}",
        microseconds(indirect.estimate),
        microseconds(direct.estimate)
    );
    Ok(Found::number(
        ratio("largest indirect over the direct cost", indirect, direct),
        note,
    ))
}

/// Returns the ratios of the cost of writes and of read-modify-writes to the cost of reads, at the
/// size of the last-level cache.
fn split(records: &Records) -> Outcome {
    let (_, findings) = records.measured(GRID)?;
    let [read, write, rmw] = ACCESSES.map(|access| clear(points_of_one_run(findings, access, 8)));
    let size = capacities(records)?.pop().unwrap_or_default();
    let at = |points: &Points| cost_at(points, size);
    let all = at(&read).zip(at(&write)).zip(at(&rmw));
    let ((read, write), rmw) = all.ok_or_else(|| {
        format!(
            "at {}, the cost of an access is not clear of 0",
            Bytes(size)
        )
    })?;
    let terms = [("write", write), ("rmw", rmw)]
        .map(|(name, cost)| ratio(format!("{name} over read"), cost, read));
    Ok(Found::new(terms.to_vec(), format!("at {}", Bytes(size))))
}

/// Returns the costs at array sizes of at least the last-level cache's size, which are region 3 of
/// Li et al.
fn beyond(records: &Records) -> Outcome<Points> {
    let last = capacities(records)?.pop().unwrap_or_default();
    let beyond: Points = rmw(records)?
        .into_iter()
        .filter(|(size, ..)| *size >= last)
        .collect();
    require(
        beyond,
        2,
        format!(
            "too few costs at sizes from {} on are clear of 0",
            Bytes(last)
        ),
    )
}

/// Returns the ratio of the cost at each array size to the cost at the next smaller size, for
/// region 3 (from the size of the last-level cache on).
fn uneven(records: &Records) -> Outcome {
    Ok(Found::new(steps_up(&beyond(records)?), ""))
}

/// Returns the ratio of the smallest cost in region 3 to the largest in region 1.
fn region_3_ratio(records: &Records) -> Outcome {
    let (least, most) = (
        least_of(&beyond(records)?)?,
        most_of(&region_1(records)?.0)?,
    );
    Ok(Found::number(
        ratio(
            "cheapest size of region 3 over the most expensive of region 1",
            least,
            most,
        ),
        "",
    ))
}

fn cost_at(points: &[Point], size: u64) -> Option<Interval> {
    let found = points.iter().find(|(other, _)| *other == size);
    found.map(|(_, cost)| *cost)
}

/// Returns the mean cost over the wanted sizes, with the means of the lower and of the upper ends
/// of the intervals.
fn mean_of(points: &Points, wanted: &[u64]) -> Interval {
    let chosen: Vec<_> = points
        .iter()
        .filter(|(size, ..)| wanted.contains(size))
        .collect();
    let mean = |of: fn(&Point) -> f64| {
        chosen.iter().map(|point| of(point)).sum::<f64>() / chosen.len() as f64
    };
    Interval::new(
        mean(|(_, cost)| cost.estimate),
        mean(|(_, cost)| cost.low),
        mean(|(_, cost)| cost.high),
    )
}

/// Returns the costs of each stride, and the sizes whose costs lie above 0 at all strides.
fn points_by_stride(records: &Records, strides: &[u64]) -> Outcome<(Vec<Points>, Vec<u64>)> {
    let (_, findings) = records.measured(GRID)?;
    let of_stride = |stride: &u64| clear(points_of_one_run(findings, Access::Rmw, *stride));
    let all: Vec<Points> = strides.iter().map(of_stride).collect();
    let is_in = |points: &Points, size: u64| points.iter().any(|(s, ..)| *s == size);
    let sizes = all[all.len() - 1].iter().map(|(size, ..)| *size);
    let sizes: Vec<u64> = sizes
        .filter(|size| all.iter().all(|points| is_in(points, *size)))
        .collect();
    Ok((
        all,
        require(
            sizes,
            2,
            "fewer than two sizes have a cost clear of 0 at all strides",
        )?,
    ))
}

/// Returns the mean cost at each stride over the larger half of the sizes that were measured at all
/// strides, and a description of these sizes. Costs whose intervals cover 0 are included: the cost
/// of a sequential reload is small, so leaving these sizes out would leave out the largest
/// differences between strides.
fn larger_half(records: &Records, strides: &[u64]) -> Outcome<(Vec<Interval>, String)> {
    let (_, findings) = records.measured(GRID)?;
    let of_stride = |stride: &u64| points_of_one_run(findings, Access::Rmw, *stride);
    let all: Vec<Points> = strides.iter().map(of_stride).collect();
    let is_in = |points: &Points, size: u64| points.iter().any(|(s, ..)| *s == size);
    let measured = all[0].iter().map(|(size, ..)| *size);
    let sizes: Vec<u64> = measured
        .filter(|size| all.iter().all(|points| is_in(points, *size)))
        .collect();
    if sizes.len() < 2 {
        return Err("fewer than two sizes were measured at all strides".to_owned());
    }
    let larger = &sizes[sizes.len() / 2..];
    let means = all.iter().map(|points| mean_of(points, larger)).collect();
    Ok((means, format!("from {} on", Bytes(larger[0]))))
}

/// Returns the difference between the cost `far` and a multiple of the cost `near`, in
/// microseconds.
fn difference(name: String, far: Interval, times: f64, near: Interval) -> Term {
    let more = far - near.map(|ns| times * ns);
    Term::new(name, more.map(|ns| ns / 1e3))
}

/// Strides of the paper that the measured grid has, in bytes.
const PUBLISHED_STRIDES: [u64; 3] = [8, 64, 128];

/// Returns the difference between the cost at each stride and at the next smaller one, as a mean
/// over the larger half of the sizes.
fn larger_strides(records: &Records) -> Outcome {
    let (means, sizes) = larger_half(records, &PUBLISHED_STRIDES)?;
    let step = |place: usize| {
        let [near, far] = [PUBLISHED_STRIDES[place], PUBLISHED_STRIDES[place + 1]];
        let name = format!("{far} B minus {near} B, us");
        difference(name, means[place + 1], 1.0, means[place])
    };
    let terms = (0..PUBLISHED_STRIDES.len() - 1).map(step).collect();
    Ok(Found::new(terms, sizes))
}

/// Returns the difference between the cost at a stride of 128 B and twice the cost at 8 B, as a
/// mean over the larger half of the sizes.
fn strided(records: &Records) -> Outcome {
    let (means, sizes) = larger_half(records, &[8, 128])?;
    let [near, far] = [means[0], means[1]];
    let note = format!(
        "{} at 8 B, {} at 128 B; {sizes}",
        microseconds(near.estimate),
        microseconds(far.estimate)
    );
    let term = difference("128 B minus twice 8 B, us".to_owned(), far, 2.0, near);
    Ok(Found::number(term, note))
}

/// Returns the ratio of the cost at a stride of 128 B to the cost at 8 B, for the smallest array
/// size.
fn small_by_stride(records: &Records) -> Outcome {
    let (all, sizes) = points_by_stride(records, &[8, 128])?;
    let [near, far] = [0, 1].map(|place| mean_of(&all[place], &sizes[..1]));
    let note = format!(
        "{} at 8 B, {} at 128 B",
        microseconds(near.estimate),
        microseconds(far.estimate)
    );
    Ok(Found::number(ratio("128 B over 8 B", far, near), note))
}

/// Returns the costs measured at all strides and sizes.
fn points_of_strides(records: &Records) -> Outcome<Points> {
    let (_, findings) = records.measured(GRID)?;
    Ok(STRIDES
        .map(|stride| points_of_one_run(findings, Access::Rmw, stride))
        .concat())
}

/// Returns the ratio of the largest to the smallest of all measured costs.
fn whole_range(records: &Records) -> Outcome {
    let every = points_of_strides(records)?;
    let all = clear(every.clone());
    let (most, least) = dearest(&all)
        .zip(cheapest(&all))
        .ok_or("no size has a cost that is clear of 0")?;
    check_largest(&every, most)?;
    let note = format!(
        "{} to {}",
        microseconds(least.1.estimate),
        microseconds(most.1.estimate)
    );
    Ok(Found::number(
        ratio(
            "largest over smallest cost",
            most_of(&all)?,
            least_of(&all)?,
        ),
        note,
    ))
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("direct-cost", |r| {
            let cost = direct_cost(r)?;
            let us = Interval::from(&cost).map(|ns| ns / 1e3);
            Ok(Found::number(Term::new("us", us), ""))
        }),
        ("whole-range", whole_range),
        ("indirect-range", indirect_range),
        ("region-1", flat),
        ("first-knee", knee),
        ("in-order-is-prefetched", prefetched),
        ("region-2", rise),
        ("region-2-grows", grows),
        ("writes-twice", split),
        ("region-3-uneven", uneven),
        ("region-3-high", region_3_ratio),
        ("small-arrays-any-stride", small_by_stride),
        ("large-arrays-by-stride", strided),
        ("larger-strides", larger_strides),
    ]
}
