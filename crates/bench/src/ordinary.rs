//! Hand-offs under the ordinary scheduler beside an independent ping-pong, which is compiled here and judged by its rusage.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::neighbour::Neighbour;
use crate::program::{Program, number};
use crate::row::Row;

const SOURCE: &str = include_str!("../ping_pong.c");
const RUNS: usize = 5;
pub(crate) const HANDOFFS: &str = "150000";

/// A policy by its name, and by the kernel's number.
type Policy = (&'static str, &'static str);
const OTHER: Policy = ("other", "0");
const BATCH: Policy = ("batch", "3");

/// Levels of control groups above the tasks.
const LEVELS: usize = 8;
const AUTOGROUP: &str = "/proc/sys/kernel/sched_autogroup_enabled";

pub(crate) fn all(program: &Program) -> Vec<Row> {
    let bench = match Bench::new(program) {
        Ok(bench) => bench,
        Err(why) => {
            return vec![Row::failed(
                "the ordinary scheduler beside a ping-pong",
                "",
                why,
                String::new(),
            )];
        }
    };
    let (other, batch) = (bench.both(OTHER), bench.both(BATCH));
    let mut rows = vec![
        row("SCHED_OTHER", 0.03, &other),
        row("SCHED_BATCH", 0.03, &batch),
    ];
    rows.push(ratio("SCHED_BATCH over SCHED_OTHER", &batch, &other));
    {
        let _neighbour = Neighbour::start_on(bench.cpu);
        rows.extend(
            [("SCHED_OTHER", OTHER), ("SCHED_BATCH", BATCH)].map(|(name, policy)| {
                row(
                    &format!("{name}, another task in bursts on the same CPU"),
                    0.05,
                    &bench.both(policy),
                )
            }),
        );
    }
    let deep = Groups::make()
        .map(|_groups| bench.both(OTHER))
        .unwrap_or_default();
    rows.push(ratio("control groups of 8 levels over none", &deep, &other));
    let without = Setting::change(AUTOGROUP)
        .map(|_setting| bench.both(OTHER))
        .unwrap_or_default();
    rows.push(ratio(
        "with autogroup the other way over as it is",
        &without,
        &other,
    ));
    rows
}

/// A hand-off with its calls, and what a switch takes without them, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Cost {
    handoff: f64,
    direct: f64,
}

/// Ours and the ping-pong's, in turn.
type Pairs = Vec<(Cost, Cost)>;

struct Bench<'a> {
    program: &'a Program,
    ping_pong: PathBuf,
    cpu: switchcost_units::CpuId,
}

/// Compiles the ping-pong.
pub(crate) fn ping_pong(program: &Program) -> Result<PathBuf, String> {
    let (source, ping_pong) = (program.path("ping_pong.c"), program.path("ping_pong"));
    std::fs::write(&source, SOURCE).map_err(|error| error.to_string())?;
    match Command::new("cc")
        .arg("-O2")
        .arg("-o")
        .arg(&ping_pong)
        .arg(&source)
        .status()
    {
        Ok(status) if status.success() => Ok(ping_pong),
        made => Err(format!(
            "found no compiler ({made:?}), need cc to make the ping-pong"
        )),
    }
}

impl Bench<'_> {
    fn new(program: &Program) -> Result<Bench<'_>, String> {
        let ping_pong = ping_pong(program)?;
        let cpus = switchcost_facts::allowed_cpus(&switchcost_facts::Root::system());
        let cpu = *cpus.last().ok_or("found no CPU allowed, need one")?;
        Ok(Bench {
            program,
            ping_pong,
            cpu,
        })
    }

    fn both(&self, policy: Policy) -> Pairs {
        (0..RUNS)
            .filter_map(|_| Some((self.ours(policy.0)?, self.theirs(policy.1)?)))
            .collect()
    }

    fn ours(&self, policy: &str) -> Option<Cost> {
        let cpu = self.cpu.to_string();
        let what = [
            "measure",
            "--mechanism",
            "pipe",
            "--between",
            "process",
            "--no-counters",
            "--budget",
            "2s",
        ];
        let how = ["--precision", "0.1%", "--policy", policy, "--cpu", &cpu];
        let json = self.program.run(&[&what[..], &how].concat()).ok()?.json;
        let at = |name: &str| number(&json, &format!("results.0.{name}.estimate"));
        Some(Cost {
            handoff: at("round_trip_ns")? / 2.0,
            direct: at("direct_ns")?,
        })
    }

    fn theirs(&self, policy: &str) -> Option<Cost> {
        let output = Command::new(&self.ping_pong)
            .args([&self.cpu.to_string(), policy, HANDOFFS])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>());
        let (handoff, own) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        Some(Cost {
            handoff,
            direct: handoff - own,
        })
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn medians(pairs: &[(Cost, Cost)], read: fn(&Cost) -> f64) -> (f64, f64) {
    (
        median(pairs.iter().map(|(ours, _)| read(ours)).collect()),
        median(pairs.iter().map(|(_, own)| read(own)).collect()),
    )
}

