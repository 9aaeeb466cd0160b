//! What a machine says, as small frozen objects: `kind` tells them apart, `match` takes them apart.

use std::sync::Arc;

use mcp_sansio::client::{self, Answer, InputNeeded, ServerFacts};
use mcp_sansio::diagnostic::Diagnostic;
use mcp_sansio::http::client as http_client;
use mcp_sansio::http::server as http;
use mcp_sansio::json::Json;
use mcp_sansio::server::{self, Event, Notified as ServerNotified, RequestFailure};
use mcp_sansio_bindings::Failure;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::cell::{Guard, Home};
use crate::errors::exception;
use crate::invoke::Invoke;
use crate::server::event;
use crate::value::{Lazy, native};

type Object = Py<PyAny>;

/// A class of actions. What stands after the members is a payload: native when it is asked for, bytes as `raw`.
macro_rules! action {
    ($name:ident $kind:literal { $($field:ident: $type:ty),* } $($payload:ident)?) => {
        #[pyclass(frozen, module = "mcp_sansio")]
        pub(crate) struct $name {
            $(#[pyo3(get)] $field: $type,)*
            $($payload: Lazy,)?
        }
        action!(@methods $name $kind [$($field)*] $($payload)?);
    };
    (@methods $name:ident $kind:literal [$($field:ident)*]) => {
        #[pymethods]
        impl $name {
            #[classattr]
            const fn kind() -> &'static str { $kind }
            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
                PyTuple::new(py, [$(stringify!($field)),*] as [&str; _])
            }
            fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
                show(slf.as_any(), &[$(stringify!($field)),*])
            }
        }
    };
    (@methods $name:ident $kind:literal [$($field:ident)*] $payload:ident) => {
        #[pymethods]
        impl $name {
            #[classattr]
            const fn kind() -> &'static str { $kind }
            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
                PyTuple::new(py, [$(stringify!($field),)* stringify!($payload)])
            }
            fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
                show(slf.as_any(), &[$(stringify!($field)),*])
            }
            #[getter]
            fn $payload(&self, py: Python<'_>) -> PyResult<Object> { self.$payload.get(py) }
            #[getter]
            fn raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> { self.$payload.raw(py) }
        }
    };
}

/// An action for people: its class and the members that are no payload, which may be a secret.
pub(crate) fn show(action: &Bound<'_, PyAny>, members: &[&str]) -> PyResult<String> {
    let told = members.iter().map(|name| Ok(format!("{name}={}", action.getattr(*name)?.repr()?)));
    Ok(format!("{}({})", action.get_type().name()?, told.collect::<PyResult<Vec<_>>>()?.join(", ")))
}

