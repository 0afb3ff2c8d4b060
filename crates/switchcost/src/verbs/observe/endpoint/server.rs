//! The thread of the endpoint. It waits for events of all clients at once, and no other call
//! blocks.

use std::io::{ErrorKind, PipeReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use switchcost_export::Scraped;

use super::answer::{Answer, Page};
use super::connection::{Connection, Wish};
use super::request::{Asked, What};
use super::{Matching, Shared, Snapshot};

/// Maximum number of open connections.
pub(super) const MOST: usize = 256;
/// Least time for which a connection stays open. At the maximum number of connections, the one that
/// has been idle longest is closed for the next client, but not before this time, because its
/// request may be on its way.
const LEAST_TURN: Duration = Duration::from_millis(500);
/// Age up to which a snapshot is used for further clients.
const YOUNG: Duration = Duration::from_millis(250);
/// Longest time between two checks of all connections.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

pub(super) struct Server {
    listener: TcpListener,
    own: SocketAddr,
    wakes: PipeReader,
    shared: Arc<Shared>,
    connections: Vec<Connection>,
    /// Time before which no new client is accepted.
    accepts_at: Instant,
    /// The formatted snapshot, with the time of the snapshot; `None` before the first.
    page: Option<(Instant, Page)>,
    scraped: Scraped,
    matching: Matching,
}

impl Server {
    pub(super) fn new(
        own: SocketAddr,
        listener: TcpListener,
        wakes: PipeReader,
        shared: Arc<Shared>,
        matching: Matching,
    ) -> Server {
        let (connections, scraped) = (Vec::new(), Scraped::default());
        Server {
            listener,
            own,
            wakes,
            shared,
            connections,
            accepts_at: Instant::now(),
            page: None,
            scraped,
            matching,
        }
    }

    /// Answers requests until the observation ends.
    pub(super) fn serve(&mut self) {
        while !self.shared.lock().is_over {
            self.turn();
        }
    }

    fn turn(&mut self) {
        let ready = self.wait();
        while self.wakes.read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
        let now = Instant::now();
        for at in 0..self.connections.len() {
            let flags = ready.get(at).copied().unwrap_or(PollFlags::empty());
            let connection = &mut self.connections[at];
            let wish = match flags {
                flags if !flags.is_empty() => connection.go_on(flags, self.own, now),
                _ => Wish::Nothing,
            };
            self.fulfil(at, wish, now, false);
            if self.connections[at].deadline() <= now {
                let wish = self.connections[at].time_out(now);
                self.fulfil(at, wish, now, true);
            }
        }
        self.give_to_those_who_wait(now);
        self.connections.retain(|connection| !connection.is_done());
        self.accept(now);
    }

    /// Waits for events, and returns the events of each connection.
    fn wait(&self) -> Vec<PollFlags> {
        let now = Instant::now();
        let opens_at = self.opens_at();
        let is_open = opens_at.is_some_and(|at| at <= now);
        let mut files: Vec<PollFd<'_>> = self
            .connections
            .iter()
            .map(|connection| PollFd::new(&connection.stream, connection.interest()))
            .chain([PollFd::new(&self.wakes, PollFlags::IN)])
            .collect();
        if is_open {
            files.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        let deadlines = self.connections.iter().map(Connection::deadline);
        let next = deadlines
            .chain(opens_at.filter(|_| !is_open))
            .min()
            .map_or(LONGEST_WAIT, |next| next.saturating_duration_since(now));
        // One millisecond more, so that the timeout is not too early.
        let next = next.min(LONGEST_WAIT) + Duration::from_millis(1);
        let wait = Timespec {
            tv_sec: next.as_secs() as i64,
            tv_nsec: i64::from(next.subsec_nanos()),
        };
        if poll(&mut files, Some(&wait)).is_err() {
            return Vec::new();
        }
        files[..self.connections.len()]
            .iter()
            .map(PollFd::revents)
            .collect()
    }

    /// Returns the time from which the next client may be accepted; `None` if an answer to another
    /// client must be sent first.
    fn opens_at(&self) -> Option<Instant> {
        if self.connections.len() < MOST {
            return Some(self.accepts_at);
        }
        let (_, since) = self.longest_idle()?;
        Some(self.accepts_at.max(since + LEAST_TURN))
    }

    fn longest_idle(&self) -> Option<(usize, Instant)> {
        let idle = self.connections.iter().enumerate();
        idle.filter_map(|(at, connection)| Some((at, connection.idle_since()?)))
            .min_by_key(|(_, since)| *since)
    }

    fn accept(&mut self, now: Instant) {
        while self.opens_at().is_some_and(|at| at <= now) {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if self.connections.len() >= MOST {
                        self.make_room();
                    }
                    if stream.set_nonblocking(true).is_ok() {
                        self.connections.push(Connection::new(stream, now));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                // If no file descriptors are left, the client keeps waiting.
                Err(_) => {
                    self.make_room();
                    self.accepts_at = now + LEAST_TURN;
                }
            }
        }
    }

    fn make_room(&mut self) {
        if let Some((at, _)) = self.longest_idle() {
            self.connections.swap_remove(at).give_way();
        }
    }

    fn fulfil(&mut self, at: usize, wish: Wish, now: Instant, is_late: bool) {
        let Wish::Answer(asked) = wish else { return };
        let answer = match asked.what {
            What::Health => Some(Answer::health(self.shared.lock().is_well(now))),
            What::Metrics => self.metrics(asked, now, is_late),
        };
        match answer {
            Some(answer) => self.connections[at].give(answer, now),
            None => self.connections[at].wait(asked, now),
        }
    }

    /// Returns the answer with metrics from a recent snapshot, or from any snapshot if the client
    /// has waited long enough; `None` if the client should wait.
    fn metrics(&mut self, asked: Asked, now: Instant, is_late: bool) -> Option<Answer> {
        let snapshot = {
            let mut state = self.shared.lock();
            let young = state
                .snapshot
                .clone()
                .filter(|snapshot| is_young(snapshot, now));
            state.is_wanted |= young.is_none();
            young.or_else(|| state.snapshot.clone().filter(|_| is_late))
        };
        match snapshot {
            Some(snapshot) => Some(self.page(&snapshot).answer(asked)),
            None => is_late.then(Answer::missing_snapshot),
        }
    }

    fn page(&mut self, snapshot: &Snapshot) -> &mut Page {
        if self
            .page
            .as_ref()
            .is_none_or(|(taken_at, _)| *taken_at != snapshot.taken_at)
        {
            let page = Page::new(snapshot, &self.matching, &mut self.scraped);
            self.page = Some((snapshot.taken_at, page));
        }
        &mut self
            .page
            .as_mut()
            .expect("it was made if it was not there")
            .1
    }

    fn give_to_those_who_wait(&mut self, now: Instant) {
        let snapshot = self
            .shared
            .lock()
            .snapshot
            .clone()
            .filter(|snapshot| is_young(snapshot, now));
        let Some(snapshot) = snapshot else { return };
        for at in 0..self.connections.len() {
            let Some(asked) = self.connections[at].waits_for() else {
                continue;
            };
            let answer = self.page(&snapshot).answer(asked);
            self.connections[at].give(answer, now);
        }
    }
}

fn is_young(snapshot: &Snapshot, now: Instant) -> bool {
    now.saturating_duration_since(snapshot.taken_at) < YOUNG
}
