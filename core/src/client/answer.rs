//! Whether an answer of the application fits its question, and what of it goes on the wire.
//!
//! | answer | to a form | to a page (URL) | to sampling | to roots |
//! |---|---|---|---|---|
//! | `Elicit`, accepted | content, checked; defaults filled in if configured | content left out | – | – |
//! | `Elicit`, declined or cancelled | content left out | content left out | – | – |
//! | `Sample`, `Roots` | – | – | shaped for the revision | `file:` addresses only |
//! | `Raw` | an object, content checked | an object | an object | an object |
//! | `Declined` | `decline` | `decline` | -1 | -1 |
//! | `Refused` | the error, or `cancel` where the wire has no errors | likewise | the error | the error |
//!
//! A dash is a mistake of the caller, and so is content that does not fit: the question stays open. Source:
//! `client/elicitation` (Response Actions, Form Mode Security).

use serde_json::{Map, Value};

use super::api::InputAnswer;
use super::inbound::Asked;
use crate::error::{ErrorObject, Misuse};
use crate::json::Json;
use crate::jsonrpc::{Field, ObjectWriter};
use crate::model::{ElicitResult, ListRootsResult, Shape, ShapeError};
use crate::schema::elicitation::ElicitationSchema;
use crate::schema::{Schema, SchemaError, SchemaLimits};
use crate::spec::{ErrorCode, Version};

/// What goes back to the server.
#[derive(Debug)]
pub(super) enum Supplied {
    /// No answer. `instead` stands for it where the wire has no errors.
    Refused {
        error: ErrorObject,
        instead: Option<Json>,
    },
    Result(Json),
}

pub(super) fn judge(
    asked: &Asked,
    answer: &InputAnswer,
    apply_defaults: bool,
    version: Version,
) -> Result<Supplied, Misuse> {
    let shape = Shape::of(version);
    let unshaped = |error: ShapeError| Misuse::Argument(error.to_string().into());
    let mismatch = || Misuse::Argument("the answer is of another kind than the question".into());
    let elicits = matches!(asked, Asked::Form(_) | Asked::Url);
    match answer {
        InputAnswer::Elicit(result) if elicits => {
            result.check_shape(&shape).map_err(unshaped)?;
            elicited(asked, result, apply_defaults).map(Supplied::Result)
        }
        InputAnswer::Sample(result) if matches!(asked, Asked::Sample) => {
            let mut result = result.clone();
            result.shape(&shape).map_err(unshaped)?;
            written(&result)
        }
        InputAnswer::Roots(result) if matches!(asked, Asked::Roots) => {
            check_roots(result)?;
            written(result)
        }
        InputAnswer::Elicit(_) | InputAnswer::Sample(_) | InputAnswer::Roots(_) => Err(mismatch()),
        InputAnswer::Raw(json) => {
            check_raw(asked, json)?;
            Ok(Supplied::Result(json.clone()))
        }
        InputAnswer::Declined if elicits => written(&ElicitResult::decline()),
        InputAnswer::Declined => {
            let error = ErrorObject::new(ErrorCode::USER_REJECTED, "the user rejected the request");
            Ok(Supplied::Refused { error, instead: None })
        }
        InputAnswer::Refused(error) => {
            let instead = elicits.then(|| to_json(&ElicitResult::cancel()));
            Ok(Supplied::Refused { error: error.clone(), instead })
        }
    }
}

fn written<T: serde::Serialize>(value: &T) -> Result<Supplied, Misuse> {
    Ok(Supplied::Result(to_json(value)))
}

fn to_json<T: serde::Serialize>(value: &T) -> Json {
    // Values of the typed model always serialise.
    Json::from_value(value).unwrap_or(Json::EMPTY_OBJECT)
}

