"""The transcripts over HTTP: a server with its registry and machines, and a client with its exchanges."""

from __future__ import annotations

import json
from typing import Any

import mcp_sansio as m
import vectors
from vectors import ClientStage, Problem, ServerStage, Stage, check, member, shown_action

PIECE = 7
BASE = {"host": "localhost"}
DEFAULTS = {
    "POST": {**BASE, "content-type": "application/json", "accept": "application/json, text/event-stream"},
    "GET": {**BASE, "accept": "text/event-stream"},
}


def stage_of(transcript: dict[str, Any], feed: str) -> Stage:
    return SiteStage(transcript, feed) if transcript["role"] == "server" else HttpClientStage(transcript, feed)


# What both roles share: headers, bodies and events, as files write them.


def pieces(data: bytes, feed: str) -> list[bytes]:
    length = {"whole": max(len(data), 1), "bytes": 1, "trailing": PIECE}[feed]
    return [data[at : at + length] for at in range(0, len(data), length)]


def headers(defaults: dict[str, str], written: dict[str, Any] | None) -> list[tuple[str, bytes]]:
    """Headers on top of others, which they replace: each a string, several strings, or `None` for none."""
    values = {**defaults, **(written or {})}
    pairs = []
    for name in sorted(values):
        value = values[name]
        for each in [] if value is None else value if isinstance(value, list) else [value]:
            pairs.append((name, each.encode()))
    return pairs


def header_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value if isinstance(value, str) else value.decode())
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def as_expected(expected: Any, text: str) -> Any:
    """A body or the data of an event, as what is expected of it can be compared with."""
    if isinstance(expected, str) and (expected == "$string" or not expected.startswith("$")):
        return text
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text


def read_block(text: str) -> dict[str, Any]:
    """An event, or a comment, from its lines."""
    lines = text.split("\n")
    if all(line.startswith(":") for line in lines):
        return {"comment": True}
    block: dict[str, Any] = {}
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            block["data"] = value if "data" not in block else block["data"] + "\n" + value
        else:
            check(name in ("id", "event", "retry"), f"an event has no line {name!r}")
            block[name] = int(value) if name == "retry" else value
    return {"event": block}


def compare_members(stage: Stage, expected: dict[str, Any], got: dict[str, Any]) -> None:
    """Compares the members that a file names."""
    for name, value in stage.kept.fill(expected).items():
        check(name in got, f"there is no {name}")
        came = as_expected(value, got[name]) if name == "body" else got[name]
        stage.kept.compare(value, came)


# A server.


class Ask:
    """A request, and what was said to it."""

    def __init__(self) -> None:
        self.intake: m.Intake | None = None
        self.machine: Any = None
        self.served: Any = None
        self.exchange = 0
        self.state = "waiting"
        self.stalled = False
        self.out: list[Any] = []
        self.said: list[dict[str, Any]] = []
        self.head: m.Respond | None = None
        self.streams = False
        self.text = b""

    def hear(self, piece: Any) -> None:
        match piece:
            case m.Respond():
                self.head, self.streams = piece, piece.body is None
                told = {"status": piece.status, "headers": header_object(piece.headers)}
                if piece.body is None:
                    self.said.append({"stream": told})
                else:
                    self.said.append({"answer": {**told, "body": piece.body.decode()}})
            case m.Chunk():
                self.text += piece.data
                while b"\n\n" in self.text:
                    block, self.text = self.text.split(b"\n\n", 1)
                    self.said.append(read_block(block.decode()))
            case m.Finish():
                check(not self.text, "the stream ends within an event")
                self.said.append({"finished": True})


