"""What an agent may not do unasked, in the page: a card that somebody allows, denies, or leaves alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect
from support import server, toml_file
from test_page import serious
from windows import Window, browser

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

COMMAND = "npm test -- --reporter=dot"
USE = "{ tool = 'Bash', input = { command = '%s' }, result = 'ok', permission = true, seconds = %s }"


def office(tmp_path: Path, *names: str, steps: str = "", wait: float = 60, seconds: float = 0) -> Path:
    """People whose CLI asks before it uses a tool, and says afterwards that it has done so."""
    does = steps or USE % (COMMAND, seconds)
    script = toml_file(tmp_path / "s.toml", f"[[turn]]\nsteps = [ {does}, {{ text = 'That was that.' }} ]\n")
    people = "".join(f"[[agents]]\nname = '{n}'\nrole = 'role {n}'\n" for n in names or ("Alice",))
    backend = f"[backends.fake]\narguments = ['--scenario', '{script}']\ntools = 'ask'\n"
    return toml_file(tmp_path / "o.toml", f"[settings]\npermission_wait = {wait}\n{backend}{people}")


def say(page: Page, words: str = "Do it.") -> None:
    page.fill("#write", words)
    page.keyboard.press("Enter")


def test_allowed_in_one_window_it_is_gone_in_both_and_the_tool_runs(tmp_path: Path) -> None:
    """Who, what and for how long stands on the card; the office shows who waits, and then who works."""
    file = office(tmp_path, seconds=2)
    with server(tmp_path, "--config", str(file)) as started, browser() as found:
        window, other = Window(found, started), Window(found, started)
        page, second = window.open(), other.open()
        say(page)
        for here in (page, second):
            card = here.locator("#permissions .permission")
            expect(card).to_contain_text("Alicerole Alice")
            expect(card.locator(".wants")).to_have_text("wants to run")
            expect(card.locator("pre")).to_have_text(COMMAND)
            expect(card.locator(".left")).to_have_text(re.compile(r"0:\d\d|1:00"))
            expect(here.locator("#asks")).to_contain_text(f"Alice wants to run {COMMAND}.")
            expect(here).to_have_title("(1) Office Supervisor")
            expect(here.locator(".member .doing[data-doing=asks]")).to_have_count(1)
        window.until("office.scene.actors.some((one) => one.waits && one.pose.arms === 'wave')")
        assert serious(page) == []
        page.get_by_role("button", name="Allow").click()
        for here in (page, second):
            expect(here.locator("#permissions")).to_be_hidden()
            expect(here).to_have_title("Office Supervisor")
        other.until("office.scene.actors.some((one) => one.tool && one.working && one.pose.arms.startsWith('type'))")
        for here in (page, second):
            expect(here.locator(".card .words")).to_have_text("That was that.", timeout=20_000)
        assert window.complaints + other.complaints == []


def test_denied_by_keyboard_the_turn_goes_on(tmp_path: Path) -> None:
    """The agent hears of it; the focus does not fall on what could be allowed by accident."""
    with server(tmp_path, "--config", str(office(tmp_path))) as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        say(page)
        deny = page.locator("#permissions").get_by_role("button", name="Deny")
        expect(deny).to_be_enabled()
        page.locator("#permissions").get_by_role("button", name="Allow").focus()
        page.keyboard.press("Tab")
        expect(deny).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#permissions")).to_be_hidden()
        expect(page.locator(".card .words")).to_have_text("That was that.", timeout=20_000)
        expect(page.locator("#messages")).to_be_focused()
        assert window.complaints == []


def test_silence_is_a_no_and_stays_to_be_read(tmp_path: Path) -> None:
    with server(tmp_path, "--config", str(office(tmp_path, wait=1))) as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        say(page)
        line = page.locator("#permissions .denied")
        expect(line).to_contain_text(f"Denied: nobody answered. Alice wanted to run {COMMAND}", timeout=20_000)
        expect(page.locator(".permission")).to_have_count(0)
        expect(page.locator(".card .words")).to_have_text("That was that.", timeout=20_000)
        line.get_by_role("button", name="Close").click()
        expect(page.locator("#permissions")).to_be_hidden()
        assert window.complaints == []


def test_a_viewer_sees_it_and_cannot_decide(tmp_path: Path) -> None:
    with server(tmp_path, "--config", str(office(tmp_path))) as started, browser() as found:
        window, viewer = Window(found, started), Window(found, started)
        page = window.open()
        say(page)
        expect(page.locator(".permission")).to_have_count(1)
        seen = viewer.open(started.view_token)  # one that comes later sees it as well
        card = seen.locator("#permissions .permission")
        expect(card.locator("pre")).to_have_text(COMMAND)
        for name in ("Allow", "Deny"):
            expect(card.get_by_role("button", name=name)).to_be_disabled()
        expect(card).to_contain_text("Only who moderates can decide.")
        page.reload()
        page.get_by_role("button", name="Allow").click()
        expect(seen.locator("#permissions")).to_be_hidden()
        assert window.complaints + viewer.complaints == []


def test_several_at_once_and_from_close_up(tmp_path: Path) -> None:
    """Each has its card; the mark over a head opens the inspector, where it can be decided as well."""
    with server(tmp_path, "--config", str(office(tmp_path, "Alice", "Bob"))) as started, browser() as found:
        window = Window(found, started, viewport={"width": 1280, "height": 800})
        page = window.open()
        say(page)
        cards = page.locator("#permissions .permission")
        expect(cards).to_have_count(2, timeout=20_000)
        window.until("office.scene.hits.length === 4 && !office.scene.moving")
        for mark in window.scene("office.scene.hits.slice(-2)"):
            x, y = mark["left"] + mark["width"] / 2, mark["top"] + 10
            page.locator("#canvas").hover(position={"x": x, "y": y})
            window.until(f"office.scene.hovered === '{mark['agent']}'")
            assert mark in window.scene("(office.look(), office.scene.hits)")  # it does not run away from the pointer
        name = window.scene(f"state.agents.get('{mark['agent']}').name")
        page.locator("#canvas").click(position={"x": x, "y": y})
        inspector = page.locator("#inspector")
        expect(inspector.locator("h2")).to_have_text(name)
        expect(inspector.locator("dd").first).to_contain_text("asks for a permission")
        expect(inspector.locator(".permission pre")).to_have_text(COMMAND)
        assert serious(page) == []
        inspector.get_by_role("button", name="Deny").click()
        expect(inspector.locator(".permission")).to_have_count(0)
        expect(page.locator("#permissions .permission")).to_have_count(1)
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Allow").click()
        expect(page.locator(".card:not(.live)")).to_have_count(2, timeout=20_000)
        assert window.complaints == []


def test_a_long_command_is_text_and_can_be_seen_whole(tmp_path: Path) -> None:
    """Hostile signs are named; on a phone nothing is wider than the screen, and the buttons can be reached."""
    command = "<img src=x onerror=alert(1)> \\u202e " + "x" * 90
    steps = f'{{ tool = "Bash", input = {{ command = "{command}" }}, permission = true }}'
    with server(tmp_path, "--config", str(office(tmp_path, steps=steps))) as started, browser() as found:
        window = Window(found, started, viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True)
        page = window.open()
        say(page)
        shown = page.locator(".permission pre")
        expect(shown).to_contain_text("<img src=x onerror=alert(1)> \\u{202e} xxx", timeout=20_000)
        assert page.locator(".permission img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        whole = page.get_by_role("button", name="Show the whole")
        expect(whole).to_be_visible()
        whole.click()
        expect(whole).to_be_hidden()
        assert shown.evaluate("(made) => made.scrollHeight <= made.clientHeight + 1")
        page.get_by_role("button", name="Deny").click()
        expect(page.locator("#permissions")).to_be_hidden()
        assert window.complaints == []


def test_how_long_there_is_to_decide_can_be_set(tmp_path: Path) -> None:
    with server(tmp_path, "--config", str(office(tmp_path))) as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        expect(page.locator(".member")).to_have_count(1)
        page.click("#menu summary")
        page.click("#settings-open")
        field = page.locator("#set-permission_wait")
        expect(field).to_have_value("60")
        field.fill("0")
        field.blur()
        expect(page.locator("#settings-problem")).to_contain_text("give a number from 1 to 3600")
        field.fill("600")
        field.blur()
        window.until("[...state.rooms.values()][0].settings.permission_wait === 600")
        page.locator("#settings .primary").click()
        say(page)
        expect(page.locator(".permission .left")).to_have_text(re.compile(r"\d?\d:\d\d"))
        window.until("[...state.agents.values()][0].permissions[0].until > Date.now() / 1000 + 500")
        assert window.complaints == []


def test_a_card_names_its_room_where_there_are_several(tmp_path: Path) -> None:
    """Whoever looks at one room decides for somebody in another with open eyes."""
    file = office(tmp_path, "Alice", "Ben")
    rooms = "".join(f"[[rooms]]\nname = 'Room of {name}'\nagents = ['{name}']\n" for name in ("Alice", "Ben"))
    toml_file(file, file.read_text() + rooms)
    with server(tmp_path, "--config", str(file)) as started, browser() as found:
        page = Window(found, started).open()
        say(page)
        card = page.locator("#permissions .permission .who")
        expect(card).to_contain_text(re.compile(r"(Alice|Ben)role \1, in Room of \1"))
