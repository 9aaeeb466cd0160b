//! What has failed, as exceptions. The classes are Python's (`mcp_sansio/_errors.py`), so that they can be read there.

use mcp_sansio::error::Error;
use mcp_sansio_told::told::{argument, told};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::value::native;

/// Something of Python's, found once.
pub(crate) struct Found(&'static str, &'static str, PyOnceLock<Py<PyAny>>);

impl Found {
    pub(crate) const fn new(module: &'static str, name: &'static str) -> Self {
        Self(module, name, PyOnceLock::new())
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let found = self.2.get_or_try_init(py, || py.import(self.0)?.getattr(self.1).map(Bound::unbind))?;
        Ok(found.bind(py))
    }
}

/// What a verb answers.
pub(crate) type Done<T> = Result<T, Failed>;

/// An exception, on its way to whoever called.
pub(crate) struct Failed(PyErr);

impl From<PyErr> for Failed {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

impl From<Failed> for PyErr {
    fn from(failed: Failed) -> Self {
        failed.0
    }
}

static MAKE: Found = Found::new("mcp_sansio._errors", "make");

impl From<Error> for Failed {
    #[cold]
    fn from(error: Error) -> Self {
        Python::attach(|py| {
            let exception = MAKE.get(py).and_then(|make| make.call1((native(py, &told(&error))?,)));
            Self(exception.map_or_else(|failed| failed, PyErr::from_value))
        })
    }
}

/// A mistake of whoever calls.
#[cold]
pub(crate) fn misuse(text: &str) -> PyErr {
    Failed::from(argument(text)).0
}
