"""A server on stdin and stdout as one plain loop: no event loop, no thread.

python stdio_server.py
"""

from __future__ import annotations

import os
import select
import sys

from calculator import answer, definition
from mcp_sansio import Closed, Invoke, Server, Write

STDIN, STDOUT = 0, 1


def main() -> None:
    server = Server(definition())
    while True:
        for action in server:
            match action:
                case Write(data):
                    left = memoryview(data)
                    while left:
                        left = left[os.write(STDOUT, left) :]
                    server.written(len(data))
                case Invoke():
                    server.reply(action, answer(action))
                case Closed():
                    return
                case _:
                    print(action, file=sys.stderr)
        # Wait for input, until the machine wants to be woken.
        readable, _, _ = select.select([STDIN] if server.wants_input else [], [], [], server.delay())
        if not readable:
            server.handle_timeout()
        elif data := os.read(STDIN, 65536):
            server.handle(data)
        else:
            server.handle_eof()


if __name__ == "__main__":
    main()
