//! A legacy host in front of a modern server.
//!
//! | legacy host | modern backend |
//! |---|---|
//! | request, also unknown | the same, in the envelope; the level of the session travels with each |
//! | `logging/setLevel` | kept here |
//! | `resources/subscribe`, `resources/unsubscribe` | a listen stream opened, cancelled |
//! | its list changes, unasked | one listen stream for them |
//! | answers to requests of the server | `input_required`: asked as requests, retried with the answers |
//! | an error as the answer of an elicitation | `cancel`; the eras' other questions have no such word: the call ends |

use std::collections::BTreeMap;

use mcp_sansio::client::{self, Answer, CacheUse, CallError, CallOptions, Client, Request};
use mcp_sansio::error::ErrorObject;
use mcp_sansio::ids::{CallId, ReplySlot, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::Now;
use mcp_sansio::model::{InputRequiredResult, LoggingLevel, SubscriptionFilter};
use mcp_sansio::server::{
    self, Call, Context, Definition, DefinitionBuilder, Invocation, Notified, Reply, RequestFailure, Server,
};
use mcp_sansio::spec::{ErrorCode, Kind, Method, Version};
use mcp_sansio::testing::Peer;

use super::{Bridge, object, without_subscription};

/// Rounds of questions after which a backend is given up.
const ROUNDS_MOST: u32 = 16;

/// The bridge.
#[derive(Default)]
pub struct ToModern {
    calls: BTreeMap<CallId, Forward>,
    /// Which call serves an invocation.
    slots: BTreeMap<SlotId, CallId>,
    rounds: BTreeMap<SlotId, Round>,
    /// Questions to the host, by the name of the request: whose they are.
    questions: BTreeMap<CallId, (SlotId, String)>,
    subscriptions: BTreeMap<String, CallId>,
    /// Subscriptions whose stream is not open yet.
    opening: BTreeMap<CallId, ReplySlot>,
    lists: Option<CallId>,
    level: Option<LoggingLevel>,
}

/// A request of the host on its way.
struct Forward {
    slot: ReplySlot,
    context: Context,
    request: Request,
    round: u32,
}

/// Questions of the backend that the host has not answered.
struct Round {
    forward: Forward,
    answer: Answer,
    responses: Vec<(String, Json)>,
    waiting: usize,
}

impl ToModern {
    /// The definition that such a bridge needs: legacy, and every method raw.
    pub fn definition(name: &str) -> DefinitionBuilder {
        let builder = Definition::builder(name, "1.0.0")
            .versions(&[Version::V2024_11_05, Version::V2025_03_26, Version::V2025_06_18, Version::V2025_11_25])
            .hand_over_unknown();
        let methods = Method::ALL.iter().copied().filter(|method| {
            method.kind() == Kind::Request
                && method.exists_in(Version::LATEST_LEGACY)
                && !matches!(method, Method::Initialize | Method::Ping)
        });
        methods.fold(builder, DefinitionBuilder::hand_over)
    }

    fn invoked(&mut self, now: Now, invocation: Invocation, host: &mut Server, backend: &mut Client) {
        let Invocation { slot, call, context, .. } = invocation;
        let Call::Raw { method, params } = call else {
            return done(host.reply(now, slot, Reply::Failed));
        };
        let uri = || {
            #[derive(serde::Deserialize)]
            struct Subscribe {
                uri: String,
            }
            params.parse::<Subscribe>().map(|subscribe| subscribe.uri).ok()
        };
        match (Method::parse(&method), uri()) {
            (Some(Method::LoggingSetLevel), _) => {
                #[derive(serde::Deserialize)]
                struct Level {
                    level: String,
                }
                self.level = params.parse::<Level>().ok().and_then(|params| LoggingLevel::parse(&params.level));
                done(host.reply(now, slot, Reply::Raw(Json::EMPTY_OBJECT)));
            }
            (Some(Method::ResourcesSubscribe), Some(uri)) => {
                let mut filter = SubscriptionFilter::new();
                filter.resource_subscriptions = Some(vec![uri.clone()]);
                match backend.listen(now, &filter, CallOptions::new()) {
                    Ok(stream) => {
                        self.subscriptions.insert(uri, stream);
                        self.opening.insert(stream, slot);
                    }
                    Err(error) => done(host.reply(now, slot, Reply::Error(error.to_object()))),
                }
            }
            (Some(Method::ResourcesUnsubscribe), Some(uri)) => {
                if let Some(stream) = self.subscriptions.remove(&uri) {
                    done(backend.cancel(now, stream, None));
                }
                done(host.reply(now, slot, Reply::Raw(Json::EMPTY_OBJECT)));
            }
            _ => match Request::custom(&method, params) {
                Ok(request) => self.forward(now, Forward { slot, context, request, round: 0 }, host, backend),
                Err(misuse) => {
                    let error = ErrorObject::invalid_params(misuse.to_string());
                    done(host.reply(now, slot, Reply::Error(error)));
                }
            },
        }
    }

    fn forward(&mut self, now: Now, forward: Forward, host: &mut Server, backend: &mut Client) {
        let mut options = CallOptions::new().drive_input(false).cache(CacheUse::Bypass);
        if let Some(token) = forward.context.progress_token() {
            options = options.progress_token(token);
        }
        if let Some(level) = self.level {
            options = options.log_level(level);
        }
        match backend.call(now, forward.request.clone(), options) {
            Ok(call) => {
                self.slots.insert(forward.slot.id(), call);
                self.calls.insert(call, forward);
            }
            Err(error) => done(host.reply(now, forward.slot, Reply::Error(error.to_object()))),
        }
    }

    fn host_event(&mut self, now: Now, event: server::Action, host: &mut Server, backend: &mut Client) {
        match event {
            server::Action::Invoke(invocation) => self.invoked(now, *invocation, host, backend),
            server::Action::Cancelled { slot, reason } => self.cancelled(now, slot, reason.as_deref(), host, backend),
            server::Action::Notified(Notified::Initialized) => {
                let mut filter = SubscriptionFilter::new();
                filter.tools_list_changed = Some(true);
                filter.prompts_list_changed = Some(true);
                filter.resources_list_changed = Some(true);
                self.lists = backend.listen(now, &filter, CallOptions::new()).ok();
            }
            server::Action::Notified(Notified::Custom { method, params }) => {
                done(backend.notify(now, &method, &params));
            }
            server::Action::Answered { call, outcome } => self.answered(now, call, outcome, host, backend),
            // Changed roots: a modern server asks each time.
            _ => {}
        }
    }

    fn cancelled(&mut self, now: Now, slot: SlotId, reason: Option<&str>, host: &mut Server, backend: &mut Client) {
        let forward = match self.slots.remove(&slot) {
            Some(call) => {
                done(backend.cancel(now, call, reason));
                self.calls.remove(&call)
            }
            None => self.rounds.remove(&slot).map(|round| round.forward),
        };
        if let Some(forward) = forward {
            // Nobody hears it: the slot is given back.
            host.abandon(now, forward.slot);
        }
    }

    /// The host has answered one question.
    fn answered(
        &mut self,
        now: Now,
        question: CallId,
        outcome: Result<Json, RequestFailure>,
        host: &mut Server,
        backend: &mut Client,
    ) {
        let Some((slot, key)) = self.questions.remove(&question) else { return };
        let Some(mut round) = self.rounds.remove(&slot) else { return };
        let response = match outcome {
            Ok(result) => result,
            Err(failure) if round.elicits(&key) => {
                drop(failure);
                object([("action".to_owned(), Json::from(serde_json::Value::from("cancel")))])
            }
            Err(failure) => {
                let error = match failure {
                    RequestFailure::Remote(error) => error,
                    _ => ErrorObject::new(ErrorCode::INTERNAL_ERROR, "the host did not answer a question"),
                };
                return done(host.reply(now, round.forward.slot, Reply::Error(error)));
            }
        };
        round.responses.push((key, response));
        round.waiting -= 1;
        if round.waiting > 0 {
            self.rounds.insert(slot, round);
        } else {
            self.retry(now, round, host, backend);
        }
    }

    fn retry(&mut self, now: Now, round: Round, host: &mut Server, backend: &mut Client) {
        let Round { mut forward, answer, responses, .. } = round;
        match forward.request.clone().retry(&answer, &object(responses)) {
            Ok(request) => {
                forward.request = request;
                self.forward(now, forward, host, backend);
            }
            Err(misuse) => {
                let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, misuse.to_string());
                done(host.reply(now, forward.slot, Reply::Error(error)));
            }
        }
    }

    fn backend_event(&mut self, now: Now, event: client::Action, host: &mut Server, backend: &mut Client) {
        match event {
            client::Action::Done { call, outcome } => {
                let Some(forward) = self.calls.remove(&call) else { return };
                self.slots.remove(&forward.slot.id());
                match outcome {
                    Ok(answer) if answer.is_input_required() => self.ask(now, forward, answer, host, backend),
                    Ok(answer) => done(host.reply(now, forward.slot, Reply::Raw(answer.json()))),
                    Err(CallError::Remote(error)) => done(host.reply(now, forward.slot, Reply::Error(error))),
                    Err(error) => {
                        let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, error.to_string());
                        done(host.reply(now, forward.slot, Reply::Error(error)));
                    }
                }
            }
            client::Action::Progress { progress, .. } => {
                done(host.notify(now, Method::Progress.as_str(), Some(&progress.raw)));
            }
            client::Action::Notified { method, params, .. } => {
                done(host.notify(now, &method, Some(&without_subscription(&params))));
            }
            client::Action::Listening { call, .. } => {
                if let Some(slot) = self.opening.remove(&call) {
                    done(host.reply(now, slot, Reply::Raw(Json::EMPTY_OBJECT)));
                }
            }
            _ => {}
        }
    }

    /// The backend asks: the host gets a request for each question.
    fn ask(&mut self, now: Now, mut forward: Forward, answer: Answer, host: &mut Server, backend: &mut Client) {
        forward.round += 1;
        if forward.round > ROUNDS_MOST {
            let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, "the server asks again and again");
            return done(host.reply(now, forward.slot, Reply::Error(error)));
        }
        let slot = forward.slot.id();
        let questions = questions(&answer);
        let round = Round { forward, answer, responses: Vec::new(), waiting: questions.len() };
        if questions.is_empty() {
            return self.retry(now, round, host, backend);
        }
        let mut asked = Vec::new();
        for (key, method, params) in questions {
            match host.request(now, Some(slot), &method, params.as_ref(), None) {
                Ok(question) => asked.push((question, (slot, key))),
                Err(error) => {
                    // The host's revision has no such request: nobody answers it, nor the others then.
                    asked.iter().for_each(|(question, _)| done(host.cancel_request(now, *question, None)));
                    return done(host.reply(now, round.forward.slot, Reply::Error(error.to_object())));
                }
            }
        }
        self.questions.extend(asked);
        self.rounds.insert(slot, round);
    }
}

