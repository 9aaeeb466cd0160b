//! The server of Streamable HTTP, but for its machines: what is judged, who serves, and which sessions there are.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use bytes::Bytes;
use mcp_sansio::http::server as http;
use mcp_sansio::ids::ReplySlot;
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Mono, Now, TimerKind};
use mcp_sansio_bindings::http as settings;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::actions::{Listen, Publish, respond};
use crate::cell::{self, Cell, Machine, time};
use crate::client::octets;
use crate::errors::{core, misuse};
use crate::invoke::Given;
use crate::server::{Definition, Exchange, Serving, Session, subscription};
use crate::value::json_or;

type Object = Py<PyAny>;
type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;
type Shared = (http::SessionKey, Arc<Cell<Serving>>);
type Registry = http::Endpoint<Shared, Object>;

/// Takes what can be used once out of its place.
fn once<T>(place: &Mutex<Option<T>>, what: &str) -> PyResult<T> {
    let taken = match place.try_lock() {
        Ok(mut place) => place.take(),
        Err(TryLockError::Poisoned(place)) => place.into_inner().take(),
        Err(TryLockError::WouldBlock) => None,
    };
    taken.ok_or_else(|| misuse(&format!("{what} was used before")))
}

/// What an HTTP server is.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Service {
    service: Arc<http::Service>,
    any_thread: bool,
}

#[pymethods]
impl Service {
    /// `options` are plain settings; `hosts`, `origins` and `owner` are functions that answer whether somebody is welcome.
    #[new]
    #[pyo3(signature = (definition, options=None, *, hosts=None, origins=None, owner=None, any_thread=false))]
    fn new(
        definition: &Definition,
        options: Any<'_, '_>,
        hosts: Option<Object>,
        origins: Option<Object>,
        owner: Option<Object>,
        any_thread: bool,
    ) -> PyResult<Self> {
        let mut options = settings::options(&json_or(options, Json::EMPTY_OBJECT)?).map_err(core)?;
        if let Some(welcome) = hosts {
            options = options.hosts(http::Allow::when(move |host| asked(&welcome, |py| tuple(py, (host,)))));
        }
        if let Some(welcome) = origins {
            options = options.origins(http::Allow::when(move |origin| asked(&welcome, |py| tuple(py, (origin,)))));
        }
        if let Some(owns) = owner {
            options = options.owner(move |claim| {
                let (opened, now) = ((claim.opened_by, claim.opened_from), (claim.principal, claim.origin));
                asked(&owns, |py| tuple(py, (claim.session, opened, now)))
            });
        }
        Ok(Self { service: Arc::new(http::Service::new(Arc::clone(&definition.0), options)), any_thread })
    }

    /// Judges the head of a request: a `Respond`, an `Intake` for its body, or a `SessionRequest`.
    #[pyo3(signature = (method, target, headers, *, authority=None, principal=None, data=None))]
    fn judge(
        slf: &Bound<'_, Self>,
        method: &str,
        target: &str,
        headers: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        authority: Option<&str>,
        principal: Option<&str>,
        data: Option<Object>,
    ) -> PyResult<Object> {
        let (py, this) = (slf.py(), slf.get());
        let pairs = headers.iter().map(|(name, value)| Ok((octets(name)?, octets(value)?)));
        let pairs = pairs.collect::<PyResult<Vec<_>>>()?;
        let mut head = http::Head::new(method, target);
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
        match this.service.judge(head) {
            http::Judged::Refused(response) => respond(py, 0, response),
            http::Judged::Post(intake) => {
                let intake = Intake { intake: Mutex::new(Some(intake)), service: slf.clone().unbind() };
                Ok(Py::new(py, intake)?.into_any())
            }
            http::Judged::Session(request) => SessionRequest::object(py, request),
            _ => Err(misuse("the head leads nowhere")),
        }
    }
}

/// What a function of Python answers. One that fails welcomes nobody.
fn asked(function: &Object, arguments: impl FnOnce(Python<'_>) -> PyResult<Py<PyTuple>>) -> bool {
    Python::attach(|py| {
        let function = function.bind(py);
        let answer = arguments(py).and_then(|arguments| function.call1(arguments.bind(py)));
        answer.and_then(|answer| answer.is_truthy()).unwrap_or_else(|error| {
            error.write_unraisable(py, Some(function));
            false
        })
    })
}

fn tuple<'py, T: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>>(
    py: Python<'py>,
    arguments: T,
) -> PyResult<Py<PyTuple>> {
    arguments.into_pyobject(py).map(Bound::unbind)
}

