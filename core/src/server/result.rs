//! Replies of the application, written as results of the revision that is spoken.
//!
//! | | legacy | modern |
//! |---|---|---|
//! | `resultType` | never | always |
//! | `_meta` with the server's identity | never | unless switched off |
//! | caching hints of a read | if configured | always |
//! | content and structured content | shaped by [`Shape`] | as it is |
//!
//! Raw replies of a gateway get the modern members only if they lack them, and nothing else is done to them.

use bytes::Bytes;
use serde::Serialize;

use super::api::{List, ListPage, Reply};
use super::definition::{Definition, ToolEntry};
use super::pages;
use crate::copy::append;
use crate::error::ErrorObject;
use crate::json::Json;
use crate::jsonrpc::{Field, Members, MetaField, ObjectWriter, one_line, write_str};
use crate::model::{
    CallToolResult, Completion, ContentBlock, Extra, Meta, ReadResourceResult, ResultType, Shape, Wrapping,
};
use crate::spec::{Era, ErrorCode, Version, meta};

/// What a reply answers: which shapes fit, and what is checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expects {
    Completion,
    Empty,
    List(List),
    Prompt,
    Raw,
    Read,
    /// The tool's index in the catalogue.
    Tool(Option<usize>),
}

/// Why a reply cannot be sent.
#[derive(Debug)]
pub(super) enum Unfit {
    /// An error with a code that only the specification may use.
    Code(ErrorCode),
    /// It is of another kind than the call.
    Kind,
    /// It breaks the tool's output schema.
    Output(String),
}

/// The members that end a modern result without `_meta` of its own.
pub(super) fn stamp(identity: Option<&Json>) -> String {
    let complete = "\"resultType\":\"complete\"";
    match identity {
        Some(identity) => {
            format!("{complete},\"_meta\":{{\"{}\":{identity}}}", meta::SERVER_INFO).replace(['\n', '\r'], " ")
        }
        None => complete.to_owned(),
    }
}

/// Adds the stamp to the result object that ends `out`.
pub(super) fn stamp_written(definition: &Definition, version: Version, out: &mut Vec<u8>) {
    if version.era() == Era::Modern {
        let object = ObjectWriter::reopen(out);
        object.raw_members(&definition.stamp);
    }
}

/// Writes a result; `out` holds the frame up to its value.
pub(super) fn write(
    definition: &Definition,
    version: Version,
    expects: &Expects,
    reply: Reply,
    out: &mut Vec<u8>,
) -> Result<(), Unfit> {
    match (expects, reply) {
        (Expects::Tool(index), Reply::Tool(mut result)) => write_tool(definition, version, *index, &mut result, out)?,
        (Expects::Prompt, Reply::Prompt(mut result)) => {
            if result.needs_shaping(&Shape::of(version)) {
                result.shape(&Shape::of(version));
            }
            let meta = take_meta(definition, version, &mut result.meta, &mut result.result_type);
            write_stamped(definition, version, meta, &result, out);
        }
        (Expects::Read, Reply::Resource(result)) => write_read(definition, version, result, out),
        (Expects::Completion, Reply::Completion(completion)) => {
            write_completion(completion, out);
            stamp_written(definition, version, out);
        }
        (Expects::List(list), Reply::List(page)) => {
            append(out, &write_page(definition, version, *list, &page));
        }
        (Expects::Empty, Reply::Empty { meta }) => write_empty(meta.as_ref(), out),
        (_, Reply::Raw(raw)) => write_raw(definition, version, &raw, out),
        _ => return Err(Unfit::Kind),
    }
    Ok(())
}

