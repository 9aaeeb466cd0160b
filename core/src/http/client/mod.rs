//! The client of Streamable HTTP.
