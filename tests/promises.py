"""An office whose every word is known beforehand, and what must be true of it at any moment (E6).

Everybody has a scenario of their own and counts: Ada's n-th answer is `answer("Ada", n)`, and nobody else ever says
it. A turn that is lost, repeated or given to somebody else is a number that is missing, twice there, or with another.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import psutil
import trio
from pysqlite3 import dbapi2 as sqlite3
from support import SUPERVISOR

from supervisor.client import connect
from supervisor.driving import tree
from supervisor.errors import ServerError
from supervisor.store.folder import ServerNote, StateFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

PAIRS = (("Ada", "Bo"), ("Cy", "Dee"))
TURNS = 3000
SAID = re.compile(r"\[(\w+) (\d+)\]")
SETTINGS = "{ response_delay = 0, max_duration_ms = 86400000, max_wait_time = 60 }"


def steps(name: str, number: int, pace: float) -> list[dict[str, Any]]:
    """What a turn consists of: of every kind some, and now and then more than a pipe holds."""
    word = f"[{name} {number}]"
    match number % 7:
        case 1:
            return [{"think": "Hm."}, {"wait": pace}, {"text": f"{word} after a thought"}]
        case 2:
            return [{"text": f"{word} first, "}, {"wait": pace}, {"text": "and second"}]
        case 3:
            return [{"text": f"{word} first"}, {"tool": "Bash", "seconds": pace, "result": "x"}, {"text": "then"}]
        case 4:
            return [{"wait": pace}, {"transcript": pace / 2}, {"text": f"{word} written late"}]
        case 5 if number % 20 == 0:
            return [{"wait": pace}, {"text": f"{word} {'at length ' * 8000}"}]
        case _:
            return [{"wait": pace}, {"text": f"{word} plainly"}]


def answer(name: str, number: int) -> str:
    texts = [""]
    for step in steps(name, number, 0):
        texts = [*texts, ""] if "tool" in step else [*texts[:-1], texts[-1] + str(step.get("text", ""))]
    return "\n\n".join(text.strip() for text in texts)


def furnish(folder: Path, pairs: Sequence[tuple[str, ...]] = PAIRS, *, pace: float = 0.02, turns: int = TURNS) -> Path:
    """The configuration of such an office: a room for each group, all in auto mode; each can answer so often."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["wander_seconds = 0", "[life]", "on = false", "[backends.fake]", "context_size = 0"]
    for group in pairs:
        for name in group:
            script = folder / f"{name}.json"
            script.write_text(
                json.dumps({"turn": [{"speed": 0, "steps": steps(name, n, pace)} for n in range(1, turns)]})
            )
            lines += ["[[agents]]", f'name = "{name}"', f'role = "role of {name}"']
            lines += [f"arguments = {json.dumps(['--scenario', str(script)])}"]
        lines += ["[[rooms]]", f'name = "{" and ".join(group)}"', f"agents = {json.dumps(group)}"]
        lines += ["auto = true", 'topic = "Counting"', f"settings = {SETTINGS}"]
    path = folder / "office.toml"
    path.write_text("\n".join(lines))
    return path


class Life:
    """One life of the supervisor, from its start to its end, which may come at any moment."""

    def __init__(self, place: Path, config: Path, before: Sequence[str] = (), command: Sequence[str] = ()) -> None:
        """`before` goes in front of the command, `command` in the place of `supervisor` itself."""
        self.place = StateFolder(place / "state")
        self.errors = place / "stderr.txt"
        start = ["start", "--state-dir", str(self.place.path), "--no-open", "--port", "0", "--config", str(config)]
        with self.errors.open("ab") as errors, (place / "stdout.txt").open("ab") as output:
            self.process = subprocess.Popen([*before, *(command or SUPERVISOR), *start], stdout=output, stderr=errors)

    async def ready(self) -> ServerNote | None:
        """Where its server is; None if it ended before it had one."""
        while self.process.poll() is None:
            note = self.place.running()
            if note is not None and note.pid == self.process.pid:
                return note
            await trio.sleep(0.01)
        return None

    async def gone(self) -> int:
        while (status := self.process.poll()) is None:  # noqa: ASYNC110  a process of the subprocess module
            await trio.sleep(0.005)
        return status


class Viewer:
    """Somebody who looks on, is cut off, and comes back with `since`: what it saw has to be what is stored."""

    def __init__(self) -> None:
        self.seen: dict[int, bytes] = {}
        self.last = 0
        self.news = trio.Event()

    async def watch(self, note: ServerNote) -> None:
        """Until it is cut off."""
        with contextlib.suppress(ServerError):
            async with connect(note.ws_url, note.token, since=self.last) as client:
                for event in client.welcome["events"]:
                    self._take(event)
                async for event in client.events:
                    self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        if event.get("seq") is None:
            return
        assert event["seq"] == self.last + 1, f"{event['seq']} came after {self.last}"
        self.last += 1
        self.seen[self.last] = fingerprint(event)
        news, self.news = self.news, trio.Event()
        news.set()

    async def reaches(self, seq: int) -> None:
        while self.last < seq:
            await self.news.wait()


