"""`supervisor talk`: one conversation in the terminal, without a viewer."""

from __future__ import annotations

import secrets
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import trio

from supervisor import events as e
from supervisor.config import person_problem
from supervisor.core import inputs
from supervisor.core.rooms.turns import CONCLUDED
from supervisor.driving import backends
from supervisor.driving.backends import BACKENDS
from supervisor.errors import ConfigError
from supervisor.runtime import AgentRuntime
from supervisor.runtime.configured import missing_program
from supervisor.store import store

from . import exporting
from .options import conversation, fake_arguments, folder, milliseconds, office, state_dir, with_settings
from .running import UNSAVED, Signals, run
from .screen import JsonScreen, PlainScreen, RichScreen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.config import AgentEntry, Office, TemplatePerson
    from supervisor.store.folder import StateFolder

    from .screen import Screen

CAST = ("Ada:optimist", "Bo:sceptic")
SPEED = 400.0
PLANNED = ("keyword", "timer", "user", "all_skipped", "message_limit", "budget")


@click.command()
@click.argument("topic", required=False)
@click.option("--agent", "agents", multiple=True, metavar="NAME:ROLE[:BACKEND]", help="Who talks; twice or more.")
@click.option("--turns", default=0, type=click.IntRange(0), help="End after so many answers; 0 means no limit.")
@click.option("--min-turns", default=0, type=click.IntRange(0), help="Do not heed the keyword before so many turns.")
@click.option("--template", metavar="NAME", help="Who talks, and by which rules: debate, code-review, brainstorm, "
              "interview, panel, or one of your own in office.toml.")  # fmt: skip
@click.option("--summary", is_flag=True, help="End with the outcome: what was agreed, what stays open.")
@click.option("--json", "as_json", is_flag=True, help="One event a line, and nothing else.")
@click.option("--export", "export_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the conversation to FILE at the end (.md, .html, .json or .jsonl).")  # fmt: skip
@conversation
@state_dir
def talk(
    topic: str | None,
    agents: tuple[str, ...],
    turns: int,
    min_turns: int,
    template: str | None,
    summary: bool,
    as_json: bool,
    export_file: Path | None,
    config_file: Path | None,
    keyword: str | None,
    duration: float | None,
    pattern: str | None,
    seed: str | None,
    state_dir: str | None,
) -> None:
    """Let agents argue about TOPIC, or about one that is drawn, until they agree.

    \b
    Examples:
      supervisor talk
      supervisor talk "Should we rewrite the old system?" --seed 7
      supervisor talk "Tabs or spaces?" --agent Ada:optimist:claude --agent Bo:sceptic:claude
      supervisor talk "Ship on Friday?" --template code-review --summary
      supervisor talk --seed 7 --json
    """
    found = office(config_file)
    if template is not None and template not in found.templates:
        raise ConfigError(f"There is no template {template!r}; choose one of {', '.join(found.templates)}.")
    chosen = found.templates[template] if template else None
    found = with_settings(found, **(chosen.settings if chosen else {}))
    found = with_settings(found, keyword=keyword, interaction_pattern=pattern, max_messages=turns or None,
                          min_turns=min_turns or None, response_delay=0.0, max_duration_ms=milliseconds(duration),
                          outcome=summary or None)  # fmt: skip
    cast = tuple(person(text, found) for text in agents)
    cast = cast or (people(chosen.people) if chosen else configured(found)) or tuple(person(t, found) for t in CAST)
    if len(cast) < 2:
        raise ConfigError("A conversation needs two agents: give --agent twice.")
    if len({one.name.lower() for one in cast}) < len(cast):
        raise ConfigError("Two agents have the same name: give each its own.")
    for one in cast:
        refuse_missing(one, found)
    if export_file is not None:
        exporting.format_of(export_file)
        exporting.check_place(export_file)
    seed = secrets.token_hex(4) if seed is None else seed
    screen: Screen = JsonScreen() if as_json else RichScreen() if sys.stdout.isatty() else PlainScreen()
    speed = SPEED if isinstance(screen, RichScreen) else 0.0
    talking = Talking(folder(state_dir), found, screen, fake_arguments(seed, speed))
    status = run(talking.run, cast, topic or "", seed)
    if export_file is not None and talking.room_id:
        text = exporting.export(
            store.read_only(talking.place.database), talking.room_id, exporting.format_of(export_file)
        )
        exporting.write(export_file, text)
    if status:
        sys.exit(status)


