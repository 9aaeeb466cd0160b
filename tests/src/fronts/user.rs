//! The application of a client under test: handlers that hand what they are asked to the player and wait for what to
//! answer, and tasks that await calls, streams and the connection.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use mcp_sansio::client::{Answer, CallOptions, InputAnswer, InputId, List, Request, ServerFacts, Timeouts};
use mcp_sansio::diagnostic::Diagnostic;
use mcp_sansio::error::{Error, ErrorObject, Misuse};
use mcp_sansio::http::client::{FetchId, Unauthorized};
use mcp_sansio::ids::{CallId, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::limits::Limits;
use mcp_sansio::machine::Now;
use mcp_sansio::model::{LoggingLevel, SubscriptionFilter};
use mcp_sansio::spec::Method;
use mcp_sansio::testing::player::{ClientEvent, ClientVerbs, Reason};
use mcp_sansio_io::client::{
    Asked, Call, Client, ClientBuilder, ClientError, Connecting, ConnectionError, Listening, Notification, Prepared,
    StartListening,
};
use mcp_sansio_io::server::HandlerError;
use mcp_sansio_io::{BoxFuture, Report};
use tokio::sync::oneshot;

use super::lab::Lab;
use crate::fixtures::ClientFixture;

/// Where handlers, tasks and the player meet.
#[derive(Default)]
pub(super) struct Notes(Mutex<Papers>);

#[derive(Default)]
pub(super) struct Papers {
    /// What came; between two that came from different tasks there is no order.
    came: VecDeque<ClientEvent>,
    pub(super) remarks: VecDeque<Diagnostic>,
    /// The last word.
    closed: Option<&'static str>,
    /// Why no connection came about, as the one is told who waits for it.
    refused: Option<&'static str>,
    /// What everybody hears, and what each stream hears.
    notified: VecDeque<Notification>,
    streams: BTreeMap<CallId, VecDeque<Notification>>,
    /// How often each stream was seen to be open.
    opened: BTreeMap<CallId, u64>,
    questions: BTreeMap<InputId, oneshot::Sender<InputAnswer>>,
    /// Requests over HTTP that wait for credentials.
    pub(super) unauthorized: VecDeque<Unauthorized>,
    credentials: BTreeMap<FetchId, oneshot::Sender<Option<Bytes>>>,
    requests: BTreeMap<SlotId, oneshot::Sender<Result<Json, ErrorObject>>>,
    named: u64,
    /// What no front may do.
    wrong: Option<String>,
}

impl Notes {
    pub(super) fn papers(&self) -> MutexGuard<'_, Papers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn came(&self, event: ClientEvent) {
        self.papers().came.push_back(event);
    }

    /// The handler of a question.
    fn ask(self: &Arc<Self>, method: Method, asked: Asked) -> BoxFuture<'static, Result<InputAnswer, HandlerError>> {
        let Asked { input, call, key, raw, .. } = asked;
        let (sender, answer) = oneshot::channel();
        self.papers().questions.insert(input, sender);
        self.came(ClientEvent::NeedInput { input, call, key, method: method.as_str().to_owned(), params: raw });
        let gone = Gone { notes: Arc::clone(self), what: Some(What::Question(input)) };
        Box::pin(async move {
            let answer = answer.await;
            gone.over();
            answer.map_err(|_| HandlerError::hidden("the player has gone"))
        })
    }

    /// The handler of a request of the server.
    fn invoke(self: &Arc<Self>, method: String, params: Json) -> BoxFuture<'static, Result<Json, HandlerError>> {
        let (sender, reply) = oneshot::channel();
        let slot = {
            let mut papers = self.papers();
            papers.named += 1;
            let slot = SlotId::from_u64(papers.named);
            papers.requests.insert(slot, sender);
            slot
        };
        self.came(ClientEvent::Invoke { slot, method, params });
        let gone = Gone { notes: Arc::clone(self), what: Some(What::Request(slot)) };
        Box::pin(async move {
            let reply = reply.await;
            gone.over();
            reply.map_err(|_| HandlerError::hidden("the player has gone"))?.map_err(HandlerError::protocol)
        })
    }

    /// The handler that gets credentials.
    pub(super) async fn credentials(self: Arc<Self>, asked: Unauthorized) -> Option<Bytes> {
        let (sender, answer) = oneshot::channel();
        {
            let mut papers = self.papers();
            papers.credentials.insert(asked.fetch, sender);
            papers.unauthorized.push_back(asked);
        }
        answer.await.ok().flatten()
    }

    /// Gives that handler what it answers.
    pub(super) fn authorize(&self, fetch: FetchId, credentials: Option<Bytes>) -> Result<(), Error> {
        let handler = self.papers().credentials.remove(&fetch).ok_or(Misuse::SlotNotOpen)?;
        handler.send(credentials).map_err(|_| Misuse::SlotNotOpen.into())
    }

    fn report(&self, report: &Report<'_>) {
        let mut papers = self.papers();
        match report {
            Report::Diagnostic(remark) => papers.remarks.push_back((*remark).clone()),
            other => papers.wrong = Some(format!("it reports: {other}")),
        }
    }
}

