//! What becomes of a request: answered here, refused, or handed to the application.
//!
//! [`admit`] is a function of the definition, the revision and the request alone. It holds for every transport
//! and both eras; who may ask at all (envelope, session, headers) was decided before it.
//!
//! | method | answered here | handed over |
//! |---|---|---|
//! | lists | pages of the catalogue | a dynamic list |
//! | `tools/call` | unknown tool, bad arguments | the rest |
//! | `prompts/get` | unknown prompt, missing argument | the rest |
//! | `resources/read` | unknown URI | the rest |
//! | `completion/complete` | unknown reference | the rest |
//! | `server/discover`, `ping`, `logging/setLevel`, listen, subscriptions | always | subscriptions, if asked for |
//! | any other | -32601 | custom and handed-over methods |

use std::borrow::Cow;

use bytes::Bytes;

use super::api::{Call, List, ReadTarget, Reference};
use super::definition::{Definition, Features};
use super::listen::Filter;
use super::result::Expects;
use super::uri::{is_uri, leaves_its_folder};
use crate::error::ErrorObject;
use crate::json::Json;
use crate::jsonrpc::{Field, FieldError, Members, MethodName};
use crate::model::{CompletionReference, LoggingLevel};
use crate::spec::{Method, Version};

/// What becomes of a request.
pub(super) enum Admission {
    /// The text of its result.
    Result(Bytes),
    /// The tool's arguments do not fit: a result that says so.
    ToolError(String),
    /// Application code runs.
    Invoke(Call, Expects),
    /// A listen stream opens.
    Listen(Filter),
    /// The session's log level changes.
    SetLevel(LoggingLevel),
    /// The session subscribes or unsubscribes, and nobody else is asked.
    Subscribe(Box<str>),
    /// See [`Admission::Subscribe`].
    Unsubscribe(Box<str>),
}

impl From<FieldError> for ErrorObject {
    fn from(error: FieldError) -> Self {
        Self::invalid_params(error.to_string())
    }
}

/// Decides about a request that may be made.
pub(super) fn admit(
    definition: &Definition,
    version: Version,
    method: &MethodName,
    params: &Members,
) -> Result<Admission, ErrorObject> {
    let features = &definition.features;
    let known = match method {
        MethodName::Known(method) => *method,
        MethodName::Other(name) if features.methods.contains(name) || features.hand_over_unknown => {
            return Ok(raw(name, params));
        }
        MethodName::Other(name) => return Err(ErrorObject::method_not_found(name)),
    };
    match definition.services.of(version, known) {
        Service::Here => {}
        Service::HandedOver => return Ok(raw(known.as_str(), params)),
        Service::Absent => return Err(ErrorObject::method_not_found(known.as_str())),
    }
    match known {
        Method::CompletionComplete => complete(definition, params),
        Method::LoggingSetLevel => set_level(params),
        Method::Ping => Ok(Admission::Result(Bytes::from_static(b"{}"))),
        Method::PromptsGet => prompt(definition, params),
        Method::PromptsList => list(definition, version, List::Prompts, params),
        Method::ResourcesList => list(definition, version, List::Resources, params),
        Method::ResourcesRead => read(definition, version, params),
        Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => subscription(features, known, params),
        Method::ResourcesTemplatesList => list(definition, version, List::Templates, params),
        Method::ServerDiscover => definition.pages.discover().map(Admission::Result).ok_or_else(ErrorObject::internal),
        Method::SubscriptionsListen => Filter::read(definition, params).map(Admission::Listen),
        Method::ToolsCall => tool(definition, version, params),
        Method::ToolsList => list(definition, version, List::Tools, params),
        // Requests that only a server makes, `initialize`, which opens a session before anything is admitted,
        // and notifications sent with an id.
        _ => Err(ErrorObject::method_not_found(known.as_str())),
    }
}

/// Who serves a method of the protocol at a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// Nobody: the revision has no such method, or the definition offers nothing behind it.
    Absent,
    /// The application, all of it.
    HandedOver,
    Here,
}

/// Who serves which method, found out once: by the number of the revision, and then that of the method.
#[derive(Debug)]
pub(super) struct Services([[Service; Method::ALL.len()]; Version::ALL.len()]);

impl Services {
    pub(super) fn new(features: &Features) -> Self {
        Self(Version::ALL.map(|version| {
            let mut row = [Service::Absent; Method::ALL.len()];
            for (service, method) in row.iter_mut().zip(Method::ALL) {
                *service = if !method.exists_in(version) {
                    Service::Absent
                } else if features.handed_over.contains(method) {
                    Service::HandedOver
                } else if offered(features, version, *method) {
                    Service::Here
                } else {
                    Service::Absent
                };
            }
            row
        }))
    }

    fn of(&self, version: Version, method: Method) -> Service {
        let row = self.0.get(version as usize);
        row.and_then(|row| row.get(method as usize)).copied().unwrap_or(Service::Absent)
    }
}

