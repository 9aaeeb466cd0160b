"""A server on stdin and stdout as one plain loop: no event loop, no thread.

python stdio_server.py
"""

from __future__ import annotations

import os
import select
import sys

from mcp_sansio import Closed, DefinitionBuilder, Invoke, RemoteError, Server, Write

STDIN, STDOUT = 0, 1
NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}

definition = (
    DefinitionBuilder("calculator", "1.0.0")
    .tool("add", description="Adds two numbers", input_schema=NUMBERS, read_only=True)
    .tool("divide", description="Divides a by b", input_schema=NUMBERS, read_only=True)
    .build()
)


def answer(server: Server, invoke: Invoke) -> None:
    match invoke:
        case Invoke("tool", "add", {"a": a, "b": b}):
            server.reply(invoke, str(a + b))
        case Invoke("tool", "divide", {"b": 0}):
            server.reply(invoke, {"content": [{"type": "text", "text": "division by zero"}], "isError": True})
        case Invoke("tool", "divide", {"a": a, "b": b}):
            server.reply(invoke, str(a / b))
        case _:
            server.reply(invoke, RemoteError(-32603, "not implemented"))


def main() -> None:
    server = Server(definition)
    while True:
        while (action := server.poll()) is not None:
            match action:
                case Write(data):
                    sent = memoryview(data)
                    while sent:
                        sent = sent[os.write(STDOUT, sent) :]
                    server.written(len(data))
                case Invoke():
                    answer(server, action)
                case Closed():
                    return
                case _:
                    print(action, file=sys.stderr)
        # Wait for input, until the machine wants to be woken.
        ready, _, _ = select.select([STDIN] if server.wants_input else [], [], [], server.delay())
        if not ready:
            server.handle_timeout()
        elif data := os.read(STDIN, 65536):
            server.handle(data)
        else:
            server.handle_eof()


if __name__ == "__main__":
    main()