def person(text: str, found: Office) -> inputs.AgentConfig:
    name, _, rest = text.partition(":")
    role, _, backend_name = rest.partition(":")
    if not name or not role.strip():
        raise ConfigError(f"--agent {text!r}: expected NAME:ROLE or NAME:ROLE:BACKEND.")
    if problem := person_problem(name, role):
        raise ConfigError(f"--agent {text!r}: {problem}")
    known = backends.names(found.backends)
    if backend_name and backend_name not in known:
        raise ConfigError(f"There is no backend {backend_name!r}; choose one of {', '.join(known)}.")
    return inputs.AgentConfig(name=name, role=role, cli_backend=backend_name)


def configured(found: Office) -> tuple[inputs.AgentConfig, ...]:
    """The people of the configuration, if there are two or more."""
    return people(found.agents) if len(found.agents) > 1 else ()


def people(entries: Sequence[AgentEntry | TemplatePerson]) -> tuple[inputs.AgentConfig, ...]:
    return tuple(inputs.AgentConfig(name=one.name, role=one.role, cli_backend=one.backend) for one in entries)


def refuse_missing(one: inputs.AgentConfig, found: Office) -> None:
    """A CLI that is not there is told before anything begins."""
    name = one.cli_backend or found.default_backend
    entry = found.backend(name)
    kind = BACKENDS[entry.kind or name]
    if problem := missing_program((entry.command or kind.program)[0], kind):
        raise click.ClickException(problem)


class Talking:
    """One conversation from the first prompt to the reason of its end."""

    def __init__(
        self, place: StateFolder, found: Office, screen: Screen, arguments: dict[str, tuple[str, ...]]
    ) -> None:
        self.place, self.office, self.screen = place, found, screen
        self.runtime = AgentRuntime(place, found, arguments=arguments)
        self.room_id = ""
        self.end: e.AutoModeEnded | None = None

    async def run(self, cast: tuple[inputs.AgentConfig, ...], topic: str, seed: str) -> int:
        with self.place.locked():
            signals = Signals()
            async with trio.open_nursery() as nursery:
                await nursery.start(signals.watch, nursery.cancel_scope)
                await nursery.start(partial(self.runtime.run, alone=True))
                following = self.runtime.bus.subscribe()
                await self.runtime.begin(inputs.StartRoom(
                    name=(topic or "Talk")[:80], settings=self.office.settings, agents=cast, auto=True, topic=topic,
                    seed=seed, unattended=True,
                ))  # fmt: skip
                nursery.start_soon(self._stop_when_asked, signals)
                with self.screen:
                    self.room_id = await self._follow(following)
                await self.runtime.request(inputs.CloseRoom(room_id=self.room_id), "talk")
                if not await self.runtime.stop():
                    click.echo(UNSAVED, err=True)
                nursery.cancel_scope.cancel()
            end = self.end
            if end is None:  # Ctrl-C twice
                return 130
            self.screen.ended(end)
        return signals.status or (0 if end.reason in PLANNED else 1)

    async def _follow(self, following: Any) -> str:
        while True:
            for frame in await following.receive():
                self.screen.show(frame)
                if isinstance(frame.event, e.AutoModeEnded):
                    self.end = frame.event
                if self.end is not None and not self._concluding(frame.event):
                    return self.end.roomId

    def _concluding(self, event: Any) -> bool:
        """Whether the outcome is still to come."""
        assert self.end is not None
        if isinstance(event, e.TurnEnded) and event.turn == 0:
            return False
        return self.office.settings.outcome and self.end.reason in CONCLUDED and self.end.turns > 0

    async def _stop_when_asked(self, signals: Signals) -> None:
        await signals.asked.wait()
        if self.end is not None:  # only the outcome was waited for
            self.runtime.tell(inputs.CloseRoom(room_id=self.end.roomId))
        self.runtime.tell(inputs.StopAutoMode())
