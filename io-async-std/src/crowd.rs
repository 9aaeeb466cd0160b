//! The sockets of one server, waited for together.
//!
//! ```text
//!   sockets ──edge──▶ one epoll ──while there is news, by turns with the connections──▶ wakers of connections
//!                         └──when there is none──▶ the reactor
//! ```
//!
//! The reactor that async-std and smol share arms a socket anew for each wait, and is polled by whichever thread finds
//! nothing else to do. An executor that is busy finds something to do; the reactor's own thread then sees that nobody
//! polls, and takes over: on one core it takes the processor from the executor some thousand times a second, and hands
//! it few connections at a time. Each time costs five calls of the operating system, and each wait of a socket one.
//!
//! Here a task of the server looks for news itself, after all the connections that it has woken before have had their
//! turn. The reactor is asked only when a look has found nothing, for one file rather than for each socket: a busy
//! server does not need it, and its thread sleeps. A socket stays armed; that there is more to read is told once.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use async_io::Async;
use futures_util::task::AtomicWaker;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

/// How many sockets are heard of in one look. The others come with the next.
const LOOK: usize = 256;

/// Nothing is known of a socket that has been read until nothing was left.
const QUIET: u8 = 0;
/// There is something to read.
const NEWS: u8 = 1;
/// The peer sends no more: there is always an end to read.
const OVER: u8 = 2;
/// Nobody looks any more.
const ALONE: u8 = 3;

/// Those that wait together. The task that looks for news ends when the last of them has gone.
#[derive(Debug)]
pub(crate) struct Crowd(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    epoll: Async<OwnedFd>,
    members: Mutex<Members>,
    /// The task that looks.
    watchman: AtomicWaker,
}

#[derive(Debug, Default)]
struct Members {
    by_key: HashMap<u64, Arc<Ear>>,
    /// The key of the next one. None is used again, so that late news reaches nobody else.
    next: u64,
    /// Nobody will ask any more.
    deserted: bool,
    /// Nobody looks any more.
    unwatched: bool,
}

/// What a socket has been told.
#[derive(Debug, Default)]
struct Ear {
    heard: AtomicU8,
    waker: AtomicWaker,
}

impl Ear {
    /// Answers whom to wake.
    fn tell(&self, news: u8) -> Option<Waker> {
        self.heard.fetch_max(news, Ordering::AcqRel);
        self.waker.take()
    }

    /// What has been heard. News are heard once.
    fn listen(&self) -> u8 {
        match self.heard.compare_exchange(NEWS, QUIET, Ordering::AcqRel, Ordering::Acquire) {
            Ok(heard) | Err(heard) => heard,
        }
    }
}

impl Crowd {
    /// Nobody yet, and the task that looks for news. Without the task there is none, and sockets wait alone.
    ///
    /// # Errors
    /// When the operating system has no more files.
    pub(crate) fn new() -> io::Result<(Arc<Self>, impl Future<Output = ()> + Send + 'static)> {
        let epoll = Async::new(epoll::create(CreateFlags::CLOEXEC)?)?;
        let shared = Arc::new(Shared { epoll, members: Mutex::default(), watchman: AtomicWaker::new() });
        Ok((Arc::new(Self(Arc::clone(&shared))), Watch { shared, woken: Vec::new(), waits: false }))
    }

    /// Takes a socket in. `None`: it waits alone.
    pub(crate) fn enter(self: &Arc<Self>, stream: &TcpStream) -> Option<Member> {
        let mut members = self.0.members();
        if members.unwatched {
            return None;
        }
        let key = members.next;
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(self.0.epoll.get_ref(), stream, EventData::new_u64(key), flags).ok()?;
        let ear = Arc::<Ear>::default();
        members.next += 1;
        members.by_key.insert(key, Arc::clone(&ear));
        Some(Member { crowd: Arc::clone(self), ear, key })
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.0.members().deserted = true;
        self.0.watchman.wake();
    }
}

impl Shared {
    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everybody of whom there is news, and answers how many they are. Who is to be woken is left in `woken`.
    fn look(&self, woken: &mut Vec<Waker>) -> io::Result<usize> {
        let mut events = [const { std::mem::MaybeUninit::uninit() }; LOOK];
        let (events, _) = epoll::wait(self.epoll.get_ref(), &mut events, Some(&Timespec::default()))?;
        let members = self.members();
        for event in &*events {
            let (key, flags) = (event.data.u64(), event.flags);
            let news = if flags.intersects(EventFlags::RDHUP | EventFlags::HUP) { OVER } else { NEWS };
            woken.extend(members.by_key.get(&key).and_then(|ear| ear.tell(news)));
        }
        Ok(events.len())
    }
}

/// Looks for news until nobody is left who would ask, or looking fails.
struct Watch {
    shared: Arc<Shared>,
    woken: Vec<Waker>,
    /// Whether the reactor has been asked.
    waits: bool,
}

