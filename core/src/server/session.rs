//! A legacy session, from `initialize` on. Source: `basic/lifecycle` of 2025-11-25 and earlier.
//!
//! | asked for | offered | answered |
//! |---|---|---|
//! | a legacy revision | yes | that revision |
//! | anything else | any legacy one | the newest legacy revision offered |
//! | anything | modern ones only | -32022, naming them in the text: it may be all that a user sees |
//!
//! A modern revision is never negotiated here.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::capability;
use super::context::ClientFacts;
use super::definition::Definition;
use super::envelope;
use super::wire::Wire;
use crate::error::{Error, ErrorObject};
use crate::json::Json;
use crate::jsonrpc::{Field, FieldError, Members, ObjectWriter};
use crate::limits::Bound;
use crate::model::{Implementation, LoggingLevel};
use crate::spec::{Era, Version};

/// What a session has agreed on and asked for.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) version: Version,
    pub(super) facts: Arc<ClientFacts>,
    /// The client has read the answer to `initialize`.
    pub(super) initialized: bool,
    /// What the client wants logged; nothing before it says so, unless the definition does.
    pub(super) level: Option<LoggingLevel>,
    pub(super) subscriptions: BTreeSet<Box<str>>,
}

impl Session {
    /// Judges the params of `initialize`.
    pub(crate) fn open(definition: &Definition, params: &Members) -> Result<Self, ErrorObject> {
        let wanted = params.required_string(Field::ProtocolVersion)?;
        let capabilities =
            params.object(Field::Capabilities)?.ok_or(FieldError::Missing(Field::Capabilities.name()))?;
        let info = params.object(Field::ClientInfo)?.ok_or(FieldError::Missing(Field::ClientInfo.name()))?;
        info.parse::<Implementation>()
            .map_err(|_| ErrorObject::invalid_params("clientInfo must have a name and a version"))?;
        let mut offered = definition.versions_of(Era::Legacy);
        let Some(newest) = offered.next() else {
            return Err(modern_only(definition, &wanted));
        };
        let version = Version::parse(&wanted)
            .filter(|version| version.era() == Era::Legacy && definition.offers(*version))
            .unwrap_or(newest);
        Ok(Self {
            version,
            facts: Arc::new(ClientFacts { info: info.apart(), capabilities: capabilities.apart() }),
            initialized: false,
            level: definition.policy.early_log_level,
            subscriptions: BTreeSet::new(),
        })
    }

    /// The session of a client that has none, and is served all the same.
    pub(super) fn assumed(definition: &Definition, version: Version) -> Self {
        Self {
            version,
            facts: Arc::new(ClientFacts { info: Json::NULL, capabilities: Json::EMPTY_OBJECT }),
            initialized: true,
            level: definition.policy.early_log_level,
            subscriptions: BTreeSet::new(),
        }
    }

    /// Writes the result of `initialize`.
    pub(super) fn write_result(&self, definition: &Definition, wire: Wire, out: &mut Vec<u8>) {
        let mut features = Cow::Borrowed(&definition.features);
        if wire == Wire::Stateless {
            // Nothing could be delivered.
            let features = features.to_mut();
            (features.list_changed, features.subscriptions, features.logging) = (false, false, false);
        }
        let mut object = ObjectWriter::new(out);
        object.string("protocolVersion", self.version.as_str());
        object.object("capabilities", |object| capability::write(&features, self.version, object));
        object.value("serverInfo", &definition.identity);
        if let Some(text) = &definition.policy.instructions {
            object.string("instructions", text);
        }
        object.end();
    }

    /// Adds a resource that the client wants to hear of.
    pub(super) fn subscribe(&mut self, definition: &Definition, uri: Box<str>) -> Result<(), ErrorObject> {
        if self.subscriptions.contains(&uri) {
            return Ok(());
        }
        let limits = &definition.policy.limits;
        if self.subscriptions.len() >= limits.subscriptions {
            return Err(Error::limit(Bound::Subscriptions, limits.subscriptions).to_object());
        }
        // Not more than one listen request could name.
        let bytes: usize = self.subscriptions.iter().map(|known| known.len()).sum();
        if bytes + uri.len() > limits.frame_bytes {
            return Err(Error::limit(Bound::FrameBytes, limits.frame_bytes).to_object());
        }
        self.subscriptions.insert(uri);
        Ok(())
    }

    pub(super) fn unsubscribe(&mut self, uri: &str) {
        self.subscriptions.remove(uri);
    }
}

/// The refusal of `initialize` by a server that has no legacy revision.
fn modern_only(definition: &Definition, wanted: &str) -> ErrorObject {
    let names: Vec<_> = definition.versions().iter().map(|version| version.as_str()).collect();
    ErrorObject {
        message: format!("this server has no sessions and speaks only {}", names.join(", ")).into(),
        ..envelope::unsupported(definition, wanted)
    }
}

/// A session as bytes, to go on in another process. Requests in flight do not travel: export at a quiet point.
///
/// The form is JSON with a version number of its own; members that it does not know are refused, because a
/// session that is understood by half is worse than none.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Exported {
    format: u32,
    version: String,
    info: Json,
    capabilities: Json,
    initialized: bool,
    level: Option<String>,
    subscriptions: BTreeSet<Box<str>>,
}

const FORMAT: u32 = 1;

impl Session {
    pub(super) fn export(&self) -> Json {
        let exported = Exported {
            format: FORMAT,
            version: self.version.as_str().to_owned(),
            info: self.facts.info.clone(),
            capabilities: self.facts.capabilities.clone(),
            initialized: self.initialized,
            level: self.level.map(|level| level.as_str().to_owned()),
            subscriptions: self.subscriptions.clone(),
        };
        // Strings, numbers and carried JSON always serialise.
        Json::from_value(&exported).unwrap_or(Json::NULL)
    }

    /// `None` for what no session of this definition could have exported.
    pub(super) fn import(definition: &Definition, exported: &Json) -> Option<Self> {
        let Exported { format, version, info, capabilities, initialized, level, subscriptions } =
            exported.parse().ok()?;
        let version =
            Version::parse(&version).filter(|version| version.era() == Era::Legacy && definition.offers(*version))?;
        let level = match level {
            Some(name) => Some(LoggingLevel::parse(&name)?),
            None => None,
        };
        // A session that was assumed has no client that has introduced itself.
        let is_introduced = info.is_null() || info.parse::<Implementation>().is_ok();
        let features = &definition.features;
        let is_offered = (features.logging || level == definition.policy.early_log_level)
            && (features.subscriptions || subscriptions.is_empty());
        if format != FORMAT || !is_introduced || !capabilities.is_object() || !is_offered {
            return None;
        }
        let facts = Arc::new(ClientFacts { info, capabilities });
        let mut session = Self { version, facts, initialized, level, subscriptions: BTreeSet::new() };
        for uri in subscriptions {
            session.subscribe(definition, uri).ok()?;
        }
        Some(session)
    }
}
