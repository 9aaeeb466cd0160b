//! URI templates (RFC 6570): expansion at all four levels, and matching, which the RFC leaves open.
//!
//! Resource templates name families of resources (*server/resources*, "Resource Templates"). A client expands a
//! template with values; a server is given the URI and must find the template and the values again. Expansion is
//! the RFC's to the letter. Matching is its inverse, made deterministic by the rules below.
//!
//! ```text
//!                parse                    expand(values)
//!  template text ─────► UriTemplate ─────────────────────────► URI
//!                                   ◄─────────────────────────
//!                                       match_uri → Bindings
//! ```
//!
//! # How a URI matches
//!
//! | expression | matches | must be there | does not cross |
//! |---|---|---|---|
//! | `{x}` | one or more characters | yes | `/` `?` `#` |
//! | `{+x}` | one or more characters, reserved ones too | yes | nothing |
//! | `{#x}` | `#` and any characters | no | nothing |
//! | `{.x}` | `.` and characters | no | `/` `?` `#` |
//! | `{/x,y}` | `/` and characters, at most once for each variable | no | `/` `?` `#` |
//! | `{/x*}` | the same, any number of times | no | `?` `#` |
//! | `{;x}` | `;` and pairs, in any order | no | `/` `?` `#` |
//! | `{?x}` `{&x}` | `?` or `&` and pairs, in any order | no | `#` |
//!
//! `{x}`, `{.x}` and `{/x}` do not cross `&` either if it stands between pairs: behind a `?` of the template, and
//! everywhere if the template has a `{&…}`; nor `;` if it has a `{;…}`. Any other raw character may stand in a
//! value, though expansion would encode it: peers do not all encode what they should.
//!
//! 1. **Leftmost, longest.** Expressions are taken from left to right. Each takes as many characters as leave a
//!    match for the rest, and one that may be absent is present if it can be.
//! 2. **One value for each variable.** In `{x,y}` the values between the commas go to the variables in order;
//!    variables without one are not bound. Values too many go to the exploded variable, or else to the last one.
//! 3. **Shape.** A raw comma within a value that was not reserved-expanded (`+`, `#`) separates a list. An exploded
//!    variable is always a list or a map: a map if every item has a raw `=` (in pairs: a name other than the
//!    variable's), a list otherwise. Unknown names of pairs go to an exploded variable; without one, and when a
//!    name occurs twice, nothing matches.
//! 4. **A prefix** (`{x:3}`) takes up to three characters. A variable that occurs more than once must have one
//!    value, of which its prefixes are prefixes; other ways of cutting the URI are not tried for that.
//! 5. **Decoding.** Values are percent-decoded exactly once, after matching, so `%2F` may put a `/` into `{x}`: a
//!    handler that makes file names of values must check them. A `%` without two hexadecimal digits anywhere, or
//!    a value that is not UTF-8 when decoded, does not match. No cut goes through an encoded character.
//! 6. **Spelling.** Literals match as they are written: `a` is not `%61`. Only the case of hexadecimal digits and
//!    the encoding of characters beyond ASCII (`é`, `%C3%A9`) do not count.
//!
//! For every template whose unmarked expressions have values that are not empty, and whose cuts are unambiguous,
//! `match_uri(expand(values))` gives `values`.
//!
//! # What it costs
//!
//! No backtracking: for each piece of the template one pass over the URI finds where the rest can match, and one
//! walk from the left picks. The work grows with *characters of the URI* × *expressions and variables of the
//! template*, whatever either holds, and the memory is a bit for each character and each piece.
//!
//! What is left to the caller: which of several templates to try first, whether a variable may stay unbound, and
//! what a value may be.

use std::fmt;
use std::str::FromStr;

mod bind;
mod expand;
mod matching;
mod parse;
mod steps;
mod unit;
mod value;

#[cfg(test)]
mod tests;

pub use expand::ExpandError;
pub use parse::TemplateError;
pub use value::{Bindings, Value};

use matching::Program;
use parse::Part;

/// The longest template, in bytes. 4 KiB: templates are written by hand.
pub const MAX_TEMPLATE_BYTES: usize = 4_096;
/// The most expressions in a template. 64.
pub const MAX_EXPRESSIONS: usize = 64;
/// The most variables in all expressions of a template, repeated ones counted again. 256.
pub const MAX_VARIABLES: usize = 256;
/// The longest URI that is matched or made by expansion, in bytes. 16 KiB: twice what common HTTP servers take.
pub const MAX_URI_BYTES: usize = 16_384;

/// A parsed URI template.
///
/// Two templates are equal if their texts are.
///
/// ```
/// # use mcp_sansio::uri_template::{Bindings, UriTemplate};
/// let template = UriTemplate::parse("repo://{owner}/{name}/tree{/path*}{?ref}")?;
/// let bound = template.match_uri("repo://ada/engine/tree/src/lib.rs?ref=main").expect("a match");
/// assert_eq!(bound.text("owner"), Some("ada"));
/// assert_eq!(bound.list("path"), Some(&["src".to_owned(), "lib.rs".to_owned()][..]));
/// assert_eq!(bound.text("ref"), Some("main"));
///
/// let values = Bindings::from_iter([("owner", "ada"), ("name", "note 1")]);
/// assert_eq!(template.expand(&values)?, "repo://ada/note%201/tree");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct UriTemplate {
    text: String,
    parts: Vec<Part>,
    program: Program,
    variables: Vec<String>,
    literal_prefix: String,
}

impl UriTemplate {
    /// Parses `text`.
    ///
    /// # Errors
    /// Where `text` is not a template, with the byte; or the bound that it passes. Operators that RFC 6570
    /// reserves (`=`, `,`, `!`, `@`, `|`) are refused.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let parts = parse::parse(text)?;
        let mut variables: Vec<String> = Vec::new();
        for variable in parts.iter().flat_map(Part::variables) {
            if !variables.contains(&variable.name) {
                variables.push(variable.name.clone());
            }
        }
        Ok(Self {
            text: text.to_owned(),
            program: Program::new(&parts),
            literal_prefix: parse::literal_prefix(&parts),
            variables,
            parts,
        })
    }

    /// The text that was parsed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of the variables, each once, in the order in which they first occur.
    #[must_use]
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The ASCII text that the template begins with, up to the first expression or encoded character. Every URI
    /// that matches begins with it, byte for byte, so it can sort and preselect templates.
    #[must_use]
    pub fn literal_prefix(&self) -> &str {
        &self.literal_prefix
    }

    /// The URI that the template makes of `values`. Variables without a value, or with an empty list or map, are
    /// undefined and leave nothing behind; values that the template does not name are ignored.
    ///
    /// # Errors
    /// When a variable with a prefix has a list or a map, which the RFC does not define, or the URI would be
    /// longer than [`MAX_URI_BYTES`].
    pub fn expand(&self, values: &Bindings) -> Result<String, ExpandError> {
        expand::expand(&self.parts, values)
    }

    /// The values of the variables with which the template makes `uri`; `None` if there are none, by the rules of
    /// the [module](self), or if `uri` is longer than [`MAX_URI_BYTES`].
    #[must_use]
    pub fn match_uri(&self, uri: &str) -> Option<Bindings> {
        if uri.len() > MAX_URI_BYTES || !uri.starts_with(&self.literal_prefix) {
            return None;
        }
        let units = unit::split(uri)?;
        let captures = self.program.run(&units)?;
        bind::bind(&self.parts, &units, &captures)
    }
}

impl fmt::Debug for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UriTemplate").field(&self.text).finish()
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for UriTemplate {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl PartialEq for UriTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for UriTemplate {}
