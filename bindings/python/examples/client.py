"""A client that starts a server, lists its tools and calls one: one plain loop.

python client.py auto|modern|legacy TOOL ARGUMENTS COMMAND [ARGUMENT...]
python client.py auto add '{"a": 2, "b": 3}' python stdio_server.py
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable

from mcp_sansio import Client, ClientAction, Closed, Config, Connected, Done, Request, Write


class Connection:
    """A client and the process that it talks to."""

    def __init__(self, command: list[str], era: str) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin and self.process.stdout
        self.input, self.output = self.process.stdin, self.process.stdout
        self.client = Client(Config("example", "1.0.0", connect=era))
        self.client.connect()

    def until(self, wanted: Callable[[ClientAction], bool]) -> ClientAction:
        """Runs the machine until it says what is wanted."""
        while True:
            for action in self.client:
                if isinstance(action, Write):
                    self.input.write(action.data)
                    self.input.flush()
                    self.client.written(len(action.data))
                elif wanted(action):
                    return action
                elif isinstance(action, Closed):
                    raise action.error or ConnectionError(action.reason)
            readable, _, _ = select.select([self.output], [], [], self.client.delay())
            if not readable:
                self.client.handle_timeout()
            elif data := os.read(self.output.fileno(), 65536):
                self.client.handle(data)
            else:
                self.client.handle_eof()

    def done(self, call: int) -> Done:
        done = self.until(lambda action: isinstance(action, Done) and action.call == call)
        assert isinstance(done, Done)
        if done.error is not None:
            raise done.error
        return done

    def close(self) -> None:
        self.client.close()
        self.input.close()
        self.process.wait(10)
        self.output.close()


def main() -> None:
    era, tool, arguments, *command = sys.argv[1:]
    connection = Connection(command, era)
    connected = connection.until(lambda action: isinstance(action, Connected))
    assert isinstance(connected, Connected)
    print("revision", connected.version)
    tools = connection.done(connection.client.walk("tools")).items
    print("tools", *(tool["name"] for tool in tools))
    result = connection.done(connection.client.call(Request.call_tool(tool, json.loads(arguments)))).result
    print("result", *(block.get("text") for block in result["content"]))
    connection.close()


if __name__ == "__main__":
    main()
