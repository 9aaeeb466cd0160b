//! Makes a server: what it offers, and the code behind it.

use std::future::Future;
use std::sync::Arc;

use mcp_sansio::json::Json;
use mcp_sansio::limits::Limits;
use mcp_sansio::model::{CacheHints, Icon, LoggingLevel, Prompt, PromptArgument, Resource, ResourceTemplate, Tool};
use mcp_sansio::schema::SchemaLimits;
use mcp_sansio::server::request_state::{SealKeys, TokenId};
use mcp_sansio::server::{BuildError, Definition, DefinitionBuilder, List, ListPage, Reply};
use mcp_sansio::spec::{Method, Version};

use super::BuiltServer;
use super::arguments::Arguments;
use super::catalogue::{
    Catalogue, CompletionKey, CompletionRequest, Data, Handler, Handlers, NamedCall, RawRequest, Readable,
    SubscribeRequest,
};
use super::connection::Connection;
use super::context::Context;
use super::error::HandlerError;
use super::replay::HandlerResult;
use super::results::{IntoCompletion, IntoContents, IntoPrompt, IntoToolResult, ReadRequest};
use super::shared::Shared;
use crate::report::{CallEvent, Hooks, Report};
use crate::runtime::BoxFuture;

/// A server in the making. See the [module](super).
#[must_use]
pub struct Server {
    definition: DefinitionBuilder,
    handlers: Handlers,
    data: Data,
    hooks: Hooks,
    sealed: bool,
    always_spawn: bool,
    /// The first thing that cannot be, found before everything is there.
    wrong: Option<BuildError>,
}

impl Server {
    /// A server with this name and version that offers nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            definition: Definition::builder(name, version),
            handlers: Handlers::default(),
            data: Data::default(),
            hooks: Hooks::default(),
            sealed: false,
            always_spawn: false,
            wrong: None,
        }
    }

    fn define(mut self, change: impl FnOnce(DefinitionBuilder) -> DefinitionBuilder) -> Self {
        self.definition = change(self.definition);
        self
    }

    /// Checks everything. What the specification only advises against goes to the error reporter.
    ///
    /// # Errors
    /// [`BuildError`]: names that stand twice, schemas and templates that cannot be used, completions of what is not
    /// there, settings that cannot hold.
    pub fn build(self) -> Result<BuiltServer, BuildError> {
        let (hooks, always_spawn) = (self.hooks.clone(), self.always_spawn);
        let catalogue = self.into_catalogue()?;
        for advice in catalogue.definition.advice() {
            hooks.report(&Report::Diagnostic(&advice));
        }
        Ok(BuiltServer(Arc::new(Shared::new(Arc::new(catalogue), hooks, always_spawn))))
    }

    pub(super) fn into_catalogue(mut self) -> Result<Catalogue, BuildError> {
        if !self.sealed {
            let key = crate::random::process_key().map_err(|error| BuildError::Setting(error.to_string()))?;
            self.definition = self.definition.seal(SealKeys::new(key));
        }
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let definition = Arc::new(self.definition.build()?);
        for key in self.handlers.completions.keys() {
            key.check(&definition)?;
        }
        Ok(Catalogue { definition, data: self.data, handlers: self.handlers })
    }
}

/// Tools, prompts, resources.
impl Server {
    /// Adds a tool. The schema of its arguments is derived from the handler's argument, unless `tool` has one.
    pub fn tool<A, M, F, Fut>(mut self, mut tool: Tool, handler: F) -> Self
    where
        A: Arguments<M>,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoToolResult,
    {
        if tool.input_schema == Tool::new("").input_schema
            && let Some(schema) = A::schema()
        {
            tool.input_schema = schema;
        }
        self.handlers.tools.push(typed(handler, IntoToolResult::into_reply));
        self.define(|definition| definition.tool(tool))
    }

    /// Answers the list of tools, and calls of tools, by code: for each request anew.
    pub fn dynamic_tools<L, LFut, F, Fut>(mut self, list: L, call: F) -> Self
    where
        L: Fn(Option<Box<str>>, Context) -> LFut + Send + Sync + 'static,
        LFut: Future<Output = Result<ListPage, HandlerError>> + Send + 'static,
        F: Fn(NamedCall, Context) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoToolResult,
    {
        self.handlers.any_tool = Some(plain(call, IntoToolResult::into_reply));
        self.dynamic_list(List::Tools, list)
    }

