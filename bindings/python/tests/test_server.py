"""The server of a byte stream: its verbs, its actions, and what is refused."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mcp_sansio import (
    Answered,
    Cancelled,
    Closed,
    Definition,
    DefinitionBuilder,
    Invoke,
    LimitExceededError,
    MisuseError,
    Notified,
    RemoteError,
    Reply,
    Server,
    Write,
)

SEED = bytes([7]) * 32
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def definition(**limits: int) -> Definition:
    return (
        DefinitionBuilder("s", "1")
        .tool("echo", input_schema={"type": "object", "properties": {"text": {"type": "string"}}})
        .tool({"name": "whole", "inputSchema": {"type": "object"}})
        .tool(b'{"name": "bytes", "inputSchema": {"type": "object", "title": "kept"}}')
        .prompt("greet", arguments=[{"name": "who", "required": True}])
        .resource("file:///a", name="a", mime_type="text/plain")
        .template("file:///{dir}/{name}")
        .completions()
        .logging()
        .limits(**limits)
        .build()
    )


def frame(method: str, params: dict[str, Any] | None = None, id: Any = 1) -> bytes:
    whole = {"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": MODERN, **(params or {})}}
    return json.dumps(whole).encode() + b"\n"


def written(server: Server) -> dict[str, Any]:
    action = server.poll()
    assert isinstance(action, Write), action
    server.written(len(action.data))
    answer: dict[str, Any] = json.loads(action.data)
    return answer


def invoked(server: Server, params: dict[str, Any] | None = None, method: str = "tools/call", id: Any = 1) -> Invoke:
    server.handle(frame(method, params or {"name": "echo", "arguments": {"text": "hi"}}, id), now=0)
    action = server.poll()
    assert isinstance(action, Invoke), action
    return action


def new(**limits: int) -> Server:
    return Server(definition(**limits), seed=SEED)


def test_a_call_is_answered() -> None:
    server = new()
    match invoked(server):
        case Invoke("tool", "echo", {"text": text}) as invoke:
            server.reply(invoke, text, now=1.5)
        case other:
            pytest.fail(str(other))
    assert written(server)["result"]["content"] == [{"type": "text", "text": "hi"}]
    assert server.poll() is None and server.poll_timeout() is None and server.delay() is None


def test_a_machine_is_iterated_until_everything_is_done_and_goes_on_later() -> None:
    server = new()
    assert iter(server) is server and list(server) == []
    server.handle(frame("tools/call", {"name": "echo", "arguments": {"text": "hi"}}), now=0)
    seen = []
    for action in server:
        seen.append(action.kind)
        if isinstance(action, Invoke):
            server.reply(action, "there")
    assert seen == ["invoke", "write"] and list(server) == []
    with pytest.raises(MisuseError, match="another thread"), ThreadPoolExecutor(1) as pool:
        pool.submit(next, server).result()


def test_names_of_members_are_the_same_however_many_there_are() -> None:
    server = new()
    for round in range(2):
        arguments = {f"{'n' * (number % 40)}é{number}": number for number in range(1000)}
        invoke = invoked(server, {"name": "whole", "arguments": arguments}, id=round)
        assert invoke.arguments == arguments and invoke.arguments is invoke.arguments
        server.reply(invoke, {"content": [], "structuredContent": invoke.arguments})
        assert written(server)["result"]["structuredContent"] == arguments


def test_what_is_asked_is_native_and_bytes() -> None:
    server = new()
    big = 123456789012345678901234567890
    arguments = {"i": big, "f": 1.5, "n": None, "t": True, "l": [1, {"x": "é\n\u2028"}], "neg": -3, "e": 1e300}
    server.handle(frame("tools/call", {"name": "whole", "arguments": arguments}))
    invoke = server.poll()
    assert isinstance(invoke, Invoke)
    assert invoke.arguments == arguments and isinstance(invoke.arguments["i"], int)
    assert invoke.arguments is invoke.arguments, "parsed once"
    assert json.loads(invoke.raw) == arguments
    assert (invoke.kind, invoke.version, invoke.era) == ("invoke", "2026-07-28", "modern")
    assert invoke.client_info == {"name": "c", "version": "1"} and invoke.request_id == 1
    assert invoke.params["name"] == "whole" and invoke.meta == MODERN and invoke.index == 1
    assert (invoke.inputs, invoke.state, invoke.memo, invoke.round) == ({}, None, None, 0)


@pytest.mark.parametrize(
    ("method", "params", "call", "name", "arguments", "reply"),
    [
        (
            "prompts/get",
            {"name": "greet", "arguments": {"who": "me"}},
            "prompt",
            "greet",
            {"who": "me"},
            {"messages": []},
        ),
        ("resources/read", {"uri": "file:///a"}, "read", "file:///a", {}, {"contents": []}),
        ("resources/read", {"uri": "file:///x/y"}, "read", "file:///x/y", {"dir": "x", "name": "y"}, {"contents": []}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "m"}},
            "complete",
            "greet",
            {},
            {"values": ["me"]},
        ),
    ],
)
def test_every_call_has_a_name_and_arguments(
    method: str, params: dict[str, Any], call: str, name: str, arguments: dict[str, Any], reply: Any
) -> None:
    server = new()
    invoke = invoked(server, params, method)
    assert (invoke.call, invoke.name, invoke.arguments) == (call, name, arguments)
    server.reply(invoke, reply)
    assert "result" in written(server)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply.text("no", is_error=True), {"content": [{"type": "text", "text": "no"}], "isError": True}),
        (b'{"content":[],"structuredContent":{"n":1.0}}', {"content": [], "structuredContent": {"n": 1.0}}),
        ({"content": [], "structuredContent": {"n": 2**70}}, {"content": [], "structuredContent": {"n": 2**70}}),
        (Reply("raw", {"content": [], "x": b"[1,  2]"}), {"content": [], "x": [1, 2]}),
    ],
)
def test_replies_are_native_or_bytes(reply: Any, expected: dict[str, Any]) -> None:
    server = new()
    server.reply(invoked(server), reply)
    result = written(server)["result"]
    assert {name: result[name] for name in expected} == expected


def test_an_error_of_ours_is_what_the_client_is_told() -> None:
    server = new()
    server.reply(invoked(server), RemoteError(-32000, "no", {"why": 1}))
    assert written(server)["error"] == {"code": -32000, "message": "no", "data": {"why": 1}}


def test_a_slot_is_used_once() -> None:
    server = new()
    invoke = invoked(server)
    server.reply(invoke, "a")
    verbs: list[Callable[[], None]] = [
        lambda: server.reply(invoke, "b"),
        lambda: server.abandon(invoke),
        lambda: server.reply(invoke.slot, "c"),
    ]
    for again in verbs:
        with pytest.raises(MisuseError, match="answered or abandoned before") as raised:
            again()
        assert (raised.value.blame, raised.value.kind, raised.value.code) == ("api_misuse", "api_misuse", -32603)
    assert "result" in written(server) and server.poll() is None


def test_a_reply_that_is_none_leaves_the_slot_open() -> None:
    server = new()
    invoke = invoked(server)
    loop: list[Any] = []
    loop.append(loop)
    for bad in (object(), {1: 2}, float("nan"), loop, b"{", {"content": 3}, Reply):
        with pytest.raises(MisuseError):
            server.reply(invoke, bad)
    server.reply(invoke, "good")
    assert "result" in written(server)


def test_a_slot_of_another_machine_is_refused() -> None:
    one, other = new(), new()
    mine, theirs = invoked(one), invoked(other)
    with pytest.raises(MisuseError, match="another machine's"):
        one.reply(theirs, "x")
    one.reply(mine, "x")
    other.reply(theirs, "x")


def test_a_collected_slot_is_abandoned_at_the_next_verb() -> None:
    server = new()
    invoke = invoked(server)
    slot = invoke.slot
    del invoke
    gc.collect()
    assert server.poll() is None, "the slot is still held"
    del slot
    gc.collect()
    assert written(server)["result"]["isError"] is True
    assert server.poll() is None


def test_a_closed_machine_says_so() -> None:
    server = new()
    invoke = invoked(server)
    server.close()
    actions = []
    while (action := server.poll()) is not None:
        actions.append(action)
    assert isinstance(actions[-1], Closed) and actions[-1].reason == "requested" and server.is_closed
    verbs: list[Callable[[], None]] = [
        lambda: server.handle(b"x"),
        lambda: server.notify("x/y"),
        lambda: server.handle_eof(),
    ]
    for verb in verbs:
        with pytest.raises(MisuseError):
            verb()
    server.reply(invoke, "late")  # the request was cancelled: nobody hears of it
    with pytest.raises(MisuseError):
        server.reply(invoke, "again")
    assert server.poll() is None and not server.wants_input


def test_end_of_input_closes_when_all_is_answered() -> None:
    server = new()
    invoke = invoked(server)
    server.handle_eof(now=0)
    due = server.poll_timeout()
    assert due == (1_500_000_000, "drain") and server.delay(now=1.0) == 0.5
    server.reply(invoke, "x", now=1)
    assert "result" in written(server)
    match server.poll():
        case Closed("end_of_input", None):
            pass
        case other:
            pytest.fail(str(other))


def test_a_fatal_error_is_repeated() -> None:
    server = new(frame_bytes=100)
    with pytest.raises(LimitExceededError) as raised:
        for _ in range(100):
            server.handle(b"x" * 100)
    assert (raised.value.bound, raised.value.limit, raised.value.blame) == ("frame_bytes", 1600, "limit_exceeded")
    with pytest.raises((LimitExceededError, MisuseError)):
        server.handle(b"x")


def legacy(server: Server, **capabilities: Any) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}}
    server.handle(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).encode() + b"\n")
    assert written(server)["result"]["protocolVersion"] == "2025-11-25"
    server.handle(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    match server.poll():
        case Notified("notifications/initialized"):
            pass
        case other:
            pytest.fail(str(other))


def test_a_client_is_asked_and_answers() -> None:
    server = new()
    legacy(server, roots={})
    for reply, expected in (
        ({"result": {"roots": []}}, ({"roots": []}, None)),
        ({"error": {"code": -1, "message": "no"}}, (None, "remote")),
    ):
        call = server.request("roots/list", timeout=5.0)
        sent = written(server)
        server.handle(json.dumps({"jsonrpc": "2.0", "id": sent["id"], **reply}).encode() + b"\n")
        answered = server.poll()
        assert isinstance(answered, Answered) and answered.call == call
        assert (answered.result, answered.failure) == expected
        if answered.error is not None:
            assert isinstance(answered.error, RemoteError) and (answered.error.code, str(answered.error)) == (-1, "no")
    call = server.request("roots/list")
    written(server)
    server.cancel_request(call, "enough")
    assert written(server)["params"]["reason"] == "enough"


def test_progress_log_and_cancellation() -> None:
    server = new()
    asked = {"name": "echo", "arguments": {}, "_meta": {**MODERN, "progressToken": "t"}}
    invoke = invoked(server, asked)
    assert invoke.progress_token == "t"
    assert server.progress(invoke, 1, 2, "half") == "yes"
    assert written(server)["params"] == {"progressToken": "t", "progress": 1, "total": 2, "message": "half"}
    assert server.progress(invoke.slot, 0.5) == "not_wanted"
    assert server.log("info", {"a": 1}, slot=invoke) == "not_wanted"
    server.handle(
        json.dumps(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": 1, "reason": "r", "_meta": MODERN},
            }
        ).encode()
        + b"\n"
    )
    match server.poll():
        case Cancelled(id, "r"):
            assert id == invoke.id
        case other:
            pytest.fail(str(other))
    server.reply(invoke, "muted")
    with pytest.raises(MisuseError):
        server.log("loud", 1)  # type: ignore[arg-type]


def test_questions_come_back_answered() -> None:
    server = new()
    asks = {**MODERN, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    form = {
        "mode": "form",
        "message": "Who?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    }
    invoke = invoked(server, {"name": "echo", "arguments": {}, "_meta": asks})
    question = {"method": "elicitation/create", "params": form}
    server.reply(invoke, Reply("input", {"requests": {"who": question}, "state": "s"}))
    asked = written(server)["result"]
    assert asked["resultType"] == "input_required"
    again = {"name": "echo", "arguments": {}, "_meta": asks, "requestState": asked["requestState"]}
    answer = {"who": {"action": "accept", "content": {"name": "Ada"}}}
    invoke = invoked(server, {**again, "inputResponses": answer}, id=2)
    assert invoke.inputs == answer and invoke.round == 1
    elicited = invoke.elicited("who", form)
    assert elicited is not None and elicited["content"] == {"name": "Ada"}
    assert invoke.elicited("other", form) is None
    server.reply(invoke, "hello")
    assert "result" in written(server)


def test_another_thread_is_refused_and_may_be_allowed() -> None:
    def elsewhere(server: Server) -> BaseException | None:
        raised: list[BaseException | None] = [None]

        def run() -> None:
            try:
                server.handle(frame("server/discover"))
                server.poll()
            except MisuseError as error:
                raised[0] = error

        thread = threading.Thread(target=run)
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
        return raised[0]

    assert "another thread's" in str(elsewhere(new()))
    assert elsewhere(Server(definition(), any_thread=True)) is None


def test_many_threads_at_once_never_crash_or_hang() -> None:
    server = Server(definition(), any_thread=True)
    refused = []

    def run(base: int) -> None:
        for number in range(300):
            try:
                server.handle(frame("tools/call", {"name": "echo", "arguments": {}}, base + number))
                while (action := server.poll()) is not None:
                    if isinstance(action, Invoke):
                        server.reply(action, "x")
                    elif isinstance(action, Write):
                        server.written(len(action.data))
            except MisuseError as error:
                refused.append(error)

    threads = [threading.Thread(target=run, args=(1000 * place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert all("in use" in str(error) for error in refused)


def test_slots_that_other_threads_lose_are_abandoned() -> None:
    server = new()
    held = [invoked(server)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join(10)
    assert written(server)["result"]["isError"] is True


def test_a_definition_that_cannot_be_is_refused() -> None:
    for builder in (
        DefinitionBuilder("s", "1").tool("a").tool("a"),
        DefinitionBuilder("s", "1").tool("a", input_schema={"type": "string"}),
        DefinitionBuilder("s", "1").tool("a", input_schema=b"{"),
        DefinitionBuilder("s", "1").limits(nothing=1),
        DefinitionBuilder("s", "1").versions("1999-01-01"),
        DefinitionBuilder("s", "1").template("{"),
    ):
        with pytest.raises(MisuseError):
            builder.build()


def test_actions_are_frozen_and_shown_without_payload() -> None:
    server = new()
    invoke = invoked(server, {"name": "echo", "arguments": {"text": "secret"}})
    assert "secret" not in repr(invoke) and repr(invoke).startswith("Invoke(call='tool', name='echo'")
    with pytest.raises(AttributeError):
        invoke.name = "other"  # type: ignore[misc]
    assert Write.kind == "write" and Write.__match_args__ == ("data",)


def test_times_are_seconds_or_nanoseconds_and_never_nonsense() -> None:
    server = new()
    for good in (0, 10**12, 1.25, (1, 2), (1.5, 1.8e9), None):
        server.handle_timeout(good)
    odd: list[Any] = [-1, -0.5, 2**70, 1e300, float("nan"), float("inf"), True, "now", b"1", [1, 2]]
    odd += [(), (1,), (1, 2, 3), (1, -1), (1, float("nan")), (None, 1), ("1", 1)]
    for bad in odd:
        with pytest.raises(MisuseError, match="a time is"):
            server.handle_timeout(bad)
        with pytest.raises(MisuseError, match="a time is"):
            server.handle(b"", bad)
    with pytest.raises(MisuseError, match="32 bytes"):
        Server(definition(), seed=b"short")


def test_integers_of_a_class_of_ones_own_are_written_as_numbers() -> None:
    class Odd(int):
        def __str__(self) -> str:
            more.update(extra=1)
            return '1,"isError":true'

    more: dict[str, Any] = {"number": Odd(2**70), "after": 1}
    server = new()
    server.reply(invoked(server), {"content": [], "structuredContent": more}, now=1)
    assert written(server)["result"]["structuredContent"] == {"number": 2**70, "after": 1}


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_longer_than_python_writes_itself_are_exact_both_ways(sign: int) -> None:
    # 5,003 digits, in the middle of which there are noughts: what the halves are joined at must be filled up.
    digits = ("-" if sign < 0 else "") + "7" * 3 + "0" * 4_990 + "3" * 10
    number = sign * (777 * 10**5_000 + 3_333_333_333)
    server = new()
    params = json.dumps({"name": "whole", "arguments": {"n": 0}, "_meta": MODERN}).replace('"n": 0', f'"n": {digits}')
    server.handle(f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}\n'.encode())
    invoke = server.poll()
    assert isinstance(invoke, Invoke) and invoke.arguments == {"n": number}
    server.reply(invoke, {"content": [], "structuredContent": invoke.arguments})
    answer = server.poll()
    assert isinstance(answer, Write) and f'"structuredContent":{{"n":{digits}}}'.encode() in answer.data


def test_integers_that_take_too_long_to_read_are_refused() -> None:
    server = new()
    for digits, fits in (("9" * 20_000, True), ("9" * 20_001, False)):
        params = json.dumps({"name": "whole", "arguments": {"n": 0}, "_meta": MODERN}).replace(
            '"n": 0', f'"n":{digits}'
        )
        server.handle(f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}\n'.encode())
        invoke = server.poll()
        assert isinstance(invoke, Invoke) and digits.encode() in invoke.raw
        if fits:
            assert invoke.arguments == {"n": 10**20_000 - 1}
        else:
            with pytest.raises(LimitExceededError, match="20000 digits"):
                _ = invoke.arguments
        server.reply(invoke, "x")
        assert "result" in written(server)


def test_half_a_surrogate_pair_is_a_misuse() -> None:
    server = new()
    invoke = invoked(server)
    half: list[Any] = ["\ud800", {"content": [{"type": "text", "text": "\udfff"}]}, {"\ud800": 1}]
    for bad in [*half, RemoteError(-32000, "\ud800")]:
        with pytest.raises(MisuseError, match="surrogate"):
            server.reply(invoke, bad)
    verbs: list[Callable[[], Any]] = [
        lambda: Reply.text("\ud800"),
        lambda: Reply("raw", {"a": "\ud800"}),
        lambda: server.notify("x/\ud800"),
        lambda: server.log("info", "\ud800", slot=invoke),
        lambda: server.progress(invoke, 1, 2, "\ud800"),
        lambda: DefinitionBuilder("\ud800", "1").build(),
    ]
    for verb in verbs:
        with pytest.raises(MisuseError, match="surrogate"):
            verb()
    server.reply(invoke, "good")
    assert "result" in written(server)


def test_only_bytes_arrive() -> None:
    server = new()
    server.handle(bytearray(frame("server/discover")))
    assert "result" in written(server)
    bad: list[Any] = [[1], (1,), "text", None, 3, memoryview(b"x")]
    for none in bad:
        with pytest.raises(TypeError, match="bytes or a bytearray"):
            server.handle(none)


def test_values_that_hold_themselves_are_refused() -> None:
    server = new()
    invoke = invoked(server)
    within: dict[str, Any] = {"content": []}
    within["structuredContent"] = {"again": ([within],)}
    wide: list[Any] = []
    wide.extend([wide] * 10)
    for bad in (within, wide, {"content": [], "structuredContent": within}):
        with pytest.raises(MisuseError, match="holds itself"):
            server.reply(invoke, bad)
        with pytest.raises(MisuseError, match="holds itself"):
            Reply("raw", bad)
    server.reply(invoke, "good")
    assert "result" in written(server)
