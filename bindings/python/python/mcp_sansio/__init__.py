"""The Model Context Protocol as sans-IO state machines: bytes go in, actions come out, and the IO is yours.

    server = Server(DefinitionBuilder("greeter", "1.0.0").tool("greet").build())
    server.handle(data)                       # bytes that arrived, cut anywhere
    for action in server:
        match action:
            case Write(data):                 # bytes to send
                out.write(data)
                server.written(len(data))
            case Invoke("tool", "greet", arguments):
                server.reply(action, "Hello!")

Machines: `Server` and `Client` on a byte stream, `Service`, `Endpoint`, `Exchange` and `Session` as an HTTP server,
`HttpClient` over HTTP. They never read, write, sleep or look at a clock of their own: sleep `delay()` seconds at most,
then call `handle_timeout()`.

Every verb that depends on time takes `now`, which tests may give: a float is monotonic seconds, an int monotonic
nanoseconds, a pair has the wall time too (float seconds or int milliseconds since 1970). Without it, `time` is asked.
"""

from __future__ import annotations

from ._actions import (
    Abort,
    Answered,
    Cancelled,
    CancelledInput,
    Chunk,
    Closed,
    Connected,
    Diagnosed,
    Done,
    Fetch,
    Finish,
    Listen,
    Listening,
    NeedInput,
    Notified,
    Progressed,
    Publish,
    Respond,
    Unauthorized,
)
from ._clients import Client, ClientMachine, HttpClient, Request
from ._errors import (
    CancelledError,
    DisconnectedError,
    InvalidFrameError,
    LimitExceededError,
    McpError,
    MisuseError,
    PeerIncompatibleError,
    PeerMisbehavedError,
    RemoteError,
    TimedOutError,
)
from ._http import Admitted, Ended, Endpoint, Intake, Service
from ._native import Definition, Invoke, ListenOutcome, Reply, Slot, Write
from ._servers import Exchange, Server, ServerMachine, Session, SessionRequest
from ._settings import Config, DefinitionBuilder, HttpAddress, ServiceOptions

TYPE_CHECKING = False  # importing `typing` would take longer than all the rest
if TYPE_CHECKING:
    from typing import TypeAlias

#: What `Server.poll` answers.
ServerAction: TypeAlias = Write | Invoke | Cancelled | Notified | Answered | Diagnosed | Closed
#: What `Exchange.poll` and `Session.poll` answer.
HttpServerAction: TypeAlias = (
    Respond | Chunk | Finish | Invoke | Cancelled | Notified | Answered | Listen | Publish | Diagnosed | Closed
)
#: What `Client.poll` answers.
ClientAction: TypeAlias = (
    Write
    | Connected
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
#: What `HttpClient.poll` answers.
HttpClientAction: TypeAlias = (
    Fetch
    | Abort
    | Unauthorized
    | Connected
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

__all__ = [
    "Abort",
    "Admitted",
    "Answered",
    "Cancelled",
    "CancelledError",
    "CancelledInput",
    "Chunk",
    "Client",
    "ClientAction",
    "ClientMachine",
    "Closed",
    "Config",
    "Connected",
    "Definition",
    "DefinitionBuilder",
    "Diagnosed",
    "DisconnectedError",
    "Done",
    "Ended",
    "Endpoint",
    "Exchange",
    "Fetch",
    "Finish",
    "HttpAddress",
    "HttpClient",
    "HttpClientAction",
    "HttpServerAction",
    "Intake",
    "InvalidFrameError",
    "Invoke",
    "LimitExceededError",
    "Listen",
    "ListenOutcome",
    "Listening",
    "McpError",
    "MisuseError",
    "NeedInput",
    "Notified",
    "PeerIncompatibleError",
    "PeerMisbehavedError",
    "Progressed",
    "Publish",
    "RemoteError",
    "Reply",
    "Request",
    "Respond",
    "Server",
    "ServerAction",
    "ServerMachine",
    "Service",
    "ServiceOptions",
    "Session",
    "SessionRequest",
    "Slot",
    "TimedOutError",
    "Unauthorized",
    "Write",
]
