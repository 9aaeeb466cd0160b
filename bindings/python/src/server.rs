//! The machines of a server: one byte stream, one HTTP exchange, one legacy HTTP session. Most verbs are those of all.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use mcp_sansio::error::Error;
use mcp_sansio::http::server as http;
use mcp_sansio::ids::{CallId, ReplySlot};
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Input, Mono, Now, TimerKind};
use mcp_sansio::server::{
    self as core_server, Event, List, LogMessage, Progress, Reply as CoreReply, Sent, Server as Lines,
};
use mcp_sansio_bindings::{definition, reply};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::actions::{Listen, Publish, of_http, of_server};
use crate::cell::{Cell, Guard, Machine, seed, span};
use crate::errors::{core, misuse, told};
use crate::http::{ListenOutcome, SessionRequest};
use crate::invoke::{Invoke, Slot};
use crate::value::{json, json_or};

type Object = Py<PyAny>;
type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

pub(crate) enum Serving {
    Lines(Box<Lines>),
    Exchange(Box<http::Exchange>),
    Session(Box<http::Session>),
}

/// The same verb of whichever machine it is.
macro_rules! each {
    ($serving:expr, $machine:ident => $verb:expr) => {
        match $serving {
            Serving::Lines($machine) => $verb,
            Serving::Exchange($machine) => $verb,
            Serving::Session($machine) => $verb,
        }
    };
}

impl Machine for Serving {
    fn abandon(&mut self, now: Now, slot: ReplySlot) {
        each!(self, machine => machine.abandon(now, slot));
    }

    fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
        each!(self, machine => machine.poll_timeout())
    }
}

/// The slot that an argument stands for.
pub(crate) fn guard(given: &Bound<'_, PyAny>) -> PyResult<Arc<Guard>> {
    match (given.cast::<Invoke>(), given.cast::<Slot>()) {
        (Ok(invoke), _) => Ok(invoke.get().guard()),
        (_, Ok(slot)) => Ok(Arc::clone(&slot.get().0)),
        _ => Err(misuse("this is neither an Invoke nor a Slot")),
    }
}

/// An answer to an invocation.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Reply(CoreReply);

#[pymethods]
impl Reply {
    /// A reply by kind, of a native value or raw bytes.
    #[new]
    #[pyo3(signature = (kind, value=None))]
    fn new(kind: &str, value: Any<'_, '_>) -> PyResult<Self> {
        reply::reply(kind, &json_or(value, Json::NULL)?).map(Self).map_err(core)
    }

    /// The result of a tool that is one text.
    #[staticmethod]
    #[pyo3(signature = (text, *, is_error=false))]
    fn text(text: &str, is_error: bool) -> Self {
        Self(reply::text(text, is_error))
    }
}

fn reply_of(given: &Bound<'_, PyAny>, asked: &str) -> PyResult<CoreReply> {
    if let Ok(reply) = given.cast::<Reply>() {
        return Ok(reply.get().0.clone());
    }
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(reply::text(text.to_str()?, false));
    }
    if let Some(error) = told(given)? {
        return Ok(CoreReply::Error(error));
    }
    reply::result_of(asked, &json(given)?).map_err(core)
}

/// What the machines of a server have in common.
#[pyclass(frozen, subclass, module = "mcp_sansio")]
pub(crate) struct ServerMachine {
    pub(crate) cell: Arc<Cell<Serving>>,
}

#[pymethods]
impl ServerMachine {
    fn poll(&self, py: Python<'_>) -> PyResult<Option<Object>> {
        loop {
            let home = &self.cell.home;
            let said = match self.cell.with(|serving| match serving {
                Serving::Lines(machine) => machine.poll_action().map(Ok),
                Serving::Exchange(machine) => machine.poll_action().map(Err),
                Serving::Session(machine) => machine.poll_action().map(Err),
            })? {
                None => return Ok(None),
                Some(Ok(action)) => of_server(py, home, action)?,
                Some(Err(action)) => of_http(py, home, action)?,
            };
            if said.is_some() {
                return Ok(said);
            }
        }
    }

