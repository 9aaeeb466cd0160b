//! The handlers beside the definition: which code answers which call.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mcp_sansio::json::Json;
use mcp_sansio::server::{BuildError, Call, Definition, List, Notified, ReadTarget, Reference};
use mcp_sansio::uri_template::Bindings;

use super::connection::Connection;
use super::context::Context;
use super::error::HandlerError;
use super::replay::HandlerResult;
use super::results::ReadRequest;
use crate::runtime::BoxFuture;

pub(super) type Handler<In> = Box<dyn Fn(In, Context) -> BoxFuture<'static, HandlerResult> + Send + Sync>;
pub(super) type NotificationHandler =
    Box<dyn Fn(Json, Connection) -> BoxFuture<'static, Result<(), HandlerError>> + Send + Sync>;
pub(super) type AnyNotification = Box<dyn Fn(Box<str>, Json, Connection) + Send + Sync>;

/// What a completion handler is asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The prompt or template that the argument belongs to.
    pub reference: Reference,
    /// The argument's name.
    pub argument: Box<str>,
    /// What the user has typed so far.
    pub value: Box<str>,
    /// Arguments that are filled in already: an object of strings.
    pub context: Json,
}

/// A request that is handed over whole.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RawRequest {
    /// The method.
    pub method: Box<str>,
    /// Its params as they came, `{}` if absent.
    pub params: Json,
}

/// What a handler of a whole list of tools or prompts is asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NamedCall {
    /// The name of the tool or prompt.
    pub name: Box<str>,
    /// An object.
    pub arguments: Json,
}

/// The resource that a legacy session subscribes to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SubscribeRequest {
    /// Its URI.
    pub uri: Box<str>,
}

/// Something that can be read.
pub(super) struct Readable {
    pub(super) mime_type: Option<Arc<str>>,
    pub(super) handler: Handler<ReadRequest>,
}

/// Definition and handlers, shared by every connection.
pub(super) struct Catalogue {
    pub(super) definition: Arc<Definition>,
    pub(super) data: Data,
    pub(super) handlers: Handlers,
}

#[derive(Default)]
pub(super) struct Handlers {
    pub(super) tools: Vec<Handler<Json>>,
    pub(super) any_tool: Option<Handler<NamedCall>>,
    pub(super) prompts: Vec<Handler<Json>>,
    pub(super) any_prompt: Option<Handler<NamedCall>>,
    /// `None` for resources that are only listed.
    pub(super) resources: Vec<Option<Readable>>,
    pub(super) templates: Vec<Readable>,
    pub(super) any_resource: Option<Handler<ReadRequest>>,
    pub(super) lists: BTreeMap<List, Handler<Option<Box<str>>>>,
    pub(super) completions: BTreeMap<CompletionKey, Handler<CompletionRequest>>,
    pub(super) any_completion: Option<Handler<CompletionRequest>>,
    pub(super) subscribe: Option<Handler<SubscribeRequest>>,
    pub(super) unsubscribe: Option<Handler<SubscribeRequest>>,
    pub(super) methods: BTreeMap<Box<str>, Handler<RawRequest>>,
    pub(super) any_method: Option<Handler<RawRequest>>,
    pub(super) notifications: BTreeMap<Box<str>, NotificationHandler>,
    pub(super) any_notification: Option<AnyNotification>,
    pub(super) initialized: Option<Box<dyn Fn(Connection) + Send + Sync>>,
    pub(super) roots_changed: Option<Box<dyn Fn(Connection) + Send + Sync>>,
}

/// An argument of a prompt or template.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CompletionKey {
    pub(super) template: bool,
    pub(super) name: Box<str>,
    pub(super) argument: Box<str>,
}

impl CompletionKey {
    /// Refuses a completion that nobody could ask for: most likely a name is misspelt.
    pub(super) fn check(&self, definition: &Definition) -> Result<(), BuildError> {
        let Self { template, name, argument } = self;
        let (is_there, what) = if *template {
            (definition.has_template_variable(name, argument), "resource template with this variable")
        } else {
            (definition.has_prompt_argument(name, argument), "prompt with this argument")
        };
        let text = || format!("a completion of {argument:?} of {name:?}: there is no {what}");
        if is_there { Ok(()) } else { Err(BuildError::Setting(text())) }
    }
}