/// Writes the result of a tool, on one line.
pub(super) fn write_tool(
    definition: &Definition,
    version: Version,
    tool: Option<usize>,
    result: &mut CallToolResult,
    out: &mut Vec<u8>,
) -> Result<(), Unfit> {
    let entry = tool.and_then(|tool| definition.catalogue.tools.get(tool));
    if let Some(schema) = entry.and_then(|entry| entry.output.as_ref())
        && definition.policy.validate_output
        && result.is_error != Some(true)
    {
        let content = result.structured_content.as_ref().ok_or_else(|| {
            Unfit::Output("structuredContent is missing, though the tool has an output schema".to_owned())
        })?;
        schema.check_json(content).map_err(|problem| Unfit::Output(problem.to_string()))?;
    }
    if result.structured_content.is_none()
        && let Some(texts) = plain_texts(result)
    {
        // What most results are. Every revision can carry it.
        write_texts(definition, version, result, texts, out);
    } else {
        write_shaped(definition, version, entry, result, out);
    }
    Ok(())
}

/// Writes the result of a tool as the revision can carry it.
#[inline(never)]
fn write_shaped(
    definition: &Definition,
    version: Version,
    entry: Option<&ToolEntry>,
    result: &mut CallToolResult,
    out: &mut Vec<u8>,
) {
    let shape = Shape::of(version);
    let wrapping = entry.map_or_else(Wrapping::default, |entry| entry.wrapping(version));
    if result.needs_shaping(&shape, wrapping) {
        result.shape(&shape, wrapping);
    }
    let stamped = take_meta(definition, version, &mut result.meta, &mut result.result_type);
    let start = out.len();
    match plain_texts(result) {
        Some(texts) => write_texts(definition, version, result, texts, out),
        None => write_stamped(definition, version, stamped, result, out),
    }
    one_line(out.get_mut(start..).unwrap_or_default());
}

/// The texts of a result that is nothing but texts and a structured value, as nearly all are.
fn plain_texts(result: &CallToolResult) -> Option<impl Iterator<Item = &str>> {
    let plain = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.annotations.is_none() && text.meta.is_none() && text.extra.is_empty(),
        _ => false,
    };
    let all = result.meta.is_none() && result.extra.is_empty() && result.content.iter().all(plain);
    all.then(|| result.content.iter().filter_map(ContentBlock::as_text))
}

/// Writes such a result by hand: the text that serde writes, which takes it longer than all else that is done for a
/// short answer.
fn write_texts<'r>(
    definition: &Definition,
    version: Version,
    result: &'r CallToolResult,
    mut texts: impl Iterator<Item = &'r str>,
    out: &mut Vec<u8>,
) {
    match texts.next() {
        Some(first) => {
            out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":");
            write_str(out, first);
            for text in texts {
                out.extend_from_slice(b"},{\"type\":\"text\",\"text\":");
                write_str(out, text);
            }
            out.extend_from_slice(b"}]");
        }
        None => out.extend_from_slice(b"{\"content\":[]"),
    }
    match result.is_error {
        Some(true) => out.extend_from_slice(b",\"isError\":true"),
        Some(false) => out.extend_from_slice(b",\"isError\":false"),
        None => {}
    }
    if let Some(structured) = &result.structured_content {
        out.extend_from_slice(b",\"structuredContent\":");
        append(out, structured.as_bytes());
    }
    if version.era() == Era::Modern {
        out.push(b',');
        out.extend_from_slice(definition.stamp.as_bytes());
    }
    out.push(b'}');
}

#[inline(never)]
fn write_read(definition: &Definition, version: Version, mut result: ReadResourceResult, out: &mut Vec<u8>) {
    let hints = definition.policy.cache.read;
    match version.era() {
        Era::Modern if !result.states_cache_hints() => result = result.cached(hints),
        Era::Modern => {
            let stated = result.cache_hints();
            result = result.cached(stated);
        }
        Era::Legacy => {
            if !result.states_cache_hints() && hints != Default::default() {
                result = result.cached(hints);
            }
        }
    }
    let stamped = take_meta(definition, version, &mut result.meta, &mut result.result_type);
    write_stamped(definition, version, stamped, &result, out);
}

/// A completion, at most 100 values of it.
#[inline(never)]
fn write_completion(mut completion: Completion, out: &mut Vec<u8>) {
    completion.truncate();
    let mut object = ObjectWriter::new(out);
    object.value("completion", &completion);
    object.end();
}

