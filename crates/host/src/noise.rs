//! Makes deliberate network traffic, to show its effect on a measurement.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchcost_units::CpuId;

use crate::control::pin;

/// Number of round trips in a burst: about ten milliseconds of work for a CPU.
const BURST: usize = 500;
const MESSAGE_BYTES: usize = 1024;
/// Longest pause between two bursts, as between the pings of Li, Ding and Shen 2007, section 3.3.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);
/// Time within which the threads notice that they must end.
const TIMEOUT: Duration = Duration::from_millis(50);

/// Bursts of messages over the loopback device with random pauses, all on one CPU. The messages
/// cause system calls, soft interrupts and timers, and two threads compete for the CPU. The noise
/// ends when this value is dropped, and with this process.
#[derive(Debug)]
pub struct NetworkNoise {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl NetworkNoise {
    /// Starts the noise on `cpu`. Pauses are drawn with `seed`.
    ///
    /// # Errors
    ///
    /// If there is no loopback device, or the CPU may not be used.
    pub fn start(cpu: CpuId, seed: u64) -> io::Result<NetworkNoise> {
        let (near, far) = (socket()?, socket()?);
        near.connect(far.local_addr()?)?;
        far.connect(near.local_addr()?)?;
        // Pins this thread first, so that an unavailable CPU is an error, and not a thread that
        // makes no noise.
        drop(pin(&[cpu])?);
        let is_over = Arc::new(AtomicBool::new(false));
        let mut noise = NetworkNoise {
            is_over: Arc::clone(&is_over),
            threads: Vec::new(),
        };
        let (over, dice) = (Arc::clone(&is_over), ChaCha8Rng::seed_from_u64(seed));
        noise.spawn("noise", move || shout(&near, &over, cpu, dice))?;
        noise.spawn("echo", move || answer(&far, &is_over, cpu))?;
        Ok(noise)
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(
            std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(work)?,
        );
        Ok(())
    }
}

impl Drop for NetworkNoise {
    fn drop(&mut self) {
        self.is_over.store(true, SeqCst);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn socket() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    Ok(socket)
}

fn shout(socket: &UdpSocket, is_over: &AtomicBool, cpu: CpuId, mut dice: ChaCha8Rng) {
    let _pin = pin(&[cpu]);
    let mut message = [0; MESSAGE_BYTES];
    while !is_over.load(SeqCst) {
        for _ in 0..BURST {
            // A lost message only adds a pause.
            let is_sent = socket.send(&message).is_ok();
            if is_over.load(SeqCst) || !(is_sent && socket.recv(&mut message).is_ok()) {
                break;
            }
        }
        std::thread::sleep(LONGEST_PAUSE.mul_f64(dice.random()));
    }
}

fn answer(socket: &UdpSocket, is_over: &AtomicBool, cpu: CpuId) {
    let _pin = pin(&[cpu]);
    let mut message = [0; MESSAGE_BYTES];
    while !is_over.load(SeqCst) {
        if let Ok(bytes) = socket.recv(&mut message) {
            let _ = socket.send(&message[..bytes]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::current_cpu;
    use std::time::Instant;

    #[test]
    fn messages_go_to_and_fro_and_end_with_it() {
        let cpu = current_cpu().expect("a CPU");
        let before = threads();
        let noise = NetworkNoise::start(cpu, 1).expect("a loopback device");
        // A thread names itself once it runs.
        await_that("two threads run", || threads() == before + 2);
        let received =
            || std::fs::read_to_string("/proc/self/net/snmp").expect("the kernel's counters");
        let start = udp_received(&received());
        await_that("a burst went to and fro", || {
            udp_received(&received()) >= start + 2 * BURST as u64
        });
        let shared = Arc::clone(&noise.is_over);
        drop(noise);
        // The list of threads is not used, because the kernel removes a thread from it a little
        // after it has been waited for.
        assert_eq!(Arc::strong_count(&shared), 1, "a thread still runs");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        assert!(NetworkNoise::start(CpuId(1023), 1).is_err());
    }

    fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "waited in vain until {what}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Counts the threads of this process that have the noise threads' names; other tests run
    /// concurrently.
    fn threads() -> usize {
        let tasks = std::fs::read_dir("/proc/self/task").expect("own threads");
        let names = tasks
            .flatten()
            .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names
            .filter(|name| ["noise", "echo"].contains(&name.trim()))
            .count()
    }

    /// Returns InDatagrams, the first number after the second line's `Udp:`.
    fn udp_received(snmp: &str) -> u64 {
        let line = snmp
            .lines()
            .filter(|line| line.starts_with("Udp:"))
            .nth(1)
            .expect("UDP is counted");
        line.split_whitespace()
            .nth(1)
            .expect("a first counter")
            .parse()
            .expect("a number")
    }
}
