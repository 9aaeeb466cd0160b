"""Lists the tools of a server and calls `add`, in the era that is wanted, with the Python SDK (`mcp` 2.x).

    python call.py legacy|modern URL|COMMAND [ARGUMENT...]
"""

from __future__ import annotations

import sys

import anyio
from mcp import Client, StdioServerParameters

MODERN = "2026-07-28"


async def main(era: str, command: str, *args: str) -> None:
    server = command if command.startswith("http:") else StdioServerParameters(command=command, args=list(args))
    with anyio.fail_after(30):
        async with Client(server, mode="auto" if era == "modern" else "legacy") as client:
            tools = (await client.list_tools()).tools
            answer = await client.call_tool("add", {"a": 2, "b": 3})
            failed = await client.call_tool("divide", {"a": 1, "b": 0})
            spoken = "modern" if client.protocol_version == MODERN else "legacy"
            print(spoken, ",".join(tool.name for tool in tools), answer.content[0].text, str(failed.is_error).lower())


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
