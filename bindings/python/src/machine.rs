//! A machine of either role. What is hot has a verb of its own here; every other verb comes by its name, with its
//! arguments, and what is no frame and no invocation becomes an object of a class of Python (`mcp_sansio/_actions.py`).

use std::sync::Arc;

use mcp_sansio::client::{self as core_client, Action as ClientAction};
use mcp_sansio::error::Error;
use mcp_sansio::http::client::Action as HttpClientAction;
use mcp_sansio::http::server::{self as http, Action};
use mcp_sansio::ids::SlotId;
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Mono, Now, TimerKind};
use mcp_sansio::server as core_server;
use mcp_sansio_told::client::{self, Machine as Calling};
use mcp_sansio_told::definition;
use mcp_sansio_told::http::Registry as Endpoint;
use mcp_sansio_told::reply::{kind, kind_for};
use mcp_sansio_told::say::{self, Saying};
use mcp_sansio_told::server::{Machine as Serving, Whole};
use mcp_sansio_told::told::{self, argument, read};
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::cell::{Any, Cell, Guard, Home, Inside, seed};
use crate::errors::{Half, misuse, raised};
use crate::http::{Incoming, ListenOutcome, Opened};
use crate::invoke::{Asked, Invoke, Slot, reply_of};
use crate::value::{json, native, octets, write};

type Object = Py<PyAny>;

static MAKE: Half = Half::new("mcp_sansio._actions", "make");

/// Write these bytes.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Write {
    #[pyo3(get)]
    data: Py<PyBytes>,
}

#[pymethods]
impl Write {
    #[classattr]
    const fn kind() -> &'static str {
        "write"
    }

    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, ["data"])
    }
}

/// What a listen stream asks the registry for.
#[pyclass(frozen)]
pub(crate) struct Subscription(pub(crate) http::Subscription);

/// The answer to a call.
#[pyclass(frozen)]
pub(crate) struct Answer(core_client::Answer);

#[pymethods]
impl Answer {
    fn raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.json().as_bytes())
    }

    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        native(py, self.0.json().as_bytes())
    }

    /// Everything else that it can tell.
    fn look<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        native(py, say::answer(&self.0).map_err(raised)?.as_bytes())
    }
}

/// A request, without what the era adds.
#[pyclass(frozen)]
pub(crate) struct Request(core_client::Request);

#[pymethods]
impl Request {
    #[new]
    fn new(what: &Bound<'_, PyAny>) -> PyResult<Self> {
        client::request(&json(what)?).map(Self).map_err(raised)
    }

    /// The next round, for whoever drives the rounds of input.
    fn retry(&self, answer: &Answer, responses: &Bound<'_, PyAny>) -> PyResult<Self> {
        let responses = Json::from_text(json(responses)?).map_err(|error| misuse(&error.to_string()))?;
        self.0.clone().retry(&answer.0, &responses).map(Self).map_err(|error| raised(error.into()))
    }

    #[getter]
    fn method(&self) -> &str {
        self.0.method()
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
        definition::definition(&json(settings)?).map(Self).map_err(raised)
    }

    #[getter]
    fn versions(&self) -> Vec<&'static str> {
        self.0.versions().iter().map(|version| version.as_str()).collect()
    }

    /// What clients must hear when another definition takes the place of this one.
    fn changes_to(&self, py: Python<'_>, new: &Self) -> PyResult<Vec<Object>> {
        let events = self.0.changes_to(&new.0).into_iter();
        events.filter_map(|event| say::of_server(Action::Publish(event))).map(|event| said(py, event, None)).collect()
    }
}

pub(crate) enum Kind {
    Server(Serving),
    Client(Calling),
}

/// The same verb of whichever machine it is.
macro_rules! each {
    ($kind:expr, $machine:ident => $verb:expr) => {
        match $kind {
            Kind::Server($machine) => $verb,
            Kind::Client($machine) => $verb,
        }
    };
}

impl Kind {
    fn server(&mut self) -> Result<&mut Serving, Error> {
        match self {
            Self::Server(machine) => Ok(machine),
            Self::Client(_) => Err(argument("this machine has no such verb")),
        }
    }

