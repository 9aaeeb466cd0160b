//! Which answers may be given twice.
//!
//! An answer is kept under its method, its params (in canonical spelling, without `_meta`) and whom it may be given
//! to: anybody if its scope is `public`, calls of the same partition if not. It is fresh for `ttlMs` from the moment
//! it came; zero, absent and negative are one. Only what the specification calls cacheable is kept, and nothing
//! that took rounds of input, for these are not part of the key.
//!
//! | event | what becomes stale |
//! |---|---|
//! | `notifications/tools/list_changed`, `…/prompts/…` | all pages of that list |
//! | `notifications/resources/list_changed` | all pages of resources and templates |
//! | `notifications/resources/updated` | reads of that URI |
//! | -32602 to a page with a cursor | all pages of that list |
//!
//! An answer to a request that was on its way when anything became stale is not kept: nobody can tell on which side
//! of the change it was made. Source: `server/utilities/caching`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::api::{Answer, AnswerBody};
use super::calls::Kind;
use super::core::Core;
use super::request::{CacheUse, Request};
use crate::canonical::canonicalize;
use crate::ids::CallId;
use crate::json::Json;
use crate::jsonrpc::{Field, Members};
use crate::machine::{Mono, Now};
use crate::model::{CacheHints, CacheScope, Number};
use crate::spec::Method;

/// The most bytes of answers that are kept; answers hold on to the frames that they came in.
const BYTES_MOST: usize = 64 << 20;

/// Whom an answer may be given to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    Private(Option<Arc<str>>),
    Public,
}

type Key = (Method, Box<str>, Scope);

#[derive(Debug)]
struct Entry {
    result: Members,
    bytes: usize,
    fresh_until: Mono,
    /// Its place in the order of age.
    age: u64,
    /// What a read is of.
    uri: Option<Box<str>>,
}

#[derive(Debug)]
pub(super) struct Cache {
    entries: BTreeMap<Key, Entry>,
    by_age: BTreeMap<u64, Key>,
    bytes: usize,
    last_age: u64,
    epoch: u64,
    bound: usize,
}

/// Whether answers to a method may be kept.
const fn is_cacheable(method: Method) -> bool {
    matches!(
        method,
        Method::PromptsList
            | Method::ResourcesList
            | Method::ResourcesRead
            | Method::ResourcesTemplatesList
            | Method::ServerDiscover
            | Method::ToolsList
    )
}

impl Cache {
    pub(super) const fn new(bound: usize) -> Self {
        Self { entries: BTreeMap::new(), by_age: BTreeMap::new(), bytes: 0, last_age: 0, epoch: 0, bound }
    }

    /// How often anything became stale.
    pub(super) const fn epoch(&self) -> u64 {
        self.epoch
    }

    fn get(&self, now: Mono, method: Method, params: &Json, partition: Option<&Arc<str>>) -> Option<Members> {
        if self.entries.is_empty() || !is_cacheable(method) {
            return None;
        }
        let params: Box<str> = canonicalize(params.get()).ok()?.into();
        let mut key = (method, params, Scope::Private(partition.cloned()));
        let fresh = |entry: &&Entry| now < entry.fresh_until;
        if let Some(entry) = self.entries.get(&key).filter(fresh) {
            return Some(entry.result.clone());
        }
        key.2 = Scope::Public;
        self.entries.get(&key).filter(fresh).map(|entry| entry.result.clone())
    }

    /// Keeps a result, if it wants to be kept. `epoch` is what [`Cache::epoch`] was when the request went out.
    pub(super) fn put(
        &mut self,
        now: Mono,
        method: Method,
        params: &Json,
        partition: Option<&Arc<str>>,
        epoch: u64,
        result: &Members,
    ) {
        if !is_cacheable(method) || epoch != self.epoch || self.bound == 0 {
            return;
        }
        let Some(hints) = hints(result) else { return };
        let Ok(canonical) = canonicalize(params.get()) else { return };
        let scope = match hints.scope {
            CacheScope::Public => Scope::Public,
            CacheScope::Private => Scope::Private(partition.cloned()),
        };
        let key: Key = (method, canonical.into(), scope);
        self.remove(&key);
        let bytes = result.json().as_bytes().len() + key.1.len();
        if bytes > BYTES_MOST {
            return;
        }
        self.last_age += 1;
        let fresh_until = now.after(Duration::from_millis(hints.ttl_ms));
        let uri = uri_of(method, params);
        self.by_age.insert(self.last_age, key.clone());
        self.entries.insert(key, Entry { result: result.clone(), bytes, fresh_until, age: self.last_age, uri });
        self.bytes += bytes;
        while self.entries.len() > self.bound || self.bytes > BYTES_MOST {
            let Some((_, oldest)) = self.by_age.pop_first() else { return };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.by_age.remove(&entry.age);
            self.bytes = self.bytes.saturating_sub(entry.bytes);
        }
    }

