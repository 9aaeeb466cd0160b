"""The native half of `mcp_sansio`: machines, actions and what goes with them.

Conventions: JSON is given as a native object (`dict`, `list`, `str`, `int` of any size, `float`, `bool`, `None`) or as
the `bytes` of its text, anywhere, also within a native object. JSON that comes is a native object, parsed once when it
is asked for, and the `bytes` of its text as `raw`. Times are seconds unless they say otherwise. Names of the protocol
(methods, members, revisions) are its own; all other names are lower case with underscores.

Errors: every verb raises `MisuseError` on a machine that is another thread's (unless it was made with
`any_thread=True`), that is in use by another verb, or that is closed, where the verb needs it open.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Literal, TypeAlias, final

from typing_extensions import disjoint_base

from ._errors import McpError

__all__ = [
    "Abort",
    "Admitted",
    "Answered",
    "Cancelled",
    "CancelledInput",
    "Chunk",
    "Client",
    "ClientMachine",
    "Closed",
    "Connected",
    "Definition",
    "Diagnosed",
    "Done",
    "Ended",
    "Endpoint",
    "Exchange",
    "Fetch",
    "Finish",
    "HttpClient",
    "Intake",
    "Invoke",
    "Listen",
    "ListenOutcome",
    "Listening",
    "NeedInput",
    "Notified",
    "Progressed",
    "Publish",
    "Reply",
    "Request",
    "Respond",
    "Server",
    "ServerMachine",
    "Service",
    "Session",
    "SessionRequest",
    "Slot",
    "Unauthorized",
    "Write",
]

_Json: TypeAlias = Any
_Object: TypeAlias = dict[str, Any] | bytes
# A float is monotonic seconds, an int monotonic nanoseconds; a pair has the wall time too, as float seconds or int
# milliseconds since 1970. `None`: what Python's `time` says.
_Now: TypeAlias = float | int | tuple[float | int, float | int] | None
_Era: TypeAlias = Literal["legacy", "modern"]
_List: TypeAlias = Literal["tools", "prompts", "resources", "templates"]
_Level: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
# Whether a report, log line or notification went out. `not_wanted`: the peer did not ask for it, or may not get it.
# `full`: it reads too slowly, and the message was dropped.
_Sent: TypeAlias = Literal["yes", "not_wanted", "full"]
_Header: TypeAlias = tuple[str | bytes, str | bytes]
# What is waited for, by name.
_Timer: TypeAlias = Literal[
    "actions",
    "call_idle",
    "call_hard",
    "probe",
    "backoff",
    "invocation",
    "drain",
    "stream",
    "keep_alive",
    "idle",
]

# Actions ------------------------------------------------------------------------------------------------------------

@final
class Write:
    """Write these bytes: one whole frame, newline included. Report them with `written` when they have left."""

    kind: Final = "write"
    __match_args__: ClassVar = ("data",)
    @property
    def data(self) -> bytes: ...

@final
class Slot:
    """The right to answer a request, once. When the last `Slot` and `Invoke` of a request are collected without an
    answer, the machine ends the request at its next verb, as if the handler had failed."""

    @property
    def id(self) -> int:
        """The request's name within its machine, as `Cancelled` has it."""

