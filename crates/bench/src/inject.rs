//! What a preemption costs programs that know it: loops without data, chases whose reload `measure` finds on its own, and nothing at all.

use std::io;

use serde_json::Value;

use crate::program::{Program, number};
use crate::row::Row;

/// First of the words that ask this program for a chase: then its bytes and steps.
pub(crate) const ARGUMENT: &str = "--chase";

/// Runs in which nobody is preempted; one in ten may call a cost by chance at 90 %.
const TRIALS: usize = 100;

/// Sizes with some 100 ms of steps, and what the other task touches. 32 KiB is the first level of most: a chase that fills a level to its
/// last line loses lines of its own again and again once it has lost any, so there is less.
const CHASES: [(&str, &str, &str); 3] =
    [("24576", "24KiB", "90000000"), ("262144", "256KiB", "30000000"), ("786432", "768KiB", "20000000")];

/// Touched by the other task.
const AWAY: &str = "4MiB";

pub(crate) fn all(program: &Program) -> Vec<Row> {
    let mut rows = vec![direct(program)];
    rows.extend(CHASES.map(|chase| reload(program, chase)));
    rows.push(without_difference(program));
    rows
}

/// Words of a line of 64 bytes.
const LINE: usize = 16;

/// Goes through the lines of so many bytes in one cycle of random order.
pub(crate) fn play(words: &[String]) -> io::Result<()> {
    let unfit = || io::Error::new(io::ErrorKind::InvalidInput, "need bytes and steps");
    let [bytes, steps] = words else { return Err(unfit()) };
    let (bytes, steps): (usize, u64) = (bytes.parse().map_err(|_| unfit())?, steps.parse().map_err(|_| unfit())?);
    let next = cycle((bytes / 4 / LINE).max(1));
    let mut at = 0;
    for _ in 0..steps {
        at = next[at as usize];
    }
    if std::hint::black_box(at) == u32::MAX { Err(unfit()) } else { Ok(()) }
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
    order.iter().enumerate().for_each(|(line, after)| next[line * LINE] = (after * LINE) as u32);
    next
}

fn chase(bytes: &str, steps: &str) -> Vec<String> {
    let own = std::env::current_exe().unwrap_or_default().display().to_string();
    ["--", &own, ARGUMENT, bytes, steps].map(str::to_owned).to_vec()
}

fn inject(program: &Program, options: &[&str], command: &[String]) -> Result<Value, String> {
    let arguments: Vec<&str> = ["inject", "--format", "json"].into_iter().chain(options.iter().copied()).collect();
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let output = program.command(&[&arguments[..], &command].concat()).output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A loop with hardly any data, beside the loop of `measure`.
fn direct(program: &Program) -> Row {
    let what = "a preemption of a loop by a task that touches nothing, less the preempt row of measure";
    let (must_reach, command) = ("within 0.3 us", "inject --footprint 0 -- CHASE of 64 B".to_owned());
    let injected = inject(program, &["--footprint", "0", "--budget", "20s"], &chase("64", "90000000"));
    let measured = program.run(&["measure", "--mechanism", "preempt", "--between", "process", "--budget", "20s"]);
    let found = injected.and_then(|injected| {
        let measured = measured?.json;
        let preemption = switches(&measured).ok_or("measure found no preemption")?;
        let cost = number(&injected, "footprints.0.cost_ns.estimate").ok_or("inject found no cost")?;
        Ok((cost, preemption))
    });
    match found {
        Err(why) => Row::failed(what, must_reach, why, command),
        Ok((cost, preemption)) => Row {
            what: what.to_owned(),
            must_reach: must_reach.to_owned(),
            measured: format!("{:.2} us less {:.2} us", cost / 1e3, preemption / 1e3),
            is_met: Some((cost - preemption).abs() <= 300.0),
            command,
        },
    }
}

/// What a whole preemption takes: as `measure` tells it.
fn switches(measured: &Value) -> Option<f64> {
    number(measured, "results.0.direct_ns.estimate")
}

/// The lines of a chase that were displaced, as `measure --reload` finds them on an array of its own.
fn reload(program: &Program, (bytes, size, steps): (&str, &str, &str)) -> Row {
    let what = format!("bringing back {size} of a chase behind {AWAY}: found over measure --reload");
    let (must_reach, command) = ("within 10 %", format!("inject --footprint {AWAY} -- CHASE of {size}"));
    let injected = inject(program, &["--footprint", AWAY, "--budget", "30s"], &chase(bytes, steps));
    let arguments = ["measure", "--size", size, "--away", AWAY, "--stride", "64B", "--pattern", "chase"];
    let measured = program.run(&[&arguments[..], &["--access", "read", "--budget", "30s"]].concat());
    let found = injected.and_then(|injected| {
        let whole =
            number(&measured?.json, "results.0.indirect_reload_ns.estimate").ok_or("measure found no reload")?;
        let found = number(&injected, "footprints.1.reload_ns.estimate").ok_or("inject found no reload")?;
        Ok((found, whole))
    });
    match found {
        Err(why) => Row::failed(&what, must_reach, why, command),
        Ok((found, whole)) => Row {
            what,
            must_reach: must_reach.to_owned(),
            measured: format!("{:.2} us over {:.2} us: {:.2}", found / 1e3, whole / 1e3, found / whole),
            is_met: Some((found / whole - 1.0).abs() <= 0.1),
            command,
        },
    }
}

/// How often a cost is called where nobody is preempted.
fn without_difference(program: &Program) -> Row {
    let what = format!("{TRIALS} runs in which neither copy is preempted: costs called");
    let called: Vec<bool> = (0..TRIALS)
        .filter_map(|_| {
            let options = ["--no-preemption", "--footprint", "0", "--budget", "2s"];
            let json = inject(program, &options, &chase("64", "40000000")).ok()?;
            let ends = ["low", "high"].map(|end| number(&json, &format!("footprints.0.cost_ns.{end}")));
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
