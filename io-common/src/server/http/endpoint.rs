//! What all requests to one endpoint share: sessions and listen streams, their caps, and what is served.
//!
//! The lock is held for as long as the core looks something up, never while a machine works and never across an
//! `await`. Requests of the modern era do not take it, unless they listen.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use mcp_sansio::error::Error;
use mcp_sansio::http::server::{
    Admitted, Endpoint as Registry, ListenKey, NoRoom, Options, Request, Service, SessionKey, Subscription,
};
use mcp_sansio::machine::{Mono, Now};
use mcp_sansio::server::{Event, Sent};

use super::super::catalogue::Catalogue;
use super::super::link::Link;
use super::super::shared::Shared;
use super::session;
use crate::driver::Timer;
use crate::random::{self, NoRandomness};
use crate::runtime::Runtime;
use crate::sync::lock;

/// What requests are served by.
pub(super) struct Front {
    pub(super) service: Arc<Service>,
    pub(super) catalogue: Arc<Catalogue>,
}

pub(in crate::server) struct Endpoint {
    pub(super) shared: Arc<Shared>,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) body_time: Duration,
    options: Options,
    front: RwLock<Arc<Front>>,
    state: Mutex<State>,
    reaper: AtomicWaker,
    /// When the reaper looks at the clock next, in nanoseconds.
    armed: AtomicU64,
    over: AtomicBool,
}

struct State {
    registry: Registry<Arc<session::Shared>, Weak<Link>>,
    /// Belongs to the definition that the registry serves.
    catalogue: Arc<Catalogue>,
}

impl Endpoint {
    pub(super) fn new(
        shared: Arc<Shared>,
        runtime: Arc<dyn Runtime>,
        options: Options,
        body_time: Duration,
    ) -> Result<Arc<Self>, NoRandomness> {
        let catalogue = Arc::clone(&lock(&shared.catalogue));
        let service = Arc::new(Service::new(Arc::clone(&catalogue.definition), options.clone()));
        let registry = Registry::new(Arc::clone(&service), random::seed()?);
        let endpoint = Arc::new(Self {
            front: RwLock::new(Arc::new(Front { service, catalogue: Arc::clone(&catalogue) })),
            state: Mutex::new(State { registry, catalogue }),
            shared: Arc::clone(&shared),
            runtime: Arc::clone(&runtime),
            body_time,
            options,
            reaper: AtomicWaker::new(),
            armed: AtomicU64::new(u64::MAX),
            over: AtomicBool::new(false),
        });
        shared.add_endpoint(&endpoint);
        let reaper = Reaper { endpoint: Arc::downgrade(&endpoint), runtime, timer: Timer::default() };
        endpoint.runtime.spawn(Box::pin(reaper));
        Ok(endpoint)
    }