@final
class Invoke:
    """Application code to run: answer with `reply`, or let it go.

    | `call`        | `name`                    | `arguments`                          | a native reply is        |
    | ------------- | ------------------------- | ------------------------------------ | ------------------------ |
    | `tool`        | the tool                  | its arguments, fitting its schema    | the tool's result, or str |
    | `prompt`      | the prompt                | its arguments                        | the prompt's result      |
    | `read`        | the URI                   | the variables of a template          | the contents             |
    | `complete`    | the prompt or template    | arguments that are filled in already | `{"values": [...]}`      |
    | `list`        | the list                  | `{}`; see `cursor`                   | `items`, `next_cursor`   |
    | `raw`         | the method                | its params                           | the result               |
    | `subscribe`   | the URI                   | `{}`                                 | `None`                   |
    | `unsubscribe` | the URI                   | `{}`                                 | `None`                   |

    A client has `raw` only (requests of the server that its configuration names), and nothing from `request_id` on.
    """

    kind: Final = "invoke"
    __match_args__: ClassVar = ("call", "name", "arguments")
    @property
    def call(self) -> Literal["tool", "prompt", "read", "complete", "list", "raw", "subscribe", "unsubscribe"]: ...
    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> dict[str, Any]: ...
    @property
    def raw(self) -> bytes:
        """The arguments as JSON text."""
    @property
    def index(self) -> int | None:
        """Which tool, prompt, resource or template it is, in the order they were added; `None` in a dynamic list."""
    @property
    def target(self) -> Literal["prompt", "template", "resource", "any"] | None:
        """What `index` counts, for `read` and `complete`."""
    @property
    def argument(self) -> str | None:
        """The argument to complete."""
    @property
    def value(self) -> str | None:
        """What the user has typed so far, of the argument to complete."""
    @property
    def cursor(self) -> str | None:
        """Where a dynamic list goes on. `""` is a cursor."""
    @property
    def slot(self) -> Slot: ...
    @property
    def id(self) -> int: ...
    @property
    def method(self) -> str: ...
    @property
    def params(self) -> dict[str, Any]:
        """The params as they came, unknown members included."""
    @property
    def request_id(self) -> str | int: ...
    @property
    def version(self) -> str:
        """The revision that the request is served at."""
    @property
    def era(self) -> _Era: ...
    @property
    def meta(self) -> dict[str, Any]: ...
    @property
    def client_info(self) -> dict[str, Any] | None:
        """What the client says of itself: not to be trusted."""
    @property
    def client_capabilities(self) -> dict[str, Any]: ...
    def require_capability(self, path: str) -> None:
        """Raises the `RemoteError` to reply with, unless the client has declared a capability such as
        `elicitation.url`."""
    @property
    def progress_token(self) -> str | int | None: ...
    @property
    def trace(self) -> dict[str, str]:
        """The trace context, as far as it is well-formed."""
    @property
    def principal(self) -> str | None:
        """Who is asking, as `set_principal` or `Service.judge` was told."""
    @property
    def data(self) -> Any:
        """What `Service.judge` was given along."""
    @property
    def can_ask(self) -> bool:
        """Whether the client can be asked for input at all."""
    @property
    def inputs(self) -> dict[str, Any]:
        """Every answer so far by key: an object, or the `RemoteError` that a refusal is."""
    def elicited(self, key: str, asked: _Object) -> dict[str, Any] | None:
        """The answer to an elicitation, checked against the params that asked for it; `None` if there is none yet.
        Raises the `RemoteError` of a refusal, or of an answer that does not fit."""
    @property
    def state(self) -> str | None:
        """The state that the handler gave with its questions."""
    @property
    def memo(self) -> Any:
        """The state that the front gave with the handler's questions."""
    @property
    def round(self) -> int:
        """How often input was asked for before this call."""
    @property
    def state_token(self) -> bytes | None:
        """The random id of the sealed state that came along: refuse it a second time with `Reply("state_used")`."""

@final
class Cancelled:
    """The answer to an `Invoke` (`id`) is not wanted any more: stop the work if you can. Its slot stays valid, what it
    is answered with is dropped."""

    kind: Final = "cancelled"
    __match_args__: ClassVar = ("id", "reason")
    @property
    def id(self) -> int: ...
    @property
    def reason(self) -> str | None: ...

@final
class Notified:
    """A notification for the application. `subscription` is the listen call of a client that it belongs to."""

    kind: Final = "notified"
    __match_args__: ClassVar = ("method", "subscription", "params")
    @property
    def method(self) -> str: ...
    @property
    def subscription(self) -> int | None: ...
    @property
    def params(self) -> dict[str, Any]: ...
    @property
    def raw(self) -> bytes: ...

@final
class Diagnosed:
    """Something worth a log line, dealt with already. It names causes and bounds, never values."""

    kind: Final = "diagnostic"
    __match_args__: ClassVar = ("what", "text", "request_id")
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
    ]: ...
    @property
    def text(self) -> str: ...
    @property
    def request_id(self) -> str | int | None: ...

@final
class Closed:
    """The connection or session is over: the last action."""

    kind: Final = "closed"
    __match_args__: ClassVar = ("reason", "error")
    @property
    def reason(self) -> Literal["end_of_input", "requested", "not_connected", "failed"]: ...
    @property
    def error(self) -> McpError | None: ...

