//! Whether structured content keeps the promise of its tool.
//!
//! Every `tools/list` answer that passes leaves the output schemas of its tools here, as text. The first result of
//! a tool compiles its schema. A schema that cannot be used fails no list: it is the tool's results that come with
//! the report, and they are never taken as approved.
//!
//! | result | tool's output schema | outcome |
//! |---|---|---|
//! | any | none, or the tool is not known | delivered |
//! | `isError` | any | delivered: an error has a shape of its own |
//! | without structured content | any | reported |
//! | with structured content, a present `null` too | usable | delivered if it fits |
//! | | of an unknown dialect, foreign, too costly | reported |
//!
//! Sources: `server/tools` (Output Schema, Structured Content), `basic/index` (JSON Schema Usage).

use std::borrow::Cow;
use std::collections::BTreeMap;

use memchr::memmem;
use serde_json::value::RawValue;

use super::api::{List, OutputProblem};
use super::core::Core;
use super::request::Request;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::json::Json;
use crate::jsonrpc::{Field, Members};
use crate::limits::Bound;
use crate::schema::{Schema, SchemaError, SchemaLimits, ValidateError};

/// The most bytes of schemas that are kept; the tools that do not fit are not checked.
const BYTES_MOST: usize = 16 << 20;
const OUTPUT_SCHEMA: &str = "outputSchema";

#[derive(Debug)]
enum Promise {
    Compiled(Box<Schema>),
    Text(Json),
    Unusable(OutputProblem),
}

/// The output schemas of the tools that were listed.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    by_tool: BTreeMap<Box<str>, (usize, Promise)>,
    bytes: usize,
}

impl Outputs {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Notes the tools of a page. False if one did not fit.
    fn see(&mut self, tools: &Json) -> bool {
        #[derive(serde::Deserialize)]
        struct Listed<'a> {
            #[serde(borrow)]
            name: super::text::Name<'a>,
            #[serde(borrow, rename = "outputSchema")]
            schema: Option<&'a RawValue>,
        }
        // Most lists have no output schemas, and looking for the word is far cheaper than reading the list.
        if self.by_tool.is_empty() && memmem::find(tools.as_bytes(), OUTPUT_SCHEMA.as_bytes()).is_none() {
            return true;
        }
        let Some(items) = super::text::array(tools) else { return true };
        let mut fits = true;
        for item in &items {
            let Ok(Listed { name, schema }) = item.parse_borrowed::<Listed<'_>>() else { continue };
            match schema.filter(|schema| schema.get() != "null") {
                Some(schema) => fits &= self.keep(&name.0, schema.get()),
                None => self.remove(&name.0),
            }
        }
        fits
    }

    fn keep(&mut self, name: &str, schema: &str) -> bool {
        if let Some((_, Promise::Text(old))) = self.by_tool.get(name)
            && old.get() == schema
        {
            return true;
        }
        self.remove(name);
        if self.bytes + schema.len() > BYTES_MOST {
            return false;
        }
        // A copy, so that a schema does not keep its whole page alive.
        let Ok(text) = Json::from_text(schema) else { return true };
        self.bytes += schema.len();
        self.by_tool.insert(name.into(), (schema.len(), Promise::Text(text)));
        true
    }

    fn remove(&mut self, name: &str) {
        if let Some((bytes, _)) = self.by_tool.remove(name) {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }

    /// Judges the result of a `tools/call`.
    pub(super) fn check(&mut self, request: &Request, result: &Members) -> Result<(), OutputProblem> {
        if self.by_tool.is_empty() || result.raw(Field::IsError) == Some("true") {
            return Ok(());
        }
        let Some(name) = tool_name(request) else { return Ok(()) };
        let Some((_, promise)) = self.by_tool.get_mut(&*name) else { return Ok(()) };
        let content = result.present_value(Field::StructuredContent).ok_or(OutputProblem::Missing)?;
        if let Promise::Text(text) = promise {
            *promise = match Schema::compile(text, &SchemaLimits::default()) {
                Ok(schema) => Promise::Compiled(Box::new(schema)),
                Err(SchemaError::UnknownDialect { dialect }) => {
                    Promise::Unusable(OutputProblem::UnsupportedDialect(dialect))
                }
                Err(error) => Promise::Unusable(OutputProblem::UnusableSchema(error.to_string())),
            };
        }
        match promise {
            Promise::Compiled(schema) => match schema.validate_json(&content) {
                Ok(_) => Ok(()),
                Err(ValidateError::BudgetExceeded(exceeded)) => {
                    Err(OutputProblem::UnusableSchema(exceeded.to_string()))
                }
                Err(error) => Err(OutputProblem::Mismatch(error.to_string())),
            },
            Promise::Unusable(problem) => Err(problem.clone()),
            Promise::Text(_) => Ok(()),
        }
    }
}

/// The tool that a `tools/call` names.
pub(super) fn tool_name(request: &Request) -> Option<Cow<'_, str>> {
    #[derive(serde::Deserialize)]
    struct Call<'a> {
        #[serde(borrow)]
        name: super::text::Name<'a>,
    }
    if let Some(span) = &request.name {
        return request.params.get().get(span.start as usize..span.end as usize).and_then(super::text::string);
    }
    request.params.parse_borrowed::<Call<'_>>().ok().map(|call| call.name.0)
}

impl Core {
    /// A `tools/list` answer passes.
    pub(super) fn see_tools(&mut self, result: &Members) {
        if !self.config.validate_output {
            return;
        }
        let fits = result.value(List::Tools.field()).is_none_or(|tools| self.outputs.see(&tools));
        if !fits {
            let text = "output schemas take too much memory: some tools are not checked";
            self.diagnose(Diagnostic::new(DiagnosticKind::Limit(Bound::CacheEntries), text));
        }
    }
}
