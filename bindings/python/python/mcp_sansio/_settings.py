"""Settings as values: what a server offers, what a client is, where and how HTTP is served.

They are gathered here and checked by the core, once, when the machine or the definition is made. Every setting that is
left out has the core's default. Times are in seconds, sizes in bytes.
"""

from __future__ import annotations

from ._errors import misuse
from ._native import Definition, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal, TypeAlias

    # JSON as a native object, or as the `bytes` of its text.
    _Json: TypeAlias = Any
    _Settings = dict[str, Any]
else:
    _Settings = dict

_UNSET: Any = ...


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not _UNSET and name != "self"}


def _some(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None and value is not False}


def _millis(seconds: Any) -> Any:
    """A time of ours as one of the core's; what is no number it refuses itself."""
    return seconds * 1000 if isinstance(seconds, int | float) else seconds


def _read(settings: _Settings | bytes) -> dict[str, Any]:
    """Settings that were given, to be changed here."""
    if isinstance(settings, bytes):
        settings = read(settings)
    if not isinstance(settings, dict):
        raise misuse("settings are an object")
    return dict(settings)


class DefinitionBuilder:
    """What a server offers. Things are offered in the order they are added; `build` checks them all.

    `tool`, `prompt`, `resource` and `template` take keywords, or one whole object as the specification shapes it, as a
    dict or as the bytes of its JSON. Every method answers the builder itself.
    """

    def __init__(self, name: str, version: str) -> None:
        self._settings: dict[str, Any] = {"name": name, "version": version}

    def _set(self, **settings: Any) -> DefinitionBuilder:
        self._settings.update(settings)
        return self

    def _add(self, list_name: str, *items: Any) -> DefinitionBuilder:
        self._settings.setdefault(list_name, []).extend(items)
        return self

    def title(self, title: str) -> DefinitionBuilder:
        """A display name."""
        return self._set(title=title)

    def description(self, text: str) -> DefinitionBuilder:
        """What the server is, in a sentence."""
        return self._set(description=text)

    def website(self, url: str) -> DefinitionBuilder:
        """Where to read about the server."""
        return self._set(website=url)

    def icon(self, icon: _Json) -> DefinitionBuilder:
        """A picture of the server, as the specification shapes it."""
        return self._add("icons", icon)

    def instructions(self, text: str) -> DefinitionBuilder:
        """How to use the server, for the model."""
        return self._set(instructions=text)

    def send_identity(self, on: bool) -> DefinitionBuilder:
        """Whether results say who the server is. On by default."""
        return self._set(send_identity=on)

    def tool(
        self,
        tool: str | _Json,
        *,
        title: str | None = None,
        description: str | None = None,
        input_schema: _Json = None,
        output_schema: _Json = None,
        annotations: _Json = None,
        read_only: bool = False,
        destructive: bool | None = None,
        idempotent: bool = False,
        open_world: bool | None = None,
        icons: Sequence[_Json] | None = None,
        meta: _Json = None,
    ) -> DefinitionBuilder:
        """Adds a tool: its name and keywords, or the whole object. Without `input_schema` any object is accepted."""
        if not isinstance(tool, str):
            return self._add("tools", tool)
        hints = {**_read(annotations)} if annotations is not None else {}
        given = (
            ("readOnlyHint", read_only or None),
            ("destructiveHint", destructive),
            ("idempotentHint", idempotent or None),
            ("openWorldHint", open_world),
        )
        hints.update((name, hint) for name, hint in given if hint is not None)
        return self._add(
            "tools",
            _some(
                name=tool,
                title=title,
                description=description,
                inputSchema={"type": "object"} if input_schema is None else input_schema,
                outputSchema=output_schema,
                annotations=hints or None,
                icons=icons,
                _meta=meta,
            ),
        )

    def prompt(
        self,
        prompt: str | _Json,
        *,
        title: str | None = None,
        description: str | None = None,
        arguments: Sequence[_Json] | None = None,
        icons: Sequence[_Json] | None = None,
        meta: _Json = None,
    ) -> DefinitionBuilder:
        """Adds a prompt: its name and keywords, or the whole object."""
        if not isinstance(prompt, str):
            return self._add("prompts", prompt)
        return self._add(
            "prompts",
            _some(name=prompt, title=title, description=description, arguments=arguments, icons=icons, _meta=meta),
        )

    def resource(
        self,
        resource: str | _Json,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        annotations: _Json = None,
        icons: Sequence[_Json] | None = None,
        meta: _Json = None,
        list_only: bool = False,
    ) -> DefinitionBuilder:
        """Adds a resource: its URI and keywords, or the whole object. With `list_only` it is listed, and read through a
        template or the catch-all, if at all."""
        into = "list_only_resources" if list_only else "resources"
        if not isinstance(resource, str):
            return self._add(into, resource)
        settings = _some(
            uri=resource,
            name=resource if name is None else name,
            title=title,
            description=description,
            mimeType=mime_type,
            annotations=annotations,
            icons=icons,
            _meta=meta,
        )
        if size is not None:
            settings["size"] = size
        return self._add(into, settings)

    def template(
        self,
        template: str | _Json,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        annotations: _Json = None,
        icons: Sequence[_Json] | None = None,
        meta: _Json = None,
    ) -> DefinitionBuilder:
        """Adds a resource template: its URI template (RFC 6570) and keywords, or the whole object. URIs are tried
        against templates in the order they are added."""
        if not isinstance(template, str):
            return self._add("templates", template)
        return self._add(
            "templates",
            _some(
                uriTemplate=template,
                name=template if name is None else name,
                title=title,
                description=description,
                mimeType=mime_type,
                annotations=annotations,
                icons=icons,
                _meta=meta,
            ),
        )

    def read_any(self) -> DefinitionBuilder:
        """Sends every read to the application, whatever the catalogue says."""
        return self._set(read_any=True)

    def completions(self) -> DefinitionBuilder:
        """Offers completion of arguments: `Invoke` with the call `complete`."""
        return self._set(completions=True)

    def logging(self) -> DefinitionBuilder:
        """Offers log messages."""
        return self._set(logging=True)

    def early_log_level(self, level: str) -> DefinitionBuilder:
        """The level at which a legacy session logs before it has set one. None by default: silence."""
        return self._set(early_log_level=level)

    def subscriptions(self) -> DefinitionBuilder:
        """Offers updates of single resources."""
        return self._set(subscriptions=True)

    def ask_subscriptions(self) -> DefinitionBuilder:
        """The same, and asks the application about each legacy subscription (`subscribe`, `unsubscribe`)."""
        return self._set(ask_subscriptions=True)

    def list_changed(self) -> DefinitionBuilder:
        """Says that lists may change while the server runs."""
        return self._set(list_changed=True)

    def dynamic(self, list: Literal["tools", "prompts", "resources", "templates"]) -> DefinitionBuilder:
        """Lets the application answer a list, for each request anew (`Invoke` with the call `list`)."""
        return self._add("dynamic", list)

    def method(self, name: str) -> DefinitionBuilder:
        """A custom request (`Invoke` with the call `raw`)."""
        return self._add("methods", name)

    def notification(self, name: str) -> DefinitionBuilder:
        """A custom notification (`Notified`)."""
        return self._add("notifications", name)

    def hand_over(self, method: str) -> DefinitionBuilder:
        """Hands a whole method of the protocol over, for a gateway (`Invoke` with the call `raw`)."""
        return self._add("hand_over", method)

    def hand_over_unknown(self) -> DefinitionBuilder:
        """Hands every unknown request and notification over, for a gateway."""
        return self._set(hand_over_unknown=True)

    def page_size(self, items: int) -> DefinitionBuilder:
        """Items in a page of a list, at least one. 50 by default."""
        return self._set(page_size=items)

    def cache(
        self,
        what: Literal["tools", "prompts", "resources", "templates", "read", "discover"],
        ttl_ms: int,
        scope: Literal["private", "public"] = "private",
    ) -> DefinitionBuilder:
        """How long a list, a read or the introduction may be cached, in milliseconds, and by whom. Not at all by
        default."""
        self._settings.setdefault("cache", {})[what] = {"ttl_ms": ttl_ms, "scope": scope}
        return self

    def versions(self, *versions: str) -> DefinitionBuilder:
        """The revisions offered. All by default."""
        return self._set(versions=list(versions))

    def seal(self, key: bytes, *accepted: bytes) -> DefinitionBuilder:
        """Seals the state of questions with a key of 32 secret bytes. Further keys open, but seal nothing."""
        return self._set(seal=[list(key), *(list(other) for other in accepted)])

    def audience(self, audience: str) -> DefinitionBuilder:
        """Who sealed states are meant for, such as the URL of this server."""
        return self._set(audience=audience)

    def limits(self, **bounds: int | None) -> DefinitionBuilder:
        """The bounds of the machines by name (`frame_bytes`, `in_flight`, `drain_ms`, …); `None` lifts one that may be
        lifted (`invocation_ms`, `sessions`, `session_idle_ms`, `listens`, `listens_per_principal`)."""
        self._settings.setdefault("limits", {}).update(bounds)
        return self

    def schema_limits(self, **bounds: int) -> DefinitionBuilder:
        """The bounds of schemas: `depth`, `subschemas`, `pattern_states`, `steps`, `value_depth`, `problems`."""
        self._settings.setdefault("schema_limits", {}).update(bounds)
        return self

    def extension(self, id: str, settings: _Json) -> DefinitionBuilder:
        """Offers an extension with its settings, an object."""
        self._settings.setdefault("extensions", {})[id] = settings
        return self

    def experimental(self, capabilities: _Json) -> DefinitionBuilder:
        """Experimental capabilities, an object."""
        return self._set(experimental=capabilities)

    def validate_output(self, on: bool) -> DefinitionBuilder:
        """Whether structured results are checked against output schemas. On by default."""
        return self._set(validate_output=on)

    def legacy_input(self, on: bool) -> DefinitionBuilder:
        """Whether questions of a handler become real requests on a legacy wire. On by default."""
        return self._set(legacy_input=on)

    def build(self) -> Definition:
        """Checks everything and writes out what never changes.

        Raises `MisuseError`: names that stand twice, schemas and templates that cannot be used, settings that cannot
        hold."""
        return Definition.from_settings(self._settings)


