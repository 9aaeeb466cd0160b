//! The two machines of a client as one class: that of a stream and that of HTTP. Their verbs are the same.

use std::collections::BTreeMap;

use bytes::Bytes;
use mcp_sansio::client::{Action, Answer, Client, Closed, InputId, ServerFacts, Transport};
use mcp_sansio::error::{Error, Misuse};
use mcp_sansio::http::client::{self as http, Endpoint, FetchFailed, FetchId, HttpClient};
use mcp_sansio::ids::{CallId, ReplySlot, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Input, Now};
use napi::Env;
use napi::bindgen_prelude::Result;
use napi_derive::napi;
use serde::Serialize;

use crate::action::diagnostic;
use crate::pack::{Buffer, Made, Numbers, Pack};
use crate::request::{Settings, Verb, Where, call_options, input_answer, request};
use crate::value::{argument, bytes_text, call_told, connect_told, headers, millis, now, read, thrown, told, whole};

/// A machine of a client.
#[napi]
pub struct ClientMachine {
    machine: Machine,
    buffer: Buffer,
    /// Calls whose rounds the application drives, and what they brought.
    rounds: BTreeMap<u64, (mcp_sansio::client::Request, Option<Answer>)>,
}

enum Machine {
    Lines(Box<Client>),
    Http(Box<HttpClient>),
}

impl Machine {
    fn verbs(&mut self) -> &mut Client<dyn Transport> {
        match self {
            Self::Lines(client) => &mut **client,
            Self::Http(client) => &mut **client,
        }
    }
}

#[napi]
impl ClientMachine {
    /// A client of a stream, or with an address, of HTTP.
    #[napi(constructor)]
    pub fn new(settings: String, place: Option<String>) -> Result<Self> {
        let config = read::<Settings>(&settings)?.config()?;
        let machine = match place {
            None => Machine::Lines(Box::new(Client::new(config).map_err(argument)?)),
            Some(place) => {
                let endpoint: Endpoint = read::<Where>(&place)?.endpoint()?;
                Machine::Http(Box::new(HttpClient::over_http(config, endpoint).map_err(argument)?))
            }
        };
        Ok(Self { machine, buffer: Buffer::default(), rounds: BTreeMap::new() })
    }

    /// `Input::Bytes`; over HTTP, `Input::Body` of an exchange.
    #[napi]
    pub fn handle_bytes(&mut self, bytes: &[u8], fetch: f64, mono: f64, unix: f64) -> Result<()> {
        self.bytes(Bytes::copy_from_slice(bytes), fetch, now(mono, unix))
    }

    /// The same of text.
    #[napi]
    pub fn handle_text(&mut self, text: String, fetch: f64, mono: f64, unix: f64) -> Result<()> {
        self.bytes(text.into(), fetch, now(mono, unix))
    }

    /// `Input::Written`.
    #[napi]
    pub fn written(&mut self, bytes: u32, mono: f64, unix: f64) -> Result<()> {
        match &mut self.machine {
            Machine::Lines(client) => client.handle(now(mono, unix), Input::Written(bytes as usize)).map_err(thrown),
            Machine::Http(_) => Err(thrown(absent())),
        }
    }

    /// `handle_timeout`.
    #[napi]
    pub fn handle_timeout(&mut self, mono: f64, unix: f64) {
        self.machine.verbs().handle_timeout(now(mono, unix));
    }

