//! The server of Streamable HTTP.
