//! Turns SIGHUP, SIGINT, SIGQUIT, SIGTERM and SIGXCPU into a flag: a run that is asked to stop
//! keeps its data, and reports the stop. SIGXFSZ has no effect.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::flag;
use signal_hook::low_level::{emulate_default_handler, exit, pipe};
use switchcost_host::task::is_ignored;

use crate::exit::{Exit, Failure};
use crate::messages::say;

/// Signals that ask a run to stop.
const ENDING: [i32; 5] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU];

/// Longest time that a run may take to stop. Normally a run ends sooner; on a busy machine it may
/// not.
const LONGEST_ANSWER: Duration = Duration::from_millis(400);

/// Makes a write beyond the file size limit (`ulimit -f`) an error with advice, instead of a signal
/// that kills. The signal gets a handler that does nothing; if it were ignored, the traced programs
/// would inherit that.
pub(crate) fn survive_file_size_limit() -> Result<(), Failure> {
    if is_ignored(SIGXFSZ) {
        return Ok(());
    }
    flag::register(SIGXFSZ, Arc::default())
        .map(drop)
        .map_err(Failure::signals)
}

/// Ignores signals that would end this process. Programs that it starts have the default actions.
pub(crate) fn outlive() -> std::io::Result<()> {
    let mut signals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
        .into_iter()
        .filter(|signal| !is_ignored(*signal));
    signals.try_for_each(|signal| flag::register(signal, Arc::default()).map(drop))
}

/// Returns the exit code of a run that was asked to stop, whatever its result.
pub(crate) fn told_to_stop() -> Option<Exit> {
    WATCHED.get().and_then(Interrupt::exit)
}

static WATCHED: OnceLock<Interrupt> = OnceLock::new();

/// A flag that the first signal sets. A second signal ends the program immediately. Exceptions are
/// SIGHUP, which both the shell and the kernel send when a terminal closes, and SIGXCPU, which
/// comes each second once the limit on CPU time is reached.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    number: Arc<AtomicUsize>,
    is_raised: Arc<AtomicBool>,
    /// Whether the first signal ends the program immediately.
    is_without_result: Arc<AtomicBool>,
}

impl Interrupt {
    /// Watches for signals. A run that does not end in time after a signal is ended immediately,
    /// and keeps the recorded data. Helpers then clean up as if the run had been killed.
    pub(crate) fn watch() -> Result<Interrupt, Failure> {
        let interrupt = Interrupt::watch_to_the_end()?;
        interrupt.end_in_time("interrupted: the unfinished part is not recorded")?;
        Ok(interrupt)
    }

    /// Ends the program immediately if it has not ended in time after a signal. A signal that came
    /// earlier counts, too, except Ctrl-C: the user waits for the report, and may press Ctrl-C
    /// again.
    pub(crate) fn end_in_time(&self, message: &'static str) -> Result<(), Failure> {
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
            // The pipe is closed, so no signal can come.
            if told.read_exact(&mut [0]).is_err() {
                return;
            }
            std::thread::sleep(LONGEST_ANSWER);
            say!("{message}");
            exit(128 + number.load(SeqCst) as i32);
        };
        let started = thread::Builder::new().spawn(end);
        started.map(drop).map_err(Failure::signals)
    }

    /// Watches for signals in a run that is recorded only at its end. The run continues until then,
    /// and then calls [`end_in_time`](Interrupt::end_in_time).
    ///
    /// Signals that were ignored before stay ignored, as `nohup` and a shell's background jobs
    /// expect.
    pub(crate) fn watch_to_the_end() -> Result<Interrupt, Failure> {
        let number = Arc::new(AtomicUsize::new(0));
        let is_raised = Arc::new(AtomicBool::new(false));
        let is_without_result = Arc::new(AtomicBool::new(false));
        switchcost_host::cpu_limit::is_watched().map_err(Failure::signals)?;
        for signal in ENDING.into_iter().filter(|signal| !is_ignored(*signal)) {
            // In this order the first signal only raises the flags, and the second finds them raised.
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

    /// Prepares a run that has no result yet. During the preparation a signal ends the program
    /// immediately.
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

    /// Returns the interrupt as a plain flag, for callers that do not deal with signals.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.is_raised
    }

    /// Returns the exit code that a shell expects of a program ended by the signal.
    pub(crate) fn exit(&self) -> Option<Exit> {
        match self.number.load(SeqCst) {
            0 => None,
            number => Some(Exit::Signal(number as u8)),
        }
    }
}
