//! The direct cost, and Figures 1 and 2, as measured on this machine.

use analysis::{CaseFinding, Curve, Findings};
use record::{Between, Mechanism};
use units::Bytes;
use workload::{Access, Pattern};

use super::steps::{ACCESSES, GRID};
use crate::exhibit::Cell;
use crate::text::{microseconds, number};
use crate::{Axis, Chart, Claim, Exhibit, Records, Series, Shape, Style, Table};

/// Section 3.1.
const DIRECT_NS: f64 = 3800.0;

/// Between processes over a pipe, two tasks.
fn is_theirs(finding: &CaseFinding) -> bool {
    let case = &finding.case;
    case.mechanism == Mechanism::Pipe
        && case.between == Between::Process
        && case.tasks == 2
        && case.working_set.pattern == Pattern::Strided
}

/// Cost by size: total cost of a switch in nanoseconds, and its interval.
type Points = Vec<Point>;
type Point = (u64, f64, (f64, f64));

fn points(findings: &Findings, access: Access, stride: u64) -> Points {
    let is_wanted = |finding: &&CaseFinding| {
        let set = &finding.case.working_set;
        is_theirs(finding) && !set.is_empty() && set.access == access && set.stride_bytes == Bytes(stride)
    };
    let mut points: Points = findings
        .results
        .iter()
        .filter(is_wanted)
        .filter_map(|finding| {
            let total = finding.total_ns.as_ref()?;
            Some((finding.case.working_set.size_bytes.0, total.estimate, (total.low, total.high)))
        })
        .collect();
    points.sort_by_key(|(size, ..)| *size);
    points.dedup_by_key(|(size, ..)| *size);
    points
}

/// Those whose intervals lie above 0. Where one covers 0, there is no cost to be drawn or judged.
fn clear(mut points: Points) -> Points {
    points.retain(|(_, _, (low, _))| *low > 0.0);
    points
}

fn series(name: &str, points: &Points) -> Series {
    let points = clear(points.clone());
    let mut series = Series::new(name, Style::Found, points.iter().map(|(size, cost, _)| (*size as f64, *cost)));
    series.intervals = points.iter().map(|(.., interval)| *interval).collect();
    series
}

/// Cost and interval in microseconds; no cost where the interval covers 0.
fn cells(cost: f64, (low, high): (f64, f64)) -> [Cell; 3] {
    let centre = if low > 0.0 || high < 0.0 { cost / 1e3 } else { f64::NAN };
    [
        Cell::or_missing(Some(centre).filter(|centre| *centre > 0.0), 3, "not distinguishable from 0"),
        Cell::number(low / 1e3, 3),
        Cell::number(high / 1e3, 3),
    ]
}

pub(super) fn direct(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("section 3.1", "The direct cost of a switch");
    exhibit.steps.push(GRID.to_owned());
    let mut table = Table::new(&["what", "published us", "here us", "low", "high"]);
    let outcome = records.measured(GRID).and_then(|(_, findings)| {
        let is_direct = |finding: &&CaseFinding| is_theirs(finding) && finding.case.working_set.is_empty();
        let finding = findings.results.iter().find(is_direct).ok_or("the record has no direct cost of the pipe")?;
        finding.direct_ns.clone().ok_or_else(|| "the direct cost could not be measured: see the record".to_owned())
    });
    let missing = outcome.as_ref().err().cloned().unwrap_or_default();
    let of = |get: fn(&analysis::Estimate) -> f64| {
        Cell::or_missing(outcome.as_ref().ok().map(|estimate| get(estimate) / 1e3), 3, &missing)
    };
    let row = vec!["c1".into(), Cell::number(DIRECT_NS / 1e3, 1), of(|e| e.estimate), of(|e| e.low), of(|e| e.high)];
    table.row(row);
    exhibit.table = table;
    exhibit.claims = vec![Claim::decided(
        "The direct cost is a few microseconds at most: far below what a lost cache costs",
        outcome.map(|estimate| {
            let why = "a virtual machine, a mitigation or another scheduler makes every switch dear";
            (microseconds(estimate.estimate), Shape::of(estimate.high < 10_000.0, why))
        }),
    )];
    exhibit
}