    fn poll_timeout(&self) -> PyResult<Option<(u64, &'static str)>> {
        self.cell.deadline()
    }

    #[pyo3(signature = (now=None))]
    fn delay(&self, py: Python<'_>, now: Any<'_, '_>) -> PyResult<Option<f64>> {
        self.cell.delay(py, now)
    }

    #[pyo3(signature = (now=None))]
    fn handle_timeout(&self, py: Python<'_>, now: Any<'_, '_>) -> PyResult<()> {
        self.cell.at(py, now, |serving, now| each!(serving, machine => machine.handle_timeout(now)))
    }

    #[pyo3(signature = (slot, reply, *, now=None))]
    fn reply(
        &self,
        py: Python<'_>,
        slot: &Bound<'_, PyAny>,
        reply: &Bound<'_, PyAny>,
        now: Any<'_, '_>,
    ) -> PyResult<()> {
        let guard = guard(slot)?;
        let reply = reply_of(reply, guard.asked)?;
        let done = self.cell.at(py, now, |serving, now| {
            let slot = guard.take(&self.cell.home)?;
            each!(serving, machine => machine.reply(now, slot, reply)).map_err(core)
        });
        done?
    }

    #[pyo3(signature = (slot, *, now=None))]
    fn abandon(&self, py: Python<'_>, slot: &Bound<'_, PyAny>, now: Any<'_, '_>) -> PyResult<()> {
        let guard = guard(slot)?;
        let done = self.cell.at(py, now, |serving, now| {
            let slot = guard.take(&self.cell.home)?;
            each!(serving, machine => machine.abandon(now, slot));
            Ok(())
        });
        done?
    }

