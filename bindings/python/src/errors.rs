//! What has failed, as exceptions. The classes are Python's (`mcp_sansio/_errors.py`), so that they can be read there.

use mcp_sansio::error::Error;
use mcp_sansio_told::told::{argument, told};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::value::native;

/// Something of the Python half of the package, found once.
pub(crate) struct Half(&'static str, &'static str, PyOnceLock<Py<PyAny>>);

impl Half {
    pub(crate) const fn new(module: &'static str, name: &'static str) -> Self {
        Self(module, name, PyOnceLock::new())
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let found = self.2.get_or_try_init(py, || py.import(self.0)?.getattr(self.1).map(Bound::unbind))?;
        Ok(found.bind(py))
    }
}

static MAKE: Half = Half::new("mcp_sansio._errors", "make");

/// An error of the core, to be raised.
#[cold]
pub(crate) fn raised(error: Error) -> PyErr {
    Python::attach(|py| {
        let exception = MAKE.get(py).and_then(|make| make.call1((native(py, told(&error).as_bytes())?,)));
        exception.map_or_else(|failed| failed, PyErr::from_value)
    })
}

/// A mistake of whoever calls.
#[cold]
pub(crate) fn misuse(text: &str) -> PyErr {
    raised(argument(text))
}

/// What a Rust panic would be: the machine cannot be trusted any more.
#[cold]
pub(crate) fn broken() -> PyErr {
    PyRuntimeError::new_err("the machine has failed inside; make another one")
}