def fingerprint(event: dict[str, Any]) -> bytes:
    return hashlib.sha256(json.dumps(event, sort_keys=True).encode()).digest()


class Record(msgspec.Struct):
    """What is found in the state folder of an office that stands still or runs."""

    said: dict[str, list[tuple[str, str]]]
    """By room, who said what, in order."""
    turns: int
    broken: list[str]
    """Promises that do not hold."""
    last: int


def examine(
    place: Path, pairs: Sequence[tuple[str, ...]] = PAIRS, *, viewer: Viewer | None = None, kept: bool = True
) -> Record:
    """Everything that is promised of what is stored, at any moment and after any end.

    `kept`: nobody touched the CLIs, so that every prompt was answered and everybody's turn came in its order.
    """
    with contextlib.closing(sqlite3.connect(place / "office.db")) as connection:
        record = _examine_database(connection, viewer)
        if kept:
            _examine_order(connection, pairs, record)
            _examine_transcripts(connection, place, record)
        else:
            _examine_numbers(connection, place, record)
    return record


def _examine_database(connection: Any, viewer: Viewer | None) -> Record:
    def rows(statement: str) -> list[Any]:
        return list(connection.execute(statement))

    broken: list[str] = []
    if (found := rows("PRAGMA integrity_check")) != [("ok",)]:
        broken.append(f"integrity_check: {found[:3]}")
    first, last, count = rows("SELECT COALESCE(MIN(seq), 1), COALESCE(MAX(seq), 0), COUNT(*) FROM events")[0]
    if (first, count) != (1, last):
        broken.append(f"a gap in seq: {count} events from {first} to {last}")
    said: dict[str, list[tuple[str, str]]] = {room: [] for (room,) in rows("SELECT id FROM rooms ORDER BY id")}
    words = rows("SELECT room_id, author_name, content FROM messages WHERE type = 'agent' ORDER BY seq")
    for room, name, content in words:
        said[room].append((name, content))
    shown = rows("SELECT body FROM events WHERE type = 'agentMessage' ORDER BY seq")
    numbers = [found for (body,) in shown for found in SAID.findall(json.loads(body)["text"])]
    if len({*numbers}) < len(numbers):
        twice = next(one for place, one in enumerate(numbers) if one in numbers[:place])
        broken.append(f"{twice} was shown twice")
    for kind, marks in (("agent_usage", ("message_id",)), ("agent_tool", ("tool_id", "status"))):
        told = [json.loads(body) for (body,) in rows(f"SELECT body FROM events WHERE type = '{kind}'")]
        names = [(one["agent_id"], *(one[mark] for mark in marks)) for one in told if one[marks[0]]]
        if len({*names}) < len(names):
            broken.append(f"{len(names) - len({*names})} of {len(names)} {kind} were told twice")
    spoken = rows("SELECT COUNT(*) FROM events WHERE type = 'agent_speech'")[0][0]
    if spoken != len(words):
        broken.append(f"{spoken} speeches and {len(words)} messages")
    doubled = rows("SELECT agent_id FROM prompts WHERE ended_at IS NULL GROUP BY agent_id HAVING COUNT(*) > 1")
    broken += [f"{agent} has two open prompts" for (agent,) in doubled]
    if viewer is not None:
        if viewer.last > last:
            broken.append(f"a viewer was told of {viewer.last}, and {last} is the last that is stored")
        for seq, body in connection.execute("SELECT seq, body FROM events WHERE seq <= ?", (viewer.last,)):
            if viewer.seen.get(seq) != fingerprint(json.loads(body)):
                broken.append(f"a viewer saw something else as event {seq}")
                break
    return Record(said, len(words), broken, last)


