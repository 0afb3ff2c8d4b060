//! A connection of a client: the request is read, a snapshot awaited, the answer sent, and further
//! bytes are discarded. Each phase has a time limit.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::answer::Answer;
use super::request::{self, Asked, LONGEST_HEAD, Refused};

/// Longest time in which a client must send its request or receive its answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time that a request waits for a new snapshot. Afterwards the last snapshot is sent.
const FOR_A_SNAPSHOT: Duration = Duration::from_secs(2);
/// Time for which a connection stays open if the client keeps sending after its request. Closing
/// immediately could discard the answer.
const LINGER: Duration = Duration::from_millis(500);
/// Maximum number of bytes that are discarded after a request.
const MOST_PASSED_OVER: usize = 64 << 10;

pub(super) struct Connection {
    pub(super) stream: TcpStream,
    phase: Phase,
    phase_began_at: Instant,
    deadline: Instant,
}

enum Phase {
    Reading(Vec<u8>),
    Waiting(Asked),
    Writing(Answer, usize),
    Lingering(usize),
    Done,
}

/// What a connection needs from the server after an event.
pub(super) enum Wish {
    Nothing,
    Answer(Asked),
}

impl Connection {
    pub(super) fn new(stream: TcpStream, now: Instant) -> Connection {
        Connection {
            stream,
            phase: Phase::Reading(Vec::new()),
            phase_began_at: now,
            deadline: now + TIMEOUT,
        }
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns the time since which the connection has waited for data from the client; `None`
    /// while an answer is prepared or sent.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let is_idle = matches!(self.phase, Phase::Reading(_) | Phase::Lingering(_));
        is_idle.then_some(self.phase_began_at)
    }

    /// Closes the connection, to make room for another one. An incomplete request is answered with
    /// status 503.
    pub(super) fn give_way(mut self) {
        if matches!(self.phase, Phase::Reading(_)) {
            let Answer { head, body } = Answer::busy();
            let _ = self.stream.write(&[&head[..], &body[..]].concat());
        }
    }

    fn begin(&mut self, phase: Phase, now: Instant, limit: Duration) {
        self.phase = phase;
        self.phase_began_at = now;
        self.deadline = now + limit;
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    pub(super) fn waits_for(&self) -> Option<Asked> {
        if let Phase::Waiting(asked) = self.phase {
            Some(asked)
        } else {
            None
        }
    }

    /// Returns the events that the connection waits for.
    pub(super) fn interest(&self) -> PollFlags {
        match self.phase {
            Phase::Reading(_) | Phase::Lingering(_) => PollFlags::IN,
            Phase::Writing(..) => PollFlags::OUT,
            Phase::Waiting(_) | Phase::Done => PollFlags::empty(),
        }
    }

    /// Continues the connection after an event: data can be read or written, or the client has
    /// closed the connection.
    pub(super) fn go_on(&mut self, flags: PollFlags, own: SocketAddr, now: Instant) -> Wish {
        match &mut self.phase {
            Phase::Reading(_) => return self.read(own, now),
            Phase::Writing(..) => self.write(now),
            Phase::Lingering(_) => self.pass_over(),
            Phase::Waiting(_) if flags.intersects(PollFlags::HUP | PollFlags::ERR) => {
                self.phase = Phase::Done
            }
            Phase::Waiting(_) | Phase::Done => {}
        }
        Wish::Nothing
    }

    fn read(&mut self, own: SocketAddr, now: Instant) -> Wish {
        let Phase::Reading(bytes) = &mut self.phase else {
            return Wish::Nothing;
        };
        let mut chunk = [0; LONGEST_HEAD];
        let room = LONGEST_HEAD - bytes.len();
        match self.stream.read(&mut chunk[..room]) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&chunk[..read]),
            Err(error) if is_later(&error) => return Wish::Nothing,
            _ => {
                self.phase = Phase::Done;
                return Wish::Nothing;
            }
        }
        match request::read(bytes, own) {
            None => Wish::Nothing,
            Some(Err(why)) => {
                self.give(Answer::refusing(why), now);
                Wish::Nothing
            }
            Some(Ok(asked)) => Wish::Answer(asked),
        }
    }

    /// Makes the connection wait for a newer snapshot.
    pub(super) fn wait(&mut self, asked: Asked, now: Instant) {
        self.begin(Phase::Waiting(asked), now, FOR_A_SNAPSHOT);
    }

    pub(super) fn give(&mut self, answer: Answer, now: Instant) {
        self.begin(Phase::Writing(answer, 0), now, TIMEOUT);
        self.write(now);
    }

    fn write(&mut self, now: Instant) {
        let Phase::Writing(answer, at) = &mut self.phase else {
            return;
        };
        loop {
            let rest = match at.checked_sub(answer.head.len()) {
                None => &answer.head[*at..],
                Some(behind) => &answer.body[behind..],
            };
            if rest.is_empty() {
                break;
            }
            match self.stream.write(rest) {
                Ok(written) if written > 0 => *at += written,
                Err(error) if is_later(&error) => return,
                _ => {
                    self.phase = Phase::Done;
                    return;
                }
            }
        }
        let is_shut = self.stream.shutdown(Shutdown::Write).is_ok();
        let phase = if is_shut {
            Phase::Lingering(0)
        } else {
            Phase::Done
        };
        self.begin(phase, now, LINGER);
    }

    fn pass_over(&mut self) {
        let Phase::Lingering(passed) = &mut self.phase else {
            return;
        };
        let mut chunk = [0; LONGEST_HEAD];
        match self.stream.read(&mut chunk) {
            Ok(read) if read > 0 && *passed < MOST_PASSED_OVER => *passed += read,
            Err(error) if is_later(&error) => {}
            _ => self.phase = Phase::Done,
        }
    }

    /// Ends a phase that has exceeded its time limit. Returns what the connection needs from the
    /// server.
    pub(super) fn time_out(&mut self, now: Instant) -> Wish {
        match self.phase {
            Phase::Waiting(asked) => return Wish::Answer(asked),
            // A client that has not sent a complete request by now is answered with an error.
            Phase::Reading(ref bytes) if !bytes.is_empty() => {
                self.give(Answer::refusing(Refused::Slow), now)
            }
            _ => self.phase = Phase::Done,
        }
        Wish::Nothing
    }
}

fn is_later(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