class Site:
    """A service, its registry, and the machines that they have made: in the order in which they were made."""

    def __init__(self, service: m.Service, stage: SiteStage) -> None:
        self.service, self.stage = service, stage
        self.endpoint = m.Endpoint(service, seed=bytes([11]) * 32)
        self.machines: list[Any] = []
        self.routes: dict[tuple[Any, int], Ask] = {}
        self.events: list[tuple[Any, Any]] = []
        self.seeds = 0

    @property
    def now(self) -> tuple[int, int]:
        return self.stage.now

    def lead(self, ask: Ask, led: Any) -> None:
        ask.intake = None
        match led:
            case m.Intake():
                ask.intake = led
            case m.Respond():
                self.respond(ask, led)
            case m.Exchange():
                self.route(ask, led, 0)
            case m.SessionRequest():
                self.lead(ask, self.endpoint.admit(led, now=self.now))
                self.close_expired()
            case m.Admitted():
                # One session has one object here, so that its place can be compared.
                known = (machine for machine in self.machines if machine == led.session)
                session = next(known, led.session)
                self.route(ask, session, session.accept(led.request, now=self.now))
            case m.Ended():
                self.close(led.session)
                self.respond(ask, led.response)

    def push(self, ask: Ask, data: bytes) -> None:
        if ask.intake is not None and (refused := ask.intake.push(data)) is not None:
            self.lead(ask, refused)

    def finish(self, ask: Ask) -> None:
        if ask.intake is not None:
            self.seeds += 1
            self.lead(ask, ask.intake.finish(now=self.now, seed=self.seeds.to_bytes(32, "big")))

    def give_up(self, ask: Ask) -> None:
        if ask.intake is not None:
            self.lead(ask, ask.intake.give_up())

    def broken(self, ask: Ask) -> None:
        if ask.intake is not None:
            self.lead(ask, ask.intake.broken())

    def route(self, ask: Ask, machine: Any, exchange: int) -> None:
        if machine not in self.machines:
            self.machines.append(machine)
        ask.machine = ask.served = machine
        ask.exchange = exchange
        self.routes[machine, exchange] = ask
        self.drain(machine)

    def close(self, session: m.Session) -> None:
        session.close(now=self.now)
        self.drain(session)

    def close_expired(self) -> None:
        while (session := self.endpoint.poll_expired()) is not None:
            self.close(session)

    def drain(self, machine: Any) -> None:
        while (action := machine.poll()) is not None:
            self.obey(machine, action)
        due = machine.poll_timeout()
        check(due is None or due[1] != "actions", "the machine is drained, and says it is not")
        if machine.is_closed and machine in self.machines:
            owed = any(of == machine for of, _ in self.routes)
            check(not owed, "a machine is over, and a request is not answered")
            self.machines.remove(machine)
            if isinstance(machine, m.Session):
                self.endpoint.remove(machine)
            else:
                self.endpoint.unlisten(machine)

    def obey(self, machine: Any, action: Any) -> None:
        match action:
            case m.Respond():
                ask = self.routes.get((machine, action.exchange))
                check(ask is not None, "an exchange that is over is answered")
                assert ask is not None
                self.respond(ask, action)
            case m.Chunk() | m.Finish():
                ask = self.routes.get((machine, action.exchange))
                check(ask is not None and ask.state == "streaming", "a part of what is no stream")
                assert ask is not None
                ask.out.append(action)
                if isinstance(action, m.Finish):
                    self.over(ask)
            case m.Listen():
                machine.listening(self.endpoint.listen(action, machine), now=self.now)
            case m.Publish():
                self.publish(action)
            case _:
                self.events.append((machine, action))

    def respond(self, ask: Ask, answer: m.Respond) -> None:
        check(ask.state == "waiting", "a request is answered twice")
        ask.out.append(answer)
        ask.state = "streaming"
        if answer.body is not None:
            self.over(ask)

    def over(self, ask: Ask) -> None:
        ask.state = "over"
        machine, ask.machine = ask.machine, None
        if machine is None:
            return
        self.routes.pop((machine, ask.exchange), None)
        if isinstance(machine, m.Session):
            self.endpoint.exchange_ended(machine, now=self.now)
        else:
            self.endpoint.unlisten(machine)

    def read(self, ask: Ask) -> Any:
        """The next part of an answer. Reading is what tells the machine that it was written."""
        if not ask.out:
            return None
        piece = ask.out.pop(0)
        if isinstance(piece, m.Chunk) and ask.machine is not None and not ask.stalled:
            of = (ask.exchange,) if isinstance(ask.machine, m.Session) else ()
            ask.machine.written(*of, len(piece.data), now=self.now)
            self.drain(ask.machine)
        return piece

    def disconnect(self, ask: Ask) -> None:
        machine = ask.machine
        if machine is None or ask.state == "over":
            return
        self.routes.pop((machine, ask.exchange), None)
        machine.disconnected(*((ask.exchange,) if isinstance(machine, m.Session) else ()), now=self.now)
        ask.out.clear()
        self.over(ask)
        self.drain(machine)

    def publish(self, event: m.Publish) -> None:
        for machine in [*self.endpoint.sessions(), *self.endpoint.listeners(event)]:
            machine.deliver(event, now=self.now)
            self.drain(machine)

    def handle_timeout(self, now: Any) -> None:
        for machine in [*self.machines]:
            machine.handle_timeout(now)
            self.drain(machine)
        self.endpoint.handle_timeout(now)
        self.close_expired()

    def poll_timeout(self) -> tuple[int, str] | None:
        due = [machine.poll_timeout() for machine in [*self.machines, self.endpoint]]
        return min((each for each in due if each is not None), default=None)


