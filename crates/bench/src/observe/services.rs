//! Servers beside another task that takes half of their CPU, in turns of 100 us or of 2 ms. Nothing else differs: the server has the other
//! half, and finds as many requests waiting.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use super::service::{KINDS, Kind, Service, Used};
use super::turns::ARGUMENT;
use super::{CPU, Case, Reported, slope};
use crate::progress::Progress;
use crate::shell::Shell;
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
const KIB: [u64; 2] = [256, 2048];

/// How often each is observed.
const OBSERVED: usize = 3;

pub(super) fn measure(shell: &Shell) -> Result<Vec<Case>, String> {
    let packages = std::env::var_os("SWITCHCOST_SERVICES").map(PathBuf::from);
    let packages = packages.ok_or(
        "SWITCHCOST_SERVICES names no folder of servers; scripts/services.sh downloads them",
    )?;
    let mut cases = Vec::new();
    let mut progress = Progress::new("services", KINDS.len());
    for kind in &KINDS {
        let measured = measure_kind(shell, kind, &packages)?;
        let texts: Vec<String> = measured.iter().map(Case::text).collect();
        progress.advance_with(&texts.join("\n"));
        cases.extend(measured);
    }
    Ok(cases)
}

fn measure_kind(shell: &Shell, kind: &'static Kind, packages: &Path) -> Result<Vec<Case>, String> {
    let mut service = Service::start(kind, packages)?;
    let looked = KIB.map(|kib| windows(shell, &service, kib));
    inject(shell, &service)?;
    let reported = KIB.map(|kib| observe(shell, &service, kib));
    service.end_load();
    let mut cases = Vec::new();
    for ((kib, looked), reported) in KIB.into_iter().zip(looked).zip(reported) {
        let point = |(from, to): &(Used, Used)| {
            let work = service.work(from, to);
            let switches = to.switches - from.switches;
            (switches / work, (to.cpu_ns - from.cpu_ns) / work)
        };
        let looked = looked?;
        let slopes = looked
            .iter()
            .filter_map(|pair| slope(&pair.each_ref().map(point)));
        let slopes: Vec<f64> = slopes.collect();
        cases.push(Case {
            name: format!("{}, the other touches {kib} KiB", kind.name),
            seen: Spread::middle_half(&slopes).ok_or("switches did not change")?,
            reported: reported?,
        });
    }
    Ok(cases)
}

/// Takes half of the CPU of the server for so long, and ends by itself.
fn take_turns(shell: &Shell, period_us: u64, kib: u64, length: Duration) -> Result<Child, String> {
    let (taken_us, length_ms) = (period_us / 2, length.as_millis());
    let line = format!(
        "exec taskset -c {CPU} switchcost-bench {ARGUMENT} {period_us} {taken_us} {kib} {length_ms}"
    );
    let child = shell.command(&line).spawn();
    child.map_err(|error| error.to_string())
}

/// Both ends of a window of each kind, in turn; each kind is first in every other pair.
fn windows(shell: &Shell, service: &Service, kib: u64) -> Result<Vec<[(Used, Used); 2]>, String> {
    let window = |period_us| {
        let mut other = take_turns(shell, period_us, kib, WINDOW + 2 * SETTLES)?;
        sleep(SETTLES);
        let from = service.used();
        sleep(WINDOW);
        let to = service.used();
        other.wait().map_err(|error| error.to_string())?;
        Ok::<_, String>((from, to))
    };
    let pair = |index: usize| {
        let [first, second] = [0, 1].map(|place| window(PERIODS_US[(index + place) % 2]));
        Ok([first?, second?])
    };
    (0..PAIRS).map(pair).collect()
}

/// As a user would to know more: `observe` finds it by the program. The last process is one that answers.
fn inject(shell: &Shell, service: &Service) -> Result<(), String> {
    let process = service.processes().pop().ok_or("the server has ended")?;
    let [small, large] = KIB;
    let command = format!(
        "switchcost inject -p {process} --work syscall:{} --period 100us --budget 30s --footprint 0,{small}KiB,{large}KiB --cpu {CPU}",
        service.kind.call
    );
    shell.run(&command).map(drop)
}

/// Of a switch in short turns.
fn observe(shell: &Shell, service: &Service, kib: u64) -> Result<Reported, String> {
    let processes: Vec<String> = service.processes().iter().map(u32::to_string).collect();
    let command = format!(
        "switchcost observe -p {} -d 1s --record $out/service.json --format json",
        processes.join(",")
    );
    let observe = |_| {
        let mut other = take_turns(shell, PERIODS_US[0], kib, Duration::from_millis(1_500))?;
        let found = shell.json(&command)?;
        other.wait().map_err(|error| error.to_string())?;
        Ok(found)
    };
    let found = (0..OBSERVED)
        .map(observe)
        .collect::<Result<Vec<_>, String>>()?;
    Reported::new(&found)
}
