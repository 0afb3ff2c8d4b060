//! The poster of Michigan: switches in the kernel and at user level, over size; and who misses what.

use analysis::{CaseFinding, Estimate};
use record::{CacheKind, HierarchyCounts, LevelCounts, Mechanism};
use units::Bytes;

use crate::exhibit::Cell;
use crate::text::{microseconds, number, percent};
use crate::{Axis, Chart, Claim, Effort, Exhibit, Records, Series, Shape, Site, Step, Style, Table};

const KERNEL: &str = "michigan-kernel";
const USER: &str = "michigan-user";

/// Figures 2 and 3: sizes in KiB; 0 is the direct cost.
const SIZES_KIB: [u64; 10] = [0, 8, 16, 32, 48, 64, 96, 128, 192, 256];
/// Simulated sizes.
const SIMULATED_KIB: [u64; 10] = [4, 8, 16, 24, 32, 48, 64, 96, 128, 256];
/// The poster's direct cost between kernel threads.
const DIRECT_US: f64 = 0.62;
/// Its user-level cost for arrays below 64 KB.
const USER_US: (f64, f64) = (1.2, 1.4);

fn walks(kib: u64) -> String {
    format!("michigan-walks-{kib}KiB")
}

fn simulated(kib: u64) -> String {
    format!("michigan-simulated-{kib}KiB")
}

pub(crate) fn steps(site: &Site<'_>) -> Vec<Step> {
    let is_quick = site.effort == Effort::Quick;
    let every = if is_quick { 3 } else { 1 };
    let sizes: Vec<String> = SIZES_KIB.iter().step_by(every).map(|kib| format!("{kib}KiB")).collect();
    let speed = if is_quick { " --quick" } else { "" };
    let rest = format!("--size {} --cpu {}{speed}", sizes.join(","), site.quiet_cpu);
    let mut steps = vec![
        Step::new(KERNEL, &format!("measure --mechanism pipe --between process {rest}")),
        Step::new(USER, &format!("measure --mechanism ucontext {rest}")),
    ];
    for kib in SIMULATED_KIB.into_iter().step_by(every) {
        let mut simulate = Step::new(simulated(kib), "simulate TRACE --design michigan-xeon-d1541");
        simulate.trace_of = Some(walks(kib));
        steps.extend([Step::new(walks(kib), &format!("trace walks --size {kib}KiB --turns 20")), simulate]);
    }
    steps
}

pub(crate) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![figures_2_and_3(records), figure_4(records)]
}

/// Total cost of a switch by size in bytes; at 0 the direct cost.
fn curve(records: &Records, step: &str, mechanism: Mechanism) -> Result<Vec<(u64, Estimate)>, String> {
    let (_, findings) = records.measured(step)?;
    let mut curve: Vec<(u64, Estimate)> = findings
        .results
        .iter()
        .filter(|finding| finding.case.mechanism == mechanism)
        .filter_map(|finding: &CaseFinding| {
            let size = finding.case.working_set.size_bytes.0;
            let estimate = if size == 0 { &finding.direct_ns } else { &finding.total_ns };
            Some((size, estimate.clone()?))
        })
        .collect();
    curve.sort_by_key(|(size, _)| *size);
    if curve.len() < 3 { Err("fewer than three sizes could be measured".to_owned()) } else { Ok(curve) }
}

