//! The client of the suite: what it does in each scenario.
//!
//! The suite starts one process for each scenario and says in the environment which one it is ([`Scenario::from_env`]).
//! Every client is the same: it declares all that it can do, finds out the era by itself unless told otherwise, and
//! answers every question. A scenario only decides what it calls.

mod answers;
mod scenarios;

use std::env::VarError;

use mcp_sansio_io::client::{Client, ClientBuilder, ClientError, ConnectionError};
use mcp_sansio_io::core::client::Connect;
use mcp_sansio_io::core::spec::Version;
use thiserror::Error;

/// Names the scenario.
pub const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";
/// Names the revision that the scenario is about.
pub const REVISION: &str = "MCP_CONFORMANCE_PROTOCOL_VERSION";
/// What the scenario tells its client beside: an object.
pub const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";

/// How the client finds out which era the server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Negotiation {
    /// By itself.
    #[default]
    Automatic,
    /// It insists on the revision that the scenario is about.
    Pinned,
}

/// One scenario, as the suite describes it.
#[derive(Clone, Debug)]
pub struct Scenario {
    name: String,
    revision: Version,
    context: serde_json::Value,
}

/// Why a scenario went wrong.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The environment does not tell what to do.
    #[error("{0} is not set, or nothing that can be understood")]
    Environment(&'static str),
    /// Nobody has written this scenario.
    #[error("the scenario {0} is not known")]
    Unknown(String),
    /// There is no connection.
    #[error("no connection: {0}")]
    Connection(#[from] ConnectionError),
    /// A call failed.
    #[error("the {what} failed: {source}")]
    Call {
        /// What was asked for.
        what: String,
        /// Why it failed.
        #[source]
        source: ClientError,
    },
    /// The server did not behave as the scenario says.
    #[error("{0}")]
    Unexpected(String),
}

impl Scenario {
    /// The scenario that the suite asks for.
    ///
    /// # Errors
    /// When the environment names none.
    pub fn from_env() -> Result<Self, ScenarioError> {
        let name = std::env::var(SCENARIO).map_err(|_| ScenarioError::Environment(SCENARIO))?;
        let revision = match std::env::var(REVISION) {
            Ok(text) => Version::parse(&text).ok_or(ScenarioError::Environment(REVISION))?,
            Err(_) => Version::LATEST,
        };
        let context = match std::env::var(CONTEXT) {
            Ok(text) => serde_json::from_str(&text).map_err(|_| ScenarioError::Environment(CONTEXT))?,
            Err(VarError::NotPresent) => serde_json::Value::Null,
            Err(VarError::NotUnicode(_)) => return Err(ScenarioError::Environment(CONTEXT)),
        };
        Ok(Self::new(name, revision, context))
    }

    /// A scenario by its name, with the revision that it is about and its context, an object or `null`.
    pub fn new(name: impl Into<String>, revision: Version, context: serde_json::Value) -> Self {
        Self { name: name.into(), revision, context }
    }

    /// The client of every scenario, which is still to be connected.
    pub fn client(&self, negotiation: Negotiation) -> ClientBuilder {
        let mode = match negotiation {
            Negotiation::Automatic => Connect::Auto,
            Negotiation::Pinned => Connect::Pinned(self.revision),
        };
        let client = Client::builder("mcp-sansio-everything-client", env!("CARGO_PKG_VERSION")).mode(mode);
        answers::add(client).error_reporter(|report| eprintln!("everything-client: {report}"))
    }

    /// Does what the scenario asks for.
    ///
    /// # Errors
    /// When something fails that must not.
    pub async fn run(&self, client: &Client) -> Result<(), ScenarioError> {
        scenarios::run(client, &self.name, &self.context).await
    }
}