// Revisions and methods are numbered in the order of their tables.
const _: () = {
    let mut at = 0;
    while at < Version::ALL.len() {
        assert!(Version::ALL[at] as usize == at);
        at += 1;
    }
    at = 0;
    while at < Method::ALL.len() {
        assert!(Method::ALL[at] as usize == at);
        at += 1;
    }
};

/// Whether the capability behind a method is there.
fn offered(features: &Features, version: Version, method: Method) -> bool {
    match method {
        Method::ToolsCall | Method::ToolsList => features.tools,
        Method::PromptsGet | Method::PromptsList => features.prompts,
        Method::ResourcesList | Method::ResourcesRead | Method::ResourcesTemplatesList => features.resources,
        Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => features.subscriptions,
        // 2024-11-05 has the method without a capability: the method is then there if anything can be completed.
        Method::CompletionComplete => features.completions || !version.has_completions_capability(),
        Method::LoggingSetLevel => features.logging,
        _ => true,
    }
}

fn raw(method: &str, params: &Members) -> Admission {
    Admission::Invoke(Call::Raw { method: method.into(), params: params.json() }, Expects::Raw)
}

fn list(definition: &Definition, version: Version, list: List, params: &Members) -> Result<Admission, ErrorObject> {
    let cursor = params.string(Field::Cursor)?;
    if definition.is_dynamic(list) {
        let cursor = cursor.map(Into::into);
        return Ok(Admission::Invoke(Call::List { list, cursor }, Expects::List(list)));
    }
    definition.pages.find(version, list, cursor.as_deref()).map(Admission::Result)
}

/// The object of arguments, `{}` if there is none.
fn arguments(params: &Members) -> Result<Json, ErrorObject> {
    Ok(params.object(Field::Arguments)?.unwrap_or(Json::EMPTY_OBJECT))
}

fn tool(definition: &Definition, version: Version, params: &Members) -> Result<Admission, ErrorObject> {
    let name = params.required_string(Field::Name)?;
    let arguments = arguments(params)?;
    let catalogue = &definition.catalogue;
    let index = catalogue.tool_names.get(&*name).copied();
    if index.is_none() && !definition.is_dynamic(List::Tools) {
        return Err(unknown("tool", &name));
    }
    let schema = index.and_then(|index| catalogue.tools.get(index)).and_then(|entry| entry.input.as_ref());
    if let Some(Err(problem)) = schema.map(|schema| schema.check_json(&arguments)) {
        let text = format!("the arguments do not fit the tool's input schema: {problem}");
        return if version.bad_arguments_are_results() {
            Ok(Admission::ToolError(text))
        } else {
            Err(ErrorObject::invalid_params(text))
        };
    }
    // A copy: to share the definition's own would have all threads count on one cache line.
    Ok(Admission::Invoke(Call::Tool { index, name: name.into(), arguments }, Expects::Tool(index)))
}

#[inline(never)]
fn prompt(definition: &Definition, params: &Members) -> Result<Admission, ErrorObject> {
    let name = params.required_string(Field::Name)?;
    let arguments = arguments(params)?;
    let given: std::collections::BTreeMap<Cow<'_, str>, Cow<'_, str>> =
        arguments.parse_borrowed().map_err(|_| ErrorObject::invalid_params("the arguments of a prompt are strings"))?;
    let index = definition.catalogue.prompt_names.get(&*name).copied();
    if index.is_none() && !definition.is_dynamic(List::Prompts) {
        return Err(unknown("prompt", &name));
    }
    let prompt = index.and_then(|index| definition.catalogue.prompts.get(index));
    for wanted in prompt.iter().flat_map(|prompt| prompt.arguments.iter().flatten()) {
        if wanted.required == Some(true) && !given.contains_key(wanted.name.as_str()) {
            return Err(ErrorObject::invalid_params(format!("the prompt argument {:?} is missing", wanted.name)));
        }
    }
    Ok(Admission::Invoke(Call::Prompt { index, name: name.into(), arguments }, Expects::Prompt))
}

/// Exact URIs before templates, templates in the order of registration, the catch-all before both. What is no URI,
/// or a path that climbs out of its folder, is not found.
#[inline(never)]
fn read(definition: &Definition, version: Version, params: &Members) -> Result<Admission, ErrorObject> {
    let uri = params.required_string(Field::Uri)?;
    let catalogue = &definition.catalogue;
    let dynamic = definition.is_dynamic(List::Resources) || definition.is_dynamic(List::Templates);
    let template = || {
        let mut templates = catalogue.templates.iter().enumerate();
        templates.find_map(|(index, (_, template))| template.match_uri(&uri).map(|values| (index, values)))
    };
    let listed = catalogue.resource_uris.get(&*uri).copied();
    // What the catalogue names is the author's; everything else was made up by the client.
    if listed.is_none() && (!is_uri(&uri) || leaves_its_folder(&uri)) {
        return Err(resource_not_found(version, &uri));
    }
    let target = if definition.features.read_any {
        ReadTarget::Any
    } else if let Some(index) = listed {
        ReadTarget::Resource(index)
    } else if let Some((index, values)) = template() {
        ReadTarget::Template(index, values)
    } else if dynamic {
        ReadTarget::Any
    } else {
        return Err(resource_not_found(version, &uri));
    };
    Ok(Admission::Invoke(Call::Read { target, uri: uri.into() }, Expects::Read))
}

