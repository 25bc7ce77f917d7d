"""`supervisor talk`: two or more driven agents argue in the terminal."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from pathlib import Path

import click
import trio

from supervisor.core.rooms import prompts, speech, topics
from supervisor.core.rooms.endings import AllSkipped, Elapsed, Keyword, Messages, Reason, View
from supervisor.core.rooms.prompts import Person
from supervisor.driving.agent import DrivenAgent, new_ask_id
from supervisor.driving.backends import BACKENDS, backend
from supervisor.driving.backends.base import Launch
from supervisor.driving.watcher import Watcher
from supervisor.errors import AgentError, ConfigError
from supervisor.records import AnyRecord, Delta

from .running import run

KEYWORD = "[CONVERSATION_END]"
CAST = ("Ada:optimist", "Bo:sceptic")
DURATION_VARIABLE = "PIXEL_AGENTS_AUTO_MODE_DURATION_MS"
SPEED = 400
ENDS: dict[Reason, str] = {
    "keyword": "They agree.",
    "timer": "Time is up.",
    "message_limit": "So many turns were asked for.",
    "all_skipped": "Nobody has anything to add.",
}


class Speaker:
    """One of those who talk."""

    def __init__(self, text: str) -> None:
        name, _, rest = text.partition(":")
        role, _, backend_name = rest.partition(":")
        if not name.isidentifier() or not role:
            raise ConfigError(f"--agent {text!r}: expected NAME:ROLE or NAME:ROLE:BACKEND.")
        self.person = Person(name, role)
        self.backend = backend(backend_name or "fake")
        self.unheard: list[tuple[Person, str]] = []


@click.command()
@click.argument("topic", required=False)
@click.option("--agent", "agents", multiple=True, metavar="NAME:ROLE[:BACKEND]", help="Who talks; twice or more.")
@click.option("--turns", default=0, type=click.IntRange(0), help="Stop after so many turns; 0 means no limit.")
@click.option("--min-turns", default=0, type=click.IntRange(0), help="Do not heed the keyword before so many turns.")
@click.option("--duration", type=click.FloatRange(0, min_open=True), help="Stop after so many seconds.  [default: 300]")
@click.option("--keyword", default=KEYWORD, show_default=True, help="What an agent says when all is said.")
@click.option("--seed", default=None, help="The same seed draws the same topic and gives the same argument.")
def talk(
    topic: str | None,
    agents: tuple[str, ...],
    turns: int,
    min_turns: int,
    duration: float | None,
    keyword: str,
    seed: str | None,
) -> None:
    """Let agents argue about TOPIC, or about one that is drawn, until they agree.

    \b
    Examples:
      supervisor talk
      supervisor talk "Should we rewrite the old system?" --seed 7
      supervisor talk "Tabs or spaces?" --agent Ada:optimist:claude --agent Bo:sceptic:claude
    """
    cast = [Speaker(text) for text in agents or CAST]
    if len(cast) < 2:
        raise ConfigError("A conversation needs two agents: give --agent twice.")
    if len({speaker.person.name for speaker in cast}) < len(cast):
        raise ConfigError("Two agents have the same name: give each its own.")
    if not keyword.strip():
        raise ConfigError("--keyword is empty: give a word that nobody says by accident.")
    seed = secrets.token_hex(4) if seed is None else seed
    seconds = duration or default_duration(os.environ.get(DURATION_VARIABLE, ""))
    run(Talk(topic or topics.draw(seed), cast, keyword, seed, turns, min_turns, seconds).run)


def default_duration(milliseconds: str) -> float:
    """Five minutes, or what the environment says."""
    if not milliseconds:
        return 300.0
    if not milliseconds.isdecimal() or int(milliseconds) == 0:
        raise ConfigError(f"{DURATION_VARIABLE} is {milliseconds!r}: expected a number of milliseconds.")
    return int(milliseconds) / 1000


class Talk:
    """One conversation from the first prompt to the reason of its end."""

    def __init__(
        self, topic: str, cast: list[Speaker], keyword: str, seed: str, turns: int, min_turns: int, duration: float
    ) -> None:
        self.topic, self.cast, self.keyword, self.seed, self.duration = topic, cast, keyword, seed, duration
        self.ending = Keyword(min_turns) | Messages(turns) | AllSkipped() | Elapsed(duration)
        self.screen = Screen(keyword)
        self.driven: dict[str, DrivenAgent] = {}
        self.skips = self.taken = 0

    async def run(self) -> None:
        self.screen.line(f"{self.topic}\n")
        with tempfile.TemporaryDirectory(prefix="supervisor-talk-") as folder:
            async with trio.open_nursery() as nursery:
                watcher = Watcher()
                await nursery.start(watcher.run)
                for speaker in self.cast:
                    agent = DrivenAgent(
                        speaker.backend, self._launch(speaker, Path(folder)), watcher, self.screen.record
                    )
                    self.driven[speaker.person.name] = agent
                    await nursery.start(agent.run)
                reason = await self._converse()
                async with trio.open_nursery() as stopping:
                    for agent in self.driven.values():
                        stopping.start_soon(agent.stop)
                nursery.cancel_scope.cancel()
        self.screen.line(ENDS.get(reason, reason))

    def _launch(self, speaker: Speaker, folder: Path) -> Launch:
        others = [other.person for other in self.cast if other is not speaker]
        fake = ("--seed", self.seed, "--speed", str(SPEED if self.screen.streams else 0))
        return Launch(
            agent_id=speaker.person.name,
            folder=str(folder / speaker.person.name),
            session_id=new_ask_id(),
            instructions=prompts.instruction(speaker.person, others, self.topic, self.keyword),
            arguments=fake if speaker.backend is BACKENDS["fake"] else (),
        )

    async def _converse(self) -> Reason:
        begun = trio.current_time()
        with trio.move_on_at(begun + self.duration):  # the timer pre-empts a turn; `stop` interrupts it
            while True:
                said = await self._take_turn(self.cast[self.taken % len(self.cast)])
                self.taken += 1
                self.skips = self.skips + 1 if said.skips else 0
                view = View(
                    turns=self.taken, messages=self.taken, elapsed=trio.current_time() - begun, keyword_said=said.ends,
                    skips_in_a_row=self.skips, participants=len(self.cast),
                )  # fmt: skip
                if met := self.ending.met(view):
                    return met
        return "timer"

    async def _take_turn(self, speaker: Speaker) -> speech.Speech:
        prompt = prompts.said(speaker.unheard, secrets.token_hex(4))
        speaker.unheard = []
        self.screen.begin(speaker.person)
        outcome = await self.driven[speaker.person.name].ask(new_ask_id(), prompt)
        if outcome.status != "answered":
            self.screen.end("")
            raise AgentError(f"{speaker.person.name} did not answer: {outcome.detail}.")
        said = speech.read(outcome.text, self.keyword)
        self.screen.end("(skips)" if said.skips else said.text)
        for other in self.cast:
            if other is not speaker and said.text:
                other.unheard.append((speaker.person, said.text))
        return said


class Screen:
    """The terminal: words appear as they are said, where somebody can watch."""

    def __init__(self, keyword: str) -> None:
        self.streams = sys.stdout.isatty()
        self._keyword = keyword
        self._gate = speech.Gate(keyword)
        self._shown = False

    def line(self, text: str) -> None:
        click.echo(printable(text))

    def begin(self, speaker: Person) -> None:
        click.secho(f"{speaker}: ", bold=True, nl=False)
        self._gate, self._shown = speech.Gate(self._keyword), False

    def record(self, record: AnyRecord) -> None:
        if isinstance(record, Delta) and self.streams and (text := self._gate.feed(record.text)):
            click.echo(printable(text), nl=False)
            self._shown = True

    def end(self, words: str) -> None:
        click.echo(printable(self._gate.finish() if self._shown else words) + "\n")


def printable(text: str) -> str:
    """Words of an agent without control sequences, so that they cannot steer the terminal."""
    return "".join(c for c in text if c == "\n" or c.isprintable())
