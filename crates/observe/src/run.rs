//! The loop of an observation: target, duration, and listeners.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use switchcost_facts::{Root, slice_extensions};
use switchcost_record::observation::{Event, LongWait, Observation, OwnCost, SliceExtensions};
use switchcost_units::Nanos;

use crate::backend::Backend;
use crate::command::Command;
use crate::end::{Next, Window};
use crate::error::ObserveError;
use crate::kernel::NoBpf;
use crate::moments::Moments;
use crate::notice::Notice;
use crate::quotas::Quotas;
use crate::requests::Requests;
use crate::target::Target;

/// Time between two checks for ended tasks. Tasks need far longer to use up all slots.
const TICK: Nanos = Nanos::millis(20);

/// Longest time for counting requests after the user has stopped the observation.
const COUNTED_WITHIN: Duration = Duration::from_millis(500);

/// Settings of one observation.
#[derive(Debug)]
pub struct Task {
    /// Target of the observation.
    pub target: Target,
    /// A command that runs during the observation but is not its target. The observation ends with
    /// this command.
    pub companion: Option<Command>,
    /// Duration of the observation. `None` means until the targets end, or the default duration if
    /// they do not end by themselves.
    pub duration: Option<Nanos>,
    /// Whether the observation lasts until it is stopped.
    pub is_endless: bool,
    /// Whether the time inside the scheduler was requested.
    pub wants_scheduler_time: bool,
    /// Source of the number of requests.
    pub requests: Requests,
}

/// Receiver of information during the observation.
pub trait Listener {
    /// Error of the listener.
    type Error: From<ObserveError>;

    /// Returns whether the observation should end now.
    fn should_stop(&self) -> bool;