    fn client(&mut self) -> Result<&mut Calling, Error> {
        match self {
            Self::Client(machine) => Ok(machine),
            Self::Server(_) => Err(argument("this machine has no such verb")),
        }
    }
}

impl Inside for Kind {
    fn abandon(&mut self, now: Now, slot: SlotId) {
        match self {
            Self::Server(machine) => machine.abandon(now, slot),
            // What is not open any more needs no end.
            Self::Client(machine) => drop(machine.abandon(now, slot)),
        }
    }

    fn poll_timeout(&mut self) -> Option<(Mono, TimerKind)> {
        each!(self, machine => machine.poll_timeout())
    }
}

/// The slot that an argument stands for.
fn guard<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<&'a Arc<Guard>> {
    match (given.cast::<Invoke>(), given.cast::<Slot>()) {
        (Ok(invoke), _) => Ok(&invoke.get().guard),
        (_, Ok(slot)) => Ok(&slot.get().0),
        _ => Err(misuse("this is neither an Invoke nor a Slot")),
    }
}

/// An action as an object of a class of Python.
pub(crate) fn said(py: Python<'_>, saying: Saying, more: Option<Object>) -> PyResult<Object> {
    let Saying { kind, members, payload, bytes } = saying;
    let payload = more.or_else(|| payload.map(|json| PyBytes::new(py, json.as_bytes()).into_any().unbind()));
    let bytes = bytes.map(|bytes| PyBytes::new(py, &bytes));
    MAKE.get(py)?.call1((kind, native(py, members.as_bytes())?, payload, bytes)).map(Bound::unbind)
}

fn object<T: pyo3::PyClass>(py: Python<'_>, action: impl Into<PyClassInitializer<T>>) -> PyResult<Option<Object>> {
    Ok(Some(Py::new(py, action)?.into_any()))
}

fn frame(py: Python<'_>, data: &[u8]) -> PyResult<Option<Object>> {
    object(py, Write { data: PyBytes::new(py, data).unbind() })
}

fn of_server(py: Python<'_>, home: &Arc<Home>, action: Whole) -> PyResult<Option<Object>> {
    match action {
        Whole::Write(data) => frame(py, &data),
        Whole::Other(Action::Invoke(invocation)) => {
            let guard = Guard::new(invocation.slot.id(), home, kind_for(&invocation.call));
            object(py, Invoke::new(guard, Asked::Server(invocation)))
        }
        Whole::Other(Action::Listen(subscription)) => {
            let saying = Saying { kind: "listen", members: "{}".to_owned(), payload: None, bytes: None };
            let subscription = object(py, Subscription(subscription))?;
            said(py, saying, subscription).map(Some)
        }
        Whole::Other(action) => say::of_server(action).map(|saying| said(py, saying, None)).transpose(),
    }
}

fn of_client(py: Python<'_>, home: &Arc<Home>, action: HttpClientAction) -> PyResult<Option<Object>> {
    let answer = match action {
        HttpClientAction::Event(ClientAction::Write(data)) => return frame(py, &data),
        HttpClientAction::Event(ClientAction::Invoke { slot, method, params }) => {
            let guard = Guard::new(slot.id(), home, kind("raw").map_err(raised)?);
            return object(py, Invoke::new(guard, Asked::Client { method, params }));
        }
        HttpClientAction::Event(ClientAction::Done { outcome: Ok(ref answer), .. }) => {
            object(py, Answer(answer.clone()))?
        }
        _ => None,
    };
    say::of_client(&action).map(|saying| said(py, saying, answer)).transpose()
}

/// A machine.
#[pyclass(frozen, subclass, module = "mcp_sansio._native")]
pub(crate) struct Machine {
    pub(crate) cell: Cell<Kind>,
    is_client: bool,
}