fn figures_2_and_3(records: &Records) -> Exhibit {
    let mut exhibit =
        Exhibit::new("Figures 2 and 3", "Cost of a switch over size: processes over a pipe, contexts at user level");
    exhibit.steps.extend([KERNEL.to_owned(), USER.to_owned()]);
    let (kernel, user) = (curve(records, KERNEL, Mechanism::Pipe), curve(records, USER, Mechanism::Ucontext));
    let mut table = Table::new(&["size", "kernel us", "kernel sd %", "user us", "user sd %"]);
    for kib in SIZES_KIB {
        let cells = |curve: &Result<Vec<(u64, Estimate)>, String>| -> [Cell; 2] {
            let why = curve.clone().err().unwrap_or_else(|| "not measured".to_owned());
            let found =
                curve.as_ref().ok().and_then(|c| c.iter().find(|(size, _)| *size == kib * 1024)).map(|(_, e)| e);
            [
                Cell::or_missing(found.map(|e| e.estimate / 1e3), 3, &why),
                Cell::or_missing(found.map(|e| e.sd / e.estimate.abs() * 100.0), 1, &why),
            ]
        };
        let mut row: Vec<Cell> = vec![Bytes::kib(kib).to_string().into()];
        row.extend(cells(&kernel));
        row.extend(cells(&user));
        table.row(row);
    }
    exhibit.table = table;
    let line = |name: &str, curve: &Result<Vec<(u64, Estimate)>, String>| {
        let points = curve.iter().flatten().filter(|(size, e)| *size > 0 && e.estimate > 0.0);
        let mut series = Series::new(name, Style::Found, points.clone().map(|(size, e)| (*size as f64, e.estimate)));
        series.intervals = points.map(|(_, e)| (e.low, e.high)).collect();
        series
    };
    let lines = vec![
        line("kernel", &kernel),
        line("user level", &user),
        Series::new("kernel, published", Style::Published, [(8192.0, DIRECT_US * 1e3)]),
        Series::new(
            "user level, published",
            Style::Published,
            [(8192.0, USER_US.0 * 1e3), (65_536.0, USER_US.1 * 1e3)],
        ),
    ];
    let lines = lines.into_iter().filter(|line| !line.x.is_empty()).collect();
    exhibit.chart = Some(Chart::new("size of each task's array", Axis::Size, "cost of a switch", Axis::Time, lines));
    exhibit.claims = vec![peak(records, &kernel), steadier(&kernel, &user), slower(&kernel, &user)];
    exhibit.notes.push(
        "The poster's library at user level was a course's gtthread, \"not tuned\"; here it is swapcontext of the C library, \
         which makes two system calls a switch. The poster says threads and speaks of two address spaces: taken as processes."
            .into(),
    );
    exhibit
}

type Found = Result<Vec<(u64, Estimate)>, String>;

/// The first local maximum sits at the capacity of the first level.
fn peak(records: &Records, kernel: &Found) -> Claim {
    let outcome = records.measured(KERNEL).and_then(|(record, _)| {
        let caches = record.header.host.caches.iter().filter(|cache| cache.kind != CacheKind::Instruction);
        let first = caches.map(|cache| cache.size_bytes.0).min().ok_or("the machine tells nothing of its caches")?;
        let curve = kernel.clone()?;
        // What stands clear of both its neighbours.
        let is_peak = |w: &&[(u64, Estimate)]| w[1].1.low > w[0].1.high && w[1].1.low > w[2].1.high;
        let peak = curve.windows(3).find(is_peak).map(|window| window[1].0);
        let level = Bytes(first);
        let (found, holds) = match peak {
            Some(size) => (
                format!("first maximum at {}, first level {level}", Bytes(size)),
                size >= first / 2 && size <= first * 2,
            ),
            None => (
                format!("no maximum that stands clear of its neighbours up to {}", Bytes(curve[curve.len() - 1].0)),
                false,
            ),
        };
        let why = "losing the first level costs little where the second is a few cycles away, less than the noise of a \
                   virtual machine";
        Ok((found, Shape::of(holds, why)))
    });
    Claim::decided("The cost has its first local maximum at the capacity of the first level (32 KB there)", outcome)
}

/// Mean over sizes below 64 KiB of the relative standard deviation.
fn variation(curve: &Found) -> Result<f64, String> {
    let small: Vec<f64> = curve
        .clone()?
        .iter()
        .filter(|(size, e)| *size < 64 << 10 && e.estimate > 0.0)
        .map(|(_, e)| e.sd / e.estimate)
        .collect();
    if small.is_empty() {
        Err("no size below 64 KB was measured".to_owned())
    } else {
        Ok(small.iter().sum::<f64>() / small.len() as f64)
    }
}

