//! The targets. What each promises stands in the table of the crate.

pub mod client;
pub mod http_client;
pub mod http_exchange;
pub mod http_head;
pub mod http_session;
pub mod line;
pub mod message;
pub mod pair;
pub mod request_state;
pub mod schema;
pub mod server;
pub mod sse;
pub mod uri_template;
