"""Transcripts that are changed while nobody is there to see it: what was said before is not said again."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import psutil
import pytest
import trio
from office_under_test import KEYWORD
from promises import rows
from serving import crashing, place, until
from support import eventually, toml_file, turns

from supervisor.driving import tail
from supervisor.driving.measure import CUT, LONGEST_ANSWER
from supervisor.errors import Refused
from supervisor.events import Source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.client import Client

TALK = {"type": "startAutoMode", "topic": "Tea?"}
LONG = "many words " * 5_500_000
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


@pytest.mark.parametrize("lead", ["secret", "pipe", "nowhere"])
async def test_whoever_asks_for_a_line_gets_it_from_the_file_that_was_read(folder: Path, lead: str) -> None:
    """An agent may make anything of its transcript; nobody gets to see, or waits for, what that leads to."""
    (folder / "secret").write_text("secret\n" * 100_000)
    async with place(folder) as here, here.client() as client:
        await client.request({**TALK, "topic": "Is maths discovered or invented?"})
        said = await spoken(client)
        async with here.client(here.tokens.viewer) as viewer:
            asked = {"type": "get_transcript_line", "message_id": said["id"]}
            before = await viewer.request(asked)
            assert said["content"] in before["line"]
            await client.request({"type": "stopAutoMode"})
            (path,) = (folder / "state" / "agents" / said["author"]).rglob("*.jsonl")
            path.unlink()
            if lead == "secret":
                path.symlink_to(folder / "secret")
            elif lead == "pipe":
                os.mkfifo(path)
            with trio.fail_after(5):
                assert (await viewer.request(asked))["line"] == before["line"]


async def spoken(client: Client) -> dict[str, Any]:
    """The first message of an agent's."""
    async for event in client.events:
        if event["type"] == "message_added" and event["message"]["type"] == "agent":
            return dict(event["message"])
    raise AssertionError("nobody spoke")


async def test_no_number_in_a_transcript_ends_the_supervisor_or_keeps_it_from_starting(folder: Path) -> None:
    """E3: an agent that may write can write there, too."""
    scenario = toml_file(folder / "s.toml", turns('{ wait = 0.1 }, { text = "I count." }', after="repeat"))
    arguments = ("--scenario", str(scenario))
    async with place(folder, *arguments) as here, here.client() as client:
        await client.request(TALK)
        await until(client, "turn_ended", outcome="answered")
        (path,) = (folder / "state" / "agents" / "agent_001").rglob("*.jsonl")
        used = {"input_tokens": 10**4299, "cache_read_input_tokens": 10**4299, "output_tokens": 10**4299}
        message = {"id": "m", "role": "assistant", "content": [], "usage": used}
        line = {"type": "assistant", "uuid": "u", "sessionId": "s", "message": message}
        retry = {"type": "system", "subtype": "api_error", "uuid": "v", "sessionId": "s", "retryAttempt": 10**4299,
                 "error": {"status": 10**4299}, "retryInMs": 10**400}  # fmt: skip
        with path.open("ab") as file:
            file.write(b"".join(json.dumps(one).encode() + b"\n" for one in (line, retry)))
        for _ in range(4):
            await until(client, "turn_ended", outcome="answered")
        tokens = here.runtime.core.state.agents["agent_001"].input_tokens
        assert 0 < tokens < 1e6
    async with place(folder, *arguments) as again, again.client() as client:
        await until(client, "turn_ended", outcome="answered")