/// A request about a legacy session.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct SessionRequest(Mutex<Option<Box<http::Request>>>);

impl SessionRequest {
    fn object(py: Python<'_>, request: Box<http::Request>) -> PyResult<Object> {
        Ok(Py::new(py, Self(Mutex::new(Some(request))))?.into_any())
    }

    pub(crate) fn take(&self) -> PyResult<Box<http::Request>> {
        once(&self.0, "the request")
    }
}

/// The body of a request, as it arrives.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Intake {
    intake: Mutex<Option<http::Intake>>,
    service: Py<Service>,
}

#[pymethods]
impl Intake {
    /// How many bytes may still come.
    #[getter]
    fn remaining(&self) -> usize {
        let intake = self.intake.lock().unwrap_or_else(PoisonError::into_inner);
        intake.as_ref().map_or(0, http::Intake::remaining)
    }

    /// Takes a piece; what it answers ends the request.
    fn push(&self, py: Python<'_>, data: Cow<'_, [u8]>) -> PyResult<Option<Object>> {
        let mut intake = once(&self.intake, "the intake")?;
        let pushed = intake.push(Bytes::from(data.into_owned()));
        *self.intake.lock().unwrap_or_else(PoisonError::into_inner) = Some(intake);
        pushed.err().map(|response| respond(py, 0, *response)).transpose()
    }

    fn give_up(&self, py: Python<'_>) -> PyResult<Object> {
        respond(py, 0, once(&self.intake, "the intake")?.give_up())
    }

    /// Who serves it: a `Respond`, an `Exchange`, or a `SessionRequest`.
    #[pyo3(signature = (*, now=None, seed=None))]
    fn finish(&self, py: Python<'_>, now: Any<'_, '_>, seed: Option<&[u8]>) -> PyResult<Object> {
        let (now, seed) = (time(py, now)?, cell::seed(py, seed)?);
        let service = self.service.get();
        match once(&self.intake, "the intake")?.finish(&service.service, now, seed) {
            http::Routed::Answered(response) => respond(py, 0, response),
            http::Routed::Exchange(exchange) => Exchange::object(py, exchange, service.any_thread),
            http::Routed::Session(request) => SessionRequest::object(py, request),
            _ => Err(misuse("the body leads nowhere")),
        }
    }
}

/// The endpoint's answer to a `Listen`.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct ListenOutcome(pub(crate) Result<http::ListenKey, http::NoRoom>);

#[pymethods]
impl ListenOutcome {
    /// Whether there was room.
    #[getter]
    const fn admitted(&self) -> bool {
        self.0.is_ok()
    }
}

/// A request of this session: let it accept it.
#[pyclass(frozen, get_all, module = "mcp_sansio")]
pub(crate) struct Admitted {
    session: Py<Session>,
    request: Object,
}

/// The session is ended: close its machine, and give the answer.
#[pyclass(frozen, get_all, module = "mcp_sansio")]
pub(crate) struct Ended {
    session: Py<Session>,
    response: Object,
}

impl Machine for Registry {
    fn abandon(&mut self, _now: Now, _slot: ReplySlot) {}

    fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
        Self::poll_timeout(self)
    }
}

/// Which sessions and listen streams there are.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Endpoint(Cell<Registry>);

#[pymethods]
impl Endpoint {
    #[new]
    #[pyo3(signature = (service, *, seed=None))]
    fn new(py: Python<'_>, service: &Service, seed: Option<&[u8]>) -> PyResult<Self> {
        let registry = Registry::new(Arc::clone(&service.service), cell::seed(py, seed)?);
        Ok(Self(Cell::new(registry, service.any_thread)))
    }

