//! The network between a front's client over HTTP and the player, who is its server.
//!
//! ```text
//!   client ──▶ Gate ──▶ the front's own Pool ──▶ Plug ──▶ the front's own connector ══▶ the player's socket
//!               │ waits until the player has seen the request, and lets it pass alone
//! ```
//!
//! Requests of a client have connections of their own, so that nobody could tell which was made first. The gate can:
//! it is what the front takes for an HTTP library.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Request, Response};
use mcp_sansio::http::client::FetchId;
use mcp_sansio::testing::Feed;
use mcp_sansio::testing::player::Wanted;
use mcp_sansio_io::BoxFuture;
use mcp_sansio_io::http::client::{ByteStream, Connector, Pool, ResponseBody, Transport, TransportError};
use tokio::sync::oneshot;

use super::lab::Lab;
use super::tap::{self, End, Half, Tap};

/// Where the gate, the plug and the player meet.
#[derive(Default)]
pub(super) struct Net(Mutex<Wires>);

#[derive(Default)]
pub(super) struct Wires {
    named: u64,
    /// Requests that the player has not seen, in the order in which they were made.
    pub(super) wanted: VecDeque<Wanted>,
    /// Requests at the gate.
    waiting: BTreeMap<FetchId, oneshot::Sender<Way>>,
    /// Requests that were dropped there.
    pub(super) dropped: VecDeque<FetchId>,
    /// Connections that the player has not seen, with where they lead.
    pub(super) opened: Vec<(End<TcpStream>, String)>,
}

/// Where a request goes.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// To the player.
    Out,
    /// Where nobody listens.
    Nowhere,
}

impl Net {
    pub(super) fn wires(&self) -> MutexGuard<'_, Wires> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a request pass, unless it was dropped.
    pub(super) fn pass(&self, fetch: FetchId, way: Way) {
        if let Some(gate) = self.wires().waiting.remove(&fetch) {
            let _ = gate.send(way);
        }
    }
}

/// What the client takes for an HTTP library.
pub(super) struct Gate {
    net: Arc<Net>,
    pool: Pool,
    nowhere: Pool,
}

impl Gate {
    pub(super) fn new(lab: &Arc<Lab>, net: &Arc<Net>, connector: fn() -> Box<dyn Connector>, feed: Feed) -> Self {
        let plug = |listens| Plug { lab: Arc::clone(lab), net: Arc::clone(net), connector: connector(), feed, listens };
        let pool = |listens| Pool::new(lab.runtime(), plug(listens));
        Self { net: Arc::clone(net), pool: pool(true), nowhere: pool(false) }
    }

    /// Shows a request to the player.
    fn announce(&self, request: &Request<Bytes>) -> (FetchId, oneshot::Receiver<Way>) {
        let mut wires = self.net.wires();
        // The machine counts them as well.
        wires.named += 1;
        let id = FetchId::from_u64(wires.named);
        let headers = request.headers().iter();
        wires.wanted.push_back(Wanted {
            id,
            method: request.method().as_str().to_owned(),
            url: request.uri().to_string(),
            headers: headers.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect(),
            body: request.body().clone(),
        });
        let (gate, passed) = oneshot::channel();
        wires.waiting.insert(id, gate);
        (id, passed)
    }
}

/// Tells that a request was dropped at the gate.
struct AtGate {
    net: Arc<Net>,
    fetch: FetchId,
}

impl Drop for AtGate {
    fn drop(&mut self) {
        let mut wires = self.net.wires();
        if wires.waiting.remove(&self.fetch).is_some() {
            wires.dropped.push_back(self.fetch);
        }
    }
}

impl Transport for Gate {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Response<ResponseBody>, TransportError>> {
        let (fetch, passed) = self.announce(&request);
        let at = AtGate { net: Arc::clone(&self.net), fetch };
        let (pool, nowhere) = (self.pool.clone(), self.nowhere.clone());
        Box::pin(async move {
            let way = passed.await;
            drop(at);
            match way {
                Ok(Way::Out) => pool.send(request).await,
                Ok(Way::Nowhere) => nowhere.send(request).await,
                Err(error) => Err(TransportError::not_sent("the player has gone", error)),
            }
        })
    }
}

/// Where one connection arrives, so that it is clear whose the other end is.
///
/// Ports are used again by the connections that come later. A new one for each would soon be one that the system has
/// not forgotten a connection of, and holds back the next one for a second.
enum Port {
    Open(TcpListener),
    Closed(u16),
}

impl Port {
    fn free() -> MutexGuard<'static, Vec<TcpListener>> {
        static FREE: Mutex<Vec<TcpListener>> = Mutex::new(Vec::new());
        FREE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take() -> io::Result<Self> {
        let known = Self::free().pop();
        Ok(Self::Open(known.map_or_else(|| TcpListener::bind("127.0.0.1:0"), Ok)?))
    }

    /// A port where nobody listens.
    fn closed() -> io::Result<Self> {
        Ok(Self::Closed(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port()))
    }

    fn number(&self) -> io::Result<u16> {
        match self {
            Self::Open(listener) => Ok(listener.local_addr()?.port()),
            Self::Closed(port) => Ok(*port),
        }
    }

    /// The other end of a stream that was opened.
    fn accept(self) -> io::Result<TcpStream> {
        let Self::Open(listener) = self else {
            return Err(io::Error::other("somebody listens where nobody should"));
        };
        let (socket, _) = listener.accept()?;
        Self::free().push(listener);
        Ok(socket)
    }
}

/// Opens connections to the player, wherever they are to lead.
struct Plug {
    lab: Arc<Lab>,
    net: Arc<Net>,
    connector: Box<dyn Connector>,
    feed: Feed,
    listens: bool,
}

impl Connector for Plug {
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn ByteStream>>> {
        let target = format!("{host}:{port}");
        let (lab, net, feed) = (Arc::clone(&self.lab), Arc::clone(&self.net), self.feed);
        let hold = lab.hold();
        let port = if self.listens { Port::take() } else { Port::closed() };
        let connecting = port.and_then(|port| Ok((self.connector.connect("127.0.0.1", port.number()?), port)));
        Box::pin(async move {
            let (connecting, port) = connecting?;
            let stream = connecting.await;
            drop(hold);
            let stream = stream?;
            let socket = port.accept()?;
            socket.set_nodelay(true)?;
            socket.set_write_timeout(Some(tap::LOOK))?;
            let (end, place) = tap::end(&lab, socket, feed);
            net.wires().opened.push((end, target));
            Ok(Box::new(Tap::new(stream, &place, Half::Whole)) as Box<dyn ByteStream>)
        })
    }
}