    #[pyo3(signature = (slot, progress, total=None, message=None, *, now=None))]
    fn progress(
        &self,
        py: Python<'_>,
        slot: &Bound<'_, PyAny>,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
        now: Any<'_, '_>,
    ) -> PyResult<&'static str> {
        let slot = guard(slot)?.name(&self.cell.home)?;
        let progress = Progress { progress, total, message };
        self.sent(py, now, |serving, now| each!(serving, machine => machine.progress(now, slot, &progress)))
    }

    #[pyo3(signature = (level, data, *, logger=None, slot=None, now=None))]
    fn log(
        &self,
        py: Python<'_>,
        level: &str,
        data: &Bound<'_, PyAny>,
        logger: Option<String>,
        slot: Any<'_, '_>,
        now: Any<'_, '_>,
    ) -> PyResult<&'static str> {
        let slot = slot.map(|slot| guard(slot)?.name(&self.cell.home)).transpose()?;
        let level = definition::level(level).map_err(core)?;
        let message = LogMessage { level, logger, data: json(data)? };
        self.sent(py, now, |serving, now| each!(serving, machine => machine.log(now, slot, &message)))
    }

    #[pyo3(signature = (method, params=None, *, slot=None, now=None))]
    fn notify(
        &self,
        py: Python<'_>,
        method: &str,
        params: Any<'_, '_>,
        slot: Any<'_, '_>,
        now: Any<'_, '_>,
    ) -> PyResult<()> {
        let slot = slot.map(|slot| guard(slot)?.name(&self.cell.home)).transpose()?;
        let params = params.map(json).transpose()?;
        let done = self.cell.at(py, now, |serving, now| match serving {
            Serving::Lines(machine) => machine.notify(now, method, params.as_ref()),
            Serving::Exchange(machine) => machine.notify(now, slot, method, params.as_ref()),
            Serving::Session(machine) => machine.notify(now, slot, method, params.as_ref()),
        });
        done?.map_err(core)
    }

    /// On a byte stream the client is told; over HTTP an action asks to tell the others.
    #[pyo3(signature = (change, uri=None, *, now=None))]
    fn publish(&self, py: Python<'_>, change: &str, uri: Option<&str>, now: Any<'_, '_>) -> PyResult<&'static str> {
        let event = event(change, uri)?;
        let sent = self.cell.at(py, now, |serving, now| match serving {
            Serving::Lines(machine) => machine.publish(now, &event),
            Serving::Exchange(machine) => {
                machine.publish(now, event);
                Sent::Yes
            }
            Serving::Session(machine) => {
                machine.publish(now, event);
                Sent::Yes
            }
        });
        Ok(sent?.name())
    }

    #[pyo3(signature = (method, params=None, *, slot=None, timeout=None, now=None))]
    fn request(
        &self,
        py: Python<'_>,
        method: &str,
        params: Any<'_, '_>,
        slot: Any<'_, '_>,
        timeout: Option<f64>,
        now: Any<'_, '_>,
    ) -> PyResult<u64> {
        let slot = slot.map(|slot| guard(slot)?.name(&self.cell.home)).transpose()?;
        let (params, timeout) = (params.map(json).transpose()?, timeout.map(span).transpose()?);
        let params = params.as_ref();
        let call = self.cell.at(py, now, |serving, now| match serving {
            Serving::Lines(machine) => machine.request(now, slot, method, params, timeout).map_err(core),
            Serving::Session(machine) => machine.request(now, slot, method, params, timeout).map_err(core),
            Serving::Exchange(_) => Err(misuse("no client can be asked on an exchange of its own")),
        });
        Ok(call??.to_u64())
    }

    #[pyo3(signature = (call, reason=None, *, now=None))]
    fn cancel_request(&self, py: Python<'_>, call: u64, reason: Option<&str>, now: Any<'_, '_>) -> PyResult<()> {
        let call = CallId::from_u64(call);
        let done = self.cell.at(py, now, |serving, now| match serving {
            Serving::Lines(machine) => machine.cancel_request(now, call, reason).map_err(core),
            Serving::Session(machine) => machine.cancel_request(now, call, reason).map_err(core),
            Serving::Exchange(_) => Err(misuse("no client can be asked on an exchange of its own")),
        });
        done?
    }

    #[pyo3(signature = (elicitation_id, *, now=None))]
    fn elicitation_complete(&self, py: Python<'_>, elicitation_id: &str, now: Any<'_, '_>) -> PyResult<&'static str> {
        let sent = self.cell.at(py, now, |serving, now| match serving {
            Serving::Lines(machine) => machine.elicitation_complete(now, elicitation_id),
            Serving::Session(machine) => machine.elicitation_complete(now, elicitation_id),
            Serving::Exchange(_) => Sent::NotWanted,
        });
        Ok(sent?.name())
    }

    #[pyo3(signature = (definition, *, now=None))]
    fn replace_definition(&self, py: Python<'_>, definition: &Definition, now: Any<'_, '_>) -> PyResult<()> {
        let definition = Arc::clone(&definition.0);
        self.cell.at(py, now, |serving, now| match serving {
            Serving::Lines(machine) => machine.replace_definition(now, definition),
            Serving::Session(machine) => machine.replace_definition(now, definition),
            Serving::Exchange(_) => {}
        })
    }

    #[pyo3(signature = (*, now=None))]
    fn close(&self, py: Python<'_>, now: Any<'_, '_>) -> PyResult<()> {
        self.cell.at(py, now, |serving, now| match serving {
            Serving::Lines(machine) => machine.close(now),
            Serving::Session(machine) => machine.close(now),
            Serving::Exchange(machine) => machine.shutdown(now),
        })
    }

    /// Whether only the queue is left.
    #[getter]
    fn is_closed(&self) -> PyResult<bool> {
        self.cell.with(|serving| match serving {
            Serving::Lines(machine) => machine.is_closed(),
            Serving::Session(machine) => machine.is_closed(),
            Serving::Exchange(machine) => machine.is_over(),
        })
    }
}

impl ServerMachine {
    fn sent(
        &self,
        py: Python<'_>,
        now: Any<'_, '_>,
        verb: impl FnOnce(&mut Serving, Now) -> Result<Sent, Error>,
    ) -> PyResult<&'static str> {
        self.cell.at(py, now, verb)?.map(Sent::name).map_err(core)
    }

    /// A verb of an exchange or a session.
    fn http<R>(
        &self,
        py: Python<'_>,
        now: Any<'_, '_>,
        exchange: impl FnOnce(&mut http::Exchange, Now) -> R,
        session: impl FnOnce(&mut http::Session, Now) -> R,
    ) -> PyResult<R> {
        let done = self.cell.at(py, now, |serving, now| match serving {
            Serving::Exchange(machine) => Some(exchange(machine, now)),
            Serving::Session(machine) => Some(session(machine, now)),
            Serving::Lines(_) => None,
        });
        done?.ok_or_else(|| misuse("a machine of HTTP only"))
    }
}

