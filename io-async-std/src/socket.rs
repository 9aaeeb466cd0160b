//! A TCP socket that does not ask in vain.
//!
//! ```text
//!   read ──filled the buffer──▶ read again
//!     └────less, or nothing───▶ drained ──readable──▶ read
//! ```
//!
//! A stream of async-std tries to read whenever it is polled, and a connection of HTTP is polled some times for each
//! request: most of these calls of the operating system answer that there is nothing. A read that did not fill its
//! buffer has said so already. What comes after it is told by the reactor, the end of the stream included.

use std::io::{self, Read as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_io::Async;
use futures_io::{AsyncRead, AsyncWrite};

/// A socket on the reactor that async-std and smol share.
#[derive(Debug)]
pub struct Socket {
    stream: Async<TcpStream>,
    /// Whether the last read took all that there was.
    drained: bool,
}

impl Socket {
    pub(crate) fn new(stream: Async<TcpStream>) -> Self {
        // Messages are whole: holding them back gains nothing. A socket that has gone is found out soon.
        let _ = stream.get_ref().set_nodelay(true);
        Self { stream, drained: false }
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

impl AsyncRead for Socket {
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

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.stream.get_ref().shutdown(Shutdown::Write) {
            // The peer was faster.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
            done => Poll::Ready(done),
        }
    }
}
