//! Gateways between the eras, made of a server machine and a client machine with the public API alone.
//!
//! ```text
//!   host ── Pair ── Server │ bridge │ Client ── Pair ── backend
//!                          │        │
//!            Call::Raw ───▶│ calls  │───▶ custom
//!           Reply::Raw ◀───│        │◀─── Done, raw
//!       notify, request ◀──│        │◀─── Progress, Notified, questions
//! ```
//!
//! | module | host | backend |
//! |---|---|---|
//! | [`to_modern`] | legacy session | modern |
//! | [`to_legacy`] | modern | legacy session |
//!
//! What they carry stays as it is: methods that nobody knows, integers beyond 64 bits, progress, notifications,
//! errors. What differs between the eras is translated: questions, levels, subscriptions, cancellation.

pub mod to_legacy;
pub mod to_modern;

use mcp_sansio::client::Client;
use mcp_sansio::json::Json;
use mcp_sansio::machine::Now;
use mcp_sansio::model::Extra;
use mcp_sansio::server::Server;
use mcp_sansio::testing::{Pair, Peer};
use std::time::Duration;

/// What glues a server machine to a client machine.
pub trait Bridge {
    /// Carries over what has come on either side; false if nothing has.
    fn pump(&mut self, now: Now, host: &mut Peer<Server>, backend: &mut Peer<Client>) -> bool;
}

/// A host, a bridge and a backend, on one clock.
pub struct Chain<B> {
    /// The host, and the bridge's server.
    pub host: Pair,
    /// The bridge's client, and the backend.
    pub backend: Pair,
    /// The bridge.
    pub bridge: B,
}

impl<B: Bridge> Chain<B> {
    /// Lets everything happen that is under way.
    pub fn drive(&mut self) {
        loop {
            self.host.drive();
            self.backend.drive();
            let now = self.host.now.mono.max(self.backend.now.mono);
            self.host.at(now);
            self.backend.at(now);
            if !self.bridge.pump(self.host.now, &mut self.host.server, &mut self.backend.client) {
                return;
            }
        }
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        self.drive();
        self.host.pass(time);
        self.backend.pass(time);
        self.drive();
    }
}

/// The params of a notification without the mark of a stream.
fn without_subscription(params: &Json) -> Json {
    edit_meta(params, |meta| drop(meta.remove("io.modelcontextprotocol/subscriptionId")))
}

/// The params of a notification with the mark of a stream.
fn with_subscription(params: &Json, id: Json) -> Json {
    edit_meta(params, |meta| drop(meta.insert("io.modelcontextprotocol/subscriptionId", id)))
}

fn edit_meta(params: &Json, edit: impl FnOnce(&mut Extra)) -> Json {
    let mut members: Extra = params.parse().unwrap_or_default();
    let mut meta: Extra = members.get("_meta").and_then(|meta| meta.parse().ok()).unwrap_or_default();
    edit(&mut meta);
    if meta.is_empty() {
        members.remove("_meta");
    } else {
        members.insert("_meta", Json::from_value(&meta).expect("raw JSON is written as it is"));
    }
    Json::from_value(&members).expect("raw JSON is written as it is")
}

/// An object of these members.
fn object(members: impl IntoIterator<Item = (String, Json)>) -> Json {
    Json::from_value(&members.into_iter().collect::<Extra>()).expect("raw JSON is written as it is")
}
