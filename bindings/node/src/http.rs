//! The service and the registry of an HTTP server, and a request on its way through them.

use std::sync::Arc;

use bytes::Bytes;
use mcp_sansio::http::server::{Allow, Service};
use mcp_sansio_told::http::{Incoming, Registry, options};
use mcp_sansio_told::told::{bytes_text, now};
use napi::Env;
use napi::bindgen_prelude::{Buffer as Octets, FnArgs, FunctionRef, JsValuesTupleIntoVec, Result};
use napi_derive::napi;

use crate::action::respond;
use crate::pack::{Buffer, Made, Numbers, Pack};
use crate::server::{Definition, ServerMachine};
use crate::value::{Text, thrown, timeout};

/// What an HTTP server is.
#[napi]
pub struct HttpService(Arc<Service>);

#[napi]
impl HttpService {
    /// A service of a definition. The functions say whether a host, an origin or the user of a session is welcome.
    #[napi(constructor)]
    pub fn new(
        env: Env,
        definition: &Definition,
        settings: Text,
        hosts: Option<Welcome>,
        origins: Option<Welcome>,
        owner: Option<Owner>,
    ) -> Result<Self> {
        let mut options = options(&settings.0).map_err(thrown)?;
        let ask = Ask(env.raw().expose_provenance());
        if let Some(welcome) = hosts {
            options = options.hosts(Allow::when(move |host| ask.whether(&welcome, (host.to_owned(),))));
        }
        if let Some(welcome) = origins {
            options = options.origins(Allow::when(move |origin| ask.whether(&welcome, (origin.to_owned(),))));
        }
        if let Some(owner) = owner {
            options = options.owner(move |claim| {
                let [opened_by, principal] = [claim.opened_by, claim.principal].map(|who| who.map(str::to_owned));
                let [opened_from, origin] = [claim.opened_from, claim.origin].map(|from| from.map(bytes_text));
                ask.whether(&owner, (claim.session.to_owned(), opened_by, opened_from, principal, origin))
            });
        }
        Ok(Self(Arc::new(Service::new(Arc::clone(&definition.0), options))))
    }
}

type Welcome = FunctionRef<FnArgs<(String,)>, bool>;
type Owner = FunctionRef<FnArgs<(String, Option<String>, Option<String>, Option<String>, Option<String>)>, bool>;

/// Asks functions of JavaScript, on the thread that they are from: no object of it leaves that.
#[derive(Clone, Copy)]
struct Ask(usize);

impl Ask {
    /// What a function answers. One that fails welcomes nobody.
    fn whether<T>(self, function: &FunctionRef<FnArgs<T>, bool>, arguments: T) -> bool
    where
        FnArgs<T>: JsValuesTupleIntoVec,
    {
        let env = Env::from(std::ptr::with_exposed_provenance_mut(self.0));
        let answer = function.borrow_back(&env).and_then(|function| function.call(FnArgs { data: arguments }));
        answer.unwrap_or(false)
    }
}

/// A request on its way.
#[napi]
pub struct HttpRequest {
    request: Incoming,
    buffer: Buffer,
}

#[napi]
impl HttpRequest {
    /// Judges a head. The headers are a JSON array of pairs.
    #[napi(constructor)]
    pub fn new(
        service: &HttpService,
        method: Text,
        target: Text,
        authority: Option<Text>,
        headers: Text,
        principal: Option<Text>,
    ) -> Result<Self> {
        let (authority, principal) = (authority.map(|text| text.0), principal.map(|text| text.0));
        let request = Incoming::judge(&service.0, (&method.0, &target.0), authority.as_deref(), &headers.0, principal);
        Ok(Self { request: request.map_err(thrown)?, buffer: Buffer::default() })
    }

    /// How far it has got.
    #[napi]
    pub fn way(&self) -> u32 {
        self.request.way()
    }

