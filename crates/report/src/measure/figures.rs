//! Charts of the findings of a measurement.

mod conditions;
mod samples;
mod sizes;

use std::collections::BTreeMap;

use switchcost_analysis::{Band, CaseFinding, Estimate, Findings, SharedCache, Verdict};
use switchcost_record::{CacheKind, HostManifest, Policy, RuntimeRun};
use switchcost_units::CpuId;

use super::conditions::{label, placement, scheduler};
use super::row::has_numbers;
use crate::figure::{Axis, Chart, Look, Mark, Point, Scale, Series};
use crate::quantity::{is_cost, ordinal, range, time, with_interval};

pub(super) use conditions::add as add_comparisons;
pub(super) use samples::add as add_samples;
pub(super) use sizes::{draw as sizes, parts};

/// Maximum number of CPUs in a matrix. The cells of more CPUs would be too small.
const MOST_CPUS: usize = 256;

/// Maximum number of curves in a chart. More curves could not be distinguished.
const MOST_CURVES: usize = 10;

const SIZE: &str = "size of each task's array";

/// Creates a point for an estimate of a result. A suspect result gives a suspect point.
fn point(x: f64, finding: &CaseFinding, estimate: Option<&Estimate>) -> Point {
    Point::estimate(x, estimate.filter(|_| has_numbers(finding)))
        .suspect_if(finding.verdict == Verdict::Suspect)
}

fn time_axis(title: &str) -> Axis {
    Axis::new(Scale::Time, title)
}

/// Draws the cost of a switch by mechanism, with the published ranges; `None` if there are no
/// results. For a result without the direct cost of a switch, the cost of a hand-off is drawn.
pub(super) fn mechanisms(findings: &[&CaseFinding]) -> Option<Chart> {
    let mut findings = findings.to_vec();
    let cost = |finding: &CaseFinding| {
        finding
            .deciding()
            .map_or(f64::INFINITY, |cost| cost.estimate)
    };
    findings.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    let policy = findings.first()?.case.policy;
    let bands = findings.iter().enumerate().filter_map(|(place, finding)| {
        let Band { low, high, source } = finding.sanity_band_ns?;
        let text = range((low, high), time);
        let point = Point::new(place as f64, f64::NAN, text).with_note(source);
        Some(point.between(low, high))
    });
    let points = |is_switch: bool| {
        let of_kind = findings
            .iter()
            .enumerate()
            .filter(move |(_, f)| f.direct_ns.is_some() == is_switch);
        of_kind.map(move |(place, finding)| {
            let cost = if is_switch {
                &finding.direct_ns
            } else {
                &finding.handoff_ns
            };
            point(place as f64, finding, cost.as_ref())
        })
    };
    let names = findings.iter().map(|finding| name(finding, policy));
    Some(Chart::new("mechanisms", "Mechanisms side by side", Axis::names("mechanism", names), time_axis("cost"))
        .across()
        .with([
            Series::new(Look::Band, "published range", bands),
            Series::new(Look::Dots, "switch", points(true)).coloured(0),
            Series::new(Look::Dots, "hand-off", points(false)).coloured(1),
        ])
        .caption(
            "Direct cost with its interval, cheapest first. Grey: the plausible range, from published numbers. A number outside \
             needs an explanation; a number inside proves nothing.",
        ))
}

/// Returns the name of a result: the mechanism, and the number of tasks, the CPUs and the policy if
/// they are not the usual ones. `usual` is the usual policy.
fn name(finding: &CaseFinding, usual: Policy) -> String {
    let case = &finding.case;
    let mut name = format!("{} {}", case.name(), case.between);
    if case.tasks != 2 {
        name += &format!(", {} tasks", case.tasks);
    }
    if !case.placement.is_one_cpu() {
        name += &format!(", {}", placement(case));
    }
    if case.policy != usual {
        name += &format!(", {}", scheduler(case.policy));
    }
    name
}