fn row(name: &str, within: f64, pairs: &[(Cost, Cost)]) -> Row {
    let what = format!("pipe under {name}: over an independent ping-pong by its CPU time, in turn");
    let must_reach = format!("hand-off and direct within {:.0} %", within * 100.0);
    let command = "measure --mechanism pipe --policy P --cpu C | ping_pong C P 150000".to_owned();
    if pairs.len() < RUNS {
        return Row::failed(
            &what,
            &must_reach,
            format!("{} of {RUNS} runs measured", pairs.len()),
            command,
        );
    }
    let (handoff, direct) = (
        medians(pairs, |cost| cost.handoff),
        medians(pairs, |cost| cost.direct),
    );
    let apart = [handoff, direct].map(|(ours, theirs)| ours / theirs);
    Row {
        what,
        must_reach,
        measured: format!(
            "hand-off {:.3} ({:.0} over {:.0} ns), direct {:.3} ({:.0} over {:.0} ns); medians of {RUNS}",
            apart[0], handoff.0, handoff.1, apart[1], direct.0, direct.1
        ),
        is_met: Some(apart.iter().all(|ratio| (ratio - 1.0).abs() <= within)),
        command,
    }
}

/// A known effect: by how much it changes a hand-off without its calls, by us and by the ping-pong.
fn ratio(name: &str, with: &[(Cost, Cost)], without: &[(Cost, Cost)]) -> Row {
    let (what, must_reach) = (
        format!("direct cost, {name}"),
        "the same ratio within 3 %".to_owned(),
    );
    let command = "the same, with the ping-pong's ratio beside ours".to_owned();
    if with.len() < RUNS || without.len() < RUNS {
        return Row::failed(
            &what,
            &must_reach,
            "not to be had here, or not measured".to_owned(),
            command,
        );
    }
    let (with, without) = (
        medians(with, |cost| cost.direct),
        medians(without, |cost| cost.direct),
    );
    let (ours, theirs) = (with.0 / without.0, with.1 / without.1);
    Row {
        what,
        must_reach,
        measured: format!("{ours:.3}, the ping-pong's {theirs:.3}"),
        is_met: Some((ours / theirs - 1.0).abs() <= 0.03),
        command,
    }
}

/// A file of the kernel's with 0 or 1 in it: the other one until dropped.
struct Setting {
    path: &'static str,
    before: String,
}

impl Setting {
    fn change(path: &'static str) -> Option<Setting> {
        let before = std::fs::read_to_string(path).ok()?;
        let other = if before.trim() == "0" { "1" } else { "0" };
        std::fs::write(path, other).ok()?;
        Some(Setting { path, before })
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        let _ = std::fs::write(self.path, &self.before);
    }
}

/// This process in the innermost of nested control groups, until dropped.
struct Groups {
    root: PathBuf,
    made: Vec<PathBuf>,
}

impl Groups {
    fn make() -> Option<Groups> {
        let roots = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"].map(Path::new);
        let root = roots
            .into_iter()
            .find(|root| root.join("cgroup.procs").is_file())?
            .to_owned();
        let mut groups = Groups {
            made: Vec::new(),
            root: root.clone(),
        };
        let mut innermost = root;
        for level in 1..=LEVELS {
            innermost = innermost.join(format!("switchcost-bench-{level}"));
            std::fs::create_dir(&innermost).ok()?;
            groups.made.push(innermost.clone());
            if let Some(above) = innermost.parent() {
                // Of version 2; version 1 has the controller in each.
                let _ = std::fs::write(above.join("cgroup.subtree_control"), "+cpu");
            }
        }
        std::fs::write(innermost.join("cgroup.procs"), "0").ok()?;
        Some(groups)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        let _ = std::fs::write(self.root.join("cgroup.procs"), "0");
        self.made
            .iter()
            .rev()
            .for_each(|group| drop(std::fs::remove_dir(group)));
    }
}
