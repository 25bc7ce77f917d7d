"""What was written while nobody was reading, also when that is a great deal: only what matters of it is kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import trio
from support import QUICK, driven, launch, new_ask_id, texts

from supervisor.driving.agent import DrivenAgent
from supervisor.driving.backends import backend
from supervisor.driving.tail import CHUNK
from supervisor.driving.watcher import Watcher
from supervisor.records import Damage, PromptSeen

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.records import AnyRecord

CHUNKS = 12


def line(kind: str, message: dict[str, Any], **about: Any) -> bytes:
    name = new_ask_id()
    whole = {"type": kind, "uuid": name, "sessionId": "s", "message": {"id": name, "role": kind, **message}, **about}
    return json.dumps(whole).encode() + b"\n"


def turn(ask_id: str, words: str) -> bytes:
    prompt = line("user", {"content": "go"}, turnPosition=1, mergedSendUuids=[ask_id])
    return prompt + line("assistant", {"content": [{"type": "text", "text": words}], "stop_reason": "end_turn"})


@pytest.mark.parametrize("seen", [True, False])
async def test_a_long_answer_counts_as_it_would_have(folder: Path, seen: bool) -> None:
    """What is held back until it is known whose it is, is measured once."""
    what, ask_id, answer = launch(folder), new_ask_id(), "x" * 200_000
    async with driven(what) as it:
        await it.agent.ask(new_ask_id(), "one")
        mark, path = it.agent.bookmark(), it.agent.transcript_path
    assert path is not None
    with path.open("ab") as file:
        file.write(turn(ask_id, answer))
    agent = DrivenAgent(backend("fake"), what, Watcher(), lambda record: None, limits=QUICK, bookmark=mark)
    outcome = await agent.catch_up(ask_id, seen=seen)
    assert outcome is not None
    assert outcome.text == answer


class Left:
    """An agent whose transcript has grown by a long story while nobody was there, and then by an answer."""

    def __init__(self) -> None:
        self.ask_id = new_ask_id()
        self.records: list[AnyRecord] = []
        self.ticks = 0

    async def behind(self, folder: Path) -> None:
        what = launch(folder)
        async with driven(what) as it:
            await it.agent.ask(new_ask_id(), "one")
            mark, path = it.agent.bookmark(), it.agent.transcript_path
        assert path is not None
        with path.open("ab") as file:
            file.write(turn(self.ask_id, "a first try") + b"no record at all\n")
            for n in range(CHUNKS):
                file.write(turn(f"other{n}", "x" * CHUNK))
            file.write(turn(self.ask_id, "the answer"))
        self.agent = DrivenAgent(backend("fake"), what, Watcher(), self.records.append, limits=QUICK, bookmark=mark)

    async def tick(self) -> None:
        while True:
            await trio.lowlevel.checkpoint()
            self.ticks += 1


@pytest.fixture
async def left(folder: Path) -> Left:
    it = Left()
    await it.behind(folder)
    return it


async def test_others_go_on_meanwhile(left: Left) -> None:
    """Rule 5: a great deal is read in pieces; only the last try counts, and what could not be read is told."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(left.tick)
        outcome = await left.agent.catch_up(left.ask_id)
        nursery.cancel_scope.cancel()
    assert left.ticks > CHUNKS // 2
    assert outcome is not None
    assert outcome.text == "the answer"
    assert texts(left.records) == ["the answer"]
    assert [type(record) for record in left.records][:2] == [Damage, PromptSeen]


async def test_whoever_does_not_want_to_know_any_more_is_told_nothing(left: Left) -> None:
    """A stop or an interrupt waits for no more than a piece."""
    with trio.CancelScope() as scope:
        scope.cancel()
        await left.agent.catch_up(left.ask_id)
    assert scope.cancelled_caught
    assert left.records == []
