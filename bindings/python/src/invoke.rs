//! Application code to run: what is asked, who asks, and the right to answer.

use std::sync::Arc;

use mcp_sansio::json::Json;
use mcp_sansio::model::ElicitParams;
use mcp_sansio::server::{Call, Context, Invocation, ReadTarget, Reference};
use mcp_sansio::spec::Era;
use mcp_sansio::uri_template::Value;
use mcp_sansio_bindings::{Failure, read};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::actions::{show, written};
use crate::cell::{Guard, Home};
use crate::errors::{core, exception, misuse, raised};
use crate::value::{Lazy, json, native};

/// The right to answer a request, alone.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Slot(pub(crate) Arc<Guard>);

#[pymethods]
impl Slot {
    #[getter]
    fn id(&self) -> u64 {
        self.0.id()
    }
}

enum Asked {
    Client { method: Box<str> },
    Server { call: Call, context: Context },
}

/// Application code to run. Holds the right to answer.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Invoke {
    guard: Arc<Guard>,
    asked: Asked,
    arguments: Lazy,
    params: PyOnceLock<Py<PyAny>>,
}

/// What a front gives along with a request, for its handlers.
pub(crate) struct Given(pub(crate) Py<PyAny>);

pub(crate) const fn era(era: Era) -> &'static str {
    match era {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
    }
}

impl Invoke {
    pub(crate) fn of_server(invocation: Invocation, home: &Arc<Home>) -> Self {
        let Invocation { slot, call, context } = invocation;
        let arguments = match &call {
            Call::Complete { context, .. } => context.clone(),
            Call::Prompt { arguments, .. } | Call::Tool { arguments, .. } => arguments.clone(),
            Call::Raw { params, .. } => params.clone(),
            Call::Read { target: ReadTarget::Template(_, values), .. } => {
                let all = values.iter().map(|(name, value)| (name.to_owned(), variable(value)));
                Json::from(serde_json::Value::Object(all.collect()))
            }
            _ => Json::EMPTY_OBJECT,
        };
        let guard = Guard::new(slot, home, call.name());
        let (arguments, params) = (Lazy::new(arguments), PyOnceLock::new());
        Self { guard, asked: Asked::Server { call, context }, arguments, params }
    }

    pub(crate) fn of_client(guard: Arc<Guard>, method: Box<str>, params: Json) -> Self {
        Self { guard, asked: Asked::Client { method }, arguments: Lazy::new(params), params: PyOnceLock::new() }
    }

    pub(crate) fn guard(&self) -> Arc<Guard> {
        Arc::clone(&self.guard)
    }

    fn call(&self) -> Option<&Call> {
        match &self.asked {
            Asked::Server { call, .. } => Some(call),
            Asked::Client { .. } => None,
        }
    }

    fn context(&self) -> PyResult<&Context> {
        match &self.asked {
            Asked::Server { context, .. } => Ok(context),
            Asked::Client { .. } => Err(misuse("only requests of clients have this")),
        }
    }
}

fn variable(value: &Value) -> serde_json::Value {
    match value {
        Value::Text(text) => text.clone().into(),
        Value::List(items) => items.clone().into(),
        Value::Map(pairs) => pairs.iter().map(|(name, text)| (name.clone(), text.clone())).collect(),
    }
}