// Of a byte stream.
action!(Write "write" { data: Py<PyBytes> });
// Of every machine.
action!(Cancelled "cancelled" { id: u64, reason: Option<String> });
action!(Notified "notified" { method: String, subscription: Option<u64> } params);
action!(Diagnosed "diagnostic" { what: &'static str, text: String, request_id: Option<Object> });
action!(Closed "closed" { reason: &'static str, error: Option<Object> });
// Of a server.
action!(Answered "answered" { call: u64, error: Option<Object>, failure: Option<&'static str> } result);
// Of a client.
action!(Progressed "progress" { call: u64, progress: f64, total: Option<f64>, message: Option<String> } params);
action!(NeedInput "need_input" { input: u64, key: String, method: String, call: Option<u64> } params);
action!(CancelledInput "cancelled_input" { input: u64, reason: Option<String> });
action!(Listening "listening" { call: u64 } filter);
// Of an HTTP server.
action!(Respond "respond" { exchange: u64, status: u16, headers: Object, body: Option<Py<PyBytes>>, remark: Option<String> });
action!(Chunk "chunk" { exchange: u64, data: Py<PyBytes> });
action!(Finish "finish" { exchange: u64 });
// Of an HTTP client.
action!(Fetch "fetch" { id: u64, method: &'static str, url: String, headers: Object, body: Py<PyBytes> });
action!(Abort "abort" { fetch: u64 });
action!(Unauthorized "unauthorized" { fetch: u64, status: u16, www_authenticate: Object });

/// A listen stream is asked for.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Listen(pub(crate) http::Subscription);

#[pymethods]
impl Listen {
    #[classattr]
    const fn kind() -> &'static str {
        "listen"
    }
}

/// Something that others want to hear.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Publish(pub(crate) Event);

#[pymethods]
impl Publish {
    /// An event of the application's own, to be delivered.
    #[new]
    #[pyo3(signature = (change, uri=None))]
    fn new(change: &str, uri: Option<&str>) -> PyResult<Self> {
        event(change, uri).map(Self)
    }

    #[classattr]
    const fn kind() -> &'static str {
        "publish"
    }

    /// What has changed: a list by its name, or `resource`.
    #[getter]
    fn change(&self) -> &'static str {
        match &self.0 {
            Event::PromptsListChanged => server::List::Prompts.name(),
            Event::ResourcesListChanged => server::List::Resources.name(),
            Event::ToolsListChanged => server::List::Tools.name(),
            _ => "resource",
        }
    }

    #[getter]
    fn uri(&self) -> Option<&str> {
        match &self.0 {
            Event::ResourceUpdated { uri } => Some(uri),
            _ => None,
        }
    }
}

/// The server that a client is connected to.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Connected {
    facts: Box<ServerFacts>,
    kind: &'static str,
    value: Lazy,
}

impl Connected {
    pub(crate) fn new(facts: Box<ServerFacts>, kind: &'static str) -> Self {
        Self { value: Lazy::new(facts.raw.clone()), facts, kind }
    }
}

#[pymethods]
impl Connected {
    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, ["version"])
    }

    #[getter]
    const fn kind(&self) -> &'static str {
        self.kind
    }

    #[getter]
    fn version(&self) -> &'static str {
        self.facts.version.as_str()
    }

    #[getter]
    fn era(&self) -> &'static str {
        crate::invoke::era(self.facts.era())
    }

    #[getter]
    fn capabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        written(py, Some(&self.facts.capabilities))
    }

    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        written(py, self.facts.info.as_ref())
    }

    #[getter]
    fn instructions(&self) -> Option<&str> {
        self.facts.instructions.as_deref()
    }

    #[getter]
    fn result(&self, py: Python<'_>) -> PyResult<Object> {
        self.value.get(py)
    }

    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.value.raw(py)
    }
}

/// A call has ended.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Done {
    #[pyo3(get)]
    call: u64,
    #[pyo3(get)]
    error: Option<Object>,
    pub(crate) answer: Option<Answer>,
    value: Lazy,
}

#[pymethods]
impl Done {
    #[classattr]
    const fn kind() -> &'static str {
        "done"
    }

    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, ["call", "result", "error"])
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        show(slf.as_any(), &["call", "error"])
    }

    #[getter]
    fn result(&self, py: Python<'_>) -> PyResult<Object> {
        self.value.get(py)
    }

    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.value.raw(py)
    }

    #[getter]
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let items = self.answer.as_ref().map(Answer::items).unwrap_or_default();
        PyList::new(py, items.iter().map(|item| native(py, item)).collect::<PyResult<Vec<_>>>()?)
    }

    #[getter]
    fn structured_content<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.answer.as_ref().and_then(Answer::structured_content).map(|content| native(py, &content)).transpose()
    }

    #[getter]
    fn next_cursor(&self) -> Option<String> {
        self.answer.as_ref()?.next_cursor().map(std::borrow::Cow::into_owned)
    }

    #[getter]
    fn result_type(&self) -> Option<String> {
        self.answer.as_ref().map(|answer| answer.result_type().into_owned())
    }

    #[getter]
    fn server_info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        written(py, self.answer.as_ref().and_then(Answer::server_info).as_ref())
    }

    #[getter]
    fn is_error(&self) -> bool {
        self.answer.as_ref().is_some_and(Answer::is_error)
    }

    #[getter]
    fn is_cached(&self) -> bool {
        self.answer.as_ref().is_some_and(Answer::is_cached)
    }

    #[getter]
    fn is_input_required(&self) -> bool {
        self.answer.as_ref().is_some_and(Answer::is_input_required)
    }
}

/// A typed value of the core as a native object; `None` for nothing.
pub(crate) fn written<'py, T: serde::Serialize>(py: Python<'py>, value: Option<&T>) -> PyResult<Bound<'py, PyAny>> {
    native(py, &value.and_then(|value| Json::from_value(value).ok()).unwrap_or(Json::NULL))
}