/// The refusal of a URI that leads nowhere: the code differs by era, the data does not.
#[must_use]
pub fn resource_not_found(version: Version, uri: &str) -> ErrorObject {
    let data = Json::from_value(&std::collections::BTreeMap::from([("uri", uri)]));
    ErrorObject { data: data.ok(), ..ErrorObject::new(version.resource_not_found(), "resource not found") }
}

#[inline(never)]
fn subscription(features: &Features, method: Method, params: &Members) -> Result<Admission, ErrorObject> {
    let uri: Box<str> = params.required_string(Field::Uri)?.into();
    if !is_uri(&uri) {
        return Err(ErrorObject::invalid_params("uri is no URI"));
    }
    Ok(match (features.ask_subscriptions, method == Method::ResourcesSubscribe) {
        (true, true) => Admission::Invoke(Call::Subscribe { uri }, Expects::Empty),
        (true, false) => Admission::Invoke(Call::Unsubscribe { uri }, Expects::Empty),
        (false, true) => Admission::Subscribe(uri),
        (false, false) => Admission::Unsubscribe(uri),
    })
}

#[inline(never)]
fn set_level(params: &Members) -> Result<Admission, ErrorObject> {
    let level = params.required_string(Field::Level)?;
    LoggingLevel::parse(&level)
        .map(Admission::SetLevel)
        .ok_or_else(|| ErrorObject::invalid_params("level is no log level"))
}

#[inline(never)]
fn complete(definition: &Definition, params: &Members) -> Result<Admission, ErrorObject> {
    /// What is being completed.
    #[derive(serde::Deserialize)]
    struct Argument {
        name: Box<str>,
        value: Box<str>,
    }
    #[derive(serde::Deserialize)]
    struct Known {
        arguments: Option<std::collections::BTreeMap<String, String>>,
    }
    let reference: CompletionReference = params
        .parse(Field::Reference, "a reference to a prompt or a resource template")?
        .ok_or(FieldError::Missing(Field::Reference.name()))?;
    let argument: Argument = params
        .parse(Field::Argument, "an object with a name and a value")?
        .ok_or(FieldError::Missing(Field::Argument.name()))?;
    let context: Option<Known> = params.parse(Field::Context, "an object with arguments, which are strings")?;
    let context = context.and_then(|known| known.arguments).unwrap_or_default();
    let reference = find_reference(definition, &reference, &argument.name)?;
    if !definition.features.completions {
        return Err(ErrorObject::method_not_found(Method::CompletionComplete.as_str()));
    }
    let context = Json::from_value(&context).unwrap_or(Json::EMPTY_OBJECT);
    let Argument { name, value } = argument;
    Ok(Admission::Invoke(Call::Complete { reference, argument: name, value, context }, Expects::Completion))
}

fn find_reference(
    definition: &Definition,
    reference: &CompletionReference,
    argument: &str,
) -> Result<Reference, ErrorObject> {
    let catalogue = &definition.catalogue;
    match reference {
        CompletionReference::Prompt(prompt) => {
            let index = catalogue.prompt_names.get(prompt.name.as_str()).copied();
            if index.is_none() && !definition.is_dynamic(List::Prompts) {
                return Err(unknown("prompt", &prompt.name));
            }
            definition
                .has_prompt_argument(&prompt.name, argument)
                .then(|| Reference::Prompt(index, prompt.name.as_str().into()))
                .ok_or_else(|| unknown("prompt argument", argument))
        }
        CompletionReference::Resource(resource) => {
            // The template as it is listed, or an address that it matches.
            let matching = || catalogue.templates.iter().position(|(_, t)| t.match_uri(&resource.uri).is_some());
            let index = catalogue.template_uris.get(resource.uri.as_str()).copied().or_else(matching);
            if index.is_none() && !definition.is_dynamic(List::Templates) {
                return Err(unknown("resource template", &resource.uri));
            }
            let template = index.and_then(|index| catalogue.templates.get(index));
            let name = template.map_or(&resource.uri, |(listed, _)| &listed.uri_template);
            definition
                .has_template_variable(name, argument)
                .then(|| Reference::Template(index, name.as_str().into()))
                .ok_or_else(|| unknown("template variable", argument))
        }
        CompletionReference::Unknown(_) => Err(ErrorObject::invalid_params("ref has an unknown type")),
    }
}

#[cold]
fn unknown(kind: &str, name: &str) -> ErrorObject {
    /// Names are the peer's text: enough to recognise, not enough to flood.
    const SHOWN: usize = 200;
    let shown: String = name.chars().take(SHOWN).collect();
    ErrorObject::invalid_params(format!("unknown {kind}: {shown:?}"))
}
