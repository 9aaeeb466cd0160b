//! The application of a server under test: every handler hands what it is asked to a desk, and waits there for what to
//! answer.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as Polling, Poll, Waker};

use futures_util::future::{Either, select};
use mcp_sansio::diagnostic::Diagnostic;
use mcp_sansio::error::{Error, Misuse};
use mcp_sansio::ids::{CallId, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::limits::Limits;
use mcp_sansio::model::{CacheHints, CacheScope, Completion, Extra};
use mcp_sansio::server::request_state::SealKeys;
use mcp_sansio::server::{List, ListPage, Reference, Reply, RequestFailure};
use mcp_sansio::spec::{Method, Version};
use mcp_sansio::testing::player::ServerEvent;
use mcp_sansio_io::server::{
    BuiltServer, Cancelled, CompletionRequest, Connection, Context, HandlerError, IntoCompletion, IntoContents,
    IntoPrompt, IntoToolResult, NamedCall, RawRequest, ReadRequest, Request, Server, SubscribeRequest,
};
use mcp_sansio_io::{Report, Runtime};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::fixtures::{Hints, ServerFixture, list};

/// What a handler answers: a reply of the core, whatever the handler is for.
pub(super) struct Told(Result<Reply, HandlerError>);

impl IntoToolResult for Told {
    fn into_reply(self) -> Result<Reply, HandlerError> {
        self.0
    }
}

impl IntoPrompt for Told {
    fn into_reply(self) -> Result<Reply, HandlerError> {
        self.0
    }
}

impl IntoContents for Told {
    fn into_reply(self, _: &ReadRequest) -> Result<Reply, HandlerError> {
        self.0
    }
}

impl IntoCompletion for Told {
    fn into_completion(self) -> Result<Completion, HandlerError> {
        match self.0? {
            Reply::Completion(completion) => Ok(completion),
            other => Err(unfit(&other)),
        }
    }
}

impl Told {
    fn page(self) -> Result<ListPage, HandlerError> {
        match self.0? {
            Reply::List(page) => Ok(page),
            other => Err(unfit(&other)),
        }
    }

    fn raw(self) -> Result<Json, HandlerError> {
        match self.0? {
            Reply::Raw(json) => Ok(json),
            other => Err(unfit(&other)),
        }
    }

    fn agreed(self) -> Result<Option<Json>, HandlerError> {
        match self.0? {
            Reply::Empty { meta } => Ok(meta),
            other => Err(unfit(&other)),
        }
    }
}

/// The front does not let this handler answer like this.
fn unfit(reply: &Reply) -> HandlerError {
    HandlerError::hidden(format!("no answer to this: {reply:?}"))
}

/// Where handlers and the player meet.
#[derive(Default)]
pub(super) struct Desk(Mutex<Papers>);

#[derive(Default)]
pub(super) struct Papers {
    /// What came, in its order.
    came: VecDeque<(Origin, ServerEvent)>,
    /// Handlers that were told that nobody waits for them: those that hear of it at the same time hear of it on
    /// several threads, so that their order is none.
    cancelled: BTreeMap<SlotId, (Origin, Option<Box<str>>)>,
    /// The same for answers to requests.
    answered: BTreeMap<CallId, (Origin, Result<Json, RequestFailure>)>,
    /// The last word of a connection.
    closed: Option<(Origin, ServerEvent)>,
    pub(super) remarks: VecDeque<Diagnostic>,
    pub(super) invocations: Vec<Open>,
    /// Withdraws requests, for a reason or without.
    requests: Vec<Option<oneshot::Sender<Option<String>>>>,
}

/// Where something comes from.
#[derive(Clone)]
pub(super) enum Origin {
    Call(Context),
    Connection(Connection),
    Driver,
}

/// An invocation.
pub(super) struct Open {
    pub(super) context: Context,
    /// Answers it: `None` is a handler that is gone.
    answer: Option<oneshot::Sender<Option<Told>>>,
}

impl Desk {
    pub(super) fn papers(&self) -> MutexGuard<'_, Papers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next thing that came.
    pub(super) fn next(&self) -> Option<(Origin, ServerEvent)> {
        let mut papers = self.papers();
        if let Some(came) = papers.came.pop_front() {
            return Some(came);
        }
        if let Some((slot, (origin, reason))) = papers.cancelled.pop_first() {
            return Some((origin, ServerEvent::Cancelled { slot, reason }));
        }
        if let Some((call, (origin, outcome))) = papers.answered.pop_first() {
            return Some((origin, ServerEvent::Answered { call, outcome }));
        }
        papers.closed.take()
    }

    fn came(&self, origin: Origin, event: ServerEvent) {
        self.papers().came.push_back((origin, event));
    }

    pub(super) fn closed(&self, why: &'static str) {
        self.papers().closed = Some((Origin::Driver, ServerEvent::Closed(Some(why))));
    }

    /// What a handler does.
    async fn handle(self: Arc<Self>, mut call: Extra, context: Context) -> Told {
        circumstances(&mut call, &context);
        let (sender, receiver) = oneshot::channel();
        let slot = {
            let mut papers = self.papers();
            let slot = SlotId::from_u64(papers.invocations.len() as u64);
            papers.invocations.push(Open { context: context.clone(), answer: Some(sender) });
            papers.came.push_back((Origin::Call(context.clone()), ServerEvent::Invoked { slot, call }));
            slot
        };
        let answer = match select(pin!(receiver), context.cancelled()).await {
            Either::Left((answer, _)) => answer,
            Either::Right((why, receiver)) => {
                let reason = match why {
                    Cancelled::ByClient(reason) => reason.map(|reason| Box::from(&*reason)),
                    _ => None,
                };
                self.papers().cancelled.insert(slot, (Origin::Call(context), reason));
                // It may answer all the same.
                receiver.await
            }
        };
        match answer {
            Ok(Some(told)) => told,
            // The player is gone, or wants this handler to be.
            _ => std::panic::resume_unwind(Box::new("the handler is gone")),
        }
    }

    /// Answers an invocation; `None` is a handler that is gone.
    pub(super) fn answer(&self, slot: SlotId, reply: Option<Reply>) -> Result<(), Error> {
        let sender = self.papers().open(slot)?.answer.take().ok_or(Misuse::SlotNotOpen)?;
        let told = reply.map(|reply| {
            Told(match reply {
                Reply::Error(error) => Err(HandlerError::protocol(error)),
                Reply::Failed => Err(HandlerError::hidden("it fails because it was told to")),
                reply => Ok(reply),
            })
        });
        sender.send(told).map_err(|_| Misuse::SlotNotOpen.into())
    }

    /// The circumstances of an invocation.
    pub(super) fn context(&self, slot: SlotId) -> Result<Context, Error> {
        self.papers().open(slot).map(|open| open.context.clone())
    }

    /// Waits for the answer to a request, on a task of the runtime.
    pub(super) fn wait(self: &Arc<Self>, runtime: &dyn Runtime, origin: Origin, request: Request) -> CallId {
        let (withdraw, withdrawn) = oneshot::channel();
        let call = {
            let mut papers = self.papers();
            papers.requests.push(Some(withdraw));
            CallId::from_u64(papers.requests.len() as u64 - 1)
        };
        let desk = Arc::clone(self);
        runtime.spawn(Box::pin(async move {
            match select(request, withdrawn).await {
                Either::Left((outcome, _)) => drop(desk.papers().answered.insert(call, (origin, outcome))),
                Either::Right((Ok(Some(reason)), request)) => request.cancel(&reason),
                // It is withdrawn with what waits for it.
                Either::Right(_) => {}
            }
        }));
        call
    }

    /// Wants the answer to a request no more.
    pub(super) fn withdraw(&self, call: CallId, reason: Option<&str>) -> Result<(), Error> {
        let place = usize::try_from(call.to_u64()).unwrap_or(usize::MAX);
        let withdraw = self.papers().requests.get_mut(place).and_then(Option::take).ok_or(Misuse::CallNotOpen)?;
        withdraw.send(reason.map(str::to_owned)).map_err(|_| Misuse::CallNotOpen.into())
    }
}

impl Papers {
    fn open(&mut self, slot: SlotId) -> Result<&mut Open, Error> {
        let place = usize::try_from(slot.to_u64()).unwrap_or(usize::MAX);
        self.invocations.get_mut(place).ok_or_else(|| Misuse::SlotNotOpen.into())
    }
}

/// What a verb of a context says, which it does at its first poll; it then lets others run once.
pub(super) fn said<T>(verb: impl Future<Output = T>) -> T {
    let mut verb = pin!(verb);
    loop {
        if let Poll::Ready(said) = verb.as_mut().poll(&mut Polling::from_waker(Waker::noop())) {
            return said;
        }
    }
}

fn text(text: &str) -> Json {
    Json::from(Value::from(text))
}

fn described<const N: usize>(call: &'static str, members: [(&'static str, Json); N]) -> Extra {
    let mut all = Extra::new();
    for (name, value) in [("call", text(call))].into_iter().chain(members) {
        all.insert(name, value);
    }
    all
}

