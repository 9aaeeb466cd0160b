"""The objects of HTTP: a client and a server in memory, both eras, and what is refused."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
from mcp_sansio import (
    Abort,
    Config,
    Connected,
    DefinitionBuilder,
    Done,
    Endpoint,
    HttpAddress,
    HttpClient,
    Intake,
    Invoke,
    Listening,
    MisuseError,
    Notified,
    Progressed,
    Request,
    Respond,
    Service,
    ServiceOptions,
    SessionRequest,
    Unauthorized,
)
from web import Browser, Site

JSON = [("content-type", "application/json"), ("accept", "application/json, text/event-stream"), ("host", "localhost")]


def definition() -> Any:
    builder = DefinitionBuilder("s", "1").list_changed().subscriptions()
    return builder.tool("echo").tool("slow").resource("file:///a").build()


def serve(machine: Any, invoke: Invoke) -> None:
    assert invoke.data == {"from": "judge"} or invoke.data is None
    if invoke.call == "tool" and invoke.name == "slow":
        machine.progress(invoke, 1, 2, now=0)
    machine.reply(invoke, "hi" if invoke.call == "tool" else None, now=0)


def pair(connect: str, **options: Any) -> Browser:
    site = Site(Service(definition(), ServiceOptions(**options)), serve, lambda: 0.0)
    client = HttpClient(Config("c", "1", connect=connect), HttpAddress("http://localhost/mcp"))
    browser = Browser(client, site)
    client.connect(0)
    assert any(isinstance(said, Connected) for said in browser.run())
    return browser


@pytest.mark.parametrize("connect", ["modern", "auto", "legacy", "2025-03-26"])
@pytest.mark.parametrize("options", [{}, {"stateless": True}, {"json_answers": True}, {"replay": True}])
def test_a_tool_is_called(connect: str, options: dict[str, Any]) -> None:
    browser = pair(connect, **options)
    has_session = connect in ("legacy", "2025-03-26") and "stateless" not in options
    assert (browser.client.session_id is not None) == has_session
    call = browser.client.call(Request.call_tool("echo"), now=0)
    match browser.run():
        case [Done(same, {"content": [{"text": "hi"}]}, None)]:
            assert same == call
        case other:
            pytest.fail(str(other))
    browser.client.call(Request.call_tool("slow"), progress=True, now=0)
    *progress, done = browser.run()
    assert isinstance(done, Done) and done.error is None
    silent = "json_answers" in options or ("stateless" in options and connect not in ("modern", "auto"))
    assert len(progress) == (0 if silent else 1)
    assert all(isinstance(said, Progressed) for said in progress)


def test_what_has_changed_is_heard_in_both_eras() -> None:
    modern, legacy = pair("modern"), pair("legacy")
    legacy.site = modern.site
    legacy.client = HttpClient(Config("c", "1", connect="legacy"), HttpAddress("http://localhost/mcp"))
    legacy.client.connect(0)
    legacy.run()
    modern.client.listen({"tools": True}, now=0)
    (listening,) = modern.run()
    assert isinstance(listening, Listening)
    (session,) = modern.site.endpoint.sessions()
    session.publish("tools", now=0)
    modern.site.pump(session)
    for browser in (modern, legacy):
        (notified,) = browser.run()
        assert isinstance(notified, Notified) and notified.method.endswith("tools/list_changed")


def test_a_session_ends_with_its_client() -> None:
    browser = pair("legacy")
    (session,) = browser.site.endpoint.sessions()
    assert session.id == browser.client.session_id
    assert session == browser.site.endpoint.sessions()[0] and hash(session) == hash(browser.site.endpoint.sessions()[0])
    browser.client.close(now=0)
    browser.run()
    assert browser.site.endpoint.sessions() == [] and session.is_closed


def test_heads_are_judged_before_bodies() -> None:
    service = Service(definition())
    judged = service.judge("POST", "/mcp", [*JSON[:2], ("host", "evil.example")])
    assert isinstance(judged, Respond) and judged.status == 403 and judged.body and judged.remark
    judged = service.judge("PUT", "/mcp", JSON)
    assert isinstance(judged, Respond) and judged.status == 405 and ("allow", "GET, POST, DELETE") in judged.headers
    intake = service.judge("POST", "/mcp", [(b"Content-Type", b"application/json"), *JSON[1:]])
    assert isinstance(intake, Intake) and intake.remaining == 4 << 20
    assert intake.push(b"{") is None and intake.remaining == (4 << 20) - 1
    assert isinstance(intake.finish(), Respond)
    for again in (intake.finish, intake.give_up, intake.broken, lambda: intake.push(b"x")):
        with pytest.raises(MisuseError, match="used before"):
            again()


def test_a_request_of_a_session_is_used_once() -> None:
    service = Service(definition())
    endpoint = Endpoint(service)
    request = service.judge("DELETE", "/mcp", [*JSON, ("mcp-session-id", "x")])
    assert isinstance(request, SessionRequest)
    assert isinstance(endpoint.admit(request), Respond)
    with pytest.raises(MisuseError, match="used before"):
        endpoint.admit(request)


def test_functions_decide_and_those_that_fail_welcome_nobody() -> None:
    asked = []

    def hosts(host: str) -> bool:
        asked.append(host)
        return host == "friend"

    service = Service(definition(), hosts=hosts)
    for host, welcome in (("friend", True), ("foe", False)):
        assert isinstance(service.judge("POST", "/", [*JSON[:2], ("host", host)]), Intake) == welcome
    assert asked == ["friend", "foe"]
    with _quiet():
        service = Service(definition(), origins=lambda _: 1 // 0 == 0)
        judged = service.judge("POST", "/", [*JSON, ("origin", "http://a")])
    assert isinstance(judged, Respond) and judged.status == 403


class _quiet:
    """Does not show what a function raised that nobody can catch."""

    def __enter__(self) -> None:
        self.hook, sys.unraisablehook = sys.unraisablehook, lambda _: None

    def __exit__(self, *_: object) -> None:
        sys.unraisablehook = self.hook


def test_reentrant_use_and_use_from_two_threads_are_refused() -> None:
    """`owner` is asked within `admit`: whoever calls the endpoint from there, or meanwhile, is told."""
    told: list[str] = []
    endpoint: Any = None

    def elsewhere() -> None:
        try:
            endpoint.sessions()
        except MisuseError as error:
            told.append(str(error))

    def owner(*_: Any) -> bool:
        elsewhere()
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
        return True

    service = Service(definition(), owner=owner, any_thread=True)
    site = Site(service, serve, lambda: 0.0)
    endpoint = site.endpoint
    browser = Browser(HttpClient(Config("c", "1", connect="legacy"), HttpAddress("http://localhost/mcp")), site)
    browser.client.connect(0)
    browser.run()
    assert len(told) >= 2 and all("in use" in text for text in told)
    browser.client.call(Request.call_tool("echo"), now=0)
    (done,) = browser.run()
    assert done.error is None


def test_credentials_are_asked_for() -> None:
    address = HttpAddress("http://localhost/mcp", ask_authorization=True, headers=[("x-a", "1")])
    client = HttpClient(Config("c", "1"), address)
    client.connect(0)
    fetch: Any = client.poll()
    assert fetch.method == "POST" and ("x-a", b"1") in fetch.headers
    client.handle_head(fetch.id, 401, [("WWW-Authenticate", "Bearer")], now=0)
    aborted, asked = client.poll(), client.poll()
    assert isinstance(aborted, Abort) and aborted.fetch == fetch.id
    assert isinstance(asked, Unauthorized) and asked.www_authenticate == [b"Bearer"]
    client.authorize(asked.fetch, "Bearer t", now=0)
    fetch = client.poll()
    assert ("authorization", b"Bearer t") in fetch.headers
    client.handle_failed(fetch.id, "no route", sent=False, now=0)
    closed: Any = client.poll()
    assert closed.kind == "closed" and closed.reason == "not_connected" and closed.error.blame == "peer_incompatible"


def test_what_is_given_along_reaches_the_handler() -> None:
    seen: list[Invoke] = []
    service = Service(definition(), ServiceOptions(stateless=True))
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}'
    intake: Any = service.judge("POST", "/mcp", JSON, principal="ada", data={"from": "judge"})
    intake.push(body)
    exchange = intake.finish(now=0)
    action = exchange.poll()
    assert isinstance(action, Invoke)
    seen.append(action)
    assert seen[0].principal == "ada" and seen[0].data == {"from": "judge"} and not seen[0].can_ask
    exchange.reply(action, "x")
    assert exchange.poll().status == 200 and exchange.is_closed
