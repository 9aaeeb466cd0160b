//! JSON text to native objects and back, each in one pass.
//!
//! Text that the core hands out is valid, so that reading it only has to build. Integers of any size are exact, the
//! last of two members with one name wins, as in Python's own reader. `bytes` within a native object are JSON as it
//! stands: a schema may be given as text. An exception of ours is what its peer is told.

use mcp_sansio::json::Json;
use mcp_sansio_told::tree::{self, Build};
use pyo3::exceptions::{PyBaseException, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::errors::{Found, misuse};

/// How deep native objects may be nested: one that holds itself is deeper than anything.
const DEPTH: usize = 200;

/// An argument that may be left out.
pub(crate) type Any<'a, 'py> = Option<&'a Bound<'py, PyAny>>;
/// A native object.
pub(crate) type Native<'py> = Bound<'py, PyAny>;

static NUMBER: Found = Found::new("mcp_sansio._numbers", "number");
static DIGITS_OF: Found = Found::new("mcp_sansio._numbers", "digits");
static LOADS: Found = Found::new("json", "loads");
static ERROR_OF: Found = Found::new("mcp_sansio._errors", "told");

/// The first names of members that came, interned as those in the code of Python are, which finds them the sooner. A
/// peer can fill the places, and no more: names that come later are made anew.
static NAMES: [PyOnceLock<(Box<str>, Py<PyString>)>; 256] = [const { PyOnceLock::new() }; 256];

/// JSON text as a native object.
#[pyfunction]
pub(crate) fn read<'py>(data: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>> {
    native(data.py(), raw(data)?.get())
}

/// Bytes that arrived, for the core to keep.
pub(crate) fn octets(data: &Bound<'_, PyAny>) -> PyResult<bytes::Bytes> {
    if let Ok(data) = data.cast::<PyBytes>() {
        return Ok(bytes::Bytes::copy_from_slice(data.as_bytes()));
    }
    match data.cast::<PyByteArray>() {
        Ok(data) => Ok(data.to_vec().into()),
        Err(_) => Err(PyTypeError::new_err(format!("bytes or a bytearray, not {}", data.get_type().name()?))),
    }
}

/// The text of a string, if it is one that can be written down.
pub(crate) fn utf8<'a>(text: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    text.to_str().map_err(|_| misuse("half a surrogate pair cannot be written as UTF-8"))
}

/// The native object that a JSON text stands for, which is valid.
pub(crate) fn native<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    tree::build(text, Natives(py))
}

struct Natives<'py>(Python<'py>);

impl<'py> Build for Natives<'py> {
    type Value = Bound<'py, PyAny>;
    type Error = PyErr;

