//! Turns SIGHUP, SIGINT, SIGQUIT, SIGTERM and SIGXCPU into a flag, so that a run that is asked to
//! stop keeps its data and reports the stop. SIGXFSZ has no effect.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::flag;
use signal_hook::low_level::{emulate_default_handler, exit, pipe};
use switchcost_host::cpu_limit::REACHED;
use switchcost_host::task::is_ignored;

use crate::exit::{Exit, Failure, Outcome};
use crate::messages::{report, say};

/// Signals that ask a run to stop.
const ENDING: [i32; 5] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU];

/// Longest time that a run may take to stop after a signal. Most runs stop sooner, but not on a
/// busy machine.
const LONGEST_ANSWER: Duration = Duration::from_millis(400);

/// Makes a write beyond the file size limit (`ulimit -f`) an error with advice, instead of a fatal
/// signal. The signal gets a handler that does nothing, because traced programs would inherit an
/// ignored signal.
pub(crate) fn survive_file_size_limit() -> Outcome {
    if is_ignored(SIGXFSZ) {
        return Ok(());
    }
    flag::register(SIGXFSZ, Arc::default())
        .map(drop)
        .map_err(Failure::signals)
}

/// Ignores signals that would end this process. Programs that this process starts have the default
/// actions.
pub(crate) fn outlive() -> std::io::Result<()> {
    let mut signals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
        .into_iter()
        .filter(|signal| !is_ignored(*signal));
    signals.try_for_each(|signal| flag::register(signal, Arc::default()).map(drop))
}

/// Returns the exit code of a run that was asked to stop; `None` if no signal came.
pub(crate) fn told_to_stop() -> Option<Exit> {
    WATCHED.get().and_then(Interrupt::exit)
}

static WATCHED: OnceLock<Interrupt> = OnceLock::new();

/// A flag that the first signal sets. A second signal ends the program immediately. Exceptions are
/// SIGHUP, which both the shell and the kernel send when a terminal closes, and SIGXCPU, which
/// comes each second after the limit on CPU time.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    number: Arc<AtomicUsize>,
    is_raised: Arc<AtomicBool>,
    /// Whether the first signal ends the program immediately, because there is no result yet.
    is_without_result: Arc<AtomicBool>,
}

impl Interrupt {
    /// Watches for signals. A run that does not stop in time after a signal is ended immediately,
    /// and the data recorded so far are kept. Cleanup helpers then act as if the run had been
    /// killed.
    pub(crate) fn watch() -> Outcome<Interrupt> {
        let interrupt = Interrupt::watch_to_the_end()?;
        interrupt.end_in_time("interrupted: the unfinished part is not recorded")?;
        Ok(interrupt)
    }

    /// Ends the program immediately if it does not stop in time after a signal. An earlier signal
    /// counts, too, except Ctrl-C, because the user waits for the report and may press Ctrl-C
    /// again.
    pub(crate) fn end_in_time(&self, message: &'static str) -> Outcome {
        let (mut told, mut tell) = UnixStream::pair().map_err(Failure::signals)?;
        for signal in ENDING.into_iter().filter(|signal| !is_ignored(*signal)) {
            let tell = tell.try_clone().map_err(Failure::signals)?;
            pipe::register(signal, tell).map_err(Failure::signals)?;
        }
        if ![0, SIGINT as usize].contains(&self.number.load(SeqCst)) {
            tell.write_all(&[0]).map_err(Failure::signals)?;
        }
        let number = Arc::clone(&self.number);
        let end = move || {
            // The other end of the pipe is closed, so no signal can come.
            if told.read_exact(&mut [0]).is_err() {
                return;
            }
            std::thread::sleep(LONGEST_ANSWER);
            say!("{message}");
            let number = number.load(SeqCst) as i32;
            if number == SIGXCPU {
                report(REACHED);
            }
            exit(128 + number);
        };
        let started = thread::Builder::new().spawn(end);
        started.map(drop).map_err(Failure::signals)
    }

    /// Watches for signals in a run that is recorded only at its end. After a signal the run
    /// records its data, and then calls [`end_in_time`](Interrupt::end_in_time).
    ///
    /// Signals that are ignored stay ignored, as `nohup` and a shell's background jobs expect.
    pub(crate) fn watch_to_the_end() -> Outcome<Interrupt> {
        let number = Arc::new(AtomicUsize::new(0));
        let is_raised = Arc::new(AtomicBool::new(false));
        let is_without_result = Arc::new(AtomicBool::new(false));
        switchcost_host::cpu_limit::is_watched().map_err(Failure::signals)?;
        for signal in ENDING.into_iter().filter(|signal| !is_ignored(*signal)) {
            // In this order of handlers, the first signal only sets the flags, and the second
            // signal finds the flags set.
            if signal != SIGXCPU {
                flag::register_conditional_default(signal, Arc::clone(&is_without_result))
                    .map_err(Failure::signals)?;
            }
            if ![SIGHUP, SIGXCPU].contains(&signal) {
                flag::register_conditional_default(signal, Arc::clone(&is_raised))
                    .map_err(Failure::signals)?;
            }
            flag::register(signal, Arc::clone(&is_raised)).map_err(Failure::signals)?;
            flag::register_usize(signal, Arc::clone(&number), signal as usize)
                .map_err(Failure::signals)?;
        }
        let interrupt = Interrupt {
            number,
            is_raised,
            is_without_result,
        };
        let _ = WATCHED.set(interrupt.clone());
        Ok(interrupt)
    }

    /// Calls `run`, which prepares a run without a result. Until `run` returns, a signal ends the
    /// program immediately.
    pub(crate) fn prepare<T>(&self, run: impl FnOnce() -> T) -> T {
        self.is_without_result.store(true, SeqCst);
        if self.is_raised() {
            let _ = emulate_default_handler(self.number.load(SeqCst) as i32);
        }
        let prepared = run();
        self.is_without_result.store(false, SeqCst);
        prepared
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.number.load(SeqCst) != 0
    }

    /// Returns the flag that a signal sets, for callers that do not deal with signals.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.is_raised
    }

    /// Returns the exit code that a shell expects of a program ended by a signal, for the signal
    /// that came; `None` if no signal came.
    pub(crate) fn exit(&self) -> Option<Exit> {
        match self.number.load(SeqCst) {
            0 => None,
            number => Some(Exit::Signal(number as u8)),
        }
    }
}