@final
class Answered:
    """The client has answered a `request`. Without an answer, `failure` says why: `remote` (see `error`),
    `timed_out`, `gone`."""

    kind: Final = "answered"
    __match_args__: ClassVar = ("call", "error", "failure", "result")
    @property
    def call(self) -> int: ...
    @property
    def error(self) -> McpError | None: ...
    @property
    def failure(self) -> Literal["remote", "timed_out", "gone"] | None: ...
    @property
    def result(self) -> Any: ...
    @property
    def raw(self) -> bytes: ...

@final
class Connected:
    """The era and the revision are settled (`connected`, once), or a lost session was opened anew (`renewed`)."""

    __match_args__: ClassVar = ("version",)
    @property
    def kind(self) -> Literal["connected", "renewed"]: ...
    @property
    def version(self) -> str: ...
    @property
    def era(self) -> _Era: ...
    @property
    def capabilities(self) -> dict[str, Any]: ...
    @property
    def info(self) -> dict[str, Any] | None:
        """Name and version of the server, if it says: for display and logs."""
    @property
    def instructions(self) -> str | None: ...
    @property
    def result(self) -> dict[str, Any]:
        """The result of the handshake or the introduction, as it came."""
    @property
    def raw(self) -> bytes: ...

@final
class Done:
    """A call has ended; nothing more comes for it. Exactly one of `result` and `error` is not `None`."""

    kind: Final = "done"
    __match_args__: ClassVar = ("call", "result", "error")
    @property
    def call(self) -> int: ...
    @property
    def result(self) -> Any: ...
    @property
    def error(self) -> McpError | None: ...
    @property
    def raw(self) -> bytes: ...
    @property
    def items(self) -> list[Any]:
        """The items of a page or of a whole walk; empty if the result is no list."""
    @property
    def structured_content(self) -> Any: ...
    @property
    def next_cursor(self) -> str | None:
        """Where the list goes on. `""` is a cursor."""
    @property
    def result_type(self) -> str | None: ...
    @property
    def server_info(self) -> dict[str, Any] | None: ...
    @property
    def is_error(self) -> bool:
        """Whether the tool says that it failed."""
    @property
    def is_cached(self) -> bool: ...
    @property
    def is_input_required(self) -> bool:
        """Whether the server wants input first; only with `drive_input` off. See `Request.retry`."""

@final
class Progressed:
    """A call has got further."""

    kind: Final = "progress"
    __match_args__: ClassVar = ("call", "progress", "total", "message", "params")
    @property
    def call(self) -> int: ...
    @property
    def progress(self) -> float: ...
    @property
    def total(self) -> float | None: ...
    @property
    def message(self) -> str | None: ...
    @property
    def params(self) -> dict[str, Any]: ...
    @property
    def raw(self) -> bytes: ...

@final
class NeedInput:
    """The server asks: answer with `supply_input`, or cancel the call that it asks for (a legacy server does not
    say)."""

    kind: Final = "need_input"
    __match_args__: ClassVar = ("input", "key", "method", "call", "params")
    @property
    def input(self) -> int: ...
    @property
    def key(self) -> str: ...
    @property
    def method(self) -> str:
        """What is asked; empty for a method that is not known."""
    @property
    def call(self) -> int | None: ...
    @property
    def params(self) -> dict[str, Any]: ...
    @property
    def raw(self) -> bytes: ...

@final
class CancelledInput:
    """The answer to a question is not wanted any more: take the dialog away. Answering it is an error now."""

    kind: Final = "cancelled_input"
    __match_args__: ClassVar = ("input", "reason")
    @property
    def input(self) -> int: ...
    @property
    def reason(self) -> str | None: ...

@final
class Listening:
    """A listen stream is open; over HTTP it may open again, and notifications may have been missed."""

    kind: Final = "listening"
    __match_args__: ClassVar = ("call", "filter")
    @property
    def call(self) -> int: ...
    @property
    def filter(self) -> dict[str, Any]:
        """What the server will tell: at most what was asked for."""
    @property
    def raw(self) -> bytes: ...