class Config(_Settings):
    """What a client is, what it can do, and how it behaves.

    `connect` is `auto` (probe, and fall back), `modern`, `legacy`, or one revision. `capabilities` is an object as the
    specification shapes it: declare only what the application answers. `idle` (60 s) is the longest silence of a call,
    `hard` (600 s) the longest that it may take, `probe` (5 s) how long a server may take to show its era; `None` is for
    ever. `limits` are bounds by name.
    """

    def __init__(
        self,
        name: str,
        version: str,
        *,
        title: str = _UNSET,
        description: str = _UNSET,
        website: str = _UNSET,
        icons: Sequence[_Json] = _UNSET,
        connect: str = "auto",
        versions: Sequence[str] = _UNSET,
        capabilities: _Json = _UNSET,
        apply_defaults: bool = _UNSET,
        cache: bool = _UNSET,
        drive_input: bool = _UNSET,
        send_client_info: bool = _UNSET,
        strict_capabilities: bool = _UNSET,
        validate_output: bool = _UNSET,
        log_level: str = _UNSET,
        meta: _Json = _UNSET,
        result_types: Sequence[str] = _UNSET,
        server_methods: Sequence[str] = _UNSET,
        idle: float | None = _UNSET,
        hard: float | None = _UNSET,
        probe: float = _UNSET,
        limits: Mapping[str, int | None] = _UNSET,
    ) -> None:
        settings = locals()
        settings.pop("__class__", None)
        super().__init__(_given(settings))