/// Adds what a context says.
fn circumstances(call: &mut Extra, context: &Context) {
    call.insert("version", text(context.version().as_str()));
    call.insert("round", Json::from(Value::from(context.round())));
    call.insert("state", context.state().map_or(Json::NULL, text));
    call.insert("memo", context.memo().cloned().unwrap_or(Json::NULL));
    let inputs = context.inputs().map(|(key, answer)| {
        let answer = match answer {
            Ok(result) => json!({"result": result}),
            Err(error) => json!({"error": error}),
        };
        (key.to_owned(), answer)
    });
    call.insert("input", Json::from(Value::Object(inputs.collect::<Map<_, _>>())));
}

impl ServerFixture {
    /// The server of a fixture, with handlers that ask at a desk.
    pub(super) fn server(self, desk: &Arc<Desk>) -> BuiltServer {
        let mut server = Server::new(self.name.clone(), self.version.clone());
        if let Some(text) = &self.instructions {
            server = server.instructions(text.clone());
        }
        server = self.settings(server);
        server = self.hands_over(server, desk);
        server = self.offers(server, desk);
        server = hears(server, desk);
        server.build().unwrap_or_else(|error| panic!("the fixture makes no server: {error}"))
    }

    fn settings(&self, mut server: Server) -> Server {
        if let Some(names) = &self.versions {
            let versions: Vec<_> =
                names.iter().map(|name| Version::parse(name).expect("a fixture names revisions")).collect();
            server = server.versions(&versions);
        }
        server = match self.seal_key {
            Some(byte) => server.seal(SealKeys::new([byte; 32])),
            None => server.unsealed(),
        };
        for (name, hints) in self.cache.iter() {
            server = cached(server, name, &hints.parse().expect("a fixture has caching hints"));
        }
        for (id, settings) in self.extensions.iter() {
            server = server.extension(id, settings.clone());
        }
        type Switch = fn(Server) -> Server;
        let switches: [(bool, Switch); 3] = [
            (self.logging, Server::logging),
            (self.subscriptions, Server::subscriptions),
            (self.list_changed, Server::list_changed),
        ];
        server = switches.into_iter().filter(|(on, _)| *on).fold(server, |server, (_, switch)| switch(server));
        let mut limits = Limits::server();
        self.limits.apply(&mut limits);
        server
            .page_size(self.page_size.unwrap_or(50))
            .send_identity(self.send_identity.unwrap_or(true))
            .legacy_input(self.legacy_input.unwrap_or(true))
            .limits(limits)
    }

