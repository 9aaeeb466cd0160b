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
#: What waits to be written, by machine and exchange.
OUT: dict[tuple[Machine, int], queue.Queue[Respond | Chunk | Finish]] = {}


def pump(machine: Machine) -> None:
    """Does what a machine says. The lock is held."""
    while (action := machine.poll()) is not None:
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


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def serve(self) -> None:
        led: object = SERVICE.judge(self.command, self.path, list(self.headers.items()))
        if isinstance(led, Intake):
            left = int(self.headers.get("content-length", 0))
            while left and (data := self.rfile.read(min(left, 65536))):
                left -= len(data)
                if refused := led.push(data):
                    self.close_connection = True
                    return self.respond(refused)
            led = led.finish() if not left else led.give_up()
        with LOCK:
            if isinstance(led, SessionRequest):
                led = ENDPOINT.admit(led)
                expire()
            exchange, machine = 0, led
            if isinstance(led, Ended):
                led.session.close()
                pump(led.session)
                led = led.response
            elif hasattr(led, "session"):
                machine = led.session
                exchange = machine.accept(led.request)
            if not isinstance(led, Respond):
                assert isinstance(machine, Exchange | Session)
                out = OUT[machine, exchange] = queue.Queue()
                pump(machine)
        if isinstance(led, Respond):
            return self.respond(led)
        assert isinstance(machine, Exchange | Session)
        try:
            self.answer(machine, exchange, out)
        except OSError:
            with LOCK:
                machine.disconnected(exchange) if isinstance(machine, Session) else machine.disconnected()
                pump(machine)
        finally:
            self.ended(machine, exchange)

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = do_OPTIONS = do_HEAD = serve

    def answer(self, machine: Machine, exchange: int, out: queue.Queue[Respond | Chunk | Finish]) -> None:
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
