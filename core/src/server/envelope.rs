//! The envelope of a modern request, judged. Source: `basic/index` (`_meta`), `basic/versioning`.
//!
//! | step | refused with |
//! |---|---|
//! | a required key is missing, or of another type | -32602, naming every such key |
//! | the revision is not offered | -32022 with `supported` and `requested` |
//! | the log level is none | -32602 |
//!
//! Whether a request *has* an envelope is decided by [`claims_modern`]: the revision it names is the claim.

use std::borrow::Cow;

use super::definition::Definition;
use crate::error::ErrorObject;
use crate::json::Json;
use crate::jsonrpc::{Members, MetaField, ObjectWriter};
use crate::model::LoggingLevel;
use crate::spec::{Era, ErrorCode, Version};

/// A request that names its revision is modern, whatever came before it on the same connection.
pub(crate) fn claims_modern(params: &Members) -> bool {
    params.has_meta(MetaField::ProtocolVersion)
}

/// The revision of a modern request.
pub(crate) fn check(definition: &Definition, params: &Members) -> Result<Version, ErrorObject> {
    let claim = complete(params)?;
    let version = offered(definition, &claim)?;
    log_level(params)?;
    Ok(version)
}

/// The revision that a request names, if all is there that an envelope needs.
pub(crate) fn complete(params: &Members) -> Result<Cow<'_, str>, ErrorObject> {
    let claim = params.meta_string(MetaField::ProtocolVersion);
    let capabilities = params.meta_raw(MetaField::ClientCapabilities);
    let mut wrong = Vec::new();
    match &claim {
        Ok(Some(_)) => {}
        Ok(None) => wrong.push(missing(MetaField::ProtocolVersion)),
        Err(error) => wrong.push(error.to_string()),
    }
    match capabilities {
        Some(text) if text.starts_with('{') => {}
        Some(_) => wrong.push(format!("{} must be an object", MetaField::ClientCapabilities.name())),
        None => wrong.push(missing(MetaField::ClientCapabilities)),
    }
    match (wrong.is_empty(), claim) {
        (true, Ok(Some(claim))) => Ok(claim),
        _ => Err(incomplete(&wrong)),
    }
}

/// The modern revision of this name, if it is offered.
pub(crate) fn offered(definition: &Definition, claim: &str) -> Result<Version, ErrorObject> {
    Version::parse(claim)
        .filter(|version| version.era() == Era::Modern && definition.offers(*version))
        .ok_or_else(|| unsupported(definition, claim))
}

/// The refusal of a request without an envelope by a server that has no session for it either.
pub(crate) fn absent(params: &Members) -> ErrorObject {
    let mut wrong = vec![missing(MetaField::ProtocolVersion)];
    if params.meta_raw(MetaField::ClientCapabilities).is_none() {
        wrong.push(missing(MetaField::ClientCapabilities));
    }
    incomplete(&wrong)
}

/// The level of log messages that a modern request asks for.
pub(crate) fn log_level(params: &Members) -> Result<Option<LoggingLevel>, ErrorObject> {
    let key = MetaField::LogLevel.name();
    match params.meta_string(MetaField::LogLevel) {
        Ok(None) => Ok(None),
        Ok(Some(text)) => match LoggingLevel::parse(&text) {
            Some(level) => Ok(Some(level)),
            None => Err(ErrorObject::invalid_params(format!("{key} is no log level"))),
        },
        Err(error) => Err(ErrorObject::invalid_params(error.to_string())),
    }
}

fn missing(key: MetaField) -> String {
    format!("{} is missing", key.name())
}

fn incomplete(wrong: &[String]) -> ErrorObject {
    ErrorObject::invalid_params(format!("the request's _meta is incomplete: {}", wrong.join(", ")))
}

/// The refusal of a revision: -32022 with what would be accepted in its place. As in the answer to `server/discover`,
/// those are modern revisions: a legacy one is not claimed by a request but negotiated by `initialize`.
pub(crate) fn unsupported(definition: &Definition, requested: &str) -> ErrorObject {
    let modern = definition.versions().iter().filter(|version| version.era() == Era::Modern);
    let supported: Vec<_> = modern.map(|version| version.as_str()).collect();
    let mut data = Vec::new();
    let mut object = ObjectWriter::new(&mut data);
    object.value("supported", &supported);
    object.string("requested", requested);
    object.end();
    ErrorObject {
        data: Some(Json::from_validated(data.into())),
        ..ErrorObject::new(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, "unsupported protocol version")
    }
}
