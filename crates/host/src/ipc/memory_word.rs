//! Channels over words of shared memory: futexes, and the POSIX primitives that are built on them.

use std::cell::UnsafeCell;
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use rustix::io::Errno;
use rustix::thread::futex;
use switchcost_units::Bytes;
use switchcost_workload::Pages;

use super::Channel;
use crate::memory::{MapError, Memory, Reach};

/// A page that processes forked later share, with a `T` at its start.
#[derive(Debug)]
struct SharedPage<T> {
    memory: Memory,
    holds: PhantomData<UnsafeCell<T>>,
}

// SAFETY: only primitives made for use by several tasks at once are kept here (see the users below).
unsafe impl<T> Send for SharedPage<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for SharedPage<T> {}

impl<T> SharedPage<T> {
    /// Zeroed memory: the caller initialises what does not begin as zeroes.
    fn new() -> io::Result<Self> {
        assert!(size_of::<T>() <= 4096 && align_of::<T>() <= 4096, "a primitive fits into a page");
        let memory = Memory::map(Bytes(4096), Reach::Shared, Pages::Base).map_err(|error| match error {
            MapError::Refused { source, .. } => source,
            other => io::Error::other(other),
        })?;
        Ok(SharedPage { memory, holds: PhantomData })
    }

    fn pointer(&self) -> NonNull<T> {
        NonNull::from(&self.memory[0]).cast()
    }
}

fn check(status: libc::c_int) -> io::Result<()> {
    // The pthread functions return the error; they do not set errno.
    if status == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(status)) }
}

/// A word with FUTEX_WAKE and FUTEX_WAIT: one of each a hand-off, whether a task waits or not.
#[derive(Debug)]
pub struct Futex {
    page: SharedPage<AtomicU32>,
}

impl Futex {
    /// A word without a token.
    pub fn new() -> io::Result<Futex> {
        Ok(Futex { page: SharedPage::new()? })
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the page is mapped as long as self, aligned, and zeroes are an AtomicU32.
        unsafe { self.page.pointer().as_ref() }
    }
}

impl Channel for Futex {
    fn send(&self) -> io::Result<()> {
        self.word().store(1, SeqCst);
        futex::wake(self.word(), futex::Flags::empty(), 1)?;
        Ok(())
    }

    fn recv(&self) -> io::Result<()> {
        loop {
            // Always asks the kernel first, so that the baseline makes the same call: it finds the token and returns.
            match futex::wait(self.word(), futex::Flags::empty(), 0, None) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if self.word().swap(0, SeqCst) == 1 {
                return Ok(());
            }
        }
    }
}

/// A POSIX semaphore shared between processes.
#[derive(Debug)]
pub struct Semaphore {
    page: SharedPage<libc::sem_t>,
}

impl Semaphore {
    /// A semaphore at zero.
    pub fn new() -> io::Result<Semaphore> {
        let semaphore = Semaphore { page: SharedPage::new()? };
        // SAFETY: the page holds room for a sem_t and is not in use yet.
        let status = unsafe { libc::sem_init(semaphore.page.pointer().as_ptr(), 1, 0) };
        if status == 0 { Ok(semaphore) } else { Err(io::Error::last_os_error()) }
    }
}

