//! Any interleaving of any cuts: every call ends exactly once, with its own answer or an error, and nothing is left.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// A server that is as unreliable as the operations say.
struct Lab {
    driver: Driver,
    legacy: bool,
    open: Vec<Open>,
    /// The names of the calls that have not ended.
    calls: BTreeMap<CallId, String>,
    /// What each request is answered with, by its id: whole events.
    scripts: BTreeMap<String, Vec<String>>,
    ended: usize,
}

/// An exchange that the client waits for.
struct Open {
    fetch: Fetch,
    /// What is still to be said; `None` before the head.
    rest: Option<Vec<u8>>,
}

impl Lab {
    fn new(legacy: bool) -> Self {
        let driver = match legacy {
            true => Driver::legacy(config(), Version::V2025_11_25),
            false => Driver::modern(config()),
        };
        Self { driver, legacy, open: Vec::new(), calls: BTreeMap::new(), scripts: BTreeMap::new(), ended: 0 }
    }

    fn call(&mut self) {
        let name = format!("tool-{}", self.ended + self.calls.len());
        let request = Request::call_tool(&name, &Json::EMPTY_OBJECT);
        let call = self.driver.call(request);
        self.calls.insert(call, name);
    }

    /// Takes what the client did.
    fn look(&mut self) {
        self.driver.drain();
        for fetch in std::mem::take(&mut self.driver.fetches) {
            let message = fetch.message();
            if fetch.method == Method::Post && message["method"] == "tools/call" {
                let content = json!({"resultType": "complete", "content": [], "name": message["params"]["name"]});
                let id = &message["id"];
                let note = json!({"jsonrpc": "2.0", "method": "x/y"});
                let events = vec![
                    format!("id: {id}/0\nretry: 10\ndata:\n\n"),
                    format!("id: {id}/1\n{}", event(&note)),
                    format!(":\n\nid: {id}/2\n{}", event(&result(id, content))),
                ];
                self.scripts.insert(id.to_string(), events);
            }
            self.open.push(Open { fetch, rest: None });
        }
        for aborted in std::mem::take(&mut self.driver.aborted) {
            self.open.retain(|open| open.fetch.id != aborted);
        }
        for event in std::mem::take(&mut self.driver.events) {
            match event {
                client::Action::Done { call, outcome } => {
                    let name = self.calls.remove(&call).expect("a call ends once");
                    self.ended += 1;
                    if let Ok(answer) = outcome {
                        let answer: Value = answer.parse().unwrap();
                        assert_eq!(answer["name"], json!(name), "no answer goes to another call");
                    }
                }
                client::Action::Notified { .. } | client::Action::Diagnostic(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// What the server has to say in an exchange.
    fn script(&self, fetch: &Fetch) -> String {
        match fetch.header("last-event-id").and_then(|id| id.split_once('/')) {
            Some((id, last)) => {
                let read = last.parse::<usize>().unwrap() + 1;
                self.scripts.get(id).map(|events| events[read..].concat()).unwrap_or_default()
            }
            None => self.scripts.get(&fetch.rpc_id().to_string()).map(|events| events.concat()).unwrap_or_default(),
        }
    }

    fn step(&mut self, kind: u8, which: usize, size: usize) {
        match kind {
            0 => return self.call(),
            1 => {
                let call = self.calls.keys().nth(which % self.calls.len().max(1)).copied();
                if let Some(call) = call {
                    self.driver.client.cancel(self.driver.now, call, None).unwrap();
                }
                return;
            }
            2 => return self.driver.pass(millis(size as u64 * 7)),
            _ => {}
        }
        if self.open.is_empty() {
            return;
        }
        let which = which % self.open.len();
        let mut open = self.open.swap_remove(which);
        let script = self.script(&open.fetch);
        match (kind, &mut open.rest) {
            (3, None) => self.driver.respond(&open.fetch, 200, JSON, &{
                let id = open.fetch.rpc_id();
                let name = &open.fetch.message()["params"]["name"];
                result(&id, json!({"resultType": "complete", "content": [], "name": name})).to_string()
            }),
            (4, None) => {
                let status = [400, 404, 405, 500, 503][size % 5];
                // A session that is gone is another test's matter.
                let status = if self.legacy && status == 404 { 410 } else { status };
                self.driver.respond(&open.fetch, status, NONE, "");
            }
            (5, _) => self.driver.broken(&open.fetch),
            (6, Some(_)) => self.driver.end(&open.fetch),
            // The answer of another request, in the wrong place.
            (7, Some(rest)) if !self.legacy && self.scripts.len() > 1 => {
                let other = self.scripts.values().nth(size % self.scripts.len()).map(|events| events.concat());
                let own = self.scripts.get(&open.fetch.rpc_id().to_string()).map(|events| events.concat());
                if rest.len() == script.len() && other != own {
                    let text = other.unwrap_or_default();
                    self.driver.body(&open.fetch, &text);
                }
                self.open.push(open);
            }
            (_, None) => {
                let taken = open.fetch.method == Method::Post && script.is_empty();
                self.driver.head(&open.fetch, if taken { 202 } else { 200 }, if taken { NONE } else { EVENTS });
                open.rest = Some(script.into_bytes());
                self.open.push(open);
            }
            (_, Some(rest)) => {
                let part: Vec<u8> = rest.drain(..size.min(rest.len())).collect();
                self.driver.bytes(&open.fetch, &part);
                if rest.is_empty() && part.is_empty() {
                    self.driver.end(&open.fetch);
                } else {
                    self.open.push(open);
                }
            }
        }
    }

    /// Everything that is still open breaks, until nothing is.
    fn end(&mut self) {
        for _ in 0..2_000 {
            self.look();
            for open in std::mem::take(&mut self.open) {
                self.driver.broken(&open.fetch);
            }
            self.look();
            if self.open.is_empty() && self.driver.client.poll_timeout().is_none() {
                return;
            }
            if self.driver.client.poll_timeout().is_some() {
                self.driver.wait();
            }
        }
        panic!("it does not end");
    }
}

fn operations() -> impl Strategy<Value = Vec<(u8, usize, usize)>> {
    vec((prop_oneof![2 => Just(0_u8), 1 => Just(1), 1 => Just(2), 8 => 3_u8..12], 0..8_usize, 1..60_usize), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_call_ends_once_and_no_two_mix(
        legacy in any::<bool>(),
        cut in prop_oneof![Just(1_usize), Just(usize::MAX), 2..9_usize],
        operations in operations(),
    ) {
        let mut lab = Lab::new(legacy);
        lab.driver.cut = cut;
        for (kind, which, size) in operations {
            lab.step(kind, which, size);
            lab.look();
        }
        lab.end();
        prop_assert!(lab.calls.is_empty(), "a call has not ended: {:?}", lab.calls);
    }
}
