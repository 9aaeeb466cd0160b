//! The published schemas, and a reader of conversations that holds every frame to the definition it must fit.
//!
//! | frame | definition |
//! |---|---|
//! | request | the one whose `method` is this constant; `JSONRPCRequest` for methods that the protocol has not |
//! | result | that of the request it answers; `InputRequiredResult` where it says so |
//! | error | `JSONRPCErrorResponse` (`JSONRPCError`), and the one of its code where there is one |
//! | notification | as requests |
//!
//! The revision is what the request claims in its envelope, or what `initialize` has settled.

use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, OnceLock};

use jsonschema::Validator;
use mcp_sansio::spec::{Era, Version};
use mcp_sansio::testing::{Frame, Side};
use serde_json::{Value, json};

/// The definitions of one revision.
pub struct Schema {
    document: Value,
    /// Where the document has its definitions.
    key: &'static str,
    /// By method.
    methods: HashMap<String, String>,
    /// By name, compiled when they are first needed.
    validators: HashMap<String, OnceLock<Validator>>,
}

static SCHEMAS: LazyLock<BTreeMap<Version, Schema>> = LazyLock::new(|| {
    let text = |version| match version {
        Version::V2024_11_05 => include_str!("../schemas/2024-11-05.json"),
        Version::V2025_03_26 => include_str!("../schemas/2025-03-26.json"),
        Version::V2025_06_18 => include_str!("../schemas/2025-06-18.json"),
        Version::V2025_11_25 => include_str!("../schemas/2025-11-25.json"),
        _ => include_str!("../schemas/2026-07-28.json"),
    };
    Version::ALL.into_iter().map(|version| (version, Schema::read(text(version)))).collect()
});

impl Schema {
    /// The schema of a revision.
    #[must_use]
    pub fn of(version: Version) -> &'static Self {
        &SCHEMAS[&version]
    }

    fn read(text: &str) -> Self {
        let document: Value = serde_json::from_str(text).expect("a published schema is JSON");
        let key = if document.get("$defs").is_some() { "$defs" } else { "definitions" };
        let definitions = document[key].as_object().expect("a schema has definitions").clone();
        let method = |definition: &Value| definition["properties"]["method"]["const"].as_str().map(str::to_owned);
        let methods = definitions
            .iter()
            .filter(|(name, _)| name.ends_with("Request") || name.ends_with("Notification"))
            .filter(|(name, _)| *name != "ClientNotification")
            .filter_map(|(name, definition)| Some((method(definition)?, name.clone())))
            .collect();
        let validators = definitions.keys().map(|name| (name.clone(), OnceLock::new())).collect();
        Self { document, key, methods, validators }
    }

    /// Whether there is a definition of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.validators.contains_key(name)
    }

    /// Holds a value to a definition.
    ///
    /// # Errors
    /// What does not fit.
    ///
    /// # Panics
    /// When there is no such definition.
    pub fn check(&self, name: &str, value: &Value) -> Result<(), String> {
        let place = self.validators.get(name).unwrap_or_else(|| panic!("no definition {name}"));
        let validator = place.get_or_init(|| {
            let mut root = self.document.clone();
            root["$ref"] = Value::from(format!("#/{}/{name}", self.key));
            jsonschema::validator_for(&root).expect("a published schema compiles")
        });
        let problems: Vec<String> =
            validator.iter_errors(value).map(|error| format!("{} at {}", error, error.instance_path())).collect();
        if problems.is_empty() { Ok(()) } else { Err(format!("{name}: {}: {value}", problems.join("; "))) }
    }

    /// The first name that this revision has.
    fn named<'a>(&self, names: &[&'a str]) -> &'a str {
        names.iter().find(|name| self.has(name)).expect("a revision has one of the names")
    }
}

/// A request that waits for its answer.
struct Open {
    method: String,
    version: Version,
    asked: Option<Version>,
}

/// A reader of one conversation.
#[derive(Default)]
pub struct Reader {
    session: Option<Version>,
    /// By sender and id. Two of one id are a fault of the sender: the newer one is refused.
    open: HashMap<(Side, String), Vec<Open>>,
    checked: usize,
}

impl Reader {
    /// A reader at the beginning of a conversation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many messages were held to a definition.
    #[must_use]
    pub const fn checked(&self) -> usize {
        self.checked
    }

