//! A runtime and a wire for tests: one thread, a clock that only moves when nothing else can, pipes in memory.
#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod joined;
pub mod wire;

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_io::{AsyncRead, AsyncWrite};
use mcp_sansio::machine::{Mono, Now, Unix};
use mcp_sansio_io::{BoxFuture, Runtime};

/// The runtime.
#[derive(Default)]
pub struct Lab {
    ready: Mutex<VecDeque<Arc<Task>>>,
    timers: Mutex<Vec<(Mono, Waker)>>,
    now: Mutex<Mono>,
    pub spawned: AtomicUsize,
}

struct Task {
    lab: Arc<Lab>,
    future: Mutex<Option<BoxFuture<'static, ()>>>,
    queued: AtomicBool,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            let lab = Arc::clone(&self.lab);
            lab.ready.lock().unwrap().push_back(self);
        }
    }
}

/// The runtime as the fronts see it.
pub struct Handle(pub Arc<Lab>);

impl Runtime for Handle {
    fn now(&self) -> Now {
        let mono = *self.0.now.lock().unwrap();
        Now { mono, unix: Unix::from_millis(1_700_000_000_000 + mono.as_nanos() / 1_000_000) }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let lab = Arc::clone(&self.0);
        let end = self.now().mono.after(duration);
        Box::pin(std::future::poll_fn(move |cx| {
            if *lab.now.lock().unwrap() >= end {
                return Poll::Ready(());
            }
            lab.timers.lock().unwrap().push((end, cx.waker().clone()));
            Poll::Pending
        }))
    }

    fn spawn(&self, future: BoxFuture<'static, ()>) {
        self.0.spawned.fetch_add(1, Ordering::Relaxed);
        self.0.spawn(future);
    }
}

impl Lab {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn runtime(self: &Arc<Self>) -> Arc<dyn Runtime> {
        Arc::new(Handle(Arc::clone(self)))
    }

    pub fn spawn(self: &Arc<Self>, future: impl Future<Output = ()> + Send + 'static) {
        let task = Task { lab: Arc::clone(self), future: Mutex::new(Some(Box::pin(future))), queued: true.into() };
        self.ready.lock().unwrap().push_back(Arc::new(task));
    }

    /// Runs everything that can run without the clock moving.
    pub fn settle(self: &Arc<Self>) {
        loop {
            let Some(task) = self.ready.lock().unwrap().pop_front() else { return };
            task.queued.store(false, Ordering::Release);
            let waker = Waker::from(Arc::clone(&task));
            let mut slot = task.future.lock().unwrap();
            if let Some(future) = &mut *slot
                && future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
            {
                *slot = None;
            }
        }
    }

    /// Moves the clock, and runs what becomes possible at each step.
    pub fn advance(self: &Arc<Self>, duration: Duration) {
        let end = self.now.lock().unwrap().after(duration);
        self.settle();
        while self.next_timer().is_some_and(|at| at <= end) {
            self.jump();
        }
        *self.now.lock().unwrap() = end;
        self.settle();
    }

    fn next_timer(&self) -> Option<Mono> {
        self.timers.lock().unwrap().iter().map(|(at, _)| *at).min()
    }

    /// Moves the clock to the next timer. Answers whether there was one.
    fn jump(self: &Arc<Self>) -> bool {
        let Some(at) = self.next_timer() else { return false };
        {
            let mut now = self.now.lock().unwrap();
            *now = (*now).max(at);
        }
        let due: Vec<_> = self.timers.lock().unwrap().extract_if(.., |(end, _)| *end <= at).collect();
        due.into_iter().for_each(|(_, waker)| waker.wake());
        self.settle();
        true
    }

    /// Runs until `future` is ready, moving the clock when nothing else can run.
    pub fn run<T>(self: &Arc<Self>, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
                return value;
            }
            if !self.ready.lock().unwrap().is_empty() {
                self.settle();
            } else {
                assert!(self.jump(), "nothing can happen any more");
            }
        }
    }
}

/// One direction of a wire.
#[derive(Clone)]
pub struct Pipe(Arc<Mutex<Inner>>);

struct Inner {
    bytes: VecDeque<u8>,
    room: usize,
    closed: bool,
    broken: bool,
    wakers: Vec<Waker>,
    writes: usize,
}

impl Pipe {
    pub fn new(room: usize) -> Self {
        let inner = Inner { bytes: VecDeque::new(), room, closed: false, broken: false, wakers: vec![], writes: 0 };
        Self(Arc::new(Mutex::new(inner)))
    }

    pub fn push(&self, bytes: &[u8]) {
        let mut inner = self.0.lock().unwrap();
        inner.bytes.extend(bytes);
        inner.wake();
    }

    pub fn line(&self, line: &str) {
        self.push(format!("{line}\n").as_bytes());
    }

    /// Ends the input of the reader.
    pub fn end(&self) {
        let mut inner = self.0.lock().unwrap();
        inner.closed = true;
        inner.wake();
    }

    /// Makes reads and writes fail.
    pub fn break_off(&self) {
        let mut inner = self.0.lock().unwrap();
        inner.broken = true;
        inner.wake();
    }

    /// Every whole line that is there, as JSON.
    pub fn lines(&self) -> Vec<serde_json::Value> {
        let mut inner = self.0.lock().unwrap();
        let Some(end) = inner.bytes.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let bytes: Vec<u8> = inner.bytes.drain(..=end).collect();
        inner.wake();
        bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    pub fn len(&self) -> usize {
        self.0.lock().unwrap().bytes.len()
    }

    pub fn is_closed(&self) -> bool {
        self.0.lock().unwrap().closed
    }

    pub fn writes(&self) -> usize {
        self.0.lock().unwrap().writes
    }

    pub fn set_room(&self, room: usize) {
        let mut inner = self.0.lock().unwrap();
        inner.room = room;
        inner.wake();
    }
}

impl Inner {
    fn wake(&mut self) {
        self.wakers.drain(..).for_each(Waker::wake);
    }
}

impl AsyncRead for Pipe {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut inner = self.0.lock().unwrap();
        if inner.broken {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if inner.bytes.is_empty() && !inner.closed {
            inner.wakers.push(cx.waker().clone());
            return Poll::Pending;
        }
        let count = buffer.len().min(inner.bytes.len());
        for (to, from) in buffer.iter_mut().zip(inner.bytes.drain(..count)) {
            *to = from;
        }
        inner.wake();
        Poll::Ready(Ok(count))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut inner = self.0.lock().unwrap();
        if inner.broken {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let count = bytes.len().min(inner.room.saturating_sub(inner.bytes.len()));
        if count == 0 {
            inner.wakers.push(cx.waker().clone());
            return Poll::Pending;
        }
        inner.writes += 1;
        inner.bytes.extend(&bytes[..count]);
        inner.wake();
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.end();
        Poll::Ready(Ok(()))
    }
}

/// A future that is ready when it is opened.
#[derive(Clone, Default)]
pub struct Gate(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Gate {
    pub fn open(&self) {
        let mut gate = self.0.lock().unwrap();
        gate.0 = true;
        gate.1.drain(..).for_each(Waker::wake);
    }

    pub async fn passed(&self) {
        std::future::poll_fn(|cx| {
            let mut gate = self.0.lock().unwrap();
            if gate.0 {
                return Poll::Ready(());
            }
            gate.1.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