pub(super) fn figure_1(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("Figure 1", "Cost of a switch over the size of the data, by access");
    exhibit.steps.push(GRID.to_owned());
    let mut table = Table::new(&["size", "access", "total us", "low", "high"]);
    let found = records.measured(GRID).map(|(_, findings)| {
        let mut lines = Vec::new();
        for access in ACCESSES {
            let points = points(findings, access, 8);
            for (size, cost, interval) in &points {
                let mut row: Vec<Cell> = vec![Bytes(*size).to_string().into(), access.to_string().into()];
                row.extend(cells(*cost, *interval));
                table.row(row);
            }
            lines.push(series(&access.to_string(), &points));
        }
        lines
    });
    exhibit.table = table;
    if let Ok(lines) = found {
        let published = Series::new(
            "rmw, published regions",
            Style::Published,
            // The ends of its regions 1 and 2, as its text gives them.
            [(1024.0, 4200.0), (200.0 * 1024.0, 8700.0), (256.0 * 1024.0, 38_600.0), (512.0 * 1024.0, 203_200.0)],
        );
        let lines = lines.into_iter().filter(|line| !line.x.is_empty()).chain([published]).collect();
        exhibit.chart =
            Some(Chart::new("size of each process's array", Axis::Size, "cost of a switch", Axis::Time, lines));
    }
    exhibit.claims = vec![flat(records), knee(records), rise(records), split(records), uneven(records)];
    exhibit.notes.push(
        "The paper prints its curves without numbers; drawn are the ends of its first two regions, which its text gives. \
         Its machine had 512 KB of second-level cache and no third."
            .into(),
    );
    exhibit
}

fn curve(findings: &Findings) -> Result<&Curve, String> {
    let is_theirs = |curve: &&Curve| {
        curve.points.first().and_then(|point| findings.results.get(point.result)).is_some_and(|finding| {
            let set = &finding.case.working_set;
            is_theirs(finding) && set.access == Access::Rmw && set.stride_bytes == Bytes(8)
        })
    };
    findings.curves.iter().find(is_theirs).ok_or_else(|| "too few sizes were measured for a curve".to_owned())
}

fn rmw(records: &Records) -> Result<Points, String> {
    let (_, findings) = records.measured(GRID)?;
    let points = clear(points(findings, Access::Rmw, 8));
    if points.len() < 4 { Err("fewer than four sizes have a cost that is clear of 0".to_owned()) } else { Ok(points) }
}

/// Region 1: 4.2 to 8.7 us from 1 to 200 KB.
fn flat(records: &Records) -> Claim {
    let outcome = records.measured(GRID).and_then(|(record, findings)| {
        let first = record
            .header
            .host
            .caches
            .iter()
            .filter(|c| c.kind != record::CacheKind::Instruction)
            .map(|c| c.size_bytes.0)
            .min();
        let first = first.ok_or("the machine does not report its caches")?;
        let inside: Points = points(findings, Access::Rmw, 8).into_iter().filter(|(size, ..)| *size <= first).collect();
        let costs: Vec<f64> = inside.iter().map(|(_, cost, _)| *cost).collect();
        let (low, high) =
            (costs.iter().copied().fold(f64::INFINITY, f64::min), costs.iter().copied().fold(0.0, f64::max));
        if costs.len() < 2 {
            return Err("fewer than two sizes up to the first level were measured".to_owned());
        }
        let found = format!("{} to {} up to {}", microseconds(low), microseconds(high), Bytes(first));
        Ok((found, Shape::of(high < 2.5 * low, "what a switch costs depends on more than these caches here")))
    });
    Claim::decided(
        "Region 1: where both arrays fit, the cost hardly depends on the size (within a factor of 2.1 in the paper)",
        outcome,
    )
}

