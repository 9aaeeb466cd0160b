"""The server of Streamable HTTP, but for its machines: what is judged, who serves, and which sessions there are."""

from __future__ import annotations

from . import _native
from ._actions import Publish, final, misuse
from ._servers import Exchange, Session, SessionRequest
from ._settings import service_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from ._actions import Listen, Respond
    from ._native import Definition, Incoming, ListenOutcome, _Timer
    from ._servers import _Now, _Object

    _Header: TypeAlias = tuple[str | bytes, str | bytes]

_ANSWERED, _INTAKE, _SESSION, _EXCHANGE = 1, 2, 3, 4


def _led(incoming: Incoming, any_thread: bool) -> Any:
    """What a request has come to."""
    way = incoming.way()
    if way == _ANSWERED:
        return incoming.response()
    if way == _EXCHANGE:
        return Exchange(incoming, any_thread)
    if way == _SESSION:
        return SessionRequest(incoming)
    return Intake(incoming, any_thread)


@final
class Service:
    """What an HTTP server is: its definition and its options. Immutable, and shared by all threads.

    `options` are `ServiceOptions`. `hosts` and `origins` are functions instead, which are asked whether a value is
    welcome; `owner(session, (opened_by, opened_from), (principal, origin))` decides who may use a legacy session. A
    function that raises welcomes nobody. `any_thread` is for the machines of this service.
    """

    __slots__ = ("_any_thread", "_service")

    def __init__(
        self,
        definition: Definition,
        options: _Object | None = None,
        *,
        hosts: Callable[[str], bool] | None = None,
        origins: Callable[[str], bool] | None = None,
        owner: Callable[[str, tuple[str | None, bytes | None], tuple[str | None, bytes | None]], bool] | None = None,
        any_thread: bool = False,
    ) -> None:
        self._service = _native.Service(definition, service_settings(options), (hosts, origins, owner))
        self._any_thread = any_thread

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
        incoming = self._service.judge((method, target), headers, (authority, principal), data)
        return _led(incoming, self._any_thread)


@final
class Intake:
    """The body of a request, as it arrives."""

    __slots__ = ("_any_thread", "_incoming")

    def __init__(self, incoming: Incoming, any_thread: bool) -> None:
        self._incoming: Incoming | None = incoming
        self._any_thread = any_thread

    def _unused(self) -> Incoming:
        if self._incoming is None:
            raise misuse("the intake was used before")
        return self._incoming

    @property
    def remaining(self) -> int:
        """How many bytes may still come."""
        return 0 if self._incoming is None else self._incoming.remaining()

    def push(self, data: bytes | bytearray) -> Respond | None:
        """Takes a piece. A `Respond` refuses it: give it, and read no more."""
        incoming = self._unused()
        incoming.push(data)
        return incoming.response()

    def give_up(self) -> Respond:
        """The body takes longer than the transport waits: the answer, where one can still be given."""
        return self._refused(is_broken=False)

    def broken(self) -> Respond:
        """The body has broken off, or its framing is wrong: the answer, where one can still be given."""
        return self._refused(is_broken=True)

    def _refused(self, *, is_broken: bool) -> Respond:
        incoming = self._unused()
        incoming.refuse(is_broken)
        self._incoming = None
        return _led(incoming, self._any_thread)

    def finish(self, *, now: _Now = None, seed: bytes | None = None) -> Respond | Exchange | SessionRequest:
        """The body is complete: who serves it?"""
        incoming = self._unused()
        incoming.finish(now, seed)
        self._incoming = None
        return _led(incoming, self._any_thread)


@final
class Admitted:
    """`session.accept(request)`, then drive the session."""

    __slots__ = ("_request", "_session")

    def __init__(self, session: Session, request: SessionRequest) -> None:
        self._session, self._request = session, request

    @property
    def session(self) -> Session:
        return self._session

    @property
    def request(self) -> SessionRequest:
        return self._request


