//! The real stage: two copies of a program on one CPU, and this process, which preempts them.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use switchcost_host::clock::monotonic;
use switchcost_host::control::{StepsBelowTop, lock_memory, pin, place_self, set_policy};
use switchcost_host::twin::{Twin, is_group_left, list_other_children};
use switchcost_record::Policy;
use switchcost_units::{Bytes, CpuId, Nanos, Ticks};

use crate::preemptor::Preemptor;
use crate::protocol::{Answer, Order, Outcome, Place};
use crate::turns::{Tally, Turns, TurnsEnd, TwinControl, play};

/// Runs both copies until they have ended. The calling process does nothing else.
pub(crate) fn perform(order: &Order) -> io::Result<Answer> {
    let _pin = pin(&[order.cpu])?;
    let twins = [
        start(order, &order.places[0])?,
        start(order, &order.places[1])?,
    ];
    // The preemptor is created only now: a copy that still waits for its first time slice would
    // share its memory.
    let preemptor = Preemptor::new(order.clock, order.overhead, order.footprint)?;
    let _lock = lock_memory().ok();
    Preemptor::limit()?;
    let _policy = set_policy(Policy::Fifo, StepsBelowTop(1))?;
    let mut stage = OnCpu {
        preemptor,
        home: order.cpu,
        moves_to: order.moves_to,
        is_away: false,
        footprint: order.footprint,
        latest: order.latest,
        preempts_nobody: order.preempts_nobody,
        twins,
        has_left_some: false,
        is_group_left: false,
    };
    let turns = Turns {
        period: order.period,
        turn: order.turn,
        preempted: usize::from(order.preempted & 1),
        preempts_nobody: order.preempts_nobody,
        lost: order.lost,
    };
    let (played, tallies) = play(&mut stage, &turns)?;
    Ok(match played {
        _ if stage.is_group_left => Answer::LeavesGroup,
        TurnsEnd::TooLong => Answer::TooLong,
        TurnsEnd::Ended if stage.has_left_some => Answer::LeftBehind,
        TurnsEnd::Ended => stage.outcomes(order, &tallies)?,
    })
}

fn start(order: &Order, place: &Place) -> io::Result<Twin> {
    let (program, arguments) = order
        .words
        .split_first()
        .ok_or_else(|| io::Error::other("no command is given"))?;
    let mut command = Command::new(program);
    command.args(arguments).env("TMPDIR", &place.temporary);
    command.envs(order.settings.iter().map(|(name, value)| (name, value)));
    command
        .stdin(input(order)?)
        .stdout(created(place.output.as_deref())?)
        .stderr(created(place.errors.as_deref())?);
    Twin::start(command, place.group.as_deref(), place.layer.as_deref())
}

/// Opens the input for one copy. Each copy needs its own open file, because the position in an open
/// file is shared.
fn input(order: &Order) -> io::Result<Stdio> {
    let Some((path, from)) = &order.input else {
        return Ok(Stdio::null());
    };
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(*from))?;
    Ok(file.into())
}

fn created(path: Option<&Path>) -> io::Result<Stdio> {
    path.map_or(Ok(Stdio::null()), |path| {
        File::create(path).map(Stdio::from)
    })
}

struct OnCpu {
    preemptor: Preemptor,
    home: CpuId,
    /// CPU to which the preempted copy moves, and from which it returns; `None` if the copy is not
    /// moved.
    moves_to: Option<CpuId>,
    is_away: bool,
    footprint: Bytes,
    latest: Nanos,
    preempts_nobody: bool,
    twins: [Twin; 2],
    /// Whether a copy has ended while processes that it has started still ran.
    has_left_some: bool,
    /// Whether a copy has processes outside its process group, which do not stop with the copy.
    is_group_left: bool,
}

impl OnCpu {
    /// Moves a copy to another CPU, and this process, too, because it preempts the copy there.
    fn move_to(&mut self, twin: usize, cpu: CpuId) -> io::Result<()> {
        self.twins[twin].place(cpu)?;
        place_self(cpu)?;
        self.is_away = cpu != self.home;
        Ok(())
    }

    fn come_home(&mut self, twin: usize) -> io::Result<()> {
        if self.is_away {
            self.move_to(twin, self.home)
        } else {
            Ok(())
        }
    }

    fn outcomes(&mut self, order: &Order, tallies: &[Tally; 2]) -> io::Result<Answer> {
        let mut outcome = |twin: usize| -> io::Result<Outcome> {
            let status = self.twins[twin]
                .end()?
                .ok_or_else(|| io::Error::other("a program has not ended"))?;
            let used = self.twins[twin].used();
            let run = tallies[twin].run_tally(order.rate);
            Ok(Outcome {
                run: switchcost_record::injection::TwinRun {
                    cpu_ns: used.cpu.into(),
                    voluntary: used.voluntary,
                    involuntary: used.involuntary,
                    ..run
                },
                status: status.into_raw(),
            })
        };
        Ok(Answer::Ended([outcome(0)?, outcome(1)?]))
    }
}

impl TwinControl for OnCpu {
    fn let_run(&mut self, twin: usize) -> io::Result<()> {
        // The other twin may have ended on the other CPU.
        self.come_home(twin)?;
        self.twins[twin].resume()
    }

    fn give_cpu(&mut self, time: Nanos) -> io::Result<Ticks> {
        self.preemptor.give_cpu(time)
    }

    fn has_ended(&mut self, twin: usize) -> io::Result<bool> {
        let has_ended = self.twins[twin].end()?.is_some();
        if has_ended {
            self.has_left_some |=
                !list_other_children(&[self.twins[0].pid(), self.twins[1].pid()])?.is_empty();
        }
        Ok(has_ended)
    }

    fn stop(&mut self, twin: usize) -> io::Result<()> {
        self.come_home(twin)?;
        // Checked only in the first run, because the check may take longer than a time slice.
        if self.preempts_nobody && !self.twins[twin].is_frozen() && !self.is_group_left {
            self.is_group_left = is_group_left(&[self.twins[0].pid(), self.twins[1].pid()])?;
        }
        self.twins[twin].pause()
    }

    fn preempt(&mut self, twin: usize) -> io::Result<Ticks> {
        match self.moves_to {
            _ if self.preempts_nobody => Ok(Ticks(0)),
            None => Ok(self.preemptor.touch(self.footprint)),
            Some(other) => {
                self.move_to(twin, if self.is_away { self.home } else { other })?;
                Ok(Ticks(0))
            }
        }
    }

    fn chain(&mut self, probes: u32) -> f64 {
        self.preemptor.chain(probes)
    }

    fn is_late(&self) -> bool {
        self.is_group_left || monotonic() >= self.latest
    }
}
