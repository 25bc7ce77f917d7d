"""An office that is left alone, in the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect
from support import server, toml_file
from test_page import serious
from windows import Window, browser

if TYPE_CHECKING:
    from pathlib import Path

QUICK = {"FAKE_CLI_SPEED": "0", "FAKE_CLI_THINK": "0.1"}


def office(tmp_path: Path, *answers: str) -> Path:
    turns = "".join(f"[[turn]]\nsay = '''{answer}'''\n" for answer in answers)
    script = toml_file(tmp_path / "s.toml", f'after = "repeat"\n{turns}')
    people = "".join(f"[[agents]]\nname = '{n}'\nrole = 'role {n}'\n" for n in ("Alice", "Bob"))
    backend = f"[backends.fake]\narguments = ['--scenario', '{script}']\n"
    return toml_file(tmp_path / "o.toml", f"[life]\nidle_seconds = 0.5\n{backend}{people}")


def test_what_they_do_of_their_own_accord(tmp_path: Path) -> None:
    """C6, C8, B8: a bubble with the words, the talk of the office to read, decisions in the inspector, and a switch."""
    file = office(tmp_path, '{"action": "speak", "to": ["Bob", "Alice"], "text": "A quiet morning, is it not?"}')
    with server(tmp_path, "--config", str(file), "--life", **QUICK) as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        window.until("[...office.scene.words.values()].some((one) => one.text.includes('quiet morning'))")
        expect(page.locator("#toggle")).to_have_text("▶ Auto")  # what they do by themselves is nothing to stop
        expect(page.locator("#working")).to_be_empty()
        page.select_option("#rooms", "around")
        expect(page.locator(".message.agent .words").first).to_have_text("A quiet morning, is it not?")
        expect(page.locator("#write")).not_to_be_editable()
        page.locator("#people button").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#inspector")).to_contain_text("speak Bob")
        page.get_by_label("Decides by itself what to do").uncheck()
        window.until("[...state.agents.values()].some((one) => one.decides === false)")
        assert serious(page) == []
        page.keyboard.press("Escape")
        page.click("#menu summary")
        page.uncheck("#life")
        window.until("state.decides === false && [...state.agents.values()].every((one) => one.state === 'idle')")
        assert window.complaints == []


def test_tasks_in_the_inspector_and_on_the_desk(tmp_path: Path) -> None:
    """C11: given and finished in one window, seen in the other; a slip of paper lies on the desk."""
    file = office(tmp_path, '{"action": "wait"}')
    with server(tmp_path, "--config", str(file), **QUICK) as started, browser() as found:
        window, other = Window(found, started), Window(found, started)
        page, second = window.open(), other.open()
        for here in (page, second):
            here.locator("#people button").first.focus()
            here.keyboard.press("Enter")
        page.get_by_label("A new task for Alice").fill("for Alice only")
        page.locator("#people button").nth(1).focus()
        page.keyboard.press("Enter")
        expect(page.get_by_label("A new task for Bob")).to_have_value("")
        page.locator("#people button").first.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_label("A new task for Alice")).to_be_visible()
        page.locator("#inspector select").select_option("")  # D19: out of the room and in again
        expect(second.locator(".member .name")).to_have_text(["Bob"])
        page.locator("#inspector select").select_option("room_001")
        expect(second.locator(".member .name")).to_have_text(["Bob", "Alice"])
        page.get_by_label("A new task for Alice").fill("draw the map")
        page.keyboard.press("Enter")
        expect(second.locator(".tasks")).to_contain_text("draw the map")
        expect(page.locator(".new-task")).to_have_value("")
        other.until("office.scene.notes.length === 1")
        second.get_by_role("button", name="Done: draw the map").click()
        expect(page.locator(".tasks li")).to_have_count(0)
        window.until("office.scene.notes.length === 0")
        assert window.complaints + other.complaints == []


def test_search_finds_what_was_said_and_goes_there(tmp_path: Path) -> None:
    """C9: everything, as it is typed; Esc closes it."""
    file = toml_file(
        tmp_path / "s.toml", 'after = "repeat"\n[[turn]]\nsay = "A zebra, if you like."\n[[turn]]\nsay = "Or not."'
    )
    backend = (
        f"[backends.fake]\narguments = ['--scenario', '{file}']\n[settings]\nresponse_delay = 0\nmax_messages = 4\n"
    )
    config = toml_file(tmp_path / "o.toml", backend)
    with server(tmp_path, "--config", str(config), "--auto", "--topic", "Which animal?") as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        expect(page.locator("#why")).to_contain_text("The limit", timeout=30_000)
        page.click("#search-open")
        page.keyboard.type("zeb")
        expect(page.locator(".hit")).to_have_count(2)
        page.locator(".hit").last.click()
        expect(page.locator(".message.marked")).to_contain_text("A zebra")
        page.click("#menu summary")
        page.click("#close-open")
        page.click("#confirm-yes")
        page.click("#search-open")
        page.fill("#search-words", "zebra")
        page.locator(".hit").last.click()  # also what was said in a room that is closed
        expect(page.locator(".message.marked")).to_contain_text("A zebra")
        expect(page.locator("#rooms option:checked")).to_contain_text("(closed)")
        page.click("#search-open")
        page.fill("#search-words", "xylophone")
        expect(page.locator("#search-found")).to_contain_text("Nothing was found")
        page.keyboard.press("Escape")
        expect(page.locator("#search")).to_be_hidden()
        assert window.complaints == []