class SiteStage(ServerStage):
    machine: Site

    def make(self, transcript: dict[str, Any]) -> Site:
        given = dict(transcript.get("http", {}))
        settings: dict[str, Any] = {}
        for name, value in given.items():
            match name:
                case "keep_alive_ms":
                    settings["keep_alive"] = None if value is None else value / 1000
                case "replay":
                    kept = dict(value)
                    if "retry_ms" in kept:
                        kept["retry"] = kept.pop("retry_ms") / 1000
                    settings["replay"] = kept
                case "sse_pair":
                    settings["sse_pair"] = (value["events"], value["messages"])
                case _:
                    settings[name] = value
        options = m.ServiceOptions(**settings)
        self.asks: dict[str, Ask] = {}
        self.places: dict[str, Any] = {}
        self.owners: dict[int, Any] = {}
        self.speaker: Any = None
        self.said_by: list[tuple[Any, Any]] = []
        return Site(m.Service(vectors.definition(transcript["fixture"]), options), self)

    def open(self, version: str, capabilities: Any) -> None:
        client = {"name": "c", "version": "1"}
        hello = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": client}
        message = {"jsonrpc": "2.0", "id": "session", "method": "initialize", "params": hello}
        self.whole_ask("session", headers(DEFAULTS["POST"], None), json.dumps(message).encode())
        opened = self.heard("session")["answer"]
        check(opened["status"] == 200, f"the session was not opened: {opened}")
        id = self.kept.values["session"] = opened["headers"]["mcp-session-id"]
        more = {"mcp-session-id": id, "mcp-protocol-version": version}
        initialized = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
        self.whole_ask("", headers({**DEFAULTS["POST"], **more}, None), initialized)
        check(self.heard("")["answer"]["status"] == 202, "the session was not initialized")
        self.event(m.Notified)

    def step(self, index: int, step: dict[str, Any]) -> None:
        if "end" in step:
            self.end(step["end"])
        elif "close" in step:
            for machine in [*self.machine.machines]:
                machine.close(now=self.now)
                self.machine.drain(machine)
        elif "in" in step or "out" in step:
            raise Problem("no step over HTTP")
        else:
            super().step(index, step)
            if "on" in step and ("closed" in step):
                self.check_place(step)

    def served(self, step: dict[str, Any]) -> None:
        match step:
            case {"ask": written}:
                self.ask_step(step, self.kept.fill(written))
            case {"more": name}:
                self.body(name, self.octets(self.raw("body")))
            case {"give_up": name}:
                self.machine.give_up(self.ask(name))
            case {"broken": name}:
                self.machine.broken(self.ask(name))
            case {"disconnect": name}:
                self.machine.disconnect(self.ask(name))
            case {"stall": name}:
                self.ask(name).stalled = True
            case {"close_stream": name}:
                invoke = self.slot(name)
                self.sent(step, self.owner(invoke).close_stream(invoke, now=self.now))
            case {"answer": expected} | {"stream": expected}:
                kind = "answer" if "answer" in step else "stream"
                compare_members(self, expected, self.said_to(step.get("of", ""), kind))
            case {"event": expected}:
                block = self.said_to(step.get("of", ""), "event")
                if "data" in block:
                    block = {**block, "data": as_expected(expected.get("data"), block["data"])}
                self.kept.compare(expected, block)
            case {"comment": name}:
                self.said_to(name, "comment")
            case {"finished": name}:
                self.said_to(name, "finished")
            case _:
                super().served(step)
                if "on" in step and ("invoke" in step or "notified" in step):
                    self.check_place(step)

    def check_place(self, step: dict[str, Any]) -> None:
        check(self.speaker == self.places[step["on"]], "it comes from another machine")

    def raw(self, *path: str) -> str:
        """The text of a member of the step."""
        text = self.text
        for name in path:
            found = member(text, name)
            assert found is not None
            text = found
        return text

    def ask_step(self, step: dict[str, Any], written: dict[str, Any]) -> None:
        method, name = written.get("method", "POST"), step.get("as", "")
        pairs = headers(DEFAULTS.get(method, BASE), written.get("headers"))
        who = {"authority": written.get("authority"), "principal": written.get("principal")}
        self.arrive(name, method, written.get("target", "/mcp"), pairs, who)
        if "body" in written:
            self.body(name, self.octets(self.raw("ask", "body")))
        if "open" not in step:
            self.end(name)

    def whole_ask(self, name: str, pairs: list[tuple[str, bytes]], body: bytes) -> None:
        self.arrive(name, "POST", "/mcp", pairs, {})
        self.body(name, body)
        self.end(name)

    def arrive(self, name: str, method: str, target: str, pairs: list[tuple[str, bytes]], who: dict[str, Any]) -> None:
        """A request arrives. Whoever had its name has it no more."""
        self.drain()
        check(
            not (name in self.asks and self.asks[name].said), "another request has this name, and more was said to it"
        )
        ask = self.asks[name] = Ask()
        self.places.pop(name, None)
        self.machine.lead(ask, self.machine.service.judge(method, target, pairs, **who))
        self.place_of(name)

    def body(self, name: str, data: bytes) -> None:
        for piece in pieces(data, self.feed):
            self.machine.push(self.ask(name), piece)

    def end(self, name: str) -> None:
        self.machine.finish(self.ask(name))
        self.place_of(name)

    def place_of(self, name: str) -> None:
        if (served := self.ask(name).served) is not None:
            self.places[name] = served

    def ask(self, name: str) -> Ask:
        return self.asks[name]

    def heard(self, name: str) -> dict[str, Any]:
        self.drain()
        check(bool(self.ask(name).said), "nothing was said to it")
        return self.ask(name).said.pop(0)

    def said_to(self, name: str, kind: str) -> Any:
        heard = self.heard(name)
        check(kind in heard, f"something else was said: {heard}")
        return heard[kind]

    # What the machines say.

    def driven(self) -> None:
        for machine in [*self.machine.machines]:
            self.machine.drain(machine)

    def drain(self) -> None:
        for ask in [*self.asks.values()]:
            while (piece := self.machine.read(ask)) is not None:
                ask.hear(piece)
        events, self.machine.events = self.machine.events, []
        for machine, action in events:
            if isinstance(action, m.Diagnosed):
                self.remarks.append(action.what)
                continue
            if isinstance(action, m.Invoke):
                self.owners[id(action)] = machine
            self.said_by.append((machine, action))

    def next(self) -> Any:
        self.drain()
        if not self.said_by:
            return None
        self.speaker, action = self.said_by.pop(0)
        return action

    def nothing_left(self) -> None:
        super().nothing_left()
        for name, ask in self.asks.items():
            check(not ask.said, f"{ask.said[:1]} was said to {name!r}")

    # Which machine a step is about.

    def owner(self, invoke: m.Invoke) -> Any:
        return self.owners[id(invoke)]

    def place(self, step: dict[str, Any], name: str | None = None) -> Any:
        return self.owner(self.slot(name)) if name is not None else self.places[step["on"]]

    def publish(self, step: dict[str, Any], change: Any) -> None:
        what = ("resource", change["resource"]) if isinstance(change, dict) else (change,)
        self.machine.publish(m.Publish(*what))