    /// Leads a request to its session: a `Respond`, `Admitted`, `Ended`, or an `Exchange` after all.
    #[pyo3(signature = (request, *, now=None))]
    fn admit(&self, py: Python<'_>, request: &SessionRequest, now: Any<'_, '_>) -> PyResult<Object> {
        let request = request.take()?;
        let any_thread = self.0.any_thread();
        let wrap = |key, session| (key, Arc::new(Cell::new(Serving::Session(Box::new(session)), any_thread)));
        match self.0.at(py, now, |registry, now| registry.admit(now, request, wrap))? {
            http::Admitted::Answered(response) => respond(py, 0, response),
            http::Admitted::Exchange(exchange) => Exchange::object(py, exchange, any_thread),
            http::Admitted::Session { session: (key, cell), request, .. } => {
                let session = Session::object(py, key, cell)?;
                Ok(Py::new(py, Admitted { session, request: SessionRequest::object(py, request)? })?.into_any())
            }
            http::Admitted::Ended { session: (key, cell), response } => {
                let session = Session::object(py, key, cell)?;
                Ok(Py::new(py, Ended { session, response: respond(py, 0, response)? })?.into_any())
            }
            _ => Err(misuse("the request leads nowhere")),
        }
    }

    #[pyo3(signature = (session, *, now=None))]
    fn exchange_ended(&self, py: Python<'_>, session: &Session, now: Any<'_, '_>) -> PyResult<()> {
        self.0.at(py, now, |registry, now| registry.exchange_ended(now, session.key))
    }

    fn remove(&self, session: &Session) -> PyResult<bool> {
        self.0.with(|registry| registry.remove(session.key).is_some())
    }

    fn sessions(&self, py: Python<'_>) -> PyResult<Vec<Py<Session>>> {
        let all = self.0.with(|registry| registry.sessions().cloned().collect::<Vec<_>>())?;
        all.into_iter().map(|(key, cell)| Session::object(py, key, cell)).collect()
    }

    /// Enters a listen stream under a handle of the caller's.
    fn listen(&self, listen: &Listen, handle: Object) -> PyResult<ListenOutcome> {
        self.0.with(|registry| ListenOutcome(registry.listen(subscription(listen), handle)))
    }

    /// Forgets the listen stream of an exchange, if it is one.
    fn unlisten(&self, exchange: &Bound<'_, Exchange>) -> PyResult<Option<Object>> {
        match Exchange::listen_key(exchange)? {
            Some(key) => self.0.with(|registry| registry.unlisten(key)),
            None => Ok(None),
        }
    }

    /// The handles of the listen streams that want to hear of this.
    fn listeners(&self, py: Python<'_>, event: &Publish) -> PyResult<Vec<Object>> {
        self.0.with(|registry| registry.listeners(&event.0).map(|handle| handle.clone_ref(py)).collect())
    }

    fn replace_service(&self, service: &Service) -> PyResult<Vec<Publish>> {
        let changes = self.0.with(|registry| registry.replace_service(Arc::clone(&service.service)))?;
        Ok(changes.into_iter().map(Publish).collect())
    }

    #[pyo3(signature = (exported, *, now=None))]
    fn import_session(&self, py: Python<'_>, exported: Cow<'_, [u8]>, now: Any<'_, '_>) -> PyResult<()> {
        let any_thread = self.0.any_thread();
        let wrap = |key, session| (key, Arc::new(Cell::new(Serving::Session(Box::new(session)), any_thread)));
        self.0.at(py, now, |registry, now| registry.import(now, &exported, wrap).map(drop))?.map_err(core)
    }

    #[pyo3(signature = (now=None))]
    fn handle_timeout(&self, py: Python<'_>, now: Any<'_, '_>) -> PyResult<()> {
        self.0.at(py, now, |registry, now| registry.handle_timeout(now))
    }

    /// A session that has expired: close its machine.
    fn poll_expired(&self, py: Python<'_>) -> PyResult<Option<Py<Session>>> {
        let expired = self.0.with(|registry| registry.poll_expired())?;
        expired.map(|(key, cell)| Session::object(py, key, cell)).transpose()
    }

    fn poll_timeout(&self) -> PyResult<Option<(u64, &'static str)>> {
        self.0.deadline()
    }

    #[pyo3(signature = (now=None))]
    fn delay(&self, py: Python<'_>, now: Any<'_, '_>) -> PyResult<Option<f64>> {
        self.0.delay(py, now)
    }
}
