//! Changes the actions of signals.

use std::mem::MaybeUninit;
use std::ptr;

use libc::c_int;
use rustix::io;

use crate::errno;

/// The action of a signal: ignore, default, or a handler.
#[derive(Clone, Copy)]
pub(crate) struct SignalAction(libc::sigaction);

impl SignalAction {
    /// Returns the action that ignores a signal.
    pub(crate) fn ignored() -> SignalAction {
        SignalAction::new(libc::SIG_IGN, 0)
    }

    /// Returns the default action of a signal.
    pub(crate) fn default() -> SignalAction {
        SignalAction::new(libc::SIG_DFL, 0)
    }

    /// Returns an action that calls a handler with the signal's number.
    pub(crate) fn handler(handler: extern "C" fn(c_int), flags: c_int) -> SignalAction {
        SignalAction::new(handler as usize, flags & !libc::SA_SIGINFO)
    }

    /// Returns an action that calls a handler with information about the signal and with the
    /// interrupted context.
    pub(crate) fn informed_handler(
        handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void),
        flags: c_int,
    ) -> SignalAction {
        SignalAction::new(handler as usize, flags | libc::SA_SIGINFO)
    }

    fn new(handler: libc::sighandler_t, flags: c_int) -> SignalAction {
        let action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: the structure consists of numbers and of a function that may be missing: zeroed,
        // it blocks no other signal and calls nothing.
        let mut action = unsafe { action.assume_init() };
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        SignalAction(action)
    }

    /// Returns the current action of a signal.
    pub(crate) fn current(signal: c_int) -> io::Result<SignalAction> {
        let mut action = SignalAction::default();
        // SAFETY: without a new action the call writes the present one to a pointer that is valid for it, and changes nothing.
        check(unsafe { libc::sigaction(signal, ptr::null(), &raw mut action.0) })?;
        Ok(action)
    }

    pub(crate) fn is_ignored(&self) -> bool {
        self.0.sa_sigaction == libc::SIG_IGN
    }

    #[cfg(test)]
    pub(crate) fn is_default(&self) -> bool {
        self.0.sa_sigaction == libc::SIG_DFL
    }

    /// Sets the action of a signal for the whole process. Returns the previous action.
    ///
    /// # Safety
    ///
    /// A handler must be sound at any instruction of any thread that the signal can reach. A
    /// handler may use atomics, and make calls that are safe in a handler (signal-safety(7)).
    pub(crate) unsafe fn set(&self, signal: c_int) -> io::Result<SignalAction> {
        let mut before = SignalAction::default();
        // SAFETY: both pointers are valid for the call; what the handler may do is up to the caller.
        check(unsafe { libc::sigaction(signal, &raw const self.0, &raw mut before.0) })?;
        Ok(before)
    }
}

impl std::fmt::Debug for SignalAction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignalAction")
            .field("handler", &self.0.sa_sigaction)
            .finish_non_exhaustive()
    }
}

/// Sends a signal to the calling thread. The handler has run when this function returns.
pub(crate) fn raise(signal: c_int) -> io::Result<()> {
    // SAFETY: takes a number; what the signal does was set by the caller, or ends the process.
    check(unsafe { libc::raise(signal) })
}

fn check(status: c_int) -> io::Result<()> {
    if status == 0 {
        Ok(())
    } else {
        Err(errno::last())
    }
}
