"""The machines of a server: of a byte stream, of an HTTP request that stands alone, of a legacy session over HTTP."""

from __future__ import annotations

from ._actions import Publish, final, misuse
from ._native import Definition, Incoming, Machine, Opened, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias

    from ._actions import (
        Answered,
        Cancelled,
        Chunk,
        Closed,
        Diagnosed,
        Finish,
        Listen,
        Notified,
        Respond,
        _Change,
    )
    from ._errors import McpError
    from ._native import Invoke, ListenOutcome, Reply, Slot, Write

    _Json: TypeAlias = Any
    _Object: TypeAlias = dict[str, Any] | bytes
    # A float is monotonic seconds, an int monotonic nanoseconds; a pair has the wall time too, as float seconds or int
    # milliseconds since 1970. `None`: what Python's `time` says.
    _Now: TypeAlias = float | int | tuple[float | int, float | int] | None
    _Level: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
    # Whether a report, log line or notification went out. `not_wanted`: the peer did not ask for it, or may not get
    # it. `full`: it reads too slowly, and the message was dropped.
    _Sent: TypeAlias = Literal["yes", "not_wanted", "full"]
    _ServerAction: TypeAlias = Write | Invoke | Cancelled | Notified | Answered | Diagnosed | Closed
    _HttpServerAction: TypeAlias = (
        Respond | Chunk | Finish | Invoke | Cancelled | Notified | Answered | Listen | Publish | Diagnosed | Closed
    )


def millis(seconds: float | None) -> float | None:
    """A time in the milliseconds of the core."""
    if seconds is None:
        return None
    if not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
        raise misuse(f"{seconds!r} is no time in seconds")
    return seconds * 1000


class ServerMachine(Machine):
    """The verbs that `Server`, `Exchange` and `Session` have in common.

    Drive it so: say what happened, then do what the actions say (`for action in machine`, which polls), then wait for
    input, `delay()` seconds at most, and call `handle_timeout` when they are over.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def poll(self) -> _ServerAction | _HttpServerAction | None:
            """The next thing to do; `None` when everything is done."""

        def __next__(self) -> _ServerAction | _HttpServerAction: ...

        def reply(self, slot: Invoke | Slot, reply: Reply | McpError | _Json, *, now: _Now = None) -> None:
            """Answers an invocation: with a `Reply`, an error for the client, or a result as the table of `Invoke` has
            it. A `str` is the text of a tool's result. Raises `MisuseError` for what is no answer, which leaves the
            slot open, and for a slot that was used or is another machine's. What is cancelled is answered without
            effect."""

    def _tell(self, verb: str, *arguments: Any, now: _Now = None) -> Any:
        """A verb by its name, and what it answers."""
        answer = self._act(verb, arguments, now)
        return None if answer is None else read(answer)

    def progress(
        self,
        slot: Invoke | Slot,
        progress: float,
        total: float | None = None,
        message: str | None = None,
        *,
        now: _Now = None,
    ) -> _Sent:
        """Reports how far a request has got; each report must exceed the one before."""
        return self._tell("progress", slot, progress, total, message, now=now)

    def log(
        self,
        level: _Level,
        data: _Json,
        *,
        logger: str | None = None,
        slot: Invoke | Slot | None = None,
        now: _Now = None,
    ) -> _Sent:
        """Sends a log message: for a request, or for the legacy session as a whole."""
        return self._tell("log", slot, level, logger, data, now=now)

    def notify(
        self,
        method: str,
        params: _Object | None = None,
        *,
        slot: Invoke | Slot | None = None,
        now: _Now = None,
    ) -> None:
        """Sends a notification of a method that is not the protocol's, or, for a gateway, of one that is."""
        self._act("notify", (slot, method, params), now)

    def publish(self, change: _Change, uri: str | None = None, *, now: _Now = None) -> _Sent:
        """Tells whoever wants to know that a list has changed, or the resource with this URI. Over HTTP a `Publish`
        comes of it."""
        event = Publish(change, uri)
        return self._tell("publish", event.change, event.uri, now=now) or "yes"

    def request(
        self,
        method: str,
        params: _Object | None = None,
        *,
        slot: Invoke | Slot | None = None,
        timeout: float | None = None,
        now: _Now = None,
    ) -> int:
        """Sends a request to the client of a legacy session, of its own or tied to an invocation. `Answered` comes
        under the number that it gives. Modern clients cannot be asked this way: reply with questions instead."""
        return self._tell("request", slot, method, params, millis(timeout), now=now)

    def cancel_request(self, call: int, reason: str | None = None, *, now: _Now = None) -> None:
        """Withdraws such a request: the client is told, and no answer is delivered."""
        self._act("cancel_request", (call, reason), now)

    def elicitation_complete(self, elicitation_id: str, *, now: _Now = None) -> _Sent:
        """Announces that an elicitation by URL has ended."""
        return self._tell("elicitation_complete", elicitation_id, now=now)

    def replace_definition(self, definition: Definition, *, now: _Now = None) -> None:
        """Serves new requests by another definition, and tells clients which lists have changed."""
        self._replace(definition, now)

    def close(self, *, now: _Now = None) -> None:
        """Ends the connection or session: what is not answered is cancelled. The listen stream of an exchange gets its
        result; a request on one goes on."""
        self._act("close", (), now)

    @property
    def is_closed(self) -> bool:
        """Whether only the queue is left."""
        return self._is_closed()


