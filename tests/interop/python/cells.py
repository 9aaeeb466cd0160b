"""What the Python client does with a fixture server (../FIXTURE.md, "Cells").

Every cell takes the connected `Peer` of client.py and either returns (pass) or raises (fail). The SDK offers every
feature in both eras, so nothing here says `cannot`.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio
from mcp import MCPError, types
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged

if TYPE_CHECKING:
    from client import Peer

ROOTS = ["file:///fixture/one", "file:///fixture/two"]
TOOLS = [
    *("echo", "add", "slow", "cancelled_count", "ask_name", "ask_model"),
    *("list_roots", "log_three", "touch", "toggle_tool"),
    *(f"tool_{i:03}" for i in range(110)),
]
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"


def same(actual: Any, expected: Any) -> None:
    if actual != expected:
        raise AssertionError(f"expected {expected!r}, got {actual!r}")


async def text(call: Awaitable[types.CallToolResult]) -> str:
    """The one text block of a successful call."""
    result = await call
    if result.is_error:
        raise AssertionError(f"isError: {result.content!r}")
    (block,) = result.content
    same(block.type, "text")
    return block.text


async def refused(what: str, call: Awaitable[Any]) -> None:
    try:
        answer = await call
    except MCPError:
        return
    if not getattr(answer, "is_error", False):
        raise AssertionError(f"{what} was accepted: {answer!r}")


async def until(check: Callable[[], Awaitable[bool]]) -> None:
    """Waits until `check` holds; the cell's own time limit ends the waiting."""
    while not await check():
        await anyio.sleep(0.01)


async def tool_names(peer: Peer) -> list[str]:
    return [tool.name for tool in await walk(peer.client.list_tools, "tools")]


async def walk(fetch: Callable[..., Awaitable[Any]], items: str) -> list[Any]:
    """All pages of a list; the Python client leaves the walk to its caller."""
    page = await fetch()
    found = list(getattr(page, items))
    while page.next_cursor is not None:
        page = await fetch(cursor=page.next_cursor)
        found += getattr(page, items)
    return found


async def lists(peer: Peer) -> None:
    client = peer.client
    first = await client.list_tools()
    same(len(first.tools), 50)
    tools = await walk(client.list_tools, "tools")
    same([tool.name for tool in tools], TOOLS)
    same((tools[1].output_schema or {}).get("required"), ["sum"])
    prompts = await walk(client.list_prompts, "prompts")
    same([prompt.name for prompt in prompts], ["greet", "plain"])
    same([(a.name, a.required) for a in prompts[0].arguments or []], [("who", True)])
    resources = await walk(client.list_resources, "resources")
    same([str(resource.uri) for resource in resources], ["fixture://text", "fixture://blob"])
    templates = await walk(client.list_resource_templates, "resource_templates")
    same([template.uri_template for template in templates], ["fixture://items/{id}"])


async def calls(peer: Peer) -> None:
    call = peer.client.call_tool
    for sample in ["plain", "grüße 🦀 日本", "two\nlines\r\n", "sep\u2028para\u2029", '"quoted" \\ \0', ""]:
        same(await text(call("echo", {"text": sample})), sample)
    same((await call("add", {"a": 20, "b": 22})).structured_content, {"sum": 42})
    await refused("a string for an integer", call("add", {"a": "x", "b": 1}))
    await refused("an unknown tool", call("no_such_tool", {}))
    same(await text(call("tool_109", {})), "tool_109")


async def prompts(peer: Peer) -> None:
    async def messages(name: str, arguments: dict[str, str] | None = None) -> list[tuple[str, str]]:
        result = await peer.client.get_prompt(name, arguments)
        return [(message.role, message.content.text) for message in result.messages]

    same(await messages("greet", {"who": "Zoë"}), [("user", "Please greet Zoë.")])
    same(await messages("plain"), [("user", "A plain prompt.")])
    await refused("a missing prompt argument", peer.client.get_prompt("greet", {}))
    await refused("an unknown prompt", peer.client.get_prompt("no_such_prompt"))


async def resources(peer: Peer) -> None:
    async def read(uri: str) -> tuple[str | None, Any]:
        (content,) = (await peer.client.read_resource(uri)).contents
        same(str(content.uri), uri)
        blob = getattr(content, "blob", None)
        return content.mime_type, content.text if blob is None else base64.b64decode(blob)

    same(await read("fixture://text"), ("text/plain", "fixture text"))
    same(await read("fixture://blob"), ("application/octet-stream", b"\x00\x01\x02\xff"))
    same(await read("fixture://items/two"), ("text/plain", "item two"))
    await refused("an unknown resource", peer.client.read_resource("fixture://nowhere"))


async def completion(peer: Peer) -> None:
    async def values(ref: Any, name: str, value: str) -> list[str]:
        return (await peer.client.complete(ref, {"name": name, "value": value})).completion.values

    item = types.ResourceTemplateReference(uri="fixture://items/{id}")
    same(await values(types.PromptReference(name="greet"), "who", "al"), ["alice", "albert"])
    same(await values(item, "id", "t"), ["two", "three"])
    same(await values(item, "id", "x"), [])


