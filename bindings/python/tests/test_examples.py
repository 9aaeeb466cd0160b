"""The examples, driven by the clients of others, and the example client against servers of others.

`MCP_INTEROP_CACHE` names the folder where `cargo xtask peers` has installed those; without it only our own client
drives our own servers.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
PEERS = os.environ.get("MCP_INTEROP_CACHE")
SCRIPTS = os.environ.get("MCP_INTEROP_SCRIPTS")
ERAS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
needs_peers = pytest.mark.skipif(PEERS is None or SCRIPTS is None, reason="the peers are not installed")


def peer(language: str, script: str) -> list[str]:
    """How to start a script of a peer."""
    if language == "python":
        return [f"{PEERS}/venv/bin/python", f"{SCRIPTS}/python/{script}.py"]
    return ["node", f"{PEERS}/node/{script}.mjs"]


def output(*command: str) -> str:
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def example(name: str) -> list[str]:
    return [sys.executable, str(EXAMPLES / name)]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    process = subprocess.Popen(example("http_server.py"), stdout=subprocess.PIPE, text=True)
    assert process.stdout
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait(10)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", ["stdio_server.py", "stdio_asyncio.py"])
def test_our_client_drives_our_servers(server: str, era: str) -> None:
    told = output(*example("client.py"), era, "add", '{"a": 2, "b": 3}', *example(server))
    assert told.split("\n") == [f"revision {ERAS[era]}", "tools add divide", "result 5", ""]


@needs_peers
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("language", ["python", "node"])
@pytest.mark.parametrize("server", ["stdio_server.py", "stdio_asyncio.py"])
def test_clients_of_others_drive_our_servers(server: str, language: str, era: str) -> None:
    assert output(*peer(language, "call"), era, *example(server)) == f"{era} add,divide 5 true\n"


@needs_peers
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("language", ["python", "node"])
def test_clients_of_others_drive_our_server_over_http(url: str, language: str, era: str) -> None:
    assert output(*peer(language, "call"), era, url) == f"{era} add,divide 5 true\n"


@needs_peers
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("language", "script"), [("python", "server"), ("node", "server2")])
def test_our_client_drives_servers_of_others(language: str, script: str, era: str) -> None:
    told = output(*example("client.py"), era, "echo", '{"text": "hi"}', *peer(language, script)).split("\n")
    assert told[0] == f"revision {ERAS[era]}" and told[2] == "result hi"