@final
class Ended:
    """The client has ended its session: `session.close()`, drive it to its end, and give the `response`."""

    __slots__ = ("_response", "_session")

    def __init__(self, session: Session, response: Respond) -> None:
        self._session, self._response = session, response

    @property
    def session(self) -> Session:
        return self._session

    @property
    def response(self) -> Respond:
        return self._response


@final
class Endpoint:
    """Which legacy sessions and listen streams there are: the one thing that the requests of a service share."""

    __slots__ = ("_any_thread", "_handles", "_last", "_registry", "_sessions")

    def __init__(self, service: Service, *, seed: bytes | None = None) -> None:
        self._any_thread = service._any_thread
        self._registry = _native.Registry(service._service, seed, service._any_thread)
        self._sessions: dict[int, Session] = {}
        self._handles: dict[int, Any] = {}
        self._last = 0

    def admit(self, request: SessionRequest, *, now: _Now = None) -> Respond | Admitted | Ended | Exchange:
        """Leads a request to its session, or opens one. Ask `poll_expired` afterwards."""
        incoming = request._incoming
        number, opened = self._registry.admit(incoming, now)
        if opened is not None:
            self._sessions[number] = Session(opened, number, self._any_thread)
        if number == 0:
            return _led(incoming, self._any_thread)
        if number < 0:
            return Ended(self._sessions.pop(-number), _led(incoming, self._any_thread))
        session = self._sessions.get(number)
        if session is None:
            raise misuse("the session was removed meanwhile")
        return Admitted(session, request)

    def exchange_ended(self, session: Session, *, now: _Now = None) -> None:
        """An exchange of a session is over."""
        self._registry.exchange_ended(session._number, now)

    def remove(self, session: Session) -> bool:
        """Forgets a session: to be done after its `Closed`. The answer says whether it was known."""
        self._registry.remove(session._number)
        return self._sessions.pop(session._number, None) is not None

    def sessions(self) -> list[Session]:
        """All sessions: each hears of every `Publish`."""
        self._registry.poll_timeout()  # raises if it cannot be used here and now
        return list(self._sessions.values())

    def listen(self, listen: Listen, handle: object) -> ListenOutcome:
        """Enters a listen stream under a handle of yours, such as its exchange."""
        self._last = number = self._last + 1
        outcome = self._registry.listen(listen._payload, number)
        if outcome.admitted:
            self._handles[number] = handle
        return outcome

    def unlisten(self, exchange: Exchange) -> Any:
        """Forgets the listen stream of an exchange that is over, and gives its handle back; `None` if it is none."""
        number = self._registry.unlisten(exchange)
        return None if number is None else self._handles.pop(number, None)

    def listeners(self, event: Publish) -> list[Any]:
        """The handles of the listen streams that want to hear of this."""
        numbers = self._registry.listeners(event.change, event.uri)
        return [self._handles[number] for number in numbers if number in self._handles]

    def replace_service(self, service: Service) -> list[Publish]:
        """Serves something else from now on. The answer says what clients must hear; sessions are told by
        `replace_definition`."""
        return [Publish(name) for name in self._registry.replace_service(service._service)]

    def import_session(self, exported: bytes | bytearray, *, now: _Now = None) -> None:
        """Enters a session that `Session.export` made bytes of."""
        number, opened = self._registry.import_session(exported, now)
        if opened is not None:
            self._sessions[number] = Session(opened, number, self._any_thread)

    def handle_timeout(self, now: _Now = None) -> None:
        """Removes sessions that have been idle for too long. Ask `poll_expired` afterwards."""
        self._registry.handle_timeout(now)

    def poll_expired(self) -> Session | None:
        """A session that has expired: close its machine."""
        number = self._registry.poll_expired()
        return None if number is None else self._sessions.pop(number, None)

    def poll_timeout(self) -> tuple[int, _Timer] | None:
        return self._registry.poll_timeout()

    def delay(self, now: _Now = None) -> float | None:
        return self._registry.delay(now)
