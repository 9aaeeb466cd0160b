"""Plays the transcripts of a folder over the objects of `mcp_sansio`.

    python vectors.py DIR [NAME...]

`DIR/README.md` describes the format. Each transcript is played three times: with its input whole, byte by byte, and
with the beginning of the next frame. A difference ends the run with its place; the exit status says whether there was
one.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mcp_sansio as m

TRAILING = 9
START_MS = 1_800_000_000_000
FEEDS = ("whole", "bytes", "trailing")


class Problem(Exception):
    """Where a machine went another way than its transcript."""


def check(holds: bool, problem: str) -> None:
    if not holds:
        raise Problem(problem)


# What is expected, and what came.


class Kept:
    """Values of earlier frames, by the names that the file gives them, and the comparison that keeps them."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def fill(self, value: Any) -> Any:
        if isinstance(value, str) and value.startswith("$use:"):
            return self.values.get(value[5:], value)
        if isinstance(value, dict):
            return {name: self.fill(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        return value

    def fill_text(self, text: str) -> str:
        for name, value in self.values.items():
            text = text.replace(f'"$use:{name}"', json.dumps(value, ensure_ascii=False))
        return text

    def compare(self, expected: Any, got: Any) -> None:
        place = self.differs(self.fill(expected), got, "")
        check(place is None, f"at {place!r}: {json.dumps(got, ensure_ascii=False, default=repr)}")

    def differs(self, expected: Any, got: Any, place: str) -> str | None:
        if isinstance(expected, str):
            if expected == "$any":
                return None
            if expected == "$string":
                return None if isinstance(got, str) else place
            if expected == "$integer":
                return None if isinstance(got, int) and not isinstance(got, bool) else place
            if expected.startswith("$keep:"):
                self.values[expected[6:]] = got
                return None
        if isinstance(expected, dict) and isinstance(got, dict):
            return self.members_differ(expected, got, place)
        if isinstance(expected, list) and isinstance(got, list):
            if len(expected) != len(got):
                return place
            found = (self.differs(a, b, f"{place}/{i}") for i, (a, b) in enumerate(zip(expected, got, strict=True)))
            return next((below for below in found if below is not None), None)
        # 1 and 1.0 are one value, 1 and true are not.
        same = isinstance(expected, bool) == isinstance(got, bool) and expected == got
        return None if same else place

    def members_differ(self, expected: dict[str, Any], got: dict[str, Any], place: str) -> str | None:
        for name, value in expected.items():
            if name == "$more":
                continue
            below = f"{place}/{name}"
            if name not in got:
                return below
            if (found := self.differs(value, got[name], below)) is not None:
                return found
        free_message = place.endswith("/error") and "message" not in expected
        for name in got:
            if name not in expected and "$more" not in expected and not (free_message and name == "message"):
                return f"{place}/{name}"
        return None


def compact(text: str) -> str:
    """A JSON text without white space between its tokens, every token as it is written."""
    out, in_string, escaped = [], False, False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = not escaped and character == "\\"
        else:
            in_string = character == '"'
            if character in " \t\r\n":
                continue
        out.append(character)
    return "".join(out)


def texts_of(text: str) -> list[str]:
    """The text of each step, for numbers and escapes have spellings."""
    decoder = json.JSONDecoder()
    steps = member(text.strip(), "steps")
    assert steps is not None
    at = skip(steps, 1)
    found = []
    while steps[at] != "]":
        _, end = decoder.raw_decode(steps, at)
        found.append(steps[at:end])
        at = skip(steps, end)
        if steps[at] == ",":
            at = skip(steps, at + 1)
    return found


def skip(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


def member(text: str, wanted: str) -> str | None:
    """The text of a member of an object, which is given as text."""
    decoder = json.JSONDecoder()
    at = skip(text, 1)
    while text[at] != "}":
        name, end = decoder.raw_decode(text, at)
        at = skip(text, skip(text, end) + 1)
        _, end = decoder.raw_decode(text, at)
        if name == wanted:
            return text[at:end]
        at = skip(text, end)
        if text[at] == ",":
            at = skip(text, at + 1)
    return None


# The machines that files name.


def definition(fixture: dict[str, Any]) -> m.Definition:
    builder = m.DefinitionBuilder(fixture.pop("name"), fixture.pop("version"))
    for name, value in fixture.items():
        match name:
            case "tools" | "prompts" | "resources" | "templates":
                add = getattr(builder, name.removesuffix("s"))
                for item in value:
                    add(item)
            case "methods" | "notifications" | "dynamic" | "hand_over":
                add = getattr(builder, name.removesuffix("s"))
                for item in value:
                    add(item)
            case "cache":
                for what, hints in value.items():
                    builder.cache(what, hints["ttlMs"], hints["cacheScope"])
            case "extensions":
                for id, settings in value.items():
                    builder.extension(id, settings)
            case "versions":
                builder.versions(*value)
            case "seal_key":
                builder.seal(bytes([value]) * 32)
            case "limits":
                builder.limits(**value)
            case "page_size" | "send_identity" | "legacy_input" | "instructions":
                getattr(builder, name)(value)
            case _ if value is True:
                getattr(builder, name)()
            case _:
                check(value is False, f"{name} is no setting")
    return builder.build()


def config(fixture: dict[str, Any], pinned: str | None) -> m.Config:
    if pinned is not None:
        fixture["connect"] = pinned
    if (probe := fixture.pop("probe_ms", None)) is not None:
        fixture["probe"] = probe / 1000
    return m.Config(**fixture)


# Playing.


class Stage:
    """One machine, the clock, and what the machine has said that no step has asked for yet."""

    machine: Any

    def __init__(self, transcript: dict[str, Any], feed: str) -> None:
        self.now_ms = 0
        self.kept = Kept()
        self.said: list[Any] = []
        self.remarks: list[str] = []
        self.calls: dict[str, int] = {}
        self.callers: dict[str, Any] = {}
        self.slots: dict[str, m.Invoke] = {}
        self.feed = feed
        self.steps: list[dict[str, Any]] = transcript["steps"]
        self.texts: list[str] = transcript["texts"]
        self.text = ""
        self.early = 0

    @property
    def now(self) -> tuple[int, int]:
        return self.now_ms * 1_000_000, START_MS + self.now_ms

    def play(self) -> None:
        for index, step in enumerate(self.steps):
            self.text = self.texts[index]
            try:
                self.step(index, step)
            except (Problem, m.McpError, KeyError, TypeError, ValueError) as error:
                shown = json.dumps(step, ensure_ascii=False)[:300]
                raise Problem(f"step {index + 1} {shown}: {type(error).__name__}: {error}") from error
        self.text = ""
        self.nothing_left()

    def nothing_left(self) -> None:
        if (left := self.next()) is not None:
            raise Problem(f"end of file: the machine said more: {shown_action(left)}")

    def step(self, index: int, step: dict[str, Any]) -> None:
        if "in" in step:
            self.input(index)
        elif "out" in step:
            action = self.next()
            check(isinstance(action, m.Write), f"instead of a frame: {shown_action(action)}")
            self.kept.compare(step["out"], json.loads(action.data))
        elif "end" in step:
            self.handled(lambda: self.machine.handle_eof(self.now))
        elif "close" in step:
            self.machine.close(now=self.now)
        elif "closed" in step:
            action = self.event(m.Closed)
            check(action.reason == step["closed"], f"closed for {action.reason}")
        elif "advance_ms" in step:
            self.now_ms += step["advance_ms"]
            self.machine.handle_timeout(self.now)
        elif "timeout" in step:
            self.drain()
            due = self.machine.poll_timeout()
            wanted = (step["timeout"]["in_ms"], step["timeout"]["kind"])
            got = due and (max(0, due[0] - self.now[0]) // 1_000_000, due[1])
            check(got == wanted, f"the deadline is {got}")
        elif "idle" in step:
            action = self.next()
            check(action is None, f"the machine said more: {shown_action(action)}")
            check(self.machine.poll_timeout() is None, f"waiting for {self.machine.poll_timeout()}")
        elif "quiet" in step:
            action = self.next()
            check(action is None, f"the machine said more: {shown_action(action)}")
        elif "diagnostic" in step:
            self.drain()
            check(step["diagnostic"] in self.remarks, f"no such remark, but {self.remarks}")
            del self.remarks[: self.remarks.index(step["diagnostic"]) + 1]
        else:
            self.verb(step)

    def verb(self, step: dict[str, Any]) -> None:
        raise NotImplementedError

    # Bytes in.

    def bytes_of(self, index: int) -> bytes | None:
        """The line, or the bytes, that an `in` step gives the machine; `None` for every other step."""
        raw = member(self.texts[index], "in")
        if raw is None:
            return None
        is_hex = raw.startswith("{") and set(json.loads(raw)) == {"hex"}
        return self.octets(raw) + (b"" if is_hex else b"\n")

    def octets(self, raw: str) -> bytes:
        """What a file writes as text, as hexadecimal digits, or as JSON, which is made compact."""
        if raw.startswith('"'):
            return self.kept.fill_text(json.loads(raw)).encode()
        if raw.startswith("{") and set(value := json.loads(raw)) == {"hex"}:
            return bytes.fromhex(value["hex"])
        return self.kept.fill_text(compact(raw)).encode()

    def input(self, index: int) -> None:
        data = self.bytes_of(index)
        assert data is not None
        data, self.early = data[self.early :], 0
        if self.feed == "bytes":
            for place in range(len(data)):
                self.handled(lambda place=place: self.machine.handle(data[place : place + 1], self.now))  # type: ignore[misc]
            return
        if self.feed == "trailing":
            early = self.beginning(index)
            self.early = len(early)
            data += early
        self.handled(lambda: self.machine.handle(data, self.now))

    def beginning(self, index: int) -> bytes:
        """What comes early of the next frame. What a step still has to fill in is not known yet."""
        for later in range(index + 1, len(self.steps)):
            if "end" in self.steps[later]:
                return b""
            if (coming := self.bytes_of(later)) is not None:
                return coming.split(b"\n")[0][:TRAILING].split(b"$")[0]
        return b""

    def handled(self, verb: Callable[[], None]) -> None:
        # It shows as the end of the connection too, which a step must expect.
        with contextlib.suppress(m.LimitExceededError):
            verb()

    # What the machine says.

    def drain(self) -> None:
        while (action := self.machine.poll()) is not None:
            if isinstance(action, m.Diagnosed):
                self.remarks.append(action.what)
                continue
            if isinstance(action, m.Write):
                check(action.data.endswith(b"\n") and action.data.count(b"\n") == 1, "a frame is one line")
                self.machine.written(len(action.data))
            self.said.append(action)

    def next(self) -> Any:
        self.drain()
        return self.said.pop(0) if self.said else None

    def event(self, kind: type) -> Any:
        action = self.next()
        check(isinstance(action, kind), f"another event: {shown_action(action)}")
        return action

    def say(self, message: dict[str, Any]) -> None:
        self.machine.handle(json.dumps(message).encode() + b"\n", self.now)

    def frame(self) -> Any:
        return json.loads(self.event(m.Write).data)

    def slot(self, name: str) -> m.Invoke:
        return self.slots[name]

    def refused(self, step: dict[str, Any], verb: Callable[[], Any]) -> Any:
        """A verb that the machine must refuse if the step says so."""
        try:
            done = verb()
        except m.McpError as error:
            check("refused" in step, f"refused: {error}")
            return None
        check("refused" not in step, "the machine took it")
        return done


def shown_action(action: Any) -> str:
    return repr(action) if not isinstance(action, m.Write) else f"the frame {action.data.decode()}"


def error_of(error: dict[str, Any]) -> m.RemoteError:
    return m.RemoteError(error["code"], error.get("message", ""), error.get("data"))


class ServerStage(Stage):
    machine: Any

    def __init__(self, transcript: dict[str, Any], feed: str) -> None:
        super().__init__(transcript, feed)
        self.machine = self.make(transcript)

    def make(self, transcript: dict[str, Any]) -> Any:
        return m.Server(definition(transcript["fixture"]), seed=bytes([7]) * 32)

    def place(self, step: dict[str, Any], name: str | None = None) -> Any:
        """The machine that an invocation is of (`name`), or that a step names."""
        return self.machine

    def publish(self, step: dict[str, Any], change: Any) -> None:
        what = ("resource", change["resource"]) if isinstance(change, dict) else (change,)
        self.sent(step, self.machine.publish(*what, now=self.now))

    def driven(self) -> None:
        """A verb was called: what it has queued can be taken."""

    def open(self, version: str, capabilities: Any) -> None:
        hello = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}}
        self.say({"jsonrpc": "2.0", "id": "session", "method": "initialize", "params": hello})
        check(version in json.dumps(self.frame()), "the session was not opened")
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.event(m.Notified)

    def verb(self, step: dict[str, Any]) -> None:
        self.served(step)
        self.driven()

    def served(self, step: dict[str, Any]) -> None:
        now = self.now
        match step:
            case {"invoke": wanted}:
                self.invoke(step, self.event(m.Invoke), wanted)
            case {"cancelled": name}:
                action = self.event(m.Cancelled)
                check(action.id == self.slot(name).id, "another invocation")
                check("reason" not in step or action.reason == step["reason"], f"the reason is {action.reason}")
            case {"notified": {"method": method, **rest}}:
                action = self.event(m.Notified)
                check(action.method == method, f"the notification {action.method}")
                if "params" in rest:
                    self.kept.compare(rest["params"], action.params)
            case {"answered": name}:
                self.answered(step, self.event(m.Answered), name)
            case {"reply": reply, "to": name}:
                self.reply(self.slot(name), reply)
            case {"abandon": name}:
                self.place(step, name).abandon(self.slot(name), now=now)
            case {"report": report}:
                told = (report["progress"], report.get("total"), report.get("message"))
                machine = self.place(step, step["of"])
                self.sent(step, machine.progress(self.slot(step["of"]), *told, now=now))
            case {"log": log}:
                slot = self.slot(step["of"]) if "of" in step else None
                machine = self.place(step, step.get("of"))
                sent = machine.log(log["level"], log["data"], logger=log.get("logger"), slot=slot, now=now)
                self.sent(step, sent)
            case {"notify": message}:
                self.place(step).notify(message["method"], message.get("params"), now=now)
            case {"publish": change}:
                self.publish(step, change)
            case {"request": message}:
                self.request(step, message)
            case {"cancel_request": name}:
                self.callers[name].cancel_request(self.calls[name], step.get("reason"), now=now)
            case _:
                raise Problem("no step of a server")

    def sent(self, step: dict[str, Any], sent: str) -> None:
        check(step.get("sent", sent) == sent, f"it is {sent}")

    def invoke(self, step: dict[str, Any], invoke: m.Invoke, wanted: dict[str, Any]) -> None:
        described = describe(invoke)
        for name, value in wanted.items():
            check(name in described, f"the invocation has no {name}")
            self.kept.compare(value, described[name])
        if "as" in step:
            self.slots[step["as"]] = invoke
        if "reply" in step:
            self.reply(invoke, step["reply"])
        elif "as" not in step:
            self.slots[f"held {len(self.slots)}"] = invoke

    def reply(self, invoke: m.Invoke, reply: dict[str, Any]) -> None:
        ((kind, value),) = self.kept.fill(reply).items()
        answer: Any
        if kind == "error":
            answer = error_of(value)
        elif kind == "list":
            answer = m.Reply("list", {"items": value["items"], "next_cursor": value.get("nextCursor")})
        else:
            answer = m.Reply(kind, value)
        self.owner(invoke).reply(invoke, answer, now=self.now)

    def owner(self, invoke: m.Invoke) -> Any:
        """The machine that an invocation is of."""
        return self.machine

    def answered(self, step: dict[str, Any], action: m.Answered, name: str) -> None:
        check(action.call == self.calls[name], "another request")
        match step:
            case {"result": wanted}:
                check(action.failure is None, f"answered with {action.failure}")
                self.kept.compare(wanted, action.result)
            case {"error": wanted}:
                check(isinstance(action.error, m.RemoteError), f"answered with {action.failure}")
                assert action.error is not None
                self.kept.compare(wanted, object_of(action.error))
            case {"failure": wanted}:
                check(action.failure == wanted, f"answered with {action.failure}")

    def request(self, step: dict[str, Any], message: dict[str, Any]) -> None:
        slot = self.slot(step["of"]) if "of" in step else None
        timeout = step["timeout_ms"] / 1000 if "timeout_ms" in step else None
        params = message.get("params")
        machine = self.place(step, step.get("of"))
        call = self.refused(
            step,
            lambda: machine.request(message["method"], params, slot=slot, timeout=timeout, now=self.now),
        )
        if call is not None:
            self.calls[step.get("as", "")] = call
            self.callers[step.get("as", "")] = machine


def object_of(error: m.McpError) -> dict[str, Any]:
    told = {"code": error.code, "message": error.message}
    return told if error.data is None else {**told, "data": error.data}


def describe(invoke: m.Invoke) -> dict[str, Any]:
    told: dict[str, Any] = {"call": invoke.call}
    match invoke.call:
        case "complete":
            known = {"type": "ref/prompt", "name": invoke.name}
            unknown = {"type": "ref/resource", "uri": invoke.name}
            told["ref"] = known if invoke.target == "prompt" else unknown
            told |= {"argument": invoke.argument, "value": invoke.value, "context": invoke.arguments}
        case "list":
            told |= {"list": invoke.name, "cursor": invoke.cursor}
        case "raw":
            told |= {"method": invoke.name, "params": invoke.arguments}
        case "read" | "subscribe" | "unsubscribe":
            told["uri"] = invoke.name
        case _:
            told |= {"name": invoke.name, "arguments": invoke.arguments}
    inputs = {}
    for key, answer in invoke.inputs.items():
        failed = isinstance(answer, m.McpError)
        inputs[key] = {"error": object_of(answer)} if failed else {"result": answer}
    told |= {"version": invoke.version, "round": invoke.round, "state": invoke.state, "memo": invoke.memo}
    return {**told, "input": inputs}


class ClientStage(Stage):
    machine: Any

    def __init__(self, transcript: dict[str, Any], feed: str) -> None:
        super().__init__(transcript, feed)
        session = transcript.get("session")
        self.machine = self.make(config(transcript["fixture"], session and session["version"]), transcript)
        self.requests: dict[str, m.Request] = {}
        self.answers: dict[str, m.Done] = {}
        self.inputs: dict[str, int] = {}

    def make(self, config: m.Config, transcript: dict[str, Any]) -> Any:
        return m.Client(config)

    def open(self, version: str, capabilities: Any) -> None:
        self.machine.connect(self.now)
        hello = self.frame()
        server = {"name": "s", "version": "1"}
        result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": server}
        self.say({"jsonrpc": "2.0", "id": hello["id"], "result": result})
        self.frame()
        self.event(m.Connected)

    def verb(self, step: dict[str, Any]) -> None:
        machine, now = self.machine, self.now
        match step:
            case {"connect": _}:
                machine.connect(now)
            case {"call": message}:
                message = self.kept.fill(message)
                self.start(step, m.Request(message["method"], message.get("params")), {})
            case {"retry": _}:
                of, responses = step["of"], step.get("responses", {})
                request = self.requests[of].retry(self.answers[of], responses)
                self.start(step, request, {"drive_input": False})
            case {"walk": name}:
                self.calls[step.get("as", "")] = machine.walk(name, now=now, **options(step))
            case {"listen": filter}:
                self.calls[step.get("as", "")] = machine.listen({"wire": filter}, now=now)
            case {"set_level": level}:
                self.calls[step.get("as", "")] = machine.set_level(level, now=now)
            case {"cancel": name}:
                machine.cancel(self.calls[name], step.get("reason"), now=now)
            case {"supply": name}:
                kind, value = kind_and_value(step["answer"])
                self.refused(step, lambda: machine.supply_input(self.inputs[name], kind, value, now=now))
            case {"reply": reply, "to": name}:
                self.reply(self.slot(name), reply)
            case {"notify": message}:
                machine.notify(message["method"], message.get("params"), now=now)
            case {"roots_changed": _}:
                machine.roots_changed(now=now)
            case _:
                self.said_step(step)

    def start(self, step: dict[str, Any], request: m.Request, more: dict[str, Any]) -> None:
        name = step.get("as", "")
        self.requests[name] = request
        self.calls[name] = self.machine.call(request, now=self.now, **{**options(step), **more})

    def reply(self, invoke: m.Invoke, reply: dict[str, Any]) -> None:
        answer = error_of(reply["error"]) if "error" in reply else reply["result"]
        self.machine.reply(invoke, answer, now=self.now)

    def said_step(self, step: dict[str, Any]) -> None:
        match step:
            case {"connected": version}:
                action = self.event(m.Connected)
                check(action.kind == "connected" and action.version == version, f"at {action.version}")
            case {"done": name}:
                action = self.event(m.Done)
                check(action.call == self.calls[name], "another call")
                self.ended(step, action)
            case {"progress": params}:
                action = self.event(m.Progressed)
                self.is_of(step, action.call)
                self.kept.compare(params, action.params)
            case {"need_input": wanted}:
                action = self.event(m.NeedInput)
                self.is_of(step, action.call)
                got = (action.key, action.method)
                check(got == (wanted.get("key", ""), wanted["method"]), f"the question {got}")
                if "as" in step:
                    self.inputs[step["as"]] = action.input
                if "params" in wanted:
                    self.kept.compare(wanted["params"], action.params)
            case {"cancelled_input": name}:
                action = self.event(m.CancelledInput)
                check(action.input == self.inputs[name], "another question")
                check("reason" not in step or action.reason == step["reason"], f"the reason is {action.reason}")
            case {"invoke": wanted}:
                action = self.event(m.Invoke)
                check(action.method == wanted["method"], f"the request {action.method}")
                if "params" in wanted:
                    self.kept.compare(wanted["params"], action.params)
                self.slots[step.get("as", f"held {len(self.slots)}")] = action
                if "reply" in step:
                    self.reply(action, step["reply"])
            case {"cancelled_invoke": name}:
                action = self.event(m.Cancelled)
                check(action.id == self.slot(name).id, "another request")
                check("reason" not in step or action.reason == step["reason"], f"the reason is {action.reason}")
            case {"notified": wanted}:
                action = self.event(m.Notified)
                self.is_of(step, action.subscription)
                check(action.method == wanted["method"], f"the notification {action.method}")
                if "params" in wanted:
                    self.kept.compare(wanted["params"], action.params)
            case {"listening": filter}:
                action = self.event(m.Listening)
                self.is_of(step, action.call)
                self.kept.compare(filter, action.filter)
            case _:
                raise Problem("no step of a client")

    def is_of(self, step: dict[str, Any], call: int | None) -> None:
        check("of" not in step or self.calls[step["of"]] == call, "of another call")

    def ended(self, step: dict[str, Any], done: m.Done) -> None:
        error = done.error
        if error is None:
            check(done.is_cached == step.get("cached", False), f"whether it was cached: {done.is_cached}")
            check("result" in step, f"it succeeded: {done.result}")
            self.kept.compare(step["result"], done.result)
            self.answers[step["done"]] = done
            return
        check(step.get("error") == error.kind, f"it failed with {error.kind}: {error}")
        if isinstance(error, m.RemoteError) and error.kind == "remote":
            if "code" in step:
                self.kept.compare(step["code"], error.code)
            if "data" in step:
                self.kept.compare(step["data"], error.data)
        if "exchange" in step:
            check(error.exchange == step["exchange"], f"the exchange failed with {error.exchange}")
        if "status" in step:
            check(error.status == step["status"], f"the status is {error.status}")
        if "limit" in step:
            check(isinstance(error, m.LimitExceededError) and error.bound == step["limit"], f"the bound is {error}")


def options(step: dict[str, Any]) -> dict[str, Any]:
    given = dict(step.get("options", {}))
    for name in ("idle", "hard"):
        if f"{name}_ms" in given:
            given[name] = given.pop(f"{name}_ms") / 1000
    return given


def kind_and_value(answer: Any) -> tuple[Any, Any]:
    if isinstance(answer, str):
        return answer, None
    ((kind, value),) = answer.items()
    return "list_roots" if kind == "roots" else kind, value


# Files.


def transcripts(folder: Path, names: list[str]) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.json")):
        if names and path.stem not in names:
            continue
        text = path.read_text(encoding="utf-8")
        transcript: dict[str, Any] = json.loads(text)
        transcript["texts"] = texts_of(text)
        transcript["path"] = folder
        yield transcript


def stage_of(transcript: dict[str, Any], feed: str) -> Stage:
    fixture = transcript["path"] / "fixtures" / f"{transcript['fixture']}.json"
    own = {**transcript, "fixture": json.loads(fixture.read_text(encoding="utf-8"))}
    if transcript.get("transport", "stdio") == "http":
        import vectors_http  # it is made of what is here

        return vectors_http.stage_of(own, feed)
    return ServerStage(own, feed) if transcript["role"] == "server" else ClientStage(own, feed)


def play(transcript: dict[str, Any], feed: str) -> None:
    stage: Any = stage_of(transcript, feed)
    session = transcript.get("session")
    if session is not None:
        stage.open(session["version"], session.get("capabilities", {}))
    stage.play()


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    passed, failed = 0, 0
    for transcript in transcripts(Path(arguments[0]), arguments[1:]):
        for feed in FEEDS:
            try:
                play(transcript, feed)
            except (Problem, m.McpError) as error:
                print(f"{transcript['name']} ({feed}): {error}")
                failed += 1
            else:
                passed += 1
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.modules["vectors"] = sys.modules["__main__"]
    sys.exit(main(sys.argv[1:]))
