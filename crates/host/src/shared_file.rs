//! Memory that has the name of a file, so that programs started later can map it too. Processes can
//! wait on the words of the memory.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::futex;

/// A file in memory that is mapped as a whole and shared; it is zero at first. The file is unmapped
/// when dropped, and freed when no process maps it.
#[derive(Debug)]
pub struct SharedFile {
    file: OwnedFd,
    start: NonNull<u64>,
    words: usize,
}

// SAFETY: the mapping belongs to this value alone and is read and written as atomics only, which any thread may use.
unsafe impl Send for SharedFile {}
// SAFETY: as above: shared access is to atomics.
unsafe impl Sync for SharedFile {}

impl SharedFile {
    /// Creates and maps a file of `words` 64-bit words. Programs started later do not inherit the
    /// descriptor; they open [`SharedFile::path`].
    pub fn create(name: &str, words: usize) -> io::Result<SharedFile> {
        let bytes = words
            .checked_mul(8)
            .filter(|&bytes| bytes > 0)
            .ok_or(io::ErrorKind::InvalidInput)?;
        let file = memfd_create(CString::new(name)?.as_c_str(), MemfdFlags::CLOEXEC)?;
        ftruncate(
            &file,
            bytes.try_into().map_err(|_| io::ErrorKind::InvalidInput)?,
        )?;
        SharedFile::map(file, words)
    }

    /// Maps the first `words` 64-bit words of a file that supports reading and writing: a file in
    /// memory, or a map that BPF programs write. The file must not be shortened while it is mapped.
    pub fn map(file: OwnedFd, words: usize) -> io::Result<SharedFile> {
        let bytes = words
            .checked_mul(8)
            .filter(|&bytes| bytes > 0)
            .ok_or(io::ErrorKind::InvalidInput)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice touches no memory of ours.
        let address = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes,
                protection,
                MapFlags::SHARED,
                &file,
                0,
            )
        }?;
        let start = NonNull::new(address)
            .expect("the kernel maps nothing at address 0 unasked")
            .cast();
        Ok(SharedFile { file, start, words })
    }

    /// Returns the path by which processes of the same user can open the file while this process
    /// lives.
    pub fn path(&self) -> PathBuf {
        self.path_at(std::process::id())
    }

    /// Returns the path by which processes can open the file while process `holder` lives. The
    /// holder must have the file open under the same descriptor number.
    pub fn path_at(&self, holder: u32) -> PathBuf {
        format!("/proc/{holder}/fd/{}", self.file.as_raw_fd()).into()
    }

    /// Returns the memory as 64-bit words. A word that is used in this way must not be used through
    /// [`SharedFile::u32s`].
    pub fn u64s(&self) -> &[AtomicU64] {
        // SAFETY: `start` is aligned to a page and valid for `words` words until drop; every bit pattern is fine.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.words) }
    }

    /// Returns the memory as 32-bit words. On little-endian machines the lower half of each 64-bit
    /// word comes first.
    pub fn u32s(&self) -> &[AtomicU32] {
        // SAFETY: as in `u64s`; atomics of both sizes are plain memory accesses at disjoint places.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.words * 2) }
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        // SAFETY: the range is the one mapped in `map`, and nothing borrows it any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.words * 8) };
    }
}

impl AsFd for SharedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Sleeps while `word` is `value`, at most for `limit`. The sleep may end early, so callers must
/// check again.
pub fn wait(word: &AtomicU32, value: u32, limit: Duration) -> io::Result<()> {
    let limit = futex::Timespec {
        tv_sec: limit.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    };
    match futex::wait(word, futex::Flags::empty(), value, Some(&limit)) {
        Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Reads consecutive words in one operation if the machine can, because reading them one by one
/// takes several times as long. If another process writes the words during the read, the result is
/// meaningless.
#[inline(always)]
pub fn read<const COUNT: usize>(words: &[AtomicU64; COUNT]) -> [u64; COUNT] {
    // SAFETY: the reference guarantees that this number of words exists, aligned and initialized.
    // The words are a copy from here on, and only their values are used.
    unsafe { std::ptr::from_ref(words).cast::<[u64; COUNT]>().read() }
}

/// Wakes all tasks that wait on `word`, in any process.
pub fn wake(word: &AtomicU32) -> io::Result<()> {
    futex::wake(word, futex::Flags::empty(), i32::MAX as u32)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn who_opens_the_path_sees_the_same_memory() {
        let shared = SharedFile::create("test", 512).expect("a page");
        shared.u64s()[3].store(0x1122_3344_5566_7788, SeqCst);
        assert_eq!(shared.u32s()[6].load(SeqCst), 0x5566_7788);
        let file = std::fs::read(shared.path()).expect("the file has a path");
        assert_eq!(file.len(), 4096);
        assert_eq!(file[24..32], 0x1122_3344_5566_7788_u64.to_le_bytes());
    }

    #[test]
    fn a_waiter_is_woken_and_does_not_wait_for_ever() {
        let shared = SharedFile::create("test", 1).expect("a word");
        let word = &shared.u32s()[0];
        wait(word, 0, Duration::from_millis(1)).expect("the time is over");
        wait(word, 1, Duration::from_secs(60)).expect("the word is another");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(SeqCst) == 0 {
                    wait(word, 0, Duration::from_secs(60)).expect("woken");
                }
            });
            word.store(1, SeqCst);
            wake(word).expect("none or one is woken");
        });
    }

    #[test]
    fn an_empty_file_is_refused() {
        assert!(SharedFile::create("test", 0).is_err());
        assert!(SharedFile::create("test", usize::MAX / 2).is_err());
    }
}
