"""The page in a real browser, against a real server with real (fake) agents."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from support import ROOT, eventually_sync, server, toml_file, turns
from windows import Window, browser

from supervisor import events as e

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

QUICK = {"FAKE_CLI_SPEED": "4000", "FAKE_CLI_THINK": "0"}
SLOW = {"FAKE_CLI_THINK": "30"}
MATHS = "Is maths discovered or invented?"
TOGETHER = (
    "(([a, b]) => a && b && !a.walking && !b.walking && "
    "Math.abs(a.left - b.left) + Math.abs(a.foot - b.foot) < 40)(office.scene.actors)"
)


def press_auto(page: Page, topic: str = MATHS, **fields: str) -> None:
    page.click("#toggle")
    page.fill("#auto-topic", topic)
    for name, value in fields.items():
        page.fill(f"#auto-{name}", value)
    page.click("#auto-start")
    expect(page.locator("#toggle")).to_have_text("■ Stop")


def test_press_auto_and_see_them_meet_speak_and_agree(tmp_path: Path) -> None:
    """A5, A8, A9, B1, B3, B5, B8: in by the door, over to the other, face to face, real words, back to their seats."""
    with server(tmp_path, FAKE_CLI_SPEED="300", FAKE_CLI_THINK="0.2") as started, browser() as found:
        window = Window(found, started, viewport={"width": 1280, "height": 800})
        page = window.open()
        expect(page.locator("#connection")).to_have_text("connected")
        expect(page.locator("#empty")).to_be_visible()
        press_auto(page)
        expect(page.locator("#topic")).to_have_text(MATHS)
        expect(page.locator("#progress")).to_contain_text(re.compile(r"\d:\d\d left · turn \d"))
        window.until("office.scene.actors.length === 2")
        assert set(window.people()) == {"Ada", "Bo"}
        window.until(TOGETHER, 30_000)
        ada, bo = (window.people()[name] for name in ("Ada", "Bo"))
        across = {"left": "right", "right": "left", "up": "down", "down": "up"}
        assert ada["facing"] == across[bo["facing"]]
        window.until("office.scene.words.size > 0")
        said = window.scene("[...office.scene.words.values()].at(-1).text")
        assert said[:40] in " ".join(page.locator(".message .words").all_text_contents())
        expect(page.locator("#why")).to_contain_text("They agree", timeout=90_000)
        expect(page.locator("#toggle")).to_have_text("▶ Auto")
        window.until("office.scene.actors.every((one) => one.sits && !one.walking)")
        page.reload()
        expect(page.locator("#why")).to_contain_text("They agree")
        assert "CONVERSATION_END" not in (page.locator("#messages").text_content() or "")
        assert window.complaints == []


def test_what_is_wrong_is_shown_also_before_the_welcome(tmp_path: Path) -> None:
    """A page that is opened while nothing can be saved says why it stays empty, and goes on when it is welcomed."""
    trouble = json.dumps({"type": "status", "level": "error", "message": "the database cannot be written"})
    with server(tmp_path, **QUICK) as started, browser() as found:
        window = Window(found, started)
        held: list[Any] = []

        def hold(route: Any) -> None:
            def to_the_page(text: str) -> None:
                if json.loads(text)["type"] == "welcome":
                    held.append(text)
                    route.send(trouble)
                else:
                    route.send(text)

            route.connect_to_server().on_message(to_the_page)
            held.append(route)

        window.page.route_web_socket(re.compile("/ws"), hold)
        page = window.open()
        expect(page.locator("#toast")).to_have_text("the database cannot be written")
        expect(page.locator("#connection")).to_have_text("connecting")
        route, welcome = held
        route.send(welcome)
        expect(page.locator("#connection")).to_have_text("connected")
        expect(page.locator("#empty")).to_be_visible()
        assert window.complaints == []


def test_hover_select_and_the_inspector(tmp_path: Path) -> None:
    """A5: the last message on hover; state, task, backend, tokens, CPU, memory, uptime when selected; keys too."""
    with server(tmp_path, "--auto", "--topic", MATHS, **QUICK) as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        expect(page.locator("#why")).to_contain_text("They agree", timeout=60_000)
        window.until("office.scene.actors.every((one) => one.sits && !one.walking)")
        box = window.scene("office.scene.hits.find((hit) => hit.agent === 'agent_001')")
        page.locator("#canvas").hover(position={"x": box["left"] + 12, "y": box["top"] + 24})
        expect(page.locator("#hover")).to_be_visible()
        last = window.scene("state.agents.get('agent_001').last_message")
        expect(page.locator("#hover .last")).to_have_text(last)
        page.locator("#canvas").click(position={"x": box["left"] + 12, "y": box["top"] + 24})
        inspector = page.locator("#inspector")
        expect(inspector.locator("h2")).to_have_text("Ada")
        expect(inspector).to_contain_text(re.compile(r"Memory\s*\d+\.\d MB"), timeout=10_000)
        expect(inspector.locator(".last")).to_have_text(last)
        page.keyboard.press("Escape")
        expect(inspector).to_be_hidden()
        page.locator("#canvas").focus()
        zoom = window.scene("office.camera.zoom")
        page.keyboard.press("+")
        assert window.scene("office.camera.zoom") > zoom
        page.keyboard.press("0")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(inspector.locator("h2")).to_have_text("Bo")
        page.locator("#inspector").get_by_role("button", name="Remove").click()
        page.click("#confirm-yes")
        window.until("!state.agents.has('agent_002') && state.leaving.has('agent_002')")
        expect(inspector).to_be_hidden()
        assert window.complaints == []


def test_from_a_message_to_the_line_it_came_from(tmp_path: Path) -> None:
    """The raw transcript line, and from a bubble to its message."""
    options = {"FAKE_CLI_SPEED": "0", "FAKE_CLI_THINK": "4"}
    with server(tmp_path, "--auto", "--topic", MATHS, **options) as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        message = page.locator(".message.agent:not(.live)").first
        expect(message).to_be_visible(timeout=20_000)
        window.until("office.scene.hits.some((hit) => hit.message)")
        box = window.scene("office.scene.hits.find((hit) => hit.message)")
        page.locator("#canvas").click(position={"x": box["left"] + 8, "y": box["top"] + 8})
        expect(page.locator(".message.marked")).to_be_visible()
        message.hover()
        message.get_by_role("button", name="transcript line").click()
        expect(page.locator("#source-line")).to_contain_text('"type": "assistant"')
        line = json.loads(page.locator("#source-line").inner_text())
        assert line["message"]["content"][0]["text"] in (message.locator(".words").text_content() or "")
        assert window.complaints == []


def test_add_somebody_and_what_is_refused(tmp_path: Path) -> None:
    with server(tmp_path) as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        for name, problem in (("A b", "cannot be mentioned"), ("Zoe", "")):
            page.click("#menu summary")
            page.click("#add")
            page.fill("#spawn-name", name)
            page.fill("#spawn-role", "helper")
            page.select_option("#spawn-place", label="at the coffee machine")
            page.locator("#spawn .primary").click()
            if problem:
                expect(page.locator("#spawn-problem")).to_contain_text(problem)
                page.locator("#spawn").get_by_role("button", name="Cancel").click()
        window.until("office.scene.actors.some((one) => one.name === 'Zoe')")
        assert window.complaints == []


def test_two_windows_a_reload_and_a_stop_from_the_other_one(tmp_path: Path) -> None:
    """A8, B6: both follow the server and show everybody at the same place, and so does one that comes late."""
    with server(tmp_path, "--auto", "--seed", "3", **SLOW) as started, browser() as found:
        first, second = Window(found, started), Window(found, started)
        for window in (first, second):
            expect(window.open().locator("#toggle")).to_have_text("■ Stop")
        second.page.reload()
        expect(second.page.locator("#toggle")).to_have_text("■ Stop")
        seats = []
        for window in (first, second):
            window.until("office.scene.actors.length === 2 && office.scene.actors.every((one) => one.sits)")
            seats.append({name: (one["left"], one["top"]) for name, one in window.people().items()})
        assert seats[0] == seats[1]
        second.page.keyboard.press("Escape")
        for window in (first, second):
            expect(window.page.locator("#toggle")).to_have_text("▶ Auto")
            expect(window.page.locator("#why")).to_contain_text("Stopped")
        assert first.complaints + second.complaints == []


def test_a_late_viewer_sees_a_walk_where_it_is(tmp_path: Path) -> None:
    """B6: in mid-walk two windows agree to within a step."""
    with server(tmp_path, "--auto", "--seed", "3", **SLOW) as started, browser() as found:
        first, second = Window(found, started), Window(found, started)
        first.open()
        first.until("office.scene.actors.length === 2 && office.scene.actors.every((one) => one.sits)")
        second.open()
        second.until("office.scene.actors.length === 2")
        move = {"type": "move_agent", "agent_id": "agent_002", "position": {"x": 14, "y": 15}}
        first.page.evaluate(
            """async (move) => { const socket = new WebSocket(location.origin.replace("http", "ws") + "/ws");
            await new Promise((done) => { socket.onopen = done; });
            socket.send(JSON.stringify({ type: "hello", token: sessionStorage.getItem("token") }));
            socket.send(JSON.stringify(move)); }""",
            move,
        )
        for window in (first, second):
            window.until("office.scene.actors.some((one) => one.walking)")
        late = Window(found, started)
        late.open()
        late.until("office.scene.actors.some((one) => one.walking)")
        here, there = (window.people()["Bo"] for window in (late, first))
        assert abs(here["left"] - there["left"]) + abs(here["foot"] - there["foot"]) < 64


def test_an_old_tab_comes_back_after_the_server_was_killed_and_started_again(tmp_path: Path) -> None:
    """It reconnects by itself with the same token and misses nothing."""
    with browser() as found:
        with server(tmp_path, "--auto", "--seed", "3", FAKE_CLI_SPEED="4000", FAKE_CLI_THINK="0.2") as started:
            window = Window(found, started)
            page = window.open()
            expect(page.locator(".message.agent:not(.live)").first).to_be_visible(timeout=20_000)
            os.kill(started.process.pid, signal.SIGKILL)
            eventually_sync(lambda: started.process.poll() is not None)
        expect(page.locator("#connection")).to_have_text("reconnecting")
        port = started.url.rstrip("/").rpartition(":")[2]
        with server(tmp_path, "--port", port, **QUICK):
            expect(page.locator("#connection")).to_have_text("connected", timeout=20_000)
            expect(page.locator("#why")).to_contain_text("They agree", timeout=60_000)
            said = page.locator(".message.agent:not(.live) .words").all_text_contents()
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
        expect(page.locator("#empty")).to_be_hidden()


def test_hostile_words_are_only_words_also_on_a_phone(tmp_path: Path) -> None:
    """Markup, marks of direction, emoji and 100 kB; nothing is wider than the screen."""
    words = (
        "<img src=x onerror=alert(1)> <script>alert(2)</script> \\u202e right to left \\U0001F600 " + "long " * 20_000
    )
    scenario = toml_file(tmp_path / "s.toml", turns(f'{{ wait = 4 }}, {{ text = "{words}" }}', after="silence"))
    with server(tmp_path, "--auto", FAKE_CLI_SCENARIO=str(scenario), FAKE_CLI_SPEED="0") as started, browser() as found:
        window = Window(found, started, viewport={"width": 360, "height": 780}, has_touch=True, is_mobile=True)
        page = window.open()
        said = page.locator(".message.agent .words").first
        expect(said).to_contain_text("<img src=x onerror=alert(1)>", timeout=20_000)
        assert page.locator(".words img, .words script, #hover img").count() == 0
        window.until("office.scene.placed?.length > 0")
        box = window.scene("office.scene.placed[0]")
        assert 0 <= box["left"] < box["left"] + box["width"] <= 360
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        expect(page.locator("#toggle")).to_be_in_viewport()
        page.locator("#sheet").click()
        expect(page.locator("#messages")).to_be_in_viewport(ratio=0.5)
        assert window.complaints == []


def test_reduced_motion_and_when_nothing_moves_nothing_is_drawn(tmp_path: Path) -> None:
    """People are at their places at once; after that not a frame is drawn until something happens."""
    with server(tmp_path, "--auto", "--seed", "3", **SLOW) as started, browser() as found:
        window = Window(found, started, reduced_motion="reduce")
        page = window.open()
        window.until("office.scene.actors.length === 2 && office.scene.actors.every((one) => one.sits)", 5000)
        page.wait_for_timeout(500)
        before = window.scene("office.frames")
        page.wait_for_timeout(1500)
        assert window.scene("office.frames") == before
        page.keyboard.press("Escape")
        expect(page.locator("#toggle")).to_have_text("▶ Auto")
        assert window.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_finding_of_an_accessibility_check(tmp_path: Path, scheme: Any) -> None:
    """axe-core over the page at work, with somebody selected, with each dialog, and signed out."""
    with server(tmp_path, "--auto", "--topic", MATHS, "--duration", "8", **QUICK) as started, browser() as found:
        window = Window(found, started, color_scheme=scheme)
        page = window.open()
        expect(page.locator("#why")).not_to_be_empty(timeout=30_000)
        findings = serious(page)
        page.locator("#people button").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#inspector")).to_be_visible()
        page.wait_for_timeout(300)  # the panel has slid in
        findings += serious(page)
        page.click("#toggle")
        page.locator("#auto details summary").click()
        findings += serious(page)
        page.keyboard.press("Escape")
        page.click("#menu summary")
        findings += serious(page)
        other = Window(found, started, color_scheme=scheme).open("wrong")
        expect(other.locator("#signed-out")).to_be_visible()
        findings += serious(other)
        assert findings == []


def serious(page: Page) -> list[str]:
    results = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in results
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("where", ["node", "browser"])
def test_the_pure_parts_of_the_page(where: str, tmp_path: Path) -> None:
    """Under node where there is one, and in the browser."""
    if where == "node" and shutil.which("node"):
        done = subprocess.run(["node", "tests/page/run.js"], cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
    elif where == "browser":
        with browser() as found:
            page = found.new_page()
            page.route("http://page.test/**", serve)
            page.goto("http://page.test/")
            told = page.evaluate(
                "async () => { await import('/tests/page/checks.js'); "
                "const { run } = await import('/tests/page/check.js'); return run(); }"
            )
            assert told[:-1] == []
            assert re.fullmatch(r"\d\d passed, 0 failed", told[-1])


def serve(route: Any) -> None:
    """Files of the project, for a page that is nowhere."""
    path = ROOT / route.request.url.removeprefix("http://page.test/")
    if path.suffix == ".js" and path.is_file():
        route.fulfill(body=path.read_text(), content_type="text/javascript")
    else:
        route.fulfill(body="<!doctype html><title>checks</title>", content_type="text/html")


def test_the_page_knows_every_event() -> None:
    """Each wire name has its case."""
    source = (ROOT / "office_view" / "state.js").read_text()
    kinds = [*e.AnyEvent.__args__, e.TextDelta, e.Status]
    for kind in kinds:
        assert f'case "{kind.__struct_config__.tag}":' in source


def test_every_thing_of_a_plan_is_drawn() -> None:
    """At least thirty different things, and none that the page does not know."""
    from supervisor.core.office.plan import KINDS

    source = (ROOT / "office_view" / "office" / "place.js").read_text()
    for kind in KINDS.values():
        assert kind.name in ("wall", "wood", "tiles", "carpet", "rug") or f'"{kind.name}"' in source, kind.name
    files = (ROOT / "office_view" / "art").glob("*.js")
    maps = [name for file in files for name in re.findall(r"^export const (\w+) = `", file.read_text(), re.MULTILINE)]
    assert len([name for name in maps if not name.startswith("table_")]) >= 30