impl Future for Watch {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { shared, woken, waits } = &mut *self;
        shared.watchman.register(cx.waker());
        loop {
            if shared.members().deserted {
                return Poll::Ready(());
            }
            if *waits && ready!(shared.epoll.poll_readable(cx)).is_err() {
                return Poll::Ready(());
            }
            *waits = false;
            match shared.look(woken) {
                Ok(0) => *waits = true,
                Ok(_) => {
                    woken.drain(..).for_each(Waker::wake);
                    // An only one has nothing more to tell before it has been answered.
                    *waits = shared.members().by_key.len() == 1;
                    if !*waits {
                        // They come first; then this looks again.
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Poll::Ready(()),
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let woken: Vec<Waker> = {
            let mut members = self.shared.members();
            members.unwatched = true;
            members.by_key.values().filter_map(|ear| ear.tell(ALONE)).collect()
        };
        woken.into_iter().for_each(Waker::wake);
    }
}

/// A socket among the others. It leaves before it is closed.
#[derive(Debug)]
pub(crate) struct Member {
    crowd: Arc<Crowd>,
    ear: Arc<Ear>,
    key: u64,
}

impl Member {
    /// Waits until there may be something to read. `false`: nobody looks any more, and the socket has to wait alone.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<bool> {
        let mut heard = self.ear.listen();
        if heard == QUIET {
            self.ear.waker.register(cx.waker());
            heard = self.ear.listen();
        }
        if heard == QUIET { Poll::Pending } else { Poll::Ready(heard != ALONE) }
    }

    pub(crate) fn leave(&self, stream: &TcpStream) {
        let shared = &self.crowd.0;
        let gone = shared.members().by_key.remove(&self.key);
        // What fails here has been closed by somebody else, and has left with that.
        let _ = epoll::delete(shared.epoll.get_ref(), stream);
        drop(gone);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{Shutdown, TcpListener};
    use std::pin::pin;
    use std::sync::atomic::AtomicBool;
    use std::task::Wake;

    use futures_util::future::{Either, select};
    use futures_util::{AsyncReadExt as _, FutureExt as _};

    use super::*;
    use crate::socket::Socket;

    /// Both ends of a connection.
    fn connection() -> (TcpStream, Socket) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        (peer, Socket::new(Async::new(accepted).unwrap()))
    }

    /// What comes of `work` while somebody looks.
    fn beside<T>(watch: impl Future<Output = ()>, work: impl Future<Output = T>) -> T {
        smol::block_on(async {
            match select(pin!(work), pin!(watch)).await {
                Either::Left((done, _)) => done,
                Either::Right(((), work)) => work.await,
            }
        })
    }

    /// Whether somebody has called.
    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    async fn read(socket: &mut Socket) -> Vec<u8> {
        let mut bytes = [0; 64];
        let count = socket.read(&mut bytes).await.unwrap();
        bytes[..count].to_vec()
    }

    #[test]
    fn sockets_hear_of_what_comes_one_by_one_and_of_the_end_for_ever() {
        let (crowd, watch) = Crowd::new().unwrap();
        let (mut one, socket) = connection();
        let mut first = socket.join(Some(&crowd));
        let (mut two, socket) = connection();
        let mut second = socket.join(Some(&crowd));
        beside(watch, async {
            for round in 0..3 {
                assert_eq!(read(&mut first).now_or_never(), None);
                one.write_all(&[b'a', round]).unwrap();
                assert_eq!(read(&mut first).await, [b'a', round]);
                assert_eq!(read(&mut second).now_or_never(), None);
                two.write_all(&[b'b', round]).unwrap();
                assert_eq!(read(&mut second).await, [b'b', round]);
            }
            // An only one hears as well.
            drop(second);
            for round in 0..3 {
                assert_eq!(read(&mut first).now_or_never(), None);
                one.write_all(&[b'c', round]).unwrap();
                assert_eq!(read(&mut first).await, [b'c', round]);
            }
            // The end comes with the last bytes: nothing new is told after them.
            assert_eq!(read(&mut first).now_or_never(), None);
            one.write_all(b"last").unwrap();
            one.shutdown(Shutdown::Write).unwrap();
            assert_eq!(read(&mut first).await, b"last");
            assert_eq!(read(&mut first).await, b"");
            assert_eq!(read(&mut first).await, b"");
        });
    }

    #[test]
    fn the_task_ends_when_nobody_is_left() {
        let (crowd, watch) = Crowd::new().unwrap();
        let mut watch = pin!(watch);
        let (_peer, socket) = connection();
        let socket = socket.join(Some(&crowd));
        let (_other, leaving) = connection();
        let leaving = leaving.join(Some(&crowd));
        let shared = Arc::clone(&crowd.0);
        drop(crowd);
        drop(leaving);
        assert_eq!(shared.members().by_key.len(), 1, "who has gone is forgotten");
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        assert!(watch.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(!woken.0.load(Ordering::Relaxed));
        drop(socket);
        assert!(woken.0.load(Ordering::Relaxed), "nobody else would wake it any more");
        assert_eq!(watch.now_or_never(), Some(()));
    }

    #[test]
    fn sockets_that_nobody_looks_after_wait_alone() {
        let (crowd, watch) = Crowd::new().unwrap();
        let (mut peer, socket) = connection();
        let mut early = socket.join(Some(&crowd));
        smol::block_on(async {
            let mut waiting = Box::pin(read(&mut early));
            let mut watch = Some(watch);
            std::future::poll_fn(|cx| {
                let polled = waiting.as_mut().poll(cx);
                if watch.take().is_some() {
                    // It was pending, and is woken by this; then it waits by itself.
                    assert!(polled.is_pending());
                    peer.write_all(b"early").unwrap();
                    return Poll::Pending;
                }
                polled
            })
            .map(|bytes| assert_eq!(bytes, b"early"))
            .await;
            let (mut peer, socket) = connection();
            let mut late = socket.join(Some(&crowd));
            assert_eq!(read(&mut late).now_or_never(), None);
            peer.write_all(b"late").unwrap();
            assert_eq!(read(&mut late).await, b"late");
        });
    }
}
