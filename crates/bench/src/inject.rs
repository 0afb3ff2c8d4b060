//! Checks of `inject` by programs that know the cost of a preemption: loops without data, pointer
//! chases that time their own reload, and runs without preemptions.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use switchcost_units::CpuId;

use crate::figure::{Bound, count_trials};
use crate::lines::{self, cycle, follow};
use crate::row::Row;
use crate::shell::{Shell, interval, need};
use crate::spread::Spread;

/// First argument that makes this program run a pointer chase. The size in KiB and the number of
/// steps follow.
pub(crate) const ARGUMENT: &str = "--chase";

/// Argument in place of a size that makes this program touch memory on request.
const TOUCH: &str = "touch";

/// Number of runs without preemptions. With intervals of 90 %, one in ten may find a cost by
/// chance.
const TRIALS: usize = 100;

/// Sizes of pointer chases in KiB, with the number of steps that take about 100 ms. A chase that
/// fills a cache to its last line keeps evicting its own lines, so the smallest size is below the
/// 32 KiB of most first-level caches.
const CHASES: [(usize, u32); 3] = [(24, 90_000_000), (256, 30_000_000), (768, 20_000_000)];

/// Command line of a pointer chase through a single line.
const LOOP: &str = "switchcost-bench --chase 0 90000000";

/// Memory that the other task touches between two time slices of the chase, in KiB.
const EVICTOR_KIB: usize = 4 << 10;

/// Time that the preempted program runs between two preemptions, in ns. The chase that times itself
/// runs equally long.
const PERIOD_NS: f64 = 250_000.0;
/// Number of measurements of a reload by the chase itself.
const TIMES: usize = 600;

pub(crate) fn measure(shell: &Shell) -> Vec<Row> {
    let mut rows = vec![direct(shell)];
    rows.extend(CHASES.map(|chase| reload(shell, chase)));
    rows.push(count_trials(
        format!("{TRIALS} runs in which neither copy is preempted: costs called"),
        TRIALS,
        Bound::AtMost(TRIALS as f64 / 10.0),
        "inject --no-preemption --footprint 0 --budget 2s -- CHASE of 64 B",
        |_| {
            let json = shell.json(
                "switchcost inject --no-preemption --footprint 0 --budget 2s --format json -- switchcost-bench --chase 0 40000000",
            )?;
            let [low, _, high] = interval(&json, "footprints.0.cost_ns", "estimate")?;
            Ok(low > 0.0 || high < 0.0)
        },
    ));
    rows
}

/// Compares the cost of preempting a loop with hardly any data to the direct cost that `measure`
/// reports.
fn direct(shell: &Shell) -> Row {
    let found = || {
        let injected = shell.json(&format!(
            "switchcost inject --footprint 0 --budget 20s --format json -- {LOOP}"
        ))?;
        let measured = shell.json(
            "switchcost measure --mechanism preempt --between process --budget 20s --format json",
        )?;
        let cost = need(&injected, "footprints.0.cost_ns.estimate")?;
        let preemption = need(&measured, "results.0.direct_ns.estimate")?;
        let measured = format!("{:.2} us less {:.2} us", cost / 1e3, preemption / 1e3);
        Ok((measured, Some((cost - preemption).abs() <= 300.0)))
    };
    Row::new(
        "a preemption of a loop by a task that touches nothing, less the preempt row of measure",
        "within 0.3 us",
        "inject --footprint 0 -- CHASE of 64 B",
        found(),
    )
}