@final
class Respond:
    """Answer an HTTP request. With a `body` (`b""` is one) the answer is complete, and `content-length` is yours to
    add; without, a stream of `Chunk` begins that `Finish` ends. `remark` says why a request was refused, for the
    log."""

    kind: Final = "respond"
    __match_args__: ClassVar = ("exchange", "status", "headers", "body", "remark")
    @property
    def exchange(self) -> int: ...
    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> list[tuple[str, str]]: ...
    @property
    def body(self) -> bytes | None: ...
    @property
    def remark(self) -> str | None: ...

@final
class Chunk:
    """Write these bytes of a stream, and report them with `written` when they have left."""

    kind: Final = "chunk"
    __match_args__: ClassVar = ("exchange", "data")
    @property
    def exchange(self) -> int: ...
    @property
    def data(self) -> bytes: ...

@final
class Finish:
    """A stream is complete: end the body."""

    kind: Final = "finish"
    __match_args__: ClassVar = ("exchange",)
    @property
    def exchange(self) -> int: ...

@final
class Listen:
    """A listen stream is asked for: `exchange.listening(endpoint.listen(action, handle))`."""

    kind: Final = "listen"

@final
class Publish:
    """Something that others want to hear: `deliver` it to all sessions and to the listeners of the endpoint. The
    application may make one of its own."""

    kind: Final = "publish"
    def __new__(
        cls, change: Literal["tools", "prompts", "resources", "resource"], uri: str | None = None
    ) -> Publish: ...
    @property
    def change(self) -> Literal["tools", "prompts", "resources", "resource"]: ...
    @property
    def uri(self) -> str | None: ...

@final
class Fetch:
    """Send this HTTP request, and report what comes of it under its `id`: `handle_head`, `handle_body` as often as it
    takes, `handle_end`; or `handle_failed` at any point. Follow no redirect, add no credentials, keep no time.
    `headers` lack `host`, `content-length` and `connection`."""

    kind: Final = "fetch"
    __match_args__: ClassVar = ("id", "method", "url", "headers", "body")
    @property
    def id(self) -> int: ...
    @property
    def method(self) -> Literal["GET", "POST", "DELETE"]: ...
    @property
    def url(self) -> str: ...
    @property
    def headers(self) -> list[tuple[str, bytes]]: ...
    @property
    def body(self) -> bytes: ...

@final
class Abort:
    """Drop this exchange with its stream or connection: to the server it is the cancellation, so read nothing more."""

    kind: Final = "abort"
    __match_args__: ClassVar = ("fetch",)
    @property
    def fetch(self) -> int: ...

@final
class Unauthorized:
    """The server wants credentials, or other ones: answer with `authorize` or `refuse_authorization`."""

    kind: Final = "unauthorized"
    __match_args__: ClassVar = ("fetch", "status", "www_authenticate")
    @property
    def fetch(self) -> int: ...
    @property
    def status(self) -> int: ...
    @property
    def www_authenticate(self) -> list[bytes]: ...

_ServerAction: TypeAlias = Write | Invoke | Cancelled | Notified | Answered | Diagnosed | Closed
_HttpServerAction: TypeAlias = (
    Respond | Chunk | Finish | Invoke | Cancelled | Notified | Answered | Listen | Publish | Diagnosed | Closed
)
_Event: TypeAlias = (
    Connected
    | Done
    | Progressed
    | NeedInput
    | CancelledInput
    | Invoke
    | Cancelled
    | Notified
    | Listening
    | Diagnosed
    | Closed
)
_ClientAction: TypeAlias = Write | _Event
_HttpClientAction: TypeAlias = Fetch | Abort | Unauthorized | _Event

# Servers ------------------------------------------------------------------------------------------------------------

@final
class Definition:
    """What a server offers: immutable, and shared by all machines of all threads. Made by `DefinitionBuilder`."""

    @staticmethod
    def from_settings(settings: _Object) -> Definition:
        """Builds a definition of an object of settings, as `DefinitionBuilder` gathers it."""
    @property
    def versions(self) -> list[str]:
        """The revisions offered, newest first."""
    def changes_to(self, new: Definition) -> list[Publish]:
        """What clients must hear when `new` takes the place of this one."""

