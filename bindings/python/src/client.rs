//! The client of a byte stream, and that of Streamable HTTP. Most verbs are those of both.

use std::borrow::Cow;

use bytes::Bytes;
use mcp_sansio::client::{self as core_client, CallOptions, Client as Lines, InputId, List, Transport};
use mcp_sansio::error::{Error, ErrorObject};
use mcp_sansio::http::Headers;
use mcp_sansio::http::client::{FetchFailed, FetchId, HttpClient as Http, Input as HttpInput};
use mcp_sansio::ids::{CallId, ReplySlot};
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Input, Mono, Now, TimerKind};
use mcp_sansio_bindings::{client as settings, definition, http as address};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::actions::{Connected, Done, of_client, of_http_client};
use crate::cell::{Cell, Machine};
use crate::errors::{core, misuse, told};
use crate::server::guard;
use crate::value::{json, json_or};

type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

pub(crate) enum Calling {
    Lines(Box<Lines>),
    Http(Box<Http>),
}

impl Calling {
    fn verbs(&mut self) -> &mut Lines<dyn Transport> {
        match self {
            Self::Lines(client) => &mut **client,
            Self::Http(client) => &mut **client,
        }
    }
}

impl Machine for Calling {
    fn abandon(&mut self, now: Now, slot: ReplySlot) {
        // What is not open any more needs no end.
        let _ = self.verbs().abandon(now, slot);
    }

    fn poll_timeout(&self) -> Option<(Mono, TimerKind)> {
        match self {
            Self::Lines(client) => client.poll_timeout(),
            Self::Http(client) => client.poll_timeout(),
        }
    }
}

/// A request, without what the era adds.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Request(core_client::Request);

#[pymethods]
impl Request {
    /// Any method with any params.
    #[new]
    #[pyo3(signature = (method, params=None))]
    fn new(method: &str, params: Any<'_, '_>) -> PyResult<Self> {
        let request = core_client::Request::custom(method, json_or(params, Json::EMPTY_OBJECT)?);
        request.map(Self).map_err(|error| core(error.into()))
    }

    #[staticmethod]
    #[pyo3(signature = (name, arguments=None))]
    fn call_tool(name: &str, arguments: Any<'_, '_>) -> PyResult<Self> {
        Ok(Self(core_client::Request::call_tool(name, &json_or(arguments, Json::EMPTY_OBJECT)?)))
    }

    #[staticmethod]
    #[pyo3(signature = (name, arguments=None))]
    fn get_prompt(name: &str, arguments: Any<'_, '_>) -> PyResult<Self> {
        Ok(Self(core_client::Request::get_prompt(name, &json_or(arguments, Json::EMPTY_OBJECT)?)))
    }

    #[staticmethod]
    #[pyo3(signature = (name, argument, value, context=None))]
    fn complete_prompt(name: &str, argument: &str, value: &str, context: Any<'_, '_>) -> PyResult<Self> {
        let context = context.map(json).transpose()?;
        Ok(Self(core_client::Request::complete_prompt(name, argument, value, context.as_ref())))
    }

    #[staticmethod]
    #[pyo3(signature = (uri, argument, value, context=None))]
    fn complete_template(uri: &str, argument: &str, value: &str, context: Any<'_, '_>) -> PyResult<Self> {
        let context = context.map(json).transpose()?;
        Ok(Self(core_client::Request::complete_template(uri, argument, value, context.as_ref())))
    }

    #[staticmethod]
    #[pyo3(signature = (list, cursor=None))]
    fn list(list: &str, cursor: Option<&str>) -> PyResult<Self> {
        Ok(Self(core_client::Request::list(list_named(list)?, cursor)))
    }

    #[staticmethod]
    fn read_resource(uri: &str) -> Self {
        Self(core_client::Request::read_resource(uri))
    }

    #[staticmethod]
    fn subscribe(uri: &str) -> Self {
        Self(core_client::Request::subscribe(uri))
    }

    #[staticmethod]
    fn unsubscribe(uri: &str) -> Self {
        Self(core_client::Request::unsubscribe(uri))
    }

    #[staticmethod]
    fn ping() -> Self {
        Self(core_client::Request::ping())
    }

    #[staticmethod]
    fn discover() -> Self {
        Self(core_client::Request::discover())
    }

    /// The next round, for whoever drives the rounds of input.
    fn retry(&self, done: &Done, responses: &Bound<'_, PyAny>) -> PyResult<Self> {
        let answer = done.answer.as_ref().ok_or_else(|| misuse("the call has no answer"))?;
        self.0.clone().retry(answer, &json(responses)?).map(Self).map_err(|error| core(error.into()))
    }

