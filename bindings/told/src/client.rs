//! The two machines of a client as one: that of a stream and that of HTTP. Their verbs are the same.

use std::collections::BTreeMap;

use bytes::Bytes;
use mcp_sansio::client::{self, Answer, Client, InputId, List, ServerFacts, Transport};
use mcp_sansio::error::{Error, ErrorObject, Misuse};
use mcp_sansio::http::client::{self as http, Action, Endpoint, FetchFailed, FetchId, HttpClient};
use mcp_sansio::ids::{CallId, ReplySlot, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Input, Mono, Now, TimerKind};
use mcp_sansio::spec::Era;
use serde::Serialize;

use crate::Result;
use crate::definition::level;
use crate::request::{Settings, Verb, Where, call_options, input_answer};
use crate::say::{Saying, connected};
use crate::told::{argument, headers, read, whole};

/// A machine of a client.
#[derive(Debug)]
pub struct Machine {
    kind: Kind,
    /// Calls whose rounds the application drives, and what they brought.
    rounds: BTreeMap<u64, (client::Request, Option<Answer>)>,
}

#[derive(Debug)]
enum Kind {
    Lines(Box<Client>),
    Http(Box<HttpClient>),
}

impl Kind {
    fn verbs(&mut self) -> &mut Client<dyn Transport> {
        match self {
            Self::Lines(client) => &mut **client,
            Self::Http(client) => &mut **client,
        }
    }
}

impl Machine {
    /// A client of a stream, or with a place, of HTTP. Both are objects of settings, named as the methods of
    /// [`client::Config`] and [`Endpoint`].
    ///
    /// # Errors
    /// When they are no settings, or contradict each other.
    pub fn new(settings: &str, place: Option<&str>) -> Result<Self> {
        let config = read::<Settings>(settings)?.config()?;
        let kind = match place {
            None => Kind::Lines(Box::new(Client::new(config).map_err(argument)?)),
            Some(place) => {
                let endpoint: Endpoint = read::<Where>(place)?.endpoint()?;
                Kind::Http(Box::new(HttpClient::over_http(config, endpoint).map_err(argument)?))
            }
        };
        Ok(Self { kind, rounds: BTreeMap::new() })
    }

    /// Bytes of the stream; over HTTP, of the body of an exchange.
    ///
    /// # Errors
    /// As `handle` of the machine.
    pub fn bytes(&mut self, now: Now, fetch: u64, bytes: Bytes) -> Result<()> {
        match &mut self.kind {
            Kind::Lines(client) => client.handle(now, Input::Bytes(bytes)),
            Kind::Http(client) => client.handle(now, http::Input::Body { fetch: FetchId::from_u64(fetch), bytes }),
        }
    }

    /// So much of the stream was written.
    ///
    /// # Errors
    /// Over HTTP.
    pub fn written(&mut self, now: Now, bytes: usize) -> Result<()> {
        match &mut self.kind {
            Kind::Lines(client) => client.handle(now, Input::Written(bytes)),
            Kind::Http(_) => Err(absent()),
        }
    }

    /// `handle_timeout`.
    pub fn handle_timeout(&mut self, now: Now) {
        self.kind.verbs().handle_timeout(now);
    }

    /// `poll_timeout`.
    pub fn poll_timeout(&mut self) -> Option<(Mono, TimerKind)> {
        self.kind.verbs().poll_timeout()
    }

    /// `wants_input`.
    pub fn wants_input(&mut self) -> bool {
        self.kind.verbs().wants_input()
    }

    /// `poll_action`.
    pub fn poll(&mut self) -> Option<Action> {
        let action = match &mut self.kind {
            Kind::Lines(client) => Action::Event(client.poll_action()?),
            Kind::Http(client) => client.poll_action()?,
        };
        if let Action::Event(client::Action::Done { call, outcome }) = &action
            && let Some((request, _)) = self.rounds.remove(&call.to_u64())
            && let Some(answer) = outcome.as_ref().ok().filter(|answer| answer.is_input_required())
        {
            self.rounds.insert(call.to_u64(), (request, Some(answer.clone())));
        }
        Some(action)
    }

    /// `call`, of a request that the binding keeps ([`crate::client::request`]), with an object of options.
    ///
    /// # Errors
    /// As the verb; when the options are none.
    pub fn call(&mut self, now: Now, request: client::Request, options: &str) -> Result<u64> {
        let options = call_options(read(options)?)?;
        self.kind.verbs().call(now, request, options).map(CallId::to_u64)
    }

    /// The server, once connected, as [`crate::say`] tells it.
    pub fn server(&mut self) -> Option<Saying> {
        self.kind.verbs().server().map(|server| connected("connected", server))
    }

    /// `reply`.
    ///
    /// # Errors
    /// As the verb.
    pub fn reply(&mut self, now: Now, slot: SlotId, result: std::result::Result<Json, ErrorObject>) -> Result<()> {
        self.kind.verbs().reply(now, ReplySlot::from_id(slot), result)
    }

    /// `abandon`.
    ///
    /// # Errors
    /// As the verb.
    pub fn abandon(&mut self, now: Now, slot: SlotId) -> Result<()> {
        self.kind.verbs().abandon(now, ReplySlot::from_id(slot))
    }

