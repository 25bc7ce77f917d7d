"""Pages of somebody else in the same browser, which would like to read or to drive the office."""

from __future__ import annotations

import contextlib
import http.server
import json
import shutil
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect, sync_playwright
from support import server
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve
from windows import FLAGS, Window, browser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page
    from support import Started

HOSTILE = """<!doctype html><title>hostile</title><script>
const ways = {
  socket: (url) => new Promise((resolve) => {
    const socket = new WebSocket(url.replace("http", "ws") + "ws");
    socket.onopen = () => resolve("open");
    socket.onerror = () => resolve("refused");
  }),
  read: (url) => fetch(url).then((answer) => answer.text(), () => "")
    .then((text) => text.includes("Office") ? "read" : "refused"),
  post: (url) => fetch(url + "ws", { method: "POST", mode: "no-cors", body: "{}" })
    .then((answer) => answer.type === "opaque" ? "opaque" : String(answer.status), () => "refused"),
  script: (url) => new Promise((resolve) => {
    const made = document.createElement("script");
    Object.assign(made, { onload: () => resolve("loaded"), onerror: () => resolve("refused"), src: url + "words.js" });
    document.head.append(made);
  }),
  module: (url) => import(url + "words.js").then(() => "loaded", () => "refused"),
  image: (url) => new Promise((resolve) => {
    Object.assign(new Image(), {
      onload: () => resolve("loaded"), onerror: () => resolve("refused"), src: url + "favicon.svg",
    });
  }),
  frame: (url) => new Promise((resolve) => {
    const made = document.createElement("iframe");
    made.onload = () => resolve(made.contentDocument ? "shown" : "refused");
    made.src = url;
    document.body.append(made);
  }),
};
window.attack = async (url) => Object.fromEntries(await Promise.all(
  Object.entries(ways).map(async ([name, way]) => [name, await way(url)])));
</script><body>hostile</body>"""