/// Whether the first knee lies where one array fits and two do not.
fn knee(records: &Records) -> Claim {
    let outcome = records.measured(GRID).and_then(|(_, findings)| {
        let knee = curve(findings)?.knees.first().ok_or("no knee was found in the curve")?;
        let cause = knee.cause.clone().unwrap_or_else(|| "nothing that is known ends there".to_owned());
        let found = format!("first knee between {} and {}: {cause}", Bytes(knee.after_bytes), Bytes(knee.before_bytes));
        let why = "levels of today's caches lie close together, and prefetchers hide the loss of the first";
        Ok((found, Shape::of(cause.contains("two do not"), why)))
    });
    Claim::decided("The first knee sits where one array fits a cache and two do not", outcome)
}

fn rise(records: &Records) -> Claim {
    let outcome = rmw(records).map(|points| {
        let (size, first, interval) = points[0];
        let top = points.iter().fold(points[0], |top, next| if next.1 > top.1 { *next } else { top });
        let found = format!("{} at {}, at most {}", microseconds(first), Bytes(size), microseconds(top.1));
        let why = "what is lost is brought back from near, or before it is missed";
        (found, Shape::of_interval(over(top.2, interval), 5.0..f64::INFINITY, why))
    });
    Claim::decided("Region 2: the cost rises by more than a factor of 5 (38.6 to 203.2 us in the paper)", outcome)
}

/// The interval of a ratio that the intervals of its parts surely cover.
fn over((low, high): (f64, f64), (below_low, below_high): (f64, f64)) -> (f64, f64) {
    (low / below_high, high / below_low)
}

/// Write and rmw over read, at the largest sizes at which all stand clear of 0.
fn split(records: &Records) -> Claim {
    let outcome = records.measured(GRID).and_then(|(_, findings)| {
        let [read, write, rmw] = ACCESSES.map(|access| points(findings, access, 8));
        let clear = |points: &Points, size: u64| {
            points.iter().find(|(s, _, (low, _))| *s == size && *low > 0.0).map(|(_, cost, ends)| (*cost, *ends))
        };
        let dearest = read
            .iter()
            .filter_map(|(size, ..)| Some((*size, clear(&read, *size)?, clear(&write, *size)?, clear(&rmw, *size)?)))
            .max_by(|a, b| a.1.0.total_cmp(&b.1.0))
            .ok_or("no size has all three accesses measured")?;
        let (size, read, write, rmw) = dearest;
        let found = format!(
            "at {}: write {}, rmw {} times read",
            Bytes(size),
            number(write.0 / read.0),
            number(rmw.0 / read.0)
        );
        let why = "lines are written back in the background here, and reading alone already waits for memory";
        let shapes = [write, rmw].map(|cost| Shape::of_interval(over(cost.1, read.1), 1.5..3.0, why));
        // One that differs decides, then one that is open.
        let [write, rmw] = shapes;
        let is_decided = matches!(write, Shape::Differs(_)) || rmw == Shape::Holds;
        Ok((found, if is_decided { write } else { rmw }))
    });
    Claim::decided("Beyond the knee, writing costs about twice as much as reading", outcome)
}

fn uneven(records: &Records) -> Claim {
    let outcome = records.measured(GRID).and_then(|(record, findings)| {
        let last =
            record.header.host.caches.iter().map(|cache| cache.size_bytes.0).max().ok_or("no caches are known")?;
        let beyond: Points =
            clear(points(findings, Access::Rmw, 8)).into_iter().filter(|(size, ..)| *size >= last).collect();
        if beyond.len() < 2 {
            return Err(format!("fewer than two sizes from {} on have a cost that is clear of 0", Bytes(last)));
        }
        // By more than the intervals, down or up.
        let falls = beyond.windows(2).any(|pair| pair[1].2.1 < pair[0].2.0);
        let rises = beyond.windows(2).all(|pair| pair[1].2.0 > pair[0].2.1);
        let list: Vec<String> =
            beyond.iter().map(|(size, cost, _)| format!("{} at {}", microseconds(*cost), Bytes(*size))).collect();
        let shape = match (falls, rises) {
            (true, _) => Shape::Holds,
            (_, true) => Shape::Differs("the sizes measured are too few to see it fall again".to_owned()),
            _ => Shape::NotShown("the intervals cover each other; more time would narrow them".to_owned()),
        };
        Ok((list.join(", "), shape))
    });
    Claim::decided("Region 3: from the last level's size on, the cost does not grow steadily with the size", outcome)
}

