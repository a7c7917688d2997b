//! What the first process of a cell waits for besides its children: the server's end, and connections on a Unix
//! socket, which it carries to a port of the cell's own loopback. One thread, however many connections.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use rustix::event::{PollFd, PollFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::Signal;

const CONNECTIONS_MAX: usize = 256;
const BUFFER_BYTES: usize = 32 * 1024;
/// Buffers a connection may fill before the others, and the server's end, get their turn.
const TURN: usize = 16;

/// Everything the thread looks at.
pub(super) struct Watch {
    control: OwnedFd,
    gate: Option<Gate>,
    confined: bool,
}

/// Where connections come in and where they go.
struct Gate {
    listener: UnixListener,
    port: u16,
}

impl Watch {
    pub(super) fn new(
        control: OwnedFd,
        listener: Option<(OwnedFd, u16)>,
        confined: bool,
    ) -> io::Result<Self> {
        let gate = listener.map(|(socket, port)| Gate { listener: socket.into(), port });
        if let Some(gate) = &gate {
            gate.listener.set_nonblocking(true)?;
        }
        Ok(Self { control, gate, confined })
    }

    /// Watches until the server is gone, and then ends this process and with it the cell.
    pub(super) fn begin(self) -> io::Result<()> {
        let watch = std::thread::Builder::new().stack_size(256 * 1024);
        drop(watch.spawn(move || {
            let confined = self.confined;
            // An error here would mean that the end of the server cannot be noticed.
            drop(self.run());
            if !confined {
                let _ = rustix::process::kill_current_process_group(Signal::KILL);
            }
            leave()
        })?);
        Ok(())
    }

    fn run(self) -> io::Result<()> {
        let mut links: Vec<Link> = Vec::new();
        loop {
            let mut polled = vec![PollFd::new(&self.control, PollFlags::IN)];
            let gate = self.gate.as_ref().filter(|_| links.len() < CONNECTIONS_MAX);
            polled.extend(gate.map(|gate| PollFd::new(&gate.listener, PollFlags::IN)));
            for link in &links {
                polled.extend(link.interests());
            }
            match rustix::event::poll(&mut polled, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            if !polled[0].revents().is_empty() {
                return Ok(());
            }
            drop(polled);
            links.retain_mut(|link| link.advance().is_ok_and(|open| open));
            if let Some(gate) = &self.gate
                && links.len() < CONNECTIONS_MAX
            {
                links.extend(gate.accept());
            }
        }
    }
}

#[expect(clippy::exit, reason = "the end of this process is what ends the cell")]
fn leave() -> ! {
    std::process::exit(0)
}

impl Gate {
    /// The next connection that waits, if any, already on its way to the port.
    fn accept(&self) -> Option<Link> {
        let (outside, _) = self.listener.accept().ok()?;
        outside.set_nonblocking(true).ok()?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).ok()?;
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.port);
        match rustix::net::connect(&socket, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            // Whoever connected sees the end of its connection and may try again.
            Err(_) => return None,
        }
        let inside = TcpStream::from(socket);
        inside.set_nodelay(true).ok()?;
        Some(Link { outside, inside, inward: Lane::new(), outward: Lane::new() })
    }
}

/// A connection, from both sides.
struct Link {
    outside: UnixStream,
    inside: TcpStream,
    inward: Lane,
    outward: Lane,
}

impl Link {
    /// What to wait for.
    fn interests(&self) -> impl Iterator<Item = PollFd<'_>> {
        let lanes = [
            (&self.inward, self.outside.as_fd(), self.inside.as_fd()),
            (&self.outward, self.inside.as_fd(), self.outside.as_fd()),
        ];
        lanes.into_iter().filter_map(|(lane, from, to)| lane.interest(from, to))
    }

    /// Carries what there is; says whether there can be more.
    fn advance(&mut self) -> io::Result<bool> {
        let Self { outside, inside, inward, outward } = self;
        if inward.carry(outside, inside)? {
            inside.shutdown(Shutdown::Write)?;
        }
        if outward.carry(inside, outside)? {
            outside.shutdown(Shutdown::Write)?;
        }
        Ok(!(inward.closed && outward.closed))
    }
}

/// One direction of a connection.
struct Lane {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    closed: bool,
}

impl Lane {
    fn new() -> Self {
        Self { buffer: vec![0; BUFFER_BYTES], start: 0, end: 0, closed: false }
    }

    fn interest<'a>(&self, from: BorrowedFd<'a>, to: BorrowedFd<'a>) -> Option<PollFd<'a>> {
        match (self.closed, self.start < self.end) {
            (true, _) => None,
            (false, true) => Some(PollFd::from_borrowed_fd(to, PollFlags::OUT)),
            (false, false) => Some(PollFd::from_borrowed_fd(from, PollFlags::IN)),
        }
    }

    /// Moves bytes until one side has to wait; says whether the last one has just been moved.
    fn carry(&mut self, from: &mut impl Read, to: &mut impl Write) -> io::Result<bool> {
        if self.closed {
            return Ok(false);
        }
        for _ in 0..TURN {
            if self.start == self.end {
                match waiting(from.read(&mut self.buffer))? {
                    None => break,
                    Some(0) => {
                        self.closed = true;
                        return Ok(true);
                    }
                    Some(read) => (self.start, self.end) = (0, read),
                }
            }
            match waiting(to.write(&self.buffer[self.start..self.end]))? {
                None => break,
                Some(written) => self.start += written,
            }
        }
        Ok(false)
    }
}

/// `None` where the other side has to do something first.
fn waiting(moved: io::Result<usize>) -> io::Result<Option<usize>> {
    match moved {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error),
    }
}
