//! Claims CPUs for measurements, so that two measurements do not use the same one.
//!
//! A claim is the name of a Unix socket outside the file system. The kernel gives a name to one
//! process at a time, releases it when the process ends, and reports its owner. A process that
//! cannot claim a CPU measures anyway.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use switchcost_units::CpuId;

/// Length of the socket's queue of connections, which are never accepted.
const BACKLOG: i32 = 16;

/// A claim on a CPU, which lasts until dropped. The claim is empty if claims do not work on this
/// machine.
#[derive(Debug)]
pub struct CpuClaim {
    _socket: Option<OwnedFd>,
}

/// Outcome of a claim.
#[derive(Debug)]
pub enum Claimed {
    /// This process has the CPU, or claims do not work on this machine.
    Ours(CpuClaim),
    /// Another process has the CPU. Contains the ID of the other process, if known.
    Anothers(Option<i32>),
}

/// Claims a CPU for this process.
pub fn claim(cpu: CpuId) -> Claimed {
    claim_by_name(&format!("switchcost-measures-on-cpu-{cpu}"))
}

fn claim_by_name(name: &str) -> Claimed {
    match held(name) {
        Ok(socket) => Claimed::Ours(CpuClaim {
            _socket: Some(socket),
        }),
        Err(error) if error.raw_os_error() == Some(Errno::ADDRINUSE.raw_os_error()) => {
            Claimed::Anothers(holder(name).ok())
        }
        Err(_) => Claimed::Ours(CpuClaim { _socket: None }),
    }
}

fn held(name: &str) -> io::Result<OwnedFd> {
    let socket = new_socket()?;
    bind(
        &socket,
        &SocketAddrUnix::new_abstract_name(name.as_bytes())?,
    )?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Returns the process ID of the claim's owner, as reported by the kernel.
fn holder(name: &str) -> io::Result<i32> {
    let socket = new_socket()?;
    connect(
        &socket,
        &SocketAddrUnix::new_abstract_name(name.as_bytes())?,
    )?;
    Ok(socket_peercred(&socket)?.pid.as_raw_nonzero().get())
}

fn new_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        flags,
        None,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(test: &str) -> String {
        format!("switchcost-test-{test}-{}", crate::task::current_pid())
    }

    #[test]
    fn a_claim_is_held_by_one_and_names_it() {
        let name = name("one");
        let first = claim_by_name(&name);
        assert!(matches!(first, Claimed::Ours(_)), "{first:?}");
        let Claimed::Anothers(holder) = claim_by_name(&name) else {
            panic!("held twice")
        };
        assert_eq!(holder, Some(crate::task::current_pid()));
        drop(first);
        assert!(
            matches!(claim_by_name(&name), Claimed::Ours(_)),
            "it was given back"
        );
    }

    #[test]
    fn whoever_is_asked_too_often_is_still_another() {
        let name = name("asked");
        let _first = claim_by_name(&name);
        let asking: Vec<_> = (0..BACKLOG + 4).filter_map(|_| new_socket().ok()).collect();
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a short name");
        let answered = asking
            .iter()
            .filter(|socket| connect(socket, &address).is_ok())
            .count();
        assert!(answered < asking.len(), "its backlog is full");
        assert!(
            matches!(claim_by_name(&name), Claimed::Anothers(None)),
            "without waiting"
        );
    }
}
