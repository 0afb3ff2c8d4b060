//! Disables address space randomization for programs, so that they have the same addresses in each
//! run.

use rustix::io;

use crate::errno;

/// Disables address space randomization (ADDR_NO_RANDOMIZE) for the next program that this process
/// executes. Allocates no memory.
pub(crate) fn fix_addresses() -> io::Result<()> {
    /// Argument of personality(2) that changes nothing and returns the present setting.
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: takes a number and returns one.
    let present = unsafe { libc::personality(ASK) };
    // SAFETY: as for the call above.
    let before = unsafe { libc::personality((present | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong) };
    if present < 0 || before < 0 {
        Err(errno::last())
    } else {
        Ok(())
    }
}
