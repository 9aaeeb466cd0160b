//! A server on a byte stream: the player writes lines to a socket, and reads those of the front.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::error::Error;
use mcp_sansio::ids::{CallId, SlotId};
use mcp_sansio::json::Json;
use mcp_sansio::machine::{Input, Now};
use mcp_sansio::server::{Event, LogMessage, Progress, Reply, Sent};
use mcp_sansio::testing::player::{
    Deadline, Lines, Message, Problem, Role, Said, ServerEvent, ServerMemory, Serves, Stage, Step,
};
use mcp_sansio::testing::{Feed, Side};
use mcp_sansio_io::server::Connection;

use super::Front;
use super::app::{Desk, Origin, said};
use super::lab::Lab;
use super::tap::{self, End, Half, Tap};
use crate::fixtures::ServerFixture;

/// A front that serves a byte stream, seen from both of its ends.
pub(super) struct OnStream {
    lab: Arc<Lab>,
    desk: Arc<Desk>,
    connection: Connection,
    client: End<UnixStream>,
    /// What is to be written before the player looks again.
    unwritten: Vec<u8>,
    /// What was read and is no whole line yet.
    read: Vec<u8>,
}

impl OnStream {
    /// A server of a fixture, on the runtime of a front.
    pub(super) fn new<F: Front>(fixture: &str, feed: Feed) -> Self {
        let fixture: ServerFixture = serde_json::from_str(fixture).expect("the fixture is a server's");
        let lab = Lab::new(F::runtime());
        let desk = Arc::new(Desk::default());
        let server = fixture.server(&desk);
        let (ours, theirs) = UnixStream::pair().expect("there are sockets");
        ours.set_write_timeout(Some(tap::LOOK)).expect("a socket has a time");
        let (client, place) = tap::end(&lab, ours, feed);
        let (reader, writer) = F::halves(theirs);
        let (reader, writer) = (Tap::new(reader, &place, Half::Reader), Tap::new(writer, &place, Half::Writer));
        let runtime = lab.runtime();
        let (connection, driver) =
            server.accept(Arc::clone(&runtime)).over(reader, writer).expect("there is randomness");
        let told = Arc::clone(&desk);
        runtime.spawn(Box::pin(async move {
            told.closed(match driver.await {
                Ok(closed) => closed.name(),
                Err(_) => "stream",
            });
        }));
        Self { lab, desk, connection, client, unwritten: Vec::new(), read: Vec::new() }
    }

    fn write(&mut self) {
        // A front that has closed the stream does not hear any more.
        let _ = self.client.give(&std::mem::take(&mut self.unwritten), &mut self.read);
    }

    fn rest(&mut self) -> Result<(), Problem> {
        self.write();
        let Self { lab, client, read, .. } = self;
        lab.rest(|| client.hear(read).map_err(|error| format!("the stream fails: {error}")))
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
                self.client.finish(|socket| drop(socket.shutdown(Shutdown::Write)));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Role for OnStream {
    type Event = ((), ServerEvent);
    type Memory = ServerMemory<()>;

    const SIDE: Side = Side::Server;
    // Lines and handlers are on different ways.
    const ORDERED: bool = false;

    fn poll(stage: &mut Stage<Self>) -> Result<Option<Said<Self::Event>>, Problem> {
        stage.machine.rest()?;
        if let Some(line) = stage.machine.line() {
            stage.written(&line)?;
            return Ok(Some(Said::Frame(line.into())));
        }
        if let Some(remark) = stage.machine.desk.papers().remarks.pop_front() {
            return Ok(Some(Said::Remark(remark)));
        }
        Ok(stage.machine.desk.next().map(|(_, event)| Said::Event(((), event))))
    }

    fn handle_timeout(&mut self, now: Now) {
        self.lab.set(now);
    }

    fn deadline(&self) -> Deadline {
        self.lab.deadline(&[])
    }

    fn close(&mut self, _now: Now) {
        self.connection.close();
    }

    fn open(stage: &mut Stage<Self>, version: &str, capabilities: &Json) -> Result<(), Problem> {
        stage.open_session(version, capabilities)
    }

    fn take(stage: &mut Stage<Self>, step: &Step, rest: &[Step]) -> Result<(), Problem> {
        stage.line_step(step, rest).unwrap_or_else(|| stage.serve_step(step))
    }

    fn left(stage: &Stage<Self>) -> Option<String> {
        let read = &stage.machine.read;
        (!read.is_empty()).then(|| format!("a part of a line: {}", String::from_utf8_lossy(read)))
    }
}

impl Serves for OnStream {
    type Place = ();

    const ALONE: Option<()> = Some(());

    fn reply(&mut self, _now: Now, (): (), slot: SlotId, reply: Reply) -> Result<(), Error> {
        self.desk.answer(slot, Some(reply))
    }

    fn abandon(&mut self, _now: Now, (): (), slot: SlotId) {
        // Whoever is gone already is not missed.
        let _ = self.desk.answer(slot, None);
    }

    fn progress(&mut self, _now: Now, (): (), slot: SlotId, progress: &Progress) -> Result<Sent, Error> {
        Ok(said(self.desk.context(slot)?.report_progress(progress.clone())))
    }

    fn log(&mut self, _now: Now, (): (), slot: Option<SlotId>, message: &LogMessage) -> Result<Sent, Error> {
        match slot {
            Some(slot) => Ok(said(self.desk.context(slot)?.log_message(message.clone()))),
            None => Ok(self.connection.log(message)),
        }
    }

    fn notify(&mut self, _now: Now, (): (), method: &str, params: Option<&Json>) -> Result<(), Error> {
        self.connection.notify(method, params)
    }

    fn publish(&mut self, _now: Now, event: &Event) -> Option<Sent> {
        Some(self.connection.publish(event))
    }

    fn request(
        &mut self,
        _now: Now,
        (): (),
        slot: Option<SlotId>,
        message: &Message,
        timeout: Option<Duration>,
    ) -> Result<CallId, Error> {
        let (method, params) = (&*message.method, message.params.as_ref());
        let request = match slot {
            Some(slot) => self.desk.context(slot)?.request(method, params, timeout)?,
            None => self.connection.request(method, params, timeout)?,
        };
        Ok(self.desk.wait(&*self.lab.runtime(), Origin::Connection(self.connection.clone()), request))
    }

    fn cancel_request(&mut self, _now: Now, (): (), call: CallId, reason: Option<&str>) -> Result<(), Error> {
        self.desk.withdraw(call, reason)
    }
}
