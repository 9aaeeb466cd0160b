//! The server machine, driven by frames on a virtual clock.

mod advice;
mod cancel;
mod eras;
mod frames;
mod legacy;
mod listen;
mod requirements;
mod rounds;
mod session;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::diagnostic::Diagnostic;
use crate::ids::{ReplySlot, SlotId};
use crate::json::Json;
use crate::machine::{Input, Mono, Now, Unix};
use crate::model::{CallToolResult, Prompt, PromptArgument, Resource, ResourceTemplate, Tool};
use crate::rng::Seed;
use crate::spec::Version;

/// A server with its clock and everything that it has said.
pub(super) struct Rig {
    pub(super) server: Server,
    pub(super) now: Now,
    pub(super) frames: Vec<Value>,
    pub(super) invocations: Vec<Invocation>,
    pub(super) cancelled: Vec<(SlotId, Option<Box<str>>)>,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) others: Vec<Action>,
}

impl Rig {
    pub(super) fn new(definition: Definition) -> Self {
        Self {
            server: Server::new(Arc::new(definition), Seed([7; 32])),
            now: Now { mono: Mono::from_nanos(0), unix: Unix::from_millis(1_800_000_000_000) },
            frames: Vec::new(),
            invocations: Vec::new(),
            cancelled: Vec::new(),
            diagnostics: Vec::new(),
            others: Vec::new(),
        }
    }

    /// A server with a session at this revision.
    pub(super) fn legacy(definition: Definition, version: &str, capabilities: Value) -> Self {
        let mut rig = Self::new(definition);
        rig.send(json!({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}}}));
        rig.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(rig.take()[0]["result"]["protocolVersion"], version);
        rig.others.clear();
        rig
    }

    pub(super) fn send(&mut self, frame: Value) {
        self.send_bytes(format!("{frame}\n").as_bytes());
    }

    pub(super) fn send_bytes(&mut self, bytes: &[u8]) {
        self.server.handle(self.now, Input::Bytes(Bytes::copy_from_slice(bytes))).unwrap();
        self.drain();
    }

    pub(super) fn drain(&mut self) {
        while let Some(action) = self.server.poll_action() {
            match action {
                Action::Write(bytes) => {
                    assert!(bytes.ends_with(b"\n"));
                    assert_eq!(bytes.iter().filter(|b| **b == b'\n').count(), 1);
                    self.frames.push(serde_json::from_slice(&bytes).unwrap());
                    self.server.handle(self.now, Input::Written(bytes.len())).unwrap();
                }
                Action::Invoke(invocation) => self.invocations.push(*invocation),
                Action::Cancelled { slot, reason } => self.cancelled.push((slot, reason)),
                Action::Diagnostic(diagnostic) => self.diagnostics.push(diagnostic),
                other => self.others.push(other),
            }
        }
    }

    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.frames)
    }

    /// The only frame since the last look.
    pub(super) fn one(&mut self) -> Value {
        let mut frames = self.take();
        assert_eq!(frames.len(), 1, "{frames:?}");
        frames.remove(0)
    }

    pub(super) fn invoked(&mut self) -> Invocation {
        assert_eq!(self.invocations.len(), 1, "{:?}", self.invocations);
        self.invocations.remove(0)
    }

    pub(super) fn reply(&mut self, slot: ReplySlot, reply: Reply) {
        self.server.reply(self.now, slot, reply).unwrap();
        self.drain();
    }

    pub(super) fn advance(&mut self, duration: Duration) {
        self.now.mono = self.now.mono.after(duration);
        self.now.unix = Unix::from_millis(self.now.unix.as_millis() + duration.as_millis() as u64);
        self.server.handle_timeout(self.now);
        self.drain();
    }
}

/// A modern request.
pub(super) fn modern(id: impl Into<Value>, method: &str, params: Value) -> Value {
    with_capabilities(id, method, params, json!({}))
}

pub(super) fn with_capabilities(id: impl Into<Value>, method: &str, mut params: Value, capabilities: Value) -> Value {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

pub(super) fn legacy(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

pub(super) fn tool(name: &str) -> Tool {
    Tool::new(name)
}

pub(super) fn text(text: &str) -> Reply {
    Reply::Tool(CallToolResult::text(text))
}

/// A server with a little of everything.
pub(super) fn builder() -> DefinitionBuilder {
    let add = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    Definition::builder("server", "1.0.0")
        .instructions("Be kind.")
        .tool(tool("slow"))
        .tool(Tool::new("add").input_schema(add))
        .prompt(Prompt::new("greet").argument(PromptArgument::new("who").required(true)))
        .resource(Resource::new("a", "file:///a"))
        .template(ResourceTemplate::new("item", "item://{id}"))
        .completions()
        .logging()
        .subscriptions()
        .list_changed()
        .page_size(50)
}

pub(super) fn definition() -> Definition {
    builder().build().unwrap()
}

pub(super) const LATEST: &str = Version::LATEST.as_str();