#[pymethods]
impl Machine {
    /// The server of a definition on a byte stream, of a request that stands alone or of a session that was opened; or
    /// the client of its settings.
    #[new]
    #[pyo3(signature = (of, place=None, *, seed=None, any_thread=false))]
    fn new(
        py: Python<'_>,
        of: &Bound<'_, PyAny>,
        place: Any<'_, '_>,
        seed: Option<&[u8]>,
        any_thread: bool,
    ) -> PyResult<Self> {
        let kind = if let Ok(definition) = of.cast::<Definition>() {
            Kind::Server(Serving::lines(&definition.get().0, &self::seed(py, seed)?).map_err(raised)?)
        } else if let Ok(incoming) = of.cast::<Incoming>() {
            let exchange = incoming.get().with(|incoming| Ok(incoming.exchange()))?;
            Kind::Server(exchange.ok_or_else(|| misuse("the request was used before"))?)
        } else if let Ok(opened) = of.cast::<Opened>() {
            Kind::Server(opened.get().take()?)
        } else {
            let place = place.map(json).transpose()?;
            Kind::Client(Calling::new(&json(of)?, place.as_deref()).map_err(raised)?)
        };
        let is_client = matches!(kind, Kind::Client(_));
        Ok(Self { cell: Cell::new(kind, any_thread), is_client })
    }

