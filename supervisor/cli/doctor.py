"""`supervisor doctor`: what is installed, missing or too old, each with its fix."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import trio
from pysqlite3 import dbapi2 as sqlite3

from supervisor.driving import backends, open_files
from supervisor.driving.agent import DrivenAgent
from supervisor.driving.backends import BACKENDS
from supervisor.driving.backends.base import Launch, version_of
from supervisor.driving.environment import pick
from supervisor.driving.limits import Limits
from supervisor.driving.watcher import Watcher
from supervisor.errors import SupervisorError
from supervisor.store import store
from supervisor.store.store import OLDEST_SQLITE

from .options import folder, office, printable, state_dir
from .running import run
from .start import PORT

if TYPE_CHECKING:
    from supervisor.config import BackendEntry
    from supervisor.driving.backends.base import Backend

ASK_SECONDS = 30
"""How long a CLI may take to say its version; some unpack themselves first."""
START_SECONDS = 20.0
"""How long it may take to come up."""

MANY_FILES = 4096
"""How many may be needed by 500 viewers, 128 strangers, and some hundred agents."""


class Finding(NamedTuple):
    good: bool
    text: str
    needed: bool = True


@click.command()
@click.option(
    "--config", "config_file", type=click.Path(path_type=Path), metavar="FILE", help="Check this office.toml."
)
@click.option("--start", "starts", is_flag=True, help="Also start each CLI, and ask it nothing.")
@state_dir
def doctor(config_file: Path | None, starts: bool, state_dir: str | None) -> None:
    """Check this machine, and say how to mend what is wrong.

    \b
    Example:
      supervisor doctor --config office.toml
      supervisor doctor --config office.toml --start
    """
    findings = [*machine(), state(state_dir), *configuration(config_file, starts=starts)]
    for finding in findings:
        mark = "ok " if finding.good else "BAD" if finding.needed else "-  "
        click.echo(f"{mark} {printable(finding.text)}")
    if any(finding.needed and not finding.good for finding in findings):
        sys.exit(1)


def machine() -> list[Finding]:
    new_sqlite = sqlite3.sqlite_version_info >= OLDEST_SQLITE
    findings = [
        Finding(sys.version_info >= (3, 11), f"Python {platform.python_version()} (3.11 or newer is needed)"),
        Finding(new_sqlite, f"SQLite {sqlite3.sqlite_version} (newer than 3.51.2 is needed: reinstall pysqlite3)"),
        Finding(sys.platform == "linux", f"{platform.system()} (Linux is needed to find every process of an agent)"),
        port(),
        files(),
    ]
    try:
        other = importlib.metadata.version("supervisor")
        clash = f"the distribution `supervisor` {other} has the same import name: use an environment of its own"
        findings.append(Finding(False, clash))
    except importlib.metadata.PackageNotFoundError:
        findings.append(Finding(True, "no other distribution is called supervisor"))
    return findings


def port() -> Finding:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError:
            return Finding(False, f"port {PORT} is in use (by a running office?): choose another with --port", False)
    return Finding(True, f"port {PORT} is free")


def files() -> Finding:
    _, most = open_files.GIVEN
    most = sys.maxsize if most == resource.RLIM_INFINITY else most
    if most < MANY_FILES:
        return Finding(False, f"only {most:,} files may be open at once, too few for many agents and viewers: raise "
                       "the hard limit (LimitNOFILE= of a service, `ulimit -Hn`)", False)  # fmt: skip
    return Finding(True, f"{most:,} files may be open at once")


def state(given: str | None) -> Finding:
    place = folder(given)
    try:
        place.make()
        store.refuse_strangers(place.database)
    except SupervisorError as error:
        return Finding(False, str(error))
    return Finding(True, f"state folder {place.path}")


def configuration(path: Path | None, *, starts: bool = False) -> list[Finding]:
    try:
        found = office(path)
    except SupervisorError as error:
        return [Finding(False, str(error))]
    findings = [Finding(True, f"{path}: {len(found.agents)} agents, {len(found.rooms)} rooms")] if path else []
    needed = {found.default_backend, *found.backends, *(one.backend for one in found.agents if one.backend)}
    for name in backends.names(found.backends):
        entry = found.backend(name)
        kind = BACKENDS[entry.kind or name]
        told = cli(name, kind, entry, needed=name in needed)
        findings += told
        if starts and told[0].good:
            findings.append(comes_up(name, kind, entry, needed=name in needed))
    return findings


def cli(name: str, kind: Backend, entry: BackendEntry, *, needed: bool) -> list[Finding]:
    """Whether a CLI is there, can be started, is new enough, and is signed in."""
    command = list(entry.command or kind.program)
    if shutil.which(command[0]) is None:
        how = kind.install or "install it"
        return [Finding(False, f"backend {name}: {command[0]} was not found: {how}, or name it in office.toml", needed)]
    environment = pick(os.environ, (*kind.allow, *entry.allow), entry.environment, "")
    shown, why = ask(command, ("--version",), environment)
    version = ".".join(map(str, version_of(shown)))
    if why:
        return [Finding(False, f"backend {name}: {command[0]} cannot be started ({why})", needed)]
    if problem := kind.too_old(version):
        return [Finding(False, f"backend {name}: {problem}", needed)]
    if kind.tested and not version:
        return [
            Finding(True, f"backend {name}: {command[0]} does not say its version; {kind.tested} was tested", needed)
        ]
    newer = bool(kind.tested) and version_of(version) > version_of(kind.tested)
    tested = f", newer than {kind.tested}, which was tested" if newer else ""
    found = Finding(True, f"backend {name}: {(shown.splitlines() or command)[0][:60]}{tested}", needed)
    return [found, *signed_in(name, kind, command, environment, needed=needed)]


def comes_up(name: str, kind: Backend, entry: BackendEntry, *, needed: bool) -> Finding:
    """Whether a CLI comes up as an agent's does; it is asked nothing."""
    try:
        seconds = run(start, name, kind, entry)
    except SupervisorError as error:
        return Finding(False, f"backend {name}: {str(error).rstrip('.')}", needed)
    return Finding(True, f"backend {name}: comes up within {seconds:.1f} s", needed)