    /// Is called when counting has begun.
    ///
    /// # Errors
    ///
    /// Any error that should end the observation without a result.
    fn began(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Takes a switch or a wake-up, if events were requested.
    fn take(&mut self, event: Event);

    /// Is called several times per second. `so_far` reads all counts.
    ///
    /// # Errors
    ///
    /// Any error that should end the observation without a result.
    fn look(
        &mut self,
        so_far: &mut dyn FnMut() -> Result<Observation, NoBpf>,
    ) -> Result<(), Self::Error>;

    /// Is called several times per second, to look up facts about processes while they live.
    /// `processes` returns the observed processes that have not ended, as far as is known.
    fn identify(&mut self, _processes: impl FnOnce() -> BTreeSet<u32>) {}

    /// Shows a message to the user.
    fn notice(&mut self, notice: Notice);
}

/// Runs an observation. The kernel's files are read below `root`.
///
/// # Errors
///
/// If no task can be observed, the command cannot be executed, or the counts cannot be read. Also
/// errors of the listener.
pub fn observe<B: Backend, L: Listener>(
    mut backend: B,
    task: Task,
    root: &Root,
    listener: &mut L,
) -> Result<Observation, L::Error> {
    let Task {
        mut target,
        mut companion,
        duration,
        is_endless,
        wants_scheduler_time,
        requests,
    } = task;
    let requests = requests.begin(&|| listener.should_stop())?;
    let extensions = slice_extensions(root);
    let began = Began {
        at: backend.now(),
        cpu: backend.own_cpu_time(),
    };
    let older = target.older_children(root);
    target.begin(root, &mut backend)?;
    if let Some(command) = &mut companion {
        command.start(|_| Ok(()))?;
    }
    listener.began()?;
    let usual = target
        .usual_duration()
        .filter(|_| !is_endless && companion.is_none());
    let limit = duration.or(usual).unwrap_or(Nanos(u64::MAX));
    // The backend may not know a task that has not switched yet.
    let mut quotas = Quotas::begin(root, began.at, &(&backend.processes() | &target.numbers()));
    let mut moments = Moments::begin(began.at);
    loop {
        let elapsed = backend.now().saturating_sub(began.at);
        if listener.should_stop() || elapsed >= limit {
            break;
        }
        let is_target_there = goes_on(
            &mut target,
            Window {
                elapsed,
                is_timed: duration.is_some(),
                is_endless: is_endless || companion.is_some(),
            },
            root,
            &mut backend,
            listener,
        )?;
        let is_over = match &mut companion {
            Some(command) => has_ended(command, listener),
            None => !is_target_there,
        };
        if is_over {
            break;
        }
        backend.tick();
        backend.take_events(&mut |event| listener.take(event));
        quotas.look(root, backend.now(), || backend.processes());
        moments.look(backend.now(), || backend.totals());
        listener.identify(|| backend.processes());
        let subject = target.subject();
        listener.look(&mut || {
            let counted = backend.snapshot()?;
            let window_ns = backend.now().saturating_sub(began.at);
            Ok(Observation {
                subject: subject.clone(),
                window_ns,
                ..began.complete(counted, backend.own_cpu_time())
            })
        })?;
        backend.pause(TICK.min(limit.saturating_sub(elapsed)));
    }
    let throttled = quotas.end(root);
    let own_cpu_time = backend.own_cpu_time();
    // If the requests cannot be counted, the observation is returned anyway.
    let ended = Instant::now();
    let is_late = || listener.should_stop() && ended.elapsed() > COUNTED_WITHIN;
    let requests = requests.end(&is_late).unwrap_or_else(|why| {
        listener.notice(Notice::NoRequests(why.to_string()));
        None
    });
    backend.take_events(&mut |event| listener.take(event));
    moments.end(backend.now(), backend.totals());
    let window_ns = backend.now().saturating_sub(began.at);
    let counted = backend.finish().map_err(ObserveError::from)?;
    if wants_scheduler_time && counted.in_scheduler.is_none() {
        listener.notice(Notice::NoSchedulerTime);
    }
    Ok(Observation {
        subject: target.subject(),
        older_children: older.since(root),
        window_ns,
        requests,
        throttled,
        moments: moments.into_vec(),
        slice_extensions: extensions
            .zip(slice_extensions(root))
            .map(extensions_between),
        ..began.complete(counted, own_cpu_time)
    })
}

fn goes_on<L: Listener>(
    target: &mut Target,
    window: Window,
    root: &Root,
    backend: &mut impl Backend,
    listener: &mut L,
) -> Result<bool, L::Error> {
    Ok(match target.go_on(root, backend, window)? {
        Next::GoOn => true,
        Next::End => false,
        Next::Say(notice, goes_on) => {
            listener.notice(notice);
            goes_on
        }
    })
}

/// Returns whether the companion command has ended. Reports a failure of the command.
fn has_ended<L: Listener>(command: &mut Command, listener: &mut L) -> bool {
    let status = command.take_end();
    if let Some(status) = status.filter(|status| !status.success()) {
        let words = command.shown().to_vec();
        listener.notice(Notice::CommandFailed { words, status });
    }
    command.has_ended()
}

fn extensions_between(((granted, yielded), now): ((u64, u64), (u64, u64))) -> SliceExtensions {
    SliceExtensions {
        granted: now.0.saturating_sub(granted),
        yielded: now.1.saturating_sub(yielded),
    }
}

/// Start of the observation, and the CPU time that this process had used before.
struct Began {
    at: Nanos,
    cpu: Nanos,
}

impl Began {
    /// Completes the counts of a backend: makes the starts of waits relative to the window, and
    /// adds the CPU time of this process.
    fn complete(&self, counted: Observation, own_cpu_time: Nanos) -> Observation {
        let user_ns = own_cpu_time.saturating_sub(self.cpu);
        Observation {
            longest_waits: counted
                .longest_waits
                .into_iter()
                .map(|wait| self.clip_to_window(wait))
                .collect(),
            own_cost: counted.own_cost.map(|own| OwnCost { user_ns, ..own }),
            ..counted
        }
    }

    fn clip_to_window(&self, wait: LongWait) -> LongWait {
        LongWait {
            since_ns: wait.since_ns.saturating_sub(self.at),
            ..wait
        }
    }
}

#[cfg(test)]
mod tests;
