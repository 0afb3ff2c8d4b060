//! Work whose switches are known: two processes that hand a byte back and forth and each walk an array in between, and the
//! same work without a switch. Started as this program with [`ARGUMENT`] first. Each process prints the CPU time that it took from its
//! first turn on to standard error.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};

use host::usage;

use crate::order::Order;

/// First of the words that ask for it: then `pair`, `alone` or `partner`, the order, the array's bytes, and the rounds.
pub(crate) const ARGUMENT: &str = "--ping-pong";

/// A command for it, on one CPU.
pub(crate) fn command(cpu: &str, role: &str, order: Order, bytes: usize, rounds: usize) -> io::Result<Command> {
    let mut command = Command::new("taskset");
    command.args(["-c", cpu]).arg(std::env::current_exe()?).args([ARGUMENT, role, order.name()]);
    command.args([bytes.to_string(), rounds.to_string()]);
    Ok(command)
}

pub(crate) fn play(words: &[String]) -> io::Result<()> {
    let unfit =
        || io::Error::new(io::ErrorKind::InvalidInput, "need pair, alone or partner, an order, bytes and rounds");
    let [role, order, bytes, rounds] = words else { return Err(unfit()) };
    let order = Order::ALL.into_iter().find(|known| known.name() == order).ok_or_else(unfit)?;
    let (bytes, rounds): (usize, usize) = (bytes.parse().map_err(|_| unfit())?, rounds.parse().map_err(|_| unfit())?);
    let mut array = order.array(bytes);
    match role.as_str() {
        "pair" => pair(order, &mut array, bytes, rounds),
        "partner" => hand(order, &mut array, rounds, &mut io::stdin().lock(), &mut Unbuffered),
        // Two take turns at this, so each does both sides' work.
        "alone" => {
            let (mut reader, mut writer) = io::pipe()?;
            writer.write_all(&[0])?;
            hand(order, &mut array, rounds, &mut reader, &mut writer)?;
            hand(order, &mut order.array(bytes), rounds, &mut reader, &mut writer)
        }
        _ => Err(unfit()),
    }
}

fn pair(order: Order, array: &mut [u64], bytes: usize, rounds: usize) -> io::Result<()> {
    let mut partner = Command::new(std::env::current_exe()?);
    partner.args([ARGUMENT, "partner", order.name(), &bytes.to_string(), &rounds.to_string()]);
    let mut partner: Child = partner.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (to, from) = (partner.stdin.take(), partner.stdout.take());
    let (Some(mut to), Some(mut from)) = (to, from) else { return Err(io::ErrorKind::BrokenPipe.into()) };
    // The first byte is on its way already.
    to.write_all(&[0])?;
    hand(order, array, rounds, &mut from, &mut to)?;
    partner.wait().map(drop)
}

/// Takes a byte, walks, and hands it on, so often.
fn hand(order: Order, array: &mut [u64], rounds: usize, from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut byte = [0];
    order.walk(array);
    let before = usage::own_cpu_time();
    for _ in 0..rounds {
        from.read_exact(&mut byte)?;
        order.walk(array);
        // The last byte finds nobody in the end.
        if let Err(error) = to.write_all(&byte)
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            return Err(error);
        }
    }
    // In one piece: the other process writes to the same pipe.
    let line = format!("{}\n", usage::own_cpu_time().saturating_sub(before).as_nanos());
    io::stderr().write_all(line.as_bytes())
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