    #[getter]
    fn method(&self) -> &str {
        self.0.method()
    }
}

fn list_named(name: &str) -> PyResult<List> {
    List::named(name).ok_or_else(|| misuse(&format!("{name:?} is no list")))
}

fn options(given: Option<&Bound<'_, PyDict>>) -> PyResult<CallOptions> {
    match given {
        None => Ok(CallOptions::new()),
        Some(given) => settings::call_options(&json(given)?).map_err(core),
    }
}

/// What the two clients have in common.
#[pyclass(frozen, subclass, module = "mcp_sansio")]
pub(crate) struct ClientMachine {
    cell: Cell<Calling>,
}

impl ClientMachine {
    fn verb<R>(
        &self,
        py: Python<'_>,
        now: Any<'_, '_>,
        verb: impl FnOnce(&mut Lines<dyn Transport>, Now) -> Result<R, Error>,
    ) -> PyResult<R> {
        self.cell.at(py, now, |client, now| verb(client.verbs(), now))?.map_err(core)
    }
}

#[pymethods]
impl ClientMachine {
    fn poll(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        loop {
            let said = match self.cell.with(|client| match client {
                Calling::Lines(client) => client.poll_action().map(Ok),
                Calling::Http(client) => client.poll_action().map(Err),
            })? {
                None => return Ok(None),
                Some(Ok(action)) => of_client(py, &self.cell.home, action)?,
                Some(Err(action)) => of_http_client(py, &self.cell.home, action)?,
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
        self.cell.at(py, now, |client, now| client.verbs().handle_timeout(now))
    }

    #[getter]
    fn wants_input(&self) -> PyResult<bool> {
        self.cell.with(|client| client.verbs().wants_input())
    }

    #[pyo3(signature = (now=None))]
    fn connect(&self, py: Python<'_>, now: Any<'_, '_>) -> PyResult<()> {
        self.verb(py, now, |client, now| client.connect(now))
    }

    #[pyo3(signature = (request, *, now=None, **given))]
    fn call(
        &self,
        py: Python<'_>,
        request: &Request,
        now: Any<'_, '_>,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u64> {
        let (request, options) = (request.0.clone(), options(given)?);
        self.verb(py, now, |client, now| client.call(now, request, options)).map(CallId::to_u64)
    }

    #[pyo3(signature = (list, *, now=None, **given))]
    fn walk(&self, py: Python<'_>, list: &str, now: Any<'_, '_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<u64> {
        let (list, options) = (list_named(list)?, options(given)?);
        self.verb(py, now, |client, now| client.walk(now, list, options)).map(CallId::to_u64)
    }

    #[pyo3(signature = (filter, *, now=None, **given))]
    fn listen(
        &self,
        py: Python<'_>,
        filter: &Bound<'_, PyAny>,
        now: Any<'_, '_>,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u64> {
        let filter = settings::filter(&json(filter)?).map_err(core)?;
        let options = options(given)?;
        self.verb(py, now, |client, now| client.listen(now, &filter, options)).map(CallId::to_u64)
    }

    #[pyo3(signature = (level, *, now=None))]
    fn set_level(&self, py: Python<'_>, level: &str, now: Any<'_, '_>) -> PyResult<u64> {
        let level = definition::level(level).map_err(core)?;
        self.verb(py, now, |client, now| client.set_level(now, level)).map(CallId::to_u64)
    }

    #[pyo3(signature = (call, reason=None, *, now=None))]
    fn cancel(&self, py: Python<'_>, call: u64, reason: Option<&str>, now: Any<'_, '_>) -> PyResult<()> {
        self.verb(py, now, |client, now| client.cancel(now, CallId::from_u64(call), reason))
    }

    #[pyo3(signature = (method, params=None, *, now=None))]
    fn notify(&self, py: Python<'_>, method: &str, params: Any<'_, '_>, now: Any<'_, '_>) -> PyResult<()> {
        let params = json_or(params, Json::EMPTY_OBJECT)?;
        self.verb(py, now, |client, now| client.notify(now, method, &params))
    }

    #[pyo3(signature = (*, now=None))]
    fn roots_changed(&self, py: Python<'_>, now: Any<'_, '_>) -> PyResult<()> {
        self.verb(py, now, |client, now| client.roots_changed(now))
    }

    /// Answers a question, by kind of answer.
    #[pyo3(signature = (input, kind, value=None, *, now=None))]
    fn supply_input(
        &self,
        py: Python<'_>,
        input: u64,
        kind: &str,
        value: Any<'_, '_>,
        now: Any<'_, '_>,
    ) -> PyResult<()> {
        let error = value.map(told).transpose()?.flatten();
        let value = match error {
            Some(error) => Json::from_value(&error).unwrap_or(Json::NULL),
            None => json_or(value, Json::NULL)?,
        };
        let answer = settings::answer(kind, &value).map_err(core)?;
        self.verb(py, now, |client, now| client.supply_input(now, InputId::from_u64(input), &answer))
    }

    /// Answers a request of the server with a result, or with an exception of ours.
    #[pyo3(signature = (slot, result, *, now=None))]
    fn reply(
        &self,
        py: Python<'_>,
        slot: &Bound<'_, PyAny>,
        result: &Bound<'_, PyAny>,
        now: Any<'_, '_>,
    ) -> PyResult<()> {
        let guard = guard(slot)?;
        let result: Result<Json, ErrorObject> = match told(result)? {
            Some(error) => Err(error),
            None => Ok(json(result)?),
        };
        let done = self.cell.at(py, now, |client, now| {
            let slot = guard.take(&self.cell.home)?;
            client.verbs().reply(now, slot, result).map_err(core)
        });
        done?
    }

    #[pyo3(signature = (slot, *, now=None))]
    fn abandon(&self, py: Python<'_>, slot: &Bound<'_, PyAny>, now: Any<'_, '_>) -> PyResult<()> {
        let guard = guard(slot)?;
        let done = self.cell.at(py, now, |client, now| {
            let slot = guard.take(&self.cell.home)?;
            client.verbs().abandon(now, slot).map_err(core)
        });
        done?
    }

    #[pyo3(signature = (*, now=None))]
    fn close(&self, py: Python<'_>, now: Any<'_, '_>) -> PyResult<()> {
        self.cell.at(py, now, |client, now| client.verbs().close(now))
    }

    /// The server, once connected.
    #[getter]
    fn server(&self) -> PyResult<Option<Connected>> {
        let facts = self.cell.with(|client| client.verbs().server().cloned())?;
        Ok(facts.map(|facts| Connected::new(Box::new(facts), "connected")))
    }
}

fn config(given: &Bound<'_, PyAny>) -> PyResult<core_client::Config> {
    settings::config(&json(given)?).map_err(core)
}

fn base(client: Calling, any_thread: bool) -> PyClassInitializer<ClientMachine> {
    PyClassInitializer::from(ClientMachine { cell: Cell::new(client, any_thread) })
}

/// The client of one byte stream.
#[pyclass(frozen, extends = ClientMachine, module = "mcp_sansio")]
pub(crate) struct Client;

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (config, *, any_thread=false))]
    fn new(config: &Bound<'_, PyAny>, any_thread: bool) -> PyResult<PyClassInitializer<Self>> {
        let client = Lines::new(self::config(config)?).map_err(|error| misuse(&error.to_string()))?;
        Ok(base(Calling::Lines(Box::new(client)), any_thread).add_subclass(Self))
    }

    #[pyo3(signature = (data, now=None))]
    fn handle(slf: &Bound<'_, Self>, data: Cow<'_, [u8]>, now: Any<'_, '_>) -> PyResult<()> {
        Self::happened(slf, Input::Bytes(Bytes::from(data.into_owned())), now)
    }

    #[pyo3(signature = (now=None))]
    fn handle_eof(slf: &Bound<'_, Self>, now: Any<'_, '_>) -> PyResult<()> {
        Self::happened(slf, Input::Eof, now)
    }

    fn written(slf: &Bound<'_, Self>, count: usize) -> PyResult<()> {
        let done = slf.as_super().get().cell.last(|client, now| match client {
            Calling::Lines(client) => client.handle(now, Input::Written(count)),
            Calling::Http(_) => Ok(()),
        });
        done?.map_err(core)
    }
}

impl Client {
    fn happened(slf: &Bound<'_, Self>, input: Input, now: Any<'_, '_>) -> PyResult<()> {
        let done = slf.as_super().get().cell.at(slf.py(), now, |client, now| match client {
            Calling::Lines(client) => client.handle(now, input),
            Calling::Http(_) => Ok(()),
        });
        done?.map_err(core)
    }
}

/// The client of Streamable HTTP.
#[pyclass(frozen, extends = ClientMachine, module = "mcp_sansio")]
pub(crate) struct HttpClient;

#[pymethods]
impl HttpClient {
    #[new]
    #[pyo3(signature = (config, endpoint, *, any_thread=false))]
    fn new(
        config: &Bound<'_, PyAny>,
        endpoint: &Bound<'_, PyAny>,
        any_thread: bool,
    ) -> PyResult<PyClassInitializer<Self>> {
        let endpoint = address::endpoint(&json(endpoint)?).map_err(core)?;
        let client = Http::over_http(self::config(config)?, endpoint).map_err(|error| misuse(&error.to_string()))?;
        Ok(base(Calling::Http(Box::new(client)), any_thread).add_subclass(Self))
    }

