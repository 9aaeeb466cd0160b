//! The server of Streamable HTTP, but for its machines: what is judged, who serves, and which sessions there are.

use std::sync::{Arc, Mutex, TryLockError};

use mcp_sansio::error::Error;
use mcp_sansio::http::server as core_http;
use mcp_sansio::ids::SlotId;
use mcp_sansio::machine::{Mono, Now, TimerKind};
use mcp_sansio_told::http::{self, Incoming as ToldIncoming, Registry as ToldRegistry};
use mcp_sansio_told::say;
use mcp_sansio_told::server::Machine as Serving;
use mcp_sansio_told::told::argument;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

use crate::cell::{Any, Cell, Inside, seed, time};
use crate::errors::{misuse, raised};
use crate::invoke::Given;
use crate::machine::{Definition, Machine, Subscription, said};
use crate::value::{json, octets};

type Object = Py<PyAny>;

/// What an HTTP server is.
#[pyclass(frozen, module = "mcp_sansio._native")]
pub(crate) struct Service(Arc<core_http::Service>);

#[pymethods]
impl Service {
    /// `options` are plain settings; `hosts`, `origins` and `owner` are functions that answer whether somebody is welcome.
    #[new]
    fn new(
        definition: &Definition,
        options: &Bound<'_, PyAny>,
        hosts: Option<Object>,
        origins: Option<Object>,
        owner: Option<Object>,
    ) -> PyResult<Self> {
        let mut options = http::options(&json(options)?).map_err(raised)?;
        if let Some(welcome) = hosts {
            options = options.hosts(core_http::Allow::when(move |host| asked(&welcome, (host,))));
        }
        if let Some(welcome) = origins {
            options = options.origins(core_http::Allow::when(move |origin| asked(&welcome, (origin,))));
        }
        if let Some(owns) = owner {
            options = options.owner(move |claim| {
                let (opened, now) = ((claim.opened_by, claim.opened_from), (claim.principal, claim.origin));
                asked(&owns, (claim.session, opened, now))
            });
        }
        Ok(Self(Arc::new(core_http::Service::new(Arc::clone(&definition.0), options))))
    }

    /// Judges the head of a request.
    fn judge(
        &self,
        method: &str,
        target: &str,
        headers: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        authority: Option<&str>,
        principal: Option<&str>,
        data: Option<Object>,
    ) -> PyResult<Incoming> {
        let pairs = headers.iter().map(|(name, value)| Ok((header(name)?, header(value)?)));
        let pairs = pairs.collect::<PyResult<Vec<_>>>()?;
        let mut head = core_http::Head::new(method, target);
        for (name, value) in &pairs {
            // A name that is no text is none of the protocol's.
            head.header(std::str::from_utf8(name).unwrap_or_default(), value);
        }
        if let Some(authority) = authority {
            head = head.authority(authority);
        }
        if let Some(principal) = principal {
            head = head.principal(principal.into());
        }
        if let Some(data) = data {
            head = head.data(Arc::new(Given(data)));
        }
        Ok(Incoming(Mutex::new(ToldIncoming::of(&self.0, head))))
    }
}

/// What a function of Python answers. One that fails welcomes nobody.
fn asked(function: &Object, arguments: impl for<'py> PyCallArgs<'py>) -> bool {
    Python::attach(|py| {
        let function = function.bind(py);
        function.call1(arguments).and_then(|answer| answer.is_truthy()).unwrap_or_else(|error| {
            error.write_unraisable(py, Some(function));
            false
        })
    })
}

/// A name or value of a header, which is bytes, or text that is none but Latin-1.
fn header(any: &Bound<'_, PyAny>) -> PyResult<bytes::Bytes> {
    match octets(any) {
        Ok(bytes) => Ok(bytes),
        Err(_) => octets(&any.call_method1("encode", ("latin-1",))?),
    }
}

/// A request on its way.
#[pyclass(frozen, module = "mcp_sansio._native")]
pub(crate) struct Incoming(Mutex<ToldIncoming>);

impl Incoming {
    /// Takes it a step further.
    pub(crate) fn told<R>(&self, step: impl FnOnce(&mut ToldIncoming) -> Result<R, Error>) -> Result<R, Error> {
        match self.0.try_lock() {
            Ok(mut incoming) => step(&mut incoming),
            Err(TryLockError::Poisoned(incoming)) => step(&mut incoming.into_inner()),
            Err(TryLockError::WouldBlock) => Err(argument("the request is in use")),
        }
    }

    pub(crate) fn with<R>(&self, step: impl FnOnce(&mut ToldIncoming) -> Result<R, Error>) -> PyResult<R> {
        self.told(step).map_err(raised)
    }
}

#[pymethods]
impl Incoming {
    /// How far it has got: 0 taken, 1 answered, 2 its body is read, 3 to a session, 4 served alone.
    fn way(&self) -> PyResult<u32> {
        self.with(|incoming| Ok(incoming.way()))
    }

    fn remaining(&self) -> PyResult<usize> {
        self.with(|incoming| Ok(incoming.remaining()))
    }

    fn push(&self, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = octets(data)?;
        self.with(|incoming| incoming.push(bytes))
    }

