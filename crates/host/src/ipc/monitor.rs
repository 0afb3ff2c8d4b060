//! A monitor: a value under a POSIX mutex with a condition variable, in memory that processes
//! forked later share.

use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;

use super::memory_word::SharedPage;

struct Parts {
    mutex: libc::pthread_mutex_t,
    condition: libc::pthread_cond_t,
    value: UnsafeCell<usize>,
}

/// A value, 0 at first, with a mutex and a condition variable. The mutex must be held while the
/// value is read or written.
pub(super) struct Monitor {
    page: SharedPage<Parts>,
}

impl Monitor {
    pub(super) fn new() -> io::Result<Monitor> {
        let monitor = Monitor {
            page: SharedPage::new()?,
        };
        init_mutex(monitor.mutex())?;
        init_condition(monitor.condition())?;
        Ok(monitor)
    }

    fn mutex(&self) -> *mut libc::pthread_mutex_t {
        // SAFETY: a field of mapped, aligned Parts; no reference is made.
        unsafe { &raw mut (*self.page.pointer().as_ptr()).mutex }
    }

    fn condition(&self) -> *mut libc::pthread_cond_t {
        // SAFETY: as in `mutex`.
        unsafe { &raw mut (*self.page.pointer().as_ptr()).condition }
    }

    fn cell(&self) -> *mut usize {
        // SAFETY: as in `mutex`; the value is read and written under the mutex only.
        unsafe { (*self.page.pointer().as_ptr()).value.get() }
    }

    pub(super) fn lock(&self) -> io::Result<()> {
        // SAFETY: initialised in `new`, mapped as long as self.
        check(unsafe { libc::pthread_mutex_lock(self.mutex()) })
    }

    pub(super) fn unlock(&self) -> io::Result<()> {
        // SAFETY: as in `lock`; the caller holds it.
        check(unsafe { libc::pthread_mutex_unlock(self.mutex()) })
    }

    pub(super) fn notify_one(&self) -> io::Result<()> {
        // SAFETY: initialised in `new`, mapped as long as self.
        check(unsafe { libc::pthread_cond_signal(self.condition()) })
    }

    /// Waits until the value is `wanted`, and sets it to 0. The caller holds the mutex before and
    /// after.
    pub(super) fn take(&self, wanted: usize) -> io::Result<()> {
        while self.value() != wanted {
            // SAFETY: both are initialised, and the caller holds the mutex.
            check(unsafe { libc::pthread_cond_wait(self.condition(), self.mutex()) })?;
        }
        self.set(0);
        Ok(())
    }

    /// Sets the value. The caller must hold the mutex.
    pub(super) fn set(&self, value: usize) {
        // SAFETY: the caller holds the mutex, so no other task reads the value.
        unsafe { self.cell().write(value) }
    }

    fn value(&self) -> usize {
        // SAFETY: as in `set`.
        unsafe { self.cell().read() }
    }
}

fn check(status: libc::c_int) -> io::Result<()> {
    // The pthread functions return the error number, and do not set errno.
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(status))
    }
}

fn init_mutex(mutex: *mut libc::pthread_mutex_t) -> io::Result<()> {
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: room for one pthread_mutexattr_t.
    check(unsafe { libc::pthread_mutexattr_init(attributes.as_mut_ptr()) })?;
    // SAFETY: initialised by the call above.
    check(unsafe {
        libc::pthread_mutexattr_setpshared(attributes.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED)
    })?;
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
    check(unsafe {
        libc::pthread_condattr_setpshared(attributes.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED)
    })?;
    // SAFETY: the condition is memory of ours that is not yet used; the attributes are initialised.
    check(unsafe { libc::pthread_cond_init(condition, attributes.as_ptr()) })?;
    // SAFETY: initialised above and not used again.
    check(unsafe { libc::pthread_condattr_destroy(attributes.as_mut_ptr()) })
}
