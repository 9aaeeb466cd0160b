//! Answering the server: questions to the user, to the model, for roots, and requests of other methods.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use mcp_sansio::client::{InputAnswer, InputId, InputNeeded};
use mcp_sansio::error::ErrorObject;
#[cfg(feature = "http")]
use mcp_sansio::http::client::Unauthorized;
use mcp_sansio::ids::CallId;
use mcp_sansio::json::Json;
use mcp_sansio::model::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams,
    InputRequest, ListRootsResult, Root,
};

use crate::runtime::BoxFuture;
use crate::server::HandlerError;

/// The circumstances of a question.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asked {
    /// Its name, for [`Client::supply_input`](super::Client::supply_input).
    pub input: InputId,
    /// The call that it is asked for; a legacy server does not say.
    pub call: Option<CallId>,
    /// The server's key for it; empty in the legacy era.
    pub key: String,
    /// The params as they came.
    pub raw: Json,
}

/// The answer to a question.
pub trait IntoInputAnswer {
    /// The answer for the machine.
    ///
    /// # Errors
    /// What the handler failed with.
    fn into_answer(self) -> Result<InputAnswer, HandlerError>;
}

impl IntoInputAnswer for InputAnswer {
    fn into_answer(self) -> Result<InputAnswer, HandlerError> {
        Ok(self)
    }
}

impl IntoInputAnswer for ElicitResult {
    fn into_answer(self) -> Result<InputAnswer, HandlerError> {
        Ok(InputAnswer::Elicit(self))
    }
}

impl IntoInputAnswer for CreateMessageResult {
    fn into_answer(self) -> Result<InputAnswer, HandlerError> {
        Ok(InputAnswer::Sample(Box::new(self)))
    }
}

impl IntoInputAnswer for ListRootsResult {
    fn into_answer(self) -> Result<InputAnswer, HandlerError> {
        Ok(InputAnswer::Roots(self))
    }
}

impl IntoInputAnswer for Vec<Root> {
    fn into_answer(self) -> Result<InputAnswer, HandlerError> {
        Ok(InputAnswer::Roots(ListRootsResult::new(self)))
    }
}

impl<T: IntoInputAnswer> IntoInputAnswer for Result<T, HandlerError> {
    fn into_answer(self) -> Result<InputAnswer, HandlerError> {
        self?.into_answer()
    }
}

type Answering = BoxFuture<'static, Result<InputAnswer, HandlerError>>;
type Question<P> = Box<dyn Fn(P, Asked) -> Answering + Send + Sync>;
/// Gets credentials.
#[cfg(feature = "http")]
pub(super) type Credentials = Box<dyn Fn(Unauthorized) -> BoxFuture<'static, Option<bytes::Bytes>> + Send + Sync>;
pub(super) type RawHandler = Box<dyn Fn(Json) -> BoxFuture<'static, Result<Json, HandlerError>> + Send + Sync>;

/// The handlers of a client.
#[derive(Default)]
pub(super) struct Handlers {
    #[cfg(feature = "http")]
    pub(super) credentials: Option<Credentials>,
    pub(super) form: Option<Question<ElicitFormParams>>,
    pub(super) url: Option<Question<ElicitUrlParams>>,
    pub(super) sample: Option<Question<CreateMessageParams>>,
    pub(super) roots: Option<Question<()>>,
    /// Answers what none of those above is there for.
    pub(super) any: Option<Question<InputRequest>>,
    pub(super) methods: BTreeMap<Box<str>, RawHandler>,
}

pub(super) fn question<P, F, Fut>(handler: F) -> Question<P>
where
    P: 'static,
    F: Fn(P, Asked) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    Fut::Output: IntoInputAnswer,
{
    Box::new(move |params, asked| {
        let work = handler(params, asked);
        Box::pin(async move { work.await.into_answer() })
    })
}

impl Handlers {
    /// Calls the code that answers a question.
    pub(super) fn answer(&self, needed: InputNeeded) -> Answering {
        let InputNeeded { input, call, key, request, raw, .. } = needed;
        let asked = Asked { input, call, key, raw };
        match (request, self) {
            (InputRequest::Elicit(ElicitParams::Form(params)), Self { form: Some(handler), .. }) => {
                handler(params, asked)
            }
            (InputRequest::Elicit(ElicitParams::Url(params)), Self { url: Some(handler), .. }) => {
                handler(params, asked)
            }
            (InputRequest::Sample(params), Self { sample: Some(handler), .. }) => handler(*params, asked),
            (InputRequest::Roots(_), Self { roots: Some(handler), .. }) => handler((), asked),
            (request, Self { any: Some(handler), .. }) => handler(request, asked),
            // The machine refuses what was not declared; this is declared without a handler.
            _ => Box::pin(std::future::ready(Ok(InputAnswer::Refused(ErrorObject::internal())))),
        }
    }
}

/// A list of roots that may change: [`Client::roots_changed`](super::Client::roots_changed) tells the server.
pub(super) type Roots = Arc<dyn Fn() -> Vec<Root> + Send + Sync>;
