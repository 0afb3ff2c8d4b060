//! Measures hand-offs between tasks of tokio: a ring of tasks passes a token round. In the baseline
//! each task in turn passes the token to itself, or does nothing if tasks hand over by yielding.

use std::io::BufRead;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::sync::Mutex;
use tokio::task::yield_now;

#[derive(Clone, Copy)]
struct Window {
    walks: bool,
    warm_up: u64,
    rounds: u64,
}

/// A task: its array, and its ends of the channels that carry the token.
struct Task {
    array: Vec<f64>,
    stride: usize,
    own: Receiver<()>,
    next: Sender<()>,
    itself: Sender<()>,
    yields: bool,
}

impl Task {
    /// Adds 1 to each element of the array, in steps of the stride, and returns the time.
    fn walk(&mut self) -> Duration {
        let begin = Instant::now();
        for first in 0..self.stride {
            self.array.iter_mut().skip(first).step_by(self.stride).for_each(|element| *element += 1.0);
        }
        begin.elapsed()
    }

    /// Runs the rounds of a task that has the token. Returns the time of the rounds after the
    /// warm-up, and the time of the walks in these rounds.
    async fn rounds(&mut self, window: Window, is_alone: bool) -> (Duration, Duration) {
        let next = if is_alone { self.itself.clone() } else { self.next.clone() };
        let (mut start, mut walked) = (Instant::now(), Duration::ZERO);
        for round in 0..window.warm_up + window.rounds {
            if round == window.warm_up {
                (start, walked) = (Instant::now(), Duration::ZERO);
            }
            if window.walks {
                walked += self.walk();
            }
            match (self.yields, is_alone) {
                (false, _) => {
                    next.send(()).await.expect("the ring is whole");
                    self.own.recv().await.expect("the ring is whole");
                }
                (true, false) => yield_now().await,
                // A task that yields alone would go through the scheduler, too.
                (true, true) => (),
            }
        }
        (start.elapsed(), walked)
    }
}

type Ring = Vec<Arc<Mutex<Task>>>;

fn ring(tasks: usize, size: usize, stride: usize, yields: bool) -> Ring {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..tasks).map(|_| channel(1)).unzip();
    let task = |(i, own): (usize, Receiver<()>)| Task {
        array: vec![1.0; size / 8],
        stride: (stride / 8).max(1),
        own,
        next: senders[(i + 1) % tasks].clone(),
        itself: senders[i].clone(),
        yields,
    };
    receivers.into_iter().enumerate().map(task).map(|task| Arc::new(Mutex::new(task))).collect()
}

fn together(runtime: &Runtime, ring: &Ring, window: Window) -> (Duration, Duration) {
    let run = |i: usize, task: &Arc<Mutex<Task>>| {
        let (task, others) = (Arc::clone(task), if i == 0 { ring.len() - 1 } else { 0 });
        let ends: Vec<Sender<()>> = ring[..others].iter().map(|one| one.blocking_lock().next.clone()).collect();
        runtime.spawn(async move {
            let mut task = task.lock().await;
            if i > 0 && !task.yields {
                task.own.recv().await.expect("the ring is whole");
            }
            let times = task.rounds(window, false).await;
            for end in ends.iter().filter(|_| !task.yields) {
                end.send(()).await.expect("the ring is whole"); // the task waits for this token after its last round
            }
            times
        })
    };
    let started: Vec<_> = ring.iter().enumerate().map(|(i, task)| run(i, task)).collect();
    let times: Vec<_> = started.into_iter().map(|one| runtime.block_on(one).expect("no task panics")).collect();
    (times[0].0, times.iter().map(|(_, walked)| *walked).sum())
}

fn alone(runtime: &Runtime, ring: &Ring, window: Window) -> (Duration, Duration) {
    let one = |task: &Arc<Mutex<Task>>| {
        let task = Arc::clone(task);
        let started = runtime.spawn(async move { task.lock().await.rounds(window, true).await });
        runtime.block_on(started).expect("no task panics")
    };
    ring.iter().map(one).fold(Default::default(), |sum, more| (sum.0 + more.0, sum.1 + more.1))
}

fn number(line: &str, name: &str) -> u64 {
    let behind = line.split_once(&format!("\"{name}\":")).map_or("", |(_, rest)| rest);
    let end = behind.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(behind.len());
    behind[..end].parse().unwrap_or(0)
}

/// Returns the version of tokio in `Cargo.lock`, and the version of cargo.
fn versions() -> String {
    let tokio = include_str!("Cargo.lock").split_once("name = \"tokio\"\nversion = \"").map_or("", |(_, behind)| behind);
    format!("tokio {}, {}", tokio.split('"').next().unwrap_or_default(), env!("COMPILER"))
}

fn main() {
    let mut lines = std::io::stdin().lock().lines().map_while(Result::ok);
    let plan = lines.next().unwrap_or_default();
    let of = |name: &str| number(&plan, name) as usize;
    let runtime = if plan.contains("\"channel-multi\"") {
        Builder::new_multi_thread().worker_threads(of("cpus").max(1)).build()
    } else {
        Builder::new_current_thread().build()
    };
    let runtime = runtime.expect("a runtime");
    let ring = ring(of("tasks"), of("size_bytes"), of("stride_bytes"), plan.contains("\"yield\""));
    println!("{{\"ready\":\"{}\"}}", versions());
    for line in lines {
        let window =
            Window { walks: line.contains("\"walk\":true"), warm_up: number(&line, "warm_up"), rounds: number(&line, "rounds") };
        let times = if line.contains("\"switch\"") { together(&runtime, &ring, window) } else { alone(&runtime, &ring, window) };
        let (ns, walked) = (times.0.as_nanos(), times.1.as_nanos());
        println!("{{\"ns\":{ns},\"walk_ns\":{walked},\"handoffs\":{}}}", window.rounds * ring.len() as u64);
    }
}
