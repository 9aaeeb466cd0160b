//! The server of Streamable HTTP, but for its machines: what is judged, who serves, and which sessions there are.

use std::sync::Arc;

use mcp_sansio::http::server as core_http;
use mcp_sansio_told::cell::Cell;
use mcp_sansio_told::http::{self, Incoming as ToldIncoming, Registry as ToldRegistry};
use mcp_sansio_told::say;
use mcp_sansio_told::server::Machine as Serving;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

use crate::errors::Done;
use crate::invoke::Given;
use crate::machine::{Definition, Machine, Object, said};
use crate::time::{When, seed, when};
use crate::value::{Native, json, octets};

type Asked = (Option<Object>, Option<Object>, Option<Object>);
type Who = (Option<String>, Option<String>);
type Pairs<'py> = Vec<(Native<'py>, Native<'py>)>;

/// What an HTTP server is.
#[pyclass(frozen, module = "mcp_sansio._native")]
pub(crate) struct Service(Arc<core_http::Service>);

#[pymethods]
impl Service {
    /// `options` are plain settings; then come functions: which hosts and origins are welcome, and who owns a session.
    #[new]
    fn new(definition: &Definition, options: Native<'_>, asked: Asked) -> Done<Self> {
        let (hosts, origins, owner) = asked;
        let mut options = http::options(&json(&options)?)?;
        if let Some(welcome) = hosts {
            options = options.hosts(core_http::Allow::when(move |host| is_welcome(&welcome, (host,))));
        }
        if let Some(welcome) = origins {
            options = options.origins(core_http::Allow::when(move |origin| is_welcome(&welcome, (origin,))));
        }
        if let Some(owns) = owner {
            options = options.owner(move |claim| {
                let (opened, now) = ((claim.opened_by, claim.opened_from), (claim.principal, claim.origin));
                is_welcome(&owns, (claim.session, opened, now))
            });
        }
        Ok(Self(Arc::new(core_http::Service::new(Arc::clone(&definition.0), options))))
    }

    /// Judges the head of a request: its method and target, its headers, its authority and its principal.
    fn judge(&self, what: (String, String), headers: Pairs<'_>, who: Who, data: Option<Object>) -> PyResult<Incoming> {
        let pairs = headers.iter().map(|(name, value)| Ok((header(name)?, header(value)?)));
        let pairs = pairs.collect::<PyResult<Vec<_>>>()?;
        let (what, authority) = ((&*what.0, &*what.1), who.0.as_deref());
        let data = data.map(|data| Arc::new(Given(data)) as _);
        Ok(Incoming(Cell::new(ToldIncoming::of(&self.0, what, authority, &pairs, who.1, data), true)))
    }
}

/// What a function of Python answers. One that fails welcomes nobody.
fn is_welcome(function: &Object, arguments: impl for<'py> PyCallArgs<'py>) -> bool {
    Python::attach(|py| {
        let function = function.bind(py);
        function.call1(arguments).and_then(|answer| answer.is_truthy()).unwrap_or_else(|error| {
            error.write_unraisable(py, Some(function));
            false
        })
    })
}

/// A name or value of a header, which is bytes, or text that is none but Latin-1.
fn header(any: &Native<'_>) -> PyResult<bytes::Bytes> {
    match octets(any) {
        Ok(bytes) => Ok(bytes),
        Err(_) => octets(&any.call_method1("encode", ("latin-1",))?),
    }
}

/// A request on its way.
#[pyclass(frozen, module = "mcp_sansio._native")]
pub(crate) struct Incoming(pub(crate) Cell<ToldIncoming>);

#[pymethods]
impl Incoming {
    /// How far it has got: 0 taken, 1 answered, 2 its body is read, 3 to a session, 4 served alone.
    fn way(&self) -> Done<u32> {
        Ok(self.0.with(|incoming, _| Ok(incoming.way()))?)
    }

    fn remaining(&self) -> Done<usize> {
        Ok(self.0.with(|incoming, _| Ok(incoming.remaining()))?)
    }

    fn push(&self, data: &Native<'_>) -> Done<()> {
        let bytes = octets(data)?;
        Ok(self.0.with(|incoming, _| incoming.push(bytes))?)
    }

    fn refuse(&self, is_broken: bool) -> Done<()> {
        Ok(self.0.with(|incoming, _| Ok(incoming.refuse(is_broken)))?)
    }

    fn finish(&self, py: Python<'_>, now: Option<When>, seed: Option<&[u8]>) -> Done<()> {
        let seed = self::seed(py, seed)?;
        Ok(self.0.at(when(py, now)?, |incoming, now| incoming.finish(now, &seed))?)
    }

