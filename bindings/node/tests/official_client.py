"""Lists the tools of a server and calls `add` with the official Python client, in the era that is wanted.

    python official_client.py legacy|modern URL|COMMAND [ARGUMENT...]
"""

from __future__ import annotations

import sys

import anyio
from mcp import Client, StdioServerParameters


async def main(era: str, command: str, *args: str) -> None:
    server = command if command.startswith("http:") else StdioServerParameters(command=command, args=list(args))
    with anyio.fail_after(30):
        async with Client(server, mode="auto" if era == "modern" else "legacy") as client:
            tools = (await client.list_tools()).tools
            answer = await client.call_tool("add", {"a": 40, "b": 2})
            print(client.protocol_version, ",".join(tool.name for tool in tools), answer.content[0].text)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