/// Tells that a handler was dropped before it was done.
struct Gone {
    notes: Arc<Notes>,
    what: Option<What>,
}

enum What {
    Question(InputId),
    Request(SlotId),
}

impl Gone {
    /// It is done.
    fn over(mut self) {
        self.what = None;
    }
}

impl Drop for Gone {
    fn drop(&mut self) {
        let reason = Reason::Hidden;
        match self.what.take() {
            Some(What::Question(input)) => self.notes.came(ClientEvent::CancelledInput { input, reason }),
            Some(What::Request(slot)) => self.notes.came(ClientEvent::CancelledInvoke { slot, reason }),
            None => {}
        }
    }
}

impl ClientFixture {
    /// The client of a fixture, with handlers for all that it declares.
    pub(super) fn user(self, pinned: Option<&str>, notes: &Arc<Notes>) -> ClientBuilder {
        let ask = |method: Method| {
            let notes = Arc::clone(notes);
            move |asked: Asked| notes.ask(method, asked)
        };
        let (form, url) = (ask(Method::ElicitationCreate), ask(Method::ElicitationCreate));
        let (sample, any) = (ask(Method::SamplingCreateMessage), Arc::clone(notes));
        let reporter = Arc::clone(notes);
        let methods = self.server_methods.clone();
        let declared = self.capabilities.clone().unwrap_or_default();
        let mut builder = self
            .settings(pinned)
            .error_reporter(move |report| reporter.report(report))
            .on_form(move |_, asked| form(asked))
            .on_url(move |_, asked| url(asked))
            .on_sample(move |_, asked| sample(asked))
            .on_question(move |request, asked| {
                any.ask(request.method().expect("the machine asks for what it knows"), asked)
            })
            .capabilities(|_| declared);
        for method in methods {
            let notes = Arc::clone(notes);
            builder = builder.on_request(method.clone(), move |params| notes.invoke(method.clone(), params));
        }
        builder
    }
}

impl ClientFixture {
    /// Everything but what it answers.
    fn settings(self, pinned: Option<&str>) -> ClientBuilder {
        let mode = self.connect(pinned);
        let mut limits = Limits::default();
        self.limits.apply(&mut limits);
        let mut builder = Client::builder(self.name, self.version)
            .mode(mode)
            .apply_defaults(self.apply_defaults)
            .send_client_info(self.send_client_info.unwrap_or(true))
            .strict_capabilities(self.strict_capabilities.unwrap_or(false))
            .validate_output(self.validate_output.unwrap_or(true))
            .cache(self.cache.unwrap_or(true))
            .limits(limits);
        builder = self.result_types.into_iter().fold(builder, ClientBuilder::result_type);
        if let Some(name) = self.log_level {
            builder = builder.log_level(LoggingLevel::parse(&name).expect("a fixture names a level"));
        }
        if let Some(meta) = self.meta {
            builder = builder.meta(meta);
        }
        if let Some(millis) = self.probe_ms {
            builder = builder.timeouts(Timeouts::default().probe(Duration::from_millis(millis)));
        }
        builder
    }
}