@final
class Server(ServerMachine):
    """The server of one byte stream that carries lines: stdio, a socket, a pipe. Both eras are served at once.

    `seed` is 32 bytes for tests: otherwise the operating system's. `any_thread` lets any thread call, one at a time.
    """

    __slots__ = ()

    def __new__(cls, definition: Definition, *, seed: bytes | None = None, any_thread: bool = False) -> Server:
        if not isinstance(definition, Definition):
            raise TypeError(f"a Definition, not {type(definition).__name__}")
        return Machine.__new__(cls, definition, seed=seed, any_thread=any_thread)

    if TYPE_CHECKING:

        def poll(self) -> _ServerAction | None:
            """The next thing to do; `None` when everything is done."""

        def __next__(self) -> _ServerAction: ...

        def handle(self, data: bytes | bytearray, now: _Now = None) -> None:
            """Bytes arrived, cut anywhere. Raises the error that the machine has failed with, each time."""

        def written(self, count: int) -> None:
            """So many bytes of `Write` have left. Without this report the machine believes its reader is slow."""
    else:
        handle = Machine._bytes
        written = Machine._wrote

    def handle_eof(self, now: _Now = None) -> None:
        """The client will send no more: owed answers are awaited for a moment, then `Closed` comes."""
        self._act("eof", (), now)

    @property
    def wants_input(self) -> bool:
        """Whether to go on reading."""
        return self._wants_input()

    def set_principal(self, principal: str | None) -> None:
        """Says who is at the other end: `Invoke.principal` of requests that come from now on."""
        self._act("set_principal", (principal,))

    def export_session(self) -> bytes | None:
        """The legacy session as a value, to go on in another machine; `None` without one or while it is busy."""
        return self._act("export_session", ())

    def import_session(self, exported: _Object) -> None:
        """Goes on with such a session, in a machine that has none."""
        self._act("import_session", (exported,))


@final
class Exchange(ServerMachine):
    """One HTTP request that stands alone, and its answer. It is driven until `is_closed`."""

    __slots__ = ("_listen_number",)
    _listen_number: int

    def __new__(cls, incoming: Incoming, any_thread: bool) -> Exchange:
        return Machine.__new__(cls, incoming, any_thread=any_thread)

    if TYPE_CHECKING:

        def poll(self) -> _HttpServerAction | None:
            """The next thing to do; `None` when everything is done."""

        def __next__(self) -> _HttpServerAction: ...

    def written(self, count: int, *, now: _Now = None) -> None:
        """So many bytes of `Chunk` have left."""
        self._sent(0, count, now)

    def disconnected(self, *, now: _Now = None) -> None:
        """The client has gone away before the answer was complete: in the modern era that is a cancellation."""
        self._act("disconnected", (0,), now)

    def listening(self, outcome: ListenOutcome, *, now: _Now = None) -> None:
        """The endpoint's answer to `Listen`."""
        self._listening(outcome, now)

    def deliver(self, event: Publish, *, now: _Now = None) -> _Sent:
        """Something has changed that this listen stream wants to hear."""
        return self._tell("deliver", event.change, event.uri, now=now)

    def elicitation_complete(self, elicitation_id: str, *, now: _Now = None) -> _Sent:
        """Nobody waits for that on an exchange."""
        return "not_wanted"

    def replace_definition(self, definition: Definition, *, now: _Now = None) -> None:
        """An exchange keeps the definition that it began with."""

    def close(self, *, now: _Now = None) -> None:
        """The listen stream of an exchange gets its result; a request goes on."""
        self._act("shutdown", (), now)


@final
class Session(ServerMachine):
    """One legacy session over HTTP, with all its exchanges. There is one object of each session."""

    __slots__ = ("_number",)
    _number: int

    def __new__(cls, opened: Opened, number: int, any_thread: bool) -> Session:
        session = Machine.__new__(cls, opened, any_thread=any_thread)
        session._number = number
        return session

    if TYPE_CHECKING:

        def poll(self) -> _HttpServerAction | None:
            """The next thing to do; `None` when everything is done."""

        def __next__(self) -> _HttpServerAction: ...

    @property
    def id(self) -> str:
        return self._tell("id")

    def accept(self, request: SessionRequest, *, now: _Now = None) -> int:
        """Takes a request that `Endpoint.admit` has led here; actions name its exchange by the number it gives. Tell
        the endpoint with `exchange_ended` when it is answered or its client is gone."""
        return self._accept(request._incoming, now)

    def written(self, exchange: int, count: int, *, now: _Now = None) -> None:
        """So many bytes of `Chunk` have left."""
        self._sent(exchange, count, now)

    def disconnected(self, exchange: int, *, now: _Now = None) -> None:
        """The client of an exchange has gone away: the request goes on."""
        self._act("disconnected", (exchange,), now)

    def deliver(self, event: Publish, *, now: _Now = None) -> _Sent:
        """Something has changed; the session knows whether its client wants to hear it."""
        return self._tell("deliver", event.change, event.uri, now=now)

    def close_stream(self, slot: Invoke | Slot, *, now: _Now = None) -> _Sent:
        """Ends the connection of a request that goes on; its client comes back for the rest."""
        return self._tell("close_stream", slot, now=now)

    def shutdown(self, *, now: _Now = None) -> None:
        """The server ends: the stream that belongs to no request ends too."""
        self._act("shutdown", (), now)

    def export(self) -> bytes | None:
        """The session as bytes for `Endpoint.import_session`; `None` while it is busy, before and after its time."""
        return self._export()


@final
class SessionRequest:
    """A request about a legacy session, or one that opens one: ask the endpoint. It is used once."""

    __slots__ = ("_incoming",)

    def __init__(self, incoming: Incoming) -> None:
        self._incoming = incoming
