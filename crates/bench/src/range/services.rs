//! Servers beside somebody who takes half of their CPU, in turns of 100 us or of 2 ms. Nothing else differs: the server has the other
//! half, and finds as many requests waiting.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::Case;
use super::service::{Service, Used};
use super::slope;
use super::turns::Turns;
use crate::observed::CPU;
use crate::patterns::ends;
use crate::program::{Program, number};
use crate::spread::Spread;

/// Pairs of windows.
const PAIRS: usize = 12;

/// Of one window.
const WINDOW: Duration = Duration::from_millis(400);

/// Until all is as it will be, at both ends of a window.
const SETTLES: Duration = Duration::from_millis(40);

/// Short turns and long ones.
const PERIODS_US: [u64; 2] = [200, 4_000];

/// What the other one touches.
const BYTES: [usize; 2] = [256 << 10, 2 << 20];

/// How often each is observed.
const OBSERVED: usize = 3;

type Start = fn(&Path, &Path) -> Result<Service, String>;

const SERVICES: [Start; 3] = [Service::redis, Service::nginx, Service::postgres];

pub(super) fn all(program: &Program) -> Result<Vec<Case>, String> {
    let packages = std::env::var_os("SWITCHCOST_SERVICES").map(PathBuf::from);
    let packages = packages.ok_or(
        "SWITCHCOST_SERVICES names no folder of servers; scripts/services.sh downloads them",
    )?;
    let each = SERVICES
        .into_iter()
        .map(|start| cases(program, start, &packages));
    Ok(each
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .collect())
}

fn cases(program: &Program, start: Start, packages: &Path) -> Result<Vec<Case>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut service = start(packages, folder.path())?;
    let looked = BYTES.map(|bytes| windows(&service, bytes));
    inject(program, &service)?;
    let reported = BYTES.map(|bytes| reported(program, &service, bytes));
    service.end_load();
    let all = BYTES.into_iter().zip(looked).zip(reported);
    all.map(|((bytes, looked), reported)| case(&service, bytes, &looked?, reported?))
        .collect()
}

/// Both ends of a window of each kind, in turn; each kind is first in every other pair.
fn windows(service: &Service, bytes: usize) -> Result<Vec<[(Used, Used); 2]>, String> {
    let window = |period_us| {
        let mut other = Turns { period_us, bytes }.start(WINDOW + 2 * SETTLES)?;
        sleep(SETTLES);
        let from = service.used();
        sleep(WINDOW);
        let to = service.used();
        other.wait().map_err(|error| error.to_string())?;
        Ok::<_, String>((from, to))
    };
    let pair = |at: usize| {
        let [first, second] = [PERIODS_US[at % 2], PERIODS_US[(at + 1) % 2]].map(window);
        Ok([first?, second?])
    };
    (0..PAIRS).map(pair).collect()
}

/// As a user would to know more: `observe` finds it by the program. The last process is one that answers.
fn inject(program: &Program, service: &Service) -> Result<(), String> {
    let process = service
        .processes()
        .last()
        .map(u32::to_string)
        .ok_or("the server has ended")?;
    let work = format!("syscall:{}", service.call);
    let sizes = BYTES.map(|bytes| format!("{}KiB", bytes >> 10)).join(",");
    let words = [
        "inject",
        "-p",
        &process,
        "--work",
        &work,
        "--period",
        "100us",
        "--budget",
        "10s",
        "--footprint",
    ];
    program
        .run(&[&words[..], &[&format!("0,{sizes}"), "--cpu", CPU]].concat())
        .map(drop)
}

/// Low, likely and high of a switch in short turns, in nanoseconds.
struct Reported {
    ends: [Vec<f64>; 3],
    source: String,
}

fn reported(program: &Program, service: &Service, bytes: usize) -> Result<Reported, String> {
    let mut reported = Reported {
        ends: Default::default(),
        source: String::new(),
    };
    let processes: Vec<String> = service.processes().iter().map(u32::to_string).collect();
    for _ in 0..OBSERVED {
        let mut other = Turns {
            period_us: PERIODS_US[0],
            bytes,
        }
        .start(Duration::from_millis(1_500))?;
        let record = program.path("service.json");
        let _ = std::fs::remove_file(&record);
        let record = record.display().to_string();
        let found = program
            .run(&[
                "observe",
                "-p",
                &processes.join(","),
                "-d",
                "1s",
                "--record",
                &record,
            ])?
            .json;
        other.wait().map_err(|error| error.to_string())?;
        let switches = number(&found, "all.switches").ok_or("nothing was counted")?;
        let ends = ends(&found).ok_or("no cost was reported")?;
        reported
            .ends
            .iter_mut()
            .zip(ends)
            .for_each(|(reported, end)| reported.push(end / switches));
        found["all"]["likely_by"]
            .as_str()
            .unwrap_or("-")
            .clone_into(&mut reported.source);
    }
    Ok(reported)
}

fn case(
    service: &Service,
    bytes: usize,
    looked: &[[(Used, Used); 2]],
    reported: Reported,
) -> Result<Case, String> {
    let point = |(from, to): &(Used, Used)| {
        let done = service.done(from, to);
        (
            (to.switches - from.switches) / done,
            (to.cpu_ns - from.cpu_ns) / done,
        )
    };
    let seen: Vec<f64> = looked
        .iter()
        .filter_map(|pair| slope::slope(&pair.each_ref().map(point)))
        .collect();
    let [low, likely, high] = reported
        .ends
        .map(|ends| Spread::of(&ends).map_or(f64::NAN, |spread| spread.median));
    let seen = Spread::middle_half(&seen).ok_or("switches did not change")?;
    Ok(Case {
        name: format!("{}, {} KiB away", service.name, bytes >> 10),
        seen,
        low,
        likely,
        high,
        source: reported.source,
    })
}