    /// Every other verb: an object whose one member is its name, with its arguments. The answer is JSON, or nothing.
    ///
    /// # Errors
    /// As the verb; when it is none, or not one of this machine.
    pub fn act(&mut self, now: Now, verb: &str) -> Result<Option<String>> {
        let verb = read::<Verb>(verb)?;
        let call = match verb {
            Verb::Call(what, options) => {
                let (request, options) = (crate::request::request(what)?, options.unwrap_or_default());
                let drives = options.drive_input == Some(false);
                let call = self.kind.verbs().call(now, request.clone(), call_options(options)?)?;
                if drives {
                    self.rounds.insert(call.to_u64(), (request, None));
                }
                call
            }
            Verb::Retry(of, responses, options) => {
                let (request, answer) = self.rounds.remove(&of).ok_or_else(|| Error::from(Misuse::CallNotOpen))?;
                let answer = answer.ok_or_else(|| Error::from(Misuse::CallNotOpen))?;
                let request = request.retry(&answer, &responses)?;
                let options = call_options(options.unwrap_or_default())?.drive_input(false);
                let call = self.kind.verbs().call(now, request.clone(), options)?;
                self.rounds.insert(call.to_u64(), (request, None));
                call
            }
            other => return self.other(now, other),
        };
        Ok(Some(call.to_u64().to_string()))
    }

    fn other(&mut self, now: Now, verb: Verb) -> Result<Option<String>> {
        let client = self.kind.verbs();
        let number = |call: CallId| Some(call.to_u64().to_string());
        let done = match verb {
            Verb::Abandon([low, high]) => client.abandon(now, slot(low, high)),
            Verb::Cancel(call, reason) => client.cancel(now, CallId::from_u64(call), reason.as_deref()),
            Verb::Close() => {
                client.close(now);
                Ok(())
            }
            Verb::Connect() => client.connect(now),
            Verb::Fail([low, high], error) => client.reply(now, slot(low, high), Err(error)),
            Verb::Listen(filter, options) => {
                let options = call_options(options.unwrap_or_default())?;
                return client.listen(now, &filter, options).map(number);
            }
            Verb::Notify(method, params) => client.notify(now, &method, &params.unwrap_or(Json::EMPTY_OBJECT)),
            Verb::Reply([low, high], result) => client.reply(now, slot(low, high), Ok(result)),
            Verb::RootsChanged() => client.roots_changed(now),
            Verb::Server() => return Ok(client.server().map(|server| facts(server, true))),
            Verb::SetLevel(name) => {
                let level = level(&name)?;
                return client.set_level(now, level).map(number);
            }
            Verb::Supply(input, answer) => client.supply_input(now, InputId::from_u64(input), &input_answer(answer)),
            Verb::Walk(name, options) => {
                let list = List::named(&name);
                let list = list.ok_or_else(|| argument(format!("{name:?} is no list")))?;
                let options = call_options(options.unwrap_or_default())?;
                return client.walk(now, list, options).map(number);
            }
            other => return self.transport(now, other),
        };
        done.map(|()| None)
    }

    /// What only one of the transports has.
    fn transport(&mut self, now: Now, verb: Verb) -> Result<Option<String>> {
        let id = FetchId::from_u64;
        match (&mut self.kind, verb) {
            (Kind::Lines(client), Verb::Eof()) => client.handle(now, Input::Eof)?,
            (Kind::Http(client), Verb::Authorize(fetch, value)) => client.authorize(now, id(fetch), value)?,
            (Kind::Http(client), Verb::RefuseAuthorization(fetch)) => client.refuse_authorization(now, id(fetch))?,
            (Kind::Http(client), Verb::SetAuthorization(value)) => {
                client.set_authorization(value.map(Into::into))?;
            }
            (Kind::Http(client), Verb::SessionId()) => {
                return Ok(client.session_id().map(|id| format!("{id:?}")));
            }
            (Kind::Http(client), Verb::Head(fetch, status, list)) => {
                client.handle(now, http::Input::Head { fetch: id(fetch), status, headers: headers(list) })?;
            }
            (Kind::Http(client), Verb::End(fetch)) => client.handle(now, http::Input::End { fetch: id(fetch) })?,
            (Kind::Http(client), Verb::NotSent(fetch, why)) => {
                let reason = FetchFailed::NotSent(why.into());
                client.handle(now, http::Input::Failed { fetch: id(fetch), reason })?;
            }
            (Kind::Http(client), Verb::Broken(fetch, why)) => {
                let reason = FetchFailed::Broken(why.into());
                client.handle(now, http::Input::Failed { fetch: id(fetch), reason })?;
            }
            _ => return Err(absent()),
        }
        Ok(None)
    }
}

fn absent() -> Error {
    Misuse::WrongState("this machine has no such verb").into()
}

fn slot(low: u32, high: u32) -> ReplySlot {
    ReplySlot::from_id(SlotId::from_u64(whole(low, high)))
}

/// A request, for a binding that keeps it: an object whose one member is its name, with its arguments.
///
/// # Errors
/// When it is none.
pub fn request(what: &str) -> Result<client::Request> {
    crate::request::request(read(what)?)
}

/// The server, as it introduced itself.
#[derive(Serialize)]
struct Facts<'a, C, I> {
    version: &'static str,
    is_modern: bool,
    declared: &'a C,
    info: &'a Option<I>,
    instructions: &'a Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<&'a Json>,
}

/// A server's facts as JSON, with its own words or without.
#[must_use]
pub fn facts(server: &ServerFacts, with_raw: bool) -> String {
    serde_json::to_string(&Facts {
        version: server.version.as_str(),
        is_modern: server.era() == Era::Modern,
        declared: &server.capabilities,
        info: &server.info,
        instructions: &server.instructions,
        raw: with_raw.then_some(&server.raw),
    })
    .unwrap_or_default()
}
