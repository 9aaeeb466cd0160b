//! JSON text to native objects and back, each in one pass.
//!
//! Text that the core hands out is valid, so that reading it only has to build. Integers of any size are exact, the
//! last of two members with one name wins, as in Python's own reader. `bytes` within a native object are JSON as it
//! stands: a schema may be given as text. An exception of ours is what its peer is told.

use mcp_sansio::json::Json;
use pyo3::exceptions::{PyBaseException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::errors::{Half, misuse};

/// How deep native objects may be nested: one that holds itself is deeper than anything.
const DEPTH: usize = 200;
/// How long an integer may be that every Python reads itself, however its limit is set.
const DIGITS: usize = 600;

static NUMBER: Half = Half::new("mcp_sansio._numbers", "number");
static DIGITS_OF: Half = Half::new("mcp_sansio._numbers", "digits");
static LOADS: Half = Half::new("json", "loads");
static ERROR_OF: Half = Half::new("mcp_sansio._errors", "told");

/// JSON text as a native object.
#[pyfunction]
pub(crate) fn read<'py>(data: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyAny>> {
    native(data.py(), raw(data)?.as_bytes())
}

/// A native object as JSON text.
#[pyfunction]
pub(crate) fn text<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(value.py(), json(value)?.as_bytes()))
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
pub(crate) fn native<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    Reader { py, text, at: 0 }.value(0)
}

struct Reader<'py, 't> {
    py: Python<'py>,
    text: &'t [u8],
    at: usize,
}

impl<'py, 't> Reader<'py, 't> {
    /// The next byte that is no white space.
    #[inline]
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
                    if !self.goes_on() {
                        break;
                    }
                }
                self.at += 1;
                dict.into_any()
            }
            b'[' => {
                let list = PyList::empty(py);
                self.at += 1;
                while self.peek() != b']' {
                    list.append(self.value(depth + 1)?)?;
                    if !self.goes_on() {
                        break;
                    }
                }
                self.at += 1;
                list.into_any()
            }
            b'"' => self.string()?.into_any(),
            b't' => self.word(4, PyBool::new(py, true).to_owned().into_any()),
            b'f' => self.word(5, PyBool::new(py, false).to_owned().into_any()),
            b'n' => self.word(4, py.None().into_bound(py)),
            _ => self.number()?,
        })
    }

    /// Whether a comma was there.
    fn goes_on(&mut self) -> bool {
        let comma = self.peek() == b',';
        self.at += usize::from(comma);
        comma
    }

    fn word(&mut self, length: usize, value: Bound<'py, PyAny>) -> Bound<'py, PyAny> {
        self.at += length;
        value
    }

    /// The token from here to where `ends` says.
    #[inline]
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
            Err(_) => Ok(LOADS.get(self.py)?.call1((PyBytes::new(self.py, token),))?.cast_into()?),
        }
    }

    fn number(&mut self) -> PyResult<Bound<'py, PyAny>> {
        let token = self.token(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        if let Ok(number) = token.parse::<i64>() {
            return Ok(number.into_pyobject(self.py)?.into_any());
        }
        if token.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
            let number: f64 = token.parse().map_err(|_| misuse("no number"))?;
            return Ok(PyFloat::new(self.py, number).into_any());
        }
        match token.len() {
            0..DIGITS => self.py.get_type::<PyInt>().call1((token,)),
            _ => NUMBER.get(self.py)?.call1((token,)),
        }
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
    } else if let Ok(list) = any.cast::<PyList>() {
        items(out, list.iter(), depth)?;
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
    } else if let Ok(tuple) = any.cast::<PyTuple>() {
        items(out, tuple.iter(), depth)?;
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
