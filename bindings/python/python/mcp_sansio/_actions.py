"""What machines say: small frozen objects, but for `Write` and `Invoke`, which are native.

`make` gives what the core tells its class. Payloads are kept as the text that came, and read when they are asked for.
"""

from __future__ import annotations

from ._errors import RemoteError, misuse
from ._errors import make as _error
from ._native import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final, Literal, TypeAlias, final

    from ._errors import McpError

    _Era: TypeAlias = Literal["legacy", "modern"]
    _Change: TypeAlias = Literal["tools", "prompts", "resources", "resource"]
else:

    def final(cls: Any) -> Any:
        return cls


class _Action:
    """What an action is made of: members by name, a payload as text, bytes."""

    __slots__ = ("_data", "_kept", "_payload", "_told")
    _told: dict[str, Any]
    _payload: Any
    _data: Any
    _kept: Any

    def __repr__(self) -> str:
        # A payload, which stands last, may be a secret.
        payloads = ("params", "result", "filter", "data", "body")
        shown = [name for name in getattr(self, "__match_args__", ()) if name not in payloads]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    @property
    def _value(self) -> Any:
        if self._kept is None and self._payload is not None:
            self._kept = read(self._payload)
        return self._kept

    @property
    def _raw(self) -> bytes:
        payload: bytes | None = self._payload
        return b"null" if payload is None else payload

    @property
    def _error(self) -> McpError | None:
        told = self._told.get("error")
        if isinstance(told, dict):
            told = self._told["error"] = _error(told, self._told.get("reason"))
        return told


@final
class Cancelled(_Action):
    """The answer to an `Invoke` (`id`) is not wanted any more: stop the work if you can. Its slot stays valid, what it
    is answered with is dropped."""

    __slots__ = ()
    kind: Final = "cancelled"
    __match_args__ = ("id", "reason")

    @property
    def id(self) -> int:
        return self._told["id"]

    @property
    def reason(self) -> str | None:
        return self._told.get("reason")


@final
class Notified(_Action):
    """A notification for the application. `subscription` is the listen call of a client that it belongs to."""

    __slots__ = ()
    kind: Final = "notified"
    __match_args__ = ("method", "subscription", "params")

    @property
    def method(self) -> str:
        return self._told["method"]

    @property
    def subscription(self) -> int | None:
        return self._told.get("call")

    @property
    def params(self) -> dict[str, Any]:
        return self._value

    @property
    def raw(self) -> bytes:
        return self._raw


@final
class Diagnosed(_Action):
    """Something worth a log line, dealt with already. It names causes and bounds, never values."""

    __slots__ = ()
    kind: Final = "diagnostic"
    __match_args__ = ("what", "text", "request_id")

    @property
    def what(
        self,
    ) -> Literal[
        "invalid_frame",
        "ignored",
        "refused",
        "limit",
        "deprecated",
        "request_state",
        "output",
        "muted",
        "advice",
        "exchange",
        "tool_dropped",
    ]:
        return self._told["key"]

    @property
    def text(self) -> str:
        return self._told["text"]

    @property
    def request_id(self) -> str | int | None:
        return self._told.get("request_id")


@final
class Closed(_Action):
    """The connection or session is over: the last action."""

    __slots__ = ()
    kind: Final = "closed"
    __match_args__ = ("reason", "error")

    @property
    def reason(self) -> Literal["end_of_input", "requested", "not_connected", "failed"]:
        return self._told["reason"]

    @property
    def error(self) -> McpError | None:
        return self._error


@final
class Answered(_Action):
    """The client has answered a `request`. Without an answer, `failure` says why: `remote` (see `error`),
    `timed_out`, `gone`."""

    __slots__ = ()
    kind: Final = "answered"
    __match_args__ = ("call", "error", "failure", "result")

    @property
    def call(self) -> int:
        return self._told["call"]

    @property
    def error(self) -> McpError | None:
        return self._error

    @property
    def failure(self) -> Literal["remote", "timed_out", "gone"] | None:
        return self._told.get("reason")

    @property
    def result(self) -> Any:
        return self._value

    @property
    def raw(self) -> bytes:
        return self._raw


