//! The machines of a server, but for the verbs that every call makes.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use mcp_sansio::ids::SlotId;
use mcp_sansio::server;
use mcp_sansio_told::definition::definition;
use mcp_sansio_told::server::Machine;
use mcp_sansio_told::told::{now, whole};
use napi::bindgen_prelude::Result;
use napi_derive::napi;

use crate::call::{Place, Shared};
use crate::pack::{Buffer, Numbers};
use crate::value::{Text, thrown, timeout};

/// What a server offers.
#[napi]
pub struct Definition(pub(crate) Arc<server::Definition>);

#[napi]
impl Definition {
    /// Checks the settings and compiles them.
    #[napi(constructor)]
    pub fn new(settings: Text) -> Result<Self> {
        definition(&settings.0).map(Self).map_err(thrown)
    }
}

/// A machine of a server: of a stream, of an HTTP exchange, of a session.
#[napi]
pub struct ServerMachine {
    pub(crate) serving: Shared,
    place: Place,
}

/// A machine, and room for what it says.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) machine: Machine,
    pub(crate) buffer: Buffer,
}

pub(crate) fn slot(low: u32, high: u32) -> SlotId {
    SlotId::from_u64(whole(low, high))
}

impl ServerMachine {
    pub(crate) fn of(machine: Machine) -> Self {
        let serving = Rc::new(RefCell::new(Serving { machine, buffer: Buffer::default() }));
        Self { place: Place::of(&serving), serving }
    }

    /// The machine. Nothing of JavaScript runs while it is used, so that it is never used twice at a time.
    fn with<T>(&self, act: impl FnOnce(&mut Machine) -> T) -> T {
        act(&mut self.serving.borrow_mut().machine)
    }
}

#[napi]
impl ServerMachine {
    /// The server of a stream.
    #[napi(constructor)]
    pub fn new(definition: &Definition, seed: &[u8]) -> Result<Self> {
        Machine::lines(&definition.0, seed).map(Self::of).map_err(thrown)
    }

    /// Where the verbs of `call` find it.
    #[napi]
    pub fn place(&self) -> f64 {
        self.place.0 as f64
    }

    /// `Input::Written`, of the stream or of an exchange.
    #[napi]
    pub fn written(&self, bytes: u32, exchange: f64, mono: f64, unix: f64) -> Result<()> {
        self.with(|machine| machine.written(now(mono, unix), exchange as u64, bytes as usize)).map_err(thrown)
    }

    /// `handle_timeout`.
    #[napi]
    pub fn handle_timeout(&self, mono: f64, unix: f64) {
        self.with(|machine| machine.handle_timeout(now(mono, unix)));
    }

    /// `poll_timeout`: null, or the name of what is waited for; its time is in `numbers`.
    #[napi]
    pub fn poll_timeout(&self, numbers: Numbers<'_>) -> Option<&'static str> {
        timeout(numbers, self.with(|machine| machine.poll_timeout()))
    }

    /// `wants_input`, which only a stream has.
    #[napi]
    pub fn wants_input(&self) -> bool {
        self.with(|machine| machine.wants_input())
    }

    /// `is_closed`, `is_over`.
    #[napi]
    pub fn is_closed(&self) -> bool {
        self.with(|machine| machine.is_closed())
    }

    /// `abandon`.
    #[napi]
    pub fn abandon(&self, low: u32, high: u32, mono: f64, unix: f64) {
        self.with(|machine| machine.abandon(now(mono, unix), slot(low, high)));
    }

    /// Everything that the context of a slot can tell, as JSON.
    #[napi]
    pub fn context(&self, low: u32, high: u32) -> Result<String> {
        self.with(|machine| machine.context(slot(low, high))).map_err(thrown)
    }

    /// Every verb that needs no crossing of its own.
    #[napi]
    pub fn act(&self, verb: Text, mono: f64, unix: f64) -> Result<Option<String>> {
        self.with(|machine| machine.act(now(mono, unix), &verb.0)).map_err(thrown)
    }

    /// `replace_definition`.
    #[napi]
    pub fn replace_definition(&self, definition: &Definition, mono: f64, unix: f64) -> Result<()> {
        self.with(|machine| machine.replace_definition(now(mono, unix), &definition.0)).map_err(thrown)
    }
}