    /// What comes as it is.
    fn hands_over(&self, mut server: Server, desk: &Arc<Desk>) -> Server {
        for name in self.methods.clone() {
            let (desk, method) = (Arc::clone(desk), text(&name));
            server = server.method(name, move |params: Json, cx| {
                let told =
                    Arc::clone(&desk).handle(described("raw", [("method", method.clone()), ("params", params)]), cx);
                async { told.await.raw() }
            });
        }
        let raw = || {
            let desk = Arc::clone(desk);
            move |asked: RawRequest, cx| {
                let members = [("method", text(&asked.method)), ("params", asked.params)];
                let told = Arc::clone(&desk).handle(described("raw", members), cx);
                async { told.await.raw() }
            }
        };
        for name in &self.hand_over {
            server = server.hand_over(Method::parse(name).expect("a fixture hands methods over"), raw());
        }
        for name in self.notifications.clone() {
            let (desk, method) = (Arc::clone(desk), Box::<str>::from(&*name));
            server = server.notification(name, move |params, connection| {
                desk.came(Origin::Connection(connection), ServerEvent::Notified { method: method.clone(), params });
                async { Ok(()) }
            });
        }
        if self.hand_over_unknown {
            let desk = Arc::clone(desk);
            server = server.hand_over_unknown(raw(), move |method, params, connection| {
                desk.came(Origin::Connection(connection), ServerEvent::Notified { method, params });
            });
        }
        server
    }

