//! Generated code that jumps from line to line.

use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

const LINE: usize = 64;

/// Machine code of a `jmp` to the next line: opcode EB, and a distance of 62 bytes from the next
/// instruction.
#[cfg(target_arch = "x86_64")]
const JUMP: [u8; 2] = [0xeb, (LINE - 2) as u8];
#[cfg(target_arch = "x86_64")]
const RETURN: [u8; 1] = [0xc3];

/// Machine code of `b` to the next line. The distance, in instructions, is in the lower bits.
#[cfg(target_arch = "aarch64")]
const JUMP: [u8; 4] = (0x1400_0000 + LINE as u32 / 4).to_le_bytes();
#[cfg(target_arch = "aarch64")]
const RETURN: [u8; 4] = 0xd65f_03c0_u32.to_le_bytes();

/// Generated code: a jump in each line, and a return in the last one. The mapping is unmapped on
/// drop.
pub(super) struct JumpChain {
    start: NonNull<c_void>,
    size: usize,
}

impl JumpChain {
    pub(super) fn new(size: usize) -> io::Result<JumpChain> {
        let writable = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new anonymous mapping touches no memory of ours.
        let address =
            unsafe { mmap_anonymous(std::ptr::null_mut(), size, writable, MapFlags::PRIVATE) }?;
        let start = NonNull::new(address).expect("the kernel maps nothing at address 0 unasked");
        let chain = JumpChain { start, size };
        // SAFETY: the mapping is ours, of this size, and zeroed.
        let bytes = unsafe { std::slice::from_raw_parts_mut(address.cast::<u8>(), size) };
        for line in bytes.chunks_exact_mut(LINE) {
            line[..JUMP.len()].copy_from_slice(&JUMP);
        }
        bytes[size - LINE..][..RETURN.len()].copy_from_slice(&RETURN);
        show_to_fetches(bytes);
        // SAFETY: the range is our mapping; from here on nothing writes to it.
        unsafe { mprotect(address, size, MprotectFlags::READ | MprotectFlags::EXEC) }?;
        Ok(chain)
    }

    pub(super) fn run(&self) {
        // SAFETY: the mapping holds a function without arguments that follows its jumps and returns.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, extern "C" fn()>(self.start.as_ptr()) };
        function();
    }
}

/// Does nothing: on x86, instruction fetches see code that was just written.
#[cfg(target_arch = "x86_64")]
fn show_to_fetches(_: &[u8]) {}

/// Makes code that was just written visible to instruction fetches. On 64-bit Arm, instruction
/// caches are not coherent with data caches (Arm Architecture Reference Manual, "Caches and memory
/// hierarchy", which has the steps). No line is shorter than 16 bytes.
#[cfg(target_arch = "aarch64")]
fn show_to_fetches(written: &[u8]) {
    use std::arch::asm;

    let lines = || written.chunks(16).map(<[u8]>::as_ptr);
    for line in lines() {
        // SAFETY: writes a line of our own memory back to where fetches find it; Linux lets programs do that.
        unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags)) };
    }
    // SAFETY: waits until the line has been written back.
    unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
    for line in lines() {
        // SAFETY: discards the instructions fetched from a line of this program's memory.
        unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack, preserves_flags)) };
    }
    // SAFETY: waits until the fetched instructions have been discarded, on this CPU, too.
    unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
}

impl Drop for JumpChain {
    fn drop(&mut self) {
        // SAFETY: the range is the one mapped in `new`.
        let _ = unsafe { munmap(self.start.as_ptr(), self.size) };
    }
}

#[test]
fn a_chain_of_jumps_comes_to_its_end() {
    JumpChain::new(512 << 10).expect("executable memory").run();
}
