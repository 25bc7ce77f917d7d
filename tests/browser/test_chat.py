"""A person moderates in the page: writes, takes answers, pauses, changes the order and the mode."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from typing import TYPE_CHECKING

from playwright.sync_api import expect
from pysqlite3 import dbapi2 as sqlite3
from support import eventually_sync, server, toml_file
from test_page import serious
from windows import Window, browser

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

QUICK = {"FAKE_CLI_SPEED": "2000", "FAKE_CLI_THINK": "0.3"}


def people(tmp_path: Path) -> Path:
    names = ("Alice", "Bob", "Charlie")
    return toml_file(tmp_path / "o.toml", "".join(f"[[agents]]\nname = '{n}'\nrole = 'role {n}'\n" for n in names))


def labels(page: Page) -> list[str]:
    return page.locator(".member .name").all_text_contents()


def test_a_person_writes_all_answer_and_the_person_takes_some(tmp_path: Path) -> None:
    """D3, D4, D6, D18: completion of names, cards with ticks, active and inactive messages, two windows in step."""
    with server(tmp_path, "--config", str(people(tmp_path)), **QUICK) as started, browser() as found:
        window, other = Window(found, started), Window(found, started)
        page, second = window.open(), other.open()
        expect(page.locator(".member .name")).to_have_text(["Alice", "Bob", "Charlie"])
        page.locator("#write").press_sequentially("What is a good test, @cha")
        expect(page.locator("#names li")).to_have_text(["Charlie"])
        page.keyboard.press("Tab")
        assert page.locator("#write").input_value() == "What is a good test, @Charlie "
        page.keyboard.press("Shift+Enter")
        page.keyboard.type("And why?")
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")  # a second one sends nothing
        expect(page.locator("#write")).to_have_value("")
        expect(page.locator(".message.user .words")).to_contain_text("And why?")
        expect(page.locator(".card:not(.live)")).to_have_count(3, timeout=20_000)
        expect(page.locator(".card .who span")).to_have_text(
            ["Alice", "Bob", "Charlie"]
        )  # in their order, whoever was first
        expect(second.locator(".card:not(.live)")).to_have_count(3)
        assert serious(page) == []
        page.locator(".card").filter(has_text="Bob").locator("input").uncheck()
        page.click("#take")
        for here in (page, second):
            expect(here.locator(".card")).to_have_count(0)
            expect(here.locator(".message.agent:not(.inactive)")).to_have_count(2)
            expect(here.locator(".message.agent.inactive")).to_contain_text("Bob")
        page.locator(".message.agent.inactive .tick").check()
        expect(second.locator(".message.agent.inactive")).to_have_count(0)
        page.locator(".message.user .tick").uncheck()
        expect(second.locator(".message.user.inactive")).to_have_count(1)
        assert window.complaints + other.complaints == []


def test_pause_order_and_modes(tmp_path: Path) -> None:
    """D1, D9, D10, D16, D21: by click and by key; the input says why it is disabled."""
    slow = {"FAKE_CLI_THINK": "5", "FAKE_CLI_SPEED": "0"}
    with server(tmp_path, "--config", str(people(tmp_path)), **slow) as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        page.locator(".member .label").first.focus()
        page.keyboard.press("Alt+ArrowRight")
        expect(page.locator(".member .name")).to_have_text(["Bob", "Alice", "Charlie"])
        page.locator(".member .label").nth(2).click()
        expect(page.locator(".member.paused .name")).to_have_text("Charlie")
        window.until("office.scene.actors.some((one) => one.name === 'Charlie' && one.asleep)")
        page.keyboard.press("Control+m")
        expect(page.locator("#toggle")).to_have_text("■ Stop")
        expect(page.locator("#write")).not_to_be_editable()
        expect(page.locator("#write")).to_have_attribute("placeholder", "Auto mode is running: stop it to write")
        expect(page.locator(".message.agent")).to_have_count(1, timeout=15_000)
        page.click("#menu summary")
        page.click("#settings-open")
        page.check("#set-barge_in")
        page.locator("#settings .primary").click()
        expect(page.locator("#write")).to_be_editable()
        page.click("#finish")
        expect(page.locator("#finish")).to_be_hidden()
        expect(page.locator(".card:not(.live)")).not_to_have_count(0, timeout=15_000)
        expect(page.locator("#toggle")).to_have_text("▶ Auto", timeout=15_000)
        page.keyboard.press("Control+m")
        expect(page.locator("#toast")).to_contain_text("take or dismiss them first")
        page.click("#toggle")
        expect(page.locator("#auto")).to_be_hidden()
        page.click("#dismiss-all")
        expect(page.locator(".card")).to_have_count(0)
        assert labels(page) == ["Bob", "Alice", "Charlie"]
        assert window.complaints == []


def test_after_kill_nine_the_room_is_as_it_was(tmp_path: Path) -> None:
    """D17: pending answers, a paused agent and the order."""
    file = str(people(tmp_path))
    with browser() as found:
        with server(tmp_path, "--config", file, **QUICK) as started:
            page = Window(found, started).open()
            page.locator(".member .label").nth(1).click()
            expect(page.locator(".member.paused")).to_have_count(1)
            page.fill("#write", "What now?")
            page.keyboard.press("Enter")
            expect(page.locator(".card:not(.live)")).to_have_count(2, timeout=20_000)
            said = page.locator(".card .words").all_text_contents()
            os.kill(started.process.pid, signal.SIGKILL)
            eventually_sync(lambda: started.process.poll() is not None)
        with server(tmp_path, "--config", file, **QUICK) as again:
            page = Window(found, again).open()
            expect(page.locator(".card:not(.live) .words")).to_have_text(said)
            expect(page.locator(".member.paused .name")).to_have_text("Bob")
            page.click("#take-all")
            expect(page.locator(".message.agent:not(.inactive)")).to_have_count(2)


def test_a_room_from_a_template_and_its_outcome(tmp_path: Path) -> None:
    """D20, D22: made in the menu, held, and ended with the result in the banner."""
    with server(tmp_path, **QUICK) as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        page.click("#menu summary")
        page.click("#room-open")
        page.select_option("#room-template", "interview")
        page.locator("#room .primary").click()
        expect(page.locator(".member .name")).to_have_text(["Lea", "Dee"])
        page.click("#toggle")
        page.fill("#auto-topic", "Is maths discovered or invented?")
        page.locator("#auto details summary").click()
        page.fill("#auto-messages", "2")
        page.click("#auto-start")
        expect(page.locator("#why")).to_contain_text("2 turns", timeout=30_000)
        page.click("#conclude")
        expect(page.locator("#outcome")).to_contain_text("Who held what", timeout=20_000)
        expect(page.locator("#conclude")).to_be_hidden()
        page.reload()
        expect(page.locator("#outcome")).to_contain_text("Who held what")
        assert window.complaints == []


def test_rooms_are_renamed_left_and_closed(tmp_path: Path) -> None:
    """D19, D20: the choice of a room outlives a reload, and a draft stays where it was begun."""
    with server(tmp_path, "--config", str(people(tmp_path)), **QUICK) as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        expect(page.locator("#connection")).to_have_text("connected")  # then it is known what a room may be
        page.fill("#write", "a draft")
        page.click("#menu summary")
        page.click("#room-open")
        page.fill("#room-name", "Duel")
        page.select_option("#room-template", "debate")
        page.locator("#room .primary").click()
        expect(page.locator(".member .name")).to_have_text(["Ada", "Bo"])
        expect(page.locator("#write")).to_have_value("")
        page.click("#menu summary")
        page.click("#rename-open")
        page.fill("#rename-name", "A better name")
        page.locator("#rename .primary").click()
        expect(page.locator("#rooms option:checked")).to_have_text("A better name")
        page.reload()
        expect(page.locator("#rooms option:checked")).to_have_text("A better name")
        page.select_option("#rooms", "room_001")
        expect(page.locator(".member .name")).to_have_text(["Alice", "Bob", "Charlie"])
        page.select_option("#rooms", "room_002")
        page.click("#menu summary")
        page.click("#close-open")
        page.click("#confirm-yes")
        expect(page.locator("#rooms")).to_be_hidden()
        expect(page.locator(".member .name")).to_have_text(["Alice", "Bob", "Charlie"])
        assert window.complaints == []


def scenario(tmp_path: Path, steps: str, context: int = 200_000) -> Path:
    """An office of two whose CLI follows a scenario first."""
    text = f'after = "persona"\n[[turn]]\n{steps}\n'
    script = toml_file(tmp_path / "s.toml", text)
    backend = f"[backends.fake]\narguments = ['--scenario', '{script}']\ncontext_size = {context}\n"
    names = "".join(f"[[agents]]\nname = '{n}'\nrole = 'role {n}'\n" for n in ("Alice", "Bob"))
    return toml_file(tmp_path / "o.toml", f"[settings]\nresponse_delay = 0.1\n{backend}{names}")


def test_a_failure_is_a_card_with_retry(tmp_path: Path) -> None:
    """D13: in the chat and in the transport; the label shows who failed."""
    file = scenario(tmp_path, "steps = [{ error = 'overloaded', retry_delay = 0.01 }]")
    with server(tmp_path, "--config", str(file), **QUICK) as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        expect(page.locator(".member .name")).to_have_text(["Alice", "Bob"])
        page.keyboard.press("Control+m")
        card = page.locator(".message.error")
        expect(card).to_contain_text("⚠️ Alice Failed to respond", timeout=20_000)
        expect(page.locator("#write")).to_have_attribute("placeholder", "Auto mode is paused: stop it to write")
        expect(page.locator(".member .doing[data-doing=failed]")).to_have_count(1)
        card.get_by_role("button", name="Retry").click()
        expect(page.locator(".message.agent").first).to_contain_text("Alice", timeout=20_000)
        assert window.complaints == []


def test_a_rate_limit_counts_down_and_need_not_be_waited_for(tmp_path: Path) -> None:
    """D14."""
    file = scenario(tmp_path, "steps = [{ rate_limit = true, resets_in = 600 }]")
    with server(tmp_path, "--config", str(file), **QUICK) as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        expect(page.locator(".member .name")).to_have_text(["Alice", "Bob"])
        page.keyboard.press("Control+m")
        expect(page.locator("#progress")).to_have_text(re.compile(r"Rate limited\. Retry in \d+s"), timeout=20_000)
        expect(page.locator("#ring")).to_be_visible()
        page.click("#wait-cancel")
        expect(page.locator("#ring")).to_be_hidden()
        expect(page.locator("#wait-cancel")).to_be_hidden()
        page.click("#retry")
        expect(page.locator(".message.agent").first).to_contain_text("Alice", timeout=20_000)
        assert window.complaints == []


def test_at_the_context_limit_a_new_conversation_is_offered(tmp_path: Path) -> None:
    """D12: a toast at 80 %, the end at 95 %, and a way on with fresh sessions."""
    file = scenario(
        tmp_path, "say = 'Much was read.'\nusage = { input = 10, cached = 970, created = 0, output = 7 }", 1000
    )
    with server(tmp_path, "--config", str(file), **QUICK) as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        expect(page.locator(".member .name")).to_have_text(["Alice", "Bob"])
        page.keyboard.press("Control+m")
        expect(page.locator("#why")).to_contain_text("Conversation approaching model context limit", timeout=20_000)
        expect(page.locator("#toast")).to_contain_text("context is")
        page.click("#anew")
        page.click("#confirm-yes")
        expect(page.locator(".message.agent.inactive")).to_have_count(1)
        expect(page.locator("#auto")).to_be_visible()
        assert window.complaints == []


def test_an_export_holds_everything_and_says_what_was_taken_out(tmp_path: Path) -> None:
    """D4, D22: also what was never scrolled to."""
    file = toml_file(tmp_path / "s.toml", 'after = "repeat"\n[[turn]]\nsay = "One more."')
    backend = (
        f"[backends.fake]\narguments = ['--scenario', '{file}']\n[settings]\nresponse_delay = 0\nmax_messages = 230\n"
    )
    office = toml_file(tmp_path / "o.toml", backend)
    with server(tmp_path, "--config", str(office), "--auto", "--topic", "How many?") as started, browser() as found:
        window = Window(found, started)
        page = window.open()
        expect(page.locator("#why")).to_contain_text("The limit of answers is reached", timeout=60_000)
        page.reload()
        page.locator(".message.agent .tick").last.uncheck()
        expect(page.locator(".message.agent.inactive")).to_have_count(1)
        page.click("#banner-close")
        page.click("#menu summary")
        with page.expect_download() as waiting:
            page.click("#export-open")
        text = waiting.value.path().read_text()
        assert text.startswith("# How many?")
        assert text.count(":**") == 230
        assert text.count("*(taken out)*") == 1
        assert window.complaints == []


def test_the_newest_words_stay_in_view_while_somebody_ticks(tmp_path: Path) -> None:
    """Only who scrolls up has left the end; a way back is shown then."""
    with server(tmp_path, "--config", str(people(tmp_path)), **QUICK) as started, browser() as found:
        window = Window(found, started, viewport={"width": 1280, "height": 480})
        page = window.open()
        for text in ("one", "two"):
            page.fill("#write", text)
            page.keyboard.press("Enter")
            expect(page.locator(".card:not(.live)")).to_have_count(3, timeout=20_000)
            page.click("#take-all")
            expect(page.locator(".card")).to_have_count(0)
            page.locator(".message.agent .tick").last.uncheck()
            expect(page.locator(".message").last).to_be_in_viewport()
        page.hover("#messages")
        page.mouse.wheel(0, -300)
        expect(page.locator("#latest")).to_be_visible()
        page.click("#latest")
        expect(page.locator(".message").last).to_be_in_viewport()
        assert window.complaints == []


def test_a_room_of_ten_thousand_messages_stays_fast(tmp_path: Path) -> None:
    """Windowed: the page opens at the end, scrolls up through history, and jumps back to the latest."""
    with server(tmp_path, "--config", str(people(tmp_path))) as started:
        pass
    connection = sqlite3.connect(started.folder / "office.db")
    (last,) = connection.execute("SELECT MAX(seq) FROM events").fetchone()
    at = time.time() - 9000
    for n in range(1, 10_001):
        message = {
            "id": f"msg_{n + 100:06d}", "room_id": "room_001", "type": "agent", "author": "agent_001",
            "author_name": "Alice", "content": f"number {n}", "at": at + n, "active": True,
        }  # fmt: skip
        body = {"type": "message_added", "seq": last + n, "at": at + n, "message": message}
        row = (last + n, at + n, "message_added", "room_001", None, json.dumps(body))
        connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", row)
        values = (message["id"], last + n, "room_001", "agent", "agent_001", "Alice", f"number {n}", True, at + n, None)
        connection.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    connection.commit()
    connection.close()
    with server(tmp_path) as again, browser() as found:
        window = Window(found, again)
        page = window.open()
        expect(page.locator(".message .words").last).to_have_text("number 10000")
        expect(page.locator(".message .words").last).to_be_in_viewport()
        page.hover("#messages")
        page.mouse.wheel(0, -200)
        page.evaluate("window.up = setInterval(() => { document.querySelector('#messages').scrollTop = 0; }, 20)")
        window.until("state.rooms.get('room_001').oldest === 0", 60_000)
        page.evaluate("clearInterval(window.up)")
        assert window.scene("state.rooms.get('room_001').messages.length") >= 10_000
        expect(page.locator(".message .words").first).to_have_text(re.compile("."))
        page.click("#latest")
        expect(page.locator(".message .words").last).to_be_in_viewport()
        page.fill("#write", "still there?")
        assert window.complaints == []
