//! What the transports of HTTP ask of the engine, beyond what a byte stream does.

use std::sync::Arc;

use super::context::{Request, Sender};
use super::core::{Core, Out};
use super::session::Session;
use super::wire::{Origin, Way};
use crate::ids::{RequestId, SlotId};
use crate::jsonrpc::{Members, Message, MethodName};
use crate::machine::Now;
use crate::spec::{Method, Version};

impl Core {
    /// What leaves next. Whoever takes it minds himself how much of it is written.
    pub(crate) fn take(&mut self) -> Option<Out> {
        let out = self.out.pop()?;
        if let Out::Frame(frame, _) = &out {
            self.out.written(frame.len());
        }
        Some(out)
    }

    /// Takes a message, and who has sent it: the next one may come from somebody else. What the front gave along, which
    /// may be the whole head of a request, lives no longer than what the message asks for.
    pub(crate) fn on_message_of(&mut self, now: Now, sender: Sender, message: Message, origin: Origin) {
        self.set_sender(sender);
        self.on_message(now, message, origin);
        self.set_sender(Sender::default());
    }

    /// Serves a modern request whose envelope was judged.
    pub(crate) fn on_modern(&mut self, now: Now, id: RequestId, version: Version, method: MethodName, params: Members) {
        self.out.touch(now);
        self.serve(now, Request { id, method, params, ..Request::UNREAD }, version, Way::alone(0));
    }

    /// Serves a message as if a session were open. `initialize` opens one, for as long as this lasts.
    pub(crate) fn on_stateless(&mut self, now: Now, version: Version, message: Message) {
        self.out.touch(now);
        let opens = matches!(&message, Message::Request { method, .. }
            if *method == MethodName::Known(Method::Initialize));
        if !opens {
            self.session = Some(Session::assumed(&self.definition, version));
        }
        self.on_message(now, message, 0);
    }

    /// The revision of the session, once there is one.
    pub(crate) fn session_version(&self) -> Option<Version> {
        self.session.as_ref().map(|session| session.version)
    }

    /// Who sends what is received now.
    pub(crate) fn principal(&self) -> Option<Arc<str>> {
        self.sender.principal.clone()
    }

    /// Whether no handler runs, not even for a request that was cancelled.
    pub(crate) const fn is_idle(&self) -> bool {
        self.inbound.open_slots() == 0
    }

    /// By which exchange the request of a slot came, if its client still waits for an answer.
    pub(crate) fn origin_of(&mut self, slot: SlotId) -> Option<Origin> {
        self.inbound.get_mut(slot).filter(|entry| !entry.muted).map(|entry| entry.data.way.origin)
    }

    /// The id of the newest request of ours.
    pub(crate) const fn last_request(&self) -> i64 {
        self.outbound.last()
    }

    /// Goes on after a request of ours; `None` for an id that is none.
    pub(crate) fn resume_requests(&mut self, last: i64) -> Option<()> {
        (0..i64::MAX / 2).contains(&last).then(|| self.outbound.resume_after(last))
    }

    /// Nobody wants any answer more.
    pub(crate) fn cancel_all(&mut self) {
        self.listens.clear();
        for slot in self.inbound.slots() {
            if self.inbound.get_mut(slot).is_some_and(|entry| !entry.muted) {
                self.cancel_slot(slot, None);
            }
        }
    }
}