@final
class Reply:
    """An answer to an `Invoke`, where a native result would not say enough. It can be used more than once.

    | kind | value |
    | --- | --- |
    | `tool`, `prompt`, `resource`, `completion` | the result, as the specification shapes it |
    | `list` | `items`, `next_cursor` |
    | `input` | `requests` by key (`method`, `params`), `state`, `memo`, `timeouts` by key in seconds: questions |
    | `error` | `code`, `message`, `data`; a `RemoteError` is shorter |
    | `raw` | a result that goes out as it is, whatever was asked |
    | `empty` | metadata or `None`: a subscription is agreed to |
    | `failed` | nothing: the handler failed in a way that is nobody's business |
    | `state_used` | nothing: the sealed state came a second time |
    """

    def __new__(
        cls,
        kind: Literal[
            "tool",
            "prompt",
            "resource",
            "completion",
            "list",
            "input",
            "error",
            "raw",
            "empty",
            "failed",
            "state_used",
        ],
        value: _Json = None,
    ) -> Reply: ...
    @staticmethod
    def text(text: str, *, is_error: bool = False) -> Reply:
        """The result of a tool that is one text."""

@disjoint_base
class ServerMachine:
    """The verbs that `Server`, `Exchange` and `Session` have in common.

    Drive it so: say what happened, then `poll` until it answers `None` and do what the actions say, then wait for
    input, `delay()` seconds at most, and call `handle_timeout` when they are over.
    """

    def poll(self) -> _ServerAction | _HttpServerAction | None:
        """The next thing to do; `None` when everything is done."""
    def poll_timeout(self) -> tuple[int, _Timer] | None:
        """When to call `handle_timeout`, in monotonic nanoseconds, and why; `None` if nothing is waited for."""
    def delay(self, now: _Now = None) -> float | None:
        """The seconds until then: never negative, and what `select` and others take as a timeout."""
    def handle_timeout(self, now: _Now = None) -> None:
        """Lets deadlines that have come take effect. It may be called at any time."""
    def reply(self, slot: Invoke | Slot, reply: Reply | McpError | _Json, *, now: _Now = None) -> None:
        """Answers an invocation: with a `Reply`, an error for the client, or a result as the table of `Invoke` has it.
        A `str` is the text of a tool's result. Raises `MisuseError` for what is no answer, which leaves the slot open,
        and for a slot that was used or is another machine's. What is cancelled is answered without effect."""
    def abandon(self, slot: Invoke | Slot, *, now: _Now = None) -> None:
        """Ends a request without an answer of the application: its handler is gone."""
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
    def notify(
        self,
        method: str,
        params: _Object | None = None,
        *,
        slot: Invoke | Slot | None = None,
        now: _Now = None,
    ) -> None:
        """Sends a notification of a method that is not the protocol's, or, for a gateway, of one that is."""
    def publish(
        self,
        change: Literal["tools", "prompts", "resources", "resource"],
        uri: str | None = None,
        *,
        now: _Now = None,
    ) -> _Sent:
        """Tells whoever wants to know that a list has changed, or the resource with this URI. Over HTTP a `Publish`
        comes of it."""
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
    def cancel_request(self, call: int, reason: str | None = None, *, now: _Now = None) -> None:
        """Withdraws such a request: the client is told, and no answer is delivered."""
    def elicitation_complete(self, elicitation_id: str, *, now: _Now = None) -> _Sent:
        """Announces that an elicitation by URL has ended."""
    def replace_definition(self, definition: Definition, *, now: _Now = None) -> None:
        """Serves new requests by another definition, and tells clients which lists have changed."""
    def close(self, *, now: _Now = None) -> None:
        """Ends the connection or session: what is not answered is cancelled. The listen stream of an exchange gets its
        result; a request on one goes on."""
    @property
    def is_closed(self) -> bool:
        """Whether only the queue is left."""

@final
class Server(ServerMachine):
    """The server of one byte stream that carries lines: stdio, a socket, a pipe. Both eras are served at once.

    `seed` is 32 bytes for tests: otherwise the operating system's. `any_thread` lets any thread call, one at a time.
    """

    def __new__(cls, definition: Definition, *, seed: bytes | None = None, any_thread: bool = False) -> Server: ...
    def poll(self) -> _ServerAction | None: ...
    def handle(self, data: bytes | bytearray, now: _Now = None) -> None:
        """Bytes arrived, cut anywhere. Raises the error that the machine has failed with, each time."""
    def handle_eof(self, now: _Now = None) -> None:
        """The client will send no more: owed answers are awaited for a moment, then `Closed` comes."""
    def written(self, count: int) -> None:
        """So many bytes of `Write` have left. Without this report the machine believes its reader is slow."""
    @property
    def wants_input(self) -> bool:
        """Whether to go on reading."""
    def set_principal(self, principal: str | None) -> None:
        """Says who is at the other end: `Invoke.principal` of requests that come from now on."""
    def export_session(self) -> bytes | None:
        """The legacy session as a value, to go on in another machine; `None` without one or while it is busy."""
    def import_session(self, exported: _Object) -> None:
        """Goes on with such a session, in a machine that has none."""