fn elicited(asked: &Asked, result: &ElicitResult, apply_defaults: bool) -> Result<Json, Misuse> {
    let mut result = result.clone();
    match asked {
        Asked::Form(form) if result.accepted() => {
            let content = result.content.take().unwrap_or(Json::EMPTY_OBJECT);
            result.content = Some(check_content(form, content, apply_defaults)?);
        }
        // Accepting a page means consent, and a refusal carries nothing.
        _ => result.content = None,
    }
    Ok(to_json(&result))
}

fn check_raw(asked: &Asked, json: &Json) -> Result<(), Misuse> {
    if !json.is_object() {
        return Err(Misuse::Argument("an answer must be an object".into()));
    }
    if let Asked::Form(form) = asked {
        let result: ElicitResult =
            json.parse().map_err(|_| Misuse::Argument("the answer is no result of an elicitation".into()))?;
        if result.accepted() {
            check_content(form, result.content.unwrap_or(Json::EMPTY_OBJECT), false)?;
        }
    }
    Ok(())
}

/// What accepted content must look like.
#[derive(Debug)]
pub(super) enum Form {
    /// The flat form that the specification allows.
    Flat(ElicitationSchema),
    /// Some other schema of a server that takes it less seriously: it can be checked all the same.
    Other(Box<Schema>),
}

impl Form {
    /// Reads a requested schema.
    pub(super) fn read(requested: &Json) -> Result<Self, SchemaError> {
        match ElicitationSchema::parse(requested) {
            Ok(flat) => Ok(Self::Flat(flat)),
            Err(_) => Schema::compile(requested, &SchemaLimits::default()).map(|schema| Self::Other(Box::new(schema))),
        }
    }

    /// Checks content, and fills in defaults if that is wanted. What the user gave keeps its spelling.
    fn check(&self, content: Json, apply_defaults: bool) -> Result<Json, Misuse> {
        let unfit = |what: &dyn std::fmt::Display| {
            Misuse::Argument(format!("the content does not fit the requested schema: {what}").into())
        };
        match self {
            Self::Other(schema) => {
                schema.validate_json(&content).map_err(|error| unfit(&error))?;
                Ok(content)
            }
            Self::Flat(form) => {
                let given: Map<String, Value> = content.parse().map_err(|error| unfit(&error))?;
                let mut filled = given.clone();
                if apply_defaults {
                    form.apply_defaults(&mut filled);
                }
                form.validate_content(&filled).map_err(|error| unfit(&error))?;
                let added: Vec<_> = filled.iter().filter(|(name, _)| !given.contains_key(*name)).collect();
                if added.is_empty() {
                    return Ok(content);
                }
                let mut out = content.as_bytes().to_vec();
                let mut object = ObjectWriter::reopen(&mut out);
                for (name, value) in added {
                    object.value(name, value);
                }
                object.end();
                Ok(Json::from_validated(out.into()))
            }
        }
    }
}

/// Checks accepted content, which is an object.
fn check_content(form: &Form, content: Json, apply_defaults: bool) -> Result<Json, Misuse> {
    if content.is_object() {
        form.check(content, apply_defaults)
    } else {
        Err(Misuse::Argument("elicited content must be an object".into()))
    }
}

fn check_roots(result: &ListRootsResult) -> Result<(), Misuse> {
    result
        .roots
        .iter()
        .try_for_each(|root| root.check_uri())
        .map_err(|error| Misuse::Argument(error.to_string().into()))
}

/// The bare result for `inputResponses`, which carries no metadata of the legacy result.
pub(super) fn without_meta(result: &Json) -> Json {
    let Some(members) = super::text::object(result) else { return result.clone() };
    if members.iter().all(|(name, _)| name != Field::Meta.name()) {
        return result.clone();
    }
    let mut out = Vec::new();
    let mut object = ObjectWriter::new(&mut out);
    for (name, value) in members.iter().filter(|(name, _)| name != Field::Meta.name()) {
        object.raw(name, value.get());
    }
    object.end();
    Json::from_validated(out.into())
}
