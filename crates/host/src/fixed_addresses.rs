//! Gives programs the same addresses in each run.

use rustix::io;

use crate::errno;

/// Gives the next program that this process executes the same addresses each time (ADDR_NO_RANDOMIZE). Allocates no memory.
pub(crate) fn fix_addresses() -> io::Result<()> {
    /// Argument that changes nothing and returns the present setting.
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
