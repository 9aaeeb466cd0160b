//! A whole list, page by page.
//!
//! Only an absent cursor ends a list; `""` is a cursor, and one that repeats is no error by itself. What ends a
//! list that never ends are bounds, on pages, items and bytes, and what was read until then is not lost. The cursor
//! goes back as the token that came. Each page is a request of its own for the cache and for the idle clock; the
//! hard clock covers the walk. Source: `server/utilities/pagination`.

use super::api::{Answer, AnswerBody, CallError, List};
use super::calls::Kind;
use super::core::Core;
use super::request::Request;
use crate::ids::CallId;
use crate::json::Json;
use crate::jsonrpc::{Field, Members};
use crate::limits::Bound;
use crate::machine::Now;

/// What a walk has read.
#[derive(Debug)]
pub(super) struct Walk {
    list: List,
    items: Vec<Json>,
    pages: usize,
    /// Of all pages: items hold on to the frames that they came in.
    bytes: usize,
}

impl Walk {
    pub(super) const fn new(list: List) -> Self {
        Self { list, items: Vec::new(), pages: 0, bytes: 0 }
    }
}

/// What comes after a page.
enum Next {
    Page(Json),
    Done(Result<Answer, CallError>),
    Invalid(&'static str),
}

impl Core {
    /// A page that the server sent.
    pub(super) fn walk_result(&mut self, now: Now, id: CallId, result: &Members) {
        if self.calls.get(id).is_some_and(|call| matches!(&call.kind, Kind::Walk(walk) if walk.list == List::Tools)) {
            self.see_tools(result);
        }
        self.remember(now, id, result);
        if self.turn_page(id, result) {
            self.send(now, id);
        }
    }

    /// Takes a page, from wherever it came. True if the walk goes on: its next request is in place.
    pub(super) fn turn_page(&mut self, id: CallId, result: &Members) -> bool {
        match self.next_page(id, result) {
            Some(Next::Page(cursor)) => {
                let Some(call) = self.calls.get_mut(id) else { return false };
                let Kind::Walk(walk) = &call.kind else { return false };
                call.request = Request::page(walk.list, &cursor);
                return true;
            }
            Some(Next::Done(outcome)) => self.done(id, outcome),
            Some(Next::Invalid(problem)) => self.invalid_result(id, problem, result),
            None => {}
        }
        false
    }

    fn next_page(&mut self, id: CallId, result: &Members) -> Option<Next> {
        let limits = &self.config.limits;
        let (page_limit, item_limit) = (limits.walk_pages, limits.walk_items);
        let byte_limit = limits.walk_bytes;
        let call = self.calls.get_mut(id)?;
        let Kind::Walk(walk) = &mut call.kind else { return None };
        let Some(items) = result.value(walk.list.field()).as_ref().and_then(super::text::array) else {
            return Some(Next::Invalid("the page has no array of items"));
        };
        let cursor = result.value(Field::NextCursor);
        if cursor.as_ref().is_some_and(|cursor| !cursor.is_string()) {
            return Some(Next::Invalid("nextCursor is no string"));
        }
        walk.pages += 1;
        walk.bytes = walk.bytes.saturating_add(result.json().as_bytes().len());
        walk.items.extend(items);
        let exceeded = |walk: &mut Walk, bound, limit: usize| {
            walk.items.truncate(item_limit);
            let partial = std::mem::take(&mut walk.items);
            Next::Done(Err(CallError::BoundExceeded { bound, limit: limit as u64, partial }))
        };
        Some(if walk.items.len() > item_limit {
            exceeded(walk, Bound::WalkItems, item_limit)
        } else if walk.bytes > byte_limit {
            exceeded(walk, Bound::WalkBytes, byte_limit)
        } else {
            match cursor {
                None => {
                    let body = AnswerBody::Items(walk.list, std::mem::take(&mut walk.items));
                    Next::Done(Ok(Answer { body, cached: false }))
                }
                Some(_) if walk.pages >= page_limit => exceeded(walk, Bound::WalkPages, page_limit),
                Some(cursor) => Next::Page(cursor),
            }
        })
    }
}
