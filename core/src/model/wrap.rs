//! Wrapping structured content and its schema as `{"result": …}` for revisions that carry objects only.
//!
//! A schema that moves from the root of its document to `/properties/result` takes its references along:
//!
//! ```text
//!   {"$schema":S,"items":{"$ref":"#/$defs/a"},"$defs":{…}}
//!   {"$schema":S,"type":"object","properties":{"result":
//!       {"items":{"$ref":"#/properties/result/$defs/a"},"$defs":{…}}},"required":["result"]}
//! ```
//!
//! A root with an `$id` is the base of its own references and moves unchanged. An `$id` further inside would need
//! real resolution; such a schema is not wrapped. References are found in one pass over the text: members that are
//! data (`const`, `enum`, `default`, `examples`) and names of properties are told from keywords.

use super::Extra;
use crate::json::Json;

/// `{"result": value}`.
pub(crate) fn wrap_value(value: &Json) -> Json {
    Json::from_validated(["{\"result\":", value.get(), "}"].concat().into())
}

/// The schema of wrapped values; `None` where the schema cannot be moved.
pub(crate) fn wrap_schema(schema: &Json) -> Option<Json> {
    let mut dialect = String::new();
    let mut inner = schema.clone();
    if schema.is_object() {
        let mut members: Extra = schema.parse().ok()?;
        if let Some(name) = members.remove("$schema") {
            dialect = format!("\"$schema\":{},", name.get());
            inner = Json::from_value(&members).ok()?;
        }
        if !members.contains("$id") {
            inner = Rewriter::new(inner.get()).run()?;
        }
    }
    let text = format!(
        "{{{dialect}\"type\":\"object\",\"properties\":{{\"result\":{}}},\"required\":[\"result\"]}}",
        inner.get()
    );
    Some(Json::from_validated(text.into()))
}

/// What a value in a schema is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A schema, or a list of schemas.
    Schema,
    /// An object whose names are free and whose values are schemas.
    Map,
    /// Anything: not a schema.
    Data,
}

/// An open object or list.
struct Frame {
    kind: Kind,
    is_object: bool,
    /// A name comes next, not a value.
    wants_name: bool,
    /// What the next value is.
    child: Kind,
    /// The next value is the target of a reference.
    is_reference: bool,
}

/// Moves the references of a schema in one pass over its text, which is valid JSON.
struct Rewriter<'a> {
    text: &'a str,
    at: usize,
    out: String,
    copied: usize,
    frames: Vec<Frame>,
}

impl<'a> Rewriter<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0, out: String::with_capacity(text.len() + 64), copied: 0, frames: Vec::new() }
    }

    fn run(mut self) -> Option<Json> {
        while let Some(byte) = self.text.as_bytes().get(self.at) {
            match byte {
                b'{' | b'[' => self.open(*byte == b'{'),
                b'}' | b']' => {
                    self.frames.pop();
                    self.at += 1;
                }
                b',' => {
                    if let Some(frame) = self.frames.last_mut() {
                        frame.wants_name = frame.is_object;
                        frame.is_reference = false;
                    }
                    self.at += 1;
                }
                b'"' => self.string()?,
                // White space, colons, numbers and literals mean nothing here.
                _ => self.at += 1,
            }
        }
        self.out.push_str(self.text.get(self.copied..)?);
        Some(Json::from_validated(self.out.into()))
    }

    fn open(&mut self, is_object: bool) {
        let kind = self.frames.last().map_or(Kind::Schema, |frame| frame.child);
        // What a list holds is what the list is; the list in a map of schemas names properties.
        let child = if kind == Kind::Map { Kind::Schema } else { kind };
        self.frames.push(Frame { kind, is_object, wants_name: is_object, child, is_reference: false });
        self.at += 1;
    }

    fn string(&mut self) -> Option<()> {
        let end = self.end_of_string()?;
        let token = self.text.get(self.at..end)?;
        if let Some(frame) = self.frames.last_mut() {
            if frame.wants_name {
                frame.wants_name = false;
                frame.name(&serde_json::from_str::<String>(token).ok()?)?;
            } else if frame.is_reference {
                let target: String = serde_json::from_str(token).ok()?;
                if target == "#" || target.starts_with("#/") {
                    let moved = format!("#/properties/result{}", target.get(1..)?);
                    self.out.push_str(self.text.get(self.copied..self.at)?);
                    self.out.push_str(&serde_json::to_string(&moved).ok()?);
                    self.copied = end;
                }
            }
        }
        self.at = end;
        Some(())
    }

    /// One past the closing quote of the string that begins here.
    fn end_of_string(&self) -> Option<usize> {
        let mut at = self.at + 1;
        loop {
            match self.text.as_bytes().get(at)? {
                b'"' => return Some(at + 1),
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
    }
}

impl Frame {
    /// Takes the name of a member; `None` where the schema cannot be moved.
    fn name(&mut self, name: &str) -> Option<()> {
        self.child = match self.kind {
            Kind::Data => Kind::Data,
            Kind::Map => Kind::Schema,
            Kind::Schema => match name {
                "$id" => return None,
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    self.is_reference = true;
                    Kind::Data
                }
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies" => {
                    Kind::Map
                }
                "const" | "enum" | "default" | "examples" => Kind::Data,
                _ => Kind::Schema,
            },
        };
        Some(())
    }
}
