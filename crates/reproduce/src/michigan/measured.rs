//! Claims on Figures 2 and 3 of the poster, measured on this machine.

use switchcost_analysis::{CaseFinding, Estimate};
use switchcost_record::Mechanism;
use switchcost_units::Bytes;

use super::{KERNEL, SIZES_KIB, USER, first_level, is_about};
use crate::claims::{Found, Quantities, Term, ratio, ratio_within_run};
use crate::exhibit::Cell;
use crate::interval::{Interval, largest, smallest, spread_ratio_interval};
use crate::records::require;
use crate::text::{microseconds, percent};
use crate::{Axis, Chart, Exhibit, Outcome, Records, Series, Style};

/// Direct cost of a switch between OS threads in the poster, in microseconds.
const DIRECT_US: f64 = 0.62;
/// Range of the user-level cost in the poster for arrays below 64 KB, in microseconds.
const USER_US: (f64, f64) = (1.2, 1.4);
const USER_MIDDLE_US: f64 = 1.3;

/// Returns the total cost of a switch by array size in bytes; the direct cost at size 0.
pub(super) fn curve(
    records: &Records,
    step: &str,
    mechanism: Mechanism,
) -> Outcome<Vec<(u64, Estimate)>> {
    let (_, findings) = records.measured(step)?;
    let mut curve: Vec<(u64, Estimate)> = findings
        .results
        .iter()
        .filter(|finding| finding.case.mechanism == mechanism)
        .filter_map(|finding: &CaseFinding| {
            let size = finding.case.working_set.size_bytes.0;
            let estimate = if size == 0 {
                &finding.direct_ns
            } else {
                &finding.total_ns
            };
            Some((size, estimate.clone()?))
        })
        .collect();
    curve.sort_by_key(|(size, _)| *size);
    require(curve, 3, "fewer than three sizes could be measured")
}

/// Returns the cell of a cost in microseconds. The cost is missing unless its interval lies above
/// 0.
fn cost(found: Option<&Estimate>, why: &str) -> Cell {
    match found {
        Some(estimate) if estimate.low <= 0.0 => {
            Cell::or_missing(None, 3, "not distinguishable from 0")
        }
        found => Cell::or_missing(found.map(|estimate| estimate.estimate / 1e3), 3, why),
    }
}

pub(super) fn figures_2_and_3(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Figures 2 and 3",
        "Cost of a switch by size: processes over a pipe, contexts at user level",
        [
            "size",
            "published us",
            "kernel us",
            "kernel sd %",
            "user us",
            "user sd %",
        ],
    );
    exhibit.steps.extend([KERNEL.to_owned(), USER.to_owned()]);
    let (kernel, user) = (
        curve(records, KERNEL, Mechanism::Pipe),
        curve(records, USER, Mechanism::Ucontext),
    );
    for kib in SIZES_KIB {
        let cells = |curve: &Outcome<Vec<(u64, Estimate)>>| -> [Cell; 2] {
            let why = curve
                .clone()
                .err()
                .unwrap_or_else(|| "not measured".to_owned());
            let found = curve
                .as_ref()
                .ok()
                .and_then(|c| c.iter().find(|(size, _)| *size == kib * 1024))
                .map(|(_, e)| e);
            [
                cost(found, &why),
                Cell::or_missing(found.map(|e| e.sd / e.estimate.abs() * 100.0), 1, &why),
            ]
        };
        let published = match kib {
            0 => format!("kernel {DIRECT_US}"),
            1..64 => format!("user {} to {}", USER_US.0, USER_US.1),
            _ => String::new(),
        };
        let mut row: Vec<Cell> = vec![Bytes::kib(kib).into(), published.into()];
        row.extend(cells(&kernel));
        row.extend(cells(&user));
        exhibit.row(row);
    }
    let line = |name: &str, curve: &Outcome<Vec<(u64, Estimate)>>| {
        let points = curve.iter().flatten().filter(|(size, _)| *size > 0);
        let points: Vec<(f64, Interval)> = points
            .map(|(size, cost)| (*size as f64, cost.into()))
            .collect();
        Series::measured(name, &points)
    };
    // The poster gives one range for all sizes below 64 KB. Its direct cost in the kernel is not
    // given for a size.
    let band = |name: &str, us: f64| {
        Series::new(
            name,
            Style::Published,
            [(8192.0, us * 1e3), (65_536.0, us * 1e3)],
        )
    };
    let mut lines = [line("kernel", &kernel), line("user level", &user)].concat();
    lines.extend([
        band("kernel, direct cost, published", DIRECT_US),
        band("user level, published", USER_US.0),
        band("user level, published", USER_US.1),
    ]);
    exhibit.chart = Some(Chart::new(
        "size of each task's array",
        Axis::Size,
        "cost of a switch",
        Axis::Time,
        lines,
    ));
    exhibit.add_note("The poster's user-level library was gtthread, \"non-customized\"; here it is swapcontext of the C library, with one system call \
         per switch. The poster's tasks are threads with two address spaces; here they are processes. From 64 KB on, the numbers are \
         relative changes at user level from one size to the next: positive if the cost in the kernel changes in the same \
         direction, 0 if that direction is unknown.");
    exhibit
}

