//! Replies of the application, on their way out; and all the other ways in which a request ends.
//!
//! A request ends exactly once: by its result or error, by cancellation (nothing goes out), by its deadline, or
//! with the connection.

use std::sync::Arc;

use bytes::Bytes;

use super::api::{Action, InputRequired, Reply};
use super::core::{Batch, Core, Key, Pending};
use super::result::{self, Expects, Unfit};
use super::rounds::{self, Unaskable};
use super::wire::{Fate, Route, Way, Wire};
use crate::copy::append;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::engine::inbound::Entry;
use crate::error::{Error, ErrorObject, Misuse};
use crate::ids::{ReplySlot, RequestId, SlotId};
use crate::jsonrpc::{Field, FrameWriter, MethodName};
use crate::machine::Now;
use crate::model::CallToolResult;
use crate::spec::{Era, ErrorCode, Method, Version};

impl Core {
    /// Answers an invocation. The slot is used up, whatever comes of it.
    pub(crate) fn reply(&mut self, now: Now, slot: ReplySlot, mut reply: Reply) -> Result<(), Error> {
        self.out.touch(now);
        let slot = slot.id();
        let entry = self.inbound.get_mut(slot).ok_or(Misuse::SlotNotOpen)?;
        if entry.data.asking.is_some() {
            return Err(Misuse::SlotNotOpen.into());
        }
        match (&entry.data.expects, &mut reply) {
            (Expects::Tool(index), Reply::Tool(result)) if !entry.muted => {
                let index = *index;
                self.finish_tool(slot, index, result);
                Ok(())
            }
            _ => self.reply_otherwise(now, slot, reply),
        }
    }

    /// As [`Core::reply`], for all that is not the result of a tool.
    #[inline(never)]
    fn reply_otherwise(&mut self, now: Now, slot: SlotId, mut reply: Reply) -> Result<(), Error> {
        let entry = self.inbound.get_mut(slot).ok_or(Misuse::SlotNotOpen)?;
        if let (Reply::Error(error), false) = (&reply, entry.muted)
            && error.code == ErrorCode::URL_ELICITATION_REQUIRED
            && entry.data.expects != Expects::Raw
        {
            match rounds::url_elicitation(&self.definition, &entry.data.context, error) {
                Ok(None) => {}
                Ok(Some(asked)) => reply = Reply::InputRequired(asked),
                Err(why) => {
                    self.cannot_ask(slot, why);
                    return Ok(());
                }
            }
        }
        let entry = self.inbound.get_mut(slot).ok_or(Misuse::SlotNotOpen)?;
        if let (Reply::InputRequired(asked), false) = (&reply, entry.muted) {
            let (id, context) = (entry.id.clone(), entry.data.context.clone());
            let may_ask = matches!(entry.data.expects, Expects::Tool(_) | Expects::Prompt | Expects::Read);
            let checked = if may_ask {
                rounds::check(&self.definition, &context, asked)
            } else {
                Err(Unaskable::Handler("this method cannot ask for input".to_owned()))
            };
            return match (checked, context.era()) {
                (Ok(()), Era::Legacy) => self.ask(now, slot, asked),
                (Ok(()), Era::Modern) => {
                    let mut frame = FrameWriter::result(&id, 512);
                    let definition = Arc::clone(&self.definition);
                    match rounds::write_result(&definition, &context, asked, now, self.rng.get(), frame.out()) {
                        Ok(()) => {
                            self.say_deprecated_questions(asked);
                            if let Some(entry) = self.end(slot) {
                                self.send(frame.finish(), entry.data.way, Fate::Result);
                                self.close_if_drained();
                            }
                        }
                        Err(why) => self.cannot_ask(slot, why),
                    }
                    Ok(())
                }
                (Err(why), _) => {
                    self.cannot_ask(slot, why);
                    Ok(())
                }
            };
        }
        self.finish_with(slot, reply);
        Ok(())
    }

    /// Ends a request whose handler asked what cannot be asked.
    #[cold]
    pub(super) fn cannot_ask(&mut self, slot: SlotId, why: Unaskable) {
        match why {
            Unaskable::Refuse(error) => {
                // Modern clients understand the code; in the legacy era a tool's failure is something to read.
                let is_tool = self.inbound.get_mut(slot).is_some_and(|entry| {
                    entry.data.context.era() == Era::Legacy && matches!(entry.data.expects, Expects::Tool(_))
                });
                if is_tool {
                    let text = error.message.clone().into_owned();
                    self.finish_with(slot, Reply::Tool(CallToolResult::error(text)));
                } else {
                    self.finish_with(slot, Reply::Error(error));
                }
            }
            Unaskable::Handler(text) => {
                self.say(Diagnostic::new(DiagnosticKind::Output, format!("a handler asked for input wrongly: {text}")));
                self.finish_with(slot, Reply::Failed);
            }
        }
    }

