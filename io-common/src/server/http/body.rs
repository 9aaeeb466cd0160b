//! Answers as bodies, for hyper and everything that is built on it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::driving::Driving;
use super::session::Attached;

/// The body of an answer: whole, or a stream that is written as the server speaks. Dropping it tells the server that
/// its client has gone.
#[derive(Debug)]
pub struct HttpBody(Kind);

#[derive(Debug)]
enum Kind {
    Whole(Bytes),
    Exchange(Box<Driving>),
    Session(Box<Attached>),
}

impl HttpBody {
    pub(super) const fn whole(bytes: Bytes) -> Self {
        Self(Kind::Whole(bytes))
    }

    pub(super) const fn exchange(driving: Box<Driving>) -> Self {
        Self(Kind::Exchange(driving))
    }

    pub(super) const fn session(attached: Box<Attached>) -> Self {
        Self(Kind::Session(attached))
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = match &mut self.0 {
            Kind::Whole(bytes) => Poll::Ready(Some(std::mem::take(bytes)).filter(|bytes| !bytes.is_empty())),
            Kind::Exchange(driving) => driving.poll_chunk(cx),
            Kind::Session(attached) => attached.poll_chunk(cx),
        };
        chunk.map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Kind::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Exchange(_) | Kind::Session(_) => SizeHint::default(),
        }
    }
}
