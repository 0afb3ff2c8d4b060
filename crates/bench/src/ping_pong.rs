//! Work whose switches are known: two processes that hand a byte back and forth and each walk an array in between, and the
//! same work without a switch. Started as this program with [`ARGUMENT`] first. Each process prints the CPU time that it took from its
//! first turn on, in nanoseconds, and its switches to standard error.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};

use switchcost_host::usage;

use crate::order::Order;

/// First of the words that ask for it: then `pair`, `alone` or `partner`, the order, the array's bytes, the rounds, and the walks in each.
pub(crate) const ARGUMENT: &str = "--ping-pong";

/// What each process does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) order: Order,
    pub(crate) bytes: usize,
    /// Turns of each.
    pub(crate) rounds: usize,
    /// Walks in each turn.
    pub(crate) walks: usize,
}

impl Work {
    fn words(self) -> [String; 4] {
        [
            self.order.name().to_owned(),
            self.bytes.to_string(),
            self.rounds.to_string(),
            self.walks.to_string(),
        ]
    }

    fn of(words: &[String]) -> Option<Work> {
        let [order, numbers @ ..] = words else {
            return None;
        };
        let order = Order::ALL.into_iter().find(|known| known.name() == order)?;
        let numbers: Vec<usize> = numbers
            .iter()
            .map(|word| word.parse().ok())
            .collect::<Option<_>>()?;
        let [bytes, rounds, walks] = numbers[..] else {
            return None;
        };
        Some(Work {
            order,
            bytes,
            rounds,
            walks,
        })
    }
}

/// A command for it, on one CPU.
pub(crate) fn command(cpu: &str, role: &str, work: Work) -> io::Result<Command> {
    let mut command = Command::new("taskset");
    command
        .args(["-c", cpu])
        .arg(std::env::current_exe()?)
        .args([ARGUMENT, role])
        .args(work.words());
    Ok(command)
}

pub(crate) fn play(words: &[String]) -> io::Result<()> {
    let unfit = || {
        let need = "need pair, alone or partner, an order, bytes, rounds and walks";
        io::Error::new(io::ErrorKind::InvalidInput, need)
    };
    let (role, work) = words.split_first().ok_or_else(unfit)?;
    let work = Work::of(work).ok_or_else(unfit)?;
    let mut array = work.order.array(work.bytes);
    match role.as_str() {
        "pair" => pair(work, &mut array),
        "partner" => hand(work, &mut array, &mut io::stdin().lock(), &mut Unbuffered),
        // Two take turns at this, so each does both sides' work.
        "alone" => {
            let (mut reader, mut writer) = io::pipe()?;
            writer.write_all(&[0])?;
            hand(work, &mut array, &mut reader, &mut writer)?;
            hand(
                work,
                &mut work.order.array(work.bytes),
                &mut reader,
                &mut writer,
            )
        }
        _ => Err(unfit()),
    }
}

fn pair(work: Work, array: &mut [u64]) -> io::Result<()> {
    let mut partner = Command::new(std::env::current_exe()?);
    partner.args([ARGUMENT, "partner"]).args(work.words());
    let mut partner: Child = partner
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (to, from) = (partner.stdin.take(), partner.stdout.take());
    let (Some(mut to), Some(mut from)) = (to, from) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
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
    // In one piece: the other process writes to the same pipe.
    let line = format!("{cpu_ns} {}\n", switches.voluntary + switches.involuntary);
    io::stderr().write_all(line.as_bytes())
}

/// What both processes together printed: CPU time in nanoseconds, and switches.
pub(crate) fn used(mut workload: Command) -> Result<(f64, f64), String> {
    let output = workload
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let of = |line: &str| {
        let (cpu, switches) = line.split_once(' ')?;
        Some((cpu.parse::<f64>().ok()?, switches.parse::<f64>().ok()?))
    };
    let each: Option<Vec<_>> = text.lines().map(of).collect();
    match each {
        Some(each) if each.len() == 2 => Ok((each[0].0 + each[1].0, each[0].1 + each[1].1)),
        _ => Err(text),
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
