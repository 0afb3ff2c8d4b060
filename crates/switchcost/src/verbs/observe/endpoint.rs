//! HTTP endpoint for Prometheus and other monitoring: `GET /metrics` and `GET /healthz`, served by
//! a separate thread. Clients cannot delay the observation, which hands over a snapshot on demand
//! and never waits.

mod answer;
mod connection;
mod request;
mod server;
#[cfg(test)]
mod tests;

use std::io::{self, PipeWriter, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use switchcost_observe::NoBpf;
use switchcost_record::observation::Observation;
use time::OffsetDateTime;

use super::matching::Matching;
use crate::exit::{Failure, Outcome};
use crate::messages::say;
use server::Server;

/// Maximum number of connections that wait to be accepted. The kernel may allow fewer.
const BACKLOG: i32 = 4096;
/// Least time between two snapshots, as a multiple of the time that a snapshot takes.
const SELDOM: u32 = 10;

/// The endpoint, which answers requests until it is dropped.
pub(super) struct Endpoint {
    shared: Arc<Shared>,
    waker: PipeWriter,
    thread: Option<JoinHandle<()>>,
    next_at: Instant,
}

/// State that the observation and the endpoint's thread share. Both threads hold the lock only
/// while they read or store a value.
struct Shared(Mutex<State>);

struct State {
    /// The last snapshot; `None` before the first.
    snapshot: Option<Snapshot>,
    is_wanted: bool,
    /// Time of the observation's last activity.
    alive_at: Instant,
    is_over: bool,
}

#[derive(Clone)]
struct Snapshot {
    taken_at: Instant,
    /// Time of the snapshot in seconds since 1970, for clients that check the age of data.
    unix_seconds: f64,
    counted: Arc<Result<Observation, String>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A TCP address that is bound and listens. Requests are queued, but not answered yet.
pub(super) struct Address {
    listener: TcpListener,
    asked: SocketAddr,
}

impl Address {
    pub(super) fn claim(asked: SocketAddr) -> Outcome<Address> {
        let listener = listen(asked).map_err(|error| refused(asked, &error))?;
        let own = listener
            .local_addr()
            .map_err(|error| refused(asked, &error))?;
        say!("metrics: http://{own}/metrics");
        Ok(Address { listener, asked })
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    rustix::net::listen(&listener, BACKLOG)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn refused(address: SocketAddr, error: &io::Error) -> Failure {
    Failure::usage(format!(
        "cannot listen on {address}: {error}; choose a free port on this machine with --listen"
    ))
}

impl Endpoint {
    /// Starts the thread that answers requests.
    pub(super) fn serve(address: Address, matching: Matching) -> Outcome<Endpoint> {
        Endpoint::start(address.listener, matching).map_err(|error| refused(address.asked, &error))
    }

    fn start(listener: TcpListener, matching: Matching) -> io::Result<Endpoint> {
        let now = Instant::now();
        let state = State {
            snapshot: None,
            is_wanted: false,
            alive_at: now,
            is_over: false,
        };
        let shared = Arc::new(Shared(Mutex::new(state)));
        let (wakes, waker) = io::pipe()?;
        rustix::io::ioctl_fionbio(&wakes, true)?;
        rustix::io::ioctl_fionbio(&waker, true)?;
        let mut server = Server::new(
            listener.local_addr()?,
            listener,
            wakes,
            Arc::clone(&shared),
            matching,
        );
        let thread = thread::Builder::new()
            .name("endpoint".to_owned())
            .spawn(move || server.serve())?;
        Ok(Endpoint {
            shared,
            waker,
            thread: Some(thread),
            next_at: now,
        })
    }

    /// Hands over a snapshot if the endpoint wants one. The observation must call this several
    /// times per second.
    pub(super) fn look(&mut self, so_far: &mut dyn FnMut() -> Result<Observation, NoBpf>) {
        let began = Instant::now();
        let is_wanted = {
            let mut state = self.shared.lock();
            state.alive_at = began;
            state.is_wanted
        };
        if !is_wanted || began < self.next_at {
            return;
        }
        let counted = Arc::new(so_far().map_err(|why| why.to_string()));
        let taken_at = Instant::now();
        {
            let mut state = self.shared.lock();
            state.snapshot = Some(Snapshot {
                taken_at,
                unix_seconds: OffsetDateTime::now_utc().unix_timestamp_nanos() as f64 / 1e9,
                counted,
            });
            state.is_wanted = false;
        }
        self.next_at = taken_at + began.elapsed() * SELDOM;
        self.wake();
    }

    /// Wakes the endpoint's thread by a byte in a pipe. If the pipe is full, the thread wakes
    /// anyway.
    fn wake(&mut self) {
        let _ = self.waker.write(&[1]);
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Time without activity after which the observation is reported as unhealthy. A healthy
/// observation is active every 20 ms.
const UNWELL: Duration = Duration::from_secs(5);

impl State {
    fn is_well(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.alive_at) < UNWELL
    }
}