/// An action as an object.
fn object<T: pyo3::PyClass>(py: Python<'_>, action: impl Into<PyClassInitializer<T>>) -> PyResult<Object> {
    Ok(Py::new(py, action)?.into_any())
}

fn bytes(py: Python<'_>, bytes: &[u8]) -> Py<PyBytes> {
    PyBytes::new(py, bytes).unbind()
}

fn failed(py: Python<'_>, failure: Option<Failure>) -> PyResult<Option<Object>> {
    failure.map(|failure| exception(py, &failure).map(Bound::unbind)).transpose()
}

fn diagnosed(py: Python<'_>, remark: &Diagnostic) -> PyResult<Object> {
    let request_id = remark.id.as_ref().map(|id| native(py, &id.to_json()).map(Bound::unbind)).transpose()?;
    object(py, Diagnosed { what: remark.kind.name(), text: remark.text.to_string(), request_id })
}

fn notified(py: Python<'_>, notified: ServerNotified) -> PyResult<Object> {
    let method = notified.method().to_owned();
    let params = match notified {
        ServerNotified::Custom { params, .. } => params,
        _ => Json::EMPTY_OBJECT,
    };
    object(py, Notified { method, subscription: None, params: Lazy::new(params) })
}

fn answered(py: Python<'_>, call: u64, outcome: Result<Json, RequestFailure>) -> PyResult<Object> {
    let (result, error, failure) = match outcome {
        Ok(result) => (result, None, None),
        Err(failure) => {
            let error = match &failure {
                RequestFailure::Remote(object) => failed(py, Some(Failure::of_object(object)))?,
                _ => None,
            };
            (Json::NULL, error, Some(failure.name()))
        }
    };
    object(py, Answered { call, error, failure, result: Lazy::new(result) })
}

/// What the machine of a byte stream says.
pub(crate) fn of_server(py: Python<'_>, home: &Arc<Home>, action: server::Action) -> PyResult<Option<Object>> {
    use server::Action;
    Ok(Some(match action {
        Action::Write(data) => object(py, Write { data: bytes(py, &data) })?,
        Action::Invoke(invocation) => object(py, Invoke::of_server(*invocation, home))?,
        Action::Cancelled { slot, reason } => {
            object(py, Cancelled { id: slot.to_u64(), reason: reason.map(Into::into) })?
        }
        Action::Notified(message) => notified(py, message)?,
        Action::Answered { call, outcome } => answered(py, call.to_u64(), outcome)?,
        Action::Diagnostic(remark) => diagnosed(py, &remark)?,
        Action::Closed(closed) => {
            object(py, Closed { reason: closed.name(), error: failed(py, Failure::of_server(&closed))? })?
        }
        _ => return Ok(None),
    }))
}

/// An answer over HTTP.
pub(crate) fn respond(py: Python<'_>, exchange: u64, response: http::Response) -> PyResult<Object> {
    let headers = response.headers().collect::<Vec<_>>().into_pyobject(py)?.into_any().unbind();
    let (status, remark) = (response.status(), response.diagnostic().map(ToString::to_string));
    let body = match response.into_body() {
        http::Body::Whole(body) => Some(bytes(py, &body)),
        http::Body::Stream => None,
    };
    object(py, Respond { exchange, status, headers, body, remark })
}

/// What a machine of an HTTP server says.
pub(crate) fn of_http(py: Python<'_>, home: &Arc<Home>, action: http::Action) -> PyResult<Option<Object>> {
    use http::Action;
    Ok(Some(match action {
        Action::Answered { call, outcome } => answered(py, call.to_u64(), outcome)?,
        Action::Cancelled { slot, reason } => {
            object(py, Cancelled { id: slot.to_u64(), reason: reason.map(Into::into) })?
        }
        Action::Chunk { exchange, bytes: data } => {
            object(py, Chunk { exchange: exchange.to_u64(), data: bytes(py, &data) })?
        }
        Action::Closed(closed) => {
            object(py, Closed { reason: closed.name(), error: failed(py, Failure::of_server(&closed))? })?
        }
        Action::Diagnostic(remark) => diagnosed(py, &remark)?,
        Action::Finish { exchange } => object(py, Finish { exchange: exchange.to_u64() })?,
        Action::Invoke(invocation) => object(py, Invoke::of_server(*invocation, home))?,
        Action::Listen(subscription) => object(py, Listen(subscription))?,
        Action::Notified(message) => notified(py, message)?,
        Action::Publish(event) => object(py, Publish(event))?,
        Action::Respond { exchange, response } => respond(py, exchange.to_u64(), response)?,
        _ => return Ok(None),
    }))
}

