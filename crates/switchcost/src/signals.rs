//! SIGHUP, SIGINT, SIGQUIT, SIGTERM and SIGXCPU as a flag: a run that is told to stop keeps what it has, and says so. SIGXFSZ as nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::flag;
use switchcost_host::task::is_ignored;

use crate::exit::{Exit, Failure};

/// From here on a file that may not be so long (`ulimit -f`) is an error of its write, which says what to do, and does not kill. A handler
/// with nothing to do: a signal that is ignored would also be in the programs that are traced.
pub(crate) fn survive_file_size_limit() -> Result<(), Failure> {
    if is_ignored(SIGXFSZ) {
        return Ok(());
    }
    flag::register(SIGXFSZ, Arc::default())
        .map(drop)
        .map_err(Failure::Signals)
}

/// From here on signals that end a run are for others: they do nothing, and not what they do to programs that are started.
pub(crate) fn outlive() -> std::io::Result<()> {
    let mut signals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
        .into_iter()
        .filter(|signal| !is_ignored(*signal));
    signals.try_for_each(|signal| flag::register(signal, Arc::default()).map(drop))
}

/// Raised by the first signal; the second ends the program at once, unless it is SIGHUP: when a terminal closes, both the shell and the
/// kernel send it to the jobs; or SIGXCPU, which comes each second from the limit on CPU time on.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    number: Arc<AtomicUsize>,
    is_raised: Arc<AtomicBool>,
}

impl Interrupt {
    /// What was ignored before stays so: `nohup` and a shell's jobs in the background count on it.
    pub(crate) fn watch() -> Result<Interrupt, Failure> {
        let number = Arc::new(AtomicUsize::new(0));
        let is_raised = Arc::new(AtomicBool::new(false));
        switchcost_host::cpu_limit::is_watched().map_err(Failure::Signals)?;
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU]
            .into_iter()
            .filter(|signal| !is_ignored(*signal))
        {
            // In this order the first signal only raises the flags, and the second finds them raised.
            if ![SIGHUP, SIGXCPU].contains(&signal) {
                flag::register_conditional_default(signal, Arc::clone(&is_raised))
                    .map_err(Failure::Signals)?;
            }
            flag::register(signal, Arc::clone(&is_raised)).map_err(Failure::Signals)?;
            flag::register_usize(signal, Arc::clone(&number), signal as usize)
                .map_err(Failure::Signals)?;
        }
        Ok(Interrupt { number, is_raised })
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