/// Draws the costs of the hand-offs of one class. Hand-offs of runtimes and hand-offs without a
/// runtime have different colours.
pub(super) fn ladder(class: &str, rows: &[(&CaseFinding, String)]) -> Chart {
    let points = |is_runtime: bool| {
        let of_kind = rows
            .iter()
            .enumerate()
            .filter(move |(_, (f, _))| f.case.runtime.is_some() == is_runtime);
        of_kind.map(|(place, (found, _))| point(place as f64, found, found.handoff_ns.as_ref()))
    };
    let names = Axis::names("", rows.iter().map(|(_, name)| name));
    let (id, title) = (
        format!("ladder-{}", class.to_lowercase()),
        format!("{class}s beside each other"),
    );
    Chart::new(id, title, names, time_axis("cost"))
        .across()
        .with([
            Series::new(Look::Dots, "runtimes", points(true)).coloured(0),
            Series::new(Look::Dots, "without a runtime", points(false)).coloured(1),
        ])
        .caption("Each with its interval, cheapest first.")
        .hide_numbers()
}

/// Draws load latency as a function of size, with the sizes of the machine's caches; `None` if
/// there are no points. `points` are sizes in bytes and latencies in ns.
pub(super) fn latency(host: &HostManifest, points: &[(u64, f64)]) -> Option<Chart> {
    let points: Vec<(f64, f64)> = points
        .iter()
        .filter(|(_, ns)| *ns > 0.0)
        .map(|(size, ns)| (*size as f64, *ns))
        .collect();
    let (first, last) = (points.first()?.0, points.last()?.0);
    let caches = host.caches.iter().filter(|cache| {
        let size = cache.size_bytes.0 as f64;
        cache.kind != CacheKind::Instruction && (first..=last).contains(&size)
    });
    let marks = caches.map(|cache| {
        let kind = if cache.kind == CacheKind::Data {
            "d"
        } else {
            ""
        };
        let name = format!("L{}{kind}", cache.level);
        let cause = format!("{name}: {}", cache.size_bytes);
        Mark {
            at: cache.size_bytes.0 as f64,
            name,
            cause,
        }
    });
    let loads = points
        .iter()
        .map(|(size, ns)| Point::new(*size, *ns, time(*ns)));
    let x = Axis::new(Scale::Size, "size of the memory walked over");
    Some(
        Chart::new("latency", "Load latency by size", x, time_axis("one load"))
            .with([Series::new(Look::Line, "load latency", loads)])
            .marked(marks)
            .caption(
                "A pointer chase, timed in this run. Dotted lines: data caches of this machine.",
            ),
    )
}

/// Draws a matrix of the cost of a hand-off from one CPU to another; `None` with more than
/// [`MOST_CPUS`] CPUs. `title` distinguishes several matrices of a record.
pub(super) fn pairs(
    title: &str,
    cells: &BTreeMap<(CpuId, CpuId), &CaseFinding>,
    cpus: &[CpuId],
) -> Option<Chart> {
    let cell = |found: Option<&&CaseFinding>| {
        let Some((found, cost)) = found.and_then(|f| Some((f, f.handoff_ns.as_ref()?))) else {
            return (None, "not measured".to_owned());
        };
        let height = Some(cost.estimate).filter(|_| has_numbers(found) && is_cost(cost));
        (
            height,
            format!("{}, {}", with_interval(cost), found.case.placement.relation),
        )
    };
    let row = |row: &CpuId| {
        cpus.iter()
            .map(|column| cell(cells.get(&(*row, *column))))
            .collect()
    };
    let names = |title| Axis::names(title, cpus.iter().map(|cpu| format!("CPU {cpu}")));
    let id = format!("pairs-{}", crate::slug::slug(title));
    let chart = Chart::new(
        id,
        format!("Hand-off by CPUs: {title}"),
        names("to"),
        names("from"),
    )
    .cells(cpus.iter().map(row).collect(), true)
    .caption(
        "From the CPU of the row to that of the column; on the diagonal both tasks share a CPU.",
    )
    .hide_numbers();
    (cpus.len() <= MOST_CPUS).then_some(chart)
}

