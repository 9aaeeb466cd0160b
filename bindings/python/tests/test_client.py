"""The client of a byte stream, against the server of one, in memory."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_sansio import (
    CancelledError,
    Client,
    Closed,
    Config,
    Connected,
    DefinitionBuilder,
    DisconnectedError,
    Done,
    HttpAddress,
    HttpClient,
    Invoke,
    Listening,
    MisuseError,
    NeedInput,
    Notified,
    Progressed,
    RemoteError,
    Reply,
    Request,
    Server,
    TimedOutError,
    Write,
)

FORM = {
    "mode": "form",
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}


class Pair:
    """A client and a server, and what they said that was for people."""

    def __init__(self, connect: str = "auto", **config: Any) -> None:
        builder = DefinitionBuilder("s", "1").list_changed().instructions("read me")
        for number in range(120):
            builder.tool(f"tool{number}", output_schema={"type": "object"} if number == 3 else None)
        self.server = Server(builder.build())
        self.client = Client(Config("c", "1", connect=connect, **config))
        self.now = 0.0

    def connect(self) -> Connected:
        self.client.connect(self.now)
        (connected,) = (said for said in self.run() if isinstance(said, Connected))
        return connected

    def run(self, serve: Any = None) -> list[Any]:
        """Moves frames until nobody has anything to say; answers what the client said."""
        said = []
        moved = True
        while moved:
            moved = False
            for action in self.client:
                moved = True
                if isinstance(action, Write):
                    self.client.written(len(action.data))
                    self.server.handle(action.data, self.now)
                else:
                    said.append(action)
            for reaction in self.server:
                moved = True
                if isinstance(reaction, Write):
                    self.server.written(len(reaction.data))
                    self.client.handle(reaction.data, self.now)
                elif isinstance(reaction, Invoke) and serve is not None:
                    serve(reaction)
        return said


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2025-03-26",) * 2])
def test_a_tool_is_called_in_both_eras(mode: str, version: str) -> None:
    pair = Pair(mode)
    connected = pair.connect()
    assert connected.version == version and connected.instructions == "read me"
    assert connected.info is not None and connected.info["name"] == "s" and "tools" in connected.capabilities
    call = pair.client.call(Request.call_tool("tool1", {"n": 2**80}))
    seen = []

    def serve(invoke: Invoke) -> None:
        seen.append(invoke.arguments)
        pair.server.reply(invoke, "done")

    match pair.run(serve):
        case [Done(same, {"content": [{"text": "done"}]}, None) as done]:
            assert same == call and not done.is_error and not done.is_cached
        case other:
            pytest.fail(str(other))
    assert seen == [{"n": 2**80}]


def test_a_whole_list_is_walked() -> None:
    pair = Pair()
    pair.connect()
    pair.client.walk("tools")
    (done,) = pair.run()
    assert [item["name"] for item in done.items] == [f"tool{number}" for number in range(120)]
    pair.client.call(Request.list("tools"))
    (page,) = pair.run()
    assert len(page.items) == 50 and page.next_cursor


def test_failures_are_errors_with_code_data_and_blame() -> None:
    pair = Pair()
    pair.connect()
    pair.client.call(Request.call_tool("nothing"))
    (done,) = pair.run()
    assert done.result is None and isinstance(done.error, RemoteError)
    assert (done.error.code, done.error.blame, done.error.kind) == (-32602, "remote", "remote")

    held: list[Invoke] = []
    slow = pair.client.call(Request.call_tool("tool1"), idle=2.0, now=pair.now)
    pair.run(held.append)
    assert pair.client.delay(pair.now) == 2.0
    pair.now = 2.0
    pair.client.handle_timeout(pair.now)
    (done,) = pair.run()
    assert done.call == slow and isinstance(done.error, TimedOutError) and done.error.kind == "timed_out_idle"

    cancelled = pair.client.call(Request.call_tool("tool1"), now=pair.now)
    pair.client.cancel(cancelled, "enough", now=pair.now)
    (done,) = pair.run()
    assert isinstance(done.error, CancelledError)
    with pytest.raises(MisuseError):
        pair.client.cancel(cancelled, now=pair.now)

    pair.client.call(Request.call_tool("tool1"), now=pair.now)
    pair.run(held.append)
    pair.client.close(now=pair.now)
    done, closed = pair.run()
    assert isinstance(done.error, DisconnectedError) and isinstance(closed, Closed) and closed.reason == "requested"
    with pytest.raises(MisuseError):
        pair.client.call(Request.call_tool("tool1"))


def test_questions_are_answered_and_bad_answers_leave_them_open() -> None:
    pair = Pair(capabilities={"elicitation": {"form": {}}})
    pair.connect()
    pair.client.call(Request.call_tool("tool1"))

    def serve(invoke: Invoke) -> None:
        if answer := invoke.inputs.get("who"):
            pair.server.reply(invoke, answer["content"]["name"])
        else:
            question = {"method": "elicitation/create", "params": FORM}
            pair.server.reply(invoke, Reply("input", {"requests": {"who": question}}))

    (asked,) = pair.run(serve)
    assert isinstance(asked, NeedInput) and (asked.key, asked.method) == ("who", "elicitation/create")
    assert asked.params["message"] == "Who?"
    with pytest.raises(MisuseError, match="does not fit"):
        pair.client.supply_input(asked.input, "elicit", {"action": "accept", "content": {"name": 3}})
    pair.client.supply_input(asked.input, "elicit", {"action": "accept", "content": {"name": "Ada"}})
    (done,) = pair.run(serve)
    assert done.result["content"][0]["text"] == "Ada"


def test_progress_and_notifications_come() -> None:
    pair = Pair()
    pair.connect()
    listened = pair.client.listen({"tools": True})
    (listening,) = pair.run()
    assert isinstance(listening, Listening) and listening.call == listened
    assert pair.server.publish("tools") == "yes"
    (notified,) = pair.run()
    assert isinstance(notified, Notified) and notified.subscription == listened

    def serve(invoke: Invoke) -> None:
        assert pair.server.progress(invoke, 1, 3) == "yes"
        pair.server.reply(invoke, "x")

    pair.client.call(Request.call_tool("tool1"), progress=True)
    progressed, done = pair.run(serve)
    assert isinstance(progressed, Progressed) and (progressed.progress, progressed.total) == (1.0, 3.0)
    assert isinstance(done, Done)


def test_settings_that_are_none_are_refused() -> None:
    for make in (
        lambda: Client(Config("c", "1", connect="never")),
        lambda: Client({"name": "c", "version": "1", "colour": "red"}),
        lambda: Client(Config("c", "1", limits={"nothing": 1})),
        lambda: HttpClient(Config("c", "1"), HttpAddress("ftp://example.com")),
        lambda: HttpClient(Config("c", "1"), HttpAddress("http://a/", headers=[("accept", "x")])),
        lambda: Request("initialize"),
        lambda: Request("x", {"a": object()}),
    ):
        with pytest.raises(MisuseError):
            make()
    client = Client(Config("c", "1"))
    with pytest.raises(MisuseError):
        client.call(Request("x/y"), colour="red")
