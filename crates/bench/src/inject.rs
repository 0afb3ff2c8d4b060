//! What a preemption costs programs that know it: loops without data, chases that time their own reload, and nothing at all.

use std::io::{self, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::Value;
use switchcost_units::CpuId;

use crate::program::{Program, number};
use crate::row::Row;

/// First of the words that ask this program for a chase: then its bytes and steps.
pub(crate) const ARGUMENT: &str = "--chase";

/// In place of the bytes: touch memory when asked to.
const TOUCH: &str = "touch";

/// Runs without preemptions; one in ten may find a cost by chance at 90 %.
const TRIALS: usize = 100;

/// Sizes with some 100 ms of steps, and what the other task touches. 32 KiB is the first level of most: a chase that fills a level to its
/// last line loses lines of its own again and again once it has lost any, so there is less.
const CHASES: [(&str, &str, &str); 3] = [
    ("24576", "24KiB", "90000000"),
    ("262144", "256KiB", "30000000"),
    ("786432", "768KiB", "20000000"),
];

/// Touched by the other task.
const AWAY: &str = "4MiB";
const AWAY_BYTES: usize = 4 << 20;

pub(crate) fn all(program: &Program) -> Vec<Row> {
    let mut rows = vec![direct(program)];
    rows.extend(CHASES.map(|chase| reload(program, chase)));
    rows.push(without_difference(program));
    rows
}

/// Words of a line of 64 bytes.
const LINE: usize = 16;

/// How long the preempted program runs between two preemptions: the chase that times itself goes on for as long.
const PERIOD_NS: f64 = 250_000.0;
/// Of the chase that times itself.
const TIMES: usize = 600;

/// Goes through the lines of so many bytes in one cycle of random order.
pub(crate) fn play(words: &[String]) -> io::Result<()> {
    let unfit = || io::Error::new(io::ErrorKind::InvalidInput, "need bytes and steps");
    let [bytes, steps] = words else {
        return Err(unfit());
    };
    if bytes == TOUCH {
        return touch(steps.parse().map_err(|_| unfit())?);
    }
    let (bytes, steps): (usize, u64) = (
        bytes.parse().map_err(|_| unfit())?,
        steps.parse().map_err(|_| unfit())?,
    );
    let next = cycle((bytes / 4 / LINE).max(1));
    if follow(&next, 0, steps) == u32::MAX {
        Err(unfit())
    } else {
        Ok(())
    }
}

/// Where so many steps lead.
fn follow(next: &[u32], from: u32, steps: u64) -> u32 {
    std::hint::black_box((0..steps).fold(from, |at, _| next[at as usize]))
}

/// By how much a period's steps of a chase on that CPU take longer after another process there has touched so many bytes than after one
/// that touched none: the reload that it knows, in nanoseconds. The median of many, in turn.
fn own_reload(cpu: CpuId, bytes: usize, away: usize) -> io::Result<f64> {
    let _pinned = switchcost_host::control::pin(&[cpu])?;
    let mut other = Other::start(away)?;
    let (next, mut at) = (cycle(bytes / 4 / LINE), 0);
    let mut timed = |steps| {
        let start = Instant::now();
        at = follow(&next, at, steps);
        start.elapsed().as_secs_f64() * 1e9
    };
    let all = 4 * next.len() as u64;
    timed(all);
    let steps = (PERIOD_NS / (timed(all) / all as f64)) as u64;
    let mut longer: Vec<f64> = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        other.run(true)?;
        let behind = timed(steps);
        other.run(false)?;
        longer.push(behind - timed(steps));
    }
    longer.sort_unstable_by(f64::total_cmp);
    Ok(longer[longer.len() / 2])
}

/// Another process on the same CPU, which touches its memory when it is asked to; ends with its pipe.
struct Other {
    asks: ChildStdin,
    answers: ChildStdout,
    child: Child,
}

