//! Finds out whether the kernel audits system calls.

use std::io;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use switchcost_record::Fact;

/// Type of a message that asks for the audit state (linux/audit.h).
const AUDIT_GET: u16 = 1000;
const NLM_F_REQUEST: u16 = 1;
const HEADER_BYTES: u32 = 16;

/// Longest wait for the kernel's answer, which comes immediately or never.
const TIMEOUT: std::time::Duration = std::time::Duration::from_millis(200);

/// Returns `off`, `on`, `locked on` or `not in this kernel`; unknown, with the reason, if the
/// kernel does not answer the question.
pub(crate) fn audit() -> Fact<String> {
    match ask().map(|answer| state(&answer)) {
        Ok(Some(state)) => Fact::Known(state.to_owned()),
        Ok(None) => Fact::unknown("the kernel does not say it: needs cap_audit_control"),
        Err(error) if error.raw_os_error() == Some(libc::EPROTONOSUPPORT) => {
            Fact::Known("not in this kernel".to_owned())
        }
        Err(error) => Fact::unknown(format!("netlink: {error}")),
    }
}

fn ask() -> io::Result<Vec<u8>> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::AUDIT),
    )?;
    set_socket_timeout(&socket, Timeout::Recv, Some(TIMEOUT))?;
    send(&socket, &request(), SendFlags::empty())?;
    let mut answer = vec![0; 512];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    answer.truncate(length);
    Ok(answer)
}

/// Returns a header (`struct nlmsghdr`) without a body: length, type, flags, sequence number, port.
fn request() -> Vec<u8> {
    let mut bytes = HEADER_BYTES.to_ne_bytes().to_vec();
    bytes.extend(AUDIT_GET.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    bytes.extend([1_u32, 0].map(u32::to_ne_bytes).concat());
    bytes
}

/// Returns the audit state in a message: the second field of `struct audit_status`; `None` if the
/// message is not an audit state, such as a refusal.
fn state(answer: &[u8]) -> Option<&'static str> {
    let word = |at: usize| {
        answer
            .get(at..at + 4)
            .map(|bytes| u32::from_ne_bytes(bytes.try_into().expect("four bytes")))
    };
    let kind = word(4)? as u16;
    match (kind, word(HEADER_BYTES as usize + 4)?) {
        (AUDIT_GET, 0) => Some("off"),
        (AUDIT_GET, 1) => Some("on"),
        (AUDIT_GET, 2) => Some("locked on"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: u32, enabled: u32) -> Vec<u8> {
        [60, kind, 1, 0, 0, enabled, 1]
            .map(u32::to_ne_bytes)
            .concat()
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn the_state_is_in_the_second_field_of_the_answer() {
        assert_eq!(state(&answer(u32::from(AUDIT_GET), 0)), Some("off"));
        assert_eq!(state(&answer(u32::from(AUDIT_GET), 2)), Some("locked on"));
        assert_eq!(state(&answer(2, 1)), None, "a refusal");
        assert_eq!(state(&[0; 9]), None);
    }

    #[test]
    fn this_kernel_answers_or_says_why_not() {
        assert!(audit() != Fact::Known(String::new()));
    }
}
