"""The machines of a client, of a byte stream and of Streamable HTTP, and what they are asked."""

from __future__ import annotations

from . import _native
from ._actions import Connected, Done, final, misuse
from ._native import Machine, read
from ._settings import address_settings, call_settings, client_settings, filter_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal, TypeAlias

    from ._actions import (
        Abort,
        Cancelled,
        CancelledInput,
        Closed,
        Diagnosed,
        Fetch,
        Listening,
        NeedInput,
        Notified,
        Progressed,
        Unauthorized,
    )
    from ._errors import McpError
    from ._native import Invoke, Slot, Write
    from ._servers import _Json, _Level, _Now, _Object

    _List: TypeAlias = Literal["tools", "prompts", "resources", "templates"]
    _Header: TypeAlias = tuple[str | bytes, str | bytes]
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


@final
class Request:
    """A request, without what the era adds. `Request(method, params)` is any method; the others are those of the
    protocol."""

    __slots__ = ("_request",)
    _request: _native.Request

    def __new__(cls, method: str, params: _Object | None = None) -> Request:
        return cls._named("custom", method, {} if params is None else params)

    @classmethod
    def _named(cls, name: str, *arguments: Any) -> Request:
        # The core names what is alone without a list around it.
        return cls._of(_native.Request({name: arguments[0] if len(arguments) == 1 else arguments}))

    @classmethod
    def _of(cls, native: _native.Request) -> Request:
        request = object.__new__(cls)
        request._request = native
        return request

    @staticmethod
    def call_tool(name: str, arguments: _Object | None = None) -> Request:
        return Request._named("call_tool", name, {} if arguments is None else arguments)

    @staticmethod
    def get_prompt(name: str, arguments: _Object | None = None) -> Request:
        return Request._named("get_prompt", name, {} if arguments is None else arguments)

    @staticmethod
    def complete_prompt(name: str, argument: str, value: str, context: _Object | None = None) -> Request:
        """Values for an argument of a prompt. `context` has those that are filled in already."""
        return Request._named("complete_prompt", name, argument, value, context)

    @staticmethod
    def complete_template(uri: str, argument: str, value: str, context: _Object | None = None) -> Request:
        return Request._named("complete_template", uri, argument, value, context)

    @staticmethod
    def list(list: _List, cursor: str | None = None) -> Request:
        """A page of a list; `walk` reads all of it."""
        return Request._named("list", list, cursor)

    @staticmethod
    def read_resource(uri: str) -> Request:
        return Request._named("read_resource", uri)

    @staticmethod
    def subscribe(uri: str) -> Request:
        """In the legacy era. The modern one has `listen`."""
        return Request._named("subscribe", uri)

    @staticmethod
    def unsubscribe(uri: str) -> Request:
        return Request._named("unsubscribe", uri)

    @staticmethod
    def ping() -> Request:
        return Request._named("ping")

    @staticmethod
    def discover() -> Request:
        return Request._named("discover")

    def retry(self, done: Done, responses: _Object) -> Request:
        """The next round of a call whose `Done` wants input, with a response for each key."""
        if done._payload is None:
            raise misuse("the call has no answer")
        return Request._of(self._request.retry(done._payload, responses))

    @property
    def method(self) -> str:
        return self._request.method


