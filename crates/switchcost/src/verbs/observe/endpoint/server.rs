//! The thread of the endpoint: it waits for whichever client is next, and no call of it blocks but that wait.

use std::io::{PipeReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use switchcost_export::Scraped;

use super::answer::{Answer, Page};
use super::connection::{Connection, Wish};
use super::request::{Asked, What};
use super::{Shared, Snapshot};

/// Clients at a time.
pub(super) const MOST: usize = 16;
/// Where all places are taken for so long, clients are refused; a crowd that is served at once has come and gone by then.
const CROWDED: Duration = Duration::from_millis(250);
/// A snapshot as young as this is given to any client.
const YOUNG: Duration = Duration::from_millis(250);
/// From one look at everything to the next, at most.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

pub(super) struct Server {
    listener: TcpListener,
    own: SocketAddr,
    wakes: PipeReader,
    shared: Arc<Shared>,
    connections: Vec<Connection>,
    full_since: Option<Instant>,
    /// The snapshot that the page is of.
    page: Option<(Instant, Page)>,
    scraped: Scraped,
}

impl Server {
    pub(super) fn new(
        own: SocketAddr,
        listener: TcpListener,
        wakes: PipeReader,
        shared: Arc<Shared>,
    ) -> Server {
        let (connections, scraped) = (Vec::with_capacity(MOST), Scraped::default());
        Server {
            listener,
            own,
            wakes,
            shared,
            connections,
            full_since: None,
            page: None,
            scraped,
        }
    }

    /// Until the observation is over.
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

    /// What has come for each connection.
    fn wait(&self) -> Vec<PollFlags> {
        let now = Instant::now();
        let is_open = self.connections.len() < MOST || self.is_crowded(now);
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
        let crowded = self
            .full_since
            .map(|since| since + CROWDED)
            .filter(|_| !is_open);
        let next = deadlines
            .chain(crowded)
            .min()
            .map_or(LONGEST_WAIT, |next| next.saturating_duration_since(now));
        // A millisecond more: not too early.
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

    fn is_crowded(&self, now: Instant) -> bool {
        self.full_since
            .is_some_and(|since| now.saturating_duration_since(since) >= CROWDED)
    }

    fn accept(&mut self, now: Instant) {
        while self.connections.len() < MOST {
            self.full_since = None;
            let Ok((stream, _)) = self.listener.accept() else {
                return;
            };
            if stream.set_nonblocking(true).is_ok() {
                self.connections.push(Connection::new(stream, now));
            }
        }
        self.full_since = self.full_since.or(Some(now));
        if !self.is_crowded(now) {
            return;
        }
        // As many as there are places, and then those who have one again.
        for _ in 0..MOST {
            let Ok((mut stream, _)) = self.listener.accept() else {
                return;
            };
            let Answer { head, body } = Answer::busy();
            if stream.set_nonblocking(true).is_ok() {
                let _ = stream.write(&[&head[..], &body[..]].concat());
            }
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

    /// From a young snapshot, or where it is late from any; none where it is worth to wait.
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
            Some(snapshot) => Some(
                self.page(&snapshot)
                    .answer(asked.takes_gzip, asked.wants_body),
            ),
            None => is_late.then(Answer::no_snapshot),
        }
    }

    fn page(&mut self, snapshot: &Snapshot) -> &mut Page {
        if self
            .page
            .as_ref()
            .is_none_or(|(taken_at, _)| *taken_at != snapshot.taken_at)
        {
            let page = Page::of(&snapshot.counted, &mut self.scraped);
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
            let answer = self
                .page(&snapshot)
                .answer(asked.takes_gzip, asked.wants_body);
            self.connections[at].give(answer, now);
        }
    }
}

fn is_young(snapshot: &Snapshot, now: Instant) -> bool {
    now.saturating_duration_since(snapshot.taken_at) < YOUNG
}