@final
class Exchange(ServerMachine):
    """One HTTP request that stands alone, and its answer. It is driven until `is_closed`."""

    def poll(self) -> _HttpServerAction | None: ...
    def written(self, count: int, *, now: _Now = None) -> None:
        """So many bytes of `Chunk` have left."""
    def disconnected(self, *, now: _Now = None) -> None:
        """The client has gone away before the answer was complete: in the modern era that is a cancellation."""
    def listening(self, outcome: ListenOutcome, *, now: _Now = None) -> None:
        """The endpoint's answer to `Listen`."""
    def deliver(self, event: Publish, *, now: _Now = None) -> _Sent:
        """Something has changed that this listen stream wants to hear."""

@final
class Session(ServerMachine):
    """One legacy session over HTTP, with all its exchanges. Objects of the same session are equal."""

    def poll(self) -> _HttpServerAction | None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def id(self) -> str: ...
    def accept(self, request: SessionRequest, *, now: _Now = None) -> int:
        """Takes a request that `Endpoint.admit` has led here; actions name its exchange by the number it gives. Tell
        the endpoint with `exchange_ended` when it is answered or its client is gone."""
    def written(self, exchange: int, count: int, *, now: _Now = None) -> None:
        """So many bytes of `Chunk` have left."""
    def disconnected(self, exchange: int, *, now: _Now = None) -> None:
        """The client of an exchange has gone away: the request goes on."""
    def deliver(self, event: Publish, *, now: _Now = None) -> _Sent:
        """Something has changed; the session knows whether its client wants to hear it."""
    def close_stream(self, slot: Invoke | Slot, *, now: _Now = None) -> _Sent:
        """Ends the connection of a request that goes on; its client comes back for the rest."""
    def shutdown(self, *, now: _Now = None) -> None:
        """The server ends: the stream that belongs to no request ends too."""
    def export(self) -> bytes | None:
        """The session as bytes for `Endpoint.import_session`; `None` while it is busy, before and after its time."""

@final
class Service:
    """What an HTTP server is: its definition and its options. Immutable, and shared by all threads.

    `options` are `ServiceOptions`. `hosts` and `origins` are functions instead, which are asked whether a value is
    welcome; `owner(session, (opened_by, opened_from), (principal, origin))` decides who may use a legacy session. A
    function that raises welcomes nobody. `any_thread` is for the machines of this service.
    """

    def __new__(
        cls,
        definition: Definition,
        options: _Object | None = None,
        *,
        hosts: Callable[[str], bool] | None = None,
        origins: Callable[[str], bool] | None = None,
        owner: Callable[[str, tuple[str | None, bytes | None], tuple[str | None, bytes | None]], bool] | None = None,
        any_thread: bool = False,
    ) -> Service: ...
    def judge(
        self,
        method: str,
        target: str,
        headers: Sequence[_Header],
        *,
        authority: str | None = None,
        principal: str | None = None,
        data: Any = None,
    ) -> Respond | Intake | SessionRequest:
        """Judges the head of a request, before its body is read. `target` is path and query as they came; give every
        header. `authority` is that of HTTP/2, `principal` who is asking, `data` anything for `Invoke.data`."""

@final
class Intake:
    """The body of a request, as it arrives."""

    @property
    def remaining(self) -> int:
        """How many bytes may still come."""
    def push(self, data: bytes | bytearray) -> Respond | None:
        """Takes a piece. A `Respond` refuses it: give it, and read no more."""
    def give_up(self) -> Respond:
        """The body breaks off, or takes too long: the answer, where one can still be given."""
    def finish(self, *, now: _Now = None, seed: bytes | None = None) -> Respond | Exchange | SessionRequest:
        """The body is complete: who serves it?"""