fn absolute_variation(curve: &Found) -> Result<f64, String> {
    let small: Vec<f64> = curve.clone()?.iter().filter(|(size, _)| *size < 64 << 10).map(|(_, e)| e.sd).collect();
    if small.is_empty() {
        Err("no size below 64 KB was measured".to_owned())
    } else {
        Ok(small.iter().sum::<f64>() / small.len() as f64)
    }
}

fn steadier(kernel: &Found, user: &Found) -> Claim {
    let outcome = variation(kernel).and_then(|k| Ok((k, variation(user)?))).and_then(|(k, u)| {
        let (kernel_ns, user_ns) = (absolute_variation(kernel)?, absolute_variation(user)?);
        let found = format!(
            "standard deviation between repetitions {} ({}) at user level, {} ({}) in the kernel",
            microseconds(user_ns),
            percent(u),
            microseconds(kernel_ns),
            percent(k)
        );
        Ok((
            found,
            Shape::of(
                user_ns < kernel_ns,
                "the swaps' system calls are as much at the mercy of the machine as a pipe's",
            ),
        ))
    });
    Claim::decided("Below 64 KB, the cost at user level varies less than in the kernel", outcome)
}

fn slower(kernel: &Found, user: &Found) -> Claim {
    let at_zero = |curve: &Found| -> Result<f64, String> {
        let found = curve.clone()?.into_iter().find(|(size, _)| *size == 0);
        found.map(|(_, e)| e.estimate).ok_or_else(|| "the direct cost was not measured".to_owned())
    };
    let outcome = at_zero(kernel).and_then(|k| Ok((k, at_zero(user)?))).map(|(kernel, user)| {
        let found = format!(
            "{} at user level, {} in the kernel (1.2 to 1.4 and 0.62 us there)",
            microseconds(user),
            microseconds(kernel)
        );
        (
            found,
            Shape::of(
                user > kernel,
                "swapcontext is better tuned than the poster's library was, and today's kernels guard their entry",
            ),
        )
    });
    Claim::decided("The poster's user-level library switches more slowly than the kernel", outcome)
}

/// Misses a turn of one level, of two processes that share it, and of one that has it alone.
#[derive(Clone, Copy, Debug)]
struct Misses {
    two: f64,
    one: f64,
}

impl Misses {
    fn gap(self) -> f64 {
        self.two - self.one
    }
}

fn level<'a>(counts: &'a HierarchyCounts, name: &str) -> Option<&'a LevelCounts> {
    counts.levels.iter().chain(&counts.tlbs).find(|level| level.name == name)
}

fn misses(records: &Records, kib: u64, name: &str) -> Result<Misses, String> {
    let (head, findings) = records.simulated(&simulated(kib))?;
    let design = findings.designs.first().ok_or("the record has no design")?;
    let turns = (head.trace.voluntary_switches + head.trace.involuntary_switches).max(1) as f64;
    let of = |counts: &HierarchyCounts| {
        let found = level(counts, name).ok_or(format!("the design has no {name}"))?;
        // Loads and fetches: what the poster counts.
        Ok::<f64, String>((found.load_misses + found.instruction_misses) as f64 / turns)
    };
    Ok(Misses { two: of(&design.hierarchies.shared)?, one: of(&design.hierarchies.private)? })
}

const LEVELS: [&str; 3] = ["L1D", "L1I", "DTLB"];

fn figure_4(records: &Records) -> Exhibit {
    let mut exhibit =
        Exhibit::new("Figure 4", "Misses of one task alone and of two in turn, simulated on the Xeon D-1541");
    let columns = ["size", "L1D alone", "L1D two", "L1I alone", "L1I two", "DTLB alone", "DTLB two"];
    let mut table = Table::new(&columns);
    let mut lines: Vec<Series> = Vec::new();
    for kib in SIMULATED_KIB {
        let mut row: Vec<Cell> = vec![Bytes::kib(kib).to_string().into()];
        for name in LEVELS {
            let found = misses(records, kib, name);
            let why = found.clone().err().unwrap_or_default();
            row.extend(
                [found.as_ref().ok().map(|m| m.one), found.as_ref().ok().map(|m| m.two)]
                    .map(|n| Cell::or_missing(n, 1, &why)),
            );
        }
        table.row(row);
        exhibit.steps.push(simulated(kib));
    }
    for name in LEVELS {
        let points =
            SIMULATED_KIB.iter().filter_map(|kib| Some(((kib * 1024) as f64, misses(records, *kib, name).ok()?.gap())));
        lines.push(Series::new(format!("{name}: two less alone"), Style::Found, points));
    }
    lines.retain(|line| !line.x.is_empty());
    exhibit.table = table;
    exhibit.chart = Some(Chart::new("size of each process's array", Axis::Size, "misses a turn", Axis::Linear, lines));
    exhibit.claims = vec![first_maximum(records), falls(records), tlb(records), instructions(records)];
    exhibit.notes.push(
        "The poster's counters were hardware's and counted the kernel, too. Here the walks alone are simulated; where this \
         machine has counters, the report of the records michigan-kernel and michigan-user shows them."
            .into(),
    );
    exhibit
}