@final
class Connected(_Action):
    """The era and the revision are settled (`connected`, once), or a lost session was opened anew (`renewed`)."""

    __slots__ = ()
    __match_args__ = ("version",)

    @property
    def kind(self) -> Literal["connected", "renewed"]:
        return self._told["kind"]

    @property
    def version(self) -> str:
        return self._told["version"]

    @property
    def era(self) -> _Era:
        return _era(self._told)

    @property
    def capabilities(self) -> dict[str, Any]:
        return self._told["declared"]

    @property
    def info(self) -> dict[str, Any] | None:
        """Name and version of the server, if it says: for display and logs."""
        return self._told["info"]

    @property
    def instructions(self) -> str | None:
        return self._told["instructions"]

    @property
    def result(self) -> dict[str, Any]:
        """The result of the handshake or the introduction, as it came."""
        return self._value

    @property
    def raw(self) -> bytes:
        return self._raw


@final
class Done(_Action):
    """A call has ended; nothing more comes for it. Exactly one of `result` and `error` is not `None`."""

    __slots__ = ()
    kind: Final = "done"
    __match_args__ = ("call", "result", "error")

    @property
    def call(self) -> int:
        return self._told["call"]

    @property
    def result(self) -> Any:
        return None if self._payload is None else self._result()

    @property
    def error(self) -> McpError | None:
        return self._error

    @property
    def raw(self) -> bytes:
        return b"null" if self._payload is None else self._payload.raw()

    @property
    def items(self) -> list[Any]:
        """The items of a page or of a whole walk; empty if the result is no list."""
        return self._look.get("items", [])

    @property
    def structured_content(self) -> Any:
        return self._look.get("structured_content")

    @property
    def next_cursor(self) -> str | None:
        """Where the list goes on. `""` is a cursor."""
        return self._look.get("next_cursor")

    @property
    def result_type(self) -> str | None:
        return self._look.get("result_type")

    @property
    def server_info(self) -> dict[str, Any] | None:
        return self._look.get("server_info")

    @property
    def is_error(self) -> bool:
        """Whether the tool says that it failed."""
        return self._look.get("is_error", False)

    @property
    def is_cached(self) -> bool:
        return self._look.get("is_cached", False)

    @property
    def is_input_required(self) -> bool:
        """Whether the server wants input first; only with `drive_input` off. See `Request.retry`."""
        return self._look.get("is_input_required", False)

    def _result(self) -> Any:
        if self._kept is None:
            self._kept = read(self._payload.raw())
        return self._kept

    @property
    def _look(self) -> dict[str, Any]:
        if self._payload is None:
            return {}
        if self._data is None:
            self._data = self._payload.look()
        return self._data


@final
class Progressed(_Action):
    """A call has got further."""

    __slots__ = ()
    kind: Final = "progress"
    __match_args__ = ("call", "progress", "total", "message", "params")

    @property
    def call(self) -> int:
        return self._told["call"]

    @property
    def progress(self) -> float:
        return self._told["progress"]

    @property
    def total(self) -> float | None:
        return self._told.get("total")

    @property
    def message(self) -> str | None:
        return self._told.get("text")

    @property
    def params(self) -> dict[str, Any]:
        return self._value

    @property
    def raw(self) -> bytes:
        return self._raw


@final
class NeedInput(_Action):
    """The server asks: answer with `supply_input`, or cancel the call that it asks for (a legacy server does not
    say)."""

    __slots__ = ()
    kind: Final = "need_input"
    __match_args__ = ("input", "key", "method", "call", "params")

    @property
    def input(self) -> int:
        return self._told["id"]

    @property
    def key(self) -> str:
        return self._told["key"]

    @property
    def method(self) -> str:
        """What is asked; empty for a method that is not known."""
        return self._told["method"]

    @property
    def call(self) -> int | None:
        return self._told.get("call")

    @property
    def params(self) -> dict[str, Any]:
        return self._value

    @property
    def raw(self) -> bytes:
        return self._raw


