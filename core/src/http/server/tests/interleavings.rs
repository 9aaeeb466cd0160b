//! Concurrent requests with the same ids, in any order: nothing of one user ever reaches another.

use proptest::prelude::*;

use super::*;

/// Two legacy users and two modern ones.
const USERS: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    Call { user: usize, id: u8 },
    Progress { nth: usize },
    Reply { nth: usize },
    Cancel { user: usize, id: u8 },
    Disconnect { nth: usize },
    Resume { nth: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..USERS, 0..3_u8).prop_map(|(user, id)| Step::Call { user, id }),
        3 => (0..8_usize).prop_map(|nth| Step::Progress { nth }),
        3 => (0..8_usize).prop_map(|nth| Step::Reply { nth }),
        1 => (0..2_usize, 0..3_u8).prop_map(|(user, id)| Step::Cancel { user, id }),
        1 => (0..8_usize).prop_map(|nth| Step::Disconnect { nth }),
        1 => (0..8_usize).prop_map(|nth| Step::Resume { nth }),
    ]
}

/// A call, and all the answers that it is looked for in.
struct Call {
    user: usize,
    id: u8,
    tag: String,
    answers: Vec<usize>,
    replied: bool,
    cancelled: bool,
}

struct World {
    rig: Rig,
    sessions: [String; 2],
    calls: Vec<Call>,
    running: Vec<(Who, Invocation, usize)>,
}

impl World {
    fn new(options: Options) -> Self {
        let mut rig = Rig::new(definition(), options);
        let sessions = [rig.open("2025-11-25", json!({})), rig.open("2025-11-25", json!({}))];
        Self { rig, sessions, calls: Vec::new(), running: Vec::new() }
    }

    fn play(&mut self, step: &Step) {
        match *step {
            Step::Call { user, id } => self.call(user, id),
            Step::Progress { nth } => {
                if let Some((who, invocation, call)) = self.running.get(nth) {
                    let message = Some(self.calls[*call].tag.clone());
                    let progress = Progress { progress: self.rig.answers.len() as f64, total: None, message };
                    let (who, slot, now) = (*who, invocation.slot.id(), self.rig.now);
                    let _ = match who {
                        Who::Exchange(index) => self.rig.exchanges[index].progress(now, slot, &progress),
                        Who::Session(index) => self.rig.sessions[index].progress(now, slot, &progress),
                    };
                    self.rig.drain(who);
                }
            }
            Step::Reply { nth } if nth < self.running.len() => {
                let (who, invocation, call) = self.running.remove(nth);
                let tag = self.calls[call].tag.clone();
                self.rig.reply(who, invocation.slot, text(&tag));
                self.calls[call].replied = true;
            }
            Step::Reply { .. } => {}
            Step::Cancel { user, id } => {
                let params = json!({"requestId": id});
                let session = self.sessions[user].clone();
                let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
                self.rig.legacy(Some(&session), &message);
                let live = |call: &&mut Call| call.user == user && call.id == id && !call.replied && !call.cancelled;
                if let Some(call) = self.calls.iter_mut().find(live) {
                    call.cancelled = true;
                }
            }
            Step::Disconnect { nth } => {
                let Some(call) = self.calls.get_mut(nth) else { return };
                let answer = *call.answers.last().unwrap();
                if !self.rig.answers[answer].done {
                    call.cancelled |= call.user >= 2;
                    self.rig.disconnect(answer);
                }
            }
            Step::Resume { nth } => {
                let Some(call) = self.calls.get_mut(nth) else { return };
                // What a client remembers of all connections that carried the stream.
                let bodies = call.answers.iter().map(|answer| &self.rig.answers[*answer].body);
                let text: String = bodies.map(|body| String::from_utf8_lossy(body).into_owned()).collect();
                let last = text.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().map(str::to_owned);
                if let (true, Some(last)) = (call.user < 2, last) {
                    let session = self.sessions[call.user].clone();
                    let answer = self.rig.get(Some(&session), &[("last-event-id", &last)]);
                    if self.rig.status(answer) == 200 {
                        call.answers.push(answer);
                    }
                }
            }
        }
    }

    fn call(&mut self, user: usize, id: u8) {
        let taken = self
            .calls
            .iter()
            .any(|call| user < 2 && call.user == user && call.id == id && !call.replied && !call.cancelled);
        let tag = format!("{user}:{id}:{}", self.calls.len());
        let arguments = json!({"tag": tag});
        let answer = if user < 2 {
            let session = self.sessions[user].clone();
            self.rig.legacy(Some(&session), &call(id, "slow", arguments))
        } else {
            let params = json!({"name": "slow", "arguments": arguments, "_meta": {"progressToken": "t"}});
            self.rig.modern(&modern(id, "tools/call", params))
        };
        if taken {
            assert_eq!(self.rig.refusal(answer), (400, -32600, json!(id)));
            return;
        }
        let (who, invocation) = self.rig.invoked();
        self.running.push((who, invocation, self.calls.len()));
        self.calls.push(Call { user, id, tag, answers: vec![answer], replied: false, cancelled: false });
    }

    /// Everything that arrived for a call is its own, and its answer came once if it came at all.
    fn check(&mut self, kept: bool) {
        while !self.running.is_empty() {
            self.play(&Step::Reply { nth: 0 });
        }
        for nth in 0..self.calls.len() {
            self.play(&Step::Resume { nth });
        }
        for call in &self.calls {
            let mut results = std::collections::BTreeSet::new();
            for answer in &call.answers {
                let messages = match self.rig.answers[*answer].streamed {
                    true => self.rig.messages(*answer),
                    false if self.rig.answers[*answer].body.is_empty() => Vec::new(),
                    false => vec![self.rig.json(*answer)],
                };
                for (place, message) in messages.iter().enumerate().filter(|(_, message)| !message.is_null()) {
                    if message["method"] == "notifications/progress" {
                        assert_eq!(message["params"]["message"], call.tag);
                    } else {
                        assert_eq!(message["id"], call.id);
                        assert_eq!(message["result"]["content"][0]["text"], call.tag);
                        assert_eq!(place + 1, messages.len(), "the answer is the last");
                        results.insert(*answer);
                    }
                }
            }
            let whole = call.answers.len() == 1 && results.len() == 1;
            let lost = call.user < 2 && !kept;
            let found = !results.is_empty();
            assert!(found || call.cancelled || lost, "{} got no answer", call.tag);
            assert!(!(call.cancelled && call.user < 2 && found), "{} was cancelled", call.tag);
            assert!(whole || call.answers.len() > 1 || !found);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn users_never_mix(steps in proptest::collection::vec(step(), 1..60), kept in any::<bool>()) {
        let options = if kept { Options::default().replay(Replay::default()) } else { Options::default() };
        let mut world = World::new(options);
        for step in &steps {
            world.play(step);
        }
        world.check(kept);
    }
}
