//! JSON text to native objects and back, each in one pass.
//!
//! Text that the core hands out is valid, so that reading it only has to build. Integers of any size are exact, the
//! last of two members with one name wins, as in Python's own reader. `bytes` within a native object are JSON as it
//! stands: a schema may be given as text.

use mcp_sansio::json::Json;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::errors::misuse;

/// How deep native objects may be nested: one that holds itself is deeper than anything.
const DEPTH: usize = 200;

/// A payload: text until somebody asks, then the same object each time.
pub(crate) struct Lazy {
    json: Json,
    value: PyOnceLock<Py<PyAny>>,
}

impl Lazy {
    pub(crate) const fn new(json: Json) -> Self {
        Self { json, value: PyOnceLock::new() }
    }

    pub(crate) fn raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.json.as_bytes())
    }

    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let value = self.value.get_or_try_init(py, || native(py, &self.json).map(Bound::unbind))?;
        Ok(value.clone_ref(py))
    }
}

/// The native object that a JSON value stands for.
pub(crate) fn native<'py>(py: Python<'py>, json: &Json) -> PyResult<Bound<'py, PyAny>> {
    let mut reader = Reader { py, text: json.as_bytes(), at: 0 };
    reader.value(0)
}

struct Reader<'py, 't> {
    py: Python<'py>,
    text: &'t [u8],
    at: usize,
}

impl<'py, 't> Reader<'py, 't> {
    /// The next byte that is no white space.
    fn peek(&mut self) -> u8 {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.text.get(self.at) {
            self.at += 1;
        }
        self.text.get(self.at).copied().unwrap_or_default()
    }

    fn value(&mut self, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        if depth > DEPTH {
            return Err(misuse("the value is nested too deep"));
        }
        Ok(match self.peek() {
            b'{' => {
                let dict = PyDict::new(py);
                self.at += 1;
                while self.peek() != b'}' {
                    let key = self.string()?;
                    self.peek();
                    self.at += 1;
                    let value = self.value(depth + 1)?;
                    dict.set_item(key, value)?;
                    if self.peek() == b',' {
                        self.at += 1;
                    } else {
                        break;
                    }
                    self.peek();
                }
                self.at += 1;
                dict.into_any()
            }
            b'[' => {
                let list = PyList::empty(py);
                self.at += 1;
                while self.peek() != b']' {
                    list.append(self.value(depth + 1)?)?;
                    if self.peek() == b',' {
                        self.at += 1;
                    } else {
                        break;
                    }
                }
                self.at += 1;
                list.into_any()
            }
            b'"' => self.string()?.into_any(),
            b't' => {
                self.at += 4;
                PyBool::new(py, true).to_owned().into_any()
            }
            b'f' => {
                self.at += 5;
                PyBool::new(py, false).to_owned().into_any()
            }
            b'n' => {
                self.at += 4;
                py.None().into_bound(py)
            }
            _ => self.number()?,
        })
    }

    /// The token from here to where `ends` says.
    fn token(&mut self, ends: impl Fn(u8) -> bool) -> &'t str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|byte| ends(*byte)).unwrap_or(rest.len());
        self.at += length;
        std::str::from_utf8(rest.get(..length).unwrap_or_default()).unwrap_or_default()
    }

    fn string(&mut self) -> PyResult<Bound<'py, PyString>> {
        let start = self.at;
        self.at += 1;
        let plain = self.token(|byte| matches!(byte, b'"' | b'\\'));
        if self.text.get(self.at) == Some(&b'"') {
            self.at += 1;
            return Ok(PyString::new(self.py, plain));
        }
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let token = self.text.get(start..self.at).unwrap_or_default();
        match serde_json::from_slice::<String>(token) {
            Ok(text) => Ok(PyString::new(self.py, &text)),
            // Half a surrogate pair is no text of Rust, but Python has room for it.
            Err(_) => {
                Ok(self.py.import("json")?.call_method1("loads", (PyBytes::new(self.py, token),))?.cast_into()?)
            }
        }
    }

    fn number(&mut self) -> PyResult<Bound<'py, PyAny>> {
        let token = self.token(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        if let Ok(number) = token.parse::<i64>() {
            return Ok(number.into_pyobject(self.py)?.into_any());
        }
        if token.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
            let number: f64 = token.parse().map_err(|_| PyValueError::new_err("no number"))?;
            return Ok(PyFloat::new(self.py, number).into_any());
        }
        self.py.get_type::<PyInt>().call1((token,))
    }
}