async def test_the_keyword_counts_at_the_end_of_a_line_of_sixty_megabytes(folder: Path) -> None:
    """A6, E3: of so many words only the first are said, stored and sent; the transcript has the rest."""
    scenario = toml_file(folder / "s.toml", turns("{ silence = true }"))
    message = {"id": "m", "role": "assistant", "content": [{"type": "text", "text": LONG + KEYWORD}]}
    line = json.dumps({"type": "assistant", "uuid": "u", "sessionId": "s", "message": message}).encode() + b"\n"
    state = folder / "state"
    async with place(folder, "--scenario", str(scenario)) as here, here.client() as client:
        await client.request(TALK)
        await eventually(lambda: rows(state, "SELECT 1 FROM prompts WHERE status = 'seen'"))
        (path,) = (state / "agents" / "agent_001").rglob("*.jsonl")
        before = psutil.Process().memory_info().rss
        with path.open("ab") as file:
            file.write(line)
        events = await until(client, "autoModeEnded", reason="keyword")
        shown = [event["text"] for event in events if event["type"] == "agentMessage"]
        assert shown == [LONG[:LONGEST_ANSWER] + CUT]
        assert psutil.Process().memory_info().rss - before < len(LONG) // 2
    ((longest,),) = rows(state, "SELECT MAX(LENGTH(body)) FROM events")
    assert longest < LONGEST_ANSWER + 1000


async def test_a_line_of_an_earlier_session_is_not_mistaken_for_one_of_this(folder: Path) -> None:
    """The offset is the same, the file is not."""
    async with place(folder) as here, here.client() as client:
        await client.request({**TALK, "topic": "Is maths discovered or invented?"})
        old = {"type": "get_transcript_line", "message_id": (await spoken(client))["id"]}
        assert (await client.request(old))["type"] == "transcript_line"
        await client.request({"type": "stopAutoMode"})
        await client.request({"type": "new_conversation"})
        await client.request({**TALK, "topic": "What is a good question?"})
        new = await spoken(client)
        answer = await client.request({"type": "get_transcript_line", "message_id": new["id"]})
        assert new["transcript"]["line"] in answer["line"]
        with pytest.raises(Refused, match="an earlier session"):
            await client.request(old)


async def test_a_line_is_shown_only_where_it_still_stands(folder: Path) -> None:
    """Its file was written anew; and nothing is read of an agent that has ended."""
    async with place(folder) as here, here.client() as client:
        await client.request({**TALK, "topic": "Is maths discovered or invented?"})
        said = await spoken(client)
        await client.request({"type": "stopAutoMode"})
        asked = {"type": "get_transcript_line", "message_id": said["id"]}
        (path,) = (folder / "state" / "agents" / said["author"]).rglob("*.jsonl")
        whole = path.read_bytes()
        path.write_bytes(JUNK * (len(whole) // len(JUNK) + 1))
        with pytest.raises(Refused, match="does not stand there any more"):
            await client.request(asked)
        path.write_bytes(whole)
        assert said["content"] in (await client.request(asked))["line"]
        colleague = here.runtime.colleague(said["author"])
        assert colleague is not None
        await colleague.driven.stop()
        with pytest.raises(Refused, match="not being read any more"):
            await client.request(asked)


def test_a_message_from_before_sessions_were_noted_can_be_loaded() -> None:
    assert msgspec.json.decode(b'{"offset":3,"line":"u"}', type=Source) == Source(3, "u")


async def test_words_that_nobody_had_read_are_not_taken_for_an_answer_to_what_is_asked_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """E3, E6: they belong to a turn that was over when the supervisor was killed."""
    scenario = toml_file(folder / "s.toml", turns('{ wait = 0.2 }, { text = "new words" }', after="repeat"))
    arguments = ("--scenario", str(scenario))
    async with place(folder, *arguments) as here, here.client() as client:
        await client.request(TALK)
        await until(client, "turn_ended", agent_id="agent_002", outcome="answered")
    message = {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "old words"}]}
    line = json.dumps({"type": "assistant", "uuid": "u", "sessionId": "s", "message": message}).encode()
    for path in (folder / "state" / "agents").rglob("*.jsonl"):
        with path.open("ab") as file:
            file.write((b'{"type":"summary","summary":"' + b"x" * (1 << 20) + b'"}\n') * 60)
            file.write(line + b"\n")
    monkeypatch.setattr(tail, "CHUNK", 4096)  # so that it is read for longer than a CLI takes to come up
    async with place(folder, *arguments) as again, again.client(since=0) as client:
        events = client.welcome["events"]
        for _ in range(3):
            events += await until(client, "turn_ended", outcome="answered")
    assert {event["text"] for event in events if event["type"] == "agentMessage"} == {"new words"}