async def progress(peer: Peer) -> None:
    steps: list[tuple[float, float | None]] = []

    async def on_progress(step: float, total: float | None, _message: str | None) -> None:
        steps.append((step, total))

    same(await text(peer.client.call_tool("slow", {"ms": 100}, progress_callback=on_progress)), "done")
    same(steps, [(step, 5) for step in (1, 2, 3, 4, 5)])
    same(await text(peer.client.call_tool("slow", {"ms": 10})), "done")


async def cancellation(peer: Peer) -> None:
    with anyio.CancelScope() as scope:

        async def on_progress(*_report: Any) -> None:
            scope.cancel()

        await peer.client.call_tool("slow", {"ms": 30_000}, progress_callback=on_progress)
    same(scope.cancelled_caught, True)

    async def counted() -> bool:
        return await text(peer.client.call_tool("cancelled_count")) == "1"

    await until(counted)
    same(await text(peer.client.call_tool("echo", {"text": "alive"})), "alive")


async def elicitation(peer: Peer) -> None:
    same(await text(peer.client.call_tool("ask_name")), "Hello, Ada")
    peer.elicit_action = "decline"
    same(await text(peer.client.call_tool("ask_name")), "declined")
    same(len(peer.elicited), 2)
    for form in peer.elicited:
        same(form.message, "What is your name?")
        same(form.requested_schema["properties"]["name"]["type"], "string")
        same(form.requested_schema["required"], ["name"])


async def sampling(peer: Peer) -> None:
    same(await text(peer.client.call_tool("ask_model", {"prompt": "one + one?"})), "You said: one + one?")
    same([params.max_tokens for params in peer.sampled], [50])


async def roots(peer: Peer) -> None:
    same(await text(peer.client.call_tool("list_roots")), "\n".join(ROOTS))


async def logging(peer: Peer) -> None:
    async def logs(level: Any) -> list[tuple[str, str | None, Any]]:
        meta = None
        if peer.era == "legacy":
            await peer.client.set_logging_level(level)
        elif level is not None:
            meta = {LOG_LEVEL_KEY: level}
        peer.logs.clear()
        same(await text(peer.client.call_tool("log_three", meta=meta)), "logged")
        await peer.client.call_tool("echo", {"text": "fence"})
        return [(log.level, log.logger, log.data) for log in peer.logs]

    everything = [("info", "fixture", "one"), ("warning", "fixture", "two"), ("error", "fixture", "three")]
    same(await logs("info"), everything)
    same(await logs("error"), everything[2:])
    if peer.era == "modern":
        same(await logs(None), [])


async def listen(peer: Peer) -> None:
    await (listen_modern if peer.era == "modern" else listen_legacy)(peer)


async def touch(peer: Peer, uri: str) -> None:
    same(await text(peer.client.call_tool("touch", {"uri": uri})), "touched")


async def listen_modern(peer: Peer) -> None:
    async with peer.client.listen(tools_list_changed=True, resource_subscriptions=["fixture://text"]) as events:
        same(events.honored.tools_list_changed, True)
        same(events.honored.resource_subscriptions, ["fixture://text"])
        await touch(peer, "fixture://blob")
        await touch(peer, "fixture://text")
        same(await anext(events), ResourceUpdated("fixture://text"))
        same(await text(peer.client.call_tool("toggle_tool")), "toggled")
        same(await anext(events), ToolsListChanged())
        same(await tool_names(peer), [*TOOLS, "extra"])
    await peer.client.call_tool("echo", {"text": "fence"})
    peer.updated.clear()
    await touch(peer, "fixture://text")
    same(await text(peer.client.call_tool("extra")), "extra")
    same(peer.updated, [])


async def listen_legacy(peer: Peer) -> None:
    client, watched = peer.client, "fixture://text"
    await client.subscribe_resource(watched)
    await touch(peer, "fixture://blob")
    await touch(peer, watched)

    async def updated() -> bool:
        return bool(peer.updated)

    await until(updated)
    same(peer.updated, [watched])
    same(await text(client.call_tool("toggle_tool")), "toggled")

    async def tools_changed() -> bool:
        return peer.tools_changed > 0

    await until(tools_changed)
    same(await tool_names(peer), [*TOOLS, "extra"])
    same(await text(client.call_tool("extra")), "extra")
    await client.unsubscribe_resource(watched)
    await touch(peer, watched)
    await client.call_tool("echo", {"text": "fence"})
    same(peer.updated, [watched])


CELLS: dict[str, Callable[[Any], Awaitable[None]]] = {
    cell.__name__: cell
    for cell in (
        *(lists, calls, prompts, resources, completion, progress),
        *(cancellation, elicitation, sampling, roots, logging, listen),
    )
}