    /// `poll_timeout`: null, or the name of what is waited for; its time is in `numbers`.
    #[napi]
    pub fn poll_timeout(&mut self, numbers: Numbers<'_>) -> Option<&'static str> {
        let (at, kind) = self.machine.verbs().poll_timeout()?;
        if let Some(place) = numbers.first_mut() {
            *place = millis(at);
        }
        Some(kind.name())
    }

    /// `wants_input`.
    #[napi]
    pub fn wants_input(&mut self) -> bool {
        self.machine.verbs().wants_input()
    }

    /// `poll_action`: null, or the text of the action.
    #[napi]
    pub fn poll(&mut self, env: Env, numbers: Numbers<'_>) -> Option<Made> {
        let mut pack = Pack::new(&mut self.buffer, numbers);
        let action = match &mut self.machine {
            Machine::Lines(client) => client.poll_action()?,
            Machine::Http(client) => match client.poll_action()? {
                http::Action::Event(action) => action,
                other => {
                    of_http(&mut pack, &other);
                    return Some(pack.made(&env));
                }
            },
        };
        event(&mut pack, &mut self.rounds, action);
        Some(pack.made(&env))
    }

    /// Every other verb: an object whose one member is its name.
    #[napi]
    pub fn act(&mut self, verb: String, mono: f64, unix: f64) -> Result<Option<String>> {
        let (verb, now) = (read::<Verb>(&verb)?, now(mono, unix));
        let call = match verb {
            Verb::Call(what, options) => {
                let (request, options) = (request(what)?, options.unwrap_or_default());
                let drives = options.drive_input == Some(false);
                let call = self.machine.verbs().call(now, request.clone(), call_options(options)?).map_err(thrown)?;
                if drives {
                    self.rounds.insert(call.to_u64(), (request, None));
                }
                call
            }
            Verb::Retry(of, responses, options) => {
                let (request, answer) = self.rounds.remove(&of).ok_or_else(|| thrown(Misuse::CallNotOpen))?;
                let answer = answer.ok_or_else(|| thrown(Misuse::CallNotOpen))?;
                let request = request.retry(&answer, &responses).map_err(thrown)?;
                let options = call_options(options.unwrap_or_default())?.drive_input(false);
                let call = self.machine.verbs().call(now, request.clone(), options).map_err(thrown)?;
                self.rounds.insert(call.to_u64(), (request, None));
                call
            }
            other => return self.other(now, other),
        };
        Ok(Some(call.to_u64().to_string()))
    }
}

impl ClientMachine {
    fn bytes(&mut self, bytes: Bytes, fetch: f64, now: Now) -> Result<()> {
        match &mut self.machine {
            Machine::Lines(client) => client.handle(now, Input::Bytes(bytes)),
            Machine::Http(client) => {
                client.handle(now, http::Input::Body { fetch: FetchId::from_u64(fetch as u64), bytes })
            }
        }
        .map_err(thrown)
    }