/// Something that has changed, by name.
pub(crate) fn event(change: &str, uri: Option<&str>) -> PyResult<Event> {
    match (List::named(change), uri) {
        (Some(List::Prompts), None) => Ok(Event::PromptsListChanged),
        (Some(List::Resources), None) => Ok(Event::ResourcesListChanged),
        (Some(List::Tools), None) => Ok(Event::ToolsListChanged),
        (None, Some(uri)) if change == "resource" => Ok(Event::ResourceUpdated { uri: uri.into() }),
        _ => Err(misuse("a list can change but that of templates, and a resource with its uri")),
    }
}

/// What a server offers.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Definition(pub(crate) Arc<core_server::Definition>);

#[pymethods]
impl Definition {
    /// Builds a definition of an object of settings.
    #[staticmethod]
    fn from_settings(settings: &Bound<'_, PyAny>) -> PyResult<Self> {
        let built = definition::definition(&json(settings)?).map_err(core)?;
        Ok(Self(Arc::new(built)))
    }

    #[getter]
    fn versions(&self) -> Vec<&'static str> {
        self.0.versions().iter().map(|version| version.as_str()).collect()
    }

    /// What clients must hear when another definition takes the place of this one.
    fn changes_to(&self, new: &Self) -> Vec<Publish> {
        self.0.changes_to(&new.0).into_iter().map(Publish).collect()
    }
}

/// The server of one byte stream.
#[pyclass(frozen, extends = ServerMachine, module = "mcp_sansio")]
pub(crate) struct Server;

#[pymethods]
impl Server {
    #[new]
    #[pyo3(signature = (definition, *, seed=None, any_thread=false))]
    fn new(
        py: Python<'_>,
        definition: &Definition,
        seed: Option<&[u8]>,
        any_thread: bool,
    ) -> PyResult<PyClassInitializer<Self>> {
        let machine = Lines::new(Arc::clone(&definition.0), self::seed(py, seed)?);
        let cell = Arc::new(Cell::new(Serving::Lines(Box::new(machine)), any_thread));
        Ok(PyClassInitializer::from(ServerMachine { cell }).add_subclass(Self))
    }

    #[pyo3(signature = (data, now=None))]
    fn handle(slf: &Bound<'_, Self>, data: Cow<'_, [u8]>, now: Any<'_, '_>) -> PyResult<()> {
        let bytes = Bytes::from(data.into_owned());
        Self::machine(slf, now, |machine, now| machine.handle(now, Input::Bytes(bytes)))?.map_err(core)
    }

    #[pyo3(signature = (now=None))]
    fn handle_eof(slf: &Bound<'_, Self>, now: Any<'_, '_>) -> PyResult<()> {
        Self::machine(slf, now, |machine, now| machine.handle(now, Input::Eof))?.map_err(core)
    }

    fn written(slf: &Bound<'_, Self>, count: usize) -> PyResult<()> {
        Self::plain(slf, |machine, now| machine.handle(now, Input::Written(count)))?.map_err(core)
    }

    #[getter]
    fn wants_input(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Self::plain(slf, |machine, _| machine.wants_input())
    }

