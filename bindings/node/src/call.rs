//! The verbs that every call makes: reading, polling, answering.
//!
//! A method of a class costs several times what such a verb does: its receiver is looked up by a private symbol, and
//! every class that a verb touches is entered into a table of what is borrowed, under a lock. So these are functions.
//! Machines have places here, and all numbers cross in memory that JavaScript owns:
//!
//! ```text
//!   in:   place of the machine | monotonic ms | wall clock ms | whether to poll too | more
//!         more is what was written, for those that read; the halves of the slot and the kind, for `reply`
//!   out:  an action (see `pack`), and in the last number whether it is the last one for now
//! ```
//!
//! A verb hands out the action that it has brought about, which saves a crossing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use mcp_sansio::machine::{Now, TimerKind};
use mcp_sansio_told::told::{argument, now};
use napi::Env;
use napi::bindgen_prelude::{Float64Array, Function, FunctionCallContext, JsObjectValue, Object, Result};
use napi_derive::napi;

use crate::action;
use crate::pack::Made;
use crate::server::{Serving, slot};
use crate::value::{Text, thrown};

/// A machine, which its class shares with the verbs here.
pub(crate) type Shared = Rc<RefCell<Serving>>;

thread_local! {
    /// The machines of this thread, by their places. Objects of JavaScript do not leave their thread.
    static MACHINES: RefCell<BTreeMap<u64, Shared>> = const { RefCell::new(BTreeMap::new()) };
}

/// The place of a machine, for as long as its object lives.
pub(crate) struct Place(pub(crate) u64);

impl Place {
    pub(crate) fn of(machine: &Shared) -> Self {
        MACHINES.with_borrow_mut(|machines| {
            let place = machines.last_key_value().map_or(0, |(last, _)| last + 1);
            machines.insert(place, Rc::clone(machine));
            Self(place)
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // At the end of a thread, objects may outlive what is local to it.
        let _ = MACHINES.try_with(|machines| machines.borrow_mut().remove(&self.0));
    }
}

/// The numbers of a verb.
struct Given {
    machine: Shared,
    now: Now,
    polls: bool,
    more: [f64; 3],
}

#[derive(Clone)]
struct Memory(Rc<RefCell<Float64Array>>);

impl Memory {
    fn given(&self) -> Result<Given> {
        let numbers = self.0.borrow();
        let Some(&[place, mono, unix, polls, one, two, three]) = numbers.first_chunk() else {
            return Err(thrown(argument("the memory is too small")));
        };
        let found = MACHINES.with_borrow(|machines| machines.get(&(place as u64)).cloned());
        let machine = found.ok_or_else(|| thrown(argument("there is no such machine")))?;
        Ok(Given { machine, now: now(mono, unix), polls: polls > 0.0, more: [one, two, three] })
    }

    /// The next action of a machine, if there is one.
    #[allow(unsafe_code, reason = "napi has no safe way to write into memory of JavaScript")]
    fn next(&self, env: &Env, serving: &mut Serving) -> Option<Made> {
        let said = serving.machine.poll()?;
        let more = serving.machine.poll_timeout().is_some_and(|(_, kind)| kind == TimerKind::Actions);
        let mut memory = self.0.borrow_mut();
        // SAFETY: the memory is that of an array that `lib/native.ts` keeps to itself and never detaches, and nothing
        // of JavaScript runs until the action is packed.
        let numbers = unsafe { memory.as_mut() };
        if let Some(last) = numbers.last_mut() {
            *last = f64::from(u8::from(!more));
        }
        action::pack(env, &mut serving.buffer, numbers, said)
    }

    fn read(&self, env: &Env, bytes: Bytes) -> Result<Option<Made>> {
        let Given { machine, now, polls, more: [written, ..] } = self.given()?;
        let mut serving = machine.borrow_mut();
        if written > 0.0 {
            serving.machine.written(now, 0, written as usize).map_err(thrown)?;
        }
        serving.machine.bytes(now, bytes).map_err(thrown)?;
        Ok(if polls { self.next(env, &mut serving) } else { None })
    }

    fn reply(&self, cx: &FunctionCallContext<'_>) -> Result<Option<Made>> {
        let Given { machine, now, polls, more: [low, high, kind] } = self.given()?;
        let value = cx.get::<Option<Text>>(0)?.map(|Text(text)| text);
        let mut serving = machine.borrow_mut();
        serving.machine.reply(now, slot(low as u32, high as u32), kind as u32, value).map_err(thrown)?;
        Ok(if polls { self.next(cx.env, &mut serving) } else { None })
    }

    fn poll(&self, env: &Env) -> Result<Option<Made>> {
        let Given { machine, .. } = self.given()?;
        Ok(self.next(env, &mut machine.borrow_mut()))
    }
}

/// The verbs, on this memory.
#[napi]
pub fn verbs(env: &Env, numbers: Float64Array) -> Result<Object<'_>> {
    let memory = Memory(Rc::new(RefCell::new(numbers)));
    let mut verbs = Object::new(env)?;
    let mut verb = |name: &str, act: Verb| {
        let memory = memory.clone();
        let function: Function<'_, (), _> = env.create_function_from_closure(name, move |cx| act(&memory, &cx))?;
        verbs.set_named_property(name, function)
    };
    verb("read_text", |memory, cx| {
        let Text(text) = cx.get(0)?;
        memory.read(cx.env, text.into())
    })?;
    verb("read_bytes", |memory, cx| memory.read(cx.env, Bytes::copy_from_slice(cx.get(0)?)))?;
    verb("reply", Memory::reply)?;
    verb("poll", |memory, cx| memory.poll(cx.env))?;
    Ok(verbs)
}

type Verb = fn(&Memory, &FunctionCallContext<'_>) -> Result<Option<Made>>;
