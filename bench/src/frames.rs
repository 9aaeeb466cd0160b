//! The frames that all contenders read and write: no two calls alike.

use bytes::Bytes;

/// Calls in the pool, which is gone through again and again.
pub(crate) const POOL: usize = 512;

/// Which protocol is spoken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

impl Era {
    pub(crate) const ALL: [Self; 2] = [Self::Modern, Self::Legacy];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }

    /// The `_meta` member of a request, with the comma before it.
    pub(crate) const fn meta(self) -> &'static str {
        match self {
            Self::Legacy => "",
            Self::Modern => concat!(
                r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},"#,
                r#""io.modelcontextprotocol/clientCapabilities":{}}"#,
            ),
        }
    }

    /// What a modern result ends with.
    pub(crate) const fn stamp(self) -> &'static str {
        match self {
            Self::Legacy => "",
            Self::Modern => concat!(
                r#","resultType":"complete","#,
                r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bench","version":"1.0.0"}}"#,
            ),
        }
    }
}

/// The opening of a legacy session, as a client sends it.
pub(crate) const OPENING: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);

/// The id of the call `number`: of six digits, and not the one after the last.
pub(crate) const fn id(number: usize) -> usize {
    100_000 + number * 1_543
}

/// The inverse of [`id`].
pub(crate) const fn number(id: usize) -> usize {
    (id - 100_000) / 1_543
}

/// The 64 bytes that the call `number` sends to be echoed.
pub(crate) fn text(number: usize) -> String {
    format!("message {number:07} of the benchmark, sixty-four bytes long, as ever")
}

/// The name of the tool `number` of a catalogue.
pub(crate) fn tool_name(number: usize) -> String {
    if number == 0 { "echo".to_owned() } else { format!("tool_number_{number:05}") }
}

/// A call of the tool `tool`.
pub(crate) fn call(era: Era, number: usize, tool: &str) -> Bytes {
    call_with(era, number, tool, &text(number))
}

/// A call with a text of the caller's, which needs no escapes.
pub(crate) fn call_with(era: Era, number: usize, tool: &str, text: &str) -> Bytes {
    let (id, meta) = (id(number), era.meta());
    let arguments = format!(r#"{{"text":"{text}","n":{number}}}"#);
    Bytes::from(format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{arguments}{meta}}}}}\n"
    ))
}

/// A request for the first page of tools.
pub(crate) fn list(era: Era, number: usize) -> Bytes {
    let id = id(number);
    let params = match era {
        Era::Legacy => "{}".to_owned(),
        Era::Modern => format!("{{{}}}", era.meta().trim_start_matches(',')),
    };
    Bytes::from(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\",\"params\":{params}}}\n"))
}

/// The pool of calls of one tool.
pub(crate) fn calls(era: Era) -> Vec<Bytes> {
    (0..POOL).map(|number| call(era, number, "echo")).collect()
}

/// Goes through a pool for ever.
pub(crate) struct Cycle<'p, T> {
    pool: &'p [T],
    at: usize,
}

impl<'p, T> Cycle<'p, T> {
    pub(crate) const fn new(pool: &'p [T]) -> Self {
        Self { pool, at: 0 }
    }

    pub(crate) fn next(&mut self) -> &'p T {
        let item = &self.pool[self.at];
        self.at = (self.at + 1) % self.pool.len();
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_as_long_as_it_says() {
        assert_eq!(text(0).len(), 64);
        assert_eq!(text(POOL).len(), 64);
        assert!((0..POOL).all(|n| number(id(n)) == n && id(n) < 1_000_000));
    }
}