def _examine_order(connection: Any, pairs: Sequence[tuple[str, ...]], record: Record) -> None:
    """Everybody spoke when it was their turn, and every prompt was answered."""
    for group, found in zip(pairs, record.said.values(), strict=False):
        for place, (name, content) in enumerate(found):
            due = group[place % len(group)]
            wanted = answer(due, place // len(group) + 1)
            if (name, content) != (due, wanted):
                record.broken.append(f"turn {place + 1} was not {wanted[:40]!r} of {due}: {name}, {content[:40]!r}")
                break
    odd = "SELECT agent_id, status FROM prompts WHERE ended_at IS NOT NULL AND status != 'answered'"
    record.broken += [f"a prompt of {agent} ended as {status}" for agent, status in connection.execute(odd)]


def _examine_numbers(connection: Any, place: Path, record: Record) -> None:
    """Everybody counted on; what was answered stands in the transcript, and was said, once."""
    names = dict(connection.execute("SELECT DISTINCT author_name, author FROM messages WHERE type = 'agent'"))
    for name, agent in names.items():
        said = [SAID.findall(content)[0][1] for found in record.said.values() for who, content in found if who == name]
        if (numbers := [int(number) for number in said]) != sorted({*numbers}):
            record.broken.append(f"{name} did not count on: {numbers}")
        odd = [text for found in record.said.values() for who, text in found if who == name
               and text != answer(name, int(SAID.findall(text)[0][1]))]  # fmt: skip
        record.broken += [f"{name} said {text[:60]!r}" for text in odd]
        written = read_transcript(place / "agents" / agent)
        if len(set(written.prompts)) < len(written.prompts):
            record.broken.append(f"{name} has a prompt in its transcript twice")
        done = [ask for (ask,) in connection.execute(
            "SELECT ask_id FROM prompts WHERE agent_id = ? AND status = 'answered'", (agent,))]  # fmt: skip
        if len(done) != len(said):
            record.broken.append(f"{name} answered {len(done)} prompts with {len(said)} messages")
        lost = [written.answers[ask] for ask in done if written.answers.get(ask, said)[-1] not in said]
        record.broken += [f"{name} wrote {numbers}, and nobody heard it" for numbers in lost]


def _examine_transcripts(connection: Any, place: Path, record: Record) -> None:
    """Each prompt was sent once, answered once, and held the words of the one before."""
    names = dict(connection.execute("SELECT DISTINCT author, author_name FROM messages WHERE type = 'agent'"))
    for agent, name in names.items():
        written = read_transcript(place / "agents" / agent)
        texts = [number for numbers in written.answers.values() for number in numbers]
        if len(set(written.prompts)) < len(written.prompts):
            record.broken.append(f"{name} has a prompt in its transcript twice")
        if len(set(written.queued)) < len(written.queued):
            record.broken.append(f"{name} was sent a prompt twice")
        room = next(found for found in record.said.values() if any(who == name for who, _ in found))
        mine = [content for who, content in room if who == name]
        if texts[: len(mine)] != [content.split()[1].rstrip("]") for content in mine] or len(texts) > len(mine) + 1:
            record.broken.append(f"{name} wrote {texts[-3:]}, and {mine[-1][:40]!r} was its last of {len(mine)}")
        others = [(who, content) for who, content in room if who != name]
        for number, text in enumerate(written.queued):
            heard = SAID.findall(text)
            before = others[number - 1 : number] if room[0][0] == name else others[number : number + 1]
            wanted = [SAID.findall(content)[0] for _, content in before]
            if heard != wanted:
                record.broken.append(f"prompt {number + 1} of {name} held {heard}, expected {wanted}")
                break


class Written(NamedTuple):
    """A transcript."""

    prompts: list[str]
    """The ids of the prompts in it."""
    queued: list[str]
    """The texts that were sent."""
    answers: dict[str, list[str]]
    """The numbers that were said, by prompt."""


def read_transcript(folder: Path) -> Written:
    found = Written([], [], {})
    for path in folder.rglob("*.jsonl"):
        for data in path.read_bytes().split(b"\n"):
            line = json.loads(data) if data.endswith(b"}") else {}
            content = line.get("message", {}).get("content", "")
            if line.get("type") == "queue-operation" and line["operation"] == "enqueue":
                found.queued.append(line["content"])
            elif line.get("type") == "user" and isinstance(content, str):
                found.prompts.append(line["uuid"])
            elif line.get("type") == "assistant":
                texts = [block["text"] for block in content if block["type"] == "text"]
                numbers = [number for text in texts for _, number in SAID.findall(text)]
                if numbers:
                    found.answers.setdefault(found.prompts[-1], []).extend(numbers)
    return found


def rows(place: Path, statement: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(place / "office.db")) as connection:
        return list(connection.execute(statement))


def owner(place: Path) -> str:
    """What marks every process of this office."""
    ((office,),) = rows(place, "SELECT value FROM meta WHERE key = 'office_id'")
    return hashlib.sha256(f"{office} owner".encode()).hexdigest()[:16]


def strays(place: Path, supervisor: int) -> list[str]:
    """Orphans that this supervisor does not even wait for."""
    finishing = "SELECT pid FROM processes WHERE agent_id IN (SELECT agent_id FROM prompts WHERE ended_at IS NULL)"
    return orphans(place, [supervisor, *(pid for (pid,) in rows(place, finishing))])


def orphans(place: Path, living: Iterable[int] = ()) -> list[str]:
    """Processes of this office that do not descend from one of these."""
    lost = []
    for pid in tree.owned(owner(place)):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            if not {one.pid for one in (process, *process.parents())} & {*living}:
                lost.append(f"{pid} {' '.join(process.cmdline())[:80]}")
    return lost