    fn offers(self, mut server: Server, desk: &Arc<Desk>) -> Server {
        for tool in self.tools {
            let (desk, name) = (Arc::clone(desk), text(&tool.name));
            server = server.tool(tool, move |arguments: Json, cx| {
                Arc::clone(&desk).handle(described("tool", [("name", name.clone()), ("arguments", arguments)]), cx)
            });
        }
        for prompt in self.prompts {
            let (desk, name) = (Arc::clone(desk), text(&prompt.name));
            server = server.prompt(prompt, move |arguments: Json, cx| {
                Arc::clone(&desk).handle(described("prompt", [("name", name.clone()), ("arguments", arguments)]), cx)
            });
        }
        let read = |desk: &Arc<Desk>| {
            let desk = Arc::clone(desk);
            move |asked: ReadRequest, cx| Arc::clone(&desk).handle(described("read", [("uri", text(&asked.uri))]), cx)
        };
        server = self.resources.into_iter().fold(server, |server, resource| server.resource(resource, read(desk)));
        server = self.templates.into_iter().fold(server, |server, template| server.template(template, read(desk)));
        if self.read_any {
            server = server.read_any(read(desk));
        }
        for name in &self.dynamic {
            server = lists(server, list(name), desk);
        }
        if self.completions {
            let desk = Arc::clone(desk);
            server = server.complete_any(move |asked, cx| Arc::clone(&desk).handle(completes(asked), cx));
        }
        if self.ask_subscriptions {
            let agree = |call: &'static str| {
                let desk = Arc::clone(desk);
                move |asked: SubscribeRequest, cx| {
                    let told = Arc::clone(&desk).handle(described(call, [("uri", text(&asked.uri))]), cx);
                    async { told.await.agreed() }
                }
            };
            server = server.on_subscribe(agree("subscribe")).on_unsubscribe(agree("unsubscribe"));
        }
        server
    }
}

fn completes(asked: CompletionRequest) -> Extra {
    let reference = match &asked.reference {
        Reference::Prompt(_, name) => json!({"type": "ref/prompt", "name": name}),
        Reference::Template(_, uri) => json!({"type": "ref/resource", "uri": uri}),
    };
    let members = [
        ("ref", Json::from(reference)),
        ("argument", text(&asked.argument)),
        ("value", text(&asked.value)),
        ("context", asked.context),
    ];
    described("complete", members)
}

/// A list that the application answers, and what is on it.
fn lists(server: Server, list: List, desk: &Arc<Desk>) -> Server {
    let page = {
        let desk = Arc::clone(desk);
        move |cursor: Option<Box<str>>, cx| {
            let members = [("list", text(list.name())), ("cursor", cursor.as_deref().map_or(Json::NULL, text))];
            let told = Arc::clone(&desk).handle(described("list", members), cx);
            async { told.await.page() }
        }
    };
    let named = |call: &'static str| {
        let desk = Arc::clone(desk);
        move |asked: NamedCall, cx| {
            let members = [("name", text(&asked.name)), ("arguments", asked.arguments)];
            Arc::clone(&desk).handle(described(call, members), cx)
        }
    };
    match list {
        List::Tools => server.dynamic_tools(page, named("tool")),
        List::Prompts => server.dynamic_prompts(page, named("prompt")),
        List::Resources => server.dynamic_resources(page),
        List::Templates => server.dynamic_templates(page),
    }
}

/// What the server hears beside calls.
fn hears(server: Server, desk: &Arc<Desk>) -> Server {
    let plain = |method: Method| {
        let desk = Arc::clone(desk);
        move |connection| {
            let event = ServerEvent::Notified { method: method.as_str().into(), params: Json::EMPTY_OBJECT };
            desk.came(Origin::Connection(connection), event);
        }
    };
    let remarks = Arc::clone(desk);
    server.on_initialized(plain(Method::Initialized)).on_roots_changed(plain(Method::RootsListChanged)).error_reporter(
        move |report| {
            if let Report::Diagnostic(remark) = report {
                remarks.papers().remarks.push_back((*remark).clone());
            }
        },
    )
}

fn cached(server: Server, name: &str, hints: &Hints) -> Server {
    let hints = match CacheScope::from_wire(&hints.cache_scope) {
        CacheScope::Public => CacheHints::public(hints.ttl_ms),
        _ => CacheHints::private(hints.ttl_ms),
    };
    match name {
        "discover" => server.cache_discover(hints),
        "read" => server.cache_reads(hints),
        name => server.cache(list(name), hints),
    }
}