/// The application.
pub(super) struct User {
    lab: Arc<Lab>,
    pub(super) notes: Arc<Notes>,
    pub(super) client: Client,
    /// What waits for `connect`.
    start: Option<(Connecting, BoxFuture<'static, ()>)>,
    /// The server as it was seen last.
    facts: Option<Arc<ServerFacts>>,
    streams: BTreeMap<CallId, Arc<Mutex<Option<Listening>>>>,
}

impl User {
    /// The application of a connection, whose driver does not run yet.
    pub(super) fn new(
        lab: &Arc<Lab>,
        notes: Arc<Notes>,
        connecting: Connecting,
        driver: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        let client = connecting.client().expect("nobody has awaited it");
        let start: Option<(Connecting, BoxFuture<'static, ()>)> = Some((connecting, Box::pin(driver)));
        let user = Self { lab: Arc::clone(lab), notes, client, start, facts: None, streams: BTreeMap::new() };
        let (notes, mut notifications) = (Arc::clone(&user.notes), user.client.notifications());
        user.spawn(async move {
            while let Some(notification) = notifications.next().await {
                notes.papers().notified.push_back(notification);
            }
        });
        user
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.lab.runtime().spawn(Box::pin(task));
    }

    /// The next thing that the application hears, when all is at rest.
    pub(super) fn next(&mut self) -> Result<Option<ClientEvent>, String> {
        let mut papers = self.notes.papers();
        if let Some(wrong) = papers.wrong.take() {
            return Err(wrong);
        }
        if let Some(event) = papers.came.pop_front() {
            if let ClientEvent::Connected(_) = event {
                self.facts = self.client.server();
            }
            return Ok(Some(event));
        }
        if let Some(facts) = self.facts.as_mut()
            && let Some(now) = self.client.server()
            && !Arc::ptr_eq(facts, &now)
        {
            let version = now.version;
            *facts = now;
            return Ok(Some(ClientEvent::Renewed(version)));
        }
        if let Some(notification) = papers.notified.pop_front() {
            return papers.belongs(notification).map(Some);
        }
        if let Some((call, _)) = papers.streams.iter().find(|(_, items)| !items.is_empty()) {
            return Err(format!("only the stream {call:?} has heard of a notification"));
        }
        drop(papers);
        if let Some(event) = self.reopened() {
            return Ok(Some(event));
        }
        self.over()
    }

    /// A stream that was opened anew.
    fn reopened(&self) -> Option<ClientEvent> {
        self.streams.iter().find_map(|(call, stream)| {
            let stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
            let stream = stream.as_ref()?;
            let mut papers = self.notes.papers();
            let seen = papers.opened.entry(*call).or_default();
            if stream.opened() <= *seen {
                return None;
            }
            *seen += 1;
            Some(ClientEvent::Listening { call: *call, filter: stream.filter().clone() })
        })
    }

    /// The end, once.
    fn over(&self) -> Result<Option<ClientEvent>, String> {
        let Some(closed) = self.client.closed() else { return Ok(None) };
        let mut papers = self.notes.papers();
        if papers.closed.is_some() {
            return Ok(None);
        }
        papers.closed = Some(closed.name());
        if self.facts.is_none() && papers.refused != papers.closed {
            return Err(format!("{closed:?}, but whoever waited to be connected heard of {:?}", papers.refused));
        }
        Ok(Some(ClientEvent::Closed(closed.name())))
    }

    /// Awaits a call.
    fn send(&self, prepared: Prepared<Answer>, options: CallOptions) -> Result<CallId, Error> {
        let (prepared, mut progress) = prepared.progress_stream();
        let call: Call<Answer> = prepared.options(options).send().map_err(refusal)?;
        let id = call.id();
        let notes = Arc::clone(&self.notes);
        self.spawn(async move {
            while let Some(progress) = progress.next().await {
                notes.came(ClientEvent::Progress { call: id, raw: progress.raw });
            }
        });
        let notes = Arc::clone(&self.notes);
        self.spawn(async move {
            match call.await {
                Ok(answer) => notes.came(ClientEvent::Done { call: id, outcome: Ok(Some(answer)) }),
                Err(ClientError::Call(error)) => notes.came(ClientEvent::Done { call: id, outcome: Err(error) }),
                Err(other) => notes.papers().wrong = Some(format!("a call that was made: {other}")),
            }
        });
        Ok(id)
    }
}

impl Papers {
    /// A notification, and the stream that has heard of it too.
    fn belongs(&mut self, notification: Notification) -> Result<ClientEvent, String> {
        let same = |other: &Notification| Arc::ptr_eq(&other.method, &notification.method);
        let stream = self.streams.iter_mut().find(|(_, items)| items.front().is_some_and(same));
        let subscription = stream.map(|(call, items)| {
            items.pop_front();
            *call
        });
        let method = notification.method.to_string();
        Ok(ClientEvent::Notified { method, params: notification.params, subscription })
    }
}

/// What a call that could not be made was refused with.
fn refusal(error: ClientError) -> Error {
    match error {
        ClientError::NotMade(error) => error,
        _ => Misuse::WrongState("a call that was made has failed at once").into(),
    }
}

/// How the one who waits for a connection hears that there is none, by the names of files.
fn refused(error: &ConnectionError) -> &'static str {
    match error {
        ConnectionError::Refused(_) => "not_connected",
        ConnectionError::Failed(_) => "failed",
        ConnectionError::Closed => "end_of_input",
        ConnectionError::GivenUp => "requested",
        _ => "stream",
    }
}

/// How a stream goes: opened, heard, ended.
async fn listen(
    start: StartListening,
    call: CallId,
    notes: Arc<Notes>,
    place: Arc<Mutex<Option<Listening>>>,
) -> Result<(), ClientError> {
    let stream = start.await?;
    if stream.opened() > 0 {
        notes.papers().opened.insert(call, 1);
        notes.came(ClientEvent::Listening { call, filter: stream.filter().clone() });
    }
    let lock = || place.lock().unwrap_or_else(PoisonError::into_inner);
    *lock() = Some(stream);
    // The player looks at the stream in between.
    loop {
        let next = std::future::poll_fn(|cx| match &mut *lock() {
            Some(stream) => futures_util::StreamExt::poll_next_unpin(stream, cx),
            None => std::task::Poll::Ready(None),
        });
        let Some(notification) = next.await else { break };
        notes.papers().streams.entry(call).or_default().push_back(notification);
    }
    let Some(mut stream) = lock().take() else { return Ok(()) };
    Ok(stream.ended().await?)
}

impl ClientVerbs for User {
    fn connect(&mut self, _now: Now) -> Result<(), Error> {
        let Some((connecting, driver)) = self.start.take() else {
            return Err(Misuse::WrongState("it is connected").into());
        };
        self.lab.runtime().spawn(driver);
        let notes = Arc::clone(&self.notes);
        self.spawn(async move {
            match connecting.await {
                Ok(client) => notes.came(ClientEvent::Connected(client.version().expect("it is connected"))),
                Err(error) => notes.papers().refused = Some(refused(&error)),
            }
        });
        Ok(())
    }

