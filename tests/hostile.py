#!/usr/bin/env python3
"""Hostile and numerous clients against the real thing: the example `http_server`, over sockets.

    cargo build --release -p mcp-sansio-tokio --features http --example http_server
    python3 tests/hostile.py target/release/examples/http_server [--sessions 1000] [--streams 1000]

Each case says what it did and what came of it; between the cases an honest client must be served within five seconds.
The clocks of the server are real here (30 s for a head), so that the whole takes about a minute and a half. What can
be tested with shorter clocks is tested in `tests/http_peers.rs`. Needs Linux (it reads /proc) and nothing but Python.
"""
import argparse
import json
import resource
import socket
import subprocess
import sys
import time

INIT = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "h", "version": "1"}}}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Failed(Exception):
    pass


def check(what, right):
    if not right:
        raise Failed(what)


class Wire:
    """One connection: requests by hand, answers as they come."""

    def __init__(self, port, patience=5.0, receive=None):
        self.socket = socket.socket()
        if receive is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.socket.settimeout(patience)
        self.socket.connect(("127.0.0.1", port))
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data)

    def post(self, message, headers=()):
        body = json.dumps(message).encode()
        lines = ["POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json",
                 "Accept: application/json, text/event-stream", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def more(self):
        data = self.socket.recv(65536)
        self.buffer += data
        return bool(data)

    def head(self):
        """Status and headers; None if the server closes instead."""
        while b"\r\n\r\n" not in self.buffer:
            if not self.more():
                return None
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        first, *lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
        return int(first.split()[1]), headers

    def answer(self):
        head = self.head()
        check("an answer", head)
        status, headers = head
        length = int(headers.get("content-length", 0))
        while len(self.buffer) < length:
            check("a whole body", self.more())
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return status, headers, body

    def until(self, text):
        while text not in self.buffer:
            check(f"{text!r} in the stream", self.more())

    def close(self):
        self.socket.close()


def modern(method, params, more=()):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)]
    return message, headers + list(more)


class Server:
    def __init__(self, program):
        self.process = subprocess.Popen([program, "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.port = int(line.rsplit(":", 1)[1].split("/")[0])

    def memory(self):
        """Anonymous memory, in bytes."""
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("RssAnon"):
                return int(line.split()[1]) * 1024
        raise Failed("no memory is told")

    def served(self):
        """An honest client is served, and soon."""
        start = time.monotonic()
        wire = Wire(self.port)
        message, headers = modern("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, [("Mcp-Name", "add")])
        wire.post(message, headers)
        status, _, body = wire.answer()
        check(f"an honest client is served: {status} {body[:200]}", status == 200 and b'"sum":3' in body)
        took = time.monotonic() - start
        check(f"an honest client waited {took:.2f} s", took < 5.0)
        wire.close()

    def session(self, wire):
        wire.post(INIT)
        return wire.answer()

    def stop(self):
        self.process.kill()
        self.process.wait()


def idle_sessions(server, count):
    wire = Wire(server.port)
    check("the first session", server.session(wire)[0] == 200)
    before = server.memory()
    for _ in range(count):
        check("a session", server.session(wire)[0] == 200)
    each = (server.memory() - before) / count
    check(f"a session holds {each:.0f} bytes", each < 16_000)
    return f"{count} idle sessions: {each:.0f} bytes each"


def listen_streams(server, count):
    message, headers = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})

    def listen():
        wire = Wire(server.port)
        wire.post(message, headers)
        head = wire.head()
        if head and head[0] == 200:
            wire.until(b"acknowledged")
        return wire, head and head[0]

    first = listen()
    before = server.memory()
    wires = [listen() for _ in range(count - 1)]
    refused = [status for _, status in wires if status != 200]
    check(f"refused: {refused[:3]}", not refused)
    each = (server.memory() - before) / max(count - 1, 1)
    check(f"a stream holds {each:.0f} bytes", each < 64_000)
    further, status = listen()
    check(f"the stream after the last is answered with {status}", count < 1_000 or status == 503)
    server.served()
    for wire, _ in wires + [first, (further, 0)]:
        wire.close()
    time.sleep(1)
    again, status = listen()
    check(f"streams that are gone make room: {status}", status == 200)
    again.close()
    return f"{count} listen streams: {each:.0f} bytes each, connection included; one more is refused, room comes back"


def initialize_flood(server, held):
    wire, statuses = Wire(server.port), {}
    before, start = server.memory(), time.monotonic()
    for _ in range(10_050 - held):
        status = server.session(wire)[0]
        statuses[status] = statuses.get(status, 0) + 1
    check(f"the cap holds: {statuses}", statuses.get(503, 0) >= 40 and set(statuses) == {200, 503})
    grown = (server.memory() - before) / 1e6
    check(f"the flood took {grown:.0f} MB", grown < 160)
    return f"initialize flood in {time.monotonic() - start:.1f} s: {statuses}, {grown:.1f} MB"


def slow_loris(server, count):
    wires = [Wire(server.port, patience=45) for _ in range(count)]
    for wire in wires:
        wire.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: ")
    start = time.monotonic()
    while time.monotonic() - start < 26:
        for wire in wires:
            wire.send(b"x")
        server.served()
        time.sleep(2)
    for wire in wires:
        try:
            while wire.more():
                pass
        except ConnectionError:
            pass
    took = time.monotonic() - start
    check(f"slow heads last {took:.1f} s", took < 40)
    return f"{count} slow heads: all closed after {took:.1f} s, others served meanwhile"


def endless_body(server):
    sent = []
    for framing in (b"Content-Length: 99999999999", b"Transfer-Encoding: chunked"):
        wire, chunk = Wire(server.port), b"10000\r\n" + b" " * 65536 + b"\r\n"
        wire.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n"
                  + framing + b"\r\n\r\n")
        count, before = 0, server.memory()
        try:
            while count < 64 << 20:
                wire.send(chunk)
                count += len(chunk)
        except (ConnectionError, TimeoutError):
            pass
        check("an endless body is taken", count < 64 << 20)
        check("an endless body is kept", server.memory() - before < 24 << 20)
        sent.append(f"{count >> 20} MB")
        wire.close()
    return f"endless bodies are cut off after {', '.join(sent)}"