class Elsewhere(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(HOSTILE.encode())

    def log_message(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def elsewhere() -> Iterator[int]:
    """A page of somebody else on this machine; its port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield serving.server_address[1]
        finally:
            serving.shutdown()
            thread.join()


@contextlib.contextmanager
def mapped(*rules: str) -> Iterator[Browser]:
    """A browser whose names lead where the rules say, as after a rebinding."""
    with sync_playwright() as playwright:
        flags = [*FLAGS, f"--host-resolver-rules={', '.join(f'MAP {rule}' for rule in rules)}"]
        found = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        yield found
        found.close()


REFUSED = {
    "socket": "refused", "read": "refused", "script": "refused", "module": "refused", "image": "refused",
    "frame": "refused",
}  # fmt: skip


def attack(page: Page, url: str) -> dict[str, str]:
    told: dict[str, str] = page.evaluate("(url) => attack(url)", url)
    assert told.pop("post") in ("opaque", "refused", "400", "421")  # it goes out, and nothing comes of it
    return told


def test_a_page_of_another_origin_gets_nothing(tmp_path: Path) -> None:
    """Neither the socket, nor the page, nor a file of it, nor a frame round it; not even where it knows the token."""
    with server(tmp_path) as started, elsewhere() as port, browser() as found:
        before = seq(started.ws_url, started.token)
        for name in ("127.0.0.1", "localhost"):
            page = found.new_page()
            page.goto(f"http://{name}:{port}/#token={started.token}")
            assert attack(page, started.url) == REFUSED
        assert seq(started.ws_url, started.token) == before
        mine = Window(found, started)
        expect(mine.open().locator("#connection")).to_have_text("connected")


def test_a_name_that_was_made_to_lead_here_gets_nothing(tmp_path: Path) -> None:
    """DNS rebinding: for the browser the hostile page and the server are one origin, and still nothing is had."""
    with server(tmp_path) as started, mapped("rebound.test 127.0.0.1") as found:
        here = started.url.replace("127.0.0.1", "rebound.test")
        page = found.new_page()
        answer = page.goto(here)
        assert answer
        assert (answer.status, "Office" in answer.text()) == (421, False)
        page.route(f"{here}hostile", lambda route: route.fulfill(body=HOSTILE, content_type="text/html"))
        page.goto(f"{here}hostile")  # as it came before the name led here
        assert attack(page, here) == REFUSED
        assert attack(page, started.url) == REFUSED
        mine = Window(found, started)
        expect(mine.open().locator("#connection")).to_have_text("connected")


def test_a_forwarded_port_that_was_allowed_works_also_without_https(tmp_path: Path) -> None:
    """As with a tunnel: under another name, where a browser keeps back what it has for https only."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    origin = f"http://office.test:{port}"
    with (
        server(tmp_path, "--port", str(port), "--allow-origin", origin) as started,
        mapped("*.test 127.0.0.1") as found,
    ):
        page = found.new_page()
        page.goto(f"{origin}/#token={started.token}")
        expect(page.locator("#connection")).to_have_text("connected")
        assert page.evaluate("isSecureContext") is False
        answer = page.goto(f"http://rebound.test:{port}/")
        assert answer
        assert answer.status == 421


def told_nothing(_: Started, asked: str) -> str:
    return json.dumps({"type": "proof", "proofs": ["0" * 64]})


def told_lies(_: Started, asked: str) -> str:
    return json.dumps({"type": "welcome", "protocol": 1, "scope": "operator", "seq": 0, "time": 0, "snapshot": {}})


def told_what_the_real_one_says(real: Started, asked: str) -> str:
    """A go-between, which asks the real one at another port for what it is to prove."""
    with connect(real.url.replace("http", "ws") + asked.lstrip("/"), max_size=None) as found:
        return str(found.recv(timeout=10))


@contextlib.contextmanager
def false_server(port: int, real: Started, answer: Any) -> Iterator[list[str]]:
    """Another program where the page looks for the office; what it was told, line by line."""
    heard: list[str] = []

    def hear(connection: ServerConnection) -> None:
        assert connection.request
        heard.append(connection.request.path)
        with contextlib.suppress(ConnectionClosed):
            connection.send(answer(real, connection.request.path))
            for said in connection:
                heard.append(str(said))

    with serve(hear, "127.0.0.1", port, max_size=None) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        try:
            yield heard
        finally:
            serving.shutdown()
            thread.join()


@pytest.mark.parametrize("answer", [told_nothing, told_lies, told_what_the_real_one_says])
def test_a_program_in_the_place_of_the_server_is_not_given_the_token(tmp_path: Path, answer: Any) -> None:
    """While the office is stopped, or at another port, anybody of this machine can take its place; the page doubts it,
    says so, and is there again with the real one."""
    with browser() as found:
        page = found.new_page()
        with server(tmp_path) as started:
            page.goto(f"{started.url}#token={started.token}")
            expect(page.locator("#connection")).to_have_text("connected")
            port = int(started.url.rsplit(":", 1)[1].strip("/"))
        with server(tmp_path) as real, false_server(port, real, answer) as heard:
            assert real.token == started.token
            expect(page.locator("#signed-out")).to_be_visible(timeout=30_000)
        assert heard
        assert not [said for said in heard if started.token in said or "hello" in said]
        with server(tmp_path, "--port", str(port)):
            expect(page.locator("#connection")).to_have_text("connected", timeout=30_000)
            expect(page.locator("#signed-out")).to_be_hidden()


def test_the_page_cannot_be_made_to_run_what_it_is_given(tmp_path: Path) -> None:
    """CSP and trusted types hold in a real browser: no inline script, no handler, no markup out of a string."""
    with server(tmp_path) as started, browser() as found:
        page = found.new_page()
        page.goto(f"{started.url}#token={started.token}")
        expect(page.locator("#connection")).to_have_text("connected")
        page.evaluate(
            """() => {
              const tries = [
                () => { document.body.innerHTML = "<img src=x onerror='ran = 1'>"; },
                () => { document.body.insertAdjacentHTML("beforeend", "<b>x</b>"); },
                () => { document.write("<b>x</b>"); },
                () => { trustedTypes.createPolicy("default", { createHTML: (text) => text }); },
                () => { document.body.append(Object.assign(document.createElement("script"), { text: "ran = 1" })); },
                () => { document.body.setAttribute("onclick", "ran = 1"); document.body.click(); },
              ];
              window.failed = tries.map((attempt) => {
                try { attempt(); return ""; } catch (error) { return error.name; }
              });
            }"""
        )
        assert page.evaluate("failed.slice(0, 5)") == ["TypeError"] * 5
        assert page.evaluate("typeof ran") == "undefined"
        assert page.locator("body b, body img[src=x]").count() == 0


def seq(ws_url: str, token: str) -> int:
    with connect(ws_url, max_size=None) as found:
        found.send(json.dumps({"type": "hello", "token": token}))
        return int(json.loads(found.recv(timeout=10))["seq"])