    /// `Intake::push`.
    #[napi]
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.request.push(Bytes::copy_from_slice(bytes)).map_err(thrown)
    }

    /// `Intake::finish`.
    #[napi]
    pub fn finish(&mut self, seed: &[u8], mono: f64, unix: f64) -> Result<()> {
        self.request.finish(now(mono, unix), seed).map_err(thrown)
    }

    /// `Intake::broken`, or else `Intake::give_up`.
    #[napi]
    pub fn refuse(&mut self, is_broken: bool) {
        self.request.refuse(is_broken);
    }

    /// The answer, packed.
    #[napi]
    pub fn response(&mut self, env: Env, numbers: Numbers<'_>) -> Option<Made> {
        let response = self.request.response()?;
        Some(respond(&mut Pack::new(&mut self.buffer, numbers), response).made(&env))
    }

    /// The machine that serves it alone.
    #[napi]
    pub fn exchange(&mut self) -> Option<ServerMachine> {
        self.request.exchange().map(ServerMachine::of)
    }

    /// `Session::accept`.
    #[napi]
    pub fn accept(&mut self, session: &ServerMachine, mono: f64, unix: f64) -> Result<f64> {
        let session = &mut session.serving.borrow_mut().machine;
        let exchange = self.request.accept(now(mono, unix), session).map_err(thrown)?;
        Ok(exchange as f64)
    }
}

/// The registry. Sessions and listen streams have numbers here, and objects in the wrapper.
#[napi]
pub struct HttpEndpoint(Registry);

#[napi]
impl HttpEndpoint {
    /// The registry of a service.
    #[napi(constructor)]
    pub fn new(service: &HttpService, seed: &[u8]) -> Result<Self> {
        Registry::new(&service.0, seed).map(Self).map_err(thrown)
    }

    /// `seed`.
    #[napi]
    pub fn seed(&mut self) -> Octets {
        self.0.seed().to_vec().into()
    }

    /// `admit`: the number of the session that it leads to, or 0; negative if that session has ended.
    #[napi]
    pub fn admit(&mut self, request: &mut HttpRequest, mono: f64, unix: f64) -> Result<f64> {
        self.0.admit(now(mono, unix), &mut request.request).map(|number| number as f64).map_err(thrown)
    }

    /// The machine of the session that has just been opened or imported.
    #[napi]
    pub fn opened(&mut self) -> Option<ServerMachine> {
        self.0.opened().map(ServerMachine::of)
    }

    /// `import`: the number of the session.
    #[napi]
    pub fn import(&mut self, exported: &[u8], mono: f64, unix: f64) -> Result<u32> {
        self.0.import(now(mono, unix), exported).map_err(thrown)
    }

    /// `Session::export`.
    #[napi]
    pub fn export(&self, session: &ServerMachine) -> Option<Octets> {
        Registry::export(&session.serving.borrow().machine).map(|bytes| bytes.to_vec().into())
    }

    /// `exchange_ended`.
    #[napi]
    pub fn exchange_ended(&mut self, session: u32, mono: f64, unix: f64) {
        self.0.exchange_ended(now(mono, unix), session);
    }

    /// `remove`.
    #[napi]
    pub fn remove(&mut self, session: u32) {
        self.0.remove(session);
    }

    /// `listen`: whether there was room.
    #[napi]
    pub fn listen(&mut self, machine: &ServerMachine, number: u32, mono: f64, unix: f64) -> Result<bool> {
        self.0.listen(now(mono, unix), &mut machine.serving.borrow_mut().machine, number).map_err(thrown)
    }

    /// `unlisten`.
    #[napi]
    pub fn unlisten(&mut self, machine: &ServerMachine) {
        self.0.unlisten(&machine.serving.borrow().machine);
    }

    /// `listeners`: the numbers of those that want to hear of it.
    #[napi]
    pub fn listeners(&self, changed: Text, uri: Option<Text>) -> Result<Vec<u32>> {
        self.0.listeners(&changed.0, uri.map(|text| text.0)).map_err(thrown)
    }

    /// `replace_service`: the lists that have changed, by name.
    #[napi]
    pub fn replace_service(&mut self, service: &HttpService) -> Vec<&'static str> {
        self.0.replace_service(&service.0)
    }

    /// `handle_timeout`.
    #[napi]
    pub fn handle_timeout(&mut self, mono: f64, unix: f64) {
        self.0.handle_timeout(now(mono, unix));
    }

    /// `poll_expired`: the number of a session.
    #[napi]
    pub fn poll_expired(&mut self) -> Option<u32> {
        self.0.poll_expired()
    }

    /// `poll_timeout`: null, or the name of what is waited for; its time is in `numbers`.
    #[napi]
    pub fn poll_timeout(&self, numbers: Numbers<'_>) -> Option<&'static str> {
        timeout(numbers, self.0.poll_timeout())
    }
}
