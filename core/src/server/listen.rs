//! Listen streams of the modern era. Source: `basic/patterns/subscriptions`.
//!
//! ```text
//!  listen request ──▶ acknowledged (the honoured subset) ──▶ events that pass the filter ──▶ end
//!                                                                  client cancels: silence
//!                                              server closes: on lines `cancelled`, then the result
//! ```
//!
//! Every frame of a stream carries the id of its request, with its JSON type.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::api::Event;
use super::definition::{Definition, Features};
use crate::error::{Error, ErrorObject};
use crate::ids::RequestId;
use crate::jsonrpc::{Field, FieldError, FrameWriter, Members, ObjectWriter};
use crate::limits::Bound;
use crate::model::SubscriptionFilter;
use crate::spec::{Method, meta};

/// What a listen stream delivers: what the client asked for and the server can deliver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: Option<BTreeSet<Box<str>>>,
}

impl Filter {
    pub(super) fn read(definition: &Definition, params: &Members) -> Result<Self, ErrorObject> {
        let wanted: SubscriptionFilter = params
            .parse(Field::Notifications, "a filter of notifications")?
            .ok_or(FieldError::Missing(Field::Notifications.name()))?;
        let features = &definition.features;
        let uris = wanted.resource_subscriptions.filter(|_| features.subscriptions);
        let bound = definition.policy.limits.subscriptions;
        if uris.as_ref().is_some_and(|uris| uris.len() > bound) {
            return Err(Error::limit(Bound::Subscriptions, bound).to_object());
        }
        Ok(Self {
            tools: wanted.tools_list_changed == Some(true) && features.list_changed && features.tools,
            prompts: wanted.prompts_list_changed == Some(true) && features.list_changed && features.prompts,
            resources: wanted.resources_list_changed == Some(true) && features.list_changed && features.resources,
            uris: uris.map(|uris| uris.into_iter().map(String::into_boxed_str).collect()),
        })
    }

    pub(crate) fn passes(&self, event: &Event) -> bool {
        match event {
            Event::PromptsListChanged => self.prompts,
            Event::ResourcesListChanged => self.resources,
            Event::ResourceUpdated { uri } => self.uris.as_ref().is_some_and(|uris| uris.contains(&**uri)),
            Event::ToolsListChanged => self.tools,
        }
    }

    fn write(&self, object: &mut ObjectWriter<'_>) {
        for (name, on) in [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ] {
            if on {
                object.raw(name, "true");
            }
        }
        if let Some(uris) = &self.uris {
            object.value("resourceSubscriptions", uris);
        }
    }
}

/// The first frame of a stream.
pub(super) fn acknowledged(id: &RequestId, filter: &Filter) -> Bytes {
    FrameWriter::notification(Method::SubscriptionsAcknowledged.as_str(), 128).params(|params| {
        write_subscription(params, id);
        params.object("notifications", |object| filter.write(object));
    })
}

/// The last frame but one of a stream that the server ends, where streams share their channel.
pub(super) fn cancelled(id: &RequestId) -> Bytes {
    FrameWriter::notification(Method::Cancelled.as_str(), 64).params(|params| {
        params.id("requestId", id);
    })
}

/// The last frame of a stream that the server ends.
pub(super) fn ended(definition: &Definition, id: &RequestId) -> Bytes {
    let mut frame = FrameWriter::result(id, 256);
    let mut result = ObjectWriter::new(frame.out());
    result.string("resultType", "complete").object("_meta", |object| {
        object.id(meta::SUBSCRIPTION_ID, id);
        if let Some(identity) = &definition.identity_member {
            object.raw(meta::SERVER_INFO, identity.get());
        }
    });
    result.end();
    frame.finish()
}

/// An event as a notification: of a stream, or of a legacy session, which has no ids.
pub(super) fn notification(event: &Event, stream: Option<&RequestId>) -> Bytes {
    let method = method(event);
    let frame = FrameWriter::notification(method.as_str(), 128);
    if let (None, false) = (stream, matches!(event, Event::ResourceUpdated { .. })) {
        return frame.finish();
    }
    frame.params(|params| {
        if let Some(id) = stream {
            write_subscription(params, id);
        }
        if let Event::ResourceUpdated { uri } = event {
            params.string("uri", uri);
        }
    })
}

fn write_subscription(params: &mut ObjectWriter<'_>, id: &RequestId) {
    params.object("_meta", |object| {
        object.id(meta::SUBSCRIPTION_ID, id);
    });
}

/// The notification that tells of an event.
const fn method(event: &Event) -> Method {
    match event {
        Event::PromptsListChanged => Method::PromptsListChanged,
        Event::ResourcesListChanged => Method::ResourcesListChanged,
        Event::ResourceUpdated { .. } => Method::ResourcesUpdated,
        Event::ToolsListChanged => Method::ToolsListChanged,
    }
}

/// Whether a legacy session hears of an event without asking for it.
pub(super) const fn is_broadcast(features: &Features, event: &Event) -> bool {
    match event {
        Event::PromptsListChanged => features.list_changed && features.prompts,
        Event::ResourcesListChanged => features.list_changed && features.resources,
        Event::ResourceUpdated { .. } => false,
        Event::ToolsListChanged => features.list_changed && features.tools,
    }
}