    #[pyo3(signature = (principal))]
    fn set_principal(slf: &Bound<'_, Self>, principal: Option<&str>) -> PyResult<()> {
        Self::plain(slf, |machine, _| machine.set_principal(principal.map(Into::into)))
    }

    fn export_session(slf: &Bound<'_, Self>) -> PyResult<Option<Vec<u8>>> {
        Self::plain(slf, |machine, _| machine.export_session().map(|session| session.as_bytes().to_vec()))
    }

    fn import_session(slf: &Bound<'_, Self>, exported: &Bound<'_, PyAny>) -> PyResult<()> {
        let exported = json(exported)?;
        Self::plain(slf, |machine, _| machine.import_session(&exported))?.map_err(core)
    }
}

impl Server {
    fn machine<R>(slf: &Bound<'_, Self>, now: Any<'_, '_>, verb: impl FnOnce(&mut Lines, Now) -> R) -> PyResult<R> {
        let done = slf.as_super().get().cell.at(slf.py(), now, |serving, now| match serving {
            Serving::Lines(machine) => Some(verb(machine, now)),
            _ => None,
        });
        done?.ok_or_else(|| misuse("no machine of a byte stream"))
    }

    /// A verb without a time.
    fn plain<R>(slf: &Bound<'_, Self>, verb: impl FnOnce(&mut Lines, Now) -> R) -> PyResult<R> {
        let done = slf.as_super().get().cell.last(|serving, now| match serving {
            Serving::Lines(machine) => Some(verb(machine, now)),
            _ => None,
        });
        done?.ok_or_else(|| misuse("no machine of a byte stream"))
    }
}

/// One request over HTTP that stands alone.
#[pyclass(frozen, extends = ServerMachine, module = "mcp_sansio")]
pub(crate) struct Exchange;

#[pymethods]
impl Exchange {
    #[pyo3(signature = (count, *, now=None))]
    fn written(slf: &Bound<'_, Self>, count: usize, now: Any<'_, '_>) -> PyResult<()> {
        let written = |machine: &mut http::Exchange, now| machine.handle(now, http::Input::Written(count));
        slf.as_super().get().http(slf.py(), now, written, |_, _| ())
    }

    #[pyo3(signature = (*, now=None))]
    fn disconnected(slf: &Bound<'_, Self>, now: Any<'_, '_>) -> PyResult<()> {
        let gone = |machine: &mut http::Exchange, now| machine.handle(now, http::Input::Disconnected);
        slf.as_super().get().http(slf.py(), now, gone, |_, _| ())
    }

    /// Hands over the answer of the endpoint to a `Listen`.
    #[pyo3(signature = (outcome, *, now=None))]
    fn listening(slf: &Bound<'_, Self>, outcome: &ListenOutcome, now: Any<'_, '_>) -> PyResult<()> {
        let admitted = outcome.0;
        slf.as_super().get().http(slf.py(), now, |machine, now| machine.listening(now, admitted), |_, _| ())
    }

    #[pyo3(signature = (event, *, now=None))]
    fn deliver(slf: &Bound<'_, Self>, event: &Publish, now: Any<'_, '_>) -> PyResult<&'static str> {
        let machine = slf.as_super().get();
        let sent = machine.http(slf.py(), now, |to, now| to.deliver(now, &event.0), |_, _| Sent::NotWanted);
        Ok(sent?.name())
    }
}

/// One legacy session over HTTP.
#[pyclass(frozen, extends = ServerMachine, module = "mcp_sansio")]
pub(crate) struct Session {
    pub(crate) key: http::SessionKey,
}

#[pymethods]
impl Session {
    #[getter]
    fn id(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.as_super().get().cell.with(|serving| match serving {
            Serving::Session(machine) => machine.id().into(),
            _ => String::new(),
        })
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| Arc::ptr_eq(&slf.as_super().get().cell, &other.as_super().get().cell))
    }

    fn __hash__(slf: &Bound<'_, Self>) -> u64 {
        Arc::as_ptr(&slf.as_super().get().cell) as u64
    }

