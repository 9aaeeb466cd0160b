"""The native half of `mcp_sansio`: what is hot, and what holds memory. The rest of the package is made of it.

Conventions: JSON is given as a native object (`dict`, `list`, `str`, `int` of any size, `float`, `bool`, `None`) or as
the `bytes` of its text, anywhere, also within a native object. JSON that comes is a native object, parsed once when it
is asked for, and the `bytes` of its text as `raw`. Times are seconds unless they say otherwise. Names of the protocol
(methods, members, revisions) are its own; all other names are lower case with underscores.

Errors: every verb raises `MisuseError` on a machine that is another thread's (unless it was made with
`any_thread=True`), that is in use by another verb, or that is closed, where the verb needs it open.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Literal, TypeAlias, final

from typing_extensions import Self, disjoint_base

from ._actions import Connected, Publish, Respond

__all__ = [
    "Answer",
    "Definition",
    "Incoming",
    "Invoke",
    "ListenOutcome",
    "Machine",
    "Opened",
    "Registry",
    "Reply",
    "Request",
    "Service",
    "Slot",
    "Subscription",
    "Write",
    "read",
]

_Json: TypeAlias = Any
_Object: TypeAlias = dict[str, Any] | bytes
_Now: TypeAlias = float | int | tuple[float | int, float | int] | None
_Era: TypeAlias = Literal["legacy", "modern"]
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

def read(data: bytes) -> Any:
    """JSON text as a native object."""

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
    answer, the machine ends the request at its next verb, as if the handler had failed. A `Slot` keeps its `Invoke`,
    arguments included: do not put one into the other."""

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
class Machine:
    """A machine of a server or a client. What has a name with an underscore is for the classes that are made of it."""

    def __new__(cls, of: Any, place: _Json = None, *, seed: bytes | None = None, any_thread: bool = False) -> Self: ...
    def poll(self) -> Any:
        """The next thing to do; `None` when everything is done."""
    def __iter__(self) -> Self:
        """`for action in machine` polls until everything is done; later it goes on."""
    def __next__(self) -> Any: ...
    def poll_timeout(self) -> tuple[int, _Timer] | None:
        """When to call `handle_timeout`, in monotonic nanoseconds, and why; `None` if nothing is waited for."""
    def delay(self, now: _Now = None) -> float | None:
        """The seconds until then: never negative, and what `select` and others take as a timeout."""
    def handle_timeout(self, now: _Now = None) -> None:
        """Lets deadlines that have come take effect. It may be called at any time."""
    def reply(self, slot: Invoke | Slot, reply: Any, *, now: _Now = None) -> None:
        """Answers an invocation."""
    def abandon(self, slot: Invoke | Slot, *, now: _Now = None) -> None:
        """Ends a request without an answer of the application: its handler is gone."""
    def _act(self, verb: str, arguments: tuple[Any, ...], now: _Now = None) -> bytes | None: ...
    def _bytes(self, data: bytes | bytearray, now: _Now = None) -> None: ...
    def _body(self, fetch: int, data: bytes | bytearray, now: _Now = None) -> None: ...
    def _wrote(self, count: int) -> None: ...
    def _sent(self, exchange: int, count: int, now: _Now = None) -> None: ...
    def _wants_input(self) -> bool: ...
    def _is_closed(self) -> bool: ...
    def _replace(self, definition: Definition, now: _Now = None) -> None: ...
    def _accept(self, request: Incoming, now: _Now = None) -> int: ...
    def _listening(self, outcome: ListenOutcome, now: _Now = None) -> None: ...
    def _export(self) -> bytes | None: ...
    def _call(self, request: Request, options: _Json, now: _Now = None) -> int: ...
    def _server(self) -> Connected | None: ...

@final
class Request:
    """What `mcp_sansio.Request` holds."""

    def __new__(cls, what: _Object) -> Request: ...
    def retry(self, answer: Answer, responses: _Object) -> Request: ...
    @property
    def method(self) -> str: ...

@final
class Answer:
    """What a `Done` holds."""

    def raw(self) -> bytes: ...
    def look(self) -> dict[str, Any]: ...

@final
class Subscription:
    """What a `Listen` holds."""

@final
class Opened:
    """A session that was opened."""

@final
class ListenOutcome:
    """The endpoint's answer to `Listen`."""

    @property
    def admitted(self) -> bool:
        """Whether there was room."""

@final
class Service:
    """What `mcp_sansio.Service` holds."""

    def __new__(
        cls,
        definition: Definition,
        options: _Object,
        asked: tuple[
            Callable[[str], bool] | None,
            Callable[[str], bool] | None,
            Callable[[str, tuple[str | None, bytes | None], tuple[str | None, bytes | None]], bool] | None,
        ],
    ) -> Service: ...
    def judge(
        self, what: tuple[str, str], headers: Sequence[_Header], who: tuple[str | None, str | None], data: Any
    ) -> Incoming: ...

@final
class Incoming:
    """A request on its way."""

    def way(self) -> int: ...
    def remaining(self) -> int: ...
    def push(self, data: bytes | bytearray) -> None: ...
    def refuse(self, is_broken: bool) -> None: ...
    def finish(self, now: _Now, seed: bytes | None) -> None: ...
    def response(self) -> Respond | None: ...

@final
class Registry:
    """What `mcp_sansio.Endpoint` holds: sessions and listen streams have numbers here."""

    def __new__(cls, service: Service, seed: bytes | None, any_thread: bool) -> Registry: ...
    def admit(self, request: Incoming, now: _Now) -> tuple[int, Opened | None]: ...
    def import_session(self, exported: bytes | bytearray, now: _Now) -> tuple[int, Opened | None]: ...
    def exchange_ended(self, session: int, now: _Now) -> None: ...
    def remove(self, session: int) -> None: ...
    def listen(self, listen: Subscription, number: int) -> ListenOutcome: ...
    def unlisten(self, machine: Machine) -> int | None: ...
    def listeners(self, change: str, uri: str | None) -> list[int]: ...
    def replace_service(self, service: Service) -> list[Literal["tools", "prompts", "resources"]]: ...
    def handle_timeout(self, now: _Now) -> None: ...
    def poll_expired(self) -> int | None: ...
    def poll_timeout(self) -> tuple[int, _Timer] | None: ...
    def delay(self, now: _Now) -> float | None: ...