    pub(super) fn front(&self) -> Arc<Front> {
        Arc::clone(&self.front.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Finds the session of a request, or makes one.
    pub(super) fn admit(self: &Arc<Self>, now: Now, request: Box<Request>) -> Admitted<Arc<session::Shared>> {
        let mut made = None;
        let (admitted, expired) = {
            let State { registry, catalogue } = &mut *lock(&self.state);
            let admitted = registry.admit(now, request, |key, machine| {
                let session = session::Shared::new(self, catalogue, key, machine);
                made = Some(Arc::clone(&session));
                session
            });
            let expired: Vec<_> = std::iter::from_fn(|| registry.poll_expired()).collect();
            self.rearm(registry);
            (admitted, expired)
        };
        for session in expired {
            session.close();
        }
        if let Some(session) = made {
            self.runtime.spawn(Box::pin(session.task()));
        }
        admitted
    }

    /// Every session that is quiet, as bytes.
    pub(super) fn export(&self) -> Vec<Bytes> {
        let sessions: Vec<_> = lock(&self.state).registry.sessions().cloned().collect();
        sessions.iter().filter_map(|session| session.export()).collect()
    }

    /// Goes on with a session that was exported.
    pub(super) fn import(self: &Arc<Self>, exported: &[u8]) -> Result<(), Error> {
        let now = self.runtime.now();
        let mut made = None;
        let expired: Vec<_> = {
            let State { registry, catalogue } = &mut *lock(&self.state);
            registry.import(now, exported, |key, machine| {
                let session = session::Shared::new(self, catalogue, key, machine);
                made = Some(Arc::clone(&session));
                session
            })?;
            self.rearm(registry);
            std::iter::from_fn(|| registry.poll_expired()).collect()
        };
        for session in expired {
            session.close();
        }
        if let Some(session) = made {
            self.runtime.spawn(Box::pin(session.task()));
        }
        Ok(())
    }

    pub(super) fn exchange_ended(&self, key: SessionKey) {
        let now = self.runtime.now();
        let mut state = lock(&self.state);
        state.registry.exchange_ended(now, key);
        self.rearm(&state.registry);
    }

    pub(super) fn remove(&self, key: SessionKey) {
        let removed = lock(&self.state).registry.remove(key);
        // Outside of the lock.
        drop(removed);
    }

    pub(super) fn listen(&self, subscription: Subscription, link: Weak<Link>) -> Result<ListenKey, NoRoom> {
        lock(&self.state).registry.listen(subscription, link)
    }

    pub(super) fn unlisten(&self, key: ListenKey) {
        lock(&self.state).registry.unlisten(key);
    }

    /// Wakes the reaper if it has to look sooner than it thinks.
    fn rearm(&self, registry: &Registry<Arc<session::Shared>, Weak<Link>>) {
        let due = registry.poll_timeout().map_or(u64::MAX, |(at, _)| at.as_nanos());
        if due < self.armed.load(Ordering::Acquire) {
            self.reaper.wake();
        }
    }

    /// Gives an event to every session, which knows whether it wants it, and to the listen streams that do.
    pub(in crate::server) fn publish(&self, event: &Event) {
        let (sessions, listeners) = {
            let state = lock(&self.state);
            let sessions: Vec<_> = state.registry.sessions().cloned().collect();
            let listeners: Vec<_> = state.registry.listeners(event).filter_map(Weak::upgrade).collect();
            (sessions, listeners)
        };
        let now = self.runtime.now();
        for link in sessions.iter().map(|session| &session.link).chain(&listeners) {
            // Most sessions want to hear of nothing: their tasks may sleep on.
            if link.quietly(|state| state.machine.publish(now, event)) != Sent::NotWanted {
                link.wake();
            }
        }
    }

    pub(in crate::server) fn sessions(&self) -> Vec<Arc<Link>> {
        lock(&self.state).registry.sessions().map(|session| Arc::clone(&session.link)).collect()
    }

    /// Serves new requests by another catalogue.
    pub(in crate::server) fn replace(&self, catalogue: &Arc<Catalogue>) {
        let service = Arc::new(Service::new(Arc::clone(&catalogue.definition), self.options.clone()));
        let front = Front { service: Arc::clone(&service), catalogue: Arc::clone(catalogue) };
        *self.front.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(front);
        let (events, sessions) = {
            let mut state = lock(&self.state);
            state.catalogue = Arc::clone(catalogue);
            let events = state.registry.replace_service(service);
            (events, state.registry.sessions().cloned().collect::<Vec<_>>())
        };
        // Sessions find out themselves what has changed for them.
        for session in sessions {
            session.link.replace(catalogue);
        }
        for event in events {
            let listeners: Vec<_> = {
                let state = lock(&self.state);
                state.registry.listeners(&event).filter_map(Weak::upgrade).collect()
            };
            for link in listeners {
                let _ = link.with(|machine, now| machine.publish(now, &event));
            }
        }
    }

    /// Ends what waits for news; what was asked for goes on.
    pub(super) fn shut_down(&self) {
        let (sessions, listeners) = {
            let state = lock(&self.state);
            let sessions: Vec<_> = state.registry.sessions().cloned().collect();
            let listeners: Vec<_> = state.registry.all_listeners().filter_map(Weak::upgrade).collect();
            (sessions, listeners)
        };
        for link in listeners {
            link.with(|machine, now| machine.close(now));
        }
        for session in sessions {
            session.with(|machine, now| machine.shutdown(now));
        }
    }

    /// Closes sessions that have been idle for too long. Answers when to look again.
    fn reap(&self) -> Option<Mono> {
        let now = self.runtime.now();
        let (expired, due) = {
            let mut state = lock(&self.state);
            state.registry.handle_timeout(now);
            let expired: Vec<_> = std::iter::from_fn(|| state.registry.poll_expired()).collect();
            let due = state.registry.poll_timeout().map(|(at, _)| at);
            // Under the lock, as whoever compares with it does.
            self.armed.store(due.map_or(u64::MAX, Mono::as_nanos), Ordering::Release);
            (expired, due)
        };
        for session in expired {
            session.close();
        }
        due
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        let sessions: Vec<_> = lock(&self.state).registry.sessions().cloned().collect();
        for session in sessions {
            session.close();
        }
        self.reaper.wake();
    }
}

/// Looks for idle sessions, for as long as the endpoint lives.
struct Reaper {
    endpoint: Weak<Endpoint>,
    runtime: Arc<dyn Runtime>,
    timer: Timer,
}

impl Future for Reaper {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        loop {
            let Some(endpoint) = this.endpoint.upgrade() else { return Poll::Ready(()) };
            endpoint.reaper.register(cx.waker());
            let due = endpoint.reap();
            drop(endpoint);
            let now = this.runtime.now();
            if this.timer.poll(&this.runtime, now, due, cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}
