//! Typed access to the shared memory: header, task slots, buffers. A value that a traced process
//! may have written is checked before it is used as an index.

use std::io;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use switchcost_host::shared_file::{self, SharedFile};

use crate::protocol::{self, buffer, header, info, slot, state};

/// Number of task slots: the maximum number of tasks that live at the same time.
pub(crate) const SLOTS: usize = 2048;
/// Numbers of the system calls that execute a program: execve, execveat.
const EXECS: [u32; 2] = [59, 322];
const BUFFERS: usize = 16;
/// Number of empty buffers at which a waiting task is woken.
const WORTH_WAKING: usize = BUFFERS / 2;
/// Length of a buffer in words: 1 MiB. This length was the fastest of those tried with gzip. All
/// buffers together still fit many last-level caches.
const BUFFER_WORDS: usize = 128 << 10;

const SLOTS_OFFSET: usize = 4096;
const INFOS_OFFSET: usize = SLOTS_OFFSET + SLOTS * slot::BYTES;
const BUFFERS_OFFSET: usize = (INFOS_OFFSET + BUFFERS * info::BYTES).next_multiple_of(4096);
const TOTAL_BYTES: usize = BUFFERS_OFFSET + BUFFERS * BUFFER_WORDS * 8;

const _: () = assert!(header::BYTES <= SLOTS_OFFSET);

/// A buffer that a task has filled and submitted, and that was not read yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full {
    /// Index of the buffer.
    pub(crate) index: usize,
    /// Slot of the task that wrote the buffer.
    pub(crate) slot: u32,
    /// Number of the buffer in the order of submission.
    pub(crate) order: u64,
    /// Time stamp of the run in which the buffer was written, in as-run captures.
    pub(crate) stamp: u64,
}

/// The memory that all traced processes share with this process.
#[derive(Debug)]
pub(crate) struct Ring {
    shared: SharedFile,
}

impl Ring {
    pub(crate) fn create(mode: u32) -> io::Result<Ring> {
        let ring = Ring {
            shared: SharedFile::create("switchcost-ring", TOTAL_BYTES / 8)?,
        };
        for (offset, value) in [
            (header::VERSION, protocol::VERSION),
            (header::MODE, mode),
            (header::CONTROLLER_PID, std::process::id()),
            (header::SLOTS, SLOTS as u32),
            (header::BUFFERS, BUFFERS as u32),
            (header::BUFFER_WORDS, BUFFER_WORDS as u32),
        ] {
            ring.u32_at(offset).store(value, SeqCst);
        }
        for (offset, value) in [
            (header::SLOTS_OFFSET, SLOTS_OFFSET as u64),
            (header::INFOS_OFFSET, INFOS_OFFSET as u64),
            (header::BUFFERS_OFFSET, BUFFERS_OFFSET as u64),
            (header::TOTAL_BYTES, TOTAL_BYTES as u64),
            (header::CURRENT_BUFFER, protocol::NO_BUFFER),
            (header::MAGIC, protocol::MAGIC),
        ] {
            ring.u64_at(offset).store(value, SeqCst);
        }
        for index in 0..BUFFERS {
            ring.order(index).store(protocol::NO_ORDER, SeqCst);
        }
        Ok(ring)
    }

    /// Returns the file in memory that the capture tool maps.
    pub(crate) fn shared(&self) -> &SharedFile {
        &self.shared
    }

    /// Clears the controller's process ID in the header. Tasks in a PID namespace cannot see the
    /// controller, and need not: the kernel ends them with their supervisor.
    pub(crate) fn hide_controller(&self) {
        self.u32_at(header::CONTROLLER_PID)
            .store(protocol::NO_PROCESS, SeqCst);
    }

    /// Returns the 32-bit number at a byte offset in the header.
    pub(crate) fn u32_at(&self, offset: usize) -> &AtomicU32 {
        &self.shared.u32s()[offset / 4]
    }

