"""The page in a real browser, against a real server with real (fake) agents."""

from __future__ import annotations

import contextlib
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect, sync_playwright
from support import ROOT, Started, server, toml_file

from supervisor import events as e

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    assert program, "Chromium is missing: install it (Debian: apt-get install chromium)."
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield found
        found.close()


class Window:
    """A page that may not complain, and may talk to nobody but the server."""

    def __init__(self, found: Browser, started: Started, **options: Any) -> None:
        self.page: Page = found.new_context(**options).new_page()
        self.started = started
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("console", self._console)
        self.page.on("request", self._request)

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning") and "WebSocket connection" not in message.text:
            self.complaints.append(f"console: {message.text}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.started.url, "data:")):
            self.complaints.append(f"request: {request.url}")

    def open(self, token: str | None = None) -> Page:
        self.page.goto(f"{self.started.url}#token={token or self.started.token}")
        return self.page


def test_press_auto_watch_and_see_why_it_ended(tmp_path: Path) -> None:
    """A5, A8, A9: the words of both appear, the countdown runs, and the end is told in words."""
    with server(tmp_path, FAKE_CLI_SPEED="4000", FAKE_CLI_THINK="0") as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        expect(page.locator("#connection")).to_have_text("connected")
        expect(page.locator("#nobody")).to_be_visible()
        page.fill("#wish", "Is maths discovered or invented?")
        page.click("#toggle")
        expect(page.locator("#toggle")).to_have_text("■ Stop")
        expect(page.locator("#topic")).to_have_text("Is maths discovered or invented?")
        expect(page.locator(".person .name")).to_have_text(["Ada", "Bo"])
        expect(page.locator("#progress")).to_contain_text(re.compile(r"\d:\d\d left · turn \d"))
        expect(page.locator(".message.agent:not(.live)").first).to_be_visible(timeout=20_000)
        page.hover(".person >> nth=0")
        expect(page.locator(".person .last").first).to_be_visible()
        expect(page.locator("#end")).to_contain_text("They agree", timeout=60_000)
        expect(page.locator("#toggle")).to_have_text("▶ Auto")
        page.reload()
        expect(page.locator("#end")).to_contain_text("They agree")
        assert "CONVERSATION_END" not in page.content()
        assert window.complaints == []


def test_two_windows_a_reload_and_a_stop_from_the_other_one(tmp_path: Path) -> None:
    """A8: both follow the server, and so does one that comes late."""
    with server(tmp_path, "--auto", "--seed", "3", FAKE_CLI_THINK="30") as started, browser() as found:
        first, second = Window(found, started), Window(found, started)
        for window in (first, second):
            expect(window.open().locator("#toggle")).to_have_text("■ Stop")
        second.page.reload()
        expect(second.page.locator("#toggle")).to_have_text("■ Stop")
        second.page.keyboard.press("Escape")
        for window in (first, second):
            expect(window.page.locator("#toggle")).to_have_text("▶ Auto")
            expect(window.page.locator("#end")).to_contain_text("Stopped")
        assert first.complaints + second.complaints == []


def test_an_old_tab_comes_back_after_the_server_was_started_again(tmp_path: Path) -> None:
    """It reconnects by itself with the same token and misses nothing."""
    with browser() as found:
        with server(tmp_path, "--auto", "--seed", "3", FAKE_CLI_SPEED="4000", FAKE_CLI_THINK="0.2") as started:
            window = Window(found, started)
            page = window.open()
            expect(page.locator(".message.agent:not(.live)").first).to_be_visible(timeout=20_000)
        expect(page.locator("#connection")).to_have_text("reconnecting")
        port = started.url.rstrip("/").rpartition(":")[2]
        with server(tmp_path, "--port", port, FAKE_CLI_SPEED="4000", FAKE_CLI_THINK="0"):
            expect(page.locator("#connection")).to_have_text("connected", timeout=20_000)
            expect(page.locator("#end")).to_contain_text("They agree", timeout=60_000)
            said = page.locator(".message.agent .words").all_inner_texts()
            page.reload()
            expect(page.locator(".message.agent .words")).to_have_text(said)
        assert [c for c in window.complaints if "net::ERR" not in c] == []


def test_a_wrong_token_and_a_viewer(tmp_path: Path) -> None:
    """Signed out with advice; a viewer sees everything and can press nothing."""
    with server(tmp_path) as started, browser() as found:
        page = Window(found, started).open("wrong")
        expect(page.locator("#signed-out")).to_be_visible()
        page = Window(found, started).open(started.view_token)
        expect(page.locator("#connection")).to_have_text("connected")
        expect(page.locator("#toggle")).to_be_disabled()


def test_hostile_words_are_only_words(tmp_path: Path) -> None:
    """Markup, marks of direction, emoji and 100 kB."""
    words = (
        "<img src=x onerror=alert(1)> <script>alert(2)</script> \\u202e right to left \\U0001F600 " + "long " * 20_000
    )
    scenario = toml_file(tmp_path / "s.toml", f'[[turn]]\nsay = "{words}"\n[[turn]]\nsteps = [ {{ silence = true }} ]')
    with server(tmp_path, "--auto", FAKE_CLI_SCENARIO=str(scenario), FAKE_CLI_SPEED="0") as started, browser() as found:
        window = Window(found, started, viewport={"width": 360, "height": 780})
        page = window.open()
        expect(page.locator(".message.agent .words").first).to_contain_text("<img src=x onerror=alert(1)>")
        assert page.locator(".words img, .words script").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert window.complaints == []


def test_the_page_knows_every_event() -> None:
    """Each wire name has its case."""
    source = (ROOT / "office_view" / "state.js").read_text()
    kinds = [*e.AnyEvent.__args__, e.TextDelta, e.Status]
    for kind in kinds:
        assert f'case "{kind.__struct_config__.tag}":' in source


@pytest.mark.parametrize("path", sorted((ROOT / "office_view").glob("*.js")), ids=lambda path: path.name)
def test_what_was_said_is_never_markup(path: Path) -> None:
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", path.read_text())