    fn word(&mut self, word: Option<bool>) -> Self::Value {
        match word {
            None => self.0.None().into_bound(self.0),
            Some(word) => PyBool::new(self.0, word).to_owned().into_any(),
        }
    }
    fn integer(&mut self, number: i64) -> PyResult<Self::Value> {
        Ok(number.into_pyobject(self.0)?.into_any())
    }
    fn float(&mut self, number: f64) -> Self::Value {
        PyFloat::new(self.0, number).into_any()
    }
    fn digits(&mut self, digits: &str) -> PyResult<Self::Value> {
        NUMBER.get(self.0)?.call1((digits,))
    }
    fn text(&mut self, text: &str) -> Self::Value {
        PyString::new(self.0, text).into_any()
    }
    fn name(&mut self, name: &str) -> Self::Value {
        let sum = name.bytes().fold(0, |sum: usize, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let place = &NAMES[sum % NAMES.len()];
        if place.get(self.0).is_none() && name.len() <= 32 {
            let _ = place.set(self.0, (name.into(), PyString::intern(self.0, name).unbind()));
        }
        match place.get(self.0) {
            Some((known, kept)) if **known == *name => kept.bind(self.0).clone().into_any(),
            _ => self.text(name),
        }
    }
    fn odd_text(&mut self, token: &[u8]) -> PyResult<Self::Value> {
        LOADS.get(self.0)?.call1((PyBytes::new(self.0, token),))
    }
    fn object(&mut self) -> Self::Value {
        PyDict::new(self.0).into_any()
    }
    fn member(&mut self, object: &mut Self::Value, name: Self::Value, value: Self::Value) -> PyResult<()> {
        object.cast::<PyDict>()?.set_item(name, value)
    }
    fn list(&mut self) -> Self::Value {
        PyList::empty(self.0).into_any()
    }
    fn item(&mut self, list: &mut Self::Value, value: Self::Value) -> PyResult<()> {
        list.cast::<PyList>()?.append(value)
    }
    fn too_deep(&mut self) -> PyErr {
        misuse("the value is nested too deep")
    }
}

/// The JSON that a native object stands for, as text.
pub(crate) fn json(any: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut out = Vec::with_capacity(128);
    write(&mut out, any, 0)?;
    String::from_utf8(out).map_err(|_| misuse("this is no JSON"))
}

/// What bytes stand for.
fn raw(data: &Bound<'_, PyBytes>) -> PyResult<Json> {
    let text = std::str::from_utf8(data.as_bytes()).ok().and_then(|text| Json::from_text(text).ok());
    text.ok_or_else(|| misuse("bytes stand for JSON text, and these are none"))
}

pub(crate) fn write(out: &mut Vec<u8>, any: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
    if depth > DEPTH {
        return Err(misuse("the value is nested too deep, or holds itself"));
    }
    if let Ok(text) = any.cast::<PyString>() {
        string(out, text)?;
    } else if let Ok(dict) = any.cast::<PyDict>() {
        out.push(b'{');
        // Of a copy: a collector may run meanwhile, and with it code that changes the dict.
        for (position, (key, value)) in dict.copy()?.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            string(out, key.cast().map_err(|_| misuse("the names of members are strings"))?)?;
            out.push(b':');
            write(out, &value, depth + 1)?;
        }
        out.push(b'}');
    } else if any.is_instance_of::<PyList>() || any.is_instance_of::<PyTuple>() {
        out.push(b'[');
        for (position, item) in any.try_iter()?.enumerate() {
            if position > 0 {
                out.push(b',');
            }
            write(out, &item?, depth + 1)?;
        }
        out.push(b']');
    } else if let Ok(flag) = any.cast::<PyBool>() {
        out.extend_from_slice(if flag.is_true() { b"true" } else { b"false" });
    } else if let Ok(number) = any.cast::<PyInt>() {
        match number.extract::<i64>() {
            Ok(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Err(_) => {
                // Whatever a class of the caller's makes of it, it is a number.
                let digits = DIGITS_OF.get(any.py())?.call1((number,))?;
                out.extend_from_slice(digits.cast::<PyString>()?.to_str()?.as_bytes());
            }
        }
    } else if let Ok(number) = any.cast::<PyFloat>() {
        if !number.value().is_finite() {
            return Err(misuse("JSON has neither infinity nor NaN"));
        }
        serde_json::to_writer(out, &number.value()).map_err(|error| misuse(&error.to_string()))?;
    } else if any.is_none() {
        out.extend_from_slice(b"null");
    } else if let Ok(data) = any.cast::<PyBytes>() {
        out.extend_from_slice(raw(data)?.as_bytes());
    } else if any.is_instance_of::<PyBaseException>() {
        write(out, &ERROR_OF.get(any.py())?.call1((any,))?, depth + 1)?;
    } else {
        return Err(misuse(&format!("{} cannot be written as JSON", any.get_type().name()?)));
    }
    Ok(())
}

pub(crate) fn string(out: &mut Vec<u8>, text: &Bound<'_, PyString>) -> PyResult<()> {
    serde_json::to_writer(out, utf8(text)?).map_err(|error| misuse(&error.to_string()))
}
