//! A machine of either role. What is hot has a verb of its own here; every other verb comes by its name, with its
//! arguments, and what is no frame and no invocation becomes an object of a class of Python (`mcp_sansio/_actions.py`).

use std::sync::Arc;

use mcp_sansio::client as core_client;
use mcp_sansio::error::Error;
use mcp_sansio::http::server::Action;
use mcp_sansio::server as core_server;
use mcp_sansio_told::cell::{Cell, Inside};
use mcp_sansio_told::http::Registry as Endpoint;
use mcp_sansio_told::role::{Machine as Told, Spoken};
use mcp_sansio_told::say::{self, Saying};
use mcp_sansio_told::server::Machine as Serving;
use mcp_sansio_told::{client, definition, told};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::errors::{Done, Found};
use crate::http::{Incoming, ListenOutcome, Opened, Subscription};
use crate::invoke::{Invoke, answering, guard};
use crate::time::{When, seed, when};
use crate::value::{Any, Native, json, native, octets, write};

pub(crate) type Object = Py<PyAny>;
type Octets<'py> = Option<Bound<'py, PyBytes>>;

static MAKE: Found = Found::new("mcp_sansio._actions", "make");

/// Write these bytes.
#[pyclass(frozen, get_all, module = "mcp_sansio")]
pub(crate) struct Write {
    data: Py<PyBytes>,
}

#[pymethods]
impl Write {
    #[classattr]
    const kind: &'static str = "write";
    #[classattr]
    const __match_args__: (&'static str,) = ("data",);
}

/// The answer to a call.
#[pyclass(frozen)]
pub(crate) struct Answer(core_client::Answer);

#[pymethods]
impl Answer {
    fn raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.json().as_bytes())
    }

    /// Everything that it can tell beside its text.
    fn look<'py>(&self, py: Python<'py>) -> Done<Native<'py>> {
        Ok(native(py, &say::answer(&self.0)?)?)
    }
}

/// A request, without what the era adds.
#[pyclass(frozen)]
pub(crate) struct Request(core_client::Request);

#[pymethods]
impl Request {
    #[new]
    fn new(what: Native<'_>) -> Done<Self> {
        Ok(Self(client::request(&json(&what)?)?))
    }

    /// The next round, for whoever drives the rounds of input.
    fn retry(&self, answer: &Answer, responses: Native<'_>) -> Done<Self> {
        let responses = told::json(json(&responses)?)?;
        self.0.clone().retry(&answer.0, &responses).map(Self).map_err(|error| told::argument(error).into())
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
    #[staticmethod]
    fn from_settings(settings: Native<'_>) -> Done<Self> {
        Ok(Self(definition::definition(&json(&settings)?)?))
    }

    #[getter]
    fn versions(&self) -> Vec<&'static str> {
        self.0.versions().iter().map(|version| version.as_str()).collect()
    }

    /// What clients must hear when another definition takes the place of this one.
    fn changes_to(&self, py: Python<'_>, new: &Self) -> PyResult<Vec<Object>> {
        let events = self.0.changes_to(&new.0).into_iter().map(Action::Publish).filter_map(say::of_server);
        events.map(|event| said(py, event, None)).collect()
    }
}

/// An action as an object of a class of Python.
pub(crate) fn said(py: Python<'_>, saying: Saying, more: Option<Object>) -> PyResult<Object> {
    let Saying { kind, members, payload, bytes } = saying;
    let payload = more.or_else(|| payload.map(|json| PyBytes::new(py, json.as_bytes()).into_any().unbind()));
    let bytes = bytes.map(|bytes| PyBytes::new(py, &bytes));
    MAKE.get(py)?.call1((kind, native(py, &members)?, payload, bytes)).map(Bound::unbind)
}

fn object<T: pyo3::PyClass>(py: Python<'_>, of: impl Into<PyClassInitializer<T>>) -> PyResult<Object> {
    Ok(Py::new(py, of)?.into_any())
}

fn used() -> Error {
    told::argument("it was used before")
}

#[pyclass(frozen, subclass, module = "mcp_sansio._native")]
pub(crate) struct Machine {
    pub(crate) cell: Cell<Told>,
    is_client: bool,
}

