//! What a handler takes: its own types, or JSON.
//!
//! | a handler's first argument | its schema |
//! |---|---|
//! | a type with `Deserialize` and `JsonSchema` | derived, unless the tool has one (feature `schema`) |
//! | [`Args<T>`], `T` with `Deserialize` | what the tool says |
//! | [`Json`], `serde_json::Value` | what the tool says |
//! | [`NoArguments`] | an object |

use mcp_sansio::json::Json;
use serde::de::DeserializeOwned;

/// What a handler can take. `M` only tells the implementations apart; it is always inferred.
pub trait Arguments<M>: Sized + Send + 'static {
    /// The schema of the type, if it has one.
    fn schema() -> Option<Json>;

    /// Reads the arguments, an object.
    ///
    /// # Errors
    /// When they have another shape.
    fn read(arguments: Json) -> Result<Self, serde_json::Error>;
}

/// Marks types whose schema is derived.
#[derive(Debug)]
#[non_exhaustive]
pub struct Derived;

/// Marks types without a schema of their own.
#[derive(Debug)]
#[non_exhaustive]
pub struct Plain;

/// Arguments of a type without a derived schema: the tool states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args<T>(pub T);

/// For handlers that take nothing. Members that come anyway are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoArguments;

#[cfg(feature = "schema")]
impl<T: DeserializeOwned + schemars::JsonSchema + Send + 'static> Arguments<Derived> for T {
    fn schema() -> Option<Json> {
        schema_of::<T>()
    }

    fn read(arguments: Json) -> Result<Self, serde_json::Error> {
        arguments.parse()
    }
}

/// The JSON Schema of a type, as the author of its derive wrote it.
#[cfg(feature = "schema")]
#[must_use]
pub fn schema_of<T: schemars::JsonSchema>() -> Option<Json> {
    let schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
    // `true` and `false` say nothing about an object; `serde_json::Value` derives such a one.
    let object = schema.as_object()?;
    let says_more = object.keys().any(|keyword| keyword != "$schema" && keyword != "title");
    if says_more { Json::from_value(&schema).ok() } else { None }
}

/// Schemas of a tool, from types.
#[cfg(feature = "schema")]
pub trait ToolSchemas: Sized {
    /// States the schema of the arguments: that of `T`.
    #[must_use]
    fn takes<T: schemars::JsonSchema>(self) -> Self;

    /// States the schema of the structured result: that of `T`.
    #[must_use]
    fn answers<T: schemars::JsonSchema>(self) -> Self;
}

#[cfg(feature = "schema")]
impl ToolSchemas for mcp_sansio::model::Tool {
    fn takes<T: schemars::JsonSchema>(mut self) -> Self {
        if let Some(schema) = schema_of::<T>() {
            self.input_schema = schema;
        }
        self
    }

    fn answers<T: schemars::JsonSchema>(mut self) -> Self {
        self.output_schema = schema_of::<T>();
        self
    }
}

impl Arguments<Plain> for Json {
    fn schema() -> Option<Json> {
        None
    }

    fn read(arguments: Json) -> Result<Self, serde_json::Error> {
        Ok(arguments)
    }
}

#[cfg(not(feature = "schema"))]
impl Arguments<Plain> for serde_json::Value {
    fn schema() -> Option<Json> {
        None
    }

    fn read(arguments: Json) -> Result<Self, serde_json::Error> {
        arguments.parse()
    }
}

impl<T: DeserializeOwned + Send + 'static> Arguments<Plain> for Args<T> {
    fn schema() -> Option<Json> {
        None
    }

    fn read(arguments: Json) -> Result<Self, serde_json::Error> {
        arguments.parse().map(Self)
    }
}

impl Arguments<Plain> for NoArguments {
    fn schema() -> Option<Json> {
        None
    }

    fn read(_: Json) -> Result<Self, serde_json::Error> {
        Ok(Self)
    }
}
