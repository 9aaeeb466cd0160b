//! Arguments that stand in headers, as the schemas of listed tools say, and tools that are dropped for theirs.
//!
//! | a page of tools, over HTTP in the modern era | what happens |
//! |---|---|
//! | a tool without annotations | forgotten, if it had some |
//! | a tool with valid ones | its arguments are mirrored from now on |
//! | a tool with invalid ones | left out of the page, with a remark that names it and the reason |
//!
//! A server that refuses the headers of a call (-32020) may have changed its tools: the list is read again, page by
//! page until the tool is found, and the call goes out once more. A second refusal is the answer.
//!
//! Source: `basic/transports/streamable-http` (Custom Headers from Tool Parameters).

use std::collections::BTreeMap;

use memchr::memmem;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::api::{CallError, List};
use super::calls::Phase;
use super::core::{Core, Route, Wire};
use super::envelope;
use super::output::tool_name;
use super::request::Request;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::error::ErrorObject;
use crate::ids::CallId;
use crate::json::Json;
use crate::jsonrpc::{Field, Members, ObjectWriter};
use crate::machine::Now;
use crate::schema::mirror::{ANNOTATION, Mirror, MirrorError, mirrors};
use crate::spec::Method;

/// The most tools whose annotations are kept; calls of the others go without, and the server says so.
const TOOLS_MOST: usize = 10_000;

/// The mirrored arguments of the tools that were listed, for those that have any.
#[derive(Debug, Default)]
pub(super) struct Mirrors {
    by_tool: BTreeMap<Box<str>, Vec<Mirror>>,
}

#[derive(serde::Deserialize)]
struct Listed<'a> {
    #[serde(borrow)]
    name: super::text::Name<'a>,
    #[serde(borrow, rename = "inputSchema")]
    schema: Option<&'a RawValue>,
}

impl Mirrors {
    /// Learns from a tool. An error says why it must be dropped.
    fn see(&mut self, item: &Json) -> Result<(), (Box<str>, MirrorError)> {
        let Ok(Listed { name, schema }) = item.parse_borrowed::<Listed<'_>>() else { return Ok(()) };
        let annotated = schema.filter(|schema| memmem::find(schema.get().as_bytes(), ANNOTATION.as_bytes()).is_some());
        let found = match annotated.map(|schema| Json::from_text(schema.get())) {
            Some(Ok(schema)) => mirrors(&schema).map_err(|error| (Box::from(&*name.0), error))?,
            _ => Vec::new(),
        };
        if found.is_empty() {
            self.by_tool.remove(&*name.0);
        } else if self.by_tool.len() < TOOLS_MOST || self.by_tool.contains_key(&*name.0) {
            self.by_tool.insert((&*name.0).into(), found);
        }
        Ok(())
    }

    /// The headers that mirror the arguments of a call: names without their prefix, values not encoded yet.
    pub(super) fn headers(&self, request: &Request) -> Result<Vec<(String, String)>, MirrorError> {
        #[derive(serde::Deserialize)]
        struct Call {
            #[serde(default)]
            arguments: Map<String, Value>,
        }
        let known = || self.by_tool.get(&*tool_name(request)?);
        let Some(mirrors) = (if self.by_tool.is_empty() { None } else { known() }) else { return Ok(Vec::new()) };
        // Arguments that are no object are for the server to refuse.
        let Ok(Call { arguments }) = request.params.parse() else { return Ok(Vec::new()) };
        let mut headers = Vec::new();
        for mirror in mirrors {
            if let Some(value) = mirror.read(&arguments)? {
                headers.push((mirror.header.clone(), value));
            }
        }
        Ok(headers)
    }
}

