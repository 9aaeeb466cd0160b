"""Drives a fixture server with the Python SDK (`mcp` 2.x), in either era. See ../FIXTURE.md.

    python client.py [--http] legacy|modern COMMAND [ARGUMENT...]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import Client, MCPDeprecationWarning, StdioServerParameters, types

from cells import CELLS, ROOTS

CELL_SECONDS = float(os.environ.get("INTEROP_CELL_SECONDS", "10"))
CLOSE_SECONDS = 5
MODERN = "2026-07-28"

warnings.simplefilter("ignore", MCPDeprecationWarning)  # roots, sampling and logging are what is tested here


class Peer:
    """A connection, what its server sent, and the answers of the table "What a client answers"."""

    def __init__(self, era: str, server: StdioServerParameters | str) -> None:
        self.logs: list[types.LoggingMessageNotificationParams] = []
        self.updated: list[str] = []
        self.tools_changed = 0
        self.elicited: list[Any] = []
        self.sampled: list[types.CreateMessageRequestParams] = []
        self.elicit_action = "accept"
        self.client = Client(
            server,
            # "auto" probes with server/discover, as a host does that does not know its server.
            mode="auto" if era == "modern" else "legacy",
            client_info=types.Implementation(name="interop-python-client", version="1.0.0"),
            elicitation_callback=self.elicit,
            sampling_callback=self.sample,
            list_roots_callback=self.roots,
            logging_callback=self.log,
            message_handler=self.message,
        )

    @property
    def era(self) -> str:
        return "modern" if self.client.protocol_version == MODERN else "legacy"

    async def elicit(self, _context: Any, params: Any) -> types.ElicitResult:
        self.elicited.append(params)
        content = {"name": "Ada"} if self.elicit_action == "accept" else None
        return types.ElicitResult(action=self.elicit_action, content=content)

    async def sample(self, _context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        self.sampled.append(params)
        content = params.messages[0].content
        block = content[0] if isinstance(content, list) else content
        answer = types.TextContent(type="text", text=f"You said: {block.text}")
        return types.CreateMessageResult(
            role="assistant", model="fixture-model", stop_reason="endTurn", content=answer
        )

    async def roots(self, _context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in ROOTS])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logs.append(params)

    async def message(self, message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            self.updated.append(str(message.params.uri))
        elif isinstance(message, types.ToolListChangedNotification):
            self.tools_changed += 1
        elif isinstance(message, Exception):
            print(f"transport: {message!r}", file=sys.stderr)


@asynccontextmanager
async def served(command: list[str], http: bool) -> AsyncIterator[StdioServerParameters | str]:
    """How to reach the server: a command, or the URL that a process says on its first line."""
    if not http:
        yield StdioServerParameters(command=command[0], args=command[1:])
        return
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield (await anyio.to_thread.run_sync(process.stdout.readline)).strip()
    finally:
        process.stdin.close()
        try:
            process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def judge(cell: str, era: str, command: list[str], http: bool) -> tuple[str, str]:
    """Runs one cell on a process of its own; leaving the blocks ends the process, by force if need be."""
    if cell not in CELLS:
        return "fail", f"no cell {cell}"
    try:
        async with served(command, http) as server:
            peer = Peer(era, server)
            with anyio.fail_after(CELL_SECONDS):
                async with peer.client:
                    if peer.era != era:
                        return "fail", f"connected in the {peer.era} era"
                    await CELLS[cell](peer)
    except Exception as error:
        traceback.print_exception(error)
        return "fail", one_line(error)
    return "pass", ""


def one_line(error: BaseException) -> str:
    """The innermost error; task groups wrap what went wrong in groups of one."""
    while group := getattr(error, "exceptions", None):
        error = group[0]
    said = f"no end within {CELL_SECONDS} s" if isinstance(error, TimeoutError) else str(error)
    return " ".join(f"{type(error).__name__}: {said}".split())[:400]


def main() -> None:
    words = sys.argv[1:]
    http = words[:1] == ["--http"]
    era, *command = words[1:] if http else (words or [""])
    if not command or era not in ("legacy", "modern"):
        sys.exit(f"usage: {sys.argv[0]} [--http] legacy|modern COMMAND [ARGUMENT...]")
    only = os.environ.get("INTEROP_CELLS")
    for cell in only.split(",") if only else CELLS:
        verdict, why = anyio.run(judge, cell, era, command, http)
        print(json.dumps({"cell": cell, "verdict": verdict, "why": why}), flush=True)


if __name__ == "__main__":
    main()
