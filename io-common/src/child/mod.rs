//! Servers that are child processes: everything but how a runtime starts them and waits for them, which is
//! [`Processes`].
//!
//! | module | decides |
//! |---|---|
//! | `command` | what is started, and with what |
//! | `process` | how it ends, with all that it has started |
//! | `resolve` | where a program is, on Windows |
//! | `stderr` | what becomes of standard error |

mod command;
mod process;
mod resolve;
mod stderr;

pub use self::command::{Command, CommandError};
pub use self::process::{Child, Processes};
#[cfg(windows)]
pub use self::resolve::find;
pub use self::resolve::resolve;
pub use self::stderr::{OnLine, STDERR_LINE, STDERR_TAIL, StderrSink, StderrTail};
