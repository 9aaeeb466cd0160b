//! A client on a byte stream: the player is its server, and its application.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use mcp_sansio::error::Error;
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Input, Now};
use mcp_sansio::testing::player::{
    Calls, ClientEvent, ClientMemory, Deadline, Lines, Problem, Role, Said, Stage, Step,
};
use mcp_sansio::testing::{Feed, Side};
use mcp_sansio_io::client::nothing;

use super::Front;
use super::lab::Lab;
use super::tap::{self, End, Half, Tap};
use super::user::{Notes, User};
use crate::fixtures::ClientFixture;

/// A front's client on a byte stream, seen from both of its ends.
pub(super) struct OnStream {
    lab: Arc<Lab>,
    user: User,
    server: End<UnixStream>,
    /// What is to be written before the player looks again.
    unwritten: Vec<u8>,
    /// What was read and is no whole line yet.
    read: Vec<u8>,
}

impl OnStream {
    /// A client of a fixture, on the runtime of a front.
    pub(super) fn new<F: Front>(fixture: &str, pinned: Option<&str>, feed: Feed) -> Self {
        let fixture: ClientFixture = serde_json::from_str(fixture).expect("the fixture is a client's");
        let lab = Lab::new(F::runtime());
        let notes = Arc::new(Notes::default());
        let (ours, theirs) = UnixStream::pair().expect("there are sockets");
        ours.set_write_timeout(Some(tap::LOOK)).expect("a socket has a time");
        let (server, place) = tap::end(&lab, ours, feed);
        let (reader, writer) = F::halves(theirs);
        let (reader, writer) = (Tap::new(reader, &place, Half::Reader), Tap::new(writer, &place, Half::Writer));
        let client = fixture.user(pinned, &notes);
        let (connecting, driver) =
            client.over(lab.runtime(), reader, writer, nothing()).expect("the fixture makes a client");
        let user = User::new(&lab, notes, connecting, driver);
        Self { lab, user, server, unwritten: Vec::new(), read: Vec::new() }
    }

    fn write(&mut self) {
        // A front that has closed the stream does not hear any more.
        let _ = self.server.give(&std::mem::take(&mut self.unwritten), &mut self.read);
    }

    fn rest(&mut self) -> Result<(), Problem> {
        self.write();
        let Self { lab, server, read, .. } = self;
        lab.rest(|| server.hear(read).map_err(|error| format!("the stream fails: {error}")))
    }

    /// The next line that the front has written.
    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.read.iter().position(|byte| *byte == b'\n')?;
        Some(self.read.drain(..=end).collect())
    }
}

impl Lines for OnStream {
    fn handle(&mut self, _now: Now, input: Input) -> Result<(), Error> {
        match input {
            Input::Bytes(bytes) => self.unwritten.extend_from_slice(&bytes),
            Input::Eof => {
                self.write();
                self.server.finish(|socket| drop(socket.shutdown(Shutdown::Write)));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Role for OnStream {
    type Event = ClientEvent;
    type Memory = ClientMemory;

    const SIDE: Side = Side::Client;
    // Lines, calls and handlers are on different ways.
    const ORDERED: bool = false;

    fn poll(stage: &mut Stage<Self>) -> Result<Option<Said<ClientEvent>>, Problem> {
        stage.machine.rest()?;
        if let Some(line) = stage.machine.line() {
            stage.written(&line)?;
            return Ok(Some(Said::Frame(line.into())));
        }
        if let Some(remark) = stage.machine.user.notes.papers().remarks.pop_front() {
            return Ok(Some(Said::Remark(remark)));
        }
        Ok(stage.machine.user.next()?.map(Said::Event))
    }

    fn handle_timeout(&mut self, now: Now) {
        self.lab.set(now);
    }

    fn deadline(&self) -> Deadline {
        self.lab.deadline(&[])
    }

    fn close(&mut self, _now: Now) {
        self.user.client.close();
    }

    fn open(stage: &mut Stage<Self>, version: &str, capabilities: &Json) -> Result<(), Problem> {
        stage.open_pinned(version, capabilities)
    }

    fn take(stage: &mut Stage<Self>, step: &Step, rest: &[Step]) -> Result<(), Problem> {
        stage.line_step(step, rest).unwrap_or_else(|| stage.call_step(step))
    }

    fn left(stage: &Stage<Self>) -> Option<String> {
        let read = &stage.machine.read;
        (!read.is_empty()).then(|| format!("a part of a line: {}", String::from_utf8_lossy(read)))
    }
}

impl Calls for OnStream {
    type Verbs = User;

    fn verbs(&mut self) -> &mut User {
        &mut self.user
    }

    fn heard(event: &ClientEvent) -> Option<&ClientEvent> {
        Some(event)
    }

    fn hear(event: ClientEvent) -> Result<ClientEvent, Problem> {
        Ok(event)
    }
}