    fn remove_if(&mut self, stale: impl Fn(&Key, &Entry) -> bool) {
        self.epoch += 1;
        let keys: Vec<Key> =
            self.entries.iter().filter(|(key, entry)| stale(key, entry)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.remove(&key);
        }
    }

    /// Everything under these methods is stale.
    pub(super) fn forget(&mut self, methods: &[Method]) {
        self.remove_if(|key, _| methods.contains(&key.0));
    }

    /// A resource is stale.
    pub(super) fn forget_resource(&mut self, uri: &str) {
        self.remove_if(|_, entry| entry.uri.as_deref() == Some(uri));
    }

    /// A request was refused as invalid. If it had a cursor, the pages that led to it are stale.
    pub(super) fn cursor_refused(&mut self, request: &Request) {
        let list = request.known().and_then(super::api::List::of);
        if let Some(list) = list.filter(|_| has_cursor(&request.params)) {
            self.forget(&[list.method()]);
        }
    }
}

fn has_cursor(params: &Json) -> bool {
    super::text::object(params).is_some_and(|members| members.iter().any(|(name, _)| name == Field::Cursor.name()))
}

fn uri_of(method: Method, params: &Json) -> Option<Box<str>> {
    #[derive(serde::Deserialize)]
    struct Read {
        uri: Box<str>,
    }
    (method == Method::ResourcesRead).then(|| params.parse::<Read>().ok()).flatten().map(|read| read.uri)
}

/// The hints of a result that wants to be kept.
fn hints(result: &Members) -> Option<CacheHints> {
    let ttl: Number = result.parse(Field::TtlMs, "a number").ok()??;
    let scope = result.string(Field::CacheScope).ok()?;
    let hints = CacheHints::from_wire(Some(&ttl), scope.as_deref());
    (hints.ttl_ms > 0).then_some(hints)
}

impl Core {
    /// Ends a call with a kept answer, or takes a walk as far as kept pages lead it. False if a request is needed.
    pub(super) fn answer_from_cache(&mut self, now: Now, id: CallId) -> bool {
        if !self.is_modern() {
            return false;
        }
        // One turn for each page; the walk's own bound ends it.
        loop {
            let Some(call) = self.calls.get(id) else { return true };
            let Some(method) = call.request.known().filter(|_| call.cache == CacheUse::Use) else { return false };
            if !is_cacheable_request(&call.request) {
                return false;
            }
            let kept = self.cache.get(now.mono, method, &call.request.params, call.partition.as_ref());
            let Some(result) = kept else { return false };
            if !matches!(call.kind, Kind::Walk(_)) {
                let body = AnswerBody::Result(Box::new(result));
                self.done(id, Ok(Answer { body, cached: true }));
                return true;
            }
            if !self.turn_page(id, &result) {
                return true;
            }
        }
    }

    /// Keeps the answer to a call, if that is allowed.
    pub(super) fn remember(&mut self, now: Now, id: CallId, result: &Members) {
        if !self.is_modern() {
            return;
        }
        let Some(call) = self.calls.get(id) else { return };
        if call.cache == CacheUse::Bypass || call.rounds > 0 || !is_cacheable_request(&call.request) {
            return;
        }
        if let Some(method) = call.request.known() {
            self.cache.put(now.mono, method, &call.request.params, call.partition.as_ref(), call.epoch, result);
        }
    }
}

/// Answers that depend on input are not kept, whoever drove the rounds.
const fn is_cacheable_request(request: &Request) -> bool {
    request.input_responses.is_none() && request.request_state.is_none()
}
