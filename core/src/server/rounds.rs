//! Rounds of input: a handler asks, the client answers, the handler runs again.
//!
//! ```text
//!            modern                                        legacy
//!  InputRequired ─▶ result `input_required`      InputRequired ─▶ a request to the client for each question
//!                   with sealed state                             │ all answered
//!  the client retries with answers and state                      ▼
//!        └──▶ open state, merge answers ──▶ invoke ◀──── merge answers
//! ```
//!
//! Source: `basic/patterns/mrtr` of 2026-07-28; `client/*` of the legacy revisions. This module decides whether a
//! question may be asked, writes the modern result and opens the state of a retry. The requests of the legacy
//! wire are the connection's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::api::InputRequired;
use super::context::{Context, Request, Rounds, missing_capability};
use super::definition::Definition;
use super::request_state::{self, Binding, Claims, Refused};
use super::uri::is_uri;
use crate::error::{Error, ErrorObject};
use crate::json::Json;
use crate::jsonrpc::{Field, Members, ObjectWriter};
use crate::limits::Bound;
use crate::machine::Now;
use crate::model::{
    ClientCapabilities, ElicitParams, ElicitResult, IncludeContext, InputRequest, Shape, UrlElicitationData,
};
use crate::rng::Rng;
use crate::schema::elicitation::ElicitationSchema;
use crate::spec::{Era, Version, meta};

/// Why a handler's questions cannot be asked.
#[derive(Debug)]
pub(super) enum Unaskable {
    /// The client may know: it lacks a capability, or the rounds are used up.
    Refuse(ErrorObject),
    /// The handler is wrong.
    Handler(String),
}

/// Judges the questions of a handler.
pub(super) fn check(definition: &Definition, context: &Context, asked: &InputRequired) -> Result<(), Unaskable> {
    let limits = &definition.policy.limits;
    if asked.requests.is_empty() && asked.state.is_none() && asked.memo.is_none() {
        return Err(Unaskable::Handler("neither questions nor state".to_owned()));
    }
    if asked.requests.len() > limits.input_requests {
        return Err(Unaskable::Handler(Error::limit(Bound::InputRequests, limits.input_requests).to_string()));
    }
    let version = context.version();
    let capabilities = context.client_capabilities();
    let mut required = ClientCapabilities::new();
    let mut keys = std::collections::BTreeSet::new();
    for (key, request) in &asked.requests {
        if !keys.insert(key) {
            return Err(Unaskable::Handler(format!("the key {key:?} stands twice")));
        }
        let Some(method) = request.method() else {
            return Err(Unaskable::Handler(format!("the question {key:?} is of an unknown kind")));
        };
        // In the modern era questions travel in results, where every kind exists.
        if version.era() == Era::Legacy && !method.exists_in(version) {
            let text = format!("the client's revision, {version}, has no {method}");
            return Err(Unaskable::Refuse(ErrorObject::invalid_request(text)));
        }
        judge(request).map_err(|why| Unaskable::Handler(format!("the question {key:?}: {why}")))?;
        merge(&mut required, required_by(request, version));
    }
    match capabilities.missing(&required) {
        Some(missing) => Err(Unaskable::Refuse(missing_capability(version, &missing))),
        None => Ok(()),
    }
}

/// Whether a question is one that may be put to a client: a flat form, a page that has an address, messages that
/// keep the rules of tool use.
fn judge(request: &InputRequest) -> Result<(), String> {
    match request {
        InputRequest::Elicit(ElicitParams::Form(form)) => {
            ElicitationSchema::parse(&form.requested_schema).map(drop).map_err(|error| error.to_string())
        }
        InputRequest::Elicit(ElicitParams::Url(page)) if !is_uri(&page.url) => Err("its url is none".to_owned()),
        InputRequest::Sample(params) => params.check().map_err(|error| error.to_string()),
        _ => Ok(()),
    }
}

/// What the client must have declared. Asking for context of servers is advised against without the capability, in
/// the revisions that have one.
fn required_by(request: &InputRequest, version: Version) -> ClientCapabilities {
    let required = request.required_capabilities();
    match request {
        InputRequest::Sample(params)
            if version >= Version::V2025_11_25
                && matches!(params.include_context, Some(IncludeContext::ThisServer | IncludeContext::AllServers)) =>
        {
            required.with_sampling_context()
        }
        _ => required,
    }
}

/// The answer to an elicitation: its shape, and accepted content against the form that was asked with.
pub(super) fn read_elicited(asked: &ElicitParams, answer: &Json) -> Result<ElicitResult, ErrorObject> {
    let unfit = |why: &dyn std::fmt::Display| ErrorObject::invalid_params(format!("the answer does not fit: {why}"));
    let result: ElicitResult = answer.parse().map_err(|_| unfit(&"it is no result of an elicitation"))?;
    if let (ElicitParams::Form(form), true) = (asked, result.accepted()) {
        let form = ElicitationSchema::parse(&form.requested_schema).map_err(|error| unfit(&error))?;
        let content = match &result.content {
            Some(content) => content.parse().map_err(|_| unfit(&"its content is no object"))?,
            None => serde_json::Map::new(),
        };
        form.validate_content(&content).map_err(|error| unfit(&error))?;
    }
    Ok(result)
}

