//! A client as its application sees it: what it says, and what is wanted of it. The same for a machine and for whatever
//! has one inside.

use super::client::ClientMemory;
use super::play::{Problem, Role};
use crate::client::{Action, Answer, CallError, CallOptions, Client, InputAnswer, InputId, List, Request, Transport};
use crate::error::{Error, ErrorObject};
use crate::ids::{CallId, ReplySlot, SlotId};
use crate::json::Json;
use crate::machine::Now;
use crate::model::{LoggingLevel, SubscriptionFilter};
use crate::spec::{Method, Version};

/// Something that a client tells its application.
#[derive(Debug)]
pub enum ClientEvent {
    /// The era is settled.
    Connected(Version),
    /// The session was lost, and there is a new one.
    Renewed(Version),
    /// A call has got further.
    Progress {
        /// The call.
        call: CallId,
        /// The params as they came.
        raw: Json,
    },
    /// A call has ended.
    Done {
        /// The call.
        call: CallId,
        /// What it brought; nothing where nobody is shown what a call brings that ends well.
        outcome: Result<Option<Answer>, CallError>,
    },
    /// The server asks.
    NeedInput {
        /// The question.
        input: InputId,
        /// The call that it is asked for.
        call: Option<CallId>,
        /// The server's key for it.
        key: String,
        /// What is asked.
        method: String,
        /// The params as they came.
        params: Json,
    },
    /// The answer to a question is not wanted any more.
    CancelledInput {
        /// The question.
        input: InputId,
        /// What the server said.
        reason: Reason,
    },
    /// A request that the application answers itself.
    Invoke {
        /// The request.
        slot: SlotId,
        /// Its method.
        method: String,
        /// Its params as they came.
        params: Json,
    },
    /// The answer to such a request is not wanted any more.
    CancelledInvoke {
        /// The request.
        slot: SlotId,
        /// What the server said.
        reason: Reason,
    },
    /// A notification.
    Notified {
        /// Its method.
        method: String,
        /// Its params as they came.
        params: Json,
        /// The listen call that it belongs to.
        subscription: Option<CallId>,
    },
    /// A stream is open.
    Listening {
        /// The listen call.
        call: CallId,
        /// What the server will tell.
        filter: SubscriptionFilter,
    },
    /// The connection is over: why.
    Closed(&'static str),
}

/// Why something is not wanted any more.
#[derive(Debug, PartialEq, Eq)]
pub enum Reason {
    /// The server has said this, or nothing.
    Said(Option<String>),
    /// The front drops what it runs, and says no more.
    Hidden,
}

/// What an application wants of a client.
///
/// # Errors
/// All of them: what the machine refuses.
#[allow(missing_docs, reason = "each is the machine's verb of that name")]
pub trait ClientVerbs {
    fn connect(&mut self, now: Now) -> Result<(), Error>;
    fn call(&mut self, now: Now, request: Request, options: CallOptions) -> Result<CallId, Error>;
    fn walk(&mut self, now: Now, list: List, options: CallOptions) -> Result<CallId, Error>;
    fn listen(&mut self, now: Now, filter: &SubscriptionFilter) -> Result<CallId, Error>;
    fn set_level(&mut self, now: Now, level: LoggingLevel) -> Result<CallId, Error>;
    fn cancel(&mut self, now: Now, call: CallId, reason: Option<&str>) -> Result<(), Error>;
    /// `wrong`: the transcript says that the answer is refused.
    fn supply(&mut self, now: Now, input: InputId, answer: InputAnswer, wrong: bool) -> Result<(), Error>;
    fn reply(&mut self, now: Now, slot: SlotId, reply: Result<Json, ErrorObject>) -> Result<(), Error>;
    fn notify(&mut self, now: Now, method: &str, params: &Json) -> Result<(), Error>;
    fn roots_changed(&mut self, now: Now) -> Result<(), Error>;
}

/// A client, whatever carries its messages.
pub trait Calls: Role<Memory = ClientMemory> {
    /// What takes its verbs.
    type Verbs: ClientVerbs + ?Sized;

    /// What takes its verbs.
    fn verbs(&mut self) -> &mut Self::Verbs;

    /// The event as one for the application, if it is.
    fn heard(event: &Self::Event) -> Option<&ClientEvent>;

    /// The same, taken.
    ///
    /// # Errors
    /// When it is none.
    fn hear(event: Self::Event) -> Result<ClientEvent, Problem>;
}

impl<T: Transport + ?Sized> ClientVerbs for Client<T> {
    fn connect(&mut self, now: Now) -> Result<(), Error> {
        Self::connect(self, now)
    }

    fn call(&mut self, now: Now, request: Request, options: CallOptions) -> Result<CallId, Error> {
        Self::call(self, now, request, options)
    }

    fn walk(&mut self, now: Now, list: List, options: CallOptions) -> Result<CallId, Error> {
        Self::walk(self, now, list, options)
    }

    fn listen(&mut self, now: Now, filter: &SubscriptionFilter) -> Result<CallId, Error> {
        Self::listen(self, now, filter, CallOptions::new())
    }

    fn set_level(&mut self, now: Now, level: LoggingLevel) -> Result<CallId, Error> {
        Self::set_level(self, now, level)
    }

    fn cancel(&mut self, now: Now, call: CallId, reason: Option<&str>) -> Result<(), Error> {
        Self::cancel(self, now, call, reason)
    }

    fn supply(&mut self, now: Now, input: InputId, answer: InputAnswer, _wrong: bool) -> Result<(), Error> {
        self.supply_input(now, input, &answer)
    }

    fn reply(&mut self, now: Now, slot: SlotId, reply: Result<Json, ErrorObject>) -> Result<(), Error> {
        Self::reply(self, now, ReplySlot::from_id(slot), reply)
    }

    fn notify(&mut self, now: Now, method: &str, params: &Json) -> Result<(), Error> {
        Self::notify(self, now, method, params)
    }

    fn roots_changed(&mut self, now: Now) -> Result<(), Error> {
        Self::roots_changed(self, now)
    }
}

impl ClientEvent {
    /// As a machine says it.
    pub(super) fn of(action: Action) -> Result<Self, Problem> {
        let reason = |reason: Option<Box<str>>| Reason::Said(reason.map(Into::into));
        Ok(match action {
            Action::Write(_) | Action::Diagnostic(_) => return Err(format!("no event: {action:?}")),
            Action::Connected(facts) => Self::Connected(facts.version),
            Action::Renewed(facts) => Self::Renewed(facts.version),
            Action::Progress { call, progress } => Self::Progress { call, raw: progress.raw },
            Action::Done { call, outcome } => Self::Done { call, outcome: outcome.map(Some) },
            Action::NeedInput(needed) => Self::NeedInput {
                input: needed.input,
                call: needed.call,
                method: needed.request.method().map_or("", Method::as_str).to_owned(),
                key: needed.key,
                params: needed.raw,
            },
            Action::CancelledInput { input, reason: said } => Self::CancelledInput { input, reason: reason(said) },
            Action::Invoke { slot, method, params } => Self::Invoke { slot: slot.id(), method: method.into(), params },
            Action::CancelledInvoke { slot, reason: said } => Self::CancelledInvoke { slot, reason: reason(said) },
            Action::Notified { method, params, subscription } => {
                Self::Notified { method: method.into(), params, subscription }
            }
            Action::Listening { call, filter } => Self::Listening { call, filter },
            Action::Closed(why) => Self::Closed(why.name()),
        })
    }
}
