//! SIGINT and SIGTERM as a flag: a run that is told to stop keeps what it has, and says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::{Exit, Failure};

/// Raised by the first signal; the second ends the program at once.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    number: Arc<AtomicUsize>,
}

impl Interrupt {
    pub(crate) fn watch() -> Result<Interrupt, Failure> {
        let number = Arc::new(AtomicUsize::new(0));
        let is_second = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order the first signal only raises the flags, and the second finds them raised.
            flag::register_conditional_default(signal, Arc::clone(&is_second)).map_err(Failure::Signals)?;
            flag::register(signal, Arc::clone(&is_second)).map_err(Failure::Signals)?;
            flag::register_usize(signal, Arc::clone(&number), signal as usize).map_err(Failure::Signals)?;
        }
        Ok(Interrupt { number })
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.number.load(SeqCst) != 0
    }

    /// The exit that a shell expects of a program ended by that signal.
    pub(crate) fn exit(&self) -> Option<Exit> {
        match self.number.load(SeqCst) {
            0 => None,
            number => Some(Exit::Signal(number as u8)),
        }
    }
}