#[pymethods]
impl Machine {
    /// The server of a definition on a byte stream, of a request that stands alone or of a session that was opened; or
    /// the client of its settings.
    #[new]
    #[pyo3(signature = (of, place=None, *, seed=None, any_thread=false))]
    fn new(of: Native<'_>, place: Any<'_, '_>, seed: Option<&[u8]>, any_thread: bool) -> Done<Self> {
        let machine = if let Ok(definition) = of.cast::<Definition>() {
            Told::Server(Serving::lines(&definition.get().0, &self::seed(of.py(), seed)?)?)
        } else if let Ok(incoming) = of.cast::<Incoming>() {
            Told::Server(incoming.get().0.with(|incoming, _| incoming.exchange().ok_or_else(used))?)
        } else if let Ok(opened) = of.cast::<Opened>() {
            Told::Server(opened.get().0.with(|opened, _| opened.take().ok_or_else(used))?)
        } else {
            let place = place.map(json).transpose()?;
            Told::Client(client::Machine::new(&json(&of)?, place.as_deref())?)
        };
        let is_client = matches!(machine, Told::Client(_));
        Ok(Self { cell: Cell::new(machine, any_thread), is_client })
    }

    fn poll(&self, py: Python<'_>) -> Done<Option<Object>> {
        let Some(spoken) = self.cell.with(|machine, _| Ok(machine.poll()))? else { return Ok(None) };
        Ok(Some(match spoken {
            Spoken::Write(data) => object(py, Write { data: PyBytes::new(py, &data).unbind() })?,
            Spoken::Invoke(slot, asked) => object(py, Invoke::new(self.cell.guard(slot, asked.wanted()), asked))?,
            Spoken::Listen(saying, subscription) => said(py, saying, Some(object(py, Subscription(subscription))?))?,
            Spoken::Done(saying, answer) => said(py, saying, Some(object(py, Answer(answer))?))?,
            Spoken::Other(saying) => said(py, saying, None)?,
        }))
    }

    const fn __iter__(machine: Py<Self>) -> Py<Self> {
        machine
    }

    fn __next__(&self, py: Python<'_>) -> Done<Option<Object>> {
        self.poll(py)
    }

    fn poll_timeout(&self) -> Done<Option<(u64, &'static str)>> {
        let due = self.cell.with(|machine, _| Ok(machine.poll_timeout()))?;
        Ok(due.map(|(at, kind)| (at.as_nanos(), kind.name())))
    }

    #[pyo3(signature = (now=None))]
    fn delay(&self, py: Python<'_>, now: Option<When>) -> Done<Option<f64>> {
        let (now, due) = (when(py, now)?, self.cell.with(|machine, _| Ok(machine.poll_timeout()))?);
        Ok(due.map(|(at, _)| now.mono.until(at).as_secs_f64()))
    }

    #[pyo3(signature = (now=None))]
    fn handle_timeout(&self, py: Python<'_>, now: Option<When>) -> Done<()> {
        Ok(self.cell.at(when(py, now)?, |machine, now| Ok(machine.handle_timeout(now)))?)
    }

    #[pyo3(signature = (slot, reply, *, now=None))]
    fn reply(&self, slot: &Native<'_>, reply: &Native<'_>, now: Option<When>) -> Done<()> {
        let guard = guard(slot)?;
        self.cell.name(guard)?;
        let answer = answering(reply, (!self.is_client).then(|| guard.wanted()))?;
        Ok(self.cell.at(when(slot.py(), now)?, |machine, now| machine.answer(now, guard.take()?, answer))?)
    }

    #[pyo3(signature = (slot, *, now=None))]
    fn abandon(&self, slot: &Native<'_>, now: Option<When>) -> Done<()> {
        let guard = guard(slot)?;
        self.cell.name(guard)?;
        Ok(self.cell.at(when(slot.py(), now)?, |machine, now| Ok(machine.abandon(now, guard.take()?)))?)
    }

