"""What the example servers serve: two tools, one of which may fail."""

from __future__ import annotations

from mcp_sansio import Definition, DefinitionBuilder, Invoke, McpError, RemoteError, Reply

NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}


def definition() -> Definition:
    return (
        DefinitionBuilder("calculator", "1.0.0")
        .tool("add", description="Adds two numbers", input_schema=NUMBERS, read_only=True)
        .tool("divide", description="Divides a by b", input_schema=NUMBERS, read_only=True)
        .build()
    )


def answer(invoke: Invoke) -> Reply | McpError | str:
    match invoke:
        case Invoke("tool", "add", {"a": a, "b": b}):
            return str(a + b)
        case Invoke("tool", "divide", {"b": 0}):
            return Reply.text("division by zero", is_error=True)
        case Invoke("tool", "divide", {"a": a, "b": b}):
            return str(a / b)
    return RemoteError(-32603, "not implemented")