    /// Ends a request with a reply that is not a question.
    pub(super) fn finish_with(&mut self, slot: SlotId, reply: Reply) {
        if let Some(entry) = self.end(slot) {
            let (frame, fate) = self.write_reply(&entry, reply);
            self.send(frame, entry.data.way, fate);
            self.close_if_drained();
        }
    }

    /// Ends the call of a tool, which the client has not cancelled. Nothing is moved: the result is written from where
    /// the application has it, the entry is dropped in its place.
    fn finish_tool(&mut self, slot: SlotId, tool: Option<usize>, result: &mut CallToolResult) {
        self.deadlines.clear(Key::Invocation(slot));
        let Some(entry) = self.inbound.get_mut(slot) else { return };
        let (version, way) = (entry.data.context.version(), entry.data.way);
        let mut frame = FrameWriter::result_in(std::mem::take(&mut self.buffer), &entry.id);
        let (frame, fate) = match result::write_tool(&self.definition, version, tool, result, frame.out()) {
            Ok(()) => (frame.finish_whole_into(&mut self.buffer, self.wire == Wire::Lines), Fate::Result),
            Err(unfit) => {
                let id = entry.id.clone();
                self.unfit(&id, &unfit)
            }
        };
        self.inbound.discard(slot);
        self.send(frame, way, fate);
        self.close_if_drained();
    }

    /// Closes a slot. Answers with its request if the client still waits for the answer.
    fn end(&mut self, slot: SlotId) -> Option<Entry<Pending>> {
        self.deadlines.clear(Key::Invocation(slot));
        if self.inbound.get_mut(slot)?.muted {
            self.end_muted(slot);
            return None;
        }
        self.inbound.close(slot)
    }

    #[cold]
    fn end_muted(&mut self, slot: SlotId) {
        if let Some(entry) = self.inbound.close(slot) {
            self.say(Diagnostic::new(DiagnosticKind::Muted, "a reply to a cancelled request").of(&entry.id));
            self.close_if_drained();
        }
    }

    /// The frame that answers a request, whether or not the reply is one to it.
    #[inline(never)]
    fn write_reply(&mut self, entry: &Entry<Pending>, reply: Reply) -> (Bytes, Fate) {
        let (id, version, expects) = (&entry.id, entry.data.context.version(), &entry.data.expects);
        let mut frame = FrameWriter::result(id, 256);
        let written = match reply {
            Reply::Error(error) => sendable(version, expects, error).map(Err),
            Reply::StateUsed => Ok(Err(rounds::state_refused())),
            Reply::Failed => Ok(result::failed(expects).map(|text| {
                result::tool_error(&self.definition, version, text, frame.out());
            })),
            reply => result::write(&self.definition, version, expects, reply, frame.out())
                .map(|()| self.subscribed(&entry.data)),
        };
        match written {
            Ok(Ok(())) => (frame.finish(), Fate::Result),
            Ok(Err(error)) => (FrameWriter::error(Some(id), false, &error), Fate::Error(error.code)),
            Err(unfit) => self.unfit(id, &unfit),
        }
    }

    /// Says what is wrong with a reply; the client hears no more than that something is.
    #[cold]
    fn unfit(&mut self, id: &RequestId, unfit: &Unfit) -> (Bytes, Fate) {
        let text = match unfit {
            Unfit::Kind => "a reply of another kind than the call".to_owned(),
            Unfit::Code(code) => format!("a handler answered with the error code {code}, which is not its to use"),
            Unfit::Output(problem) => format!("a tool's result breaks its output schema: {problem}"),
        };
        self.say(Diagnostic::new(DiagnosticKind::Output, text));
        let error = ErrorObject::internal();
        (FrameWriter::error(Some(id), false, &error), Fate::Error(error.code))
    }

    /// Says once for each that a modern client was asked for what is deprecated there.
    #[cold]
    fn say_deprecated_questions(&mut self, asked: &InputRequired) {
        for method in asked.requests.iter().filter_map(|(_, request)| request.method()) {
            match method {
                Method::RootsList => self.say_deprecated(method, "roots are deprecated since 2026-07-28"),
                Method::SamplingCreateMessage => {
                    self.say_deprecated(method, "sampling is deprecated since 2026-07-28");
                }
                _ => {}
            }
        }
    }

