//! What a machine noticed and a person may want to know. Not errors: the machine has dealt with them.
//!
//! Diagnostics name causes, bounds and ids, never values of arguments, tokens or state.

use std::borrow::Cow;
use std::fmt;

use crate::ids::RequestId;
use crate::limits::Bound;

/// A remark about the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// What kind of thing happened.
    pub kind: DiagnosticKind,
    /// The request that it concerns, where it concerns one.
    pub id: Option<RequestId>,
    /// A sentence for people.
    pub text: Cow<'static, str>,
}

/// The kinds of remarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// A frame that is no message.
    InvalidFrame,
    /// A message that nothing waits for, or that may not be sent now; it was ignored.
    Ignored,
    /// A request was refused.
    Refused,
    /// A bound was hit.
    Limit(Bound),
    /// A deprecated feature was used; said once for each.
    Deprecated,
    /// `requestState` did not open.
    RequestState,
    /// A result does not keep the promise of a schema.
    Output,
    /// A reply came too late, for a request that was cancelled.
    Muted,
    /// Something the specification advises against.
    Advice,
    /// An HTTP exchange that no call waits for went wrong.
    Exchange,
    /// A tool was left out of a list, because its annotations break the rules.
    ToolDropped,
}

impl Diagnostic {
    #[cold]
    pub(crate) fn new(kind: DiagnosticKind, text: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, id: None, text: text.into() }
    }

    pub(crate) fn of(mut self, id: &RequestId) -> Self {
        self.id = Some(id.clone());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.id {
            Some(id) => write!(f, " (request {id})"),
            None => Ok(()),
        }
    }
}
