//! A TCP socket that does not ask in vain.
//!
//! A stream of async-std tries to read whenever it is polled, and a connection of HTTP is polled some times for each
//! request: most of these calls of the operating system answer that there is nothing. See [`reads`](crate::reads).

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::pin::Pin;
#[cfg(target_os = "linux")]
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use async_io::Async;
use futures_io::{AsyncRead, AsyncWrite};

#[cfg(target_os = "linux")]
use crate::crowd::{Crowd, Member};
use crate::reads::read_once;

/// A socket on the reactor that async-std and smol share.
#[derive(Debug)]
pub struct Socket {
    stream: Async<TcpStream>,
    /// With whom it waits for something to read; alone, on the reactor, if with nobody.
    #[cfg(target_os = "linux")]
    member: Option<Member>,
    /// Whether the last read took all that there was.
    drained: bool,
}

impl Socket {
    pub(crate) fn new(stream: Async<TcpStream>) -> Self {
        // Messages are whole: holding them back gains nothing. A socket that has gone is found out soon.
        let _ = stream.get_ref().set_nodelay(true);
        Self {
            stream,
            #[cfg(target_os = "linux")]
            member: None,
            drained: false,
        }
    }

    /// Waits together with others from now on.
    #[cfg(target_os = "linux")]
    pub(crate) fn join(mut self, crowd: Option<&Arc<Crowd>>) -> Self {
        self.member = crowd.and_then(|crowd| crowd.enter(self.stream.get_ref()));
        self
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

impl Socket {
    /// Waits until there may be something to read.
    #[cfg_attr(not(target_os = "linux"), allow(clippy::needless_pass_by_ref_mut, reason = "who is alone stays it"))]
    fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        #[cfg(target_os = "linux")]
        if let Some(member) = &self.member {
            if ready!(member.poll(cx)) {
                return Poll::Ready(Ok(()));
            }
            self.member = None;
        }
        self.stream.poll_readable(cx)
    }
}

#[cfg(target_os = "linux")]
impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(member) = &self.member {
            member.leave(self.stream.get_ref());
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &mut [u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        loop {
            if this.drained {
                ready!(this.poll_readable(cx))?;
            }
            if let Some(done) = read_once(this.stream.get_ref(), &mut this.drained, bytes) {
                return Poll::Ready(done);
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