    fn other(&mut self, now: Now, verb: Verb) -> Result<Option<String>> {
        let client = self.machine.verbs();
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
                return client.listen(now, &filter, options).map(number).map_err(thrown);
            }
            Verb::Notify(method, params) => client.notify(now, &method, &params.unwrap_or(Json::EMPTY_OBJECT)),
            Verb::Reply([low, high], result) => client.reply(now, slot(low, high), Ok(result)),
            Verb::RootsChanged() => client.roots_changed(now),
            Verb::Server() => return Ok(client.server().map(facts)),
            Verb::SetLevel(name) => {
                let level = crate::definition::level(&name)?;
                return client.set_level(now, level).map(number).map_err(thrown);
            }
            Verb::Supply(input, answer) => client.supply_input(now, InputId::from_u64(input), &input_answer(answer)),
            Verb::Walk(name, options) => {
                let list = mcp_sansio::client::List::named(&name);
                let list = list.ok_or_else(|| argument(format!("{name:?} is no list")))?;
                let options = call_options(options.unwrap_or_default())?;
                return client.walk(now, list, options).map(number).map_err(thrown);
            }
            other => return self.transport(now, other).map_err(thrown),
        };
        done.map(|()| None).map_err(thrown)
    }

    /// What only one of the transports has.
    fn transport(&mut self, now: Now, verb: Verb) -> std::result::Result<Option<String>, Error> {
        let id = FetchId::from_u64;
        match (&mut self.machine, verb) {
            (Machine::Lines(client), Verb::Eof()) => client.handle(now, Input::Eof)?,
            (Machine::Http(client), Verb::Authorize(fetch, value)) => client.authorize(now, id(fetch), value)?,
            (Machine::Http(client), Verb::RefuseAuthorization(fetch)) => client.refuse_authorization(now, id(fetch))?,
            (Machine::Http(client), Verb::SetAuthorization(value)) => {
                client.set_authorization(value.map(Into::into))?;
            }
            (Machine::Http(client), Verb::SessionId()) => {
                return Ok(client.session_id().map(|id| format!("{id:?}")));
            }
            (Machine::Http(client), Verb::Head(fetch, status, list)) => {
                client.handle(now, http::Input::Head { fetch: id(fetch), status, headers: headers(list) })?;
            }
            (Machine::Http(client), Verb::End(fetch)) => client.handle(now, http::Input::End { fetch: id(fetch) })?,
            (Machine::Http(client), Verb::NotSent(fetch, why)) => {
                let reason = FetchFailed::NotSent(why.into());
                client.handle(now, http::Input::Failed { fetch: id(fetch), reason })?;
            }
            (Machine::Http(client), Verb::Broken(fetch, why)) => {
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

/// The server, as it introduced itself.
#[derive(Serialize)]
struct Facts<'a, C, I> {
    version: &'static str,
    is_modern: bool,
    declared: &'a C,
    info: &'a Option<I>,
    instructions: &'a Option<String>,
    raw: &'a Json,
}

fn facts(server: &ServerFacts) -> String {
    serde_json::to_string(&Facts {
        version: server.version.as_str(),
        is_modern: server.era() == mcp_sansio::spec::Era::Modern,
        declared: &server.capabilities,
        info: &server.info,
        instructions: &server.instructions,
        raw: &server.raw,
    })
    .unwrap_or_default()
}

/// What only a client over HTTP says.
fn of_http(pack: &mut Pack<'_>, action: &http::Action) {
    match action {
        http::Action::Fetch(fetch) => {
            pack.number(13.0).number(fetch.id.to_u64() as f64).text(fetch.method.as_str()).text(&fetch.url);
            let all: Vec<_> = fetch.headers.iter().map(|(name, value)| (name, bytes_text(value))).collect();
            pack.text(&serde_json::to_string(&all).unwrap_or_default()).utf8(&fetch.body);
        }
        http::Action::Abort(fetch) => {
            pack.number(14.0).number(fetch.to_u64() as f64);
        }
        http::Action::Unauthorized(wanted) => {
            let values: Vec<_> = wanted.challenge.www_authenticate.iter().map(|value| bytes_text(value)).collect();
            pack.number(15.0).number(wanted.fetch.to_u64() as f64).number(f64::from(wanted.challenge.status));
            pack.text(&serde_json::to_string(&values).unwrap_or_default());
        }
        _ => {}
    }
}

/// What every client says. The wrapper reads in the same order (`lib/client.ts`).
fn event(
    pack: &mut Pack<'_>,
    rounds: &mut BTreeMap<u64, (mcp_sansio::client::Request, Option<Answer>)>,
    action: Action,
) {
    match action {
        Action::Write(frame) => pack.number(0.0).number(frame.len() as f64).utf8(&frame),
        Action::Connected(server) => pack.number(1.0).text(&facts(&server)),
        Action::Renewed(server) => pack.number(2.0).text(&facts(&server)),
        Action::Progress { call, progress } => {
            pack.number(3.0).number(call.to_u64() as f64).number(progress.progress);
            pack.number(progress.total.unwrap_or(f64::NAN)).optional(progress.message.as_deref());
            pack.text(progress.raw.get())
        }
        Action::Done { call, outcome } => {
            pack.number(4.0).number(call.to_u64() as f64);
            let driven = rounds.remove(&call.to_u64());
            match outcome {
                Ok(answer) => {
                    pack.number(f64::from(u8::from(answer.is_cached()))).text(answer.json().get()).optional(None);
                    if let Some((request, _)) = driven.filter(|_| answer.is_input_required()) {
                        rounds.insert(call.to_u64(), (request, Some(answer)));
                    }
                    pack
                }
                Err(error) => pack.number(0.0).optional(None).text(&call_told(&error)),
            }
        }
        Action::NeedInput(needed) => {
            pack.number(5.0).number(needed.input.to_u64() as f64);
            pack.number(needed.call.map_or(-1.0, |call| call.to_u64() as f64)).text(&needed.key);
            pack.text(needed.request.method().map_or("", |method| method.as_str())).text(needed.raw.get())
        }
        Action::CancelledInput { input, reason } => {
            pack.number(6.0).number(input.to_u64() as f64).optional(reason.as_deref())
        }
        Action::Invoke { slot, method, params } => {
            pack.number(7.0).halves(slot.id().to_u64()).text(&method).text(params.get())
        }
        Action::CancelledInvoke { slot, reason } => {
            pack.number(8.0).halves(slot.to_u64()).optional(reason.as_deref())
        }
        Action::Notified { method, params, subscription } => {
            pack.number(9.0).number(subscription.map_or(-1.0, |call| call.to_u64() as f64));
            pack.text(&method).text(params.get())
        }
        Action::Listening { call, filter } => {
            let filter = serde_json::to_string(&filter).unwrap_or_default();
            pack.number(10.0).number(call.to_u64() as f64).text(&filter)
        }
        Action::Diagnostic(remark) => diagnostic(pack, 11, &remark),
        Action::Closed(why) => {
            let error = match &why {
                Closed::Failed(error) => Some(told(error)),
                Closed::NotConnected(error) => Some(connect_told(error)),
                _ => None,
            };
            pack.number(12.0).text(why.name()).optional(error.as_deref())
        }
        _ => pack.number(-1.0),
    };
}
