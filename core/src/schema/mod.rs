//! JSON Schema: tool arguments, structured content, elicitation forms, header annotations.
//!
//! Specification: *JSON Schema Usage* (`basic/index`), *Tools* (`server/tools`), *Elicitation*
//! (`client/elicitation`), *Custom Headers from Tool Parameters* (`basic/transports/streamable-http`).
//!
//! | part | decides |
//! |---|---|
//! | [`Schema`] | whether a value matches a schema, in 2020-12 or the older dialect that the schema declares |
//! | [`elicitation`] | the flat forms that a server may ask a user to fill in |
//! | [`mirror`] | which arguments travel as HTTP headers too |
//! | [`root`] | how the root of a tool's schema is completed before it is published |
//!
//! ```text
//! Json ─▶ document ─▶ build ─▶ Schema          refused: unknown dialects, foreign references, circles,
//!         (keywords,  (nodes)     │             whatever the dialect's meta-schema forbids, too much of anything
//!          names)                 ▼
//!                  Value ─▶ evaluation ─▶ Ok | Invalid | BudgetExceeded
//! ```
//!
//! # Bounds
//!
//! Depth and number of subschemas are bounded when a schema is compiled, work when it is applied: sixty levels of
//! two alternatives are a small document and 2⁶⁰ applications. No general validator can be stopped in the middle,
//! so the evaluator is our own and counts its [steps](SchemaLimits::steps); regular expressions run on automata
//! under the same count.
//!
//! # Dialects
//!
//! `$schema` may name draft-04, -06, -07, 2019-09 or 2020-12; without it a schema is 2020-12. `format` and the
//! `content…` keywords are annotations in all of them. `dependencies` is obeyed in all of them. References stay
//! within the document (`#…`, `$id`, `$anchor`, `$dynamicAnchor`); there is no way to load anything.
//!
//! Left to the caller: when to compile (once per definition), what to tell the peer, and what to do with a schema
//! that is refused. A client never fails a list because of one: it reports the tool's schema as unusable.

mod build;
mod dialect;
mod document;
pub mod elicitation;
mod equal;
mod evaluate;
mod flat;
mod members;
pub mod mirror;
mod node;
mod number;
mod pattern;
mod problem;
pub mod root;
mod steps;
mod uri;

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

pub use self::dialect::Dialect;
pub use self::pattern::PatternError;
pub use self::problem::{Invalid, Problem};

use self::document::Document;
use self::evaluate::Evaluation;
use self::flat::Flat;
use self::node::Graph;
use self::steps::Exhausted;
use crate::json::Json;

/// Bounds of schemas and validations.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaLimits {
    /// Schemas within schemas, as they are written.
    pub depth: usize,
    /// Schemas in one document.
    pub subschemas: usize,
    /// States of the automata that all patterns of one document are compiled to. They take 16 bytes each, and a
    /// pattern about one per character; `{1000}` multiplies.
    pub pattern_states: usize,
    /// Steps of one validation, its error messages included. A step takes 10 ns as a rule and 100 ns at most.
    pub steps: u64,
    /// Arrays and objects within each other in a value that is still text. More than 127 is never accepted.
    pub value_depth: usize,
    /// Problems that an [`Invalid`] holds.
    pub problems: usize,
}

impl SchemaLimits {
    /// Default of [`depth`](Self::depth).
    pub const DEPTH: usize = 64;
    /// Default of [`subschemas`](Self::subschemas).
    pub const SUBSCHEMAS: usize = 10_000;
    /// Default of [`pattern_states`](Self::pattern_states).
    pub const PATTERN_STATES: usize = 200_000;
    /// Default of [`steps`](Self::steps).
    pub const STEPS: u64 = 1_000_000;
    /// Default of [`value_depth`](Self::value_depth).
    pub const VALUE_DEPTH: usize = 64;
    /// Default of [`problems`](Self::problems).
    pub const PROBLEMS: usize = 8;
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            depth: Self::DEPTH,
            subschemas: Self::SUBSCHEMAS,
            pattern_states: Self::PATTERN_STATES,
            steps: Self::STEPS,
            value_depth: Self::VALUE_DEPTH,
            problems: Self::PROBLEMS,
        }
    }
}