/// Writes the `input_required` result of the modern era.
pub(super) fn write_result(
    definition: &Definition,
    context: &Context,
    asked: &InputRequired,
    now: Now,
    rng: &mut Rng,
    out: &mut Vec<u8>,
) -> Result<(), Unaskable> {
    let state = match &definition.policy.seal {
        Some(_) => Some(seal(definition, context, asked, now, rng)?),
        None => asked.state.clone(),
    };
    let mut object = ObjectWriter::new(out);
    object.string("resultType", "input_required");
    if !asked.requests.is_empty() {
        object.object("inputRequests", |object| {
            for (key, request) in &asked.requests {
                object.value(key, &modern(request));
            }
        });
    }
    if let Some(state) = state {
        object.string("requestState", &state);
    }
    if let Some(identity) = &definition.identity_member {
        object.object("_meta", |object| {
            object.raw(meta::SERVER_INFO, identity.get());
        });
    }
    object.end();
    Ok(())
}

/// A question as the modern era writes it: elicitations by URL have no id there.
fn modern(request: &InputRequest) -> std::borrow::Cow<'_, InputRequest> {
    match request {
        InputRequest::Elicit(ElicitParams::Url(url)) if url.elicitation_id.is_some() => {
            let mut url = url.clone();
            url.elicitation_id = None;
            std::borrow::Cow::Owned(InputRequest::Elicit(ElicitParams::Url(url)))
        }
        other => std::borrow::Cow::Borrowed(other),
    }
}

/// The params of a question as a request of a legacy revision.
pub(super) fn legacy_params(request: &InputRequest, version: Version, rng: &mut Rng) -> Result<Json, Unaskable> {
    let shape = Shape::of(version);
    let unfit = |error: &dyn std::fmt::Display| Unaskable::Handler(error.to_string());
    let written = match request {
        InputRequest::Elicit(params) => {
            let mut params = params.clone();
            if let ElicitParams::Url(url) = &mut params {
                let id: [u8; 16] = rng.bytes();
                url.elicitation_id.get_or_insert_with(|| id.iter().map(|byte| format!("{byte:02x}")).collect());
            }
            params.shape(&shape).map_err(|error| unfit(&error))?;
            Json::from_value(&params)
        }
        InputRequest::Sample(params) => {
            let mut params = params.clone();
            params.shape(&shape).map_err(|error| unfit(&error))?;
            Json::from_value(&params)
        }
        InputRequest::Roots(params) => Json::from_value(params),
        InputRequest::Unknown(_) => return Err(unfit(&"a question of an unknown kind")),
    };
    written.map_err(|error| unfit(&error))
}

/// What becomes of -32042, which sends the user to pages and exists on 2025-11-25 only: elsewhere the pages are
/// questions. `None` if it may go out as it is.
pub(super) fn url_elicitation(
    definition: &Definition,
    context: &Context,
    error: &ErrorObject,
) -> Result<Option<InputRequired>, Unaskable> {
    let data = error.data.as_ref().and_then(|data| data.parse::<UrlElicitationData>().ok());
    let Some(data) = data.filter(|data| !data.elicitations.is_empty()) else {
        return Err(Unaskable::Handler("-32042 without elicitations by URL in its data".to_owned()));
    };
    let named = data.elicitations.iter().all(|page| page.elicitation_id.is_some());
    let requests = data.elicitations.into_iter().enumerate().map(|(index, page)| {
        let key = page.elicitation_id.clone().unwrap_or_else(|| index.to_string());
        (key, InputRequest::Elicit(ElicitParams::Url(page)))
    });
    let asked = InputRequired { requests: requests.collect(), ..InputRequired::default() };
    if !context.version().has_url_elicitation_error() {
        return Ok(Some(asked));
    }
    check(definition, context, &asked)?;
    if named { Ok(None) } else { Err(Unaskable::Handler("-32042 with an elicitation that has no id".to_owned())) }
}

/// Adds what `more` needs.
fn merge(required: &mut ClientCapabilities, more: ClientCapabilities) {
    required.roots = required.roots.take().or(more.roots);
    required.sampling = match (required.sampling.take(), more.sampling) {
        (Some(mut sampling), Some(more)) => {
            sampling.tools = sampling.tools.or(more.tools);
            sampling.context = sampling.context.or(more.context);
            Some(sampling)
        }
        (one, other) => one.or(other),
    };
    required.elicitation = match (required.elicitation.take(), more.elicitation) {
        (Some(mut elicitation), Some(more)) => {
            elicitation.form = elicitation.form.or(more.form);
            elicitation.url = elicitation.url.or(more.url);
            Some(elicitation)
        }
        (one, other) => one.or(other),
    };
}

