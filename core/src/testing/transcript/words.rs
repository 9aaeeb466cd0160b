//! What a server's application hears and says, as files write it: invocations, replies, events.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::play::{Problem, read};
use crate::error::ErrorObject;
use crate::json::Json;
use crate::model::Extra;
use crate::server::{Call, Event, InputRequired, Invocation, ListPage, Reference, Reply};

/// Something that has changed.
pub(super) fn event(json: &Json) -> Result<Event, Problem> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Updated {
        resource: String,
    }
    if let Ok(Updated { resource }) = json.parse() {
        return Ok(Event::ResourceUpdated { uri: resource.into() });
    }
    match &*read::<String>(json)? {
        "tools" => Ok(Event::ToolsListChanged),
        "prompts" => Ok(Event::PromptsListChanged),
        "resources" => Ok(Event::ResourcesListChanged),
        other => Err(format!("{other:?} cannot change")),
    }
}

/// An invocation as a file sees it.
pub(super) fn describe(invocation: &Invocation) -> Extra {
    let context = &invocation.context;
    let mut all = Extra::new();
    let mut put = |name: &'static str, value: Json| drop(all.insert(name, value));
    let text = |text: &str| Json::from(Value::from(text));
    put("call", text(invocation.call.name()));
    match &invocation.call {
        Call::Complete { reference, argument, value, context } => {
            put(
                "ref",
                Json::from(match reference {
                    Reference::Prompt(_, name) => json!({"type": "ref/prompt", "name": name}),
                    Reference::Template(_, uri) => json!({"type": "ref/resource", "uri": uri}),
                }),
            );
            put("argument", text(argument));
            put("value", text(value));
            put("context", context.clone());
        }
        Call::List { list, cursor } => {
            put("list", text(list.name()));
            put("cursor", cursor.as_deref().map_or(Json::NULL, text));
        }
        Call::Prompt { name, arguments, .. } => {
            put("name", text(name));
            put("arguments", arguments.clone());
        }
        Call::Raw { method, params } => {
            put("method", text(method));
            put("params", params.clone());
        }
        Call::Read { uri, .. } => {
            put("uri", text(uri));
        }
        Call::Subscribe { uri } => {
            put("uri", text(uri));
        }
        Call::Tool { name, arguments, .. } => {
            put("name", text(name));
            put("arguments", arguments.clone());
        }
        Call::Unsubscribe { uri } => {
            put("uri", text(uri));
        }
    }
    put("version", text(context.version().as_str()));
    put("round", Json::from(Value::from(context.round())));
    put("state", context.state().map_or(Json::NULL, text));
    put("memo", context.memo().cloned().unwrap_or(Json::NULL));
    put("input", inputs(invocation));
    all
}

/// The answers so far: `{"result": …}` or `{"error": …}` by key.
fn inputs(invocation: &Invocation) -> Json {
    let mut inputs = Map::new();
    for (key, answer) in invocation.context.inputs() {
        let answer = match answer {
            Ok(result) => json!({"result": result}),
            Err(error) => json!({"error": error}),
        };
        inputs.insert(key.to_owned(), answer);
    }
    Json::from(Value::Object(inputs))
}

/// A reply as a file writes it: an object whose one member says of which kind.
pub(super) fn reply(json: &Json) -> Result<Reply, Problem> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Input {
        #[serde(default)]
        requests: Extra,
        state: Option<String>,
        memo: Option<Json>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Page {
        items: Vec<Json>,
        #[serde(rename = "nextCursor")]
        next_cursor: Option<String>,
    }
    let members: Extra = read(json)?;
    let Some((kind, value)) = members.iter().next().filter(|_| members.len() == 1) else {
        return Err("a reply has one member".to_owned());
    };
    Ok(match kind {
        "completion" => Reply::Completion(read(value)?),
        "empty" => Reply::Empty { meta: Some(value.clone()).filter(|meta| !meta.is_null()) },
        "error" => Reply::Error(read::<ErrorObject>(value)?),
        "failed" => Reply::Failed,
        "input" => {
            let Input { requests, state, memo } = read(value)?;
            let requests = requests.iter().map(|(key, request)| Ok((key.to_owned(), read(request)?)));
            Reply::InputRequired(InputRequired {
                requests: requests.collect::<Result<_, Problem>>()?,
                state,
                memo,
                timeouts: BTreeMap::new(),
            })
        }
        "list" => {
            let Page { items, next_cursor } = read(value)?;
            Reply::List(ListPage { items, next_cursor })
        }
        "prompt" => Reply::Prompt(read(value)?),
        "raw" => Reply::Raw(value.clone()),
        "resource" => Reply::Resource(read(value)?),
        "state_used" => Reply::StateUsed,
        "tool" => Reply::Tool(read(value)?),
        other => return Err(format!("{other:?} is no kind of reply")),
    })
}