    #[pyo3(signature = (fetch, status, headers, *, now=None))]
    fn handle_head(
        slf: &Bound<'_, Self>,
        fetch: u64,
        status: u16,
        headers: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        now: Any<'_, '_>,
    ) -> PyResult<()> {
        let mut all = Headers::new();
        for (name, value) in &headers {
            let name = String::from_utf8_lossy(&octets(name)?).into_owned();
            all.push(name, octets(value)?);
        }
        Self::happened(slf, HttpInput::Head { fetch: FetchId::from_u64(fetch), status, headers: all }, now)
    }

    #[pyo3(signature = (fetch, data, *, now=None))]
    fn handle_body(slf: &Bound<'_, Self>, fetch: u64, data: Cow<'_, [u8]>, now: Any<'_, '_>) -> PyResult<()> {
        let bytes = Bytes::from(data.into_owned());
        Self::happened(slf, HttpInput::Body { fetch: FetchId::from_u64(fetch), bytes }, now)
    }

    #[pyo3(signature = (fetch, *, now=None))]
    fn handle_end(slf: &Bound<'_, Self>, fetch: u64, now: Any<'_, '_>) -> PyResult<()> {
        Self::happened(slf, HttpInput::End { fetch: FetchId::from_u64(fetch) }, now)
    }

