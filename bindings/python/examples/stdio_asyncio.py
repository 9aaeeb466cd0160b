"""The same server under asyncio: every call is a task, and a call that is cancelled is a task that is cancelled.

python stdio_asyncio.py
"""

from __future__ import annotations

import asyncio
import sys

from calculator import answer, definition
from mcp_sansio import Cancelled, Closed, Invoke, Server, Write


class Front:
    def __init__(self) -> None:
        self.server = Server(definition())
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.closed = False

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        self.pump()
        while not self.closed:
            try:
                data = await asyncio.wait_for(reader.read(65536), self.server.delay())
            except TimeoutError:
                self.server.handle_timeout()
            else:
                if data:
                    self.server.handle(data)
                else:
                    self.server.handle_eof()
                    await asyncio.gather(*self.tasks.values(), return_exceptions=True)
            self.pump()

    def pump(self) -> None:
        for action in self.server:
            match action:
                case Write(data):
                    sys.stdout.buffer.write(data)
                    sys.stdout.buffer.flush()
                    self.server.written(len(data))
                case Invoke():
                    self.tasks[action.id] = asyncio.ensure_future(self.call(action))
                case Cancelled(id):
                    if task := self.tasks.get(id):
                        task.cancel()
                case Closed():
                    self.closed = True

    async def call(self, invoke: Invoke) -> None:
        try:
            await asyncio.sleep(0)  # a handler that waits for something would do so here
            self.server.reply(invoke, answer(invoke))
        finally:
            # A task that ends without a reply drops its `Invoke`, which ends the request.
            del self.tasks[invoke.id], invoke
            self.pump()


if __name__ == "__main__":
    asyncio.run(Front().run())