    /// Returns the 64-bit number at a byte offset in the header.
    pub(crate) fn u64_at(&self, offset: usize) -> &AtomicU64 {
        &self.shared.u64s()[offset / 8]
    }

    /// Returns task slot `index`, which must be below [`SLOTS`].
    pub(crate) fn slot(&self, index: u32) -> Slot<'_> {
        Slot {
            ring: self,
            start: SLOTS_OFFSET + index as usize * slot::BYTES,
        }
    }

    fn info(&self, index: usize) -> usize {
        INFOS_OFFSET + index * info::BYTES
    }

    fn buffer_state(&self, index: usize) -> &AtomicU32 {
        self.u32_at(self.info(index) + info::STATE)
    }

    fn order(&self, index: usize) -> &AtomicU64 {
        self.u64_at(self.info(index) + info::ORDER)
    }

    fn buffer(&self, index: usize) -> &[AtomicU64] {
        let start = BUFFERS_OFFSET / 8 + index * BUFFER_WORDS;
        &self.shared.u64s()[start..start + BUFFER_WORDS]
    }

    /// Returns the index and the words of buffer number `order`; `None` if that buffer has not been
    /// submitted.
    pub(crate) fn submitted(&self, order: u64) -> Option<(usize, &[AtomicU64])> {
        let index = (0..BUFFERS).find(|&index| {
            self.buffer_state(index).load(SeqCst) == buffer::FULL
                && self.order(index).load(SeqCst) == order
        })?;
        let words = self.u64_at(self.info(index) + info::WORDS).load(SeqCst);
        Some((
            index,
            &self.buffer(index)[..(words as usize).min(BUFFER_WORDS)],
        ))
    }

    /// Returns all buffers that were submitted and not yet read.
    pub(crate) fn full(&self) -> impl Iterator<Item = Full> + '_ {
        (0..BUFFERS)
            .filter(|&index| self.buffer_state(index).load(SeqCst) == buffer::FULL)
            .map(|index| {
                let start = self.info(index);
                Full {
                    index,
                    slot: self.u32_at(start + info::SLOT).load(SeqCst),
                    order: self.order(index).load(SeqCst),
                    stamp: self.u64_at(start + info::STAMP).load(SeqCst),
                }
            })
    }

    /// Returns the words that were written into a submitted buffer.
    pub(crate) fn words(&self, full: &Full) -> &[AtomicU64] {
        let words = self
            .u64_at(self.info(full.index) + info::WORDS)
            .load(SeqCst);
        &self.buffer(full.index)[..(words as usize).min(BUFFER_WORDS)]
    }

    /// Frees the buffers that a task has claimed but, having ended, will not submit.
    pub(crate) fn reclaim(&self, slot: u32) -> io::Result<()> {
        for index in 0..BUFFERS {
            let is_held = self.buffer_state(index).load(SeqCst) == buffer::HELD;
            if is_held && self.u32_at(self.info(index) + info::SLOT).load(SeqCst) == slot {
                self.free(index)?;
            }
        }
        Ok(())
    }

    /// Takes back the buffers that a killed task had claimed, except for the current one, in
    /// scheduled captures. A buffer that has a number in the order is submitted, because the
    /// consumer waits for it. Other buffers are freed.
    pub(crate) fn take_back(&self) -> io::Result<()> {
        let current = self.u64_at(header::CURRENT_BUFFER).load(SeqCst);
        let is_held = |index: &usize| {
            self.buffer_state(*index).load(SeqCst) == buffer::HELD && *index as u64 != current
        };
        for index in (0..BUFFERS).filter(is_held) {
            if self.order(index).load(SeqCst) == protocol::NO_ORDER {
                self.free(index)?;
            } else {
                self.buffer_state(index).store(buffer::FULL, SeqCst);
                self.notify_submission();
            }
        }
        Ok(())
    }

    /// Returns the number of the first slot that was never used.
    pub(crate) fn slots_used(&self) -> u32 {
        self.u32_at(header::SLOTS_USED)
            .load(SeqCst)
            .min(SLOTS as u32)
    }

    /// Frees a buffer for the tasks, after its content was read.
    pub(crate) fn free(&self, index: usize) -> io::Result<()> {
        // The buffer must have no owner until the next task has claimed it.
        self.u32_at(self.info(index) + info::SLOT)
            .store(protocol::NO_SLOT, SeqCst);
        self.order(index).store(protocol::NO_ORDER, SeqCst);
        self.buffer_state(index).store(buffer::EMPTY, SeqCst);
        let freed = self.u32_at(header::FREED);
        freed.fetch_add(1, SeqCst);
        if self.may_wait_for_more() {
            Ok(())
        } else {
            shared_file::wake(freed)
        }
    }

    /// Whether waking a task that waits for an empty buffer should be put off until several are
    /// empty: waking takes as long as filling a buffer. In scheduled captures all full buffers are
    /// about to be read. In as-run captures the buffers may have to wait, so a task is woken for a
    /// single empty buffer.
    fn may_wait_for_more(&self) -> bool {
        let empty = (0..BUFFERS)
            .filter(|&index| self.buffer_state(index).load(SeqCst) == buffer::EMPTY)
            .count();
        self.u32_at(header::MODE).load(SeqCst) != protocol::AS_RUN && empty < WORTH_WAKING
    }

    /// Claims an empty buffer and returns its index; `None` if all are in use.
    fn claim(&self) -> Option<usize> {
        (0..BUFFERS).find(|&index| {
            self.buffer_state(index)
                .compare_exchange(buffer::EMPTY, buffer::HELD, SeqCst, SeqCst)
                .is_ok()
        })
    }

    /// Makes room for `words` more words in the current buffer, while no task runs. Returns false
    /// if a further buffer is needed and none is empty.
    fn make_room(&self, words: usize) -> bool {
        let current = self.u64_at(header::CURRENT_BUFFER).load(SeqCst);
        let used = self.u64_at(header::CURRENT_WORDS).load(SeqCst);
        if current < BUFFERS as u64 && used <= (BUFFER_WORDS - words) as u64 {
            return true;
        }
        self.submit_current();
        let Some(index) = self.claim() else {
            return false;
        };
        self.u64_at(header::CURRENT_WORDS).store(0, SeqCst);
        self.u64_at(header::CURRENT_BUFFER)
            .store(index as u64, SeqCst);
        true
    }

    /// Appends a record to the current buffer, while no task runs. Returns false if there is no
    /// room.
    pub(crate) fn append(&self, record: &[u64]) -> bool {
        if !self.make_room(record.len()) {
            return false;
        }
        let used = self.u64_at(header::CURRENT_WORDS).load(SeqCst) as usize;
        let buffer =
            self.buffer(self.u64_at(header::CURRENT_BUFFER).load(SeqCst) as usize % BUFFERS);
        let Some(room) = buffer.get(used..used + record.len()) else {
            return false;
        };
        for (place, &word) in room.iter().zip(record) {
            place.store(word, SeqCst);
        }
        self.u64_at(header::CURRENT_WORDS)
            .store((used + record.len()) as u64, SeqCst);
        true
    }

    /// Submits the current buffer, while no task runs.
    pub(crate) fn submit_current(&self) {
        let current = self
            .u64_at(header::CURRENT_BUFFER)
            .swap(protocol::NO_BUFFER, SeqCst);
        if current >= BUFFERS as u64 {
            return;
        }
        let start = self.info(current as usize);
        self.u64_at(start + info::WORDS)
            .store(self.u64_at(header::CURRENT_WORDS).load(SeqCst), SeqCst);
        self.u32_at(start + info::SLOT)
            .store(protocol::NO_SLOT, SeqCst);
        let order = self.u64_at(header::NEXT_ORDER).fetch_add(1, SeqCst);
        self.order(current as usize).store(order, SeqCst);
        self.u32_at(start + info::STATE).store(buffer::FULL, SeqCst);
        self.notify_submission();
    }

    /// Returns a counter of submitted buffers and of other reports to the consumer.
    pub(crate) fn submissions(&self) -> u32 {
        self.u32_at(header::SUBMISSIONS).load(SeqCst)
    }

    /// Wakes the consumer, so that it looks for submitted buffers again.
    pub(crate) fn notify_submission(&self) {
        self.u32_at(header::SUBMISSIONS).fetch_add(1, SeqCst);
        let _ = shared_file::wake(self.u32_at(header::SUBMISSIONS));
    }

    /// Sleeps until the counter of [`Ring::submissions`] exceeds `submissions`, at most for
    /// `limit`.
    pub(crate) fn await_submission(&self, submissions: u32, limit: Duration) -> io::Result<()> {
        self.u32_at(header::CONSUMER_SLEEPS).store(1, SeqCst);
        let outcome = shared_file::wait(self.u32_at(header::SUBMISSIONS), submissions, limit);
        self.u32_at(header::CONSUMER_SLEEPS).store(0, SeqCst);
        outcome
    }

    /// Returns a counter of the notifications that tasks have sent to the controller.
    pub(crate) fn rings(&self) -> u32 {
        self.u32_at(header::DOORBELL).load(SeqCst)
    }

    /// Sleeps until the counter of [`Ring::rings`] exceeds `rings`, at most for `limit`.
    pub(crate) fn await_ring(&self, rings: u32, limit: Duration) -> io::Result<()> {
        self.u32_at(header::CONTROLLER_SLEEPS).store(1, SeqCst);
        let outcome = shared_file::wait(self.u32_at(header::DOORBELL), rings, limit);
        self.u32_at(header::CONTROLLER_SLEEPS).store(0, SeqCst);
        outcome
    }

    /// Tells all tasks to end immediately.
    pub(crate) fn close(&self) {
        self.u32_at(header::IS_CLOSING).store(1, SeqCst);
        let _ = shared_file::wake(self.u32_at(header::FREED));
        for index in 0..SLOTS as u32 {
            let slot = self.slot(index);
            if slot.state() != state::FREE {
                let _ = shared_file::wake(slot.u32_at(slot::GRANT));
            }
        }
    }
}