impl Core {
    /// Learns from a page of tools, and leaves out those that no call could be made of.
    pub(super) fn mirror_tools(&mut self, result: Members) -> Members {
        if !self.is_modern() {
            return result;
        }
        let Some(mirrors) = &mut self.mirrors else { return result };
        let Some(tools) = result.value(List::Tools.field()) else { return result };
        if mirrors.by_tool.is_empty() && memmem::find(tools.as_bytes(), ANNOTATION.as_bytes()).is_none() {
            return result;
        }
        let Some(items) = super::text::array(&tools) else { return result };
        let (mut kept, mut dropped) = (Vec::with_capacity(items.len()), Vec::new());
        for item in items {
            match mirrors.see(&item) {
                Ok(()) => kept.push(item),
                Err(tool) => dropped.push(tool),
            }
        }
        if dropped.is_empty() {
            return result;
        }
        for (name, error) in dropped {
            let shown: String = name.chars().take(super::text::SHOWN).collect();
            let text = format!("the tool {shown:?} is left out: {error}");
            self.diagnose(Diagnostic::new(DiagnosticKind::ToolDropped, text));
        }
        with_tools(&result, &kept, self.config.limits.json_depth).unwrap_or(result)
    }

    /// The server refused the headers of a call: reads the tools again, once. False if that is not to be done.
    pub(super) fn refresh(&mut self, now: Now, id: CallId, error: &ErrorObject) -> bool {
        if !self.is_modern() || self.mirrors.is_none() {
            return false;
        }
        let Some(call) = self.calls.get_mut(id) else { return false };
        if call.refreshed || call.request.known() != Some(Method::ToolsCall) {
            return false;
        }
        call.refreshed = true;
        call.touch(now.mono);
        call.phase = Phase::Refreshing { wire: 0, pages: 0, error: Box::new(error.clone()) };
        self.cache.forget(&[Method::ToolsList]);
        self.refresh_page(id, &Request::list(List::Tools, None));
        true
    }

    fn refresh_page(&mut self, id: CallId, request: &Request) {
        let level = self.log_level;
        let Some(sent) = self.open_wire(Wire::Refresh(id)) else { return self.refresh_failed(id) };
        let Some(call) = self.calls.get_mut(id) else { return };
        if let Phase::Refreshing { wire, .. } = &mut call.phase {
            *wire = sent;
        }
        let frame =
            envelope::frame(&mut self.buffer, sent, request, None, &call.foreign_meta, self.envelope.as_ref(), level);
        self.frame(frame, Route::Request(sent));
        self.calls.arm(id);
    }

    pub(super) fn refresh_result(&mut self, now: Now, id: CallId, result: &Members) {
        let Some(call) = self.calls.get_mut(id) else { return };
        call.touch(now.mono);
        let name = tool_name(&call.request).map(|name| Box::<str>::from(&*name));
        let found = result.value(List::Tools.field()).as_ref().and_then(super::text::array).is_some_and(|items| {
            items.iter().any(|item| {
                item.parse_borrowed::<Listed<'_>>().is_ok_and(|listed| Some(&*listed.name.0) == name.as_deref())
            })
        });
        let Phase::Refreshing { pages, .. } = &mut call.phase else { return };
        *pages += 1;
        let more = !found && *pages < self.config.limits.walk_pages;
        // Nobody sees this page: only what it teaches counts.
        let _ = self.mirror_tools(result.clone());
        self.see_tools(result);
        match result.value(Field::NextCursor).filter(|cursor| more && cursor.is_string()) {
            Some(cursor) => self.refresh_page(id, &Request::page(List::Tools, &cursor)),
            None => self.send(now, id),
        }
    }

    /// The list cannot be read: the refusal of the call is its answer.
    pub(super) fn refresh_failed(&mut self, id: CallId) {
        let Some(Phase::Refreshing { error, .. }) = self.calls.get(id).map(|call| &call.phase) else { return };
        let error = (**error).clone();
        self.done(id, Err(CallError::Remote(error)));
    }
}

/// The result with these tools only.
fn with_tools(result: &Members, tools: &[Json], depth: usize) -> Option<Members> {
    let whole = result.json();
    let mut out = Vec::with_capacity(whole.as_bytes().len());
    let mut object = ObjectWriter::new(&mut out);
    for (name, value) in super::text::object(&whole)? {
        if name == List::Tools.field().name() {
            super::text::write_array(object.key(&name), tools);
        } else {
            object.raw(&name, value.get());
        }
    }
    object.end();
    Members::of(&Json::from_validated(out.into()), depth).ok()
}