class HttpAddress(_Settings):
    """Where the server of an `HttpClient` is.

    `headers` are sent with every request, `authorization` is the value of that header. `ask_authorization` asks the
    application (`Unauthorized`) when the server wants credentials. `get_stream` opens the stream of a legacy session
    that carries what no request asked for; `deprecated_sse` looks for the transport of the first revision too.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Sequence[tuple[str, str]] = _UNSET,
        authorization: str = _UNSET,
        ask_authorization: bool = _UNSET,
        get_stream: bool = _UNSET,
        deprecated_sse: bool = _UNSET,
    ) -> None:
        settings = locals()
        settings.pop("__class__", None)
        super().__init__(_given(settings))


class ServiceOptions(_Settings):
    """What an HTTP server decides beside its definition.

    `hosts` and `origins` are `"loopback"` (the default), `"any"`, or a list of those that are welcome. `keep_alive`
    (15 s) is how long a stream may be silent and an answer may take before it becomes a stream; `None` is for ever.
    `stateless` serves legacy clients without sessions, `json_answers` answers every request with one JSON object,
    `replay` keeps what goes out on legacy streams (`True`, or `{"events": 1000, "bytes": 1048576, "retry": 1.0}`),
    `sse_pair` has the two paths of the transport of the first revision.
    """

    def __init__(
        self,
        *,
        hosts: Literal["loopback", "any"] | Sequence[str] = _UNSET,
        origins: Literal["loopback", "any"] | Sequence[str] = _UNSET,
        keep_alive: float | None = _UNSET,
        stateless: bool = _UNSET,
        json_answers: bool = _UNSET,
        replay: bool | Mapping[str, float] = _UNSET,
        sse_pair: tuple[str, str] = _UNSET,
    ) -> None:
        settings = locals()
        settings.pop("__class__", None)
        super().__init__(_given(settings))


# What is given above, as the core names it. Names that are none are left for it to refuse.


def client_settings(config: _Settings | bytes) -> dict[str, Any]:
    """Those of `Config`."""
    settings = _read(config)
    info: dict[str, Any] = {}
    for name in ("name", "version", "title", "description", "icons"):
        if name in settings:
            info[name] = settings.pop(name)
    if "website" in settings:
        info["websiteUrl"] = settings.pop("website")
    timeouts = {f"{name}_ms": _millis(settings.pop(name)) for name in ("idle", "hard", "probe") if name in settings}
    if "capabilities" in settings:
        settings["declared"] = settings.pop("capabilities")
    return {**settings, "info": info, "timeouts": timeouts}


def address_settings(endpoint: _Settings | bytes) -> dict[str, Any]:
    """Those of `HttpAddress`."""
    settings = _read(endpoint)
    # The core takes values of headers with one byte in each character.
    headers = [(name, value.encode().decode("latin-1")) for name, value in settings.get("headers", ())]
    if "authorization" in settings:
        settings["credentials"] = settings.pop("authorization")
    return {**settings, "headers": headers}


def service_settings(options: _Settings | bytes | None) -> dict[str, Any]:
    """Those of `ServiceOptions`."""
    settings = _read({} if options is None else options)
    for name in ("hosts", "origins"):
        welcome = settings.get(name)
        if welcome in ("any", "loopback"):
            settings[name] = {welcome: ()}
        elif welcome is not None:
            settings[name] = {"list": welcome}
    if "keep_alive" in settings:
        interval = settings.pop("keep_alive")
        settings.update({"no_keep_alive": True} if interval is None else {"keep_alive_ms": round(_millis(interval))})
    replay = settings.get("replay")
    if isinstance(replay, bool):
        settings["replay"] = {} if replay else None
    elif replay is not None:
        kept = dict(replay)
        if "retry" in kept:
            kept["retry_ms"] = round(_millis(kept.pop("retry")))
        settings["replay"] = kept
    return settings


def call_settings(given: dict[str, Any]) -> dict[str, Any] | None:
    """The options of a call."""
    if not given:
        return None
    settings = dict(given)
    progress = settings.pop("progress", None)
    if isinstance(progress, bool):
        settings["progress"] = progress
    elif progress is not None:
        settings["progress_token"] = progress
    for name in ("idle", "hard"):
        if name in settings:
            time = settings.pop(name)
            settings[f"{name}_ms"] = -1 if time is None else _millis(time)
    trace = [settings.pop(name, None) for name in ("traceparent", "tracestate", "baggage")]
    if any(part is not None for part in trace):
        settings["trace"] = trace
    return settings


def filter_settings(given: _Settings | bytes) -> Any:
    """What a listen call wants to hear, as the protocol shapes it."""
    settings = _read(given)
    if "wire" in settings:
        return settings["wire"]
    uris = settings.pop("uris", None)
    lists = {name: bool(settings.pop(name, False)) for name in ("tools", "prompts", "resources")}
    if settings:
        raise misuse(f"{next(iter(settings))!r} is nothing to listen to")
    return {
        **{f"{name}ListChanged": True for name, wanted in lists.items() if wanted},
        **({} if uris is None else {"resourceSubscriptions": uris}),
    }


def questions(given: _Settings | bytes) -> dict[str, Any]:
    """Questions of a handler, with times as the core has them."""
    settings = _read(given)
    timeouts = settings.get("timeouts")
    if isinstance(timeouts, dict):
        settings["timeouts"] = {key: _millis(time) for key, time in timeouts.items()}
    return settings
