"""What can go wrong, as classes. Each error says how (`kind`), whose fault it is (`blame`) and what a peer is told."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class McpError(Exception):
    """The base of all errors of this package.

    `code` is the JSON-RPC code that tells a peer about the error, or that the peer has told; `message` the sentence
    that goes with it; `data` details (of an error that the peer has told, or the result that was refused), else `None`;
    `blame` one of `api_misuse`, `invalid_frame`, `peer_misbehaved`, `peer_incompatible`, `limit_exceeded`, `remote`;
    `kind` the same, or for a call the way in which it failed, such as `timed_out_idle`. Where an exchange of HTTP
    brought no answer, `exchange` says how (`status`, `unauthorized`, `broken`, …) and `status` is that of its answer.
    """

    blame = "remote"
    exchange: str | None = None
    status: int | None = None

    def __init__(self, code: int, message: str, data: Any = None, *, kind: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.kind: str = self.blame if kind is None else kind

    def __reduce__(self) -> tuple[Any, ...]:
        return (_again, (type(self), self.code, self.message, self.data, self.__dict__))


class MisuseError(McpError):
    """The code that drives the machine is wrong: a slot used twice, a machine used after its end, from another thread
    or from within itself, an argument that no peer could accept. Never caused by what a peer sent."""

    blame = "api_misuse"


class InvalidFrameError(McpError):
    """The peer sent bytes that are no message."""

    blame = "invalid_frame"


class PeerMisbehavedError(McpError):
    """The peer sent a message that the protocol forbids."""

    blame = "peer_misbehaved"


class PeerIncompatibleError(McpError):
    """The two sides have no revision or capability in common, or lost each other: nobody's fault."""

    blame = "peer_incompatible"


class TimedOutError(PeerIncompatibleError):
    """No answer came in time (`kind` is `timed_out_idle` or `timed_out_hard`). The server knows that none is wanted."""


class CancelledError(PeerIncompatibleError):
    """The call was cancelled by this side."""


class DisconnectedError(PeerIncompatibleError):
    """The connection ended before the answer came. What the server did is not known."""


class LimitExceededError(McpError):
    """A bound was hit: `bound` names it, `limit` is its value, `partial` what a walk had read until then."""

    blame = "limit_exceeded"
    bound: str | None = None
    limit: int | None = None
    partial: list[Any] | None = None


class RemoteError(McpError):
    """An error that one side tells the other. Made by hand, it is a reply: `server.reply(invoke, RemoteError(...))`."""

    blame = "remote"


_BY_BLAME: dict[str, type[McpError]] = {
    error.blame: error
    for error in (
        MisuseError,
        InvalidFrameError,
        PeerMisbehavedError,
        PeerIncompatibleError,
        LimitExceededError,
        RemoteError,
    )
}
_BY_KIND: dict[str, type[McpError]] = {
    "timed_out_idle": TimedOutError,
    "timed_out_hard": TimedOutError,
    "cancelled": CancelledError,
    "disconnected": DisconnectedError,
}


def make(told: dict[str, Any], kind: str | None = None) -> McpError:
    """The error that the core tells, in which way it is told otherwise."""
    blame = told["blame"]
    kind = told["kind"] or kind or blame
    # What a peer has said stands for itself; what a result was refused for is the result.
    message = told["message"] if told["said"] is None else told["said"]
    data = told["data"] if told["result"] is None else told["result"]
    error = _BY_KIND.get(kind, _BY_BLAME.get(blame, McpError))(told["code"], message, data, kind=kind)
    if isinstance(error, LimitExceededError):
        error.bound, error.limit, error.partial = told["bound"], told["limit"], told["partial"] or []
    if told["exchange"] is not None:
        error.exchange, error.status = told["exchange"], told["status"]
    return error


def misuse(message: str) -> MisuseError:
    """A mistake of whoever calls, which Python has found."""
    return MisuseError(-32603, message)


def told(error: BaseException) -> dict[str, Any]:
    """What a peer is told of an exception."""
    if not isinstance(error, McpError):
        raise misuse(f"{type(error).__name__} cannot be written as JSON")
    object: dict[str, Any] = {"code": error.code, "message": error.message}
    return object if error.data is None else {**object, "data": error.data}


def _again(cls: type[McpError], code: int, message: str, data: Any, rest: dict[str, Any]) -> McpError:
    error = cls(code, message, data)
    error.__dict__.update(rest)
    return error
