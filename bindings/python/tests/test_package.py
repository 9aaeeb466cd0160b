"""The package as a stranger sees it: what it imports, how long that takes, what it keeps."""

from __future__ import annotations

import gc
import json
import pickle
import subprocess
import sys
from pathlib import Path

import mcp_sansio
from mcp_sansio import DefinitionBuilder, Invoke, LimitExceededError, RemoteError, Server, Write

CALLS = 100_000
#: Bytes that the process may have grown by in the end: the allocators' own slack. A leak of one byte a call is found.
GROWTH = 96 * 1024


def test_it_is_installed_and_typed() -> None:
    home = Path(mcp_sansio.__file__).parent
    assert "site-packages" in home.parts, "tested as installed, not from the source tree"
    assert (home / "py.typed").exists() and (home / "_native.pyi").exists()
    assert all(hasattr(mcp_sansio, name) for name in mcp_sansio.__all__)


def test_the_import_is_light() -> None:
    """No third-party import, and less than 50 ms: the best of several, for others may use the machine too."""
    code = """
import sys, time
before, started = set(sys.modules), time.perf_counter()
import mcp_sansio
took = time.perf_counter() - started
new = {name.split(".")[0] for name in set(sys.modules) - before}
print(took, *sorted(new - set(sys.stdlib_module_names)))
"""
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    words = [run.stdout.split() for run in runs]
    assert all(names == ["mcp_sansio"] for _, *names in words)
    assert min(float(took) for took, *_ in words) < 0.050


def resident() -> int:
    """What the process holds, in bytes."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096


def calls(server: Server, count: int) -> None:
    params = {
        "name": "t",
        "arguments": {"text": "x" * 100},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }
    start = b'{"jsonrpc":"2.0","method":"tools/call","params":' + json.dumps(params).encode() + b',"id":'
    for number in range(count):
        server.handle(start + str(number).encode() + b"}\n")
        while (action := server.poll()) is not None:
            if isinstance(action, Write):
                server.written(len(action.data))
            elif isinstance(action, Invoke):
                if number % 10 == 0:
                    continue  # collected: abandoned
                server.reply(action, {"content": [{"type": "text", "text": action.arguments["text"]}]})


def test_a_hundred_thousand_calls_leave_nothing() -> None:
    server = Server(DefinitionBuilder("s", "1").tool("t").build())
    calls(server, CALLS // 10)
    gc.collect()
    objects, before = len(gc.get_objects()), resident()
    calls(server, CALLS)
    gc.collect()
    assert len(gc.get_objects()) - objects < 50
    assert resident() - before <= GROWTH


def test_errors_travel() -> None:
    error = RemoteError(-32000, "no", {"a": 1})
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.message, again.data, again.kind, again.blame) == (
        -32000,
        "no",
        {"a": 1},
        "remote",
        "remote",
    )
    limit = LimitExceededError(-32600, "too much")
    limit.bound = "calls"
    assert pickle.loads(pickle.dumps(limit)).bound == "calls"
