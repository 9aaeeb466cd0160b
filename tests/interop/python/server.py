"""The fixture server (../FIXTURE.md) on the Python SDK (`mcp` 2.x): both eras, over stdio or over HTTP.

    python server.py [--http]

It uses the low-level server, because the high-level one does not page.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import threading
import urllib.parse
import warnings
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anyio
import mcp.server.stdio
import uvicorn
from jsonschema import ValidationError, validate
from mcp import MCPDeprecationWarning, MCPError, types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged

PAGE_SIZE = 50
MODERN = "2026-07-28"
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
COMPLETIONS = {"who": ["alice", "albert", "bob"], "id": ["one", "two", "three"]}
NAME_FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

warnings.simplefilter("ignore", MCPDeprecationWarning)  # roots, sampling and logging are what is served here

Context = ServerRequestContext[Any, Any]
Params = types.CallToolRequestParams
Answer = types.CallToolResult | types.InputRequiredResult


class State:
    """What this process remembers."""

    cancelled = 0
    has_extra = False
    level = "debug"
    subscribed: set[str] = set()


bus = InMemorySubscriptionBus()


def is_modern(ctx: Context) -> bool:
    return ctx.protocol_version == MODERN


def text(value: str, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=value)], **more)


def refuse(message: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, message)


# --- tools -----------------------------------------------------------------------------------------------------------


async def echo(_ctx: Context, params: Params) -> Answer:
    return text(params.arguments["text"])


async def add(_ctx: Context, params: Params) -> Answer:
    result = {"sum": params.arguments["a"] + params.arguments["b"]}
    return text(json.dumps(result), structured_content=result)


async def slow(ctx: Context, params: Params) -> Answer:
    step_seconds = params.arguments.get("ms", 250) / 5 / 1000
    try:
        for step in range(1, 6):
            await ctx.session.report_progress(step, 5)
            await anyio.sleep(step_seconds)
    except anyio.get_cancelled_exc_class():
        State.cancelled += 1
        raise
    return text("done")


async def cancelled_count(_ctx: Context, _params: Params) -> Answer:
    return text(str(State.cancelled))


async def ask(ctx: Context, params: Params, key: str, request: Any, result_type: Any) -> Any:
    """The answer to a request to the client, or, in the modern era and not yet answered, the result that asks for it."""
    if not is_modern(ctx):
        return await ctx.session.send_request(request, result_type)
    answers = params.input_responses or {}
    return answers[key] if key in answers else types.InputRequiredResult(input_requests={key: request})


async def ask_name(ctx: Context, params: Params) -> Answer:
    form = types.ElicitRequestFormParams(message="What is your name?", requested_schema=NAME_FORM)
    answer = await ask(ctx, params, "name", types.ElicitRequest(params=form), types.ElicitResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    return text(f"Hello, {answer.content['name']}" if answer.action == "accept" else "declined")


async def ask_model(ctx: Context, params: Params) -> Answer:
    prompt = types.TextContent(type="text", text=params.arguments["prompt"])
    request = types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            messages=[types.SamplingMessage(role="user", content=prompt)], max_tokens=50
        )
    )
    answer = await ask(ctx, params, "model", request, types.CreateMessageResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    block = answer.content[0] if isinstance(answer.content, list) else answer.content
    return text(block.text)


async def list_roots(ctx: Context, params: Params) -> Answer:
    answer = await ask(ctx, params, "roots", types.ListRootsRequest(), types.ListRootsResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    return text("\n".join(str(root.uri) for root in answer.roots))


async def log_three(ctx: Context, _params: Params) -> Answer:
    for level, data in (("info", "one"), ("warning", "two"), ("error", "three")):
        # The SDK looks at the level of a modern request, and leaves that of a legacy session to the server.
        if is_modern(ctx) or LEVELS.index(level) >= LEVELS.index(State.level):
            await ctx.session.send_log_message(level, data, "fixture", related_request_id=ctx.request_id)
    return text("logged")


async def touch(ctx: Context, params: Params) -> Answer:
    uri = params.arguments["uri"]
    if is_modern(ctx):
        await bus.publish(ResourceUpdated(uri))
    elif uri in State.subscribed:
        await ctx.session.send_resource_updated(uri)
    return text("touched")


async def toggle_tool(ctx: Context, _params: Params) -> Answer:
    State.has_extra = not State.has_extra
    if is_modern(ctx):
        await bus.publish(ToolsListChanged())
    else:
        await ctx.session.send_tool_list_changed()
    return text("toggled")


async def say_name(_ctx: Context, params: Params) -> Answer:
    return text(params.name)


class Tool(NamedTuple):
    run: Callable[[Context, Params], Awaitable[Answer]]
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None


def schema(*required: str, **properties: str) -> dict[str, Any]:
    """An object schema: property name → type; required are the named ones."""
    typed = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": typed, "required": list(required)}


TOOLS = {
    "echo": Tool(echo, schema("text", text="string")),
    "add": Tool(add, schema("a", "b", a="integer", b="integer"), schema("sum", sum="integer")),
    "slow": Tool(slow, schema(ms="integer")),
    "cancelled_count": Tool(cancelled_count, schema()),
    "ask_name": Tool(ask_name, schema()),
    "ask_model": Tool(ask_model, schema("prompt", prompt="string")),
    "list_roots": Tool(list_roots, schema()),
    "log_three": Tool(log_three, schema()),
    "touch": Tool(touch, schema("uri", uri="string")),
    "toggle_tool": Tool(toggle_tool, schema()),
    **{f"tool_{i:03}": Tool(say_name, schema()) for i in range(110)},
}


def tools() -> dict[str, Tool]:
    return {**TOOLS, "extra": Tool(say_name, schema())} if State.has_extra else TOOLS


async def on_list_tools(_ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    listed = [
        types.Tool(name=name, input_schema=tool.input_schema, output_schema=tool.output_schema)
        for name, tool in tools().items()
    ]
    cursor = params.cursor if params else None
    if cursor is not None and not cursor.isdecimal():
        raise refuse("unknown cursor")
    start = int(cursor or 0)
    end = start + PAGE_SIZE
    return types.ListToolsResult(tools=listed[start:end], next_cursor=str(end) if end < len(listed) else None)


async def on_call_tool(ctx: Context, params: Params) -> Answer:
    tool = tools().get(params.name)
    if tool is None:
        raise refuse(f"unknown tool {params.name}")
    params.arguments = params.arguments or {}
    try:
        validate(params.arguments, tool.input_schema)
    except ValidationError as error:
        return text(f"the arguments do not fit the schema: {error.message}", is_error=True)
    return await tool.run(ctx, params)


# --- prompts, resources, completion ----------------------------------------------------------------------------------


async def on_list_prompts(_ctx: Context, _params: Any) -> types.ListPromptsResult:
    who = types.PromptArgument(name="who", required=True)
    return types.ListPromptsResult(prompts=[types.Prompt(name="greet", arguments=[who]), types.Prompt(name="plain")])


async def on_get_prompt(_ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    arguments = params.arguments or {}
    if params.name == "plain":
        said = "A plain prompt."
    elif params.name != "greet":
        raise refuse(f"unknown prompt {params.name}")
    elif "who" not in arguments:
        raise refuse('greet needs the argument "who"')
    else:
        said = f"Please greet {arguments['who']}."
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=said))
    return types.GetPromptResult(messages=[message])


async def on_list_resources(_ctx: Context, _params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(
        resources=[
            types.Resource(uri="fixture://text", name="text", mime_type="text/plain"),
            types.Resource(uri="fixture://blob", name="blob", mime_type="application/octet-stream"),
        ]
    )


async def on_list_templates(_ctx: Context, _params: Any) -> types.ListResourceTemplatesResult:
    item = types.ResourceTemplate(uri_template="fixture://items/{id}", name="items", mime_type="text/plain")
    return types.ListResourceTemplatesResult(resource_templates=[item])


async def on_read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    item = re.fullmatch(r"fixture://items/([^/]+)", uri)
    if uri == "fixture://blob":
        blob = types.BlobResourceContents(uri=uri, mime_type="application/octet-stream", blob="AAEC/w==")
        return types.ReadResourceResult(contents=[blob])
    if uri == "fixture://text":
        said = "fixture text"
    elif item:
        said = f"item {urllib.parse.unquote(item[1])}"
    else:
        raise MCPError(types.INVALID_PARAMS if is_modern(ctx) else -32002, "resource not found", {"uri": uri})
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type="text/plain", text=said)])


async def on_completion(_ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    known = COMPLETIONS.get(params.argument.name, [])
    values = [value for value in known if value.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, has_more=False))


# --- legacy sessions -------------------------------------------------------------------------------------------------


async def on_subscribe(_ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    State.subscribed.add(str(params.uri))
    return types.EmptyResult()


async def on_unsubscribe(_ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    State.subscribed.discard(str(params.uri))
    return types.EmptyResult()


async def on_set_level(_ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    State.level = params.level
    return types.EmptyResult()


async def main() -> None:
    server = Server(
        "interop-python-server",
        version="1.0.0",
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
        on_list_prompts=on_list_prompts,
        on_get_prompt=on_get_prompt,
        on_list_resources=on_list_resources,
        on_list_resource_templates=on_list_templates,
        on_read_resource=on_read_resource,
        on_completion=on_completion,
        on_subscribe_resource=on_subscribe,
        on_unsubscribe_resource=on_unsubscribe,
        on_set_logging_level=on_set_level,
        on_subscriptions_listen=ListenHandler(bus),
    )
    if sys.argv[1:] == ["--http"]:
        await serve_http(server)
        return
    options = server.create_initialization_options(NotificationOptions(tools_changed=True))
    async with mcp.server.stdio.stdio_server() as (read, write):
        await server.run(read, write, options)


async def serve_http(server: Server[Any]) -> None:
    """Listens on a port that the system chooses, says where, and stops when nobody holds the other end of the input."""

    def end_with_input() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=end_with_input, daemon=True).start()
    app = server.streamable_http_app()
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listening])


if __name__ == "__main__":
    anyio.run(main)