    fn call(&mut self, _now: Now, request: Request, options: CallOptions) -> Result<CallId, Error> {
        self.send(self.client.call(request), options)
    }

    fn walk(&mut self, _now: Now, list: List, options: CallOptions) -> Result<CallId, Error> {
        let client = &self.client;
        let prepared = match list {
            List::Tools => client.tools().answer_as(),
            List::Prompts => client.prompts().answer_as(),
            List::Resources => client.resources().answer_as(),
            List::Templates => client.templates().answer_as(),
        };
        self.send(prepared, options)
    }

    fn listen(&mut self, _now: Now, filter: &SubscriptionFilter) -> Result<CallId, Error> {
        let start = self.client.listen(filter);
        let Some(call) = start.id() else {
            return Err(Misuse::WrongState("the front cannot listen").into());
        };
        let place = Arc::default();
        self.streams.insert(call, Arc::clone(&place));
        let notes = Arc::clone(&self.notes);
        self.spawn(async move {
            match listen(start, call, Arc::clone(&notes), place).await {
                Ok(()) => notes.came(ClientEvent::Done { call, outcome: Ok(None) }),
                Err(ClientError::Call(error)) => notes.came(ClientEvent::Done { call, outcome: Err(error) }),
                Err(other) => notes.papers().wrong = Some(format!("a stream that was asked for: {other}")),
            }
        });
        Ok(call)
    }

    fn set_level(&mut self, _now: Now, level: LoggingLevel) -> Result<CallId, Error> {
        self.send(self.client.set_level(level).answer_as(), CallOptions::new())
    }

    fn cancel(&mut self, _now: Now, call: CallId, reason: Option<&str>) -> Result<(), Error> {
        self.client.cancel(call, reason)
    }

    fn supply(&mut self, _now: Now, input: InputId, answer: InputAnswer, wrong: bool) -> Result<(), Error> {
        if wrong {
            // A handler has one answer: to try one that may not fit, there is the verb.
            return self.client.supply_input(input, &answer);
        }
        let handler = self.notes.papers().questions.remove(&input).ok_or(Misuse::SlotNotOpen)?;
        handler.send(answer).map_err(|_| Misuse::SlotNotOpen.into())
    }

    fn reply(&mut self, _now: Now, slot: SlotId, reply: Result<Json, ErrorObject>) -> Result<(), Error> {
        let handler = self.notes.papers().requests.remove(&slot).ok_or(Misuse::SlotNotOpen)?;
        // A handler that the front has dropped answers nobody.
        let _ = handler.send(reply);
        Ok(())
    }

    fn notify(&mut self, _now: Now, method: &str, params: &Json) -> Result<(), Error> {
        self.client.notify(method, params)
    }

    fn roots_changed(&mut self, _now: Now) -> Result<(), Error> {
        self.client.roots_changed()
    }
}