    /// A legacy subscription that the application has agreed to. Past the bound the client is refused all the same.
    fn subscribed(&mut self, pending: &Pending) -> Result<(), ErrorObject> {
        let request = &pending.context.request;
        let (Expects::Empty, MethodName::Known(method)) = (&pending.expects, &request.method) else { return Ok(()) };
        let (Some(session), Ok(Some(uri))) = (&mut self.session, request.params.string(Field::Uri)) else {
            return Ok(());
        };
        match method {
            Method::ResourcesSubscribe => session.subscribe(&self.definition, uri.into())?,
            Method::ResourcesUnsubscribe => session.unsubscribe(&uri),
            _ => {}
        }
        Ok(())
    }

    /// The client has cancelled the request of `slot`, which is muted already.
    pub(super) fn cancelled(&mut self, slot: SlotId, reason: Option<Box<str>>) {
        self.deadlines.clear(Key::Invocation(slot));
        self.withdraw_requests(slot);
        let Some(entry) = self.inbound.get_mut(slot) else { return };
        let batch = entry.data.way.batch.take();
        let origin = entry.data.way.origin;
        if entry.data.asking.is_some() {
            // No handler runs: there is nobody to tell, and nothing to wait for.
            self.inbound.close(slot);
        } else {
            self.event(Action::Cancelled { slot, reason });
        }
        match batch {
            Some(batch) => self.leave_batch(batch, None),
            None => self.ended(origin),
        }
    }

    /// Cancels a request from this side: its handler is told, nothing more goes out for it.
    pub(super) fn cancel_slot(&mut self, slot: SlotId, reason: Option<Box<str>>) {
        self.inbound.mute(slot);
        self.cancelled(slot, reason);
    }

    /// A handler took too long: the client gets an error, the handler a signal.
    pub(super) fn invocation_timed_out(&mut self, slot: SlotId) {
        let Some(entry) = self.inbound.get_mut(slot).filter(|entry| !entry.muted) else { return };
        let (id, way) = (entry.id.clone(), entry.data.way);
        // The batch is left once.
        entry.data.way.batch = None;
        let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, "the request took too long");
        self.send_error(&id, &error, way);
        self.cancel_slot(slot, Some("deadline".into()));
        self.close_if_drained();
    }

    /// Answers with an error of the method.
    #[cold]
    pub(super) fn send_error(&mut self, id: &RequestId, error: &ErrorObject, way: Way) {
        self.send(FrameWriter::error(Some(id), false, error), way, Fate::Error(error.code));
    }

    /// Answers a request that may not be made, or not now.
    #[cold]
    pub(super) fn send_refusal(&mut self, id: &RequestId, error: &ErrorObject, way: Way) {
        self.send(FrameWriter::error(Some(id), false, error), way, Fate::Refused(error.code));
    }

    /// Sends a result that this machine has written already, on one line.
    pub(super) fn send_result(&mut self, id: &RequestId, text: &[u8], way: Way) {
        let mut frame = FrameWriter::result(id, text.len());
        append(frame.out(), text);
        self.send(frame.finish_whole(), way, Fate::Result);
    }

    /// Sends an answer: alone, or with the rest of its batch.
    pub(super) fn send(&mut self, frame: Bytes, way: Way, fate: Fate) {
        match way.batch {
            None => self.write(frame, Route::Answer(way.origin, fate)),
            Some(batch) => self.leave_batch(batch, Some(frame)),
        }
    }

    /// One of a batch's requests has ended. The last one sends the answers, if there are any.
    #[cold]
    pub(super) fn leave_batch(&mut self, id: u64, answer: Option<Bytes>) {
        let Some(batch) = self.batches.get_mut(&id) else { return };
        batch.waiting = batch.waiting.saturating_sub(1);
        batch.answers.extend(answer);
        if batch.waiting > 0 {
            return;
        }
        let Some(Batch { origin, answers, .. }) = self.batches.remove(&id) else { return };
        if answers.is_empty() {
            return self.ended(origin);
        }
        let mut out = Vec::with_capacity(answers.iter().map(Bytes::len).sum::<usize>() + 2);
        for (position, answer) in answers.iter().enumerate() {
            out.push(if position == 0 { b'[' } else { b',' });
            append(&mut out, answer.trim_ascii_end());
        }
        out.extend_from_slice(b"]\n");
        self.write(out.into(), Route::Answer(origin, Fate::Result));
    }
}

/// A handler's error as a modern client may get it: an unknown resource has another code there, and codes that the
/// specification keeps for itself mean what it says, or are not sent. A gateway's errors pass as they came.
fn sendable(version: Version, expects: &Expects, error: ErrorObject) -> Result<ErrorObject, Unfit> {
    if version.era() == Era::Legacy || *expects == Expects::Raw {
        return Ok(error);
    }
    match error.code {
        ErrorCode::RESOURCE_NOT_FOUND => Ok(ErrorObject { code: version.resource_not_found(), ..error }),
        code if code.is_reserved() && !code.is_recognised_modern() => Err(Unfit::Code(code)),
        _ => Ok(error),
    }
}