    #[pyo3(signature = (fetch, text, *, sent, now=None))]
    fn handle_failed(slf: &Bound<'_, Self>, fetch: u64, text: &str, sent: bool, now: Any<'_, '_>) -> PyResult<()> {
        let reason = if sent { FetchFailed::Broken(text.into()) } else { FetchFailed::NotSent(text.into()) };
        Self::happened(slf, HttpInput::Failed { fetch: FetchId::from_u64(fetch), reason }, now)
    }

    #[pyo3(signature = (fetch, authorization, *, now=None))]
    fn authorize(slf: &Bound<'_, Self>, fetch: u64, authorization: String, now: Any<'_, '_>) -> PyResult<()> {
        Self::http(slf, now, |client, now| client.authorize(now, FetchId::from_u64(fetch), authorization))
    }

    #[pyo3(signature = (fetch, *, now=None))]
    fn refuse_authorization(slf: &Bound<'_, Self>, fetch: u64, now: Any<'_, '_>) -> PyResult<()> {
        Self::http(slf, now, |client, now| client.refuse_authorization(now, FetchId::from_u64(fetch)))
    }

    #[pyo3(signature = (authorization))]
    fn set_authorization(slf: &Bound<'_, Self>, authorization: Option<String>) -> PyResult<()> {
        let done = slf.as_super().get().cell.with(|client| match client {
            Calling::Http(client) => client.set_authorization(authorization.map(Into::into)),
            Calling::Lines(_) => Ok(()),
        });
        done?.map_err(core)
    }

    #[getter]
    fn session_id(slf: &Bound<'_, Self>) -> PyResult<Option<String>> {
        slf.as_super().get().cell.with(|client| match client {
            Calling::Http(client) => client.session_id().map(str::to_owned),
            Calling::Lines(_) => None,
        })
    }
}

impl HttpClient {
    fn http(
        slf: &Bound<'_, Self>,
        now: Any<'_, '_>,
        verb: impl FnOnce(&mut Http, Now) -> Result<(), Error>,
    ) -> PyResult<()> {
        let done = slf.as_super().get().cell.at(slf.py(), now, |client, now| match client {
            Calling::Http(client) => verb(client, now),
            Calling::Lines(_) => Ok(()),
        });
        done?.map_err(core)
    }

    fn happened(slf: &Bound<'_, Self>, input: HttpInput, now: Any<'_, '_>) -> PyResult<()> {
        Self::http(slf, now, |client, now| client.handle(now, input))
    }
}

/// A name or value of a header, which is bytes, or text that is none but Latin-1.
pub(crate) fn octets(any: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match any.extract::<Cow<'_, [u8]>>() {
        Ok(bytes) => Ok(bytes.into_owned()),
        Err(_) => any.call_method1("encode", ("latin-1",))?.extract(),
    }
}