impl Catalogue {
    /// Calls the code that answers `call`.
    pub(super) fn call(&self, call: Call, cx: Context) -> BoxFuture<'static, HandlerResult> {
        let handlers = &self.handlers;
        match call {
            Call::Tool { index: Some(index), arguments, .. } => run(handlers.tools.get(index), arguments, cx),
            Call::Tool { index: None, name, arguments } => {
                run(handlers.any_tool.as_ref(), NamedCall { name, arguments }, cx)
            }
            Call::Prompt { index: Some(index), arguments, .. } => run(handlers.prompts.get(index), arguments, cx),
            Call::Prompt { index: None, name, arguments } => {
                run(handlers.any_prompt.as_ref(), NamedCall { name, arguments }, cx)
            }
            Call::Read { target, uri } => self.read(target, uri, cx),
            Call::List { list, cursor } => run(handlers.lists.get(&list), cursor, cx),
            Call::Complete { reference, argument, value, context } => {
                let (template, name) = match &reference {
                    Reference::Prompt(_, name) => (false, name.clone()),
                    Reference::Template(_, name) => (true, name.clone()),
                };
                let key = CompletionKey { template, name, argument: argument.clone() };
                let handler = handlers.completions.get(&key).or(handlers.any_completion.as_ref());
                run(handler, CompletionRequest { reference, argument, value, context }, cx)
            }
            Call::Subscribe { uri } => run(handlers.subscribe.as_ref(), SubscribeRequest { uri }, cx),
            Call::Unsubscribe { uri } => run(handlers.unsubscribe.as_ref(), SubscribeRequest { uri }, cx),
            Call::Raw { method, params } => {
                let handler = handlers.methods.get(&method).or(handlers.any_method.as_ref());
                run(handler, RawRequest { method, params }, cx)
            }
            _ => missing(),
        }
    }

    fn read(&self, target: ReadTarget, uri: Box<str>, cx: Context) -> BoxFuture<'static, HandlerResult> {
        let handlers = &self.handlers;
        let (readable, bindings) = match target {
            ReadTarget::Resource(index) => (handlers.resources.get(index).and_then(Option::as_ref), Bindings::new()),
            ReadTarget::Template(index, bindings) => (handlers.templates.get(index), bindings),
            ReadTarget::Any => {
                let asked = ReadRequest { uri, mime_type: None, bindings: Bindings::new() };
                return run(handlers.any_resource.as_ref(), asked, cx);
            }
        };
        let Some(readable) = readable else { return missing() };
        run(Some(&readable.handler), ReadRequest { uri, mime_type: readable.mime_type.clone(), bindings }, cx)
    }

    /// Tells the application of a notification. What the handler still has to do is answered.
    pub(super) fn notified(
        &self,
        notified: Notified,
        connection: Connection,
    ) -> Option<BoxFuture<'static, Result<(), HandlerError>>> {
        let handlers = &self.handlers;
        match notified {
            Notified::Initialized => handlers.initialized.as_ref().map(|handler| handler(connection)),
            Notified::RootsListChanged => handlers.roots_changed.as_ref().map(|handler| handler(connection)),
            Notified::Custom { method, params } => {
                if let Some(handler) = handlers.notifications.get(&method) {
                    return Some(handler(params, connection));
                }
                handlers.any_notification.as_ref().map(|handler| handler(method, params, connection))
            }
            _ => None,
        };
        None
    }
}

fn run<In>(handler: Option<&Handler<In>>, input: In, cx: Context) -> BoxFuture<'static, HandlerResult> {
    handler.map_or_else(missing, |handler| handler(input, cx))
}

/// The definition offers nothing that has no handler, so this is a fault of the front.
fn missing() -> BoxFuture<'static, HandlerResult> {
    Box::pin(std::future::ready(Err(HandlerError::hidden("no handler is registered"))))
}

/// Application data by type.
#[derive(Clone, Default)]
pub(super) struct Data(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Data {
    pub(super) fn insert<T: Send + Sync + 'static>(&mut self, data: T) {
        self.0.insert(TypeId::of::<T>(), Arc::new(data));
    }

    pub(super) fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }
}
