//! Defers signals that would end the program, or blocks all other signals.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::c_int;

use crate::signal_action::{SignalAction, raise};
use crate::signal_set::SignalSet;

const ENDING: [c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Signals that have arrived while deferred, one bit each.
static COME: AtomicU64 = AtomicU64::new(0);
/// Lock held while signals are deferred, so that two threads do not restore each other's state.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

extern "C" fn note(number: c_int) {
    COME.fetch_or(1 << number, SeqCst);
}

/// Guard that defers signals, whatever thread they reach. When dropped, deferred signals take
/// effect.
#[derive(Debug)]
pub struct DeferredSignals {
    before: Vec<(c_int, SignalAction)>,
    _turn: MutexGuard<'static, ()>,
}

/// Defers SIGINT, SIGTERM, SIGHUP and SIGQUIT, for a few instructions during which the program must
/// not end.
///
/// # Errors
///
/// If the kernel refuses.
pub fn defer_signals() -> io::Result<DeferredSignals> {
    defer(&ENDING)
}

/// Sets the default action of SIGCHLD, so that this process can wait for its children even if its
/// parent ignored the signal.
///
/// # Errors
///
/// If the kernel refuses.
pub fn hear_of_children() -> io::Result<()> {
    // SAFETY: the default action runs no code of ours.
    unsafe { SignalAction::default().set(libc::SIGCHLD) }?;
    Ok(())
}

fn defer(signals: &[c_int]) -> io::Result<DeferredSignals> {
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut held = DeferredSignals {
        before: Vec::new(),
        _turn: turn,
    };
    let noted = SignalAction::handler(note, libc::SA_RESTART);
    for &signal in signals {
        // SAFETY: the handler does nothing but to change an atomic.
        let before = unsafe { noted.set(signal) }?;
        held.before.push((signal, before));
    }
    Ok(held)
}

/// Guard during which the calling thread receives only signals that end the program (SIGINT,
/// SIGTERM, SIGHUP, SIGQUIT, SIGKILL, and its own faults).
pub struct BlockedSignals {
    before: SignalSet,
}

/// Blocks signals in the calling thread, for a system call that a signal would interrupt. A blocked
/// signal takes effect after the call, or on another thread. Signals that end the program are not
/// blocked.
///
/// # Errors
///
/// If the kernel refuses.
pub fn block_signals() -> io::Result<BlockedSignals> {
    let before = SignalSet::blocked()?;
    let others = (1..=libc::SIGRTMAX()).filter(|signal| !ENDING.contains(signal));
    SignalSet::new(&others.collect::<Vec<_>>()).block()?;
    Ok(BlockedSignals { before })
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        let _ = self.before.block_only();
    }
}

impl Drop for DeferredSignals {
    fn drop(&mut self) {
        for (signal, before) in &self.before {
            // SAFETY: restores the previous action.
            let _ = unsafe { before.set(*signal) };
        }
        let come = COME.swap(0, SeqCst);
        for (signal, _) in self
            .before
            .iter()
            .filter(|(signal, _)| come >> *signal & 1 != 0)
        {
            let _ = raise(*signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Signal that no other test blocks.
    const SIGNAL: c_int = libc::SIGUSR2;

    #[test]
    fn a_signal_takes_effect_when_it_is_no_longer_held_back() {
        static EFFECTS: AtomicU64 = AtomicU64::new(0);
        extern "C" fn count(_number: c_int) {
            EFFECTS.fetch_add(1, SeqCst);
        }
        let counted = SignalAction::handler(count, 0);
        // SAFETY: the handler does nothing but to change an atomic.
        let before = unsafe { counted.set(SIGNAL) }.expect("a handler");
        let held = defer(&[SIGNAL]).expect("the kernel lets us");
        raise(SIGNAL).expect("sent");
        assert_eq!(EFFECTS.load(SeqCst), 0);
        drop(held);
        assert_eq!(EFFECTS.load(SeqCst), 1);
        raise(SIGNAL).expect("sent");
        assert_eq!(EFFECTS.load(SeqCst), 2, "all is as before");
        drop(defer(&[SIGNAL]).expect("the kernel lets us"));
        assert_eq!(EFFECTS.load(SeqCst), 2, "nothing came");
        // SAFETY: restores the previous action.
        unsafe { before.set(SIGNAL) }.expect("as before");
    }

    #[test]
    fn an_undisturbed_thread_gets_its_signals_afterwards() {
        let is_blocked = |signal| SignalSet::blocked().expect("own mask").contains(signal);
        assert!(!is_blocked(SIGNAL));
        let blocked = block_signals().expect("the kernel lets us");
        assert!(is_blocked(SIGNAL) && !is_blocked(libc::SIGTERM));
        drop(blocked);
        assert!(!is_blocked(SIGNAL));
    }
}
