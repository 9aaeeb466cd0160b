//! Frames and actions, side by side.

use std::io::Write as _;
use std::sync::Arc;

use mcp_sansio_tokio::core::client::Action;
use mcp_sansio_tokio::{Trace, TraceHook};

/// The width of the left column where the terminal does not say.
const COLUMN: usize = 90;
/// How many lines of a frame are shown.
const LINES: usize = 4;

fn column() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse::<usize>().ok());
    columns.map_or(COLUMN, |columns| columns.clamp(80, 400) * 3 / 5)
}

fn line(text: &str) {
    // Whoever pipes the tour into `head` need not hear of it.
    let _ = writeln!(std::io::stdout(), "{text}");
}

pub(crate) fn title(text: &str) {
    line(&format!("\n━━ {text} {}", "━".repeat(column().saturating_sub(text.chars().count()))));
}

pub(crate) fn step(text: &str) {
    line(&format!("\n── {text}"));
}

pub(crate) fn held(text: &str) {
    line(&format!("   ✓ {text}"));
}

/// Frames on the left, what the client's machine makes of them on the right.
pub(crate) fn hook() -> TraceHook {
    let width = column();
    Arc::new(move |trace| match trace {
        Trace::Sent(bytes) => frame('→', bytes, width),
        Trace::Received(bytes) => frame('←', bytes, width),
        Trace::ClientAction(action) => line(&format!("{:width$}  │ {}", "", say(action), width = width + 5)),
        _ => {}
    })
}

fn frame(arrow: char, bytes: &[u8], width: usize) {
    let text: Vec<char> = String::from_utf8_lossy(bytes).chars().collect();
    for (number, piece) in text.chunks(width).enumerate() {
        let lead = if number == 0 { arrow } else { ' ' };
        if number == LINES {
            return line(&format!("     … {} characters in all", text.len()));
        }
        line(&format!("   {lead} {}", piece.iter().collect::<String>()));
    }
}

/// An action in a few words.
fn say(action: &Action) -> String {
    match action {
        Action::Connected(facts) => format!("Connected: {} ({} era)", facts.version, facts.era()),
        Action::Progress { progress, .. } => {
            format!("Progress: {} of {}", progress.progress, progress.total.unwrap_or_default())
        }
        Action::Done { outcome: Ok(answer), .. } => format!("Done: {} bytes of result", answer.json().get().len()),
        Action::Done { outcome: Err(error), .. } => format!("Done: {error}"),
        Action::NeedInput(needed) => {
            let method = needed.request.method().map_or("?", |method| method.as_str());
            format!("NeedInput: {method} {}", needed.key)
        }
        Action::Notified { method, .. } => format!("Notified: {method}"),
        Action::Diagnostic(diagnostic) => format!("Diagnostic: {diagnostic}"),
        Action::Closed(why) => format!("Closed: {why:?}"),
        other => format!("{other:?}").chars().take(60).collect(),
    }
}