/// A page of a dynamic list.
#[inline(never)]
fn write_page(definition: &Definition, version: Version, list: List, page: &ListPage) -> Bytes {
    let items: Vec<_> = page.items.iter().map(Json::as_bytes).collect();
    pages::page(definition, version, list, &items, page.next_cursor.as_deref())
}

/// The answer to a subscription, which only legacy revisions have.
#[inline(never)]
fn write_empty(meta: Option<&Json>, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::new(out);
    if let Some(meta) = meta {
        object.raw("_meta", meta.get());
    }
    object.end();
}

/// A result that goes out as it is, but for the modern members that it lacks.
#[inline(never)]
fn write_raw(definition: &Definition, version: Version, raw: &Json, out: &mut Vec<u8>) {
    if version.era() == Era::Legacy {
        append(out, raw.as_bytes());
        return;
    }
    let depth = definition.policy.limits.json_depth;
    let members = Members::of(raw, depth).ok().filter(Members::is_object);
    let Some(members) = members else {
        append(out, raw.as_bytes());
        return;
    };
    let identified = definition.identity_member.is_none() || members.meta_raw(MetaField::ServerInfo).is_some();
    if members.present(Field::Meta).is_none() && !identified {
        append(out, raw.as_bytes());
        let object = ObjectWriter::reopen(out);
        if members.present(Field::ResultType).is_none() {
            object.raw_members(&definition.stamp);
        } else {
            let identity = definition.identity_member.as_ref().map_or("{}", Json::get);
            object.raw_members(&format!("\"_meta\":{{\"{}\":{identity}}}", meta::SERVER_INFO));
        }
        return;
    }
    if identified && members.present(Field::ResultType).is_some() {
        append(out, raw.as_bytes());
        return;
    }
    let mut extra: Extra = raw.parse().unwrap_or_default();
    if members.present(Field::ResultType).is_none() {
        extra.insert("resultType", Json::from_validated("\"complete\"".into()));
    }
    if let (false, Some(identity)) = (identified, &definition.identity_member) {
        let mut meta: Meta = extra.get("_meta").and_then(|meta| meta.parse().ok()).unwrap_or_default();
        meta.insert(meta::SERVER_INFO, identity.clone());
        extra.insert("_meta", Json::from_value(&meta).unwrap_or(Json::EMPTY_OBJECT));
    }
    let _ = serde_json::to_writer(out, &extra);
}

/// Prepares a typed result for its stamp. True if the stamp is in it already, because it has `_meta` of its own.
fn take_meta(
    definition: &Definition,
    version: Version,
    meta: &mut Option<Meta>,
    result_type: &mut Option<ResultType>,
) -> bool {
    *result_type = None;
    let (Era::Modern, Some(meta)) = (version.era(), meta.as_mut()) else { return false };
    *result_type = Some(ResultType::Complete);
    if let (Some(identity), None) = (&definition.identity_member, meta.get(meta::SERVER_INFO)) {
        meta.insert(meta::SERVER_INFO, identity.clone());
    }
    true
}

fn write_stamped<T: Serialize>(
    definition: &Definition,
    version: Version,
    stamped: bool,
    result: &T,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, result).is_err() {
        // Typed results always serialise; an empty object keeps the frame whole if one should not.
        out.truncate(start);
        out.extend_from_slice(b"{}");
    }
    if !stamped {
        stamp_written(definition, version, out);
    }
}

/// The result of a tool that failed in a way that the model may read.
#[inline(never)]
pub(super) fn tool_error(definition: &Definition, version: Version, text: &str, out: &mut Vec<u8>) {
    write_stamped(definition, version, false, &CallToolResult::error(text), out);
}

/// What the peer gets to know of a failure inside a handler.
pub(super) fn failed(expects: &Expects) -> Result<&'static str, ErrorObject> {
    match expects {
        Expects::Tool(_) => Ok("the tool failed"),
        _ => Err(ErrorObject::internal()),
    }
}