/// Draws how much longer each traversal after a switch takes than a settled traversal, with a curve
/// for each of the first [`MOST_CURVES`] cases.
pub(super) fn reload(findings: &[&CaseFinding]) -> Chart {
    let curves = findings.iter().filter_map(|finding| {
        let walks = finding.reload.as_ref()?.walks_ns.iter().enumerate();
        let points = walks.map(|(place, walk)| point((place + 1) as f64, finding, Some(walk)));
        Some(Series::new(Look::Line, label(&finding.case), points))
    });
    let x = Axis::new(Scale::Count, "walk after the switch");
    Chart::new(
        "reload",
        "How the working set comes back",
        x,
        time_axis("above a settled walk"),
    )
    .with(curves.take(MOST_CURVES))
    .caption(
        "Extra time of each walk after a switch, compared with a settled walk, with its interval.",
    )
    .numbers(reload_table(findings))
}

fn reload_table(findings: &[&CaseFinding]) -> crate::grid::Grid {
    let reloads = findings
        .iter()
        .filter_map(|finding| Some((finding, finding.reload.as_ref()?)));
    let most = reloads
        .clone()
        .map(|(_, reload)| reload.walks_ns.len())
        .max()
        .unwrap_or(0);
    let grid = crate::grid::Grid::new(1)
        .left(["case"])
        .right((0..most).map(|place| format!("{} walk (interval)", ordinal(place))))
        .right(["settled walk"]);
    grid.with_rows(reloads.map(|(finding, reload)| {
        let name = crate::entry::Entry::new(label(&finding.case), super::row::tone(finding));
        let walks = (0..most).map(|place| reload.walks_ns.get(place).map(with_interval).into());
        let settled = time(reload.settled_ns.estimate).into();
        std::iter::once(name).chain(walks).chain([settled])
    }))
}

type Part = fn(&SharedCache) -> Option<&Estimate>;

/// Draws the additional time of a traversal, with time-shared and with concurrent use of the cache,
/// by the size of each task's array; `None` if no cache was shared. Only cases with the same kind
/// of traversal as the first are drawn.
pub(super) fn shared_cache(findings: &Findings) -> Option<Chart> {
    let like = findings.shared_cache.first()?.working_set;
    let mut all: Vec<&SharedCache> = findings
        .shared_cache
        .iter()
        .filter(|one| {
            let set = one.working_set;
            (set.stride_bytes, set.access, set.pattern)
                == (like.stride_bytes, like.access, like.pattern)
        })
        .collect();
    all.sort_by_key(|one| one.working_set.size_bytes);
    let parts: [(&str, Part); 3] = [
        ("time-shared: extra time of a walk after a switch", |one| {
            one.in_turn_ns.as_ref()
        }),
        (
            "concurrent: extra time of a walk during the other's",
            |one| one.at_once_ns.as_ref(),
        ),
        ("a walk alone", |one| one.alone_ns.as_ref()),
    ];
    let series = parts.iter().enumerate().map(|(place, (name, part))| {
        let points = all.iter().filter_map(|one| {
            let result = one.in_turn.filter(|_| place == 0).unwrap_or(one.at_once);
            let finding = findings.results.get(result)?;
            Some(point(
                one.working_set.size_bytes.0 as f64,
                finding,
                part(one),
            ))
        });
        Series::new(Look::Line, *name, points)
    });
    let (title, x) = (
        "A time-shared and a concurrently used cache",
        Axis::new(Scale::Size, SIZE),
    );
    Some(Chart::new("shared-cache", title, x, time_axis("time of a walk"))
        .with(series)
        .caption(
            "Extra time of a walk, compared with a walk alone: after a switch on one CPU, and during the other task's walk on a \
             second CPU.",
        ))
}

/// Draws the cost of a hand-off over the time since the program was ready, for one run of each
/// runtime.
pub(super) fn warm_up(runs: &[(String, &RuntimeRun)]) -> Chart {
    let curves = runs.iter().map(|(name, run)| {
        let windows = run
            .warm_up
            .iter()
            .filter(|window| window.handoffs > 0 && window.wall_ns.0 > 0);
        let points = windows.map(|window| {
            let each = window.wall_ns.0 as f64 / window.handoffs as f64;
            Point::new((window.at_ns + window.wall_ns).0 as f64, each, time(each))
        });
        Series::new(Look::Line, name, points)
    });
    let (x, y) = (time_axis("end of the window"), time_axis("one hand-off"));
    Chart::new("warm-up", "Hand-offs while their runtimes warm up", x, y)
        .with(curves)
        .caption("Each window of one run of each, from when its program was ready; none of them is in a cost.")
        .hide_numbers()
}
