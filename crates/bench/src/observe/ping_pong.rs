//! Work whose switches are known: two processes that hand a byte back and forth and each walk an array in between, and the
//! same work without a switch. Started as this program with [`ARGUMENT`] first. Each process prints the CPU time that it took from its
//! first turn on, in nanoseconds, and its switches to standard error.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};

use switchcost_host::usage;

use super::CPU;
use super::order::Order;
use crate::shell::Shell;

/// First of the words that ask for it: then `pair`, `alone` or `partner`, the order, the array's bytes, the rounds, and the walks in each.
pub(crate) const ARGUMENT: &str = "--ping-pong";

/// What each process does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) order: Order,
    pub(super) bytes: usize,
    /// Turns of each.
    pub(super) rounds: usize,
    /// Walks in each turn.
    pub(super) walks: usize,
}

impl Work {
    /// A command for it, on one CPU.
    pub(super) fn command(self, role: &str) -> String {
        let Work {
            order,
            bytes,
            rounds,
            walks,
        } = self;
        format!(
            "taskset -c {CPU} switchcost-bench {ARGUMENT} {role} {} {bytes} {rounds} {walks}",
            order.name()
        )
    }

    fn parse(words: &[String]) -> Option<Work> {
        let [order, bytes, rounds, walks] = words else {
            return None;
        };
        Some(Work {
            order: Order::ALL.into_iter().find(|known| known.name() == order)?,
            bytes: bytes.parse().ok()?,
            rounds: rounds.parse().ok()?,
            walks: walks.parse().ok()?,
        })
    }
}

pub(crate) fn play(words: &[String]) -> io::Result<()> {
    let unfit = || {
        let need = "need pair, alone or partner, an order, bytes, rounds and walks";
        io::Error::new(io::ErrorKind::InvalidInput, need)
    };
    let (role, own) = words.split_first().ok_or_else(unfit)?;
    let work = Work::parse(own).ok_or_else(unfit)?;
    let mut array = work.order.array(work.bytes);
    match role.as_str() {
        "pair" => pair(work, own, &mut array),
        "partner" => hand(work, &mut array, &mut io::stdin().lock(), &mut Unbuffered),
        // Two take turns at this, so each does both sides' work.
        "alone" => {
            let (mut reader, mut writer) = io::pipe()?;
            writer.write_all(&[0])?;
            hand(work, &mut array, &mut reader, &mut writer)?;
            let mut other = work.order.array(work.bytes);
            hand(work, &mut other, &mut reader, &mut writer)
        }
        _ => Err(unfit()),
    }
}

fn pair(work: Work, words: &[String], array: &mut [u64]) -> io::Result<()> {
    let mut partner = Command::new(std::env::current_exe()?)
        .args([ARGUMENT, "partner"])
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let ends = partner.stdin.take().zip(partner.stdout.take());
    let (mut to, mut from) = ends.ok_or(io::ErrorKind::BrokenPipe)?;
    // The first byte is on its way already.
    to.write_all(&[0])?;
    hand(work, array, &mut from, &mut to)?;
    partner.wait().map(drop)
}

/// Takes a byte, walks, and hands it on, so often. Between the walks of a turn it hands the byte to itself: each walk has as many calls.
fn hand(
    work: Work,
    array: &mut [u64],
    from: &mut impl Read,
    to: &mut impl Write,
) -> io::Result<()> {
    let mut byte = [0];
    let (mut own_reader, mut own_writer) = io::pipe()?;
    work.order.walk(array);
    let before = (usage::own_cpu_time(), usage::own_switches());
    for _ in 0..work.rounds {
        from.read_exact(&mut byte)?;
        for _ in 1..work.walks {
            work.order.walk(array);
            own_writer.write_all(&byte)?;
            own_reader.read_exact(&mut byte)?;
        }
        work.order.walk(array);
        // The last byte has no reader.
        if let Err(error) = to.write_all(&byte)
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            return Err(error);
        }
    }
    let switches = usage::own_switches().since(before.1);
    let cpu_ns = usage::own_cpu_time().saturating_sub(before.0).as_nanos();
    // In one piece: the other process writes to the same file.
    let line = format!("{cpu_ns} {}\n", switches.voluntary + switches.involuntary);
    io::stderr().write_all(line.as_bytes())
}

pub(super) struct Used {
    pub(super) cpu_ns: f64,
    pub(super) switches: f64,
}

/// What both processes together used.
pub(super) fn used(shell: &Shell, command: &str) -> Result<Used, String> {
    let printed = shell.run(command)?.errors;
    let words = printed.split_whitespace().map(str::parse);
    let numbers: Result<Vec<f64>, _> = words.collect();
    match numbers.as_deref() {
        Ok([cpu_ns, switches, other_cpu_ns, other_switches]) => Ok(Used {
            cpu_ns: cpu_ns + other_cpu_ns,
            switches: switches + other_switches,
        }),
        _ => Err(printed),
    }
}

/// Standard output without a buffer.
struct Unbuffered;

impl Write for Unbuffered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut output = io::stdout().lock();
        let written = output.write(bytes)?;
        output.flush()?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