    /// Reads one frame.
    ///
    /// # Errors
    /// What does not fit.
    pub fn read(&mut self, frame: &Frame) -> Result<(), String> {
        let text = frame.text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return Ok(());
        }
        let value: Value = serde_json::from_str(text).map_err(|error| format!("{error}: {text}"))?;
        match value.as_array() {
            Some(parts) => {
                if self.session != Some(Version::V2025_03_26) {
                    return Err(format!("a batch outside of 2025-03-26: {text}"));
                }
                if parts.is_empty() {
                    return Err("an empty batch".to_owned());
                }
                let problems: Vec<_> = parts.iter().filter_map(|part| self.message(frame.from, part).err()).collect();
                problems.into_iter().next().map_or(Ok(()), Err)
            }
            None => self.message(frame.from, &value),
        }
    }

    /// Reads a whole conversation.
    ///
    /// # Errors
    /// What does not fit, and frames that are said to be wrong and are not.
    pub fn read_all(&mut self, frames: &[Frame]) -> Result<(), String> {
        for frame in frames {
            match (self.read(frame), frame.wrong) {
                (Ok(()), true) => return Err(format!("nothing is wrong with {}", frame.text)),
                (Err(problem), false) => return Err(problem),
                _ => {}
            }
        }
        Ok(())
    }

    fn message(&mut self, from: Side, message: &Value) -> Result<(), String> {
        self.checked += 1;
        match (message.get("method"), message.get("id")) {
            (Some(_), Some(id)) => self.request(from, id, message),
            (Some(_), None) => self.notification(message),
            (None, _) if message.get("error").is_some() && message.get("result").is_some() => {
                Err(format!("both a result and an error: {message}"))
            }
            (None, _) if message.get("error").is_some() => self.error(from, message),
            (None, Some(id)) => self.result(from, id, message),
            (None, None) => Err(format!("no message: {message}")),
        }
    }

    fn request(&mut self, from: Side, id: &Value, message: &Value) -> Result<(), String> {
        let method = message["method"].as_str().ok_or_else(|| format!("no method: {message}"))?.to_owned();
        let claim = claim(message);
        let known =
            claim.and_then(Value::as_str).and_then(Version::parse).filter(|version| version.era() == Era::Modern);
        let asked = message["params"]["protocolVersion"].as_str().and_then(Version::parse);
        let version = match (claim.is_some(), self.session) {
            // A revision that nobody knows is written like the newest.
            (true, _) => known.unwrap_or(Version::LATEST),
            (false, Some(session)) => session,
            (false, None) => asked.filter(|asked| asked.era() == Era::Legacy).unwrap_or(Version::LATEST_LEGACY),
        };
        let open = Open { method: method.clone(), version, asked };
        self.open.entry((from, id.to_string())).or_default().push(open);
        self.check_method(version, &method, "JSONRPCRequest", message)
    }

    fn notification(&self, message: &Value) -> Result<(), String> {
        let method = message["method"].as_str().ok_or_else(|| format!("no method: {message}"))?;
        let in_stream = message["params"]["_meta"].get("io.modelcontextprotocol/subscriptionId").is_some();
        let version = match self.session {
            Some(session) if !in_stream && Schema::of(session).methods.contains_key(method) => session,
            _ if Schema::of(Version::LATEST).methods.contains_key(method) => Version::LATEST,
            session => session.unwrap_or(Version::LATEST_LEGACY),
        };
        self.check_method(version, method, "JSONRPCNotification", message)
    }

    fn check_method(&self, version: Version, method: &str, generic: &str, message: &Value) -> Result<(), String> {
        let schema = Schema::of(version);
        schema.check(generic, message)?;
        match schema.methods.get(method) {
            Some(name) => schema.check(name, message),
            None => Ok(()),
        }
    }

    fn result(&mut self, from: Side, id: &Value, message: &Value) -> Result<(), String> {
        let to = if from == Side::Client { Side::Server } else { Side::Client };
        let open = self.open.get_mut(&(to, id.to_string())).filter(|open| !open.is_empty()).map(|open| open.remove(0));
        let (method, version) = match &open {
            Some(open) => (open.method.as_str(), open.version),
            None => return Err(format!("an answer to nothing: {message}")),
        };
        let result = &message["result"];
        if method == "initialize" {
            self.session = result["protocolVersion"].as_str().and_then(Version::parse);
        }
        let version = if method == "initialize" { self.session.unwrap_or(version) } else { version };
        let schema = Schema::of(version);
        schema.check(schema.named(&["JSONRPCResultResponse", "JSONRPCResponse"]), message)?;
        if version.era() == Era::Modern && result["resultType"] == "input_required" {
            return schema.check("InputRequiredResult", result);
        }
        let name = schema.methods.get(method).map(|name| name.replace("Request", "Result"));
        match name.filter(|name| schema.has(name)) {
            Some(name) => schema.check(&name, result),
            None if schema.methods.contains_key(method) => schema.check("EmptyResult", result),
            None => schema.check("Result", result),
        }
    }

    fn error(&mut self, from: Side, message: &Value) -> Result<(), String> {
        let to = if from == Side::Client { Side::Server } else { Side::Client };
        let open = message.get("id").and_then(|id| self.open.get_mut(&(to, id.to_string()))?.pop());
        let version = match &open {
            Some(open) if open.method == "initialize" => open.asked.unwrap_or(open.version),
            Some(open) => open.version,
            None => self.session.unwrap_or(Version::LATEST),
        };
        let schema = Schema::of(version);
        let mut message = message.clone();
        // JSON-RPC wants `null` where an id could not be read; the older schemas have no word for that.
        if version < Version::V2025_11_25 && message["id"].is_null() && message.get("id").is_some() {
            message["id"] = json!(0);
        }
        schema.check(schema.named(&["JSONRPCErrorResponse", "JSONRPCError"]), &message)?;
        let name = match message["error"]["code"].as_i64() {
            Some(-32021) => "MissingRequiredClientCapabilityError",
            Some(-32022) => "UnsupportedProtocolVersionError",
            Some(-32042) => "URLElicitationRequiredError",
            _ => return Ok(()),
        };
        if schema.has(name) { schema.check(name, &message) } else { Ok(()) }
    }
}

/// The revision that a request claims in its envelope.
fn claim(message: &Value) -> Option<&Value> {
    message["params"]["_meta"].get("io.modelcontextprotocol/protocolVersion")
}
