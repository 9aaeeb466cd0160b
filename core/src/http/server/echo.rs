//! Headers that repeat the body, compared with it. Source: `basic/transports/streamable-http` (Server Validation).
//!
//! | header | repeats | of |
//! |---|---|---|
//! | `MCP-Protocol-Version` | the revision of the envelope | every request |
//! | `Mcp-Method` | the method | every request |
//! | `Mcp-Name` | `params.name` or `params.uri` | `tools/call`, `prompts/get`, `resources/read` |
//! | `Mcp-Param-…` | an argument that the tool's schema annotates | `tools/call` |
//!
//! A header that is missing, stands twice, cannot be decoded or says something else is -32020. Where the body lacks
//! what would be repeated there is nothing to compare: that the body is wrong is said by whoever reads it.
//! Headers of arguments that the tool does not annotate are somebody else's.

use serde_json::{Map, Value};

use super::head::{Kept, Named, Single};
use crate::error::ErrorObject;
use crate::http::head::value;
use crate::jsonrpc::{Field, Members, MethodName};
use crate::server::Definition;
use crate::spec::{ErrorCode, Method};

/// Compares the revision in the header with that of the envelope.
pub(super) fn check_version(kept: &Kept, claim: &str) -> Result<(), ErrorObject> {
    let same = match &kept.version {
        Single::One(Named::Known(version)) => version.as_str() == claim,
        Single::One(Named::Other(text)) => text == claim,
        Single::Absent | Single::Many => false,
    };
    if same { Ok(()) } else { Err(mismatch("MCP-Protocol-Version")) }
}

/// The refusal of a message whose revision the header alone can tell, and does not.
pub(super) fn version_missing() -> ErrorObject {
    mismatch("MCP-Protocol-Version")
}

/// Compares the other headers.
pub(super) fn check(
    definition: &Definition,
    kept: &Kept,
    method: &MethodName,
    params: &Members,
) -> Result<(), ErrorObject> {
    let same = match (&kept.method, method) {
        (Single::One(Named::Known(header)), MethodName::Known(method)) => header == method,
        (Single::One(Named::Other(header)), MethodName::Other(method)) => **header == **method,
        _ => false,
    };
    if !same {
        return Err(mismatch("Mcp-Method"));
    }
    let MethodName::Known(method) = method else { return Ok(()) };
    let Some(field) = name_of(*method) else { return Ok(()) };
    let Ok(Some(name)) = params.string(field) else { return Ok(()) };
    if !matches!(&kept.name, Single::One(header) if value::decode(header).is_some_and(|header| header == name)) {
        return Err(mismatch("Mcp-Name"));
    }
    if *method == Method::ToolsCall { check_arguments(definition, kept, &name, params) } else { Ok(()) }
}

/// The member that `Mcp-Name` repeats.
pub(crate) const fn name_of(method: Method) -> Option<Field> {
    match method {
        Method::PromptsGet | Method::ToolsCall => Some(Field::Name),
        Method::ResourcesRead => Some(Field::Uri),
        _ => None,
    }
}

fn check_arguments(definition: &Definition, kept: &Kept, tool: &str, params: &Members) -> Result<(), ErrorObject> {
    let mirrors = definition.mirrors(tool);
    if mirrors.is_empty() {
        return Ok(());
    }
    let arguments = match params.raw(Field::Arguments) {
        None => Map::new(),
        Some(text) => match serde_json::from_str(text) {
            Ok(Value::Object(arguments)) => arguments,
            // No object: said later.
            _ => return Ok(()),
        },
    };
    for mirror in mirrors {
        let mut headers = kept.params.iter().filter(|(name, _)| name.eq_ignore_ascii_case(&mirror.header));
        let header = (headers.next(), headers.next());
        let same = match (mirror.read(&arguments), header) {
            (Ok(None), (None, _)) => true,
            // An argument of another type breaks the schema, which is said later; no header can repeat it.
            (Err(_), (None, _)) => true,
            (Ok(Some(text)), (Some((_, header)), None)) => {
                value::decode(header).is_some_and(|header| mirror.agrees(&header, &text))
            }
            _ => false,
        };
        if !same {
            return Err(mismatch(&format!("Mcp-Param-{}", mirror.header)));
        }
    }
    Ok(())
}

/// The refusal, without the values: they are the user's.
#[cold]
fn mismatch(header: &str) -> ErrorObject {
    let text = format!("header mismatch: {header} is missing, malformed, or not what the body says");
    ErrorObject::new(ErrorCode::HEADER_MISMATCH, text)
}
