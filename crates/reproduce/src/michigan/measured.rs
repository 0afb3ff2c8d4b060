//! Figures 2 and 3, as measured on this machine.

use analysis::{CaseFinding, Estimate};
use record::Mechanism;
use units::Bytes;

use super::{KERNEL, SIZES_KIB, USER, first_level, is_about};
use crate::exhibit::Cell;
use crate::text::{microseconds, percent};
use crate::{Axis, Chart, Claim, Exhibit, Records, Series, Shape, Style, Table};

/// The poster's direct cost between kernel threads.
const DIRECT_US: f64 = 0.62;
/// Its user-level cost for arrays below 64 KB.
const USER_US: (f64, f64) = (1.2, 1.4);

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

pub(super) fn figures_2_and_3(records: &Records) -> Exhibit {
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
        let first = first_level(&record.header.host)?;
        let curve = kernel.clone()?;
        let is_about_first = |size: u64| is_about(Bytes(size), first);
        if !curve.iter().any(|(size, _)| is_about_first(*size)) {
            return Err("no size about the first level's could be measured".to_owned());
        }
        // What stands clear of both its neighbours.
        let is_peak = |w: &&[(u64, Estimate)]| w[1].1.low > w[0].1.high && w[1].1.low > w[2].1.high;
        let peak = curve.windows(3).find(is_peak).map(|window| window[1].0);
        let (found, holds) = match peak {
            Some(size) => (format!("first maximum at {}, first level {first}", Bytes(size)), is_about_first(size)),
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