def header_flood(server):
    statuses = []
    for headers in (b"".join(b"X-%d: 1\r\n" % n for n in range(500)), b"X: " + b"x" * 100_000 + b"\r\n"):
        wire = Wire(server.port)
        try:
            wire.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n")
            head = wire.head()
        except ConnectionError:
            head = None
        statuses.append(head and head[0])
        wire.close()
    check(f"a flood of headers is answered with {statuses}", all(status in (None, 400, 431) for status in statuses))
    return f"floods of headers: {statuses}"


def never_reads(server, count):
    """Clients that ask and ask on one connection, and read nothing."""
    before, wires = server.memory(), []
    message, headers = modern("tools/list", {})
    for _ in range(count):
        wire = Wire(server.port, patience=0.2, receive=4096)
        try:
            for _ in range(20_000):
                wire.post(message, headers)
        except (TimeoutError, ConnectionError):
            pass
        wires.append(wire)
    grown = server.memory() - before
    server.served()
    check(f"{count} clients that read nothing hold {grown >> 10} KB", grown < count * (2 << 20))
    for wire in wires:
        wire.close()
    return f"{count} clients that read nothing: {grown // count >> 10} KB each"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--sessions", type=int, default=1_000)
    arguments.add_argument("--streams", type=int, default=1_000)
    chosen = arguments.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard))
    server = Server(chosen.program)
    failed = False
    try:
        print(f"a server that has served nothing: {server.memory() >> 10} KB")
        for case in (
            lambda: idle_sessions(server, chosen.sessions),
            lambda: listen_streams(server, chosen.streams),
            lambda: endless_body(server),
            lambda: header_flood(server),
            lambda: never_reads(server, 20),
            lambda: initialize_flood(server, chosen.sessions + 1),
            lambda: slow_loris(server, 200),
        ):
            try:
                print(case(), flush=True)
                server.served()
            except (Failed, OSError) as error:
                failed = True
                print(f"FAILED: {error}", flush=True)
        print(f"at the end: {server.memory() >> 10} KB")
    finally:
        server.stop()
    sys.exit(failed)


if __name__ == "__main__":
    main()