fn kernel(records: &Records) -> Outcome<Vec<(u64, Estimate)>> {
    curve(records, KERNEL, Mechanism::Pipe)
}

fn user(records: &Records) -> Outcome<Vec<(u64, Estimate)>> {
    curve(records, USER, Mechanism::Ucontext)
}

/// Returns two ratios: the cost near the first-level cache's size over the costs at the next
/// smaller and at the next larger array size.
fn peak(records: &Records) -> Outcome {
    let first = first_level(&records.measured(KERNEL)?.0.header.host)?;
    let curve = kernel(records)?;
    let inner = 1..curve.len() - 1;
    let distance = |place: &usize| (curve[*place].0.max(1) as f64 / first.0 as f64).ln().abs();
    let about = inner
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .filter(|place| is_about(Bytes(curve[*place].0), first));
    let about = about.ok_or("no size about the first level's could be measured")?;
    let ratio = |place: usize| {
        let [(at, top), (beside, low)] = [&curve[about], &curve[place]];
        ratio_within_run(
            format!("cost at {} over that at {}", Bytes(*at), Bytes(*beside)),
            top,
            low,
        )
    };
    Ok(Found::new(
        vec![ratio(about - 1), ratio(about + 1)],
        format!("first level {first}"),
    ))
}

/// Returns the standard deviation of repetitions, pooled over array sizes below 64 KiB, with its
/// degrees of freedom. The deviation is in ns, or with `is_relative` a share of the cost.
fn variation(curve: &[(u64, Estimate)], is_relative: bool) -> Outcome<(f64, f64)> {
    let small = curve
        .iter()
        .filter(|(size, estimate)| *size < 64 << 10 && estimate.estimate > 0.0 && estimate.n > 1);
    let (mut squares, mut freedom) = (0.0, 0.0);
    for (_, estimate) in small {
        let sd = if is_relative {
            estimate.sd / estimate.estimate
        } else {
            estimate.sd
        };
        squares += sd * sd * (estimate.n - 1) as f64;
        freedom += (estimate.n - 1) as f64;
    }
    if freedom == 0.0 {
        Err("no size below 64 KB was measured".to_owned())
    } else {
        Ok(((squares / freedom).sqrt(), freedom))
    }
}

fn steadier(records: &Records, is_relative: bool) -> Outcome {
    let (kernel, of_kernel) = variation(&kernel(records)?, is_relative)?;
    let (user, of_user) = variation(&user(records)?, is_relative)?;
    let ratio = spread_ratio_interval(user / kernel, of_user, of_kernel)
        .ok_or("the costs have no spread")?;
    let show = if is_relative { percent } else { microseconds };
    let note = format!(
        "{} at user level, {} in the kernel",
        show(user),
        show(kernel)
    );
    Ok(Found::number(
        Term::new(
            "standard deviation at user level over that in the kernel",
            ratio,
        ),
        note,
    ))
}

fn direct(curve: Vec<(u64, Estimate)>) -> Result<Estimate, &'static str> {
    let found = curve.into_iter().find(|(size, _)| *size == 0);
    found
        .map(|(_, estimate)| estimate)
        .ok_or("the direct cost was not measured")
}

fn slower(records: &Records) -> Outcome {
    let (kernel, user) = (direct(kernel(records)?)?, direct(user(records)?)?);
    let note = format!(
        "{} at user level, {} in the kernel",
        microseconds(user.estimate),
        microseconds(kernel.estimate)
    );
    Ok(Found::number(
        ratio("user level over the kernel", &user, &kernel),
        note,
    ))
}

/// Returns the ratio of the largest to the smallest user-level cost at array sizes below 64 KiB.
fn level(records: &Records) -> Outcome {
    let curve = user(records)?;
    let small = curve
        .iter()
        .filter(|(size, _)| (1..64 << 10).contains(size));
    let small: Vec<Interval> = small.map(|(_, cost)| cost.estimate_within_run()).collect();
    match largest(&small).zip(smallest(&small)) {
        Some((most, least)) if small.len() > 1 => Ok(Found::number(
            ratio("largest over smallest cost", most, least),
            "",
        )),
        _ => Err("fewer than two sizes below 64 KB were measured".to_owned()),
    }
}