@final
class CancelledInput(_Action):
    """The answer to a question is not wanted any more: take the dialog away. Answering it is an error now."""

    __slots__ = ()
    kind: Final = "cancelled_input"
    __match_args__ = ("input", "reason")

    @property
    def input(self) -> int:
        return self._told["id"]

    @property
    def reason(self) -> str | None:
        return self._told.get("reason")


@final
class Listening(_Action):
    """A listen stream is open; over HTTP it may open again, and notifications may have been missed."""

    __slots__ = ()
    kind: Final = "listening"
    __match_args__ = ("call", "filter")

    @property
    def call(self) -> int:
        return self._told["call"]

    @property
    def filter(self) -> dict[str, Any]:
        """What the server will tell: at most what was asked for."""
        return self._value

    @property
    def raw(self) -> bytes:
        return self._raw


@final
class Respond(_Action):
    """Answer an HTTP request. With a `body` (`b""` is one) the answer is complete, and `content-length` is yours to
    add; without, a stream of `Chunk` begins that `Finish` ends. `remark` says why a request was refused, for the
    log."""

    __slots__ = ()
    kind: Final = "respond"
    __match_args__ = ("exchange", "status", "headers", "body", "remark")

    @property
    def exchange(self) -> int:
        return self._told["id"]

    @property
    def status(self) -> int:
        return self._told["status"]

    @property
    def headers(self) -> list[tuple[str, str]]:
        return self._told["headers"]

    @property
    def body(self) -> bytes | None:
        return self._data

    @property
    def remark(self) -> str | None:
        return self._told.get("text")


@final
class Chunk(_Action):
    """Write these bytes of a stream, and report them with `written` when they have left."""

    __slots__ = ()
    kind: Final = "chunk"
    __match_args__ = ("exchange", "data")

    @property
    def exchange(self) -> int:
        return self._told["id"]

    @property
    def data(self) -> bytes:
        return self._data


@final
class Finish(_Action):
    """A stream is complete: end the body."""

    __slots__ = ()
    kind: Final = "finish"
    __match_args__ = ("exchange",)

    @property
    def exchange(self) -> int:
        return self._told["id"]


@final
class Listen(_Action):
    """A listen stream is asked for: `exchange.listening(endpoint.listen(action, handle))`."""

    __slots__ = ()
    kind: Final = "listen"


@final
class Publish(_Action):
    """Something that others want to hear: `deliver` it to all sessions and to the listeners of the endpoint. The
    application may make one of its own."""

    __slots__ = ()
    kind: Final = "publish"
    __match_args__ = ("change", "uri")

    def __init__(self, change: _Change, uri: str | None = None) -> None:
        if (change == "resource") != isinstance(uri, str) or change not in (
            "tools",
            "prompts",
            "resources",
            "resource",
        ):
            raise misuse("a list can change but that of templates, and a resource with its uri")
        self._told = {"key": change, "text": uri}
        self._payload = self._data = self._kept = None

    @property
    def change(self) -> Literal["tools", "prompts", "resources", "resource"]:
        return self._told["key"]

    @property
    def uri(self) -> str | None:
        return self._told.get("text")


@final
class Fetch(_Action):
    """Send this HTTP request, and report what comes of it under its `id`: `handle_head`, `handle_body` as often as it
    takes, `handle_end`; or `handle_failed` at any point. Follow no redirect, add no credentials, keep no time.
    `headers` lack `host`, `content-length` and `connection`."""

    __slots__ = ()
    kind: Final = "fetch"
    __match_args__ = ("id", "method", "url", "headers", "body")

    @property
    def id(self) -> int:
        return self._told["id"]

    @property
    def method(self) -> Literal["GET", "POST", "DELETE"]:
        return self._told["method"]

    @property
    def url(self) -> str:
        return self._told["text"]

    @property
    def headers(self) -> list[tuple[str, bytes]]:
        return self._told["headers"]

    @property
    def body(self) -> bytes:
        return self._data


