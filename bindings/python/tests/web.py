"""An HTTP server and its clients in memory: what a front of sockets does, without the sockets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp_sansio import (
    Abort,
    Admitted,
    Chunk,
    Closed,
    Ended,
    Endpoint,
    Exchange,
    Fetch,
    Finish,
    HttpClient,
    Intake,
    Invoke,
    Listen,
    Publish,
    Respond,
    Service,
    Session,
    SessionRequest,
)

Out = Callable[[Any], None]


class Site:
    """Serves requests. `out` of a request hears its `Respond`, `Chunk` and `Finish`."""

    def __init__(self, service: Service, serve: Callable[[Any, Invoke], None], now: Callable[[], float]) -> None:
        self.service, self.serve, self.now = service, serve, now
        self.endpoint = Endpoint(service, seed=bytes(32))
        self.outs: dict[tuple[Any, int], Out] = {}
        self.seeds = 0

    def request(self, method: str, target: str, headers: list[Any], body: bytes, out: Out) -> Callable[[], None]:
        """Serves a request; the answer is what to call when its client goes away."""
        led: Any = self.service.judge(method, target, headers)
        if isinstance(led, Intake):
            self.seeds += 1
            seed = self.seeds.to_bytes(32, "big")
            led = led.push(body) or led.finish(now=self.now(), seed=seed)
        if isinstance(led, SessionRequest):
            led = self.endpoint.admit(led, now=self.now())
        match led:
            case Respond():
                out(led)
            case Ended(session=session, response=response):
                session.close(now=self.now())
                self.pump(session)
                out(response)
            case Exchange():
                self.outs[led, 0] = out
                self.pump(led)
                return lambda: self.leave(led, 0)
            case Admitted(session=session, request=request):
                exchange = session.accept(request, now=self.now())
                self.outs[session, exchange] = out
                self.pump(session)
                return lambda: self.leave(session, exchange)
        return lambda: None

    def leave(self, machine: Any, exchange: int) -> None:
        if self.outs.pop((machine, exchange), None) is None:
            return
        if isinstance(machine, Session):
            machine.disconnected(exchange, now=self.now())
            self.endpoint.exchange_ended(machine, now=self.now())
        else:
            machine.disconnected(now=self.now())
        self.pump(machine)

    def pump(self, machine: Any) -> None:
        for action in machine:
            match action:
                case Respond(exchange, _, _, body):
                    self.outs[machine, exchange](action)
                    if body is not None:
                        self.ended(machine, exchange)
                case Chunk(exchange, data):
                    self.outs[machine, exchange](action)
                    wrote = (exchange, len(data)) if isinstance(machine, Session) else (len(data),)
                    machine.written(*wrote, now=self.now())
                case Finish(exchange):
                    self.outs[machine, exchange](action)
                    self.ended(machine, exchange)
                case Invoke():
                    self.serve(machine, action)
                case Listen():
                    machine.listening(self.endpoint.listen(action, machine), now=self.now())
                case Publish():
                    self.publish(action)
                case Closed():
                    self.endpoint.remove(machine)
        if isinstance(machine, Exchange) and machine.is_closed:
            self.endpoint.unlisten(machine)

    def publish(self, event: Publish) -> None:
        for other in [*self.endpoint.sessions(), *self.endpoint.listeners(event)]:
            other.deliver(event, now=self.now())
            self.pump(other)

    def ended(self, machine: Any, exchange: int) -> None:
        del self.outs[machine, exchange]
        if isinstance(machine, Session):
            self.endpoint.exchange_ended(machine, now=self.now())


class Browser:
    """A client and the site that it asks."""

    def __init__(self, client: HttpClient, site: Site) -> None:
        self.client, self.site = client, site
        self.leave: dict[int, Callable[[], None]] = {}

    def run(self) -> list[Any]:
        said = []
        for action in self.client:
            match action:
                case Fetch(id, method, url, headers, body):
                    host = url.split("/")[2]
                    target = "/" + url.split("/", 3)[3]
                    out = self.out(id)
                    self.leave[id] = self.site.request(method, target, [*headers, ("host", host)], body, out)
                case Abort(fetch):
                    self.leave[fetch]()
                case _:
                    said.append(action)
        return said

    def out(self, fetch: int) -> Out:
        client, now = self.client, self.site.now

        def heard(action: Any) -> None:
            match action:
                case Respond(_, status, headers, body):
                    client.handle_head(fetch, status, headers, now=now())
                    if body is not None:
                        client.handle_body(fetch, body, now=now())
                        client.handle_end(fetch, now=now())
                case Chunk(_, data):
                    client.handle_body(fetch, data, now=now())
                case Finish():
                    client.handle_end(fetch, now=now())

        return heard
