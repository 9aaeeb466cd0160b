//! The machines of a client.

use bytes::Bytes;
use mcp_sansio::client::{Action, Closed};
use mcp_sansio::http::client::Action as HttpAction;
use mcp_sansio_told::client::{Machine, facts};
use mcp_sansio_told::told::{bytes_text, call_told, connect_told, now, told};
use napi::Env;
use napi::bindgen_prelude::Result;
use napi_derive::napi;

use crate::action::diagnostic;
use crate::pack::{Buffer, Made, Numbers, Pack};
use crate::value::{Text, thrown, timeout};

/// A machine of a client: of a stream, or of HTTP.
#[napi]
pub struct ClientMachine {
    machine: Machine,
    buffer: Buffer,
}

#[napi]
impl ClientMachine {
    /// A client of a stream, or with an address, of HTTP.
    #[napi(constructor)]
    pub fn new(settings: Text, place: Option<Text>) -> Result<Self> {
        let machine = Machine::new(&settings.0, place.as_ref().map(|text| &*text.0)).map_err(thrown)?;
        Ok(Self { machine, buffer: Buffer::default() })
    }

    /// `Input::Bytes`; over HTTP, `Input::Body` of an exchange.
    #[napi]
    pub fn handle_bytes(&mut self, bytes: &[u8], fetch: f64, mono: f64, unix: f64) -> Result<()> {
        self.machine.bytes(now(mono, unix), fetch as u64, Bytes::copy_from_slice(bytes)).map_err(thrown)
    }

    /// The same of text.
    #[napi]
    pub fn handle_text(&mut self, text: Text, fetch: f64, mono: f64, unix: f64) -> Result<()> {
        self.machine.bytes(now(mono, unix), fetch as u64, text.0.into()).map_err(thrown)
    }

    /// `Input::Written`.
    #[napi]
    pub fn written(&mut self, bytes: u32, mono: f64, unix: f64) -> Result<()> {
        self.machine.written(now(mono, unix), bytes as usize).map_err(thrown)
    }

    /// `handle_timeout`.
    #[napi]
    pub fn handle_timeout(&mut self, mono: f64, unix: f64) {
        self.machine.handle_timeout(now(mono, unix));
    }

    /// `poll_timeout`: null, or the name of what is waited for; its time is in `numbers`.
    #[napi]
    pub fn poll_timeout(&mut self, numbers: Numbers<'_>) -> Option<&'static str> {
        timeout(numbers, self.machine.poll_timeout())
    }

    /// `wants_input`.
    #[napi]
    pub fn wants_input(&mut self) -> bool {
        self.machine.wants_input()
    }

    /// `poll_action`: null, or the text of the action.
    #[napi]
    pub fn poll(&mut self, env: Env, numbers: Numbers<'_>) -> Option<Made> {
        let action = self.machine.poll()?;
        let mut pack = Pack::new(&mut self.buffer, numbers);
        match action {
            HttpAction::Event(action) => event(&mut pack, action),
            other => of_http(&mut pack, &other),
        }
        Some(pack.made(&env))
    }

    /// Every other verb.
    #[napi]
    pub fn act(&mut self, verb: Text, mono: f64, unix: f64) -> Result<Option<String>> {
        self.machine.act(now(mono, unix), &verb.0).map_err(thrown)
    }
}

/// What only a client over HTTP says.
fn of_http(pack: &mut Pack<'_>, action: &HttpAction) {
    match action {
        HttpAction::Fetch(fetch) => {
            pack.number(13.0).number(fetch.id.to_u64() as f64).text(fetch.method.as_str()).text(&fetch.url);
            let all: Vec<_> = fetch.headers.iter().map(|(name, value)| (name, bytes_text(value))).collect();
            pack.text(&serde_json::to_string(&all).unwrap_or_default()).utf8(&fetch.body);
        }
        HttpAction::Abort(fetch) => {
            pack.number(14.0).number(fetch.to_u64() as f64);
        }
        HttpAction::Unauthorized(wanted) => {
            let values: Vec<_> = wanted.challenge.www_authenticate.iter().map(|value| bytes_text(value)).collect();
            pack.number(15.0).number(wanted.fetch.to_u64() as f64).number(f64::from(wanted.challenge.status));
            pack.text(&serde_json::to_string(&values).unwrap_or_default());
        }
        _ => {}
    }
}

/// What every client says. The wrapper reads in the same order (`lib/client.ts`).
fn event(pack: &mut Pack<'_>, action: Action) {
    match action {
        Action::Write(frame) => pack.number(0.0).number(frame.len() as f64).utf8(&frame),
        Action::Connected(server) => pack.number(1.0).text(&facts(&server, true)),
        Action::Renewed(server) => pack.number(2.0).text(&facts(&server, true)),
        Action::Progress { call, progress } => {
            pack.number(3.0).number(call.to_u64() as f64).number(progress.progress);
            pack.number(progress.total.unwrap_or(f64::NAN)).optional(progress.message.as_deref());
            pack.text(progress.raw.get())
        }
        Action::Done { call, outcome } => {
            pack.number(4.0).number(call.to_u64() as f64);
            match outcome {
                Ok(answer) => {
                    pack.number(f64::from(u8::from(answer.is_cached()))).text(answer.json().get()).optional(None)
                }
                Err(error) => pack.number(0.0).optional(None).text(&call_told(&error)),
            }
        }
        Action::NeedInput(needed) => {
            pack.number(5.0).number(needed.input.to_u64() as f64);
            pack.number(needed.call.map_or(-1.0, |call| call.to_u64() as f64)).text(&needed.key);
            pack.text(needed.request.method().map_or("", |method| method.as_str())).text(needed.raw.get())
        }
        Action::CancelledInput { input, reason } => {
            pack.number(6.0).number(input.to_u64() as f64).optional(reason.as_deref())
        }
        Action::Invoke { slot, method, params } => {
            pack.number(7.0).halves(slot.id().to_u64()).text(&method).text(params.get())
        }
        Action::CancelledInvoke { slot, reason } => pack.number(8.0).halves(slot.to_u64()).optional(reason.as_deref()),
        Action::Notified { method, params, subscription } => {
            pack.number(9.0).number(subscription.map_or(-1.0, |call| call.to_u64() as f64));
            pack.text(&method).text(params.get())
        }
        Action::Listening { call, filter } => {
            let filter = serde_json::to_string(&filter).unwrap_or_default();
            pack.number(10.0).number(call.to_u64() as f64).text(&filter)
        }
        Action::Diagnostic(remark) => diagnostic(pack, 11, &remark),
        Action::Closed(why) => {
            let error = match &why {
                Closed::Failed(error) => Some(told(error)),
                Closed::NotConnected(error) => Some(connect_told(error)),
                _ => None,
            };
            pack.number(12.0).text(why.name()).optional(error.as_deref())
        }
        _ => pack.number(-1.0),
    };
}