# A client.


class HttpClientStage(ClientStage):
    machine: m.HttpClient

    def make(self, config: m.Config, transcript: dict[str, Any]) -> m.HttpClient:
        given = dict(transcript.get("http", {}))
        url = given.pop("url", "http://localhost/mcp")
        if "headers" in given:
            given["headers"] = [(name, value) for name, value in given["headers"].items()]
        self.fetches: dict[str, int] = {}
        return m.HttpClient(config, m.HttpAddress(url, **given))

    def open(self, version: str, capabilities: Any) -> None:
        self.machine.connect(self.now)
        hello = self.event(m.Fetch)
        server = {"name": "s", "version": "1"}
        result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": server}
        answer = {"jsonrpc": "2.0", "id": json.loads(hello.body)["id"], "result": result}
        session = {"content-type": "application/json", "mcp-session-id": "session"}
        self.whole(hello.id, 200, headers(session, None), json.dumps(answer).encode())
        self.whole(self.event(m.Fetch).id, 202, [], b"")
        connected = False
        while (action := self.next()) is not None:
            if isinstance(action, m.Fetch):
                self.whole(action.id, 405, [], b"")
            else:
                connected |= isinstance(action, m.Connected)
                check(isinstance(action, m.Connected | m.Abort), f"instead of a connection: {shown_action(action)}")
        check(connected, "the session was not opened")

    def step(self, index: int, step: dict[str, Any]) -> None:
        if "in" in step:
            self.hear_body(self.named(step.get("of")), self.octets(self.raw("in")))
        else:
            super().step(index, step)

    def raw(self, *path: str) -> str:
        text = self.text
        for name in path:
            found = member(text, name)
            assert found is not None
            text = found
        return text

    def named(self, name: str | None) -> int:
        return self.fetches[name or ""]

    def verb(self, step: dict[str, Any]) -> None:
        machine, now = self.machine, self.now
        match step:
            case {"fetch": expected}:
                action = self.event(m.Fetch)
                self.fetches[step.get("as", "")] = action.id
                told = {"method": action.method, "url": action.url, "headers": header_object(action.headers)}
                compare_members(self, expected, {**told, "body": action.body.decode()})
            case {"abort": name}:
                check(self.event(m.Abort).fetch == self.named(name), "another exchange")
            case {"unauthorized": name}:
                action = self.event(m.Unauthorized)
                check(action.fetch == self.named(name), "another exchange")
                check(step.get("status", action.status) == action.status, f"the status is {action.status}")
                if "www_authenticate" in step:
                    self.kept.compare(step["www_authenticate"], [value.decode() for value in action.www_authenticate])
            case {"renewed": version}:
                action = self.event(m.Connected)
                check((action.kind, action.version) == ("renewed", version), f"{action.kind} at {action.version}")
            case {"supply": _}:
                super().verb(step)
            case {"answer": _} | {"stream": _} | {"event": _} | {"comment": _} | {"finished": _} | {"fail": _}:
                self.reaches(step)
            case {"authorize": name}:
                machine.authorize(self.named(name), step["with"], now=now)
            case {"refuse_authorization": name}:
                machine.refuse_authorization(self.named(name), now=now)
            case {"set_authorization": value}:
                machine.set_authorization(value)
            case _:
                super().verb(step)

    def reaches(self, step: dict[str, Any]) -> None:
        match step:
            case {"answer": answer}:
                written = self.kept.fill(answer)
                body = self.octets(self.raw("answer", "body")) if "body" in answer else b""
                plain = body and "headers" not in written
                pairs = headers({"content-type": "application/json"} if plain else {}, written.get("headers"))
                self.whole(self.named(step.get("of")), written.get("status", 200), pairs, body)
            case {"stream": answer}:
                written = self.kept.fill(answer)
                defaults = {} if "headers" in written else {"content-type": "text/event-stream"}
                self.head(
                    self.named(step.get("of")), written.get("status", 200), headers(defaults, written.get("headers"))
                )
            case {"event": event}:
                self.hear_body(self.named(step.get("of")), self.block(self.kept.fill(event)))
            case {"comment": name}:
                self.hear_body(self.named(name), b":\n\n")
            case {"finished": name}:
                self.finished(self.named(name))
            case {"fail": name}:
                fetch, sent = self.named(name), step["why"] != "not_sent"
                self.heard(lambda: self.machine.handle_failed(fetch, "lost", sent=sent, now=self.now))

    def block(self, event: dict[str, Any]) -> bytes:
        """The bytes of an event as a file writes it."""
        lines = [f"{name}: {event[name]}\n" for name in ("id", "event", "retry") if name in event]
        if "data" in event:
            data = self.octets(self.raw("event", "data")).decode()
            lines += [f"data: {line}\n" for line in data.split("\n")]
        return ("".join(lines) + "\n").encode()

    def heard(self, verb: Any) -> None:
        self.handled(verb)
        self.drain()

    def head(self, fetch: int, status: int, pairs: list[tuple[str, bytes]]) -> None:
        self.heard(lambda: self.machine.handle_head(fetch, status, pairs, now=self.now))

    def hear_body(self, fetch: int, data: bytes) -> None:
        for piece in pieces(data, self.feed):
            self.heard(lambda piece=piece: self.machine.handle_body(fetch, piece, now=self.now))

    def finished(self, fetch: int) -> None:
        self.heard(lambda: self.machine.handle_end(fetch, now=self.now))

    def whole(self, fetch: int, status: int, pairs: list[tuple[str, bytes]], body: bytes) -> None:
        self.head(fetch, status, pairs)
        self.hear_body(fetch, body)
        self.finished(fetch)