/// Returns the relative change of the user-level cost for each step from an array size of at least
/// 64 KiB to the next. The sign is inverted if the kernel's cost decreases; the interval covers
/// both signs if the direction of the kernel's cost is uncertain.
fn same_shape(records: &Records) -> Outcome {
    let (kernel, user) = (kernel(records)?, user(records)?);
    let at = |curve: &[(u64, Estimate)], size: u64| {
        curve
            .iter()
            .find(|(found, _)| *found == size)
            .map(|(_, estimate)| estimate.estimate_within_run())
    };
    let both: Vec<AtSize> = kernel
        .iter()
        .filter(|(size, _)| *size >= 64 << 10)
        .filter_map(|(size, _)| Some((Bytes(*size), at(&kernel, *size)?, at(&user, *size)?)))
        .collect();
    let terms = changes_alike(&both);
    Ok(Found::new(
        require(
            terms,
            1,
            "fewer than two sizes from 64 KiB on were measured",
        )?,
        "",
    ))
}

/// An array size, a number that the cost may follow, and the cost.
pub(super) type AtSize = (Bytes, Interval, Interval);

/// Returns the relative change of the cost from each size to the next. The sign is inverted if the
/// number that the cost may follow decreases; the interval covers both signs if that number's
/// intervals overlap.
pub(super) fn changes_alike(sizes: &[AtSize]) -> Vec<Term> {
    let change = |pair: &[AtSize]| {
        let [(from, few, before), (to, many, after)] = [pair[0], pair[1]];
        let change = (after / before).map(|ratio| ratio - 1.0);
        let change = match (many.low > few.high, many.high < few.low) {
            (true, _) => change,
            (_, true) => -change,
            _ => Interval::symmetric(0.0, change.low.abs().max(change.high.abs())),
        };
        Term::new(format!("{from} to {to}"), change)
    };
    sizes.windows(2).map(change).collect()
}

/// Returns the ratio of the reload of an array near the first-level cache's size to the direct
/// cost.
fn first_level_reload(records: &Records) -> Outcome {
    let (record, findings) = records.measured(KERNEL)?;
    let first = first_level(&record.header.host)?;
    let of_pipe = || {
        findings
            .results
            .iter()
            .filter(|finding| finding.case.mechanism == Mechanism::Pipe)
    };
    let distance = |finding: &&CaseFinding| {
        (finding.case.working_set.size_bytes.0.max(1) as f64 / first.0 as f64)
            .ln()
            .abs()
    };
    let about = of_pipe().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    let about = about.filter(|finding| is_about(finding.case.working_set.size_bytes, first));
    let reload = about
        .and_then(|finding| finding.indirect_reload_ns.as_ref())
        .ok_or("its reload was not measured")?;
    let direct = of_pipe().find(|finding| finding.case.working_set.is_empty());
    let direct = direct
        .and_then(|finding| finding.direct_ns.as_ref())
        .ok_or("the direct cost was not measured")?;
    let note = format!(
        "{} of {}",
        microseconds(reload.estimate),
        microseconds(direct.estimate)
    );
    Ok(Found::number(
        ratio_within_run("reload over direct cost", reload, direct),
        note,
    ))
}

/// The ratio of user-level to kernel cost differs between the poster and this machine. Returns the
/// share of this difference, in logarithms, that is due to the user-level cost.
fn library(records: &Records) -> Outcome {
    let (kernel, user) = (direct(kernel(records)?)?, direct(user(records)?)?);
    let share = |user_ns: f64, kernel_ns: f64| {
        let (by_user, by_kernel) = (
            (USER_MIDDLE_US * 1e3 / user_ns).ln(),
            (kernel_ns / (DIRECT_US * 1e3)).ln(),
        );
        by_user / (by_user + by_kernel)
    };
    let ends = [user.low, user.high]
        .map(|user| [kernel.low, kernel.high].map(|kernel| share(user, kernel)))
        .concat();
    let (low, high) = ends.iter().fold((f64::MAX, f64::MIN), |(low, high), end| {
        (low.min(*end), high.max(*end))
    });
    let note = format!(
        "{} at user level here, {USER_MIDDLE_US} us there",
        microseconds(user.estimate)
    );
    Ok(Found::number(
        Term::new(
            "share of the library",
            Interval::new(share(user.estimate, kernel.estimate), low, high),
        ),
        note,
    ))
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("first-level-reloads-fast", first_level_reload),
        ("the-library", library),
        ("user-has-kernels-shape", same_shape),
        ("maximum-at-l1", peak),
        ("user-varies-less", |r| steadier(r, false)),
        ("user-varies-less-relatively", |r| steadier(r, true)),
        ("user-slower", slower),
        ("user-level-below-64k", level),
    ]
}