pub(super) fn figure_2(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("Figure 2", "Cost of a switch over the stride");
    exhibit.steps.push(GRID.to_owned());
    const STRIDES: [u64; 5] = [8, 64, 128, 512, 4096];
    let mut table = Table::new(&["size", "stride B", "total us", "low", "high"]);
    let found = records.measured(GRID).map(|(_, findings)| {
        // Only sizes of which more than one stride was measured.
        let by_stride = STRIDES.map(|stride| points(findings, Access::Rmw, stride));
        let sizes: Vec<u64> = by_stride[1].iter().map(|(size, ..)| *size).collect();
        let mut lines = Vec::new();
        for size in sizes {
            let mut line = Points::new();
            for (stride, points) in STRIDES.iter().zip(&by_stride) {
                let Some((_, cost, interval)) = points.iter().find(|(s, ..)| *s == size) else { continue };
                line.push((*stride, *cost, *interval));
                let mut row: Vec<Cell> = vec![Bytes(size).to_string().into(), Cell::number(*stride as f64, 0)];
                row.extend(cells(*cost, *interval));
                table.row(row);
            }
            lines.push(series(&Bytes(size).to_string(), &line));
        }
        lines
    });
    exhibit.table = table;
    if let Ok(lines) = found {
        let lines = lines.into_iter().filter(|line| !line.x.is_empty()).collect();
        exhibit.chart = Some(Chart::new("stride", Axis::Size, "cost of a switch", Axis::Time, lines));
    }
    exhibit.claims = vec![
        strided(records, "Small arrays (the first size): the stride hardly matters", true),
        strided(
            records,
            "Arrays that do not fit: a stride of 128 B costs several times as much as one of 8 B (7 in the paper)",
            false,
        ),
    ];
    exhibit
}

/// The cost at 128 B over that at 8 B, of the smallest size or as the mean of the larger half.
fn strided(records: &Records, statement: &str, is_small: bool) -> Claim {
    let outcome = records.measured(GRID).and_then(|(_, findings)| {
        let (near, far) = (clear(points(findings, Access::Rmw, 8)), clear(points(findings, Access::Rmw, 128)));
        let is_in = |points: &Points, size: u64| points.iter().any(|(s, ..)| *s == size);
        let sizes: Vec<u64> = far.iter().map(|(size, ..)| *size).filter(|size| is_in(&near, *size)).collect();
        if sizes.len() < 2 {
            return Err("fewer than two sizes have a cost clear of 0 at both strides".to_owned());
        }
        let wanted = if is_small { &sizes[..1] } else { &sizes[sizes.len() / 2..] };
        // The mean cost, and the means of the intervals' ends.
        let mean = |points: &Points| {
            let chosen: Vec<_> = points.iter().filter(|(size, ..)| wanted.contains(size)).collect();
            let mean = |of: fn(&Point) -> f64| chosen.iter().map(|point| of(point)).sum::<f64>() / chosen.len() as f64;
            (mean(|point| point.1), (mean(|point| point.2.0), mean(|point| point.2.1)))
        };
        let (near, far) = (mean(&near), mean(&far));
        let [near_us, far_us] = [near.0, far.0].map(microseconds);
        let found = format!("{near_us} at 8 B, {far_us} at 128 B: {} times", number(far.0 / near.0));
        let why = "today's prefetchers follow strides of this length as well";
        let expected = if is_small { 0.5..2.0 } else { 2.0..f64::INFINITY };
        Ok((found, Shape::of_interval(over(far.1, near.1), expected, why)))
    });
    Claim::decided(statement, outcome)
}
