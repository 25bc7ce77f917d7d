"""What several commands take, and what they make of it."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from supervisor import config
from supervisor.core.office.patterns import PATTERNS as KNOWN_PATTERNS
from supervisor.core.rooms.settings import problem_of
from supervisor.core.rooms.templates import TEMPLATES
from supervisor.driving import backends
from supervisor.errors import ConfigError
from supervisor.events import Settings
from supervisor.runtime.configured import read_plan
from supervisor.store.folder import StateFolder, resolve

if TYPE_CHECKING:
    from collections.abc import Callable

DURATION_VARIABLE = "PIXEL_AGENTS_AUTO_MODE_DURATION_MS"
PATTERNS = tuple(KNOWN_PATTERNS)


def state_dir(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--state-dir", metavar="DIR", help="Where everything is kept.  [default: the platform's place for state]"
    )(command)  # fmt: skip


def conversation(command: Callable[..., Any]) -> Callable[..., Any]:
    """The flags of a conversation."""
    for option in (
        click.option("--seed", default=None, help="The same seed draws the same topic and gives the same argument."),
        click.option("--pattern", default=None, help="How agents meet: " + ", ".join(PATTERNS) + "."),
        click.option("--duration", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
                     help="End after so many seconds.  [default: 300]"),
        click.option("--keyword", default=None, help="What an agent says when all is said."),
        click.option("--config", "config_file", type=click.Path(path_type=Path), metavar="FILE",
                     help="An office.toml with backends, agents and settings."),
    ):  # fmt: skip
        command = option(command)
    return command


def folder(given: str | None) -> StateFolder:
    return StateFolder(resolve(given, os.environ))


def office(path: Path | None) -> config.Office:
    """The configuration, or the defaults; the environment's duration counts where the file has none."""
    found = config.Office(templates=TEMPLATES)
    if path is not None:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ConfigError(f"{path} cannot be read: {why}.") from None
        found = config.parse(text, str(path), backends.facts(), TEMPLATES)
        check(found.settings, f"{path}: settings: ")
        if found.floor_plan:
            found = msgspec.structs.replace(found, floor_plan=_beside(path, found.floor_plan, "floor_plan"))
            read_plan(found)
        found = msgspec.structs.replace(
            found, agents=tuple(_settled(one, path, n) for n, one in enumerate(found.agents))
        )
        for name, template in found.templates.items():
            check(template.over(found.settings), f"{path}: templates.{name}.settings: ")
        for number, room in enumerate(found.rooms):
            check(room_settings(found, room), f"{path}: rooms[{number}].settings: ")
    if found.settings.max_duration_ms == Settings().max_duration_ms:
        found = with_settings(found, max_duration_ms=default_duration(os.environ.get(DURATION_VARIABLE, "")))
    return found


def _settled(entry: config.AgentEntry, path: Path, number: int) -> config.AgentEntry:
    """With the folder that it works in as it is from anywhere: a relative one is beside the file."""
    if not entry.cwd:
        return entry
    place = _beside(path, entry.cwd, f"agents[{number}].cwd")
    if not Path(place).is_dir():
        raise ConfigError(f"{path}: agents[{number}].cwd: expected a folder, there is none at {place}.")
    return msgspec.structs.replace(entry, cwd=place)


def _beside(path: Path, what: str, where: str) -> str:
    """A path in a file as it is from anywhere."""
    try:
        return os.path.abspath(path.parent / Path(what).expanduser())
    except RuntimeError:
        raise ConfigError(f"{path}: {where}: nobody's home is at {what}.") from None


def room_settings(found: config.Office, room: config.RoomEntry) -> Settings:
    """Those of the office, of the room's template and its own, the later before the earlier."""
    template = found.templates.get(room.template)
    return config.changed(template.over(found.settings) if template else found.settings, room.settings)


def with_settings(found: config.Office, **changes: Any) -> config.Office:
    """The flags that were given, on top of the file."""
    given = {key: value for key, value in changes.items() if value is not None}
    settings = msgspec.structs.replace(found.settings, **given)
    check(settings, "")
    return msgspec.structs.replace(found, settings=settings)


def milliseconds(seconds: float | None) -> int | None:
    """A duration of the command line."""
    if seconds is None:
        return None
    if not math.isfinite(seconds):
        raise ConfigError(f"--duration {seconds:g}: expected a number of seconds.")
    return int(seconds * 1000)


def check(settings: Settings, where: str) -> None:
    if problem := problem_of(settings, PATTERNS):
        raise ConfigError(f"{where}{problem}")


def default_duration(milliseconds: str) -> int:
    """Five minutes, or what the environment says."""
    if not milliseconds:
        return Settings().max_duration_ms
    if not milliseconds.isdecimal() or int(milliseconds) == 0:
        raise ConfigError(f"{DURATION_VARIABLE} is {milliseconds!r}: expected a number of milliseconds.")
    return int(milliseconds)


def fake_arguments(seed: str, speed: float, think: float = 0.0) -> dict[str, tuple[str, ...]]:
    """How the fake CLI talks here; its own variables have the last word."""
    arguments = ["--seed", seed]
    if "FAKE_CLI_SPEED" not in os.environ:
        arguments += ["--speed", f"{speed:g}"]
    if "FAKE_CLI_THINK" not in os.environ:
        arguments += ["--think", f"{think:g}"]
    return {"fake": tuple(arguments)}


def printable(text: str) -> str:
    """Words of an agent without control sequences, so that they cannot steer the terminal."""
    return text if text.isprintable() else "".join(c for c in text if c in "\n\t" or c.isprintable())


def escaped(text: str) -> str:
    """JSON in which nothing steers a terminal either, and which still says the same."""
    if text.isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)
