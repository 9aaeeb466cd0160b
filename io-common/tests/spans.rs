//! The feature `tracing`: spans that continue the trace of the caller.
#![cfg(feature = "tracing")]
#![allow(clippy::unwrap_used, missing_docs)]

mod lab;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use lab::wire::Wire;
use mcp_sansio::model::Tool;
use mcp_sansio_io::server::{Context, NoArguments, Server};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Keeps what is recorded, by span.
#[derive(Clone, Default)]
struct Keeper(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    spans: Vec<BTreeMap<&'static str, String>>,
    events: Vec<(Option<u64>, String)>,
    entered: Vec<u64>,
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Subscriber for Keeper {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut kept = self.0.lock().unwrap();
        let mut fields = BTreeMap::new();
        span.record(&mut Fields(&mut fields));
        kept.spans.push(fields);
        Id::from_u64(kept.spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut kept = self.0.lock().unwrap();
        values.record(&mut Fields(&mut kept.spans[span.into_u64() as usize - 1]));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        let mut kept = self.0.lock().unwrap();
        let inside = kept.entered.last().copied();
        kept.events.push((inside, fields.remove("message").unwrap_or_default()));
    }

    fn enter(&self, span: &Id) {
        self.0.lock().unwrap().entered.push(span.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.0.lock().unwrap().entered.pop();
    }
}

#[test]
fn a_call_is_a_span_that_carries_the_trace_of_its_caller() {
    let keeper = Keeper::default();
    let kept = Arc::clone(&keeper.0);
    let server = Server::new("s", "1")
        .tool(Tool::new("works"), |_: NoArguments, _: Context| async {
            tracing::info!("inside");
            "done"
        })
        .tool(Tool::new("fails"), |_: NoArguments, _: Context| async {
            Err::<(), _>(std::io::Error::other("disk").into())
        })
        .build()
        .unwrap();
    tracing::subscriber::with_default(keeper, || {
        let wire = Wire::legacy(&server);
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let params = json!({"name": "works", "arguments": {}, "_meta": {"traceparent": trace}});
        wire.to.line(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string());
        wire.call(2, "fails", json!({}));
        assert_eq!(wire.lines().len(), 2);
        let kept = kept.lock().unwrap();
        let works = &kept.spans[0];
        assert_eq!((works["method"].as_str(), works["name"].as_str()), ("tools/call", "works"));
        assert_eq!((works["traceparent"].as_str(), works["outcome"].as_str()), (trace, "ok"));
        let fails = &kept.spans[1];
        assert_eq!(fails["outcome"], "failed");
        assert!(!fails.contains_key("traceparent"));
        assert_eq!(kept.events[0], (Some(1), "inside".to_owned()));
        assert_eq!(kept.events[1].0, Some(2));
        assert!(kept.events[1].1.contains("disk"), "{:?}", kept.events);
    });
}