    /// Adds a prompt. If `prompt` names no arguments, they are derived from the handler's argument, whose members are
    /// strings then: the arguments of a prompt are nothing else.
    pub fn prompt<A, M, F, Fut>(mut self, mut prompt: Prompt, handler: F) -> Self
    where
        A: Arguments<M>,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoPrompt,
    {
        if prompt.arguments.is_none() {
            match A::schema().map(|schema| prompt_arguments(&schema)) {
                Some(Ok(arguments)) => prompt.arguments = arguments,
                Some(Err(name)) => {
                    let text = format!("the prompt {:?}: its argument {name:?} is no string", prompt.name);
                    self.wrong.get_or_insert(BuildError::Setting(text));
                }
                None => {}
            }
        }
        self.handlers.prompts.push(typed(handler, IntoPrompt::into_reply));
        self.define(|definition| definition.prompt(prompt))
    }

    /// Answers the list of prompts, and each prompt, by code.
    pub fn dynamic_prompts<L, LFut, F, Fut>(mut self, list: L, get: F) -> Self
    where
        L: Fn(Option<Box<str>>, Context) -> LFut + Send + Sync + 'static,
        LFut: Future<Output = Result<ListPage, HandlerError>> + Send + 'static,
        F: Fn(NamedCall, Context) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoPrompt,
    {
        self.handlers.any_prompt = Some(plain(get, IntoPrompt::into_reply));
        self.dynamic_list(List::Prompts, list)
    }