    fn response(&self, py: Python<'_>) -> Done<Option<Object>> {
        let saying = self.0.with(|incoming, _| Ok(incoming.response().map(|response| say::respond(0, response))))?;
        Ok(saying.map(|saying| said(py, saying, None)).transpose()?)
    }
}

/// What a listen stream asks the registry for.
#[pyclass(frozen, module = "mcp_sansio._native")]
pub(crate) struct Subscription(pub(crate) core_http::Subscription);

/// The endpoint's answer to a `Listen`.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct ListenOutcome(pub(crate) Result<core_http::ListenKey, core_http::NoRoom>);

#[pymethods]
impl ListenOutcome {
    #[getter]
    const fn admitted(&self) -> bool {
        self.0.is_ok()
    }
}

/// A session that was opened: a machine is made of it.
#[pyclass(frozen, module = "mcp_sansio._native")]
pub(crate) struct Opened(pub(crate) Cell<Option<Serving>>);

impl Opened {
    fn of(registry: &mut ToldRegistry) -> Option<Self> {
        registry.opened().map(|session| Self(Cell::new(Some(session), true)))
    }
}

/// The registry. Sessions and listen streams have numbers here, and objects in Python.
#[pyclass(frozen, module = "mcp_sansio._native")]
pub(crate) struct Registry(Cell<ToldRegistry>);

#[pymethods]
impl Registry {
    #[new]
    fn new(py: Python<'_>, service: &Service, seed: Option<&[u8]>, any_thread: bool) -> Done<Self> {
        let registry = ToldRegistry::new(&service.0, &self::seed(py, seed)?)?;
        Ok(Self(Cell::new(registry, any_thread)))
    }

    /// The number of the session that a request leads to, 0 for none, negative for one that has ended; and the session
    /// if it was opened now.
    fn admit(&self, py: Python<'_>, request: &Incoming, now: Option<When>) -> Done<(i64, Option<Opened>)> {
        Ok(self.0.at(when(py, now)?, |registry, now| {
            let number = request.0.with(|request, _| registry.admit(now, request))?;
            Ok((number, Opened::of(registry)))
        })?)
    }

    fn import_session(&self, exported: &Native<'_>, now: Option<When>) -> Done<(u32, Option<Opened>)> {
        let bytes = octets(exported)?;
        let import = |registry: &mut ToldRegistry, now| Ok((registry.import(now, &bytes)?, Opened::of(registry)));
        Ok(self.0.at(when(exported.py(), now)?, import)?)
    }

    fn exchange_ended(&self, py: Python<'_>, session: u32, now: Option<When>) -> Done<()> {
        Ok(self.0.at(when(py, now)?, |registry, now| Ok(registry.exchange_ended(now, session)))?)
    }

    fn remove(&self, session: u32) -> Done<()> {
        Ok(self.0.with(|registry, _| Ok(registry.remove(session)))?)
    }

    fn listen(&self, listen: &Subscription, number: u32) -> Done<ListenOutcome> {
        Ok(ListenOutcome(self.0.with(|registry, _| Ok(registry.enter(listen.0.clone(), number)))?))
    }

    fn unlisten(&self, machine: &Machine) -> Done<Option<u32>> {
        Ok(machine.cell.with(|machine, _| self.0.with(|registry, _| Ok(registry.unlisten(machine.server()?))))?)
    }

    fn listeners(&self, change: &str, uri: Option<String>) -> Done<Vec<u32>> {
        Ok(self.0.with(|registry, _| registry.listeners(change, uri))?)
    }

    fn replace_service(&self, service: &Service) -> Done<Vec<&'static str>> {
        Ok(self.0.with(|registry, _| Ok(registry.replace_service(&service.0)))?)
    }

    fn handle_timeout(&self, py: Python<'_>, now: Option<When>) -> Done<()> {
        Ok(self.0.at(when(py, now)?, |registry, now| Ok(registry.handle_timeout(now)))?)
    }

    fn poll_expired(&self) -> Done<Option<u32>> {
        Ok(self.0.with(|registry, _| Ok(registry.poll_expired()))?)
    }

    fn poll_timeout(&self) -> Done<Option<(u64, &'static str)>> {
        let due = self.0.with(|registry, _| Ok(registry.poll_timeout()))?;
        Ok(due.map(|(at, kind)| (at.as_nanos(), kind.name())))
    }

    fn delay(&self, py: Python<'_>, now: Option<When>) -> Done<Option<f64>> {
        let (now, due) = (when(py, now)?, self.0.with(|registry, _| Ok(registry.poll_timeout()))?);
        Ok(due.map(|(at, _)| now.mono.until(at).as_secs_f64()))
    }
}