/// What travels inside the seal.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Sealed {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    answers: BTreeMap<String, Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memo: Option<Json>,
}

fn seal(
    definition: &Definition,
    context: &Context,
    asked: &InputRequired,
    now: Now,
    rng: &mut Rng,
) -> Result<String, Unaskable> {
    let Some(keys) = &definition.policy.seal else { return Ok(String::new()) };
    let limits = &definition.policy.limits;
    let earlier = context.rounds.iter().flat_map(|rounds| &rounds.answers);
    let sealed = Sealed {
        answers: earlier.filter_map(|(k, v)| v.as_ref().ok().map(|v| (k.clone(), v.clone()))).collect(),
        state: asked.state.clone(),
        memo: asked.memo.clone(),
    };
    let memo = serde_json::to_vec(&sealed).map_err(|error| Unaskable::Handler(error.to_string()))?;
    let (arguments, target) = (arguments(&context.request.params), target(&context.request));
    let claims = Claims {
        binding: binding(definition, &context.request, &arguments, &target),
        expires: crate::machine::Unix::from_millis(
            now.unix.as_millis().saturating_add(limits.request_state_ttl.as_millis() as u64),
        ),
        token_id: rng.bytes(),
        round: context.round().saturating_add(1),
        state: b"",
        memo: &memo,
    };
    request_state::seal(keys, &claims, rng.bytes(), limits.request_state_bytes)
        .map_err(|error| Unaskable::Handler(error.to_string()))
}

fn arguments(params: &Members) -> Json {
    params.value(Field::Arguments).unwrap_or(Json::EMPTY_OBJECT)
}

fn target(request: &Request) -> String {
    let read = |field| request.params.string(field).ok().flatten();
    read(Field::Name).or_else(|| read(Field::Uri)).unwrap_or_default().into_owned()
}

fn binding<'a>(definition: &'a Definition, request: &'a Request, arguments: &'a Json, target: &'a str) -> Binding<'a> {
    Binding {
        method: request.method.as_str(),
        target,
        arguments,
        principal: request.sender.principal.as_deref(),
        audience: definition.policy.audience.as_deref(),
    }
}

/// Why a retry is refused.
#[derive(Debug)]
pub(super) enum BadRetry {
    /// The state does not open. The client learns that, the cause is for diagnostics.
    State(Refused),
    /// The answers have the wrong shape.
    Answers(ErrorObject),
}

impl BadRetry {
    pub(super) fn to_object(&self) -> ErrorObject {
        match self {
            Self::State(_) => state_refused(),
            Self::Answers(object) => object.clone(),
        }
    }
}

/// The one refusal of a `requestState`, whatever the cause.
pub(super) fn state_refused() -> ErrorObject {
    ErrorObject::invalid_params(request_state::REFUSAL)
}

/// Reads what a modern retry brings; `None` for a first request.
pub(super) fn read_retry(definition: &Definition, request: &Request, now: Now) -> Result<Option<Rounds>, BadRetry> {
    let params = &request.params;
    let state = params.string(Field::RequestState).map_err(|error| BadRetry::Answers(error.into()))?;
    let answers = params.object(Field::InputResponses).map_err(|error| BadRetry::Answers(error.into()))?;
    if state.is_none() && answers.is_none() {
        return Ok(None);
    }
    let mut rounds = match (&definition.policy.seal, state) {
        (Some(keys), Some(token)) => {
            let (arguments, target) = (arguments(params), target(request));
            let expected = binding(definition, request, &arguments, &target);
            let bound = definition.policy.limits.request_state_bytes;
            let opened = request_state::open(keys, &token, &expected, now.unix, bound).map_err(BadRetry::State)?;
            let sealed: Sealed = serde_json::from_slice(&opened.memo).unwrap_or_default();
            Rounds {
                answers: sealed.answers.into_iter().map(|(key, answer)| (key, Ok(answer))).collect(),
                state: sealed.state,
                memo: sealed.memo,
                round: opened.round,
                token: Some(opened.token_id),
            }
        }
        (None, Some(state)) => Rounds { state: Some(state.into_owned()), round: 1, ..Rounds::default() },
        (_, None) => Rounds { round: 1, ..Rounds::default() },
    };
    let answers: BTreeMap<String, Json> = match answers {
        Some(answers) => answers
            .parse()
            .map_err(|_| BadRetry::Answers(ErrorObject::invalid_params("inputResponses must be an object")))?,
        None => BTreeMap::new(),
    };
    if let Some((key, _)) = answers.iter().find(|(_, answer)| !answer.is_object()) {
        let shown: String = key.chars().take(100).collect();
        let text = format!("the answer {shown:?} in inputResponses must be an object");
        return Err(BadRetry::Answers(ErrorObject::invalid_params(text)));
    }
    rounds.answers.extend(answers.into_iter().map(|(key, answer)| (key, Ok(answer))));
    Ok(Some(rounds))
}