    /// Takes a request that the endpoint has led here, and answers in which exchange.
    #[pyo3(signature = (request, *, now=None))]
    fn accept(slf: &Bound<'_, Self>, request: &SessionRequest, now: Any<'_, '_>) -> PyResult<u64> {
        let request = request.take()?;
        let exchange = slf.as_super().get().http(
            slf.py(),
            now,
            |_, _| http::ExchangeId::default(),
            |machine, now| machine.accept(now, request),
        );
        Ok(exchange?.to_u64())
    }

    #[pyo3(signature = (exchange, count, *, now=None))]
    fn written(slf: &Bound<'_, Self>, exchange: u64, count: usize, now: Any<'_, '_>) -> PyResult<()> {
        Self::happened(slf, exchange, http::Input::Written(count), now)
    }

    #[pyo3(signature = (exchange, *, now=None))]
    fn disconnected(slf: &Bound<'_, Self>, exchange: u64, now: Any<'_, '_>) -> PyResult<()> {
        Self::happened(slf, exchange, http::Input::Disconnected, now)
    }

    #[pyo3(signature = (event, *, now=None))]
    fn deliver(slf: &Bound<'_, Self>, event: &Publish, now: Any<'_, '_>) -> PyResult<&'static str> {
        let machine = slf.as_super().get();
        let sent = machine.http(slf.py(), now, |_, _| Sent::NotWanted, |to, now| to.deliver(now, &event.0));
        Ok(sent?.name())
    }

    #[pyo3(signature = (slot, *, now=None))]
    fn close_stream(slf: &Bound<'_, Self>, slot: &Bound<'_, PyAny>, now: Any<'_, '_>) -> PyResult<&'static str> {
        let machine = slf.as_super().get();
        let slot = guard(slot)?.name(&machine.cell.home)?;
        let sent = machine.http(slf.py(), now, |_, _| Sent::NotWanted, |to, now| to.close_stream(now, slot));
        Ok(sent?.name())
    }

    /// The server ends: the stream that belongs to no request ends too.
    #[pyo3(signature = (*, now=None))]
    fn shutdown(slf: &Bound<'_, Self>, now: Any<'_, '_>) -> PyResult<()> {
        slf.as_super().get().http(slf.py(), now, |_, _| (), |machine, now| machine.shutdown(now))
    }

    fn export(slf: &Bound<'_, Self>) -> PyResult<Option<Vec<u8>>> {
        slf.as_super().get().cell.with(|serving| match serving {
            Serving::Session(machine) => machine.export().map(|bytes| bytes.to_vec()),
            _ => None,
        })
    }
}

impl Session {
    fn happened(slf: &Bound<'_, Self>, exchange: u64, input: http::Input, now: Any<'_, '_>) -> PyResult<()> {
        let exchange = http::ExchangeId::from_u64(exchange);
        slf.as_super().get().http(slf.py(), now, |_, _| (), |machine, now| machine.handle(now, exchange, input))
    }

    pub(crate) fn object(py: Python<'_>, key: http::SessionKey, cell: Arc<Cell<Serving>>) -> PyResult<Py<Self>> {
        Py::new(py, PyClassInitializer::from(ServerMachine { cell }).add_subclass(Self { key }))
    }
}

impl Exchange {
    pub(crate) fn object(py: Python<'_>, exchange: Box<http::Exchange>, any_thread: bool) -> PyResult<Object> {
        let cell = Arc::new(Cell::new(Serving::Exchange(exchange), any_thread));
        Ok(Py::new(py, PyClassInitializer::from(ServerMachine { cell }).add_subclass(Self))?.into_any())
    }

    /// The name of its listen stream, once.
    pub(crate) fn listen_key(slf: &Bound<'_, Self>) -> PyResult<Option<http::ListenKey>> {
        slf.as_super().get().cell.with(|serving| match serving {
            Serving::Exchange(machine) => machine.listen_key(),
            _ => None,
        })
    }
}

/// What a `Listen` asks for.
pub(crate) fn subscription(listen: &Listen) -> http::Subscription {
    listen.0.clone()
}
