"""A server over HTTP on the standard library: `ThreadingHTTPServer`, both eras at /mcp, legacy sessions included.

    python http_server.py [PORT]

One lock guards the machines, which any thread may move; each request waits for what is said on its own exchange. A
handler that takes long should run outside of the lock, and reply within it.
"""

from __future__ import annotations

import queue
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from calculator import answer, definition
from mcp_sansio import (
    Admitted,
    Chunk,
    Closed,
    Ended,
    Endpoint,
    Exchange,
    Finish,
    Intake,
    Invoke,
    Listen,
    Publish,
    Respond,
    Service,
    Session,
    SessionRequest,
)

SERVICE = Service(definition(), any_thread=True)
ENDPOINT = Endpoint(SERVICE)
LOCK = threading.Lock()
Machine = Exchange | Session
Out = queue.Queue[Respond | Chunk | Finish]
#: What waits to be written, by machine and exchange.
OUT: dict[tuple[Machine, int], Out] = {}


def pump(machine: Machine) -> None:
    """Does what a machine says. The lock is held."""
    for action in machine:
        match action:
            case Respond() | Chunk() | Finish():
                if waiting := OUT.get((machine, action.exchange)):
                    waiting.put(action)
            case Invoke():
                machine.reply(action, answer(action))
            case Listen() if isinstance(machine, Exchange):
                machine.listening(ENDPOINT.listen(action, machine))
            case Publish():
                for other in [*ENDPOINT.sessions(), *ENDPOINT.listeners(action)]:
                    other.deliver(action)
                    pump(other)
            case Closed() if isinstance(machine, Session):
                ENDPOINT.remove(machine)


def expire() -> None:
    """Closes sessions that nobody has used for long. The lock is held."""
    ENDPOINT.handle_timeout()
    while session := ENDPOINT.poll_expired():
        session.close()
        pump(session)


def lead(led: Respond | SessionRequest | Exchange) -> Respond | tuple[Machine, int, Out]:
    """Finds the machine that serves a request. The lock is held."""
    admitted = ENDPOINT.admit(led) if isinstance(led, SessionRequest) else led
    expire()
    machine: Machine
    match admitted:
        case Respond():
            return admitted
        case Ended(session=session, response=response):
            session.close()
            pump(session)
            return response
        case Admitted(session=session, request=request):
            machine, exchange = session, session.accept(request)
        case _:
            machine, exchange = admitted, 0
    out = OUT[machine, exchange] = queue.Queue()
    pump(machine)
    return machine, exchange, out


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def serve(self) -> None:
        read = self.read()
        with LOCK:
            led = lead(read)
        if isinstance(led, Respond):
            return self.respond(led)
        machine, exchange, out = led
        try:
            self.answer(machine, exchange, out)
        except OSError:
            with LOCK:
                machine.disconnected(exchange) if isinstance(machine, Session) else machine.disconnected()
                pump(machine)
        finally:
            self.ended(machine, exchange)

    def read(self) -> Respond | SessionRequest | Exchange:
        """Judges the head, and reads the body if somebody wants it."""
        judged = SERVICE.judge(self.command, self.path, list(self.headers.items()))
        if not isinstance(judged, Intake):
            self.close_connection = isinstance(judged, Respond)  # a body may be left unread
            return judged
        left = int(self.headers.get("content-length", 0))
        while left and (data := self.rfile.read(min(left, 65536))):
            left -= len(data)
            if refused := judged.push(data):
                self.close_connection = True
                return refused
        return judged.broken() if left else judged.finish()

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = do_OPTIONS = do_HEAD = serve

    def answer(self, machine: Machine, exchange: int, out: Out) -> None:
        """Writes what comes for a request until it is answered."""
        while True:
            with LOCK:
                delay = machine.delay()
            try:
                action = out.get(timeout=delay)
            except queue.Empty:
                with LOCK:
                    machine.handle_timeout()
                    pump(machine)
                continue
            match action:
                case Respond():
                    self.respond(action)
                    if action.body is not None:
                        return
                case Chunk(_, data):
                    self.chunk(data)
                    with LOCK:
                        count = len(data)
                        machine.written(exchange, count) if isinstance(machine, Session) else machine.written(count)
                case Finish():
                    return self.chunk(b"")

    def ended(self, machine: Machine, exchange: int) -> None:
        with LOCK:
            del OUT[machine, exchange]
            if isinstance(machine, Session):
                ENDPOINT.exchange_ended(machine)
            else:
                ENDPOINT.unlisten(machine)

    def respond(self, answer: Respond) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        if answer.body is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body or b"")

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, format: str, *args: object) -> None:
        pass


def main() -> None:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        server.daemon_threads = True
        print(f"http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