fn gaps(records: &Records, name: &str) -> Result<Vec<(u64, f64)>, String> {
    let found: Vec<_> = SIMULATED_KIB.iter().map(|kib| (*kib, misses(records, *kib, name))).collect();
    let why = found.iter().find_map(|(_, misses)| misses.clone().err()).unwrap_or_default();
    let gaps: Vec<(u64, f64)> = found.into_iter().filter_map(|(kib, misses)| Some((kib, misses.ok()?.gap()))).collect();
    if gaps.len() < 3 { Err(why) } else { Ok(gaps) }
}

fn first_maximum(records: &Records) -> Claim {
    let outcome = gaps(records, "L1D").map(|gaps| {
        let (kib, most) =
            gaps.iter().copied().fold((0, f64::NEG_INFINITY), |best, next| if next.1 > best.1 { next } else { best });
        let found = format!("{} misses a turn at {}, more than at any other size", number(most), Bytes::kib(kib));
        (found, Shape::of(kib == 32, "the largest loss is not where one array just fills the cache"))
    });
    Claim::decided(
        "What two tasks miss more than one in the L1D is at its maximum at 32 KB, the cache's capacity",
        outcome,
    )
}

fn falls(records: &Records) -> Claim {
    let outcome = gaps(records, "L1D").and_then(|gaps| {
        let at = |kib: u64| {
            gaps.iter().find(|(k, _)| *k == kib).map(|(_, gap)| *gap).ok_or(format!("{kib} KiB was not simulated"))
        };
        let (full, beyond) = (at(32)?, at(64)?);
        let found = format!("{} at 32 KB, {} at 64 KB", number(full), number(beyond));
        Ok((found, Shape::of(beyond < full, "more is lost of an array that never fits")))
    });
    Claim::decided("Beyond 32 KB it decreases: one task alone misses as well", outcome)
}

fn tlb(records: &Records) -> Claim {
    let outcome = gaps(records, "DTLB").and_then(|gaps| {
        let beyond: Vec<f64> = gaps.iter().filter(|(kib, _)| *kib >= 64).map(|(_, gap)| *gap).collect();
        let (first, last) =
            (*beyond.first().ok_or("no size from 64 KB on")?, *beyond.last().ok_or("no size from 64 KB on")?);
        let found = format!(
            "{} misses a turn at 64 KB, {} at {}",
            number(first),
            number(last),
            Bytes::kib(gaps[gaps.len() - 1].0)
        );
        Ok((found, Shape::of(last > first && first > 0.0, "the TLB keeps what both tasks need")))
    });
    Claim::decided("Above 64 KB it is the dTLB whose extra misses grow with the array", outcome)
}

fn instructions(records: &Records) -> Claim {
    let outcome = gaps(records, "L1I").map(|gaps| {
        let ((_, first), (_, last)) = (gaps[0], gaps[gaps.len() - 1]);
        let found = format!("{} misses a turn at the smallest array, {} at the largest", number(first), number(last));
        let why = "the walk is one line of code, and this design's second level does not hold what the first one holds: \
                   the poster's finding is about the kernel's code and an inclusive cache";
        (found, Shape::of(last > first, why))
    });
    Claim::decided("Extra misses of the L1I grow with the array's size", outcome)
}