/// Why a schema cannot be used. Places are JSON pointers into the schema, shortened if they are long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// References lead back to the same schema without looking at any part of the value.
    #[error("schema at {location:?} refers to itself without consuming anything")]
    CircularReference {
        /// A schema on the circle.
        location: String,
    },
    /// Too many schemas apply one within the other to the same value.
    #[error("schema at {location:?} applies more than {limit} schemas within each other to one value")]
    ChainTooLong {
        /// The bound that was hit.
        limit: usize,
        /// Where the chain begins.
        location: String,
    },
    /// The value of a keyword is not what the dialect asks for.
    #[error("schema keyword at {location:?} must be {expected}")]
    InvalidKeyword {
        /// The keyword.
        location: String,
        /// What its value must be.
        expected: &'static str,
    },
    /// A regular expression cannot be used.
    #[error("pattern at {location:?}: {source}")]
    InvalidPattern {
        /// The keyword that holds it.
        location: String,
        /// What is wrong with it.
        source: PatternError,
    },
    /// Something other than an object or a boolean stands where a schema should.
    #[error("value at {location:?} is not a schema")]
    NotASchema {
        /// The value.
        location: String,
    },
    /// A `$id` or `$ref` is too long to be resolved.
    #[error("name or reference at {location:?} is longer than {limit} bytes")]
    ReferenceTooLong {
        /// The bound that was hit.
        limit: usize,
        /// The schema that holds it.
        location: String,
    },
    /// A reference leads out of the document. Nothing is ever loaded.
    #[error("schema at {location:?} refers to {reference:?} outside of its document")]
    RemoteReference {
        /// The reference as it is written.
        reference: String,
        /// The schema that holds it.
        location: String,
    },
    /// Schemas are nested too deep, or the text is.
    #[error("schema is nested deeper than {limit} levels")]
    TooDeep {
        /// The bound that was hit.
        limit: usize,
    },
    /// The document has too many schemas.
    #[error("schema has more than {limit} subschemas")]
    TooManySubschemas {
        /// The bound that was hit.
        limit: usize,
    },
    /// `$schema` names a dialect that is not known.
    #[error("schema dialect {dialect:?} is not supported")]
    UnknownDialect {
        /// The value of `$schema`.
        dialect: String,
    },
    /// The text is no JSON that can be represented, such as a number out of range.
    #[error("schema cannot be read: {reason}")]
    Unreadable {
        /// What the parser found.
        reason: String,
    },
    /// A reference within the document leads nowhere.
    #[error("schema at {location:?} refers to {reference:?}, which does not exist")]
    UnresolvedReference {
        /// The reference as it is written.
        reference: String,
        /// The schema that holds it.
        location: String,
    },
}

/// Why a value was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValidateError {
    /// It does not match.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Whether it matches could not be found out within the bounds.
    #[error(transparent)]
    BudgetExceeded(#[from] BudgetExceeded),
    /// Its text is nested too deep to be read.
    #[error("value is nested deeper than {limit} levels")]
    TooDeep {
        /// The bound that was hit.
        limit: usize,
    },
    /// Its text cannot be represented, such as a number out of range.
    #[error("value cannot be read")]
    Unreadable,
}

/// A validation that was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("validation needs more than {limit} {bound}")]
pub struct BudgetExceeded {
    /// The bound that was hit.
    pub bound: Bound,
    /// Its value.
    pub limit: u64,
}

/// What bounds a validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bound {
    /// Schemas applied within schemas.
    Depth,
    /// [`SchemaLimits::steps`].
    Steps,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Depth => "schemas within each other (depth)",
            Self::Steps => "steps",
        })
    }
}

