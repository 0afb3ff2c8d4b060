//! SIGHUP, SIGINT, SIGQUIT, SIGTERM and SIGXCPU as a flag: a run that is told to stop keeps what it has, and says so. SIGXFSZ as nothing.

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

/// Signals that tell a run to stop.
const ENDING: [i32; 5] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU];

/// Who is told to stop has ended within a second: the rest of it is for a busy machine.
const LONGEST_ANSWER: Duration = Duration::from_millis(400);

/// From here on a file that may not be so long (`ulimit -f`) is an error of its write, which says what to do, and does not kill. A handler
/// with nothing to do: a signal that is ignored would also be in the programs that are traced.
pub(crate) fn survive_file_size_limit() -> Result<(), Failure> {
    if is_ignored(SIGXFSZ) {
        return Ok(());
    }
    flag::register(SIGXFSZ, Arc::default())
        .map(drop)
        .map_err(Failure::signals)
}

/// From here on signals that end a run are for others: they do nothing, and not what they do to programs that are started.
pub(crate) fn outlive() -> std::io::Result<()> {
    let mut signals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
        .into_iter()
        .filter(|signal| !is_ignored(*signal));
    signals.try_for_each(|signal| flag::register(signal, Arc::default()).map(drop))
}

/// The exit of a run that was told to stop, whatever comes of it then.
pub(crate) fn told_to_stop() -> Option<Exit> {
    WATCHED.get().and_then(Interrupt::exit)
}

static WATCHED: OnceLock<Interrupt> = OnceLock::new();

/// Raised by the first signal; the second ends the program at once, unless it is SIGHUP: when a terminal closes, both the shell and the
/// kernel send it to the jobs; or SIGXCPU, which comes each second from the limit on CPU time on.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    number: Arc<AtomicUsize>,
    is_raised: Arc<AtomicBool>,
    /// Whether the first signal ends the program where it is.
    is_without_result: Arc<AtomicBool>,
}

impl Interrupt {
    /// Watches. A run that has not ended in time ends where it is, and keeps what it has recorded by then: what it has left to others to put
    /// in order they do as if it had been killed.
    pub(crate) fn watch() -> Result<Interrupt, Failure> {
        let interrupt = Interrupt::watch_to_the_end()?;
        interrupt
            .end_in_time("stopped in the middle: nothing is recorded of what was under way")?;
        Ok(interrupt)
    }

    /// Ends the program where it is if it has not ended in time after a signal. A signal that came before counts, too, unless it is
    /// Ctrl-C: who pressed that waits for the report, and may press it again.
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
            // Without a signal to watch for there is nobody to tell.
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

    /// The same for a run that is recorded at its end: it goes on until that is done, and calls [`end_in_time`](Interrupt::end_in_time) then.
    ///
    /// What was ignored before stays so: `nohup` and a shell's jobs in the background count on it.
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

    /// Prepares a run that has no result before it has begun: a signal ends the program in the middle of it, as it would one that does not
    /// watch for signals.
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

    /// The same as a flag, for callers that know nothing of signals.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.is_raised
    }

    /// The exit that a shell expects of a program ended by that signal.
    pub(crate) fn exit(&self) -> Option<Exit> {
        match self.number.load(SeqCst) {
            0 => None,
            number => Some(Exit::Signal(number as u8)),
        }
    }
}
