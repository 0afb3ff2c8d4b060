//! Generated code with one jump per line, each to the next line in a given order, and a return at
//! the end. A loop may precede each jump.

use std::io;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

const LINE: usize = 64;
/// Opcode of `jmp rel32` on x86-64.
const JUMP: u8 = 0xe9;
const JUMP_BYTES: usize = 5;
const RETURN: u8 = 0xc3;
/// Machine code of `mov ecx, TURNS`, `dec ecx`, and `jnz` back to the `dec`. The number of turns is
/// filled in.
const LOOP: [u8; 9] = [0xb9, 0, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc];

/// Generated code, executable and no longer writable. The code is unmapped when dropped.
#[derive(Debug)]
pub struct Jumps {
    start: NonNull<u8>,
    bytes: usize,
}

impl Jumps {
    /// Generates code with a jump in each line of `order` except the last, which has a return. Each
    /// jump leads to the next line in the order, after a loop of `turns` passes, which takes some
    /// time.
    ///
    /// # Errors
    ///
    /// If the kernel gives no executable memory, the processor is not an x86-64, or the order does
    /// not begin with line 0.
    pub fn lay(order: &[u32], turns: u32) -> io::Result<Jumps> {
        if cfg!(not(target_arch = "x86_64")) || order.first() != Some(&0) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let bytes = bytes(order);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new anonymous mapping at a place of the kernel's choice touches no memory of ours.
        let address =
            unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE) }?;
        let start = NonNull::new(address)
            .expect("the kernel maps nothing at address 0 unasked")
            .cast::<u8>();
        let jumps = Jumps { start, bytes };
        jumps.write(&code(order, turns));
        // SAFETY: the range is our mapping, to which there is no reference.
        unsafe { mprotect(address, bytes, MprotectFlags::READ | MprotectFlags::EXEC) }?;
        Ok(jumps)
    }

    fn write(&self, code: &[u8]) {
        assert_eq!(code.len(), self.bytes);
        // SAFETY: the mapping is as long, may be written, and is not yet shared.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), self.start.as_ptr(), self.bytes) };
    }

    /// Executes the code: one jump for each line except the last.
    #[inline(never)]
    pub fn run(&self) {
        let start = self.start.as_ptr();
        // SAFETY: the code in the mapping begins at its first byte, changes no register except the
        // instruction pointer and one that every call may change, and returns.
        let function = unsafe { std::mem::transmute::<*mut u8, extern "C" fn()>(start) };
        function();
    }
}

impl Drop for Jumps {
    fn drop(&mut self) {
        // SAFETY: the mapping has this value as its only owner, with which it ends.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

fn bytes(order: &[u32]) -> usize {
    order.iter().max().map_or(0, |last| *last as usize + 1) * LINE
}

fn code(order: &[u32], turns: u32) -> Vec<u8> {
    let mut code = vec![RETURN; bytes(order)];
    for pair in order.windows(2) {
        let [mut from, to] = [pair[0] as usize * LINE, pair[1] as usize * LINE];
        if turns > 0 {
            code[from..from + LOOP.len()].copy_from_slice(&LOOP);
            code[from + 1..from + 5].copy_from_slice(&turns.to_le_bytes());
            from += LOOP.len();
        }
        let distance = to as i64 - (from + JUMP_BYTES) as i64;
        code[from] = JUMP;
        code[from + 1..from + JUMP_BYTES].copy_from_slice(&(distance as i32).to_le_bytes());
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_jumps_to_the_next_of_the_order_and_the_last_returns() {
        let code = code(&[0, 2, 1], 0);
        assert_eq!(code[..5], [JUMP, 123, 0, 0, 0]);
        assert_eq!(code[128..133], [JUMP, 0xbb, 0xff, 0xff, 0xff]);
        assert_eq!(code[64], RETURN);
    }

    #[test]
    fn a_loop_stands_before_the_jump_and_lines_may_be_left_out() {
        let code = code(&[0, 3], 7);
        assert_eq!(
            (code.len(), &code[..5], &code[5..9]),
            (256, &[0xb9, 7, 0, 0, 0][..], &LOOP[5..])
        );
        assert_eq!(code[9..14], [JUMP, 192 - 14, 0, 0, 0]);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn jumps_come_back() {
        Jumps::lay(&[0, 3, 1, 2], 0).expect("memory").run();
        Jumps::lay(&[0, 30, 10, 2], 24).expect("memory").run();
        assert!(Jumps::lay(&[1, 0], 0).is_err());
    }
}