    /// A verb by its name. What it answers is JSON, or nothing.
    #[pyo3(signature = (verb, arguments, now=None))]
    fn _act<'py>(&self, verb: &str, arguments: &Bound<'py, PyTuple>, now: Option<When>) -> Done<Octets<'py>> {
        // What is alone stands without a list around it.
        let (open, close) = if arguments.len() == 1 { ("", "}") } else { ("[", "]}") };
        let mut text = format!("{{\"{verb}\":{open}").into_bytes();
        for (place, one) in arguments.iter().enumerate() {
            if place > 0 {
                text.push(b',');
            }
            match guard(&one) {
                Ok(guard) => {
                    let id = self.cell.name(guard)?.to_u64();
                    text.extend_from_slice(format!("[{},{}]", id & 0xffff_ffff, id >> 32).as_bytes());
                }
                Err(_) => write(&mut text, &one, 0)?,
            }
        }
        text.extend_from_slice(close.as_bytes());
        let (py, text) = (arguments.py(), String::from_utf8(text).map_err(told::argument)?);
        let answer = self.cell.at(when(py, now)?, |machine, now| machine.act(now, &text))?;
        Ok(answer.map(|answer| PyBytes::new(py, answer.as_bytes())))
    }

    #[pyo3(signature = (data, now=None))]
    fn _bytes(&self, data: &Native<'_>, now: Option<When>) -> Done<()> {
        self._body(0, data, now)
    }

    #[pyo3(signature = (fetch, data, now=None))]
    fn _body(&self, fetch: u64, data: &Native<'_>, now: Option<When>) -> Done<()> {
        let bytes = octets(data)?;
        Ok(self.cell.at(when(data.py(), now)?, |machine, now| machine.bytes(now, fetch, bytes))?)
    }

    fn _wrote(&self, count: usize) -> Done<()> {
        Ok(self.cell.with(|machine, now| machine.written(now, 0, count))?)
    }

    #[pyo3(signature = (exchange, count, now=None))]
    fn _sent(&self, py: Python<'_>, exchange: u64, count: usize, now: Option<When>) -> Done<()> {
        Ok(self.cell.at(when(py, now)?, |machine, now| machine.written(now, exchange, count))?)
    }

    fn _wants_input(&self) -> Done<bool> {
        Ok(self.cell.with(|machine, _| Ok(machine.wants_input()))?)
    }

    fn _is_closed(&self) -> Done<bool> {
        Ok(self.cell.with(|machine, _| Ok(machine.server()?.is_closed()))?)
    }

    #[pyo3(signature = (definition, now=None))]
    fn _replace(&self, py: Python<'_>, definition: &Definition, now: Option<When>) -> Done<()> {
        let replace = |machine: &mut Told, now| machine.server()?.replace_definition(now, &definition.0);
        Ok(self.cell.at(when(py, now)?, replace)?)
    }

    #[pyo3(signature = (request, now=None))]
    fn _accept(&self, py: Python<'_>, request: &Incoming, now: Option<When>) -> Done<u64> {
        let accept = |machine: &mut Told, now| request.0.with(|request, _| request.accept(now, machine.server()?));
        Ok(self.cell.at(when(py, now)?, accept)?)
    }

    #[pyo3(signature = (outcome, now=None))]
    fn _listening(&self, py: Python<'_>, outcome: &ListenOutcome, now: Option<When>) -> Done<()> {
        Ok(self.cell.at(when(py, now)?, |machine, now| machine.server()?.listening(now, outcome.0))?)
    }

    fn _export<'py>(&self, py: Python<'py>) -> Done<Octets<'py>> {
        let bytes = self.cell.with(|machine, _| Ok(Endpoint::export(machine.server()?)))?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    #[pyo3(signature = (request, options, now=None))]
    fn _call(&self, py: Python<'_>, request: &Request, options: Any<'_, '_>, now: Option<When>) -> Done<u64> {
        let options = options.map_or_else(|| Ok("{}".to_owned()), json)?;
        let call = |machine: &mut Told, now| machine.client()?.call(now, request.0.clone(), &options);
        Ok(self.cell.at(when(py, now)?, call)?)
    }

    fn _server(&self, py: Python<'_>) -> Done<Option<Object>> {
        let server = self.cell.with(|machine, _| Ok(machine.client()?.server()))?;
        Ok(server.map(|saying| said(py, saying, None)).transpose()?)
    }
}