async def start(name: str, kind: Backend, entry: BackendEntry) -> float:
    """In a folder that is gone afterwards; returns how long it took, and raises AgentError."""
    limits = Limits(start=START_SECONDS, starts=1, close=2.0)
    with tempfile.TemporaryDirectory() as place:
        launch = Launch(
            agent_id=name, folder=place, session_id=str(uuid.uuid4()), command=entry.command, model=entry.model,
            arguments=entry.arguments, parameters=entry.parameters, tools=entry.tools, allow=entry.allow,
            environment=entry.environment,
        )  # fmt: skip
        watcher = Watcher()
        async with trio.open_nursery() as nursery:
            await nursery.start(watcher.run)
            agent = DrivenAgent(kind, launch, watcher, lambda record: None, limits=limits)
            began = trio.current_time()
            await nursery.start(agent.run)
            seconds = trio.current_time() - began
            await agent.stop()
            nursery.cancel_scope.cancel()
        return seconds


def signed_in(
    name: str, kind: Backend, command: list[str], environment: dict[str, str], *, needed: bool
) -> list[Finding]:
    """By a variable that is set, by the CLI's own word, or by a file that is there: what is in it nobody reads."""
    sign_in = kind.sign_in
    if sign_in is None:
        return []
    if given := _set(sign_in.variables, environment):
        return [Finding(True, f"backend {name}: signed in by {given}", needed)]
    home = Path(environment.get("HOME", "~")).expanduser()
    data = environment.get("XDG_DATA_HOME") or ".local/share"
    known = any((home / file.replace("$XDG_DATA_HOME", data)).exists() for file in sign_in.files)
    if sign_in.command:
        known = known or not ask(command, sign_in.command, environment)[1]
    if known:
        return [Finding(True, f"backend {name}: signed in", needed)]
    return [Finding(False, f"backend {name}: not signed in: {sign_in.how}", needed)]


def _set(variables: tuple[str, ...], environment: dict[str, str]) -> str:
    """The first of them that has a value."""
    named = (name for pattern in variables for name in environment if fnmatchcase(name, pattern))
    return next((name for name in named if environment[name]), "")


def ask(command: list[str], arguments: tuple[str, ...], environment: dict[str, str]) -> tuple[str, str]:
    """What a CLI says, and why it failed if it did."""
    try:
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=ASK_SECONDS, check=False, env=environment,
            stdin=subprocess.DEVNULL, errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", type(error).__name__
    shown = done.stdout.strip()
    return shown, f"status {done.returncode}" if done.returncode else ""
