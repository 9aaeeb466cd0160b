//! Why a handler has no result, and what of it the client may know.
//!
//! | made by | the client sees | the error reporter sees |
//! |---|---|---|
//! | `?` on any error | a generic failure | the error |
//! | [`HandlerError::shown`], `?` on a [`Shown`] | the text: a failed tool result, or an internal error | nothing |
//! | [`HandlerError::protocol`], `?` on an [`ErrorObject`] | code, message and data as given | nothing |
//! | `?` on [`InputError::Invalid`] | that its answer is not valid | nothing |
//!
//! So nothing from inside a handler reaches a client unless the handler chose it.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use mcp_sansio::error::ErrorObject;
use mcp_sansio::model::CallToolResult;
use mcp_sansio::server::Reply;
use mcp_sansio::spec::ErrorCode;

use super::ask::InputError;

/// Why a handler has no result. Every error converts into it, so that `?` works in a handler.
///
/// For an error type that is no [`Error`] itself, such as `anyhow::Error`, there is [`HandlerError::hidden`].
pub struct HandlerError(Kind);

enum Kind {
    Shown(Cow<'static, str>),
    Protocol(Box<ErrorObject>),
    Hidden(Box<dyn Error + Send + Sync>),
}

/// An error whose text is meant for the client, and for the model behind it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Shown(pub Cow<'static, str>);

impl Shown {
    /// An error with this text.
    #[must_use]
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(text.into())
    }
}

impl HandlerError {
    /// A failure whose text is meant for the client.
    #[must_use]
    pub fn shown(text: impl Into<Cow<'static, str>>) -> Self {
        Self(Kind::Shown(text.into()))
    }

    /// An error of the protocol: code, message and data go out as they are, from tools too.
    #[must_use]
    pub fn protocol(error: ErrorObject) -> Self {
        Self(Kind::Protocol(Box::new(error)))
    }

    /// A failure that is nobody's business: the client gets a generic text, the error reporter gets the error.
    #[must_use]
    pub fn hidden(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Kind::Hidden(error.into()))
    }

    /// The reply to a request, and what is left for the error reporter.
    pub(crate) fn into_reply(self, tool: bool) -> (Reply, Option<Box<dyn Error + Send + Sync>>) {
        match self.0 {
            Kind::Shown(text) if tool => (Reply::Tool(CallToolResult::error(text)), None),
            Kind::Shown(text) => (Reply::Error(ErrorObject::new(ErrorCode::INTERNAL_ERROR, text)), None),
            Kind::Protocol(error) => (Reply::Error(*error), None),
            Kind::Hidden(error) => (Reply::Failed, Some(error)),
        }
    }

    /// The error object for a place where only an error can be answered.
    pub(crate) fn into_object(self) -> (ErrorObject, Option<Box<dyn Error + Send + Sync>>) {
        match self.0 {
            Kind::Shown(text) => (ErrorObject::new(ErrorCode::INTERNAL_ERROR, text), None),
            Kind::Protocol(error) => (*error, None),
            Kind::Hidden(error) => (ErrorObject::internal(), Some(error)),
        }
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for HandlerError {
    fn from(error: E) -> Self {
        let error: Box<dyn Error + Send + Sync> = Box::new(error);
        let error = match error.downcast::<ErrorObject>() {
            Ok(object) => return Self(Kind::Protocol(object)),
            Err(error) => error,
        };
        let error = match error.downcast::<Shown>() {
            Ok(shown) => return Self(Kind::Shown(shown.0)),
            Err(error) => error,
        };
        match error.downcast::<InputError>() {
            Ok(error) => match *error {
                InputError::Invalid(object) => Self::protocol(object),
                refused @ InputError::Refused(_) => Self(Kind::Hidden(Box::new(refused))),
            },
            Err(error) => Self(Kind::Hidden(error)),
        }
    }
}

impl fmt::Debug for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Shown(text) => f.debug_tuple("Shown").field(text).finish(),
            Kind::Protocol(error) => f.debug_tuple("Protocol").field(error).finish(),
            Kind::Hidden(error) => f.debug_tuple("Hidden").field(error).finish(),
        }
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Shown(text) => f.write_str(text),
            Kind::Protocol(error) => error.fmt(f),
            Kind::Hidden(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails<E: Error + Send + Sync + 'static>(error: E) -> Result<(), HandlerError> {
        Err(error)?;
        Ok(())
    }

    #[test]
    fn any_error_is_hidden_and_reported() {
        let error = fails(std::io::Error::other("secret path")).unwrap_err();
        let (reply, source) = error.into_reply(true);
        assert!(matches!(reply, Reply::Failed));
        assert_eq!(source.unwrap().to_string(), "secret path");
    }

    #[test]
    fn errors_meant_for_the_client_keep_their_text() {
        let (reply, source) = fails(Shown::new("no such city")).unwrap_err().into_reply(true);
        assert!(source.is_none());
        let Reply::Tool(result) = reply else { panic!("{reply:?}") };
        assert!(result.failed());
        assert_eq!(result.joined_text(), "no such city");

        let (reply, _) = fails(Shown::new("no such city")).unwrap_err().into_reply(false);
        let Reply::Error(object) = reply else { panic!("{reply:?}") };
        assert_eq!((object.code, &*object.message), (ErrorCode::INTERNAL_ERROR, "no such city"));
    }

    #[test]
    fn errors_of_the_protocol_pass_through_the_question_mark() {
        let (reply, source) = fails(ErrorObject::invalid_params("which?")).unwrap_err().into_reply(true);
        assert!(source.is_none());
        let Reply::Error(object) = reply else { panic!("{reply:?}") };
        assert_eq!(object.code, ErrorCode::INVALID_PARAMS);
    }
}