/// The JSON that a native object stands for; `bytes` are JSON already.
pub(crate) fn json(any: &Bound<'_, PyAny>) -> PyResult<Json> {
    let mut out = Vec::with_capacity(128);
    write(&mut out, any, 0)?;
    // What was written here is valid; the one look more also finds out about raw parts.
    String::from_utf8(out).ok().and_then(|text| Json::from_text(text).ok()).ok_or_else(|| misuse("this is no JSON"))
}

/// The same where nothing may stand for nothing.
pub(crate) fn json_or(any: Option<&Bound<'_, PyAny>>, absent: Json) -> PyResult<Json> {
    any.filter(|any| !any.is_none()).map_or(Ok(absent), json)
}

fn write(out: &mut Vec<u8>, any: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
    if depth > DEPTH {
        return Err(misuse("the value is nested too deep, or holds itself"));
    }
    if let Ok(text) = any.cast::<PyString>() {
        text_to(out, text.to_str()?)?;
    } else if let Ok(dict) = any.cast::<PyDict>() {
        out.push(b'{');
        for (position, (key, value)) in dict.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            let Ok(key) = key.cast::<PyString>() else { return Err(misuse("the names of members are strings")) };
            text_to(out, key.to_str()?)?;
            out.push(b':');
            write(out, &value, depth + 1)?;
        }
        out.push(b'}');
    } else if let Ok(list) = any.cast::<PyList>() {
        items(out, list.iter(), depth)?;
    } else if let Ok(flag) = any.cast::<PyBool>() {
        out.extend_from_slice(if flag.is_true() { b"true" } else { b"false" });
    } else if let Ok(number) = any.cast::<PyInt>() {
        match number.extract::<i64>() {
            Ok(number) => out.extend_from_slice(number.to_string().as_bytes()),
            // A class of the caller's may write itself in any way, and change the objects that are walked here.
            Err(_) => {
                let plain = any.py().get_type::<PyInt>().call_method1("__repr__", (number,))?;
                out.extend_from_slice(plain.cast::<PyString>()?.to_str()?.as_bytes());
            }
        }
    } else if let Ok(number) = any.cast::<PyFloat>() {
        if !number.value().is_finite() {
            return Err(misuse("JSON has neither infinity nor NaN"));
        }
        serde_json::to_writer(out, &number.value()).map_err(|error| misuse(&error.to_string()))?;
    } else if any.is_none() {
        out.extend_from_slice(b"null");
    } else if let Ok(raw) = any.cast::<PyBytes>() {
        let text = std::str::from_utf8(raw.as_bytes()).ok().and_then(|text| Json::from_text(text).ok());
        out.extend_from_slice(text.ok_or_else(|| misuse("bytes stand for JSON text, and these are none"))?.as_bytes());
    } else if let Ok(tuple) = any.cast::<PyTuple>() {
        items(out, tuple.iter(), depth)?;
    } else {
        return Err(misuse(&format!("{} cannot be written as JSON", any.get_type().name()?)));
    }
    Ok(())
}

fn text_to(out: &mut Vec<u8>, text: &str) -> PyResult<()> {
    serde_json::to_writer(out, text).map_err(|error| misuse(&error.to_string()))
}

fn items<'py>(out: &mut Vec<u8>, items: impl Iterator<Item = Bound<'py, PyAny>>, depth: usize) -> PyResult<()> {
    out.push(b'[');
    for (position, item) in items.enumerate() {
        if position > 0 {
            out.push(b',');
        }
        write(out, &item, depth + 1)?;
    }
    out.push(b']');
    Ok(())
}
