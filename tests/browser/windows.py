"""Chromium, and windows that may not complain and may talk to nobody but the server."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page
    from support import Started

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
LOOK = "() => { if (!window.page) return false; const { office, state } = window.page; return %s; }"
IMPORT = "addEventListener('load', () => import('/main.js').then((page) => { window.page = page; }))"


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    assert program, "Chromium is missing: install it (Debian: apt-get install chromium)."
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield found
        found.close()


class Window:
    """A page, with all its complaints."""

    def __init__(self, found: Browser, started: Started, **options: Any) -> None:
        self.page: Page = found.new_context(**options).new_page()
        self.page.add_init_script(IMPORT)
        self.started = started
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("console", self._console)
        self.page.on("request", self._request)
        self.page.on("requestfailed", self._failed)

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning") and "WebSocket connection" not in message.text:
            self.complaints.append(f"console: {message.text}")

    def _failed(self, request: Any) -> None:
        if request.failure != "net::ERR_ABORTED":  # a reload breaks off what was still on its way
            self.complaints.append(f"failed: {request.url} {request.failure}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.started.url, "data:", "blob:")):
            self.complaints.append(f"request: {request.url}")

    def open(self, token: str | None = None) -> Page:
        self.page.goto(f"{self.started.url}?hour=11#token={token or self.started.token}")
        return self.page

    def scene(self, what: str) -> Any:
        """A look into the running page: `office` is the view, `state` what is known."""
        self.page.wait_for_function("() => window.page")
        return self.page.evaluate(LOOK % what)

    def until(self, what: str, timeout: float = 20_000) -> None:
        """Wait until something is so in the running page."""
        self.page.wait_for_function(LOOK % what, timeout=timeout)

    def people(self) -> dict[str, dict[str, Any]]:
        """Everybody by name, as they are drawn."""
        return {one["name"]: one for one in self.scene("office.scene.actors")}
