//! What becomes of a notification of the server.
//!
//! | notification | what happens |
//! |---|---|
//! | `progress` | goes to its call, if that is open |
//! | `cancelled` | legacy: ends a request of the server; modern: ends a listen stream, and nothing else |
//! | `subscriptions/acknowledged` | the stream is open |
//! | `…/list_changed`, `resources/updated` | invalidates what is cached, then as below |
//! | `elicitation/complete` of an id that nobody asked about | dropped, as the specification wants |
//! | any other | goes to the application, with its stream if it names one |
//!
//! A listen stream ends with the result of its request, with `cancelled`, or with both in either order: the
//! specification names both, and the first ends the call. Streams are told apart by the subscription id alone, for
//! all of them share one channel. Sources: `basic/patterns/subscriptions`, `basic/patterns/cancellation`.

use super::api::{Action, Answer, AnswerBody};
use super::calls::{Kind, Listen, Phase};
use super::core::{Core, Wire, owned_name};
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::ids::{CallId, RequestId};
use crate::jsonrpc::{Field, Members, MetaField, MethodName};
use crate::machine::Now;
use crate::model::SubscriptionFilter;
use crate::spec::{Era, Method};

/// The most ended streams whose result may still come.
const TORN_MOST: usize = 256;

/// Streams that `cancelled` has ended: their result may follow, and is no surprise.
#[derive(Debug, Default)]
pub(super) struct Torn(Vec<i64>);

impl Torn {
    fn add(&mut self, wire: i64) {
        if self.0.len() >= TORN_MOST {
            self.0.remove(0);
        }
        self.0.push(wire);
    }

    /// Whether an answer to this id belongs to such a stream; true once.
    pub(super) fn take(&mut self, id: &RequestId) -> bool {
        let place = id.as_i64().and_then(|id| self.0.iter().position(|wire| *wire == id));
        place.map(|place| self.0.remove(place)).is_some()
    }
}

impl Core {
    pub(super) fn on_notification(&mut self, now: Now, method: &MethodName, params: Members) {
        if let Err(error) = params.check() {
            return self.diagnose(Diagnostic::new(DiagnosticKind::InvalidFrame, error.to_string()));
        }
        match method {
            MethodName::Known(Method::Progress) => return self.on_progress(now, &params),
            MethodName::Known(Method::Cancelled) => {
                return if self.era() == Some(Era::Legacy) {
                    self.on_cancelled_request(now, &params);
                } else {
                    self.on_cancelled_stream(&params);
                };
            }
            MethodName::Known(Method::SubscriptionsAcknowledged) if self.is_modern() => {
                return self.on_acknowledged(&params);
            }
            MethodName::Known(Method::ElicitationComplete) => {
                #[derive(serde::Deserialize)]
                struct Complete {
                    #[serde(rename = "elicitationId")]
                    id: Box<str>,
                }
                let complete: Option<Complete> = params.json().parse().ok();
                if complete.is_none_or(|complete| !self.elicitations.remove(&complete.id)) {
                    return self.ignore("an elicitation was announced as complete that nobody asked about");
                }
            }
            MethodName::Known(known) => self.invalidate(*known, &params),
            MethodName::Other(_) => {}
        }
        let Ok(subscription) = self.subscription(&params) else {
            return self.ignore("a notification belongs to a stream that is not open");
        };
        self.event(Action::Notified { method: owned_name(method), params: params.json(), subscription });
    }

    /// What a notification makes stale.
    fn invalidate(&mut self, method: Method, params: &Members) {
        match method {
            Method::ToolsListChanged => {
                self.cache.forget(&[Method::ToolsList]);
                self.outputs.clear();
            }
            Method::PromptsListChanged => self.cache.forget(&[Method::PromptsList]),
            Method::ResourcesListChanged => {
                self.cache.forget(&[Method::ResourcesList, Method::ResourcesTemplatesList]);
            }
            Method::ResourcesUpdated => {
                if let Ok(Some(uri)) = params.string(Field::Uri) {
                    self.cache.forget_resource(&uri);
                }
            }
            _ => {}
        }
    }

    /// The open stream that a notification names.
    fn subscription(&mut self, params: &Members) -> Result<Option<CallId>, ()> {
        if !self.is_modern() {
            return Ok(None);
        }
        match params.meta_raw(MetaField::SubscriptionId) {
            None => Ok(None),
            Some(text) => self.stream(text).map(Some).ok_or(()),
        }
    }

    /// The open listen call with this wire id.
    fn stream(&mut self, text: &str) -> Option<CallId> {
        let wire = RequestId::from_json_text(text)?.as_i64()?;
        let Wire::Call(id) = *self.wires.get_mut(wire)? else { return None };
        let call = self.calls.get(id)?;
        matches!(call.kind, Kind::Listen(_)).then_some(id)
    }

    fn on_acknowledged(&mut self, params: &Members) {
        let id = params.meta_raw(MetaField::SubscriptionId).and_then(|text| self.stream(text));
        let Some(id) = id else { return self.ignore("a stream was acknowledged that is not open") };
        let filter: Option<SubscriptionFilter> = params.parse(Field::Notifications, "a filter").ok().flatten();
        let Some(filter) = filter else { return self.ignore("an acknowledgement has no filter") };
        let Some(call) = self.calls.get_mut(id) else { return };
        let Kind::Listen(listen) = &mut call.kind else { return };
        if listen.acknowledged {
            return self.ignore("a stream was acknowledged twice");
        }
        *listen = Listen { acknowledged: true, idle: call.idle.or(listen.idle), broken: None };
        call.idle = None;
        call.idle_at = None;
        self.event(Action::Listening { call: id, filter });
    }

    fn on_cancelled_stream(&mut self, params: &Members) {
        let text = params.raw(Field::RequestId);
        match text.and_then(|text| self.stream(text)) {
            Some(id) => {
                if let Some(Phase::Sent { wire }) = self.calls.get(id).map(|call| &call.phase) {
                    let wire = *wire;
                    self.wires.remove(wire);
                    self.torn.add(wire);
                }
                self.done(id, Ok(Answer { body: AnswerBody::Empty, cached: false }));
            }
            // Of a stream that has ended, it is the other half of the farewell.
            None if text.and_then(RequestId::from_json_text).is_some_and(|id| self.is_ended(&id)) => {}
            None => self.ignore("the server cancelled something that is no open stream"),
        }
    }

    /// Whether a wire id is one of ours whose request has ended.
    pub(super) fn is_ended(&mut self, id: &RequestId) -> bool {
        id.as_i64().is_some_and(|id| 0 < id && id <= self.last_wire && self.wires.get_mut(id).is_none())
    }
}