    /// Adds a resource.
    pub fn resource<F, Fut>(mut self, resource: Resource, handler: F) -> Self
    where
        F: Fn(ReadRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoContents,
    {
        let mime_type = resource.mime_type.as_deref().map(Arc::from);
        self.handlers.resources.push(Some(Readable { mime_type, handler: reader(handler) }));
        self.define(|definition| definition.resource(resource))
    }

    /// Adds a resource that is listed, and read through a template or [`Server::read_any`], if at all.
    pub fn list_only_resource(mut self, resource: Resource) -> Self {
        self.handlers.resources.push(None);
        self.define(|definition| definition.list_only_resource(resource))
    }

    /// Adds a resource template. URIs are tried against templates in the order they are added.
    pub fn template<F, Fut>(mut self, template: ResourceTemplate, handler: F) -> Self
    where
        F: Fn(ReadRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoContents,
    {
        let mime_type = template.mime_type.as_deref().map(Arc::from);
        self.handlers.templates.push(Readable { mime_type, handler: reader(handler) });
        self.define(|definition| definition.template(template))
    }

    /// Answers every read, whatever the catalogue says.
    pub fn read_any<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(ReadRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoContents,
    {
        self.handlers.any_resource = Some(reader(handler));
        self.define(DefinitionBuilder::read_any)
    }

    /// Answers the list of resources by code. Reads go to [`Server::read_any`], if there is no better match.
    pub fn dynamic_resources<L, LFut>(self, list: L) -> Self
    where
        L: Fn(Option<Box<str>>, Context) -> LFut + Send + Sync + 'static,
        LFut: Future<Output = Result<ListPage, HandlerError>> + Send + 'static,
    {
        self.dynamic_list(List::Resources, list)
    }

    /// Answers the list of resource templates by code.
    pub fn dynamic_templates<L, LFut>(self, list: L) -> Self
    where
        L: Fn(Option<Box<str>>, Context) -> LFut + Send + Sync + 'static,
        LFut: Future<Output = Result<ListPage, HandlerError>> + Send + 'static,
    {
        self.dynamic_list(List::Templates, list)
    }

    fn dynamic_list<L, LFut>(mut self, list: List, handler: L) -> Self
    where
        L: Fn(Option<Box<str>>, Context) -> LFut + Send + Sync + 'static,
        LFut: Future<Output = Result<ListPage, HandlerError>> + Send + 'static,
    {
        self.handlers.lists.insert(list, plain(handler, |page| Ok(Reply::List(page?))));
        self.define(|definition| definition.dynamic(list))
    }

    /// Completes an argument of a prompt.
    pub fn complete_prompt<F, Fut>(self, prompt: &str, argument: &str, handler: F) -> Self
    where
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoCompletion,
    {
        let key = CompletionKey { template: false, name: prompt.into(), argument: argument.into() };
        self.complete_key(key, handler)
    }

    /// Completes a variable of a resource template.
    pub fn complete_template<F, Fut>(self, uri_template: &str, variable: &str, handler: F) -> Self
    where
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoCompletion,
    {
        let key = CompletionKey { template: true, name: uri_template.into(), argument: variable.into() };
        self.complete_key(key, handler)
    }

    fn complete_key<F, Fut>(mut self, key: CompletionKey, handler: F) -> Self
    where
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoCompletion,
    {
        self.handlers.completions.insert(key, plain(handler, completion));
        self.or_complete_nothing().define(DefinitionBuilder::completions)
    }

    /// Completes every argument that has no handler of its own. Without this, such arguments have no completions.
    pub fn complete_any<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoCompletion,
    {
        self.handlers.any_completion = Some(plain(handler, completion));
        self.define(DefinitionBuilder::completions)
    }

    fn or_complete_nothing(mut self) -> Self {
        self.handlers.any_completion.get_or_insert_with(|| {
            plain(|_: CompletionRequest, _| std::future::ready(Vec::<String>::new()), completion)
        });
        self
    }
}

/// Subscriptions, custom methods, notifications.
impl Server {
    /// Offers updates of single resources: see [`Context::resource_updated`].
    pub fn subscriptions(self) -> Self {
        self.define(DefinitionBuilder::subscriptions)
    }

    /// Offers updates of single resources, and asks this code about each subscription of a legacy session. It may
    /// refuse with an error, and may answer metadata.
    pub fn on_subscribe<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(SubscribeRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Option<Json>, HandlerError>> + Send + 'static,
    {
        self.handlers.subscribe = Some(plain(handler, agreed));
        self.handlers
            .unsubscribe
            .get_or_insert_with(|| plain(|_: SubscribeRequest, _| std::future::ready(Ok(None)), agreed));
        self.define(DefinitionBuilder::ask_subscriptions)
    }

    /// Tells this code of each end of a subscription.
    pub fn on_unsubscribe<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(SubscribeRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Option<Json>, HandlerError>> + Send + 'static,
    {
        self.handlers.unsubscribe = Some(plain(handler, agreed));
        self.handlers
            .subscribe
            .get_or_insert_with(|| plain(|_: SubscribeRequest, _| std::future::ready(Ok(None)), agreed));
        self.define(DefinitionBuilder::ask_subscriptions)
    }

    /// Adds a request of your own. The answer is an object.
    pub fn method<P, M, F, Fut, R>(mut self, name: impl Into<String>, handler: F) -> Self
    where
        P: Arguments<M>,
        F: Fn(P, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, HandlerError>> + Send + 'static,
        R: serde::Serialize + 'static,
    {
        let name = name.into();
        let inner = typed(handler, |result: Result<R, HandlerError>| Ok(Reply::Raw(Json::from_value(&result?)?)));
        let outer: Handler<RawRequest> = Box::new(move |request, cx| inner(request.params, cx));
        self.handlers.methods.insert(name.as_str().into(), outer);
        self.define(|definition| definition.method(name))
    }

    /// Adds a notification of your own.
    pub fn notification<F, Fut>(mut self, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Json, Connection) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        let name = name.into();
        let boxed = Box::new(move |params, connection| {
            let work: BoxFuture<'static, Result<(), HandlerError>> = Box::pin(handler(params, connection));
            work
        });
        self.handlers.notifications.insert(name.as_str().into(), boxed);
        self.define(|definition| definition.notification(name))
    }

    /// Hands a whole method of the protocol over, for gateways. The answer goes out as it is.
    pub fn hand_over<F, Fut>(mut self, method: Method, handler: F) -> Self
    where
        F: Fn(RawRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Json, HandlerError>> + Send + 'static,
    {
        self.handlers.methods.insert(method.as_str().into(), plain(handler, |result| Ok(Reply::Raw(result?))));
        self.define(|definition| definition.hand_over(method))
    }

    /// Hands every unknown request over, and every unknown notification, for gateways.
    pub fn hand_over_unknown<F, Fut, N>(mut self, handler: F, notification: N) -> Self
    where
        F: Fn(RawRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Json, HandlerError>> + Send + 'static,
        N: Fn(Box<str>, Json, Connection) + Send + Sync + 'static,
    {
        self.handlers.any_method = Some(plain(handler, |result| Ok(Reply::Raw(result?))));
        self.handlers.any_notification = Some(Box::new(notification));
        self.define(DefinitionBuilder::hand_over_unknown)
    }

    /// Tells this code when a legacy session is open: requests to the client may be made from then on.
    pub fn on_initialized(mut self, handler: impl Fn(Connection) + Send + Sync + 'static) -> Self {
        self.handlers.initialized = Some(Box::new(handler));
        self
    }

    /// Tells this code when the client's roots have changed.
    pub fn on_roots_changed(mut self, handler: impl Fn(Connection) + Send + Sync + 'static) -> Self {
        self.handlers.roots_changed = Some(Box::new(handler));
        self
    }
}

/// What the application brings along.
impl Server {
    /// Gives data to every handler: [`Context::data`]. One value for each type.
    pub fn data<T: Send + Sync + 'static>(mut self, data: T) -> Self {
        self.data.insert(data);
        self
    }

    /// Sees each request that a handler answers, before and after.
    pub fn around_call(mut self, hook: impl Fn(&CallEvent<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.around = Some(Arc::new(hook));
        self
    }

    /// Lets the hook of [`Server::around_call`] see params.
    pub const fn expose_arguments(mut self) -> Self {
        self.hooks.exposed = true;
        self
    }

    /// Hears of what went wrong inside, and of what the machine noticed. Without it, nobody does.
    pub fn error_reporter(mut self, hook: impl Fn(&Report<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.reporter = Some(Arc::new(hook));
        self
    }

    /// Runs every handler on a task of its own, even one that would be ready at once: for handlers that compute for
    /// long without awaiting, on a runtime with several threads.
    pub const fn always_spawn(mut self) -> Self {
        self.always_spawn = true;
        self
    }

    /// Seals states with these keys, so that processes that share them can go on where another one asked. By
    /// default each process has a random key.
    pub fn seal(mut self, keys: SealKeys) -> Self {
        self.sealed = true;
        self.define(|definition| definition.seal(keys))
    }

    /// Refuses states that come a second time. `first_time` is asked about the random id of each state, keeps it for
    /// as long as states are valid, and answers whether it is new.
    pub fn single_use_states(mut self, first_time: impl Fn(&TokenId) -> bool + Send + Sync + 'static) -> Self {
        self.hooks.first_time = Some(Arc::new(first_time));
        self
    }

    /// Seals nothing: states go out as handlers wrote them, earlier answers and the results of
    /// [`Context::once`] are forgotten between runs.
    pub const fn unsealed(mut self) -> Self {
        self.sealed = true;
        self
    }
}

macro_rules! settings {
    ($($(#[doc = $doc:literal])* $name:ident($($argument:ident: $type:ty),*);)*) => {
        /// Identity and policy.
        impl Server {
            $(
                $(#[doc = $doc])*
                pub fn $name(self, $($argument: $type),*) -> Self {
                    self.define(|definition| definition.$name($($argument),*))
                }
            )*
        }
    };
}

settings! {
    /// A display name.
    title(title: impl Into<String>);
    /// What the server is, in a sentence.
    description(text: impl Into<String>);
    /// Where to read about the server.
    website(url: impl Into<String>);
    /// A picture of the server; may be called more than once.
    icon(icon: Icon);
    /// How to use the server, for the model.
    instructions(text: impl Into<String>);
    /// Whether results say who the server is. On by default.
    send_identity(on: bool);
    /// Offers log messages.
    logging();
    /// The level at which a legacy session logs before it has set one. None by default: silence.
    early_log_level(level: LoggingLevel);
    /// Says that lists may change while the server runs.
    list_changed();
    /// Items in a page of a list, at least one. 50 by default.
    page_size(items: usize);
    /// How long a list may be cached, and by whom. Not at all by default.
    cache(list: List, hints: CacheHints);
    /// The same for reads that do not say it themselves.
    cache_reads(hints: CacheHints);
    /// The same for the introduction of a modern server.
    cache_discover(hints: CacheHints);
    /// The revisions offered. All by default.
    versions(versions: &[Version]);
    /// Who sealed states are meant for, such as the URL of this server.
    audience(audience: impl Into<String>);
    /// The bounds of the server's machines.
    limits(limits: Limits);
    /// The bounds of schemas and their validation.
    schema_limits(limits: SchemaLimits);
    /// Offers an extension with its settings, an object.
    extension(id: impl Into<String>, settings: Json);
    /// Experimental capabilities, an object.
    experimental(capabilities: Json);
    /// Whether structured results are checked against output schemas. On by default.
    validate_output(on: bool);
    /// Whether questions of a handler become real requests on a legacy wire. On by default.
    legacy_input(on: bool);
}

/// A handler that takes what it is asked as it is.
fn plain<In, F, Fut, O>(handler: F, reply: fn(O) -> HandlerResult) -> Handler<In>
where
    In: 'static,
    F: Fn(In, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = O> + Send + 'static,
    O: 'static,
{
    Box::new(move |input, cx| {
        let work = handler(input, cx);
        Box::pin(async move { reply(work.await) })
    })
}

/// A handler that takes arguments of its own type.
fn typed<A, M, F, Fut, O>(handler: F, reply: fn(O) -> HandlerResult) -> Handler<Json>
where
    A: Arguments<M>,
    F: Fn(A, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = O> + Send + 'static,
    O: 'static,
{
    Box::new(move |arguments, cx| match A::read(arguments) {
        Ok(arguments) => {
            let work = handler(arguments, cx);
            Box::pin(async move { reply(work.await) })
        }
        Err(error) => Box::pin(std::future::ready(Err(misfit(&cx, &error)))),
    })
}

/// A handler of resources: its answer needs what was asked.
fn reader<F, Fut>(handler: F) -> Handler<ReadRequest>
where
    F: Fn(ReadRequest, Context) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    Fut::Output: IntoContents,
{
    Box::new(move |asked: ReadRequest, cx| {
        let work = handler(asked.clone(), cx);
        Box::pin(async move { work.await.into_reply(&asked) })
    })
}

fn completion<T: IntoCompletion>(values: T) -> HandlerResult {
    Ok(Reply::Completion(values.into_completion()?))
}

fn agreed(answer: Result<Option<Json>, HandlerError>) -> HandlerResult {
    Ok(Reply::Empty { meta: answer? })
}

/// Arguments that the schema allows, and the handler's type does not. Where they are wrong is told, but not what
/// stands there.
fn misfit(cx: &Context, error: &serde_json::Error) -> HandlerError {
    let text = format!("the arguments have another shape than expected, at column {}", error.column());
    if cx.is_tool() && cx.version().bad_arguments_are_results() {
        HandlerError::shown(text)
    } else {
        HandlerError::protocol(mcp_sansio::error::ErrorObject::invalid_params(text))
    }
}

/// The arguments of a prompt, from the schema of a type: an object whose properties are strings. The name of one that
/// is none is the error.
fn prompt_arguments(schema: &Json) -> Result<Option<Vec<PromptArgument>>, String> {
    #[derive(serde::Deserialize)]
    struct Object {
        properties: serde_json::Map<String, serde_json::Value>,
        #[serde(default)]
        required: Vec<String>,
    }
    let Ok(object) = schema.parse::<Object>() else { return Ok(None) };
    let arguments = object.properties.iter().map(|(name, property)| {
        let may_be_string = match property.get("type") {
            Some(serde_json::Value::Array(types)) => types.iter().any(|kind| kind == "string"),
            Some(kind) => kind == "string",
            // An enumeration, or what stands elsewhere.
            None => true,
        };
        if !may_be_string {
            return Err(name.clone());
        }
        let mut argument = PromptArgument::new(name.as_str());
        let text = |keyword| property.get(keyword).and_then(serde_json::Value::as_str).map(str::to_owned);
        argument.title = text("title");
        argument.description = text("description");
        argument.required = object.required.contains(name).then_some(true);
        Ok(argument)
    });
    arguments.collect::<Result<_, _>>().map(Some)
}
