//! A modern host in front of a legacy server.
//!
//! | modern host | legacy backend |
//! |---|---|
//! | request, also unknown | the same, without the envelope |
//! | the level that a request carries | `logging/setLevel`, when it changes |
//! | `subscriptions/listen` | `resources/subscribe`, `resources/unsubscribe`; list changes come unasked |
//! | retry with answers | the answers to its requests; the call itself goes on all the while |
//!
//! A legacy server does not say which call its question is for: it is asked on behalf of the oldest that is open.

use std::collections::BTreeMap;

use mcp_sansio::client::{self, Answer, CacheUse, CallError, CallOptions, Client, Config, Request};
use mcp_sansio::error::ErrorObject;
use mcp_sansio::ids::{CallId, ReplySlot, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::Now;
use mcp_sansio::model::{Extra, InputRequest, ListenParams, LoggingLevel, SubscriptionFilter};
use mcp_sansio::server::{self, Call, Context, Definition, DefinitionBuilder, Invocation, Notified, Reply, Server};
use mcp_sansio::spec::{ErrorCode, Kind, Method, Version};
use mcp_sansio::testing::Peer;

use super::{Bridge, object, with_subscription};

/// The bridge.
#[derive(Default)]
pub struct ToLegacy {
    calls: BTreeMap<CallId, Forward>,
    streams: BTreeMap<SlotId, Stream>,
    level: Option<LoggingLevel>,
    states: u64,
}

/// A request of the host on its way.
struct Forward {
    /// Who waits for the answer; nobody while the host is asked.
    waiting: Option<(ReplySlot, Context)>,
    /// The state that the host must bring back.
    state: String,
    /// Requests of the backend that the host must answer, by key.
    questions: BTreeMap<String, (ReplySlot, Json)>,
    /// The keys that the host has been asked.
    asked: Vec<String>,
    outcome: Option<Result<Answer, CallError>>,
    keys: u64,
}

/// A stream that the host listens on.
struct Stream {
    slot: ReplySlot,
    id: Json,
    filter: SubscriptionFilter,
}

impl ToLegacy {
    /// The definition that such a bridge needs: modern, and every method raw.
    pub fn definition(name: &str) -> DefinitionBuilder {
        let builder = Definition::builder(name, "1.0.0").versions(&[Version::LATEST]).hand_over_unknown();
        let methods = Method::ALL.iter().copied();
        let methods = methods.filter(|method| {
            method.kind() == Kind::Request && method.exists_in(Version::LATEST) && *method != Method::ServerDiscover
        });
        methods.fold(builder, DefinitionBuilder::hand_over)
    }

    /// What the bridge's client must hand over: the questions of a legacy server.
    #[must_use]
    pub fn config(config: Config) -> Config {
        [Method::ElicitationCreate, Method::SamplingCreateMessage, Method::RootsList]
            .into_iter()
            .fold(config, |config, method| config.server_method(method.as_str()))
    }

    fn invoked(&mut self, now: Now, invocation: Invocation, host: &mut Server, backend: &mut Client) {
        let Invocation { slot, call, context, .. } = invocation;
        let Call::Raw { method, params } = call else {
            return done(host.reply(now, slot, Reply::Failed));
        };
        if Method::parse(&method) == Some(Method::SubscriptionsListen) {
            return self.listen(now, slot, &context, &params, host, backend);
        }
        let members: Extra = params.parse().unwrap_or_default();
        let state: Option<String> = members.get("requestState").and_then(|state| state.parse().ok());
        let retried = state.and_then(|state| {
            self.calls.iter().find(|(_, call)| call.waiting.is_none() && call.state == state).map(|(call, _)| *call)
        });
        if let Some(call) = retried {
            return self.retried(now, call, slot, context, members.get("inputResponses"), host, backend);
        }
        self.set_level(now, &context, backend);
        let mut options = CallOptions::new().cache(CacheUse::Bypass);
        if let Some(token) = context.progress_token() {
            options = options.progress_token(token);
        }
        let made = Request::custom(&method, params)
            .map_err(Into::into)
            .and_then(|request| backend.call(now, request, options));
        match made {
            Ok(call) => {
                self.states += 1;
                let forward = Forward {
                    waiting: Some((slot, context)),
                    state: format!("call {}", self.states),
                    questions: BTreeMap::new(),
                    asked: Vec::new(),
                    outcome: None,
                    keys: 0,
                };
                self.calls.insert(call, forward);
            }
            Err(error) => done(host.reply(now, slot, Reply::Error(error.to_object()))),
        }
    }

    /// The level that the host wants for its request becomes the session's.
    fn set_level(&mut self, now: Now, context: &Context, backend: &mut Client) {
        let meta: Extra = context.meta().parse().unwrap_or_default();
        let level = meta.get("io.modelcontextprotocol/logLevel").and_then(|level| level.parse::<String>().ok());
        let level = level.and_then(|level| LoggingLevel::parse(&level));
        if let Some(level) = level.filter(|level| self.level != Some(*level)) {
            self.level = Some(level);
            done(backend.set_level(now, level).map(drop));
        }
    }

    fn listen(
        &mut self,
        now: Now,
        slot: ReplySlot,
        context: &Context,
        params: &Json,
        host: &mut Server,
        backend: &mut Client,
    ) {
        let Ok(ListenParams { notifications: filter, .. }) = params.parse() else {
            let error = ErrorObject::invalid_params("notifications must be a filter");
            return done(host.reply(now, slot, Reply::Error(error)));
        };
        let id = Json::from_value(context.request_id()).expect("an id is JSON");
        let written = Json::from_value(&filter).expect("a filter is JSON");
        let params = with_subscription(&object([("notifications".to_owned(), written)]), id.clone());
        done(host.notify(now, Method::SubscriptionsAcknowledged.as_str(), Some(&params)));
        for uri in filter.resource_subscriptions.iter().flatten() {
            done(backend.call(now, Request::subscribe(uri), CallOptions::new()).map(drop));
        }
        self.streams.insert(slot.id(), Stream { slot, id, filter });
    }

    /// The host comes back with answers.
    #[expect(clippy::too_many_arguments, reason = "a retry is made of this")]
    fn retried(
        &mut self,
        now: Now,
        call: CallId,
        slot: ReplySlot,
        context: Context,
        responses: Option<&Json>,
        host: &mut Server,
        backend: &mut Client,
    ) {
        let Some(forward) = self.calls.get_mut(&call) else { return };
        let responses: Extra = responses.and_then(|responses| responses.parse().ok()).unwrap_or_default();
        for key in std::mem::take(&mut forward.asked) {
            if let (Some(response), Some((question, _))) = (responses.get(&key), forward.questions.remove(&key)) {
                done(backend.reply(now, question, Ok(response.clone())));
            }
        }
        forward.waiting = Some((slot, context));
        self.settle(now, call, host);
    }

    /// Gives the host what there is: the outcome, or questions.
    fn settle(&mut self, now: Now, call: CallId, host: &mut Server) {
        let Some(forward) = self.calls.get_mut(&call) else { return };
        if forward.outcome.is_some() {
            let Some((slot, _)) = forward.waiting.take() else { return };
            if let Some(outcome) = self.calls.remove(&call).and_then(|forward| forward.outcome) {
                done(host.reply(now, slot, reply(outcome)));
            }
            return;
        }
        if forward.questions.is_empty() {
            return;
        }
        let Some((slot, _)) = forward.waiting.take() else { return };
        forward.asked = forward.questions.keys().cloned().collect();
        let requests = object(forward.questions.iter().map(|(key, (_, raw))| (key.clone(), raw.clone())));
        let text = |text: &str| Json::from(serde_json::Value::from(text));
        let result = object([
            ("resultType".to_owned(), text("input_required")),
            ("inputRequests".to_owned(), requests),
            ("requestState".to_owned(), text(&forward.state)),
        ]);
        done(host.reply(now, slot, Reply::Raw(result)));
    }

    fn host_event(&mut self, now: Now, event: server::Action, host: &mut Server, backend: &mut Client) {
        match event {
            server::Action::Invoke(invocation) => self.invoked(now, *invocation, host, backend),
            server::Action::Cancelled { slot, reason } => {
                if let Some(stream) = self.streams.remove(&slot) {
                    for uri in stream.filter.resource_subscriptions.iter().flatten() {
                        done(backend.call(now, Request::unsubscribe(uri), CallOptions::new()).map(drop));
                    }
                    return host.abandon(now, stream.slot);
                }
                let waits =
                    |forward: &Forward| forward.waiting.as_ref().is_some_and(|(waiting, _)| waiting.id() == slot);
                let Some(call) = self.calls.iter().find(|(_, forward)| waits(forward)).map(|(call, _)| *call) else {
                    return;
                };
                done(backend.cancel(now, call, reason.as_deref()));
                if let Some((slot, _)) = self.calls.remove(&call).and_then(|forward| forward.waiting) {
                    host.abandon(now, slot);
                }
            }
            server::Action::Notified(Notified::Custom { method, params }) => {
                done(backend.notify(now, &method, &params));
            }
            _ => {}
        }
    }

    fn backend_event(&mut self, now: Now, event: client::Action, host: &mut Server, backend: &mut Client) {
        match event {
            client::Action::Done { call, outcome } => {
                if let Some(forward) = self.calls.get_mut(&call) {
                    forward.outcome = Some(outcome);
                    self.settle(now, call, host);
                }
            }
            client::Action::Progress { call, progress } => self.progress(now, call, &progress.raw, host),
            client::Action::Invoke { slot, method, params } => self.asked(now, slot, &method, params, host, backend),
            client::Action::CancelledInvoke { slot, .. } => {
                for forward in self.calls.values_mut() {
                    let key = forward.questions.iter().find(|(_, (question, _))| question.id() == slot);
                    let Some(key) = key.map(|(key, _)| key.clone()) else { continue };
                    if let Some((question, _)) = forward.questions.remove(&key) {
                        done(backend.abandon(now, question));
                    }
                }
            }
            client::Action::Notified { method, params, .. } => self.notified(now, &method, &params, host),
            _ => {}
        }
    }

    /// Progress goes under the token of the request that waits now.
    fn progress(&self, now: Now, call: CallId, raw: &Json, host: &mut Server) {
        let waiting = self.calls.get(&call).and_then(|forward| forward.waiting.as_ref());
        let Some(token) = waiting.and_then(|(_, context)| context.progress_token()) else { return };
        let mut params: Extra = raw.parse().unwrap_or_default();
        params.insert("progressToken", Json::from_value(&token).expect("a token is JSON"));
        let params = Json::from_value(&params).expect("raw JSON is written as it is");
        done(host.notify(now, Method::Progress.as_str(), Some(&params)));
    }

    /// The backend asks something.
    fn asked(
        &mut self,
        now: Now,
        slot: ReplySlot,
        method: &str,
        params: Json,
        host: &mut Server,
        backend: &mut Client,
    ) {
        let mut members = vec![("method".to_owned(), Json::from(serde_json::Value::from(method)))];
        if params.get() != "{}" {
            members.push(("params".to_owned(), params));
        }
        let raw = object(members);
        let needs = raw.parse::<InputRequest>().map(|request| request.required_capabilities());
        let able = |context: &Context| needs.as_ref().is_ok_and(|needs| context.require_capabilities(needs).is_ok());
        let oldest = self.calls.iter_mut().find(|(_, forward)| {
            forward.waiting.as_ref().is_none_or(|(_, context)| able(context)) && forward.outcome.is_none()
        });
        let Some((call, forward)) = oldest else {
            return done(backend.reply(now, slot, Err(ErrorObject::method_not_found(method))));
        };
        forward.keys += 1;
        let (call, key) = (*call, format!("q{}", forward.keys));
        forward.questions.insert(key, (slot, raw));
        self.settle(now, call, host);
    }

    fn notified(&self, now: Now, method: &str, params: &Json, host: &mut Server) {
        #[derive(serde::Deserialize)]
        struct Updated {
            uri: String,
        }
        let uri = params.parse::<Updated>().map(|params| params.uri).ok();
        let wants = |filter: &SubscriptionFilter| match Method::parse(method) {
            Some(Method::ToolsListChanged) => Some(filter.tools_list_changed == Some(true)),
            Some(Method::PromptsListChanged) => Some(filter.prompts_list_changed == Some(true)),
            Some(Method::ResourcesListChanged) => Some(filter.resources_list_changed == Some(true)),
            Some(Method::ResourcesUpdated) => {
                Some(filter.resource_subscriptions.iter().flatten().any(|wanted| Some(wanted) == uri.as_ref()))
            }
            _ => None,
        };
        if wants(&SubscriptionFilter::new()).is_none() {
            return done(host.notify(now, method, Some(params)));
        }
        for stream in self.streams.values().filter(|stream| wants(&stream.filter) == Some(true)) {
            done(host.notify(now, method, Some(&with_subscription(params, stream.id.clone()))));
        }
    }
}

fn reply(outcome: Result<Answer, CallError>) -> Reply {
    match outcome {
        Ok(answer) => Reply::Raw(answer.json()),
        Err(CallError::Remote(error)) => Reply::Error(error),
        Err(error) => Reply::Error(ErrorObject::new(ErrorCode::INTERNAL_ERROR, error.to_string())),
    }
}

impl Bridge for ToLegacy {
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
