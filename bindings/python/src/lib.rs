//! The machines of `mcp-sansio` as Python objects: the native half of the package `mcp_sansio`.
//!
//! ```text
//!   mcp_sansio (Python: classes, verbs by name, settings, errors, types)
//!        │
//!   mcp_sansio._native (here: what is hot, and what holds memory)
//!        ├── value     JSON text ⇄ native objects, each in one pass
//!        ├── errors    what has failed, as exceptions
//!        ├── time      the time of a verb, and seeds
//!        ├── machine   a machine of either role: bytes, frames, replies; every other verb by its name
//!        ├── invoke    application code to run, and the right to answer
//!        └── http      service, request, registry
//!        │
//!   mcp_sansio_told (verbs by name and in JSON; machines that are safe among threads)
//! ```
//!
//! Translation only: every decision is the core's. There is no thread, runtime or clock here.

#![allow(non_upper_case_globals, reason = "what a class has in Python is named so there")]
#![allow(clippy::unit_arg, reason = "a verb that answers nothing is a verb all the same")]

mod errors;
mod http;
mod invoke;
mod machine;
mod time;
mod value;

/// The native half of `mcp_sansio`.
#[pyo3::pymodule(name = "_native", gil_used = true)]
mod native {
    #[pymodule_export]
    use crate::http::{Incoming, ListenOutcome, Opened, Registry, Service, Subscription};
    #[pymodule_export]
    use crate::invoke::{Invoke, Reply, Slot};
    #[pymodule_export]
    use crate::machine::{Answer, Definition, Machine, Request, Write};
    #[pymodule_export]
    use crate::value::read;
}