@final
class SessionRequest:
    """A request about a legacy session, or one that opens one: ask the endpoint. It is used once."""

@final
class Admitted:
    """`session.accept(request)`, then drive the session."""

    @property
    def session(self) -> Session: ...
    @property
    def request(self) -> SessionRequest: ...

@final
class Ended:
    """The client has ended its session: `session.close()`, drive it to its end, and give the `response`."""

    @property
    def session(self) -> Session: ...
    @property
    def response(self) -> Respond: ...

@final
class ListenOutcome:
    """The endpoint's answer to `Listen`."""

    @property
    def admitted(self) -> bool:
        """Whether there was room."""

@final
class Endpoint:
    """Which legacy sessions and listen streams there are: the one thing that the requests of a service share."""

    def __new__(cls, service: Service, *, seed: bytes | None = None) -> Endpoint: ...
    def admit(self, request: SessionRequest, *, now: _Now = None) -> Respond | Admitted | Ended | Exchange:
        """Leads a request to its session, or opens one. Ask `poll_expired` afterwards."""
    def exchange_ended(self, session: Session, *, now: _Now = None) -> None:
        """An exchange of a session is over."""
    def remove(self, session: Session) -> bool:
        """Forgets a session: to be done after its `Closed`. The answer says whether it was known."""
    def sessions(self) -> list[Session]:
        """All sessions: each hears of every `Publish`."""
    def listen(self, listen: Listen, handle: object) -> ListenOutcome:
        """Enters a listen stream under a handle of yours, such as its exchange."""
    def unlisten(self, exchange: Exchange) -> Any:
        """Forgets the listen stream of an exchange that is over, and gives its handle back; `None` if it is none."""
    def listeners(self, event: Publish) -> list[Any]:
        """The handles of the listen streams that want to hear of this."""
    def replace_service(self, service: Service) -> list[Publish]:
        """Serves something else from now on. The answer says what clients must hear; sessions are told by
        `replace_definition`."""
    def import_session(self, exported: bytes | bytearray, *, now: _Now = None) -> None:
        """Enters a session that `Session.export` made bytes of."""
    def handle_timeout(self, now: _Now = None) -> None:
        """Removes sessions that have been idle for too long. Ask `poll_expired` afterwards."""
    def poll_expired(self) -> Session | None:
        """A session that has expired: close its machine."""
    def poll_timeout(self) -> tuple[int, _Timer] | None: ...
    def delay(self, now: _Now = None) -> float | None: ...

# Clients ------------------------------------------------------------------------------------------------------------

@final
class Request:
    """A request, without what the era adds. `Request(method, params)` is any method; the others are those of the
    protocol."""

    def __new__(cls, method: str, params: _Object | None = None) -> Request: ...
    @staticmethod
    def call_tool(name: str, arguments: _Object | None = None) -> Request: ...
    @staticmethod
    def get_prompt(name: str, arguments: _Object | None = None) -> Request: ...
    @staticmethod
    def complete_prompt(name: str, argument: str, value: str, context: _Object | None = None) -> Request:
        """Values for an argument of a prompt. `context` has those that are filled in already."""
    @staticmethod
    def complete_template(uri: str, argument: str, value: str, context: _Object | None = None) -> Request: ...
    @staticmethod
    def list(list: _List, cursor: str | None = None) -> Request:
        """A page of a list; `walk` reads all of it."""
    @staticmethod
    def read_resource(uri: str) -> Request: ...
    @staticmethod
    def subscribe(uri: str) -> Request:
        """In the legacy era. The modern one has `listen`."""
    @staticmethod
    def unsubscribe(uri: str) -> Request: ...
    @staticmethod
    def ping() -> Request: ...
    @staticmethod
    def discover() -> Request: ...
    def retry(self, done: Done, responses: _Object) -> Request:
        """The next round of a call whose `Done` wants input, with a response for each key."""
    @property
    def method(self) -> str: ...

