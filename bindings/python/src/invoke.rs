//! Application code to run: what is asked, who asks, and the right to answer; and answers that are made beforehand.

use mcp_sansio::server::Reply as CoreReply;
use mcp_sansio_told::cell::Guard;
use mcp_sansio_told::reply::{kind, reply, text};
use mcp_sansio_told::role::{Answering, Asked};
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString};

use crate::errors::{Done, Found, misuse};
use crate::value::{Any, Native, json, native, utf8};

static REST: Found = Found::new("mcp_sansio._actions", "rest");
static QUESTIONS: Found = Found::new("mcp_sansio._settings", "questions");

/// The right to answer a request.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Slot(Py<Invoke>);

#[pymethods]
impl Slot {
    #[getter]
    fn id(&self) -> u64 {
        self.0.get().id()
    }
}

/// The slot that an argument stands for.
pub(crate) fn guard<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<&'a Guard> {
    if let Ok(invoke) = given.cast::<Invoke>() {
        return Ok(&invoke.get().guard);
    }
    let slot = given.cast::<Slot>().map_err(|_| misuse("this is neither an Invoke nor a Slot"))?;
    Ok(&slot.get().0.get().guard)
}

type Kept = PyOnceLock<Py<PyAny>>;

/// Application code to run. Holds the right to answer.
#[pyclass(frozen, module = "mcp_sansio")]
pub(crate) struct Invoke {
    guard: Guard,
    asked: Asked,
    arguments: Kept,
    params: Kept,
    rest: Kept,
}

/// What a front gives along with a request, for its handlers.
pub(crate) struct Given(pub(crate) Py<PyAny>);

impl Invoke {
    pub(crate) fn new(guard: Guard, asked: Asked) -> Self {
        Self { guard, asked, arguments: Kept::new(), params: Kept::new(), rest: Kept::new() }
    }

    /// A rare member, by its name: they are told together, and shaped in Python.
    fn rest<'py>(&self, py: Python<'py>, name: &str) -> Done<Native<'py>> {
        let rest = kept(py, &self.rest, || {
            let told = self.asked.rest()?.map(|told| native(py, &told)).transpose()?;
            Ok(REST.get(py)?.call1((told, self.asked.name()))?)
        })?;
        Ok(rest.call1((name,))?)
    }
}

/// What is made when it is first asked for. Not `get_or_try_init`: that lets other threads run, which costs more.
fn kept<'py>(py: Python<'py>, place: &Kept, make: impl FnOnce() -> Done<Native<'py>>) -> Done<Native<'py>> {
    if place.get(py).is_none() {
        // If another was faster, the two say the same.
        let _ = place.set(py, make()?.unbind());
    }
    Ok(place.get(py).ok_or_else(|| misuse("nothing is told"))?.bind(py).clone())
}

/// The members of an invocation: those that are named here are rare.
macro_rules! members {
    ($($rare:ident)*) => {
        #[pymethods]
        impl Invoke {
            #[classattr]
            const kind: &'static str = "invoke";
            #[classattr]
            const __match_args__: (&'static str, &'static str, &'static str) = ("call", "name", stringify!(arguments));

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let name = PyString::new(py, self.name()).repr()?;
                Ok(format!("Invoke(call='{}', name={name}, id={})", self.call(), self.id()))
            }

            #[getter]
            fn call(&self) -> &'static str {
                self.asked.call()
            }

            #[getter]
            fn name(&self) -> &str {
                self.asked.name()
            }

            #[getter]
            fn arguments<'py>(&self, py: Python<'py>) -> Done<Native<'py>> {
                kept(py, &self.arguments, || Ok(native(py, self.asked.arguments().get())?))
            }

            #[getter]
            fn raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, self.asked.arguments().as_bytes())
            }

            #[getter]
            fn params<'py>(&self, py: Python<'py>) -> Done<Native<'py>> {
                kept(py, &self.params, || Ok(native(py, self.asked.params().get())?))
            }

            #[getter]
            const fn slot(invoke: Py<Self>) -> Slot {
                Slot(invoke)
            }

            #[getter]
            fn id(&self) -> u64 {
                self.guard.id().to_u64()
            }

            #[getter]
            fn data(&self, py: Python<'_>) -> Done<Option<Py<PyAny>>> {
                Ok(self.asked.context()?.data::<Given>().map(|given| given.0.clone_ref(py)))
            }

            fn require_capability(&self, path: &str) -> Done<()> {
                Ok(self.asked.require_capability(path)?)
            }

            /// The answer to an elicitation, checked against what was asked; `None` if there is none yet.
            fn elicited<'py>(&self, py: Python<'py>, key: &str, asked: Native<'py>) -> Done<Option<Native<'py>>> {
                let answer = self.asked.elicited(key, &json(&asked)?)?;
                Ok(answer.map(|answer| native(py, &answer)).transpose()?)
            }

            $(#[getter]
            fn $rare<'py>(&self, py: Python<'py>) -> Done<Native<'py>> {
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
    fn new(kind: &str, value: Any<'_, '_>) -> Done<Self> {
        let value = match (kind, value) {
            (_, None) => "null".to_owned(),
            ("input", Some(value)) => json(&QUESTIONS.get(value.py())?.call1((value,))?)?,
            (_, Some(value)) => json(value)?,
        };
        Ok(Self(reply(self::kind(kind)?, Some(value))?))
    }

    #[staticmethod]
    #[pyo3(name = "text", signature = (text, *, is_error=false))]
    fn of_text(text: &Bound<'_, PyString>, is_error: bool) -> PyResult<Self> {
        Ok(Self(self::text(utf8(text)?, is_error)))
    }
}

/// The answer that a native object stands for: to a client, where one of this kind is wanted, or to a server.
pub(crate) fn answering(given: &Bound<'_, PyAny>, wanted: Option<u32>) -> Done<Answering> {
    if let (Ok(one), Some(_)) = (given.cast::<PyString>(), wanted) {
        return Ok(Answering::Reply(text(utf8(one)?, false)));
    }
    if let Ok(made) = given.cast::<Reply>() {
        return Ok(Answering::Reply(made.get().0.clone()));
    }
    let (value, is_error) = (json(given)?, given.is_instance_of::<PyBaseException>());
    Ok(match wanted {
        Some(_) if is_error => Answering::Reply(reply(kind("error")?, Some(value))?),
        Some(wanted) => Answering::Reply(reply(wanted, Some(value))?),
        None => Answering::Server(if is_error { Err(value) } else { Ok(value) }),
    })
}
