//! Which era the frames are of, whatever the client says of itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_sansio_tokio::spec::Era;
use mcp_sansio_tokio::{Trace, TraceHook};
use serde::Deserialize;
use serde_json::Value;

use crate::check::{Outcome, same};

/// The key of the claim that makes a request modern.
const CLAIM: &str = "io.modelcontextprotocol/protocolVersion";

/// Counts the requests that were sent.
#[derive(Default)]
pub(crate) struct Wire {
    handshakes: AtomicUsize,
    claimed: AtomicUsize,
    bare: AtomicUsize,
}

/// As much of a frame as tells.
#[derive(Deserialize)]
struct Frame {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
}

impl Wire {
    pub(crate) fn hook(this: &Arc<Self>) -> TraceHook {
        let this = Arc::clone(this);
        Arc::new(move |trace| {
            if let Trace::Sent(frame) = trace {
                this.sent(frame);
            }
        })
    }

    fn sent(&self, frame: &[u8]) {
        // What is no JSON is bare, and fails in either era.
        let count = match serde_json::from_slice::<Frame>(frame) {
            Ok(Frame { id: None, .. } | Frame { method: None, .. }) => return,
            Ok(frame) if frame.method.as_deref() == Some("initialize") => &self.handshakes,
            Ok(frame) if frame.params["_meta"].get(CLAIM).is_some() => &self.claimed,
            _ => &self.bare,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Legacy: one handshake, and no claim ever. Modern: a claim in each request, and no handshake.
    pub(crate) fn check(&self, era: Era) -> Outcome {
        let [handshakes, claimed, bare] =
            [&self.handshakes, &self.claimed, &self.bare].map(|count| count.load(Ordering::Relaxed));
        match era {
            Era::Legacy => same("handshakes and modern requests", (handshakes, claimed), (1, 0)),
            Era::Modern => same("handshakes and legacy requests", (handshakes, bare, claimed > 1), (0, 0, true)),
        }
    }
}