#[pymethods]
impl Invoke {
    #[classattr]
    const fn kind() -> &'static str {
        "invoke"
    }

    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, ["call", "name", stringify!(arguments)])
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        show(slf.as_any(), &["call", "name", "id"])
    }

    #[getter(call)]
    fn call_name(&self) -> &'static str {
        self.guard.asked
    }

    #[getter]
    fn name(&self) -> &str {
        match (&self.asked, self.call()) {
            (Asked::Client { method }, _) | (_, Some(Call::Raw { method, .. })) => method,
            (_, Some(Call::Complete { reference: Reference::Prompt(_, name) | Reference::Template(_, name), .. })) => {
                name
            }
            (_, Some(Call::List { list, .. })) => list.name(),
            (_, Some(Call::Prompt { name, .. })) => name,
            (_, Some(Call::Tool { name, .. })) => name,
            (_, Some(Call::Read { uri, .. } | Call::Subscribe { uri } | Call::Unsubscribe { uri })) => uri,
            _ => "",
        }
    }

    #[getter]
    fn arguments(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.arguments.get(py)
    }

    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.arguments.raw(py)
    }

    #[getter]
    fn index(&self) -> Option<usize> {
        match self.call()? {
            Call::Complete { reference: Reference::Prompt(index, _) | Reference::Template(index, _), .. }
            | Call::Prompt { index, .. }
            | Call::Tool { index, .. } => *index,
            Call::Read { target: ReadTarget::Resource(index) | ReadTarget::Template(index, _), .. } => Some(*index),
            _ => None,
        }
    }

    /// What the index counts: for a read or a completion, which of the two it is about.
    #[getter]
    fn target(&self) -> Option<&'static str> {
        match self.call()? {
            Call::Complete { reference: Reference::Prompt(..), .. } => Some("prompt"),
            Call::Complete { reference: Reference::Template(..), .. } => Some("template"),
            Call::Read { target: ReadTarget::Resource(_), .. } => Some("resource"),
            Call::Read { target: ReadTarget::Template(..), .. } => Some("template"),
            Call::Read { .. } => Some("any"),
            _ => None,
        }
    }

    #[getter]
    fn argument(&self) -> Option<&str> {
        match self.call()? {
            Call::Complete { argument, .. } => Some(argument),
            _ => None,
        }
    }

    #[getter]
    fn value(&self) -> Option<&str> {
        match self.call()? {
            Call::Complete { value, .. } => Some(value),
            _ => None,
        }
    }

    #[getter]
    fn cursor(&self) -> Option<&str> {
        match self.call()? {
            Call::List { cursor, .. } => cursor.as_deref(),
            _ => None,
        }
    }

    #[getter]
    fn slot(&self) -> Slot {
        Slot(Arc::clone(&self.guard))
    }

    #[getter]
    fn id(&self) -> u64 {
        self.guard.id()
    }

    #[getter]
    fn method(&self) -> PyResult<&str> {
        match &self.asked {
            Asked::Client { method } => Ok(method),
            Asked::Server { context, .. } => Ok(context.method()),
        }
    }

    #[getter]
    fn params(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.asked {
            Asked::Client { .. } => self.arguments.get(py),
            Asked::Server { context, .. } => {
                let params = || native(py, &context.params()).map(Bound::unbind);
                Ok(self.params.get_or_try_init(py, params)?.clone_ref(py))
            }
        }
    }

    #[getter]
    fn request_id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        native(py, &self.context()?.request_id().to_json())
    }

    #[getter]
    fn version(&self) -> PyResult<&'static str> {
        Ok(self.context()?.version().as_str())
    }

    #[getter]
    fn era(&self) -> PyResult<&'static str> {
        Ok(era(self.context()?.era()))
    }

    #[getter]
    fn meta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        native(py, &self.context()?.meta())
    }

    #[getter]
    fn client_info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        written(py, self.context()?.client_info().as_ref())
    }

    #[getter]
    fn client_capabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        written(py, Some(&self.context()?.client_capabilities()))
    }

    /// Raises what the client shall be answered if it lacks a capability.
    fn require_capability(&self, path: &str) -> PyResult<()> {
        self.context()?.require_capability(path).map_err(|error| raised(&Failure::of_object(&error)))
    }

    #[getter]
    fn progress_token<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.context()?.progress_token().map(|token| native(py, &token.0.to_json())).transpose()
    }

    #[getter]
    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let trace = self.context()?.trace_context();
        let parts = [("traceparent", trace.traceparent), ("tracestate", trace.tracestate), ("baggage", trace.baggage)];
        let dict = PyDict::new(py);
        for (name, value) in parts {
            if let Some(value) = value {
                dict.set_item(name, value)?;
            }
        }
        Ok(dict)
    }

    #[getter]
    fn principal(&self) -> PyResult<Option<&str>> {
        Ok(self.context()?.principal())
    }

    #[getter]
    fn data(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        Ok(self.context()?.data::<Given>().map(|given| given.0.clone_ref(py)))
    }

    #[getter]
    fn can_ask(&self) -> PyResult<bool> {
        Ok(self.context()?.can_ask())
    }

    /// Every answer so far: a native object, or the exception that a refusal is.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (key, answer) in self.context()?.inputs() {
            let answer = match answer {
                Ok(answer) => native(py, answer)?,
                Err(error) => exception(py, &Failure::of_object(error))?,
            };
            dict.set_item(key, answer)?;
        }
        Ok(dict)
    }

    /// The answer to an elicitation, checked against what was asked; `None` if there is none yet.
    fn elicited<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        asked: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let asked: ElicitParams = read(&json(asked)?).map_err(core)?;
        match self.context()?.elicited(key, &asked) {
            None => Ok(None),
            Some(Ok(answer)) => written(py, Some(&answer)).map(Some),
            Some(Err(error)) => Err(raised(&Failure::of_object(&error))),
        }
    }

    #[getter]
    fn state(&self) -> PyResult<Option<&str>> {
        Ok(self.context()?.state())
    }

    #[getter]
    fn memo<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.context()?.memo().map(|memo| native(py, memo)).transpose()
    }

    #[getter]
    fn round(&self) -> PyResult<u32> {
        Ok(self.context()?.round())
    }

    #[getter]
    fn state_token<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(self.context()?.state_token().map(|token| PyBytes::new(py, &token)))
    }
}
