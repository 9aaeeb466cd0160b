//! Failures as exceptions. The classes are Python's (`mcp_sansio/_errors.py`), so that they can be read there.

use mcp_sansio::error::{Error, ErrorObject};
use mcp_sansio::json::Json;
use mcp_sansio::spec::ErrorCode;
use mcp_sansio_bindings::Failure;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::value::{json_or, native};

static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static BASE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn named<'py>(py: Python<'py>, cell: &'static PyOnceLock<Py<PyAny>>, name: &str) -> PyResult<&'py Bound<'py, PyAny>> {
    let found = cell.get_or_try_init(py, || py.import("mcp_sansio._errors")?.getattr(name).map(Bound::unbind))?;
    Ok(found.bind(py))
}

/// The exception that a failure is.
pub(crate) fn exception<'py>(py: Python<'py>, failure: &Failure) -> PyResult<Bound<'py, PyAny>> {
    let data = failure.data.as_ref().map(|data| native(py, data)).transpose()?;
    let partial = failure.partial.iter().map(|item| native(py, item)).collect::<PyResult<Vec<_>>>()?;
    let Failure { kind, blame, code, message, limit, exchange, .. } = failure;
    let told = (*kind, *blame, *code, message, data, *limit, partial, *exchange);
    named(py, &MAKE, "make")?.call1(told)
}

/// The same, to be raised.
pub(crate) fn raised(failure: &Failure) -> PyErr {
    Python::attach(|py| match exception(py, failure) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    })
}

/// An error of the core, to be raised.
pub(crate) fn core(error: Error) -> PyErr {
    raised(&Failure::from(error))
}

/// A mistake of whoever calls.
#[cold]
pub(crate) fn misuse(text: &str) -> PyErr {
    core(mcp_sansio_bindings::misuse(text))
}

/// What an exception of ours tells a peer; `None` for every other object.
pub(crate) fn told(any: &Bound<'_, PyAny>) -> PyResult<Option<ErrorObject>> {
    let py = any.py();
    if !any.is_instance(named(py, &BASE, "McpError")?)? {
        return Ok(None);
    }
    let message: String = any.getattr("message")?.extract()?;
    let mut object = ErrorObject::new(ErrorCode(any.getattr("code")?.extract()?), message);
    let data = any.getattr("data")?;
    object.data = if data.is_none() { None } else { Some(json_or(Some(&data), Json::NULL)?) };
    Ok(Some(object))
}

/// What a Rust panic would be: the machine cannot be trusted any more.
#[cold]
pub(crate) fn broken() -> PyErr {
    PyRuntimeError::new_err("the machine has failed inside; make another one")
}
