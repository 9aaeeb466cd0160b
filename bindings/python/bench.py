"""What one `tools/call` costs, from frame to frame, in one process: microseconds per call, best of several rounds, and
of each round the best of its short batches.

    python bench.py [CALLS] [--json] [--quick]

`floor` reads the same frames and writes the same answers with Python's own `json`, and nothing else: what the others
are to be compared with, for machines differ. `boundary` is the frame in, the actions and the frame out with a reply
that is made beforehand: all that is not the handler's. `sync` has a Python function as handler reading its arguments,
`async` a coroutine under a running event loop (driven to its end at once, for it waits for nothing), `task` the same as
a task of the loop.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator

from mcp_sansio import DefinitionBuilder, Invoke, Reply, Server, Write

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
ROUNDS = 15
BATCH = 200

Batches = Iterator[list[bytes]]


def frames(count: int) -> list[bytes]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    calls = ({"name": "add", "arguments": {"a": number, "b": 7}, "_meta": meta} for number in range(count))
    return [
        json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode() + b"\n"
        for id, params in enumerate(calls)
    ]


def new() -> Server:
    definition = DefinitionBuilder("bench", "1").tool("add", input_schema=SCHEMA).build()
    return Server(definition)


def timed(all_frames: list[bytes], costs: list[float]) -> Batches:
    """Short batches, and what each has cost for a call. Their frames are in the cache, as what was just read is."""
    for start in range(0, len(all_frames), BATCH):
        batch = [bytes(bytearray(frame)) for frame in all_frames[start : start + BATCH]]
        started = time.process_time()
        yield batch
        costs.append((time.process_time() - started) / len(batch) * 1e6)


def floor(batches: Batches) -> None:
    for batch in batches:
        for frame in batch:
            message = json.loads(frame)
            arguments = message["params"]["arguments"]
            text = str(arguments["a"] + arguments["b"])
            result = {"content": [{"type": "text", "text": text}]}
            json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()


def boundary(batches: Batches) -> None:
    server, reply = new(), Reply.text("7")
    handle, poll, answer, written = server.handle, server.poll, server.reply, server.written
    for batch in batches:
        for frame in batch:
            handle(frame)
            answer(poll(), reply)
            written(len(poll().data))  # type: ignore[union-attr]


def add(a: int, b: int) -> str:
    return str(a + b)


def sync(batches: Batches) -> None:
    server = new()
    handle, reply, written = server.handle, server.reply, server.written
    for batch in batches:
        for frame in batch:
            handle(frame)
            for action in server:
                if type(action) is Write:
                    written(len(action.data))
                elif type(action) is Invoke:
                    reply(action, add(**action.arguments))


async def add_later(a: int, b: int) -> str:
    return str(a + b)


async def inline(batches: Batches) -> None:
    server = new()
    handle, reply, written = server.handle, server.reply, server.written
    for batch in batches:
        for frame in batch:
            handle(frame)
            for action in server:
                if type(action) is Write:
                    written(len(action.data))
                elif type(action) is Invoke:
                    reply(action, await add_later(**action.arguments))


async def task(batches: Batches) -> None:
    server = new()
    handle, reply, written = server.handle, server.reply, server.written
    for batch in batches:
        for frame in batch:
            handle(frame)
            for action in server:
                if type(action) is Write:
                    written(len(action.data))
                elif type(action) is Invoke:
                    reply(action, await asyncio.create_task(add_later(**action.arguments)))


def cost(run: Callable[[Batches], object], all_frames: list[bytes]) -> float:
    costs: list[float] = []
    run(timed(all_frames, costs))
    return min(costs)


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    quick = "--quick" in sys.argv
    all_frames = frames(numbers[0] if numbers else 2_000 if quick else 10_000)
    runs: dict[str, Callable[[Batches], object]] = {
        "floor": floor,
        "boundary": boundary,
        "sync": sync,
        "async": lambda given: asyncio.run(inline(given)),
        "task": lambda given: asyncio.run(task(given)),
    }
    # By turns, so that what disturbs the machine disturbs all of them.
    rounds = [[cost(run, all_frames) for run in runs.values()] for _ in range(2 if quick else ROUNDS)]
    seen = list(zip(runs, zip(*rounds, strict=True), strict=True))
    if "--json" in sys.argv:
        print(json.dumps([["modern", seen]]))
    else:
        for name, costs in seen:
            print(f"{name:<10}{min(costs):6.2f} us per call")


if __name__ == "__main__":
    main()