@disjoint_base
class ClientMachine:
    """The verbs that `Client` and `HttpClient` have in common. Drive it as a `ServerMachine`.

    The options of calls: `progress` (`True`, or a token), `idle` and `hard` (seconds, `None` is for ever),
    `drive_input`, `meta`, `cache` (`use`, `refresh`, `bypass`), `log_level`, `partition`, `traceparent`, `tracestate`,
    `baggage`.
    """

    def poll(self) -> _ClientAction | _HttpClientAction | None:
        """The next thing to do; `None` when everything is done."""
    def poll_timeout(self) -> tuple[int, _Timer] | None: ...
    def delay(self, now: _Now = None) -> float | None: ...
    def handle_timeout(self, now: _Now = None) -> None: ...
    @property
    def wants_input(self) -> bool: ...
    def connect(self, now: _Now = None) -> None:
        """Finds out the era and the revision: `Connected` or `Closed` comes of it. Calls may be made before."""
    def call(self, request: Request, *, now: _Now = None, **given: Any) -> int:
        """Asks the server. `Done` comes under the number that it gives, once, whatever happens."""
    def walk(self, list: _List, *, now: _Now = None, **given: Any) -> int:
        """Reads a whole list, page by page: `Done.items`."""
    def listen(self, filter: _Object, *, now: _Now = None, **given: Any) -> int:
        """Opens a stream of notifications, in the modern era: `tools`, `prompts`, `resources` (bool), `uris` (list), or
        the protocol's own filter under `wire`."""
    def set_level(self, level: _Level, *, now: _Now = None) -> int:
        """Sets the least level of log messages wanted."""
    def cancel(self, call: int, reason: str | None = None, *, now: _Now = None) -> None:
        """Ends a call: `Done` with a `CancelledError`."""
    def notify(self, method: str, params: _Object | None = None, *, now: _Now = None) -> None: ...
    def roots_changed(self, *, now: _Now = None) -> None: ...
    def supply_input(
        self,
        input: int,
        kind: Literal["elicit", "sample", "list_roots", "raw", "declined", "refused"],
        value: _Json = None,
        *,
        now: _Now = None,
    ) -> None:
        """Answers a question with a result as the specification shapes it, with nothing (`declined`), or with a
        `RemoteError` (`refused`). Raises `MisuseError` for an answer that does not fit; the question stays open."""
    def reply(self, slot: Invoke | Slot, result: McpError | _Object, *, now: _Now = None) -> None: ...
    def abandon(self, slot: Invoke | Slot, *, now: _Now = None) -> None: ...
    def close(self, *, now: _Now = None) -> None:
        """Ends the connection: every open call is `Done` with a `DisconnectedError`, then `Closed` comes."""
    @property
    def server(self) -> Connected | None:
        """The server, once connected."""

@final
class Client(ClientMachine):
    """The client of one byte stream that carries lines, such as the pipes of a child process. `config` is a
    `Config`."""

    def __new__(cls, config: _Object, *, any_thread: bool = False) -> Client: ...
    def poll(self) -> _ClientAction | None: ...
    def handle(self, data: bytes | bytearray, now: _Now = None) -> None: ...
    def handle_eof(self, now: _Now = None) -> None: ...
    def written(self, count: int) -> None: ...

@final
class HttpClient(ClientMachine):
    """The client of Streamable HTTP. `config` is a `Config`, `endpoint` an `HttpAddress`."""

    def __new__(cls, config: _Object, endpoint: _Object, *, any_thread: bool = False) -> HttpClient: ...
    def poll(self) -> _HttpClientAction | None: ...
    def handle_head(self, fetch: int, status: int, headers: Sequence[_Header], *, now: _Now = None) -> None:
        """The head of an answer; not those from 100 to 199."""
    def handle_body(self, fetch: int, data: bytes | bytearray, *, now: _Now = None) -> None:
        """A part of the body, cut anywhere."""
    def handle_end(self, fetch: int, *, now: _Now = None) -> None:
        """The body is whole."""
    def handle_failed(self, fetch: int, text: str, *, sent: bool, now: _Now = None) -> None:
        """There is no answer, or its body broke off. `sent` is false where no connection came about."""
    def authorize(self, fetch: int, authorization: str, *, now: _Now = None) -> None:
        """Answers `Unauthorized`: the request goes out anew with these credentials, and so do all later ones."""
    def refuse_authorization(self, fetch: int, *, now: _Now = None) -> None: ...
    def set_authorization(self, authorization: str | None) -> None: ...
    @property
    def session_id(self) -> str | None: ...