/// The slot of one task in the shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'a> {
    ring: &'a Ring,
    start: usize,
}

impl<'a> Slot<'a> {
    fn u32_at(self, offset: usize) -> &'a AtomicU32 {
        self.ring.u32_at(self.start + offset)
    }

    pub(crate) fn get(self, offset: usize) -> u32 {
        self.u32_at(offset).load(SeqCst)
    }

    pub(crate) fn state(self) -> u32 {
        self.get(slot::STATE)
    }

    /// Returns whether the slot's task is in an exec: it has called exec, and its new program has
    /// not started yet.
    pub(crate) fn is_in_exec(self) -> bool {
        self.state() == state::IN_SYSCALL && EXECS.contains(&self.get(slot::SYSCALL))
    }

    /// Returns a lower limit for the start of the task's present run, as a time stamp; 0 without a
    /// run. Used in as-run captures.
    pub(crate) fn open_stamp(self) -> u64 {
        self.ring.u64_at(self.start + slot::OPEN_STAMP).load(SeqCst)
    }

    /// Records that a task that has ended has no open run. Used in as-run captures.
    pub(crate) fn clear_open_stamp(self) {
        self.ring
            .u64_at(self.start + slot::OPEN_STAMP)
            .store(0, SeqCst);
    }

    /// Returns the switches that the kernel counted during the last system call, as a word for
    /// [`Counts::read`](crate::decode::Counts::read) with bit 0 set; 0 during a system call. Used
    /// in as-run captures.
    pub(crate) fn back(self) -> u64 {
        self.ring.u64_at(self.start + slot::BACK).load(SeqCst)
    }

    /// Frees the slot of an ended task.
    pub(crate) fn free(self) {
        self.u32_at(slot::PID).store(protocol::NO_PROCESS, SeqCst);
        self.u32_at(slot::STATE).store(state::FREE, SeqCst);
    }

    /// Records that this task, which has ended, creates no other task any more.
    pub(crate) fn give_up_making(self) {
        self.u32_at(slot::IS_MAKING).store(0, SeqCst);
    }

    /// Records the end of a task that was killed.
    pub(crate) fn set_ended(self) {
        self.u32_at(slot::STATE).store(state::ENDED, SeqCst);
    }

    /// Lets the task run. At the start of a time slice `budget` is its number of instructions;
    /// `None` continues a time slice.
    pub(crate) fn grant(self, budget: Option<u64>) -> io::Result<()> {
        if let Some(instructions) = budget {
            self.ring
                .u64_at(self.start + slot::BUDGET)
                .store(instructions, SeqCst);
        }
        self.u32_at(slot::STATE).store(state::GRANTED, SeqCst);
        self.u32_at(slot::GRANT).store(1, SeqCst);
        shared_file::wake(self.u32_at(slot::GRANT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_comes_out_in_order() {
        let ring = Ring::create(protocol::SCHEDULED).expect("shared memory");
        let mut written = 0;
        while ring.append(&[written; 3]) {
            written += 1;
        }
        assert_eq!(
            written as usize,
            BUFFERS * (BUFFER_WORDS / 3),
            "as much as fits without a reader"
        );
        let (index, words) = ring.submitted(0).expect("the first is full");
        assert_eq!(words.len(), BUFFER_WORDS / 3 * 3);
        assert_eq!(words[3].load(SeqCst), 1);
        ring.free(index).expect("a free buffer");
        assert!(ring.submitted(0).is_none());
        assert!(ring.append(&[written; 3]), "there is room again");
        ring.submit_current();
        let (_, words) = ring.submitted(BUFFERS as u64).expect("the last");
        assert_eq!(words.len(), 3);
        assert!(ring.submitted(BUFFERS as u64 + 1).is_none());
    }

    /// Claims a buffer as a task would, and with `order` also gives it a number in the order of
    /// submission.
    fn hold(ring: &Ring, order: Option<u64>) -> usize {
        let index = ring.claim().expect("an empty buffer");
        if let Some(order) = order {
            ring.u64_at(ring.info(index) + info::WORDS).store(1, SeqCst);
            ring.order(index).store(order, SeqCst);
        }
        index
    }

    #[test]
    fn what_a_killed_task_held_is_free_or_submitted() {
        let ring = Ring::create(protocol::SCHEDULED).expect("shared memory");
        assert!(ring.append(&[7]), "there is a current buffer");
        let numbered = hold(&ring, Some(0));
        while ring.claim().is_some() {}
        ring.take_back().expect("no error of the kernel's");
        assert_eq!(
            ring.submitted(0).map(|(index, words)| (index, words.len())),
            Some((numbered, 1))
        );
        assert_eq!(
            (0..BUFFERS).filter(|_| ring.claim().is_some()).count(),
            BUFFERS - 2,
            "all but this and the current one"
        );
        ring.u64_at(header::NEXT_ORDER).store(1, SeqCst);
        ring.submit_current();
        assert_eq!(ring.submitted(1).expect("as it was").1[0].load(SeqCst), 7);
    }

    #[test]
    fn numbers_out_of_range_are_no_index() {
        let ring = Ring::create(protocol::SCHEDULED).expect("shared memory");
        ring.u64_at(header::CURRENT_BUFFER).store(1 << 40, SeqCst);
        ring.u64_at(header::CURRENT_WORDS).store(u64::MAX, SeqCst);
        assert!(ring.append(&[1, 2, 3]));
        ring.u64_at(header::CURRENT_WORDS).store(u64::MAX, SeqCst);
        ring.submit_current();
        assert_eq!(ring.submitted(0).expect("submitted").1.len(), BUFFER_WORDS);
    }
}