class ClientMachine(Machine):
    """The verbs that `Client` and `HttpClient` have in common. Drive it as a `ServerMachine`.

    The options of calls: `progress` (`True`, or a token), `idle` and `hard` (seconds, `None` is for ever),
    `drive_input`, `meta`, `cache` (`use`, `refresh`, `bypass`), `log_level`, `partition`, `traceparent`, `tracestate`,
    `baggage`.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def poll(self) -> _ClientAction | _HttpClientAction | None:
            """The next thing to do; `None` when everything is done."""

        def __next__(self) -> _ClientAction | _HttpClientAction: ...

        def reply(self, slot: Invoke | Slot, reply: McpError | _Object, *, now: _Now = None) -> None:
            """Answers a request of the server with a result, or with an error for it."""

    @property
    def wants_input(self) -> bool:
        """Whether to go on reading."""
        return self._wants_input()

    def connect(self, now: _Now = None) -> None:
        """Finds out the era and the revision: `Connected` or `Closed` comes of it. Calls may be made before."""
        self._act("connect", (), now)

    def call(self, request: Request, *, now: _Now = None, **given: Any) -> int:
        """Asks the server. `Done` comes under the number that it gives, once, whatever happens."""
        return self._call(request._request, call_settings(given), now)

    def _numbered(self, verb: str, *arguments: Any, now: _Now) -> int:
        answer = self._act(verb, arguments, now)
        return 0 if answer is None else int(answer)

    def walk(self, list: _List, *, now: _Now = None, **given: Any) -> int:
        """Reads a whole list, page by page: `Done.items`."""
        return self._numbered("walk", list, call_settings(given), now=now)

    def listen(self, filter: _Object, *, now: _Now = None, **given: Any) -> int:
        """Opens a stream of notifications, in the modern era: `tools`, `prompts`, `resources` (bool), `uris` (list), or
        the protocol's own filter under `wire`."""
        return self._numbered("listen", filter_settings(filter), call_settings(given), now=now)

    def set_level(self, level: _Level, *, now: _Now = None) -> int:
        """Sets the least level of log messages wanted."""
        return self._numbered("set_level", level, now=now)

    def cancel(self, call: int, reason: str | None = None, *, now: _Now = None) -> None:
        """Ends a call: `Done` with a `CancelledError`."""
        self._act("cancel", (call, reason), now)

    def notify(self, method: str, params: _Object | None = None, *, now: _Now = None) -> None:
        self._act("notify", (method, params), now)

    def roots_changed(self, *, now: _Now = None) -> None:
        self._act("roots_changed", (), now)

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
        if kind == "declined":
            value = ()
        self._act("supply", (input, {"root_list" if kind == "list_roots" else kind: value}), now)

    def close(self, *, now: _Now = None) -> None:
        """Ends the connection: every open call is `Done` with a `DisconnectedError`, then `Closed` comes."""
        self._act("close", (), now)

    @property
    def server(self) -> Connected | None:
        """The server, once connected."""
        return self._server()


@final
class Client(ClientMachine):
    """The client of one byte stream that carries lines, such as the pipes of a child process. `config` is a
    `Config`."""

    __slots__ = ()

    def __new__(cls, config: _Object, *, any_thread: bool = False) -> Client:
        return Machine.__new__(cls, client_settings(config), any_thread=any_thread)

    if TYPE_CHECKING:

        def poll(self) -> _ClientAction | None:
            """The next thing to do; `None` when everything is done."""

        def __next__(self) -> _ClientAction: ...

        def handle(self, data: bytes | bytearray, now: _Now = None) -> None:
            """Bytes arrived, cut anywhere. Raises the error that the machine has failed with, each time."""

        def written(self, count: int) -> None:
            """So many bytes of `Write` have left."""
    else:
        handle = Machine._bytes
        written = Machine._wrote

    def handle_eof(self, now: _Now = None) -> None:
        """The server will send no more."""
        self._act("eof", (), now)


@final
class HttpClient(ClientMachine):
    """The client of Streamable HTTP. `config` is a `Config`, `endpoint` an `HttpAddress`."""

    __slots__ = ()

    def __new__(cls, config: _Object, endpoint: _Object, *, any_thread: bool = False) -> HttpClient:
        return Machine.__new__(cls, client_settings(config), address_settings(endpoint), any_thread=any_thread)

    if TYPE_CHECKING:

        def poll(self) -> _HttpClientAction | None:
            """The next thing to do; `None` when everything is done."""

        def __next__(self) -> _HttpClientAction: ...

    def handle_head(self, fetch: int, status: int, headers: Sequence[_Header], *, now: _Now = None) -> None:
        """The head of an answer; not those from 100 to 199."""
        self._act("head", (fetch, status, [(_latin(name), _latin(value)) for name, value in headers]), now)

    def handle_body(self, fetch: int, data: bytes | bytearray, *, now: _Now = None) -> None:
        """A part of the body, cut anywhere."""
        self._body(fetch, data, now)

    def handle_end(self, fetch: int, *, now: _Now = None) -> None:
        """The body is whole."""
        self._act("end", (fetch,), now)

    def handle_failed(self, fetch: int, text: str, *, sent: bool, now: _Now = None) -> None:
        """There is no answer, or its body broke off. `sent` is false where no connection came about."""
        self._act("broken" if sent else "not_sent", (fetch, text), now)

    def authorize(self, fetch: int, authorization: str, *, now: _Now = None) -> None:
        """Answers `Unauthorized`: the request goes out anew with these credentials, and so do all later ones."""
        self._act("authorize", (fetch, authorization), now)

    def refuse_authorization(self, fetch: int, *, now: _Now = None) -> None:
        self._act("refuse_authorization", (fetch,), now)

    def set_authorization(self, authorization: str | None) -> None:
        self._act("set_authorization", (authorization,))

    @property
    def session_id(self) -> str | None:
        answer = self._act("session_id", ())
        return None if answer is None else read(answer)


def _latin(part: str | bytes) -> str:
    """Bytes as a text with one byte in each character."""
    return part if isinstance(part, str) else part.decode("latin-1")