/// A compiled schema. It is immutable, and shared between threads by reference.
///
/// ```
/// use mcp_sansio::json::Json;
/// use mcp_sansio::schema::{Schema, SchemaLimits, ValidateError};
/// use serde_json::json;
///
/// let text = r#"{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}"#;
/// let schema = Schema::compile(&Json::from_text(text)?, &SchemaLimits::default())?;
/// assert_eq!(schema.validate(&json!({"a": 1})), Ok(()));
///
/// let error = schema.validate(&json!({"a": "secret"})).unwrap_err();
/// assert_eq!(error.to_string(), "a: expected type integer");
/// assert!(matches!(error, ValidateError::Invalid(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Schema {
    graph: Graph,
    flat: Option<Flat>,
    dialect: Dialect,
    limits: SchemaLimits,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Everything that would make an answer impossible later: see [`SchemaError`].
    pub fn compile(raw: &Json, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        if nesting(raw.as_bytes()) > PARSER_DEPTH {
            return Err(SchemaError::TooDeep { limit: PARSER_DEPTH });
        }
        let root: Value = raw.parse().map_err(|error| SchemaError::Unreadable { reason: error.to_string() })?;
        let mut document = Document::read(&root, limits)?;
        let graph = build::build(&mut document, &root)?;
        Ok(Self { flat: Flat::of(&graph), graph, dialect: document.dialect_of(0), limits: limits.clone() })
    }

    /// The dialect that the schema declares, or 2020-12.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whether `value` matches.
    ///
    /// # Errors
    /// [`Invalid`] if it does not, [`BudgetExceeded`] if that takes too long to find out.
    pub fn validate(&self, value: &Value) -> Result<(), ValidateError> {
        self.validate_within(value, self.limits.steps).map(|_| ())
    }

    /// Reads `raw` and validates what it says.
    ///
    /// # Errors
    /// As [`validate`](Self::validate), and [`ValidateError::TooDeep`] before anything is read.
    pub fn validate_json(&self, raw: &Json) -> Result<Value, ValidateError> {
        let limit = self.limits.value_depth.min(PARSER_DEPTH);
        if nesting(raw.as_bytes()) > limit {
            return Err(ValidateError::TooDeep { limit });
        }
        let value: Value = raw.parse().map_err(|_| ValidateError::Unreadable)?;
        self.validate(&value)?;
        Ok(value)
    }

    /// Validates what `raw` says, without reading more of it than that takes.
    ///
    /// # Errors
    /// As [`validate_json`](Self::validate_json).
    pub fn check_json(&self, raw: &Json) -> Result<(), ValidateError> {
        if self.flat.is_some_and(|flat| flat.fits(&self.graph, raw.as_bytes())) {
            return Ok(());
        }
        self.validate_json(raw).map(drop)
    }

    /// Validates with `steps` and answers how many are left.
    fn validate_within(&self, value: &Value, steps: u64) -> Result<u64, ValidateError> {
        let mut evaluation = Evaluation::new(&self.graph, steps);
        match evaluation.matches(value) {
            Ok(true) => Ok(evaluation.steps_left()),
            Ok(false) => {
                let collected = evaluation.collect(value, self.limits.problems);
                Err(Invalid::new(collected.problems, collected.complete).into())
            }
            Err(Exhausted::Steps) => Err(BudgetExceeded { bound: Bound::Steps, limit: steps }.into()),
            Err(Exhausted::Depth) => Err(BudgetExceeded { bound: Bound::Depth, limit: evaluate::DEPTH as u64 }.into()),
        }
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema")
            .field("dialect", &self.dialect)
            .field("subschemas", &self.graph.nodes().len())
            .finish_non_exhaustive()
    }
}

/// Depth that the JSON parser accepts whatever is asked for.
const PARSER_DEPTH: usize = 127;

/// How deep arrays and objects are nested in a valid JSON text. Stops counting soon after [`PARSER_DEPTH`].
fn nesting(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
                if deepest > PARSER_DEPTH {
                    break;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    deepest
}

fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => break,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}
