//! Channels over words of shared memory: futexes, and semaphores that are built on futexes.

use std::cell::UnsafeCell;
use std::io;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use rustix::io::Errno;
use rustix::thread::futex;
use switchcost_units::Bytes;
use switchcost_workload::Pages;

use super::Channel;
use crate::memory::{MapError, MapType, Memory};

/// A page with a `T` at its start, shared with processes that are forked later.
#[derive(Debug)]
pub(super) struct SharedPage<T> {
    memory: Memory,
    holds: PhantomData<UnsafeCell<T>>,
}

// SAFETY: the page contains only primitives for use by several tasks at a time (see the users
// below).
unsafe impl<T> Send for SharedPage<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for SharedPage<T> {}

impl<T> SharedPage<T> {
    /// Maps a zeroed page. The caller must initialise fields that may not be zero.
    pub(super) fn new() -> io::Result<Self> {
        assert!(
            size_of::<T>() <= 4096 && align_of::<T>() <= 4096,
            "a primitive fits into a page"
        );
        let memory =
            Memory::map(Bytes(4096), MapType::Shared, Pages::Base).map_err(
                |error| match error {
                    MapError::Refused { source, .. } => source,
                    other => io::Error::other(other),
                },
            )?;
        Ok(SharedPage {
            memory,
            holds: PhantomData,
        })
    }

    pub(super) fn pointer(&self) -> NonNull<T> {
        NonNull::from(&self.memory[0]).cast()
    }
}

/// A channel over a word in shared memory. Each hand-off calls FUTEX_WAKE once and FUTEX_WAIT once,
/// whether or not a task waits.
#[derive(Debug)]
pub struct Futex {
    page: SharedPage<AtomicU32>,
}

impl Futex {
    /// Creates a word without a token.
    pub fn new() -> io::Result<Futex> {
        Ok(Futex {
            page: SharedPage::new()?,
        })
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
            // The kernel is asked even if the token is there, so that the baseline makes the same
            // call.
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

/// A channel over a POSIX semaphore shared between processes.
#[derive(Debug)]
pub struct Semaphore {
    page: SharedPage<libc::sem_t>,
}

impl Semaphore {
    /// Creates a semaphore with value zero.
    pub fn new() -> io::Result<Semaphore> {
        let semaphore = Semaphore {
            page: SharedPage::new()?,
        };
        // SAFETY: the page holds room for a sem_t and is not in use yet.
        let status = unsafe { libc::sem_init(semaphore.page.pointer().as_ptr(), 1, 0) };
        if status == 0 {
            Ok(semaphore)
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

impl Channel for Semaphore {
    fn send(&self) -> io::Result<()> {
        // SAFETY: initialised in `new`, and mapped as long as self.
        let status = unsafe { libc::sem_post(self.page.pointer().as_ptr()) };
        if status == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
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
