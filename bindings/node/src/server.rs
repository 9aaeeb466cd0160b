//! The machines of a server.

use std::sync::Arc;

use bytes::Bytes;
use mcp_sansio::ids::SlotId;
use mcp_sansio::machine::{Now, TimerKind};
use mcp_sansio::server;
use mcp_sansio_told::definition::definition;
use mcp_sansio_told::server::Machine;
use mcp_sansio_told::told::{now, whole};
use napi::Env;
use napi::bindgen_prelude::Result;
use napi_derive::napi;

use crate::action;
use crate::pack::{Buffer, Made, Numbers};
use crate::value::{thrown, timeout};

/// What a server offers.
#[napi]
pub struct Definition(pub(crate) Arc<server::Definition>);

#[napi]
impl Definition {
    /// Checks the settings and compiles them.
    #[napi(constructor)]
    pub fn new(settings: String) -> Result<Self> {
        definition(&settings).map(Self).map_err(thrown)
    }
}

/// A machine of a server: of a stream, of an HTTP exchange, of a session.
#[napi]
pub struct ServerMachine {
    pub(crate) machine: Machine,
    buffer: Buffer,
}

fn slot(low: u32, high: u32) -> SlotId {
    SlotId::from_u64(whole(low, high))
}

impl ServerMachine {
    pub(crate) fn of(machine: Machine) -> Self {
        Self { machine, buffer: Buffer::default() }
    }

    fn read(&mut self, written: u32, bytes: Bytes, now: Now) -> Result<()> {
        if written > 0 {
            self.machine.written(now, 0, written as usize).map_err(thrown)?;
        }
        self.machine.bytes(now, bytes).map_err(thrown)
    }
}

#[napi]
impl ServerMachine {
    /// The server of a stream.
    #[napi(constructor)]
    pub fn new(definition: &Definition, seed: &[u8]) -> Result<Self> {
        Machine::lines(&definition.0, seed).map(Self::of).map_err(thrown)
    }

    /// `Input::Written`, which the wrapper has saved up, and `Input::Bytes`.
    #[napi]
    pub fn handle_bytes(&mut self, bytes: &[u8], written: u32, mono: f64, unix: f64) -> Result<()> {
        self.read(written, Bytes::copy_from_slice(bytes), now(mono, unix))
    }

    /// The same of text.
    #[napi]
    pub fn handle_text(&mut self, text: String, written: u32, mono: f64, unix: f64) -> Result<()> {
        self.read(written, text.into(), now(mono, unix))
    }

    /// `Input::Written`, of the stream or of an exchange.
    #[napi]
    pub fn written(&mut self, bytes: u32, exchange: f64, mono: f64, unix: f64) -> Result<()> {
        self.machine.written(now(mono, unix), exchange as u64, bytes as usize).map_err(thrown)
    }

    /// `handle_timeout`.
    #[napi]
    pub fn handle_timeout(&mut self, mono: f64, unix: f64) {
        self.machine.handle_timeout(now(mono, unix));
    }

    /// `poll_action`: null, or the text of the action. The last number says whether it is the last one for now.
    #[napi]
    pub fn poll(&mut self, env: Env, numbers: Numbers<'_>) -> Option<Made> {
        let said = self.machine.poll()?;
        let more = self.machine.poll_timeout().is_some_and(|(_, kind)| kind == TimerKind::Actions);
        if let Some(last) = numbers.last_mut() {
            *last = f64::from(u8::from(!more));
        }
        action::pack(&env, &mut self.buffer, numbers, said)
    }

    /// `poll_timeout`: null, or the name of what is waited for; its time is in `numbers`.
    #[napi]
    pub fn poll_timeout(&self, numbers: Numbers<'_>) -> Option<&'static str> {
        timeout(numbers, self.machine.poll_timeout())
    }

    /// `wants_input`, which only a stream has.
    #[napi]
    pub fn wants_input(&self) -> bool {
        self.machine.wants_input()
    }

    /// `is_closed`, `is_over`.
    #[napi]
    pub fn is_closed(&self) -> bool {
        self.machine.is_closed()
    }

    /// `reply`.
    #[napi]
    pub fn reply(&mut self, low: u32, high: u32, kind: u32, value: Option<String>, mono: f64, unix: f64) -> Result<()> {
        self.machine.reply(now(mono, unix), slot(low, high), kind, value).map_err(thrown)
    }

    /// `abandon`.
    #[napi]
    pub fn abandon(&mut self, low: u32, high: u32, mono: f64, unix: f64) {
        self.machine.abandon(now(mono, unix), slot(low, high));
    }

    /// Everything that the context of a slot can tell, as JSON.
    #[napi]
    pub fn context(&self, low: u32, high: u32) -> Result<String> {
        self.machine.context(slot(low, high)).map_err(thrown)
    }

    /// Every verb that needs no crossing of its own.
    #[napi]
    pub fn act(&mut self, verb: String, mono: f64, unix: f64) -> Result<Option<String>> {
        self.machine.act(now(mono, unix), &verb).map_err(thrown)
    }

    /// `replace_definition`.
    #[napi]
    pub fn replace_definition(&mut self, definition: &Definition, mono: f64, unix: f64) -> Result<()> {
        self.machine.replace_definition(now(mono, unix), &definition.0).map_err(thrown)
    }
}
