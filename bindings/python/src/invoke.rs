//! Application code to run: what is asked, who asks, and the right to answer; and answers that are made beforehand.

use std::sync::Arc;

use mcp_sansio::error::Error;
use mcp_sansio::json::Json;
use mcp_sansio::server::{Invocation, Reply as CoreReply};
use mcp_sansio_told::reply::{kind, reply, text};
use mcp_sansio_told::say;
use mcp_sansio_told::told::read;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString, PyTuple};

use crate::cell::{Any, Guard};
use crate::errors::{Half, misuse, raised};
use crate::value::{json, native, utf8};

static REST: Half = Half::new("mcp_sansio._actions", "rest");
static QUESTIONS: Half = Half::new("mcp_sansio._settings", "questions");

/// The right to answer a request, alone.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Slot(pub(crate) Arc<Guard>);

#[pymethods]
impl Slot {
    #[getter]
    fn id(&self) -> u64 {
        self.0.id.to_u64()
    }
}

/// Who asks.
pub(crate) enum Asked {
    Client { method: Box<str>, params: Json },
    Server(Box<Invocation>),
}

/// Application code to run. Holds the right to answer.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Invoke {
    pub(crate) guard: Arc<Guard>,
    pub(crate) asked: Asked,
    arguments: PyOnceLock<Py<PyAny>>,
    params: PyOnceLock<Py<PyAny>>,
    rest: PyOnceLock<Py<PyAny>>,
}

/// What a front gives along with a request, for its handlers.
pub(crate) struct Given(pub(crate) Py<PyAny>);

impl Invoke {
    pub(crate) fn new(guard: Arc<Guard>, asked: Asked) -> Self {
        Self { guard, asked, arguments: PyOnceLock::new(), params: PyOnceLock::new(), rest: PyOnceLock::new() }
    }

    fn json(&self) -> Json {
        match &self.asked {
            Asked::Client { params, .. } => params.clone(),
            Asked::Server(invocation) => say::arguments(&invocation.call),
        }
    }

    fn of_server(&self) -> PyResult<&Invocation> {
        match &self.asked {
            Asked::Server(invocation) => Ok(invocation),
            Asked::Client { .. } => Err(misuse("only requests of clients have this")),
        }
    }

    /// A rare member, by its name: they are told together, and shaped in Python.
    fn rest<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let rest = self.rest.get_or_try_init(py, || {
            let told = match &self.asked {
                Asked::Client { .. } => None,
                Asked::Server(of) => Some(native(py, say::asked(&of.call, &of.context).map_err(raised)?.as_bytes())?),
            };
            REST.get(py)?.call1((told, self.name())).map(Bound::unbind)
        })?;
        rest.bind(py).call1((name,))
    }
}

fn kept<'py>(
    py: Python<'py>,
    place: &PyOnceLock<Py<PyAny>>,
    json: impl FnOnce() -> Json,
) -> PyResult<Bound<'py, PyAny>> {
    let value = place.get_or_try_init(py, || native(py, json().as_bytes()).map(Bound::unbind))?;
    Ok(value.bind(py).clone())
}

/// The members of an invocation: those that are named here are rare.
macro_rules! members {
    ($($rare:ident)*) => {
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

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let name = PyString::new(py, self.name()).repr()?;
                Ok(format!("Invoke(call='{}', name={name}, id={})", self.call(), self.id()))
            }

            #[getter]
            fn call(&self) -> &'static str {
                match &self.asked {
                    Asked::Client { .. } => "raw",
                    Asked::Server(invocation) => invocation.call.name(),
                }
            }

            #[getter]
            fn name(&self) -> &str {
                match &self.asked {
                    Asked::Client { method, .. } => method,
                    Asked::Server(invocation) => say::name(&invocation.call),
                }
            }

            #[getter]
            fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                kept(py, &self.arguments, || self.json())
            }

            #[getter]
            fn raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, self.json().as_bytes())
            }

            #[getter]
            fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                match &self.asked {
                    Asked::Client { .. } => self.arguments(py),
                    Asked::Server(invocation) => kept(py, &self.params, || invocation.context.params()),
                }
            }

            #[getter]
            fn slot(&self) -> Slot {
                Slot(Arc::clone(&self.guard))
            }

            #[getter]
            fn id(&self) -> u64 {
                self.guard.id.to_u64()
            }

            #[getter]
            fn data(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
                Ok(self.of_server()?.context.data::<Given>().map(|given| given.0.clone_ref(py)))
            }

            /// Raises what the client shall be answered if it lacks a capability.
            fn require_capability(&self, path: &str) -> PyResult<()> {
                self.of_server()?.context.require_capability(path).map_err(|error| raised(Error::Remote(error)))
            }

            /// The answer to an elicitation, checked against what was asked; `None` if there is none yet.
            fn elicited<'py>(
                &self,
                py: Python<'py>,
                key: &str,
                asked: &Bound<'py, PyAny>,
            ) -> PyResult<Option<Bound<'py, PyAny>>> {
                let asked = read(&json(asked)?).map_err(raised)?;
                let answer = self.of_server()?.context.elicited(key, &asked).transpose();
                let answer = answer.map_err(|error| raised(Error::Remote(error)))?;
                let answer = answer.and_then(|answer| Json::from_value(&answer).ok());
                answer.map(|answer| native(py, answer.as_bytes())).transpose()
            }

            $(#[getter]
            fn $rare<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                self.rest(py, stringify!($rare))
            })*
        }
    };
}

members! {
    index target argument value cursor
    method request_id version era meta client_info client_capabilities progress_token trace principal
    can_ask inputs state memo round state_token
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
        let value = match (kind, value) {
            (_, None) => "null".to_owned(),
            ("input", Some(value)) => json(&QUESTIONS.get(value.py())?.call1((value,))?)?,
            (_, Some(value)) => json(value)?,
        };
        self::kind(kind).and_then(|kind| reply(kind, Some(value))).map(Self).map_err(raised)
    }

    /// The result of a tool that is one text.
    #[staticmethod]
    #[pyo3(name = "text", signature = (text, *, is_error=false))]
    fn of_text(text: &Bound<'_, PyString>, is_error: bool) -> PyResult<Self> {
        Ok(Self(self::text(utf8(text)?, is_error)))
    }
}

/// The reply that a native object stands for, where one of this kind is wanted.
pub(crate) fn reply_of(given: &Bound<'_, PyAny>, wanted: u32) -> PyResult<CoreReply> {
    if let Ok(one) = given.cast::<PyString>() {
        return Ok(text(utf8(one)?, false));
    }
    if let Ok(made) = given.cast::<Reply>() {
        return Ok(made.get().0.clone());
    }
    let kind = if given.is_instance_of::<PyBaseException>() { kind("error") } else { Ok(wanted) };
    let value = json(given)?;
    kind.and_then(|kind| reply(kind, Some(value))).map_err(raised)
}