impl Channel for Semaphore {
    fn send(&self) -> io::Result<()> {
        // SAFETY: initialised in `new`, and mapped as long as self.
        let status = unsafe { libc::sem_post(self.page.pointer().as_ptr()) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn recv(&self) -> io::Result<()> {
        loop {
            // SAFETY: initialised in `new`, and mapped as long as self.
            let status = unsafe { libc::sem_wait(self.page.pointer().as_ptr()) };
            if status == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

/// When the receiver is notified of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// Before the lock is released: a woken task may find it held.
    WhileLocked,
    /// After the lock is released.
    AfterUnlocking,
}

struct Monitor {
    mutex: libc::pthread_mutex_t,
    condition: libc::pthread_cond_t,
    has_token: UnsafeCell<bool>,
}

/// A flag under a POSIX mutex, with a condition variable; both shared between processes.
pub struct MutexCondvar {
    page: SharedPage<Monitor>,
    notify: Notify,
}

impl MutexCondvar {
    /// No token, no waiter.
    pub fn new(notify: Notify) -> io::Result<MutexCondvar> {
        let channel = MutexCondvar { page: SharedPage::new()?, notify };
        init_mutex(channel.mutex())?;
        init_condition(channel.condition())?;
        Ok(channel)
    }

    fn mutex(&self) -> *mut libc::pthread_mutex_t {
        // SAFETY: a field of a mapped, aligned Monitor; no reference is made.
        unsafe { &raw mut (*self.page.pointer().as_ptr()).mutex }
    }

    fn condition(&self) -> *mut libc::pthread_cond_t {
        // SAFETY: as in `mutex`.
        unsafe { &raw mut (*self.page.pointer().as_ptr()).condition }
    }

    fn flag(&self) -> *mut bool {
        // SAFETY: as in `mutex`; the flag is read and written under the mutex only.
        unsafe { (*self.page.pointer().as_ptr()).has_token.get() }
    }

    fn lock(&self) -> io::Result<()> {
        // SAFETY: initialised in `new`, mapped as long as self.
        check(unsafe { libc::pthread_mutex_lock(self.mutex()) })
    }

    fn unlock(&self) -> io::Result<()> {
        // SAFETY: as in `lock`; the caller holds it.
        check(unsafe { libc::pthread_mutex_unlock(self.mutex()) })
    }

    fn notify_one(&self) -> io::Result<()> {
        // SAFETY: initialised in `new`, mapped as long as self.
        check(unsafe { libc::pthread_cond_signal(self.condition()) })
    }

    fn wait(&self) -> io::Result<()> {
        // SAFETY: both are initialised, and the caller holds the mutex.
        check(unsafe { libc::pthread_cond_wait(self.condition(), self.mutex()) })
    }

    fn set_flag(&self, value: bool) {
        // SAFETY: the caller holds the mutex, so no one else looks.
        unsafe { self.flag().write(value) }
    }

    fn has_token(&self) -> bool {
        // SAFETY: as in `set_flag`.
        unsafe { self.flag().read() }
    }
}

impl Channel for MutexCondvar {
    fn send(&self) -> io::Result<()> {
        self.lock()?;
        self.set_flag(true);
        match self.notify {
            Notify::WhileLocked => {
                self.notify_one()?;
                self.unlock()
            }
            Notify::AfterUnlocking => {
                self.unlock()?;
                self.notify_one()
            }
        }
    }

    fn recv(&self) -> io::Result<()> {
        self.lock()?;
        while !self.has_token() {
            self.wait()?;
        }
        self.set_flag(false);
        self.unlock()
    }
}

fn init_mutex(mutex: *mut libc::pthread_mutex_t) -> io::Result<()> {
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: room for one pthread_mutexattr_t.
    check(unsafe { libc::pthread_mutexattr_init(attributes.as_mut_ptr()) })?;
    // SAFETY: initialised by the call above.
    check(unsafe { libc::pthread_mutexattr_setpshared(attributes.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED) })?;
    // SAFETY: the mutex is memory of ours that is not yet used; the attributes are initialised.
    check(unsafe { libc::pthread_mutex_init(mutex, attributes.as_ptr()) })?;
    // SAFETY: initialised above and not used again.
    check(unsafe { libc::pthread_mutexattr_destroy(attributes.as_mut_ptr()) })
}

fn init_condition(condition: *mut libc::pthread_cond_t) -> io::Result<()> {
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: room for one pthread_condattr_t.
    check(unsafe { libc::pthread_condattr_init(attributes.as_mut_ptr()) })?;
    // SAFETY: initialised by the call above.
    check(unsafe { libc::pthread_condattr_setpshared(attributes.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED) })?;
    // SAFETY: the condition is memory of ours that is not yet used; the attributes are initialised.
    check(unsafe { libc::pthread_cond_init(condition, attributes.as_ptr()) })?;
    // SAFETY: initialised above and not used again.
    check(unsafe { libc::pthread_condattr_destroy(attributes.as_mut_ptr()) })
}
