//! What every front needs for servers that are child processes, and no runtime has an opinion about: finding a
//! program, and standard error.

mod resolve;
mod stderr;

#[cfg(windows)]
pub use self::resolve::find;
pub use self::resolve::resolve;
pub use self::stderr::{OnLine, STDERR_LINE, STDERR_TAIL, StderrSink, StderrTail};