/// What a client says, whatever its transport.
pub(crate) fn of_client(py: Python<'_>, home: &Arc<Home>, action: client::Action) -> PyResult<Option<Object>> {
    use client::Action;
    Ok(Some(match action {
        Action::Write(data) => object(py, Write { data: bytes(py, &data) })?,
        Action::Connected(facts) => object(py, Connected::new(facts, "connected"))?,
        Action::Renewed(facts) => object(py, Connected::new(facts, "renewed"))?,
        Action::Progress { call, progress } => {
            let client::Progress { progress, total, message, raw } = progress;
            object(py, Progressed { call: call.to_u64(), progress, total, message, params: Lazy::new(raw) })?
        }
        Action::Done { call, outcome } => {
            let call = call.to_u64();
            object(
                py,
                match outcome {
                    Ok(answer) => Done { call, error: None, value: Lazy::new(answer.json()), answer: Some(answer) },
                    Err(error) => {
                        let error = failed(py, Some(Failure::of_call(&error)))?;
                        Done { call, error, value: Lazy::new(Json::NULL), answer: None }
                    }
                },
            )?
        }
        Action::NeedInput(needed) => {
            let InputNeeded { input, call, key, request, raw, .. } = *needed;
            let method = request.method().map_or("", |method| method.as_str()).to_owned();
            let call = call.map(|call| call.to_u64());
            object(py, NeedInput { input: input.to_u64(), key, method, call, params: Lazy::new(raw) })?
        }
        Action::CancelledInput { input, reason } => {
            object(py, CancelledInput { input: input.to_u64(), reason: reason.map(Into::into) })?
        }
        Action::Invoke { slot, method, params } => {
            object(py, Invoke::of_client(Guard::new(slot, home, "raw"), method, params))?
        }
        Action::CancelledInvoke { slot, reason } => {
            object(py, Cancelled { id: slot.to_u64(), reason: reason.map(Into::into) })?
        }
        Action::Notified { method, params, subscription } => {
            let subscription = subscription.map(|call| call.to_u64());
            object(py, Notified { method: method.into(), subscription, params: Lazy::new(params) })?
        }
        Action::Listening { call, filter } => {
            let filter = Json::from_value(&filter).unwrap_or(Json::EMPTY_OBJECT);
            object(py, Listening { call: call.to_u64(), filter: Lazy::new(filter) })?
        }
        Action::Diagnostic(remark) => diagnosed(py, &remark)?,
        Action::Closed(closed) => {
            object(py, Closed { reason: closed.name(), error: failed(py, Failure::of_client(&closed))? })?
        }
        _ => return Ok(None),
    }))
}

/// What a client over HTTP says.
pub(crate) fn of_http_client(
    py: Python<'_>,
    home: &Arc<Home>,
    action: http_client::Action,
) -> PyResult<Option<Object>> {
    use http_client::Action;
    Ok(Some(match action {
        Action::Fetch(fetch) => {
            let pairs = fetch.headers.iter().map(|(name, value)| (name, PyBytes::new(py, value)));
            let headers = pairs.collect::<Vec<_>>().into_pyobject(py)?.into_any().unbind();
            let (id, method, url) = (fetch.id.to_u64(), fetch.method.as_str(), fetch.url.to_string());
            object(py, Fetch { id, method, url, headers, body: bytes(py, &fetch.body) })?
        }
        Action::Abort(fetch) => object(py, Abort { fetch: fetch.to_u64() })?,
        Action::Unauthorized(asked) => {
            let values = asked.challenge.www_authenticate.iter().map(|value| PyBytes::new(py, value));
            let www_authenticate = PyList::new(py, values.collect::<Vec<_>>())?.into_any().unbind();
            object(py, Unauthorized { fetch: asked.fetch.to_u64(), status: asked.challenge.status, www_authenticate })?
        }
        Action::Event(event) => return of_client(py, home, event),
        _ => return Ok(None),
    }))
}