impl Round {
    fn elicits(&self, key: &str) -> bool {
        questions(&self.answer)
            .iter()
            .any(|(name, method, _)| name == key && method == Method::ElicitationCreate.as_str())
    }
}

/// Key, method and params of every question.
fn questions(answer: &Answer) -> Vec<(String, String, Option<Json>)> {
    #[derive(serde::Deserialize)]
    struct Question {
        method: String,
        params: Option<Json>,
    }
    let asked: Option<InputRequiredResult> = answer.parse().ok();
    let requests = asked.and_then(|asked| asked.input_requests).unwrap_or_default();
    requests
        .iter_raw()
        .filter_map(|(key, raw)| {
            let Question { method, params } = raw.parse().ok()?;
            Some((key.to_owned(), method, params))
        })
        .collect()
}

impl Bridge for ToModern {
    fn pump(&mut self, now: Now, host: &mut Peer<Server>, backend: &mut Peer<Client>) -> bool {
        let mut busy = false;
        while let Some(event) = host.events.pop_front() {
            busy = true;
            self.host_event(now, event, &mut host.machine, &mut backend.machine);
        }
        while let Some(event) = backend.events.pop_front() {
            busy = true;
            self.backend_event(now, event, &mut host.machine, &mut backend.machine);
        }
        busy
    }
}

/// A verb of a machine that is open, on something that is open.
#[track_caller]
fn done(outcome: Result<(), mcp_sansio::error::Error>) {
    if let Err(error) = outcome {
        panic!("the bridge did what a machine refuses: {error}");
    }
}