    fn poll(&self, py: Python<'_>) -> PyResult<Option<Object>> {
        loop {
            let home = &self.cell.home;
            let action = self.cell.with(|kind, _| match kind {
                Kind::Server(machine) => machine.poll_whole().map(Ok),
                Kind::Client(machine) => machine.poll().map(Err),
            })?;
            let said = match action {
                None => return Ok(None),
                Some(Ok(action)) => of_server(py, home, action)?,
                Some(Err(action)) => of_client(py, home, action)?,
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
        self.cell.at(py, now, |kind, now| {
            each!(kind, machine => machine.handle_timeout(now));
            Ok(())
        })
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
        guard.name(&self.cell.home)?;
        if self.is_client {
            let text = json(reply)?;
            let result = match reply.is_instance_of::<PyBaseException>() {
                true => Err(read(&text).map_err(raised)?),
                false => Ok(told::json(text).map_err(raised)?),
            };
            return self.cell.at(py, now, |kind, now| kind.client()?.reply(now, guard.take()?, result));
        }
        let reply = reply_of(reply, guard.wanted)?;
        self.cell.at(py, now, |kind, now| kind.server()?.answer(now, guard.take()?, reply))
    }

    #[pyo3(signature = (slot, *, now=None))]
    fn abandon(&self, py: Python<'_>, slot: &Bound<'_, PyAny>, now: Any<'_, '_>) -> PyResult<()> {
        let guard = guard(slot)?;
        guard.name(&self.cell.home)?;
        self.cell.at(py, now, |kind, now| {
            kind.abandon(now, guard.take()?);
            Ok(())
        })
    }

    /// A verb by its name. What it answers is JSON, or nothing.
    #[pyo3(signature = (verb, arguments, now=None))]
    fn _act<'py>(
        &self,
        py: Python<'py>,
        verb: &str,
        arguments: &Bound<'py, PyTuple>,
        now: Any<'_, '_>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        // What is alone stands without a list around it.
        let (open, close) = if arguments.len() == 1 { ("", "}") } else { ("[", "]}") };
        let mut text = format!("{{\"{verb}\":{open}").into_bytes();
        for (place, one) in arguments.iter().enumerate() {
            if place > 0 {
                text.push(b',');
            }
            match guard(&one) {
                Ok(guard) => {
                    let id = guard.name(&self.cell.home)?.to_u64();
                    text.extend_from_slice(format!("[{},{}]", id & 0xffff_ffff, id >> 32).as_bytes());
                }
                Err(_) => write(&mut text, &one, 0)?,
            }
        }
        text.extend_from_slice(close.as_bytes());
        let text = String::from_utf8(text).map_err(|error| misuse(&error.to_string()))?;
        let answer = self.cell.at(py, now, |kind, now| each!(kind, machine => machine.act(now, &text)))?;
        Ok(answer.map(|answer| PyBytes::new(py, answer.as_bytes())))
    }

    #[pyo3(signature = (data, now=None))]
    fn _bytes(&self, py: Python<'_>, data: &Bound<'_, PyAny>, now: Any<'_, '_>) -> PyResult<()> {
        let bytes = octets(data)?;
        self.cell.at(py, now, |kind, now| match kind {
            Kind::Server(machine) => machine.bytes(now, bytes),
            Kind::Client(machine) => machine.bytes(now, 0, bytes),
        })
    }

    /// Of the body of an answer over HTTP.
    #[pyo3(signature = (fetch, data, now=None))]
    fn _body(&self, py: Python<'_>, fetch: u64, data: &Bound<'_, PyAny>, now: Any<'_, '_>) -> PyResult<()> {
        let bytes = octets(data)?;
        self.cell.at(py, now, |kind, now| kind.client()?.bytes(now, fetch, bytes))
    }

    /// So many bytes have left, of the stream.
    fn _wrote(&self, count: usize) -> PyResult<()> {
        let done = self.cell.with(|kind, now| match kind {
            Kind::Server(machine) => machine.written(now, 0, count),
            Kind::Client(machine) => machine.written(now, count),
        });
        done?.map_err(raised)
    }

    /// So many bytes have left, of an exchange.
    #[pyo3(signature = (exchange, count, now=None))]
    fn _sent(&self, py: Python<'_>, exchange: u64, count: usize, now: Any<'_, '_>) -> PyResult<()> {
        self.cell.at(py, now, |kind, now| kind.server()?.written(now, exchange, count))
    }

    fn _wants_input(&self) -> PyResult<bool> {
        self.cell.with(|kind, _| each!(kind, machine => machine.wants_input()))
    }

    fn _is_closed(&self) -> PyResult<bool> {
        self.cell.with(|kind, _| matches!(kind, Kind::Server(machine) if machine.is_closed()))
    }

    #[pyo3(signature = (definition, now=None))]
    fn _replace(&self, py: Python<'_>, definition: &Definition, now: Any<'_, '_>) -> PyResult<()> {
        self.cell.at(py, now, |kind, now| kind.server()?.replace_definition(now, &definition.0))
    }

    /// Takes a request over HTTP, and answers in which exchange.
    #[pyo3(signature = (request, now=None))]
    fn _accept(&self, py: Python<'_>, request: &Incoming, now: Any<'_, '_>) -> PyResult<u64> {
        self.cell.at(py, now, |kind, now| request.told(|request| request.accept(now, kind.server()?)))
    }

    /// Hands over the answer of the registry to a listen stream.
    #[pyo3(signature = (outcome, now=None))]
    fn _listening(&self, py: Python<'_>, outcome: &ListenOutcome, now: Any<'_, '_>) -> PyResult<()> {
        self.cell.at(py, now, |kind, now| kind.server()?.listening(now, outcome.0))
    }

    fn _export<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(self.serving(Endpoint::export)?.map(|bytes| PyBytes::new(py, &bytes)))
    }

    #[pyo3(signature = (request, options, now=None))]
    fn _call(&self, py: Python<'_>, request: &Request, options: Any<'_, '_>, now: Any<'_, '_>) -> PyResult<u64> {
        let options = options.map_or_else(|| Ok("{}".to_owned()), json)?;
        let request = request.0.clone();
        self.cell.at(py, now, |kind, now| kind.client()?.call(now, request, &options))
    }

    /// The server that a client is connected to.
    fn _server(&self, py: Python<'_>) -> PyResult<Option<Object>> {
        let server = self.cell.with(|kind, _| kind.client().map(|machine| machine.server()))?;
        server.map_err(raised)?.map(|saying| said(py, saying, None)).transpose()
    }
}

impl Machine {
    /// What a server's machine is asked by the registry.
    pub(crate) fn serving<R>(&self, ask: impl FnOnce(&Serving) -> R) -> PyResult<R> {
        self.cell.with(|kind, _| kind.server().map(|machine| ask(machine)))?.map_err(raised)
    }
}
