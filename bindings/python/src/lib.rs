//! The machines of `mcp-sansio` as Python objects: the native half of the package `mcp_sansio`.
//!
//! ```text
//!   mcp_sansio (Python: settings, error classes, types)
//!        │
//!   mcp_sansio._native (here)
//!        ├── cell      one machine, safe among threads; slots, times, seeds
//!        ├── value     JSON text ⇄ native objects, each in one pass
//!        ├── errors    failures as exceptions
//!        ├── actions   what a machine says
//!        ├── invoke    application code to run
//!        ├── server    byte stream, exchange, session
//!        ├── client    byte stream, Streamable HTTP
//!        └── http      service, intake, endpoint
//! ```
//!
//! Translation only: every decision is the core's, and what is the same for other languages is in
//! `mcp_sansio_bindings`. There is no thread, runtime or clock here.

mod actions;
mod cell;
mod client;
mod errors;
mod http;
mod invoke;
mod server;
mod value;

/// The native half of `mcp_sansio`.
#[pyo3::pymodule(name = "_native", gil_used = true)]
mod native {
    #[pymodule_export]
    use crate::actions::{
        Abort, Answered, Cancelled, CancelledInput, Chunk, Closed, Connected, Diagnosed, Done, Fetch, Finish, Listen,
        Listening, NeedInput, Notified, Progressed, Publish, Respond, Unauthorized, Write,
    };
    #[pymodule_export]
    use crate::client::{Client, ClientMachine, HttpClient, Request};
    #[pymodule_export]
    use crate::http::{Admitted, Ended, Endpoint, Intake, ListenOutcome, Service, SessionRequest};
    #[pymodule_export]
    use crate::invoke::{Invoke, Slot};
    #[pymodule_export]
    use crate::server::{Definition, Exchange, Reply, Server, ServerMachine, Session};
}
