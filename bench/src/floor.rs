//! The floor: what reading and writing the frames costs somebody who does nothing else.
//!
//! One typed pass of `serde_json` that borrows all it can, over envelope, params, `_meta` and arguments, and an
//! answer written by hand with the members that the machine's answer has. Nothing is checked, queued or looked up.

use std::borrow::Cow;
use std::hint::black_box;
use std::io::Write;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::frames::Era;

/// The arguments of the echo tool: what its handler reads too.
#[derive(Deserialize)]
pub(crate) struct EchoArguments<'a> {
    #[serde(borrow)]
    pub(crate) text: Cow<'a, str>,
    pub(crate) n: i64,
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    jsonrpc: &'a str,
    id: i64,
    #[serde(borrow)]
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default)]
    name: &'a str,
    #[serde(borrow)]
    arguments: Option<EchoArguments<'a>>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: &'a str,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    info: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: &'a RawValue,
}

impl Request<'_> {
    /// Keeps the compiler from leaving out what the answer does not need.
    fn use_up(&self) {
        black_box((self.jsonrpc, self.method, self.params.name));
        black_box(self.params.meta.as_ref().map(|meta| (meta.version, meta.info, meta.capabilities)));
    }
}

/// Answers a call of the echo tool.
pub(crate) fn echo(era: Era, frame: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(384);
    echo_into(era, frame, &mut out);
    out
}

/// As [`echo`], behind what `out` holds.
pub(crate) fn echo_into(era: Era, frame: &[u8], out: &mut Vec<u8>) {
    let request: Request<'_> = serde_json::from_slice(frame).expect("our own frame");
    request.use_up();
    let arguments = request.params.arguments.expect("our own frame");
    black_box(arguments.n);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    let _ = write!(out, "{}", request.id);
    out.extend_from_slice(b",\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
    let _ = serde_json::to_writer(&mut *out, &*arguments.text);
    out.extend_from_slice(b"}]");
    out.extend_from_slice(era.stamp().as_bytes());
    out.extend_from_slice(b"}}\n");
}

/// Answers a request for the tools, whose result is written already.
pub(crate) fn list(frame: &[u8], result: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(result.len() + 64);
    list_into(frame, result, &mut out);
    out
}

/// As [`list`], behind what `out` holds.
pub(crate) fn list_into(frame: &[u8], result: &[u8], out: &mut Vec<u8>) {
    let request: Request<'_> = serde_json::from_slice(frame).expect("our own frame");
    request.use_up();
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    let _ = write!(out, "{}", request.id);
    out.extend_from_slice(b",\"result\":");
    out.extend_from_slice(result);
    out.extend_from_slice(b"}\n");
}

/// Writes a call, as a client.
pub(crate) fn call(era: Era, id: usize, arguments: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(384);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    let _ = write!(out, "{id}");
    out.extend_from_slice(b",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":");
    out.extend_from_slice(arguments.as_bytes());
    out.extend_from_slice(era.meta().as_bytes());
    out.extend_from_slice(b"}}\n");
    out
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    jsonrpc: &'a str,
    id: i64,
    #[serde(borrow)]
    result: CallResult<'a>,
}

/// The result of a call, as a client that knows the tool reads it.
#[derive(Deserialize)]
pub(crate) struct CallResult<'a> {
    #[serde(borrow)]
    content: Vec<Content<'a>>,
    #[serde(borrow, rename = "resultType")]
    result_type: Option<&'a str>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// Reads the answer to a call, as a client.
pub(crate) fn answer(frame: &[u8]) -> usize {
    let response: Response<'_> = serde_json::from_slice(frame).expect("our own frame");
    black_box((response.jsonrpc, response.id));
    response.result.length()
}

impl CallResult<'_> {
    /// Something that only who has read all of it knows.
    pub(crate) fn length(&self) -> usize {
        black_box((self.result_type, self.meta));
        self.content.iter().map(|content| content.kind.len() + content.text.len()).sum()
    }
}