@final
class Abort(_Action):
    """Drop this exchange with its stream or connection: to the server it is the cancellation, so read nothing more."""

    __slots__ = ()
    kind: Final = "abort"
    __match_args__ = ("fetch",)

    @property
    def fetch(self) -> int:
        return self._told["id"]


@final
class Unauthorized(_Action):
    """The server wants credentials, or other ones: answer with `authorize` or `refuse_authorization`."""

    __slots__ = ()
    kind: Final = "unauthorized"
    __match_args__ = ("fetch", "status", "www_authenticate")

    @property
    def fetch(self) -> int:
        return self._told["id"]

    @property
    def status(self) -> int:
        return self._told["status"]

    @property
    def www_authenticate(self) -> list[bytes]:
        return self._told["values"]


def _era(told: dict[str, Any]) -> _Era:
    return "modern" if told["is_modern"] else "legacy"


def _octets(values: list[Any]) -> list[Any]:
    """Texts with one byte in each character, as bytes; of pairs, the second."""
    return [
        value.encode("latin-1") if isinstance(value, str) else (value[0], value[1].encode("latin-1"))
        for value in values
    ]


_CLASSES: dict[str, type[_Action]] = {
    "abort": Abort,
    "answered": Answered,
    "cancelled": Cancelled,
    "cancelled_input": CancelledInput,
    "chunk": Chunk,
    "closed": Closed,
    "connected": Connected,
    "diagnostic": Diagnosed,
    "done": Done,
    "fetch": Fetch,
    "finish": Finish,
    "listen": Listen,
    "listening": Listening,
    "need_input": NeedInput,
    "notified": Notified,
    "progress": Progressed,
    "publish": Publish,
    "renewed": Connected,
    "respond": Respond,
    "unauthorized": Unauthorized,
}


def make(kind: str, told: dict[str, Any], payload: Any, data: bytes | None) -> _Action:
    """The action that the core tells."""
    action = object.__new__(_CLASSES[kind])
    action._told, action._payload, action._data, action._kept = told, payload, data, None
    if kind in ("connected", "renewed"):
        told["kind"] = kind
    elif kind == "fetch":
        told["headers"] = _octets(told["headers"])
    elif kind == "respond":
        told["headers"] = [(name, value) for name, value in told["headers"]]
    elif kind == "unauthorized":
        told["values"] = _octets(told["values"])
    return action


def rest(told: list[dict[str, Any]] | None, method: str) -> Callable[[str], Any]:
    """What answers the rare members of an `Invoke`, by name. A client tells no more than the method."""
    if told is None:
        known: dict[str, Any] = dict.fromkeys(("index", "target", "argument", "value", "cursor"))
        known["method"] = method

        def of_client(name: str) -> Any:
            if name not in known:
                raise misuse("only requests of clients have this")
            return known[name]

        return of_client
    call, context = told
    context["era"] = _era(context)
    names = ("traceparent", "tracestate", "baggage")
    context["trace"] = {name: value for name, value in zip(names, context["trace"], strict=True) if value is not None}
    context["inputs"] = {key: _given(answer) for key, answer in context["inputs"].items()}
    if context["state_token"] is not None:
        context["state_token"] = bytes(context["state_token"])
    return {**context, **call}.__getitem__


def _given(answer: dict[str, Any]) -> Any:
    """A result, or the exception that a refusal is."""
    if "result" in answer:
        return answer["result"]
    error = answer["error"]
    return RemoteError(error["code"], error["message"], error.get("data"))
