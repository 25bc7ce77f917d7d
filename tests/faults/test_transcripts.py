"""Transcripts that are changed while nobody is there to see it: what was said before is not said again."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from serving import crashing, place, until
from support import toml_file, turns

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TALK = {"type": "startAutoMode", "topic": "Tea?"}
JUNK = b'{"type":"summary","summary":"compacted by somebody else"}\n'


def regrown(path: Path) -> None:
    """The same file, truncated, and longer than before."""
    data = path.read_bytes()
    os.truncate(path, 0)
    path.write_bytes(JUNK * 3 + data)


def replaced(path: Path) -> None:
    """Deleted and created again, with a part of it missing."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(JUNK + b"".join(data.splitlines(keepends=True)[2:]))


@pytest.mark.parametrize("change", [regrown, replaced])
@pytest.mark.parametrize("answered", [False, True])
async def test_a_transcript_that_was_written_anew_while_we_were_down(
    folder: Path, change: Callable[[Path], None], answered: bool
) -> None:
    """E3, E6: it is read again from its beginning, and only what belongs to the open ask counts."""
    words = [f'{{ text = "number {n}" }}' for n in range(3)]
    late = '{ wait = 0.5 }, { text = "late" }' if answered else "{ crash = -9 }"
    scenario = toml_file(folder / "s.toml", turns(*words, late, *['{ text = "more" }'] * 9))
    arguments = ("--scenario", str(scenario))
    async with crashing(folder, *arguments, min_turns=99) as (here, client):
        await client.request(TALK)
        for _ in range(6):
            await until(client, "turn_ended")
        await until(client, "agent_state_update", state="thinking")
        here.runtime.bus.publish([])
    for path in (folder / "state" / "agents").rglob("*.jsonl"):
        change(path)
    async with place(folder, *arguments, min_turns=99, max_messages=12) as again, again.client(since=0) as client:
        events = client.welcome["events"] + await until(client, "turn_ended")
        events += await until(client, "turn_ended")
    said = Counter((e["agentId"], e["text"]) for e in events if e["type"] == "agentMessage" and "number" in e["text"])
    assert set(said.values()) == {1}
    assert len(said) == 6
