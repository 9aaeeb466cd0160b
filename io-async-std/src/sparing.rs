//! Streams that do not ask in vain.
//!
//! ```text
//!   read  ──filled the buffer──▶ read again          write ──all of it──▶ write again
//!     └───less, or nothing──▶ drained                  └───less, or nothing──▶ full
//!                               └──readable──▶ read                            └──writable──▶ write
//! ```
//!
//! A stream of async-std tries whenever it is polled, and that is some times for each message: many of these calls of
//! the operating system answer that nothing can be done. A read that did not fill its buffer, and a write that did not
//! empty its own, have said so already. What comes after is told by the reactor, the end of the stream included.

use std::fs::File;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_io::Async;
use futures_io::{AsyncRead, AsyncWrite};

/// A file, a pipe or a socket on the reactor that async-std and smol share.
#[derive(Debug)]
pub struct Sparing<T> {
    stream: Async<T>,
    /// Whether the last read took all that there was.
    drained: bool,
    /// Whether the last write filled all room that there was.
    full: bool,
}

#[cfg(any(unix, feature = "http"))]
impl<T> Sparing<T> {
    pub(crate) const fn of(stream: Async<T>) -> Self {
        Self { stream, drained: false, full: false }
    }
}

/// How nothing more is written.
pub trait Finish {
    /// Tells the other side so, where it is not told by dropping.
    ///
    /// # Errors
    /// When it cannot be told.
    fn finish(&self) -> io::Result<()>;
}

impl Finish for File {
    fn finish(&self) -> io::Result<()> {
        Ok(())
    }
}

impl<T> AsyncRead for Sparing<T>
where
    for<'t> &'t T: Read,
{
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            if self.drained {
                ready!(self.stream.poll_readable(cx))?;
                self.drained = false;
            }
            match self.stream.get_ref().read(bytes) {
                Ok(count) => {
                    self.drained = count > 0 && count < bytes.len();
                    return Poll::Ready(Ok(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.drained = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl<T: Finish> AsyncWrite for Sparing<T>
where
    for<'t> &'t T: Write,
{
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            if self.full {
                ready!(self.stream.poll_writable(cx))?;
                self.full = false;
            }
            match self.stream.get_ref().write(bytes) {
                Ok(count) => {
                    self.full = count > 0 && count < bytes.len();
                    return Poll::Ready(Ok(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.full = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Neither files nor sockets hold anything back.
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.get_ref().finish())
    }
}

#[cfg(feature = "http")]
mod socket {
    use std::io;
    use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
    use std::task::{Context, Poll, ready};

    use async_io::Async;

    use super::{Finish, Sparing};

    /// A TCP socket.
    pub type Socket = Sparing<TcpStream>;

    impl Socket {
        fn new(stream: Async<TcpStream>) -> Self {
            // Messages are whole: holding them back gains nothing. A socket that has gone is found out soon.
            let _ = stream.get_ref().set_nodelay(true);
            Self::of(stream)
        }

        /// Connects to the first of the addresses that answers.
        pub(crate) async fn connect(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<Self> {
            let mut last = io::Error::new(io::ErrorKind::InvalidInput, "the name has no address");
            for address in addresses {
                match Async::<TcpStream>::connect(address).await {
                    Ok(stream) => return Ok(Self::new(stream)),
                    Err(error) => last = error,
                }
            }
            Err(last)
        }

        pub(crate) fn poll_accept(listener: &Async<TcpListener>, cx: &mut Context<'_>) -> Poll<io::Result<Self>> {
            loop {
                match listener.get_ref().accept() {
                    Ok((stream, _)) => return Poll::Ready(Async::new(stream).map(Self::new)),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready!(listener.poll_readable(cx))?,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
        }
    }

    impl Finish for TcpStream {
        fn finish(&self) -> io::Result<()> {
            match self.shutdown(Shutdown::Write) {
                // The peer was faster.
                Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
                done => done,
            }
        }
    }
}

#[cfg(feature = "http")]
pub use self::socket::Socket;
