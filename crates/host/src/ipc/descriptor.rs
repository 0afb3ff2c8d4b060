//! Channels over file descriptors.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::EventfdFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::{Channel, closed};

fn put_byte(to: impl AsFd) -> io::Result<()> {
    match rustix::io::write(to, &[0])? {
        1 => Ok(()),
        _ => Err(closed()),
    }
}

fn take_byte(from: impl AsFd) -> io::Result<()> {
    match rustix::io::read(from, &mut [0])? {
        1 => Ok(()),
        _ => Err(closed()),
    }
}

/// A channel whose token is one byte in a pipe.
#[derive(Debug)]
pub struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Pipe {
    /// Creates a pipe without a token.
    pub fn new() -> io::Result<Pipe> {
        let (reader, writer) = rustix::pipe::pipe()?;
        Ok(Pipe { reader, writer })
    }
}

impl Channel for Pipe {
    fn send(&self) -> io::Result<()> {
        put_byte(&self.writer)
    }

    fn recv(&self) -> io::Result<()> {
        take_byte(&self.reader)
    }
}

/// A channel whose token is a count of one in an eventfd.
#[derive(Debug)]
pub struct EventFd(OwnedFd);

impl EventFd {
    /// Creates an eventfd with count zero.
    pub fn new() -> io::Result<EventFd> {
        Ok(EventFd(rustix::event::eventfd(0, EventfdFlags::empty())?))
    }
}

impl Channel for EventFd {
    fn send(&self) -> io::Result<()> {
        rustix::io::write(&self.0, &1_u64.to_ne_bytes())?;
        Ok(())
    }

    fn recv(&self) -> io::Result<()> {
        rustix::io::read(&self.0, &mut [0; 8])?;
        Ok(())
    }
}

/// A channel whose token is one byte in a pair of connected stream sockets.
#[derive(Debug)]
pub struct Stream {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Stream {
    /// Makes a channel of Unix sockets.
    pub fn unix() -> io::Result<Stream> {
        let (reader, writer) = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::empty(),
            None,
        )?;
        Ok(Stream { reader, writer })
    }

    /// Makes a channel of a TCP connection over the loopback interface, with Nagle's algorithm off.
    pub fn tcp() -> io::Result<Stream> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let writer = TcpStream::connect(listener.local_addr()?)?;
        let own = writer.local_addr()?;
        let reader = loop {
            // Anybody on this machine may connect to the listener, so only this process's own
            // connection is kept.
            let (stream, peer) = listener.accept()?;
            if peer == own {
                break stream;
            }
        };
        writer.set_nodelay(true)?;
        reader.set_nodelay(true)?;
        Ok(Stream {
            reader: reader.into(),
            writer: writer.into(),
        })
    }
}

impl Channel for Stream {
    fn send(&self) -> io::Result<()> {
        put_byte(&self.writer)
    }

    fn recv(&self) -> io::Result<()> {
        take_byte(&self.reader)
    }
}
