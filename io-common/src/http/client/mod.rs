//! The client's side of HTTP: how requests get to a server.

mod connect;
mod pool;
mod transport;

pub use mcp_sansio::http::client::Endpoint;

#[cfg(feature = "tls")]
pub use futures_rustls::rustls;

#[cfg(feature = "tls")]
pub use self::connect::Tls;
pub use self::connect::{ByteStream, Connector};
pub use self::pool::{CONNECT_TIME, IDLE_MOST, IDLE_TIME, Pool};
pub use self::transport::{ResponseBody, Transport, TransportError};