impl Other {
    fn start(bytes: usize) -> io::Result<Other> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args([ARGUMENT, TOUCH, &bytes.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let (asks, answers) = ends.ok_or(io::ErrorKind::BrokenPipe)?;
        let mut other = Other {
            asks,
            answers,
            child,
        };
        other.run(true)?;
        Ok(other)
    }

    /// Returns when it has had the CPU, and has touched its memory or has not.
    fn run(&mut self, does_touch: bool) -> io::Result<()> {
        self.asks.write_all(&[u8::from(does_touch)])?;
        self.answers.read_exact(&mut [0])
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the other process does: one word of each line, read and written, as the preemptor has it.
fn touch(bytes: usize) -> io::Result<()> {
    let mut lines = vec![0_u32; bytes / 4];
    let (mut asked, mut answer) = (io::stdin().lock(), io::stdout().lock());
    let mut does_touch = [0];
    while asked.read(&mut does_touch)? == 1 {
        if does_touch == [1] {
            std::hint::black_box(&mut lines)
                .iter_mut()
                .step_by(LINE)
                .for_each(|word| *word += 1);
        }
        answer.write_all(&does_touch)?;
        answer.flush()?;
    }
    Ok(())
}

/// Of each line where the next begins (Sattolo 1986, "An algorithm to generate a random cyclic permutation").
fn cycle(lines: usize) -> Vec<u32> {
    let mut order: Vec<usize> = (0..lines).collect();
    let mut state = 88_172_645_463_325_252_u64;
    for last in (1..lines).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(last, state as usize % last);
    }
    let mut next = vec![0; lines * LINE];
    order
        .iter()
        .enumerate()
        .for_each(|(line, after)| next[line * LINE] = (after * LINE) as u32);
    next
}

fn chase(bytes: &str, steps: &str) -> Vec<String> {
    let own = std::env::current_exe()
        .unwrap_or_default()
        .display()
        .to_string();
    ["--", &own, ARGUMENT, bytes, steps]
        .map(str::to_owned)
        .to_vec()
}

fn inject(program: &Program, options: &[&str], command: &[String]) -> Result<Value, String> {
    let arguments: Vec<&str> = ["inject", "--format", "json"]
        .into_iter()
        .chain(options.iter().copied())
        .collect();
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let output = program
        .command(&[&arguments[..], &command].concat())
        .output()
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A loop with hardly any data, beside the loop of `measure`.
fn direct(program: &Program) -> Row {
    let what =
        "a preemption of a loop by a task that touches nothing, less the preempt row of measure";
    let injected = inject(
        program,
        &["--footprint", "0", "--budget", "20s"],
        &chase("64", "90000000"),
    );
    let measured = program.run(&[
        "measure",
        "--mechanism",
        "preempt",
        "--between",
        "process",
        "--budget",
        "20s",
    ]);
    let found = injected.and_then(|injected| {
        let measured = measured?.json;
        let preemption = switches(&measured).ok_or("measure found no preemption")?;
        let cost =
            number(&injected, "footprints.0.cost_ns.estimate").ok_or("inject found no cost")?;
        let measured = format!("{:.2} us less {:.2} us", cost / 1e3, preemption / 1e3);
        Ok((measured, Some((cost - preemption).abs() <= 300.0)))
    });
    Row::of(
        what,
        "within 0.3 us",
        "inject --footprint 0 -- CHASE of 64 B",
        found,
    )
}

/// What a whole preemption takes, by `measure`.
fn switches(measured: &Value) -> Option<f64> {
    number(measured, "results.0.direct_ns.estimate")
}

/// What cold caches cost, and half its interval, in nanoseconds.
fn cold(injected: &Value) -> Result<(f64, f64), String> {
    let of = |end| number(injected, &format!("footprints.1.reload_ns.{end}"));
    let cost = of("estimate").zip(
        of("low")
            .zip(of("high"))
            .map(|(low, high)| (high - low) / 2.0),
    );
    cost.ok_or_else(|| "inject found no cost of cold caches".to_owned())
}

/// The lines of a chase that were displaced, beside what it finds itself. The kernel's own are what a loop without data pays.
fn reload(program: &Program, (bytes, size, steps): (&str, &str, &str)) -> Row {
    let what = format!(
        "bringing back {size} of a chase behind {AWAY}: found, less that of a loop without data, over what the chase itself takes longer"
    );
    let command = format!("inject --footprint {AWAY} --budget 60s -- CHASE of {size}");
    let options = ["--footprint", AWAY, "--budget", "60s"];
    let [injected, without_data] = [chase(bytes, steps), chase("64", "90000000")]
        .map(|command| inject(program, &options, &command));
    let found = injected.and_then(|injected| {
        let ((found, half), (loops, loops_half)) = (cold(&injected)?, cold(&without_data?)?);
        let cpu = number(&injected, "plan.cpu").ok_or("inject names no CPU")?;
        let bytes = bytes.parse().map_err(|_| "no number of bytes")?;
        let whole =
            own_reload(CpuId(cpu as u32), bytes, AWAY_BYTES).map_err(|error| error.to_string())?;
        let (found, half) = (found - loops, half.hypot(loops_half));
        let [us, low, high, of] = [found, found - half, found + half, whole].map(|ns| ns / 1e3);
        let ratio = found / whole;
        let measured = format!("{us:.2} us ({low:.2} to {high:.2}) over {of:.2} us: {ratio:.2}");
        Ok((measured, Some((ratio - 1.0).abs() <= 0.1)))
    });
    Row::of(what, "within 10 %", command, found)
}

/// How often a cost is found without preemptions.
fn without_difference(program: &Program) -> Row {
    let what = format!("{TRIALS} runs in which neither copy is preempted: costs called");
    let called: Vec<bool> = (0..TRIALS)
        .filter_map(|_| {
            let options = ["--no-preemption", "--footprint", "0", "--budget", "2s"];
            let json = inject(program, &options, &chase("64", "40000000")).ok()?;
            let ends =
                ["low", "high"].map(|end| number(&json, &format!("footprints.0.cost_ns.{end}")));
            Some(ends[0]? > 0.0 || ends[1]? < 0.0)
        })
        .collect();
    let count = called.iter().filter(|is_called| **is_called).count();
    Row {
        what,
        must_reach: format!("<= {} (10 %)", TRIALS / 10),
        measured: format!("{count} of {}", called.len()),
        is_met: (called.len() == TRIALS).then_some(count <= TRIALS / 10),
        command: "inject --no-preemption --footprint 0 --budget 2s -- CHASE of 64 B".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_comes_through_each_line_once() {
        let (lines, mut at, mut seen) = (384, 0, 0);
        let next = cycle(lines);
        loop {
            at = next[at] as usize;
            seen += 1;
            if at == 0 {
                break;
            }
        }
        assert_eq!(seen, lines);
        assert!(play(&["24576".to_owned(), "10".to_owned()]).is_ok() && play(&[]).is_err());
    }
}