    fn give_up(&self) -> PyResult<()> {
        self.with(|incoming| {
            incoming.give_up();
            Ok(())
        })
    }

    fn finish(&self, py: Python<'_>, now: Any<'_, '_>, seed: Option<&[u8]>) -> PyResult<()> {
        let (now, seed) = (time(py, now)?, self::seed(py, seed)?);
        self.with(|incoming| incoming.finish(now, &seed))
    }

    /// The answer, as a `Respond`.
    fn response(&self, py: Python<'_>) -> PyResult<Option<Object>> {
        let saying = self.with(|incoming| Ok(incoming.response().map(|response| say::respond(0, response))))?;
        saying.map(|saying| said(py, saying, None)).transpose()
    }
}

/// The endpoint's answer to a `Listen`.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct ListenOutcome(pub(crate) Result<core_http::ListenKey, core_http::NoRoom>);

#[pymethods]
impl ListenOutcome {
    /// Whether there was room.
    #[getter]
    const fn admitted(&self) -> bool {
        self.0.is_ok()
    }
}

/// A session that was opened: a machine is made of it.
#[pyclass(frozen, module = "mcp_sansio._native")]
pub(crate) struct Opened(Mutex<Option<Serving>>);

impl Opened {
    fn of(session: Option<Serving>) -> Option<Self> {
        session.map(|session| Self(Mutex::new(Some(session))))
    }

    pub(crate) fn take(&self) -> PyResult<Serving> {
        let session = self.0.try_lock().ok().and_then(|mut session| session.take());
        session.ok_or_else(|| misuse("the session was taken before"))
    }
}

impl Inside for ToldRegistry {
    fn abandon(&mut self, _now: Now, _slot: SlotId) {}

    fn poll_timeout(&mut self) -> Option<(Mono, TimerKind)> {
        Self::poll_timeout(self)
    }
}

/// The registry. Sessions and listen streams have numbers here, and objects in Python.
#[pyclass(frozen, module = "mcp_sansio._native")]
pub(crate) struct Registry(Cell<ToldRegistry>);

#[pymethods]
impl Registry {
    #[new]
    fn new(py: Python<'_>, service: &Service, seed: Option<&[u8]>, any_thread: bool) -> PyResult<Self> {
        let registry = ToldRegistry::new(&service.0, &self::seed(py, seed)?).map_err(raised)?;
        Ok(Self(Cell::new(registry, any_thread)))
    }

    /// The number of the session that a request leads to, 0 for none, negative for one that has ended; and the session
    /// if it was opened now.
    fn admit(&self, py: Python<'_>, request: &Incoming, now: Any<'_, '_>) -> PyResult<(i64, Option<Opened>)> {
        self.0.at(py, now, |registry, now| {
            let number = request.told(|request| registry.admit(now, request))?;
            Ok((number, Opened::of(registry.opened())))
        })
    }

    fn import_session(
        &self,
        py: Python<'_>,
        exported: &Bound<'_, PyAny>,
        now: Any<'_, '_>,
    ) -> PyResult<(u32, Option<Opened>)> {
        let exported = octets(exported)?;
        self.0.at(py, now, |registry, now| {
            let number = registry.import(now, &exported)?;
            Ok((number, Opened::of(registry.opened())))
        })
    }

    /// Whether it can be used: an error if it cannot.
    fn check(&self) -> PyResult<()> {
        self.0.with(|_, _| ())
    }

    fn exchange_ended(&self, py: Python<'_>, session: u32, now: Any<'_, '_>) -> PyResult<()> {
        self.0.at(py, now, |registry, now| {
            registry.exchange_ended(now, session);
            Ok(())
        })
    }

    fn remove(&self, session: u32) -> PyResult<()> {
        self.0.with(|registry, _| registry.remove(session))
    }

    fn listen(&self, listen: &Subscription, number: u32) -> PyResult<ListenOutcome> {
        self.0.with(|registry, _| ListenOutcome(registry.enter(listen.0.clone(), number)))
    }

    fn unlisten(&self, machine: &Machine) -> PyResult<Option<u32>> {
        machine.serving(|machine| self.0.with(|registry, _| registry.unlisten(machine)))?
    }

    fn listeners(&self, change: &str, uri: Option<String>) -> PyResult<Vec<u32>> {
        self.0.with(|registry, _| registry.listeners(change, uri))?.map_err(raised)
    }

    fn replace_service(&self, service: &Service) -> PyResult<Vec<&'static str>> {
        self.0.with(|registry, _| registry.replace_service(&service.0))
    }

    fn handle_timeout(&self, py: Python<'_>, now: Any<'_, '_>) -> PyResult<()> {
        self.0.at(py, now, |registry, now| {
            registry.handle_timeout(now);
            Ok(())
        })
    }

    fn poll_expired(&self) -> PyResult<Option<u32>> {
        self.0.with(|registry, _| registry.poll_expired())
    }

    fn poll_timeout(&self) -> PyResult<Option<(u64, &'static str)>> {
        self.0.deadline()
    }

    fn delay(&self, py: Python<'_>, now: Any<'_, '_>) -> PyResult<Option<f64>> {
        self.0.delay(py, now)
    }
}
