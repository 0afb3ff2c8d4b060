//! Warnings of the capture tool about traced processes.

use std::sync::atomic::Ordering::SeqCst;

use crate::protocol::{NO_PROCESS, header};
use crate::ring::Ring;

/// Returns the warnings about processes. If several processes have the same kind of warning, only
/// the one for the last process is returned.
pub(crate) fn remarks(ring: &Ring) -> Vec<String> {
    let process = |offset| Some(ring.u32_at(offset).load(SeqCst)).filter(|&pid| pid != NO_PROCESS);
    let code = ring.u64_at(header::UNDECODED).load(SeqCst).to_le_bytes();
    let undecoded = process(header::UNDECODED_PID).map(|pid| undecoded(pid, code));
    let refused = [
        process(header::TRACING_PID).map(tracing),
        process(header::NAMESPACE_PID).map(namespace),
        process(header::RIGHTS_PID).map(rights),
    ];
    process(header::RESTRICTED_PID)
        .map(restricted)
        .into_iter()
        .chain(undecoded)
        .chain(refused.into_iter().flatten())
        .collect()
}

fn restricted(pid: u32) -> String {
    format!(
        "process {pid} restricted its own system calls (seccomp), which would also block Valgrind's: the filter was \
         not applied, so forbidden calls may have been made"
    )
}

fn tracing(pid: u32) -> String {
    format!(
        "process {pid} asked to trace another process, or to be traced by one (ptrace), which would have found Valgrind's registers and \
         system calls there: that was refused (EPERM); run the program without a debugger or tracer around it"
    )
}

fn namespace(pid: u32) -> String {
    format!(
        "process {pid} asked for a PID namespace, in which processes have other numbers than those of the trace: that was refused (EPERM); \
         run the program without one (bwrap without --unshare-pid, unshare without --pid)"
    )
}

fn rights(pid: u32) -> String {
    format!(
        "process {pid} executed a program with rights that its caller has not (set-user-ID, set-group-ID or file capabilities), which \
         Valgrind cannot give it: that was refused (EACCES); trace as root"
    )
}

fn undecoded(pid: u32, code: [u8; 8]) -> String {
    /// First byte of instructions of AVX-512 (the EVEX prefix).
    const EVEX: u8 = 0x62;
    let bytes = code.map(|byte| format!("{byte:02x}")).join(" ");
    match code[0] {
        EVEX => format!(
            "process {pid} executed an AVX-512 instruction ({bytes}), which Valgrind does not support, and got SIGILL; build \
             the program without AVX-512 (-march=x86-64-v3)"
        ),
        _ => format!(
            "process {pid} executed an instruction that Valgrind does not know ({bytes}), and got SIGILL"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol;

    #[test]
    fn what_valgrind_lacks_is_put_down_to_valgrind() {
        let ring = Ring::create(protocol::SCHEDULED).expect("memory");
        assert_eq!(remarks(&ring), [""; 0]);
        ring.u32_at(header::RESTRICTED_PID).store(4, SeqCst);
        ring.u32_at(header::UNDECODED_PID).store(7, SeqCst);
        let noted = |code: [u8; 8]| {
            ring.u64_at(header::UNDECODED)
                .store(u64::from_le_bytes(code), SeqCst);
            remarks(&ring)
        };
        assert_eq!(
            noted([0x62, 0xf2, 0x7d, 0x48, 0x7c, 0xc0, 0, 1]),
            [
                "process 4 restricted its own system calls (seccomp), which would also block Valgrind's: the filter \
                 was not applied, so forbidden calls may have been made",
                "process 7 executed an AVX-512 instruction (62 f2 7d 48 7c c0 00 01), which Valgrind does not support, and got \
                 SIGILL; build \
                 the program without AVX-512 (-march=x86-64-v3)"
            ]
        );
        ring.u32_at(header::TRACING_PID).store(9, SeqCst);
        assert_eq!(
            noted([0xc4, 0xe2, 0x7b, 0x49, 0, 0, 0, 0])[1],
            "process 7 executed an instruction that Valgrind does not know (c4 e2 7b 49 00 00 00 00), and got SIGILL"
        );
        assert_eq!(
            remarks(&ring)[2],
            "process 9 asked to trace another process, or to be traced by one (ptrace), which would have found Valgrind's registers and \
             system calls there: that was refused (EPERM); run the program without a debugger or tracer around it"
        );
        ring.u32_at(header::NAMESPACE_PID).store(10, SeqCst);
        ring.u32_at(header::RIGHTS_PID).store(11, SeqCst);
        let refused = remarks(&ring)[3..].join("\n");
        assert!(
            refused.contains("process 10 asked for a PID namespace")
                && refused.contains("process 11 executed"),
            "{refused}"
        );
    }
}