/// Compares the reload of a pointer chase by `inject` with the chase's own timing. The reload of a
/// loop without data is subtracted, because such a loop reloads only lines of the kernel.
fn reload(shell: &Shell, (kib, steps): (usize, u32)) -> Row {
    let inject = |command: &str| {
        let json = shell.json(&format!(
            "switchcost inject --footprint {EVICTOR_KIB}KiB --budget 60s --format json -- {command}"
        ))?;
        let [low, cost, high] = interval(&json, "footprints.1.reload_ns", "estimate")?;
        Ok::<_, String>((cost, (high - low) / 2.0, need(&json, "plan.cpu")?))
    };
    let found = || {
        let (cost, half, cpu) = inject(&format!("switchcost-bench {ARGUMENT} {kib} {steps}"))?;
        let (loop_cost, loop_half, _) = inject(LOOP)?;
        let own = own_reload(CpuId(cpu as u32), kib).map_err(|error| error.to_string())?;
        let (found, half) = (cost - loop_cost, half.hypot(loop_half));
        let [us, low, high, own_us] = [found, found - half, found + half, own].map(|ns| ns / 1e3);
        let ratio = found / own;
        let measured =
            format!("{us:.2} us ({low:.2} to {high:.2}) over {own_us:.2} us: {ratio:.2}");
        Ok((measured, Some((ratio - 1.0).abs() <= 0.1)))
    };
    Row::new(
        format!(
            "bringing back {kib} KiB of a chase after another task touched 4 MiB: found, less that of a loop without data, over what the \
             chase itself takes longer"
        ),
        "within 10 %",
        format!("inject --footprint 4MiB --budget 60s -- CHASE of {kib} KiB"),
        found(),
    )
}

/// Runs a pointer chase (words: size in KiB, number of steps), or touches memory on request (words:
/// `touch`, size in KiB). Fails on other words.
pub(crate) fn play(words: &[String]) -> io::Result<()> {
    let unfit = || io::Error::new(io::ErrorKind::InvalidInput, "need KiB and steps");
    let [kib, number] = words else {
        return Err(unfit());
    };
    let number: u64 = number.parse().map_err(|_| unfit())?;
    if kib == TOUCH {
        return touch(number as usize);
    }
    let kib: usize = kib.parse().map_err(|_| unfit())?;
    black_box(follow(&cycle(kib << 10), 0, number));
    Ok(())
}

/// Returns the time to reload the array of a pointer chase on a CPU, in ns: the time of a period
/// after another process has touched its memory, minus the time after the process touched nothing.
/// The result is the median of many alternating measurements.
fn own_reload(cpu: CpuId, kib: usize) -> io::Result<f64> {
    let _pinned = switchcost_host::control::pin(&[cpu])?;
    let mut other = Other::start()?;
    let (chain, mut at) = (cycle(kib << 10), 0);
    let mut time_ns = |steps| {
        let start = Instant::now();
        at = black_box(follow(&chain, at, steps));
        start.elapsed().as_secs_f64() * 1e9
    };
    let all = chain.len() as u64;
    time_ns(all);
    let steps = (PERIOD_NS / (time_ns(all) / all as f64)) as u64;
    let mut longer: Vec<f64> = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        other.run(true)?;
        let after_touch = time_ns(steps);
        other.run(false)?;
        longer.push(after_touch - time_ns(steps));
    }
    Ok(Spread::new(&longer).map_or(f64::NAN, |spread| spread.median))
}

/// Another process on the same CPU, which touches its memory on request, and ends when its pipe is
/// closed.
struct Other {
    questions: ChildStdin,
    answers: ChildStdout,
    child: Child,
}

impl Other {
    fn start() -> io::Result<Other> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([ARGUMENT, TOUCH, &EVICTOR_KIB.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let (questions, answers) = ends.ok_or(io::ErrorKind::BrokenPipe)?;
        let mut other = Other {
            questions,
            answers,
            child,
        };
        other.run(true)?;
        Ok(other)
    }

    /// Lets the process run once. The process touches its memory if `does_touch`.
    fn run(&mut self, does_touch: bool) -> io::Result<()> {
        self.questions.write_all(&[u8::from(does_touch)])?;
        self.answers.read_exact(&mut [0])
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Acts as the other process: reads and writes one word of each line on request, as the preemptor
/// of `inject` does.
fn touch(kib: usize) -> io::Result<()> {
    let mut memory = lines::zeros(kib << 10);
    let (mut questions, mut answers) = (io::stdin().lock(), io::stdout().lock());
    let mut does_touch = [0];
    while questions.read(&mut does_touch)? == 1 {
        if does_touch == [1] {
            lines::touch(&mut memory);
        }
        answers.write_all(&does_touch)?;
        answers.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_needs_its_size_and_steps() {
        let words = |words: &[&str]| -> Vec<String> {
            words.iter().map(|word| (*word).to_owned()).collect()
        };
        assert!(play(&words(&["24", "10"])).is_ok());
        assert!(play(&words(&["0", "10"])).is_ok());
        assert!(play(&[]).is_err() && play(&words(&["24", "x"])).is_err());
    }
}
